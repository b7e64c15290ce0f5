"""Exact optimal transport between weighted points, compared with other solvers."""

import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment

from infolm_metric.baryscore import transport
from infolm_metric.baryscore.transport import WeightedPoints, best_plan, costs, squared_distance
from tests.reference_baryscore import squared_distances, transport_cost


def random_points(draw, count, hidden=3):
    """Draw weighted points in the unit ball."""
    points = draw.normal(size=(count, hidden))
    points /= 1.0001 * np.linalg.norm(points, axis=1, keepdims=True)
    return WeightedPoints.of(points, np.log(draw.random(count) + 1e-3))


def least_cost(left, right):
    """Compute the cost with an independent solver."""
    return transport_cost(left.weights, right.weights, squared_distances(left.points, right.points))


def grid_points(draw, count, largest):
    """Draw points on a coarse grid, many of them identical, with weights of 1 to `largest`."""
    weights = draw.integers(1, largest + 1, size=count)
    return WeightedPoints.of(draw.integers(-1, 2, size=(count, 2)) / 2, np.log(weights))


def test_random_and_tied_costs_agree_with_another_solver():
    draw = np.random.default_rng(0)
    sizes = [*draw.integers(1, 9, (40, 2)).tolist(), (30, 36), (60, 66)]
    pairs = [[random_points(draw, count) for count in pair] for pair in sizes]
    for largest in (1, 3) * 10:
        pairs += [[grid_points(draw, count, largest) for count in draw.integers(2, 30, size=2)]]
    for pair in pairs:
        assert squared_distance(*pair) == pytest.approx(least_cost(*pair), abs=1e-9)


def test_uniform_point_sets_of_equal_size_are_matched_one_to_one():
    draw = np.random.default_rng(2)
    x, y = draw.normal(size=(2, 7, 3)) / 10
    left, right = (WeightedPoints.of(points, np.log(np.full(7, 1 / 7))) for points in (x, y))
    cost = squared_distances(x, y)
    expected = cost[linear_sum_assignment(cost)].mean()
    assert squared_distance(left, right) == pytest.approx(expected, abs=1e-15)


POINTS = st.integers(1, 5).flatmap(
    lambda count: st.builds(
        WeightedPoints.of,
        arrays(np.float64, (count, 2), elements=st.floats(-0.5, 0.5, width=16)),
        arrays(np.float64, count, elements=st.floats(-3.0, 0.0, width=16)),
    )
)


def masses(weighted_points):
    """Return the total mass of each distinct point."""
    masses = Counter()
    for point, weight in zip(weighted_points.points, weighted_points.weights, strict=True):
        masses[tuple(point + 0.0)] += weight
    return masses


@settings(max_examples=50)
@given(POINTS, POINTS)
def test_the_cost_is_symmetric_and_zero_only_for_equal_distributions(left, right):
    value = squared_distance(left, right)
    assert 0 <= value <= transport.LARGEST_COST
    assert value == pytest.approx(squared_distance(right, left), abs=1e-12)
    # HiGHS treats costs that differ by 1e-7 as equal.
    assert -1e-7 < value - least_cost(left, right) < 1e-9
    sources, targets = masses(left), masses(right)
    gap = max(abs(sources[place] - targets[place]) for place in {**sources, **targets})
    if gap < 1e-15:
        assert value < 1e-14
    else:  # the grid gives a lower bound for the cost of any mass
        assert value > 0 or gap < 1e-6


def test_a_plan_moves_all_mass_and_ignores_points_without_weight():
    points = np.eye(4)
    with np.errstate(divide="ignore"):
        left = WeightedPoints.of(points, np.log([0.0, 0.25, 0.0, 0.75]))
    assert left.indices.tolist() == [1, 3]
    assert left.weights == pytest.approx([0.25, 0.75])
    right = WeightedPoints.of(points[:3], np.zeros(0))  # the special tokens of an empty text
    assert right.weights == pytest.approx([1 / 3] * 3)
    plan = best_plan(left.weights, right.weights, costs(left.points, right.points))
    np.testing.assert_allclose(plan.sum(1), left.weights, atol=1e-15)
    np.testing.assert_allclose(plan.sum(0), right.weights, atol=1e-15)


def test_costs_lie_between_0_and_4():
    points = np.array([[1.0, 0.0], [1.0 - 1e-16, 1e-9], [-1.0, 0.0]])
    distances = costs(points, points)
    assert distances.min() >= 0 and 4 - 1e-12 < distances.max() <= 4
    np.testing.assert_allclose(distances, squared_distances(points, points), atol=1e-15)


def test_a_second_solver_is_used_if_the_first_does_not_converge(monkeypatch, recwarn):
    draw = np.random.default_rng(4)
    left, right = random_points(draw, 20), random_points(draw, 25)
    expected = squared_distance(left, right)
    monkeypatch.setattr(transport, "ITERATIONS", 1)
    cost = squared_distances(left.points, right.points)
    _, log = transport.solver().emd(left.weights, right.weights, cost, numItermax=1, log=True)
    assert log["warning"]
    recwarn.clear()
    with transport.silent_solver():
        assert squared_distance(left, right) == pytest.approx(expected, abs=1e-12)
    assert not recwarn.list


def test_the_environment_is_restored(monkeypatch):
    monkeypatch.setenv("POT_BACKEND_DISABLE_JAX", "0")
    monkeypatch.delenv("POT_BACKEND_DISABLE_CUPY", raising=False)
    before = dict(os.environ)
    transport.solver.cache_clear()  # as before the first call
    assert transport.solver() is not None and dict(os.environ) == before
