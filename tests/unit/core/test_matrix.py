"""All candidates with all references, as `score` gives pair by pair; the choice among them."""

import functools

import numpy as np
import pyarrow
import pytest

from infolm_metric import IDF, BaryScorer, MENLIScorer
from infolm_metric.infolm.measure_table import MEASURES
from infolm_metric.metrics import METRICS, find
from tests.random_pairs import random_pairs
from tests.toy import ToyScorer

pytestmark = pytest.mark.filterwarnings("ignore:infolm:UserWarning")  # of odd texts

OTHERS = [row["prediction"] for row in random_pairs(21, seed=1)]
REFERENCES = [row["references"][0] for row in random_pairs(40, seed=2)]
NEAR = [
    *(f"{text}." for text in REFERENCES[20:26]),
    *(text.replace("cat", "dog").replace("the", "a") for text in REFERENCES[26:32]),
    *(" ".join(reversed(text.split())) for text in REFERENCES[32:36]),
]
CANDIDATES = [*OTHERS, *REFERENCES[:20], *NEAR, "", "rain", "1 2 3"]
SETTINGS = {"infolm": {"masks_per_pass": 0, "idf": False}, "baryscore": {"idf": False}, "menli": {}}
PARAMETERS = {"alpha": 0.5, "beta": 0.75}


@functools.cache
def scorers(name):
    """Two scorers of a metric, so that neither knows what the other has read."""
    settings = {"model_name_or_path": "bundled", **SETTINGS[name]}
    return tuple(find(name).scorer_type()(**settings) for _ in range(2))


def pair_by_pair(scorer, candidates, references, **settings):
    """What `score` gives for every candidate with every reference, by name."""
    predictions = [text for text in candidates for _ in references]
    result = scorer.score(predictions, references * len(candidates), **settings)
    shape = len(candidates), len(references)
    return {name: np.reshape(values, shape) for name, values in result.scores.items()}


@pytest.mark.parametrize(
    ("name", "candidates", "references"),
    [
        ("infolm", CANDIDATES, REFERENCES),
        ("baryscore", CANDIDATES, REFERENCES),
        ("menli", CANDIDATES[::3], REFERENCES[::3]),  # which reads every pair
    ],
    ids=METRICS,
)
def test_a_matrix_is_what_score_gives_pair_by_pair(name, candidates, references):
    one, other = scorers(name)
    (expected,) = pair_by_pair(other, candidates, references).values()
    found = one.matrix(candidates, references)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    copies = np.equal.outer(np.array(candidates), np.array(references))
    assert copies.sum() >= 5
    assert (found[copies] == expected[copies]).all()


@pytest.mark.parametrize(
    ("symmetrize", "temperature"),
    [
        ("jeffreys", 1.0),
        ("none", 1.0),
        ("reverse", 1.0),
        ("jensen", 1.0),
        ("jeffreys", 1000.0),  # where texts are nearer than 1e-6
    ],
)
def test_every_measure_has_its_matrix(symmetrize, temperature):
    candidates, references = CANDIDATES[30:54:2], REFERENCES[9:25:2]
    settings = {"symmetrize": symmetrize, "temperature": temperature, **PARAMETERS}
    one, other = scorers("infolm")
    expected = pair_by_pair(
        other, candidates, references, information_measure=list(MEASURES), **settings
    )
    for name, values in expected.items():
        found = one.matrix(candidates, references, information_measure=name, **settings)
        np.testing.assert_allclose(found, values, rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("alpha", [1e-6, 1 - 1e-4, 1 + 1e-4, 2.0])
@pytest.mark.parametrize("measure", ["renyi", "alpha", "ab"])
def test_parameters_at_a_limit_have_their_matrix(measure, alpha):
    one, other = scorers("infolm")
    settings = {"information_measure": measure, "alpha": alpha, "beta": 0.75}
    (expected,) = pair_by_pair(other, CANDIDATES[:6], REFERENCES[:6], **settings).values()
    found = one.matrix(CANDIDATES[:6], REFERENCES[:6], **settings)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["infolm", "baryscore"])
