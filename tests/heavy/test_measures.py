"""The information measures on grids of parameters and on long vectors."""

import math

import pytest
import torch

from infolm_metric.infolm.measures import MEASURES, SYMMETRIZATIONS, compare, upper_bound
from tests.unit.infolm.test_measures import GRID, noise


@pytest.mark.parametrize("name", MEASURES)
def test_identical_inputs_score_exactly_zero(name):
    rows = torch.stack([noise(501, scale=scale, seed=1) for scale in (1e-3, 1.0, 10.0, 3e3, 1e5)])
    for parameters in GRID.get(name, [{}]):
        for symmetrize in SYMMETRIZATIONS:
            for x in (rows, rows.float(), rows[:, :2]):
                value = compare(name, x, x.clone(), symmetrize=symmetrize, **parameters)
                assert value.tolist() == [0.0] * 5, (symmetrize, parameters)


PARAMETERS = [
    ("kl", {}),
    ("alpha", {"alpha": 1.5}),
    ("alpha", {"alpha": -0.5}),
    ("renyi", {"alpha": 0.5}),
    ("renyi", {"alpha": 2}),
    ("beta", {"beta": 1}),
    ("beta", {"beta": -0.5}),
    ("ab", {"alpha": 0.5, "beta": 0.5}),
    ("ab", {"alpha": -0.5, "beta": 1.5}),
    ("ab", {"alpha": 2, "beta": 1}),
]


@pytest.mark.parametrize("symmetrize", SYMMETRIZATIONS)
@pytest.mark.parametrize(("name", "parameters"), PARAMETERS)
def test_only_unbounded_measures_have_an_infinite_upper_bound(name, parameters, symmetrize):
    # Nearly disjoint supports: a peak and a flat distribution, farther apart in every step.
    values = []
    for size in (10, 1000, 100_000):
        p = torch.full((1, size + 1), -float(size), dtype=torch.float64)
        q = torch.zeros(1, size + 1, dtype=torch.float64)
        p[0, 0], q[0, 0] = 0.0, -float(size)
        values.append(compare(name, p, q, symmetrize=symmetrize, **parameters).item())
    bound = upper_bound(name, symmetrize=symmetrize, **parameters)
    if math.isinf(bound):
        assert values[0] + 0.3 < values[1] and values[1] + 0.3 < values[2]
    else:
        assert symmetrize == "jensen" and max(values) <= bound
