"""What is made of the scores of cases."""

import math

import pytest
from scipy.stats import binomtest

from infolm_metric.robustness import Triple, wilson_interval
from infolm_metric.robustness.report import CaseScores, MetricResult, summarise


def case(attack: str = "num", kind: str = "adequacy") -> Triple:
    return Triple("1", attack, kind, "a", "b", "c", "d")


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 40), (17, 40), (40, 40), (3, 7)])
def test_the_interval_is_scipys_wilson_interval(hits, n):
    expected = binomtest(hits, n).proportion_ci(0.95, method="wilson")
    assert wilson_interval(hits, n) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize(("hits", "n"), [(0, 0), (-1, 3), (4, 3)])
def test_an_interval_needs_cases(hits, n):
    with pytest.raises(ValueError, match=r"hits must be|n must be"):
        wilson_interval(hits, n)


@pytest.mark.parametrize(("hits", "n"), [(1.5, 3), (1, 3.0), ("1", 3), (True, 3)])
def test_an_interval_counts_in_whole_numbers(hits, n):
    with pytest.raises(TypeError, match=r"(hits|n) must be a whole number, got"):
        wilson_interval(hits, n)


@pytest.mark.parametrize("confidence", [-0.5, 0, 1, 95, math.nan])
def test_a_confidence_is_above_0_and_below_1(confidence):
    with pytest.raises(ValueError, match=r"confidence must .*, got"):
        wilson_interval(3, 7, confidence)


def test_accuracy_counts_ties_as_misses():
    scores = [CaseScores(2, 1, 0), CaseScores(1, 1 + 1e-12, 0), CaseScores(0, 1, 5)]
    found = summarise([case()] * 3, scores)["num"]
    assert (found.n, found.accuracy, found.ties) == (3, pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert found.sensitivity == pytest.approx(2 / 3)
    assert (found.low, found.high) == wilson_interval(1, 3)


def test_sensitivity_takes_the_anchor_where_the_paraphrase_cannot_be_attacked():
    scores = [CaseScores(None, 1, None, copy=2), CaseScores(3, 1, None, copy=0.5)]
    found = summarise([case()] * 2, scores)["num"]
    assert (found.n, found.accuracy, found.cases, found.sensitivity) == (1, 1.0, 2, 0.5)


def test_without_a_paraphrase_there_is_no_accuracy():
    found = summarise([case()], [CaseScores(None, 1, None, copy=2)])["num"].as_dict()
    assert found == {
        "n": 0, "accuracy": None, "low": None, "high": None, "ties": None, "sensitivity": 1.0,
    }  # fmt: skip


def test_an_attack_of_the_users_own_comes_after_ours():
    triples = [case("mine", "fluency"), case("typo", "fluency")]
    found = summarise(triples, [CaseScores(2, 1, 0), CaseScores(1, 2, 0)])
    assert [(name, each.accuracy) for name, each in found.items()] == [("typo", 0), ("mine", 1)]
    assert MetricResult(None, found).macro()["fluency"] == 0.5


def test_infinite_scores_tie_and_lose():
    scores = [CaseScores(-math.inf, -math.inf, 0), CaseScores(1, -math.inf, 0)]
    found = summarise([case()] * 2, scores)["num"]
    assert (found.accuracy, found.ties) == (0.5, 0.5)


def test_every_attack_counts_alike_in_the_means_of_its_kind():
    triples = [case(), case(), case("neg"), case("typo", "fluency"), case("adj")]
    no = CaseScores(None, None, None)
    scores = [
        CaseScores(1, 0, 2),
        CaseScores(0, 1, 2),
        CaseScores(1, 0, 0),
        CaseScores(0, 1, 0),
        no,
    ]
    result = MetricResult(None, summarise(triples, scores))
    assert list(result.attacks) == ["num", "neg", "adj", "typo"]
    assert result.macro() == {"all": 0.5, "adequacy": 0.75, "fluency": 0.0}
    assert result.macro("sensitivity") == pytest.approx(
        {"all": 1 / 3, "adequacy": 0.5, "fluency": 0}
    )
    assert MetricResult(None, {}).macro() == {"all": None, "adequacy": None, "fluency": None}
