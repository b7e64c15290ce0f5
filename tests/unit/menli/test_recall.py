"""Token recall, and its combination with MENLI."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric import MENLI, MENLIScorer
from infolm_metric.commands.main import main
from infolm_metric.menli.recall import token_recall
from infolm_metric.menli.settings import NLI_FORMULAS, MENLISettings

pytestmark = pytest.mark.filterwarnings("ignore:infolm")

CHECKED_BY_HAND = [
    ("It was Neil Armstrong.", "Neil Armstrong", 1),
    ("armstrong", "Neil Armstrong", 1 / 2),
    ("Buzz Aldrin", "Neil Armstrong", 0),
    ("New York", "New York, New York", 2 / 4),  # with multiplicity
    ("New York, New York", "New York", 1),
    ("The Beatles", "Beatles, the", 1),  # articles do not count
    ("It is the band The The.", "The The", 0),  # the candidate keeps none of its articles
    ("The The", "The The", 1),  # nothing but articles
    ("A", "a", 1),
    ("well-known", "well known", 1),  # punctuation separates words
    ("wellknown", "well-known", 0),
    ("U.S.", "US", 0),
    ("the People\u2019s Republic", "People's Republic", 1),
    ("from 1939\u20131945", "1939-1945", 1),
    ("costs $5", "$5", 1),
    ("5", "5 \u20ac", 1 / 2),  # a symbol that is not punctuation
    ("CAF\u00c9", "caf\u00e9", 1),
    ("1,000", "1000", 0),
    (" ?! ", "?!", 1),  # no tokens: compared as they are
    ("?", "?!", 0),
    ("", "", 1),
    (" \n", "", 1),
    ("a cat", "", 0),
    ("", "a cat", 0),
    ("?", "a cat", 0),
]


@pytest.mark.parametrize(("candidate", "reference", "expected"), CHECKED_BY_HAND)
def test_recall_is_the_fraction_of_tokens_of_the_reference(candidate, reference, expected):
    assert token_recall(candidate, reference) == pytest.approx(expected)


WORDS = st.lists(st.sampled_from(["cat", "Dog", "the", "1", "ran,"]), max_size=6).map(" ".join)


@given(WORDS, WORDS, WORDS)
def test_recall_lies_in_the_unit_interval_and_more_text_does_not_lower_it(text, more, reference):
    recall = token_recall(text, reference)
    assert 0 <= recall <= 1 and token_recall(reference, reference) == 1
    if any(word.strip(",").lower() not in ("", "the") for word in text.split()):
        assert reference.strip(" ,the") == "" or token_recall(f"{text} {more}", reference) >= recall


@pytest.fixture(scope="module")
def scorer(tiny_nli):
    return MENLIScorer(model_name_or_path=tiny_nli())


CANDIDATES = ["The cat sat on a mat.", "A dog.", "It rained."]
GROUPS = [["a mat", "the dog sat"], ["cats", "a dog"], ["rain", "snow"]]
RECALL = [1, 1, 0]


def test_a_combination_with_recall_is_the_weighted_mean_with_the_best_recall(scorer):
    formulas = list(NLI_FORMULAS)
    for rule in ("max", "mean"):
        alone = scorer.score(CANDIDATES, GROUPS, formula=formulas, multi_reference=rule)
        options = {"formula": formulas, "multi_reference": rule, "combine_with": "recall"}
        for weight in (None, 0.0, 0.3, 1.0):
            result = scorer.score(CANDIDATES, GROUPS, nli_weight=weight, **options)
            w = 0.5 if weight is None else weight
            for name, values in NLI_FORMULAS.items():
                low, high = min(values), max(values)
                nli = (np.array(alone.scores[name]) - low) / (high - low)
                expected = w * nli + (1 - w) * np.array(RECALL)
                assert result.scores[name] == pytest.approx(expected, abs=1e-6)
            assert f"|nli_weight:{w}|combine_with:recall|model:" in result.signature
            assert scorer.bounds(scorer.settings.replace(**options), "e") == (0, 1)


def test_a_combination_with_recall_needs_neither_a_model_nor_statistics(scorer):
    settings = MENLISettings(combine_with="recall", model_name_or_path="bundled")
    assert settings.other is None and settings.idf_sides == () and settings.weight == 0.5
    assert settings.column("e-c") == "menli_e-c+recall"
    names = {name.partition(".")[0] for name in scorer.signature(combine_with="recall").fields}
    assert not {"infolm.model", "recall", "idf", "weights"} & names


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_empty_texts_get_the_bounds_of_the_combination(scorer, weight):
    candidates, groups = ["", "A cat.", "", "?!"], [["A cat."], [""], ["", " "], ["", "?!"]]
    result = scorer.score(candidates, groups, combine_with="recall", nli_weight=weight)
    assert result["scores"][:3] == [0, 0, 1] and result["warnings"] == {
        "empty": 4,
        "blank_references": 2,
    }
    assert result["scores"][3] > (0 if weight else 0.99)
    assert scorer.select(["", "A cat."], combine_with="recall") == "A cat."


def test_matrices_and_selection_support_recall(scorer):
    options = {"combine_with": "recall", "nli_weight": 0}
    matrix = scorer.matrix(["a cat", "a dog ran"], ["the cat", "dogs", "the dog"], **options)
    assert matrix.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert scorer.select(["red", "red and blue", "blue"], **options) == "red and blue"


def test_recall_supports_sources_and_evaluate(scorer):
    metric = MENLI(model_name_or_path=scorer.settings.model_name_or_path, combine_with="recall")
    pairs = {"predictions": CANDIDATES, "references": [group[0] for group in GROUPS]}
    result = metric.compute(**pairs, task="source", nli_weight=0)
    assert result["scores"] == [1, 0, 0] and "|against:source|" in result["signature"]


def test_rescaling_a_combination_with_recall_requires_its_own_baseline(scorer):
    with pytest.raises(ValueError, match="baseline"):
        options = {"combine_with": "recall", "rescale_with_baseline": True}
        scorer.score(CANDIDATES, GROUPS, **options)
    texts = [f"The {word} is {size}." for word in ("cat", "dog", "man") for size in range(15)]
    settings = scorer.settings.replace(combine_with="recall")
    baseline = MENLIScorer(settings).make_baseline(texts, 20, 2)
    assert len(baseline.stats) == 2 * len(NLI_FORMULAS)
    result = scorer.score(CANDIDATES, GROUPS, combine_with="recall", rescale_with_baseline=baseline)
    assert len(result["rescaled_scores"]) == 3


def test_the_command_line_rejects_token_weights_with_recall(capsys):
    words = ["score", "--metric", "menli", "--model", "bundled", "--combine-with", "recall"]
    assert main([*words, "--idf", "none", "a", "b"]) == 2
    assert "--combine-with infolm or baryscore" in capsys.readouterr().err
