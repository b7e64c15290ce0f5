"""The natural-language-inference model that ships: what it is, and that it tells meanings apart."""

import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForSequenceClassification

from infolm_metric import MENLIScorer
from infolm_metric.core.settings import BUNDLED_FOLDER
from tools.train_nli import LABELS

FOLDER = BUNDLED_FOLDER / "nli"
# (reference, a candidate that follows from it, one that contradicts it)
PAIRS = [
    ("A man is sleeping on a bench.", "A man is asleep.", "A man is running in a race."),
    ("Two dogs are playing in the snow.", "Animals play outdoors.", "Two dogs sleep indoors."),
    ("The woman bought three apples.", "A woman bought fruit.", "The woman bought nothing."),
    ("The children are swimming in the lake.", "Children are in water.", "The lake is empty."),
    ("A boy in a red shirt rides a bicycle.", "A boy is riding.", "A boy is standing still."),
    ("The concert was cancelled because of rain.", "There was no concert.", "The concert went on."),
]


def test_the_weights_are_float16_safetensors_of_at_most_46_mb():
    file = FOLDER / "model.safetensors"
    assert file.stat().st_size <= 46_000_000
    with safe_open(file, "pt") as weights:
        dtypes = {weights.get_tensor(name).dtype for name in weights.keys()}  # noqa: SIM118
    assert dtypes == {torch.float16}


def test_plain_transformers_loads_it_complete_with_its_labels():
    model, report = AutoModelForSequenceClassification.from_pretrained(
        FOLDER, dtype=torch.float32, output_loading_info=True
    )
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    assert tuple(model.config.id2label[number] for number in range(3)) == LABELS


@pytest.mark.parametrize("formula", ["e", "-c", "e-c"])
def test_what_follows_scores_higher_than_what_contradicts(formula):
    scorer = MENLIScorer(model_name_or_path="bundled", formula=formula, direction="rh")
    references, entailed, contradicted = map(list, zip(*PAIRS, strict=True))
    higher = scorer.score(entailed, references).scores[formula]
    lower = scorer.score(contradicted, references).scores[formula]
    right = [one > other for one, other in zip(higher, lower, strict=True)]
    assert sum(right) >= len(PAIRS) - 1
