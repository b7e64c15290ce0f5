"""Probabilities and verdicts."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.answer_check import verdict as module
from infolm_metric.answer_check.final_answer import plain_text
from infolm_metric.answer_check.judge import Comparison, Statement, mean_support
from infolm_metric.answer_check.values import Agreement
from infolm_metric.answer_check.verdict import (
    CAP,
    LIKELY_CORRECT,
    LIKELY_WRONG,
    THRESHOLDS,
    UNCLEAR,
    features,
    score,
    verdict,
)


def compared(answer, reference, e=0.5, c=0.0):
    """Compare two texts, with an NLI model that gives these probabilities."""
    statement = judged(reference, (e, 1 - e - c, c), 1.0)
    return Comparison(plain_text(answer), plain_text(reference), [statement], [statement])


def judged(text, probabilities, recall):
    return Statement(text, ["premise"], recall, {("premise", text): probabilities})


unit = st.floats(0, 1)


@given(unit, unit)
def test_a_score_grows_with_entailment(first, second):
    low, high = sorted((first, second))
    scores = [score(compared("It is Rome.", "Rome", e)) for e in (low, high)]
    assert 0 <= scores[0] <= scores[1] <= 1


def test_the_premise_that_contradicts_least_counts_if_entailment_is_similar():
    table = {("a", "x"): (0.5, 0.0, 0.5), ("b", "x"): (0.4, 0.6, 0.0)}
    assert Statement("x", "ab", 1.0, table).nli == pytest.approx(0.7)


def test_a_score_grows_with_the_words_of_the_reference():
    scores = [score(compared(text, "New York City")) for text in ("Lima", "York", "New York City!")]
    assert scores == sorted(scores) and scores[0] < scores[2]


def test_equal_values_count_and_other_values_prevent_likely_correct():
    assert score(compared("It was 1999.", "1999", 0.3)) > score(compared("It was so.", "so", 0.3))
    other = compared("It was 1998.", "1999", 1.0)
    assert other.agreement == Agreement.MISMATCH and score(other) <= CAP
    assert verdict(score(other), THRESHOLDS, bool(other.veto)) != LIKELY_CORRECT


def test_the_features_have_the_names_of_the_weights():
    assert features(compared("Rome", "Rome")).keys() == module.WEIGHTS.keys()
    long = compared("Rome", "It rained. It snowed.")
    assert features(long).keys() == module.LONG_WEIGHTS.keys()
    assert sum(module.LONG_WEIGHTS.values()) == pytest.approx(-module.LONG_WEIGHTS["constant"])


@pytest.mark.parametrize("e", [0.0, 1.0])
def test_extreme_probabilities_have_finite_log_odds(e):
    assert 0 < score(compared("Rome", "Rome.", e, 1 - e)) < 1


def test_weights_and_thresholds_are_in_range():
    low, high = THRESHOLDS
    assert 0 < low < high < 1 and high > CAP
    positive = module.WEIGHTS.keys() - {"constant", "mismatch", "veto"}
    assert all(module.WEIGHTS[name] > 0 for name in positive)
    assert module.WEIGHTS["mismatch"] < 0


def test_a_statement_is_supported_by_entailment_and_by_known_words():
    statement = judged("It rained.", (0.7, 0.2, 0.1), 0.5)
    assert statement.support == pytest.approx((0.8 + 0.5) / 2)
    # A statement about something else is neither supported nor contradicted.
    assert replace(statement, recall=0.0).support == pytest.approx(0.25)
    contradicted = judged("It snowed.", (0.0, 0.0, 1.0), 1.0)
    assert contradicted.contradicted and not statement.contradicted
    assert mean_support([statement, contradicted]) == pytest.approx((0.65 + 0.5) / 2)
    assert mean_support([]) == 0


@pytest.mark.parametrize(
    ("value", "vetoed", "expected"),
    [
        (0.2, False, LIKELY_WRONG),
        (0.3, False, UNCLEAR),
        (0.59, False, UNCLEAR),
        (0.6, False, LIKELY_CORRECT),
        (0.2, True, LIKELY_WRONG),
        (1.0, True, UNCLEAR),
    ],
)
def test_a_verdict_depends_on_two_thresholds(value, vetoed, expected):
    assert verdict(value, (0.3, 0.6), vetoed) == expected