def test_the_references_are_the_corpus_of_idf(name):
    one, other = scorers(name)
    table = IDF.from_corpus(REFERENCES, one.tokenizer)
    (expected,) = pair_by_pair(other, CANDIDATES[:8], REFERENCES, idf=table).values()
    for idf in (table, "references"):
        found = one.matrix(CANDIDATES[:8], REFERENCES, idf=idf)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["infolm", "baryscore"])
def test_blocks_that_do_not_fit_give_the_same(name, monkeypatch):
    one, other = scorers(name)
    whole = one.matrix(CANDIDATES, REFERENCES)
    monkeypatch.setattr(type(other), "block_size", lambda self, settings: 7)
    np.testing.assert_allclose(other.matrix(CANDIDATES, REFERENCES), whole, rtol=1e-9, atol=1e-9)


# The choice among candidates.

SAMPLES = ["the cat sat on the mat", "a cat sat on the mat", "the cat sat on a mat", "it was cold"]


@pytest.mark.parametrize("name", METRICS)
def test_the_choice_is_the_candidate_with_the_best_mean(name):
    one, other = scorers(name)
    (values,) = pair_by_pair(other, SAMPLES, SAMPLES).values()
    means = [np.delete(row, i).mean() for i, row in enumerate(values)]
    best = np.argmax(means) if one.higher_is_better else np.argmin(means)
    assert one.select(SAMPLES) == SAMPLES[best] != "it was cold"


def test_the_choice_weighs_tokens_alike_unless_a_table_is_given():
    one, _ = scorers("infolm")
    counted = one.settings.replace(idf="references")
    assert type(one)(counted).select(SAMPLES) == one.select(SAMPLES)
    assert one.select(SAMPLES, idf="bundled") in SAMPLES


def test_the_first_of_equals_is_chosen_and_one_is_no_choice():
    one, _ = scorers("infolm")
    assert one.select(["it was cold"]) == "it was cold"
    assert one.select(["rain fell", "rain fell", "rain fell"]) == "rain fell"


def test_the_choice_among_a_column_is_a_string():
    chosen = scorers("infolm")[0].select(pyarrow.chunked_array([SAMPLES]))
    assert type(chosen) is str


# Refusals.


@pytest.mark.parametrize(
    ("arguments", "settings", "problem"),
    [
        ((["a"], []), {}, "references is empty"),
        (([], ["a"]), {}, "candidates is empty"),
        (("a", ["a"]), {}, "candidates"),
        ((["a"], [["a"]]), {}, "references"),
        ((["a", 5], ["a"]), {}, r"candidates\[1\]"),
        ((["a"], ["a"]), {"information_measure": ["kl", "l1"]}, "one kind of score"),
        ((["a"], ["a"]), {"temprature": 2}, "did you mean 'temperature'"),
    ],
)
def test_what_is_wrong_is_refused_before_a_model_is_loaded(arguments, settings, problem):
    scorer = find("infolm").scorer_type()(model_name_or_path="no/such/model")
    with pytest.raises((TypeError, ValueError), match=problem):
        scorer.matrix(*arguments, **settings)


def test_every_pair_of_texts_must_fit_where_none_may_be_cut():
    options = {"max_length": 10, "long_text": "error"}
    with pytest.raises(ValueError, match="long_text"):
        scorers("menli")[0].matrix(["rain", "the cat sat on the mat"], ["a dog ran"], **options)


def test_a_choice_among_none_is_refused():
    with pytest.raises(ValueError, match="candidates is empty"):
        scorers("infolm")[0].select([])


def test_a_combination_is_selected_with_uniform_weights():
    one = MENLIScorer(model_name_or_path="bundled", combine_with="baryscore")
    plain = BaryScorer(model_name_or_path="bundled", idf=False).settings
    assert one.select(SAMPLES) == one.select(SAMPLES, combine_with=plain)


def test_a_metric_without_a_model_has_a_matrix():
    values = ToyScorer().matrix(["ab", "b"], ["ab", "c", "b"])
    assert values.tolist() == [[1.0, 0.0, 0.5], [0.5, 0.0, 1.0]]
