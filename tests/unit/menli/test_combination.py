"""Combination of MENLI with another metric's scores, scaled as in the authors' code."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric import InputError, combine
from tests import reference_menli

SCORES = st.lists(st.floats(-100, 100).map(lambda x: round(x, 6)), min_size=2, max_size=9)


@given(st.data(), SCORES, st.sampled_from([0.0, 0.2, 0.8, 1.0]))
def test_combinations_match_the_literal_implementation(data, nli, weight):
    other = data.draw(st.lists(st.floats(0, 1), min_size=len(nli), max_size=len(nli)))
    if len(set(nli)) == 1 or max(other) - min(other) < 1e-9:
        return  # the authors' program divides by 0
    expected = reference_menli.combine(nli, other, weight)
    assert combine(nli, other, weight) == pytest.approx(expected, abs=1e-9)
    lower = combine(nli, [-score for score in other], weight, higher_is_better=False)
    assert lower == pytest.approx(expected, abs=1e-9)


def test_constant_scores_are_scaled_to_one_half_and_arrays_are_accepted():
    assert combine([0.9, 0.9], [1.0, 3.0], 0.5) == pytest.approx([0.25, 0.75])
    half = combine([0.9, 0.9], [7, 7], 0.2, higher_is_better=False)
    assert half == pytest.approx([0.5, 0.5])
    by_arrays = combine(np.array([0.0, 1.0]), np.array([1, 0]), 1.0)
    assert type(by_arrays) is list and by_arrays == pytest.approx([0.0, 1.0])


INVALID = [
    ([0.5], [0.5], 0.2, "nli_scores must be a list of at least 2"),
    ({"e": [0.5, 0.1]}, [0.5, 0.1], 0.2, r"nli_scores must be a list.*result.scores\['e'\]"),
    ([0.5, 0.1], [[0.5], [0.1, 1]], 0.2, r"other_scores\[0\] must be a number"),
    ([0.5, 0.1], [0.5, 0.1, 0.2], 0.2, "equal length, got 2 and 3"),
    ([0.5, math.nan], [0.5, 0.1], 0.2, r"nli_scores\[1\] must be a finite"),
    ([0.5, 0.1], [0.5, 0.1], 1.1, "nli_weight must be between 0 and 1, got 1.1"),
    ([0.5, 0.1], [0.5, 0.1], "0.5", "nli_weight must be a number, got '0.5'"),
]


@pytest.mark.parametrize(("nli", "other", "weight", "word"), INVALID)
def test_invalid_scores_and_weights_are_rejected(nli, other, weight, word):
    with pytest.raises(InputError, match=word):
        combine(nli, other, weight)
    with pytest.raises(InputError, match="higher_is_better must be True or False, got 'no'"):
        combine([0.5, 0.1], [0.5, 0.1], 0.2, "no")
