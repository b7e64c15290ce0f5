"""Distributions beside each other: every single pair by every measure."""

import numpy as np
import pytest
import torch

from infolm_metric.infolm import comparison, measures
from infolm_metric.infolm.comparison import Comparison, compare_singles, masks_of
from infolm_metric.infolm.measures import Asked
from infolm_metric.infolm.settings import Settings
from tests.made_weighed_texts import singles, weighed_text

AB = Settings(information_measure="ab", symmetrize="jensen", alpha=0.5, beta=0.7)
COMPARISONS = [
    Comparison("l1_distance", Settings(), 0, 0),
    Comparison("kl_divergence", Settings(symmetrize="none"), 1, 0),
    Comparison("kl_divergence", Settings(symmetrize="reverse"), 1, 0),
    Comparison("ab_divergence", AB, 0, 0),
]


@pytest.mark.parametrize("elements", [1, 12, 1 << 22])
def test_every_couple_is_compared_by_every_measure_at_its_temperature(elements, monkeypatch):
    monkeypatch.setattr(comparison, "COMPARED_ELEMENTS", elements)
    made = singles((10, [11, 12]), (13, [14]), (10, [15, 11]))
    generator = torch.Generator().manual_seed(0)
    found = {
        weighed_text(token).key: torch.randn(2, 5, generator=generator, dtype=torch.float64)
        for token in range(10, 16)
    }
    values = compare_singles(made, found, COMPARISONS)
    assert values.shape == (4, 5) and values.dtype == np.float64
    for row, c in zip(values, COMPARISONS, strict=True):
        for value, candidate, reference in zip(row, *made.sides, strict=True):
            log_p = found[reference.key][c.temperature]
            log_q = found[candidate.key][c.temperature]
            measure, symmetrize, alpha, beta = c.asked
            parameters = {"symmetrize": symmetrize, "alpha": alpha, "beta": beta}
            assert value == measures.compare(measure, log_p, log_q, **parameters).item()


def test_a_comparison_is_what_the_settings_ask_for():
    assert COMPARISONS[3].asked == Asked("ab_divergence", "jensen", 0.5, 0.7)
    assert COMPARISONS[1].asked == Asked("kl_divergence", "none")


def test_the_masks_of_a_reading_are_its_positions_of_some_weight():
    table = np.zeros(20)
    table[[11, 13]] = 1.0
    assert masks_of(weighed_text(10, 11, 12, 13)) == 4
    assert masks_of(weighed_text(10, 11, 12, 13, table=table)) == 2
    assert masks_of(weighed_text(10, 12, table=table)) == 2  # all weights 0: uniform
    assert masks_of(weighed_text()) == masks_of(weighed_text(table=table)) == 1  # a lone mask
