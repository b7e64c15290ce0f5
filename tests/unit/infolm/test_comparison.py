"""Candidates beside their references: portions that fit, and one score from several."""

import math
from itertools import zip_longest

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infolm_metric.infolm import comparison, measures
from infolm_metric.infolm.comparison import Comparison, Couples, Reading, portions
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.tokens import TokenizedText


def reading(*tokens, table=None):
    ids = np.array([2, *tokens, 3])
    maskable = np.array([False, *(True for _ in tokens), False])
    return Reading.of(TokenizedText(ids, maskable), table)


def couples(*pairs):
    """Each pair is (candidate's token, its references' tokens)."""
    return Couples(
        [reading(candidate) for candidate, _ in pairs],
        [reading(token) for _, references in pairs for token in references],
        np.array([len(references) for _, references in pairs]),
    )


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
    found = list(portions(iter(pairs), room))
    assert [pair for portion in found for pair in portion] == pairs

    def fits(some_pairs):
        texts = {text for one, others in some_pairs for text in (one, *others)}
        return len(texts) <= room and len(some_pairs) <= room

    for portion, following in zip_longest(found, found[1:]):
        assert fits(portion) or len(portion) == 1
        # No portion ends before it must.
        if following is not None:
            assert not fits([*portion, following[0]])


def test_pairs_are_read_no_further_than_the_portion_needs():
    read = []

    def pairs():
        for number in range(100):
            read.append(number)
            yield f"candidate {number}", [f"reference {number}"]

    first = next(portions(pairs(), 6))
    assert len(first) == 3 and read == [0, 1, 2, 3]


def test_the_couples_are_each_candidate_with_each_of_its_references():
    made = couples((10, [11, 12]), (13, [14]), (10, [15, 11]))
    expected = [(10, 11), (10, 12), (13, 14), (10, 15), (10, 11)]
    keys = [(one.key, other.key) for one, other in zip(*made.sides, strict=True)]
    assert keys == [(reading(c).key, reading(r).key) for c, r in expected]


VALUES = np.array([[3.0, 1.0, 2.0, 5.0, 4.0, 9.0], [0.0, 7.0, 7.0, 1.0, 2.0, 2.0]])


@pytest.mark.parametrize(
    ("multi_reference", "expected"),
    [("min", [[1.0, 5.0, 4.0], [0.0, 1.0, 2.0]]), ("mean", [[2.0, 5.0, 6.5], [14 / 3, 1.0, 2.0]])],
)
def test_several_references_give_the_closest_or_the_mean(multi_reference, expected):
    made = couples((1, [1, 1, 1]), (2, [1]), (3, [1, 1]))
    combined = made.combine(VALUES, multi_reference)
    np.testing.assert_allclose(combined, expected, rtol=1e-15)
    np.testing.assert_array_equal(made.combine(VALUES[0], multi_reference), combined[0])


@pytest.mark.parametrize("multi_reference", ["min", "mean"])
def test_one_reference_keeps_its_score_to_the_last_bit(multi_reference):
    made = couples(*[(10, [11])] * 4)
    values = np.array([0.1, 1 / 3, math.pi, 0.0])
    assert made.combine(values, multi_reference).tolist() == values.tolist()


@pytest.mark.parametrize("value", [np.finfo(np.float64).max, 0.1, 1 / 3, 5e-324])
def test_the_mean_of_equal_scores_is_that_score_for_any_number_of_references(value):
    for count in range(1, 60):
        made = couples((10, [11] * count))
        assert made.combine(np.full(count, value), "mean").tolist() == [value]


def test_the_mean_of_very_large_scores_stays_finite():
    largest = np.finfo(np.float64).max
    made = couples((10, [11, 12, 13, 14]))
    mean = made.combine(np.array([largest, 0.0, largest, largest]), "mean")
    assert mean == pytest.approx(0.75 * largest, rel=1e-15)


COMPARISONS = [
    Comparison("l1_distance", None, None, "jeffreys", "min", 0),
    Comparison("kl_divergence", None, None, "none", "min", 1),
    Comparison("kl_divergence", None, None, "reverse", "min", 1),
    Comparison("ab_divergence", 0.5, 0.7, "jensen", "min", 0),
]


@pytest.mark.parametrize("elements", [1, 12, 1 << 22])
def test_every_couple_is_compared_by_every_measure_at_its_temperature(elements, monkeypatch):
    monkeypatch.setattr(comparison, "COMPARED_ELEMENTS", elements)
    made = couples((10, [11, 12]), (13, [14]), (10, [15, 11]))
    generator = torch.Generator().manual_seed(0)
    found = {
        reading(token).key: torch.randn(2, 5, generator=generator, dtype=torch.float64)
        for token in range(10, 16)
    }
    values = made.compare(found, COMPARISONS)
    assert values.shape == (4, 5) and values.dtype == np.float64
    for row, c in zip(values, COMPARISONS, strict=True):
        for value, candidate, reference in zip(row, *made.sides, strict=True):
            log_p = found[reference.key][c.temperature]
            log_q = found[candidate.key][c.temperature]
            parameters = {"symmetrize": c.symmetrize, "alpha": c.alpha, "beta": c.beta}
            assert value == measures.compare(c.measure, log_p, log_q, **parameters).item()


def test_a_comparison_is_what_the_settings_ask_for():
    chosen = Settings.of(information_measure="ab", alpha=0.5, beta=0.7, symmetrize="jensen")
    assert Comparison.of("ab_divergence", chosen, 0, 0) == COMPARISONS[3]
    other = Comparison.of("ab_divergence", chosen.replace(multi_reference="mean"), 2, 1)
    assert (other.multi_reference, other.temperature, other.weighting) == ("mean", 2, 1)


def test_equal_tokens_with_equal_weights_have_equal_keys():
    table = np.arange(20.0)
    assert reading(10, 11).key == reading(10, 11).key
    assert reading(10, 11).key != reading(11, 10).key
    assert reading(10, 11).key != reading(10, 11, table=table).key
    assert reading(10, 11, table=table).key == reading(10, 11, table=2 * table).key
    assert reading(10, 10, table=table).key == reading(10, 10).key


def test_the_masks_of_a_reading_are_its_positions_of_some_weight():
    table = np.zeros(20)
    table[[11, 13]] = 1.0
    assert reading(10, 11, 12, 13).masks == 4
    assert reading(10, 11, 12, 13, table=table).masks == 2
    assert reading(10, 12, table=table).masks == 2  # all weights 0: uniform
    assert reading().masks == reading(table=table).masks == 1  # a lone mask


def test_a_reading_is_weightless_where_idf_says_nothing_about_its_tokens():
    table = np.zeros(20)
    table[11] = 1.0
    assert reading(10, 12, table=table).weightless is True
    assert reading(10, 11, table=table).weightless is False
    assert reading(10, 12).weightless is False
    assert reading(table=table).weightless is False  # without a token there is nothing to weigh
