"""Candidates beside their references: chunks that fit, and one score from several."""

import math
from itertools import zip_longest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infolm_metric.kernel.single_pairs import chunks
from tests.made_weighed_texts import singles, weighed_text


@settings(deadline=None, max_examples=200)
@given(
    pairs=st.lists(
        st.tuples(
            st.text("abcdef", max_size=1),
            st.lists(st.text("abcdef", max_size=1), min_size=1, max_size=4),
        ),
        max_size=15,
    ),
    room=st.integers(2, 8),
)
def test_portions_cover_the_pairs_in_order_and_keep_within_the_room(pairs, room):
    found = list(chunks(iter(pairs), room))
    assert [pair for chunk in found for pair in chunk] == pairs

    def fits(some_pairs):
        texts = {text for one, others in some_pairs for text in (one, *others)}
        return len(texts) <= room and len(some_pairs) <= room

    for chunk, following in zip_longest(found, found[1:]):
        assert fits(chunk) or len(chunk) == 1
        # No chunk ends before it must.
        if following is not None:
            assert not fits([*chunk, following[0]])


def test_pairs_are_read_no_further_than_the_portion_needs():
    read = []

    def pairs():
        for number in range(100):
            read.append(number)
            yield f"candidate {number}", [f"reference {number}"]

    first = next(chunks(pairs(), 6))
    assert len(first) == 3 and read == [0, 1, 2, 3]


def test_the_couples_are_each_candidate_with_each_of_its_references():
    made = singles((10, [11, 12]), (13, [14]), (10, [15, 11]))
    expected = [(10, 11), (10, 12), (13, 14), (10, 15), (10, 11)]
    keys = [(one.key, other.key) for one, other in zip(*made.sides, strict=True)]
    assert keys == [(weighed_text(c).key, weighed_text(r).key) for c, r in expected]


VALUES = np.array([[3.0, 1.0, 2.0, 5.0, 4.0, 9.0], [0.0, 7.0, 7.0, 1.0, 2.0, 2.0]])


@pytest.mark.parametrize(
    ("multi_reference", "expected"),
    [("min", [[1.0, 5.0, 4.0], [0.0, 1.0, 2.0]]), ("mean", [[2.0, 5.0, 6.5], [14 / 3, 1.0, 2.0]])],
)
def test_several_references_give_the_closest_or_the_mean(multi_reference, expected):
    made = singles((1, [1, 1, 1]), (2, [1]), (3, [1, 1]))
    combined = made.combine(VALUES, multi_reference)
    np.testing.assert_allclose(combined, expected, rtol=1e-15)
    np.testing.assert_array_equal(made.combine(VALUES[0], multi_reference), combined[0])


@pytest.mark.parametrize("multi_reference", ["min", "mean"])
def test_one_reference_keeps_its_score_to_the_last_bit(multi_reference):
    made = singles(*[(10, [11])] * 4)
    values = np.array([0.1, 1 / 3, math.pi, 0.0])
    assert made.combine(values, multi_reference).tolist() == values.tolist()


@pytest.mark.parametrize("value", [np.finfo(np.float64).max, 0.1, 1 / 3, 5e-324])
def test_the_mean_of_equal_scores_is_that_score_for_any_number_of_references(value):
    for count in range(1, 60):
        made = singles((10, [11] * count))
        assert made.combine(np.full(count, value), "mean").tolist() == [value]


def test_the_mean_of_very_large_scores_stays_finite():
    largest = np.finfo(np.float64).max
    made = singles((10, [11, 12, 13, 14]))
    mean = made.combine(np.array([largest, 0.0, largest, largest]), "mean")
    assert mean == pytest.approx(0.75 * largest, rel=1e-15)


def test_larger_texts_take_more_room():
    pairs = [("aaaa", ["b"]), ("aaaa", ["cc"]), ("d", ["e"])]
    assert [len(each) for each in chunks(pairs, 7, size=len)] == [2, 1]
    assert [len(each) for each in chunks(pairs, 2, size=len)] == [1, 1, 1]
