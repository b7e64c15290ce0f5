"""The bundled models: files, loading, and separation of related from unrelated texts."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from transformers import AutoModelForMaskedLM, AutoModelForSequenceClassification, AutoTokenizer

from infolm_metric import BaryScorer, BERTScorer, InfoLMScorer, MENLIScorer
from infolm_metric.core.settings import BUNDLED_FOLDER
from tests.paraphrases import PARAPHRASES
from tests.reference_baryscore import ReferenceBaryScore
from tools.evaluate_nli import LABELS

# (reference, entailed candidate, contradicting candidate)
ENTAILMENTS = [
    ("A man is sleeping on a bench.", "A man is asleep.", "A man is running in a race."),
    ("Two dogs are playing in the snow.", "Animals play outdoors.", "Two dogs sleep indoors."),
    ("The woman bought three apples.", "A woman bought fruit.", "The woman bought nothing."),
    ("The children are swimming in the lake.", "Children are in water.", "The lake is empty."),
    ("A boy in a red shirt rides a bicycle.", "A boy is riding.", "A boy is standing still."),
    ("The concert was cancelled because of rain.", "There was no concert.", "The concert went on."),
]


# A reference, and the same text with one word added or changed.
LINES = Path(__file__).with_name("near_copies.tsv").read_text(encoding="utf-8").splitlines()
NEAR_COPIES = [tuple(line.split("\t")) for line in LINES]


@pytest.fixture(scope="module")
def scorer():
    return InfoLMScorer(model_name_or_path="bundled")


MODELS = [(BUNDLED_FOLDER, AutoModelForMaskedLM)]
MODELS += [(BUNDLED_FOLDER / "nli", AutoModelForSequenceClassification)]


@pytest.mark.parametrize(("folder", "kind"), MODELS)
def test_weights_are_float16_safetensors_that_transformers_loads_completely(folder, kind):
    with safe_open(folder / "model.safetensors", "pt") as weights:
        dtypes = {weights.get_tensor(name).dtype for name in weights.keys()}  # noqa: SIM118
    assert dtypes == {torch.float16}
    model, report = kind.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    assert not any(report[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    if kind is AutoModelForSequenceClassification:
        assert tuple(model.config.id2label[number] for number in range(3)) == LABELS
        return
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer("The capital of the country [MASK] its largest city.", return_tensors="pt")
    with torch.no_grad():
        logits = model.eval()(**inputs).logits
    position = inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    assert "is" in tokenizer.convert_ids_to_tokens(logits[0, position].topk(5).indices.tolist())


@pytest.mark.parametrize("scorer_type", [InfoLMScorer, BaryScorer, BERTScorer])
def test_paraphrases_are_closer_than_unrelated_sentences(scorer_type):
    """Require at least 95 of 100 paraphrases to be closer than the paraphrase on the next line."""
    scorer = scorer_type(model_name_or_path="bundled")
    texts, paraphrases = map(list, zip(*PARAPHRASES, strict=True))
    sides = paraphrases, paraphrases[1:] + paraphrases[:1]
    near, far = (scorer.score(candidates, texts)["scores"] for candidates in sides)
    closer = np.greater if scorer.higher_is_better else np.less
    assert len(texts) == 100 and closer(near, far).sum() >= 95


@pytest.mark.filterwarnings("ignore:infolm")
def test_near_copies_are_closer_than_unrelated_pairs_alone_and_in_a_batch(scorer):
    references, candidates = map(list, zip(*NEAR_COPIES, strict=True))
    references, candidates = references * 2, [*candidates, *candidates[7:], *candidates[:7]]
    pairs = zip(candidates, references, strict=True)
    singles = [scorer.score([text], [reference])["infolm"] for text, reference in pairs]
    batch = scorer.score(candidates[:30], references[:30])["scores"]
    for scores in (singles, batch):
        assert max(scores[:20]) < min(scores[20:])


@pytest.mark.parametrize("formula", ["e", "-c", "e-c"])
def test_entailments_score_higher_than_contradictions(formula):
    scorer = MENLIScorer(model_name_or_path="bundled", formula=formula, direction="rh")
    references, entailments, contradictions = map(list, zip(*ENTAILMENTS, strict=True))
    scores = [scorer.score(texts, references)["scores"] for texts in (entailments, contradictions)]
    assert np.greater(*scores).sum() >= len(ENTAILMENTS) - 1


def test_baryscore_of_long_texts_equals_the_literal_implementation():
    literal = ReferenceBaryScore(BUNDLED_FOLDER)
    sides = [" ".join(texts) for texts in zip(*PARAPHRASES, strict=True)]
    texts = [
        literal.tokenizer.decode(literal.tokenizer(side)["input_ids"][1:length])
        for side, length in zip(sides, (255, 243), strict=True)
    ]
    result = BaryScorer(model_name_or_path="bundled").score(texts[:1], texts[1:], idf=False)
    assert result["warnings"] == {} and result.counts["tokens"] > 480
    assert result["baryscore"] == pytest.approx(literal.score(*texts), abs=1e-5)
