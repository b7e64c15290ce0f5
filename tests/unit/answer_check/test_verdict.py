"""Scores and verdicts from tokens and NLI probabilities."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.answer_check import verdict as module
from infolm_metric.answer_check.verdict import (
    CAP,
    CORRECT,
    LIKELY_CORRECT,
    LIKELY_WRONG,
    LONG_WEIGHTS,
    RECALL_WEIGHT,
    THRESHOLDS,
    UNCLEAR,
    VERDICTS,
    Statement,
    describe_verdicts,
    long_score,
    mean_support,
    nli_score,
    short_score,
    verdict,
)

UNIT = st.floats(0, 1)


def test_the_nli_score_is_1_for_entailment_and_0_for_contradiction():
    assert nli_score(np.eye(3)).tolist() == [1, 0.5, 0]


@given(UNIT, UNIT, UNIT)
def test_a_short_score_grows_with_recall_and_entailment(recall, nli, more):
    score = short_score(recall, nli, vetoed=False)
    assert 0 <= score <= 1
    assert short_score(max(recall, more), nli, vetoed=False) >= score
    assert short_score(recall, max(nli, more), vetoed=False) >= score


@given(UNIT, UNIT)
def test_a_veto_caps_a_short_score_below_likely_correct(recall, nli):
    score = short_score(recall, nli, vetoed=True)
    assert score == min(CAP, short_score(recall, nli, vetoed=False))
    assert verdict(score, THRESHOLDS, vetoed=True) != LIKELY_CORRECT


def test_weights_and_thresholds_are_in_range():
    low, high = THRESHOLDS
    assert 0 < low < high < 1 and 0 < RECALL_WEIGHT < 1 and high > CAP
    assert min(LONG_WEIGHTS) >= 0 and sum(LONG_WEIGHTS) == pytest.approx(1)


@given(UNIT, UNIT, UNIT)
def test_a_long_score_is_a_weighted_mean(completeness, correctness, f1):
    parts = (completeness, correctness, f1)
    score = long_score(*parts)
    assert min(parts) - 1e-9 <= score <= max(parts) + 1e-9


def test_a_statement_is_supported_by_entailment_and_by_known_tokens():
    statement = Statement("It rained.", (0.7, 0.2, 0.1), 0.5)
    assert statement.support == pytest.approx((0.8 + 0.5) / 2)
    # A statement about something else is neither supported nor contradicted.
    assert replace(statement, recall=0.0).support == pytest.approx(0.25)
    contradicted = Statement("It snowed.", (0.0, 0.0, 1.0), 1.0)
    assert mean_support([statement, contradicted]) == pytest.approx((0.65 + 0.5) / 2)
    assert mean_support([]) == 0


@pytest.mark.parametrize(
    ("score", "vetoed", "expected"),
    [
        (0.2, False, LIKELY_WRONG),
        (0.3, False, UNCLEAR),
        (0.59, False, UNCLEAR),
        (0.6, False, LIKELY_CORRECT),
        (1.0, False, LIKELY_CORRECT),
        (0.2, True, LIKELY_WRONG),
        (1.0, True, UNCLEAR),
    ],
)
def test_a_verdict_depends_on_two_thresholds(score, vetoed, expected):
    assert verdict(score, (0.3, 0.6), vetoed) == expected


def test_every_count_of_verdicts_is_described_with_the_base_rate():
    counts = {f"{module.VERDICT}{word}": number for number, word in enumerate(VERDICTS, 2)}
    counts |= {f"{module.VERDICT}{None}": 7, "texts": 99}
    line, rates = describe_verdicts(counts, measured=True)
    for number, word in enumerate(VERDICTS, 2):
        assert f"{number} {word}" in line
    assert "7 withheld" in line
    assert all(f"{rate:.0%}" in rates for rate in CORRECT)
    assert describe_verdicts(counts, measured=False) == [line]


def test_missing_verdicts_are_explained():
    (line,) = describe_verdicts({f"{module.VERDICT}{None}": 3}, measured=True)
    assert "thresholds" in line and not any(word in line for word in VERDICTS)
