"""The cost of moving one weighted set of points onto another: exact, symmetric, a distance."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from infolm_metric.baryscore import transport
from infolm_metric.baryscore.transport import WeightedPoints, best_plan, costs, squared_distance
from tests.reference_baryscore import least_cost_by_hand, squared, transport_cost


def random_points(draw, count, hidden=3):
    """Points in the unit ball, with weights."""
    points = draw.normal(size=(count, hidden))
    points /= 1.0001 * np.linalg.norm(points, axis=1, keepdims=True)
    return WeightedPoints.of(points, np.log(draw.random(count) + 1e-3))


def cost_of(one, other):
    return squared(one.points, other.points)


def test_a_thousand_random_problems_agree_with_another_solver():
    draw = np.random.default_rng(0)
    sizes = [*draw.integers(1, 9, (1000, 2)).tolist(), (30, 36), (60, 66)]
    for size in sizes:
        one, other = (random_points(draw, count) for count in size)
        expected = transport_cost(one.weights, other.weights, cost_of(one, other))
        assert squared_distance(one, other) == pytest.approx(expected, abs=1e-9)


def test_tied_costs_agree_with_another_solver():
    """Points of a coarse grid, many of them at one place, of equal and of unequal weights."""
    draw = np.random.default_rng(3)
    for equal in (True, False) * 20:
        one, other = (
            WeightedPoints.of(
                draw.integers(-1, 2, size=(count, 2)) / 2,
                np.zeros(count) if equal else np.log(draw.integers(1, 4, size=count)),
            )
            for count in draw.integers(2, 30, size=2)
        )
        cost = cost_of(one, other)
        assert len(np.unique(cost)) <= 9
        expected = transport_cost(one.weights, other.weights, cost)
        assert squared_distance(one, other) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 2), (2, 3), (3, 3), (4, 3), (4, 4)])
def test_few_points_agree_with_every_vertex_tried(shape):
    draw = np.random.default_rng(sum(shape))
    for _ in range(5):
        one, other = (random_points(draw, count) for count in shape)
        expected = least_cost_by_hand(one.weights, other.weights, cost_of(one, other))
        assert squared_distance(one, other) == pytest.approx(expected, abs=1e-12)


def test_equal_numbers_of_equal_weights_are_assigned_one_to_one():
    from scipy.optimize import linear_sum_assignment

    draw = np.random.default_rng(2)
    x, y = draw.normal(size=(2, 7, 3)) / 10
    one, other = (WeightedPoints.of(points, np.log(np.full(7, 1 / 7))) for points in (x, y))
    cost = squared(x, y)
    expected = cost[linear_sum_assignment(cost)].mean()
    assert squared_distance(one, other) == pytest.approx(expected, abs=1e-15)


POINTS = st.integers(1, 5).flatmap(
    lambda count: st.builds(
        WeightedPoints.of,
        arrays(np.float64, (count, 2), elements=st.floats(-0.5, 0.5, width=16)),
        arrays(np.float64, count, elements=st.floats(-3.0, 0.0, width=16)),
    )
)


def masses(each):
    """The mass at every place."""
    found = {}
    for point, weight in zip(each.points, each.weights, strict=True):
        place = tuple(point + 0.0)
        found[place] = found.get(place, 0.0) + weight
    return found


@settings(deadline=None, max_examples=150)
@given(POINTS, POINTS)
def test_it_is_symmetric_and_zero_only_for_equal_masses_at_equal_places(one, other):
    value = squared_distance(one, other)
    assert 0 <= value <= transport.LARGEST
    assert value == pytest.approx(squared_distance(other, one), abs=1e-12)
    exact = transport_cost(one.weights, other.weights, cost_of(one, other))
    assert -1e-7 < value - exact < 1e-9  # HiGHS takes costs that differ by 1e-7 for equal
    here, there = masses(one), masses(other)
    gap = max(abs(here.get(place, 0) - there.get(place, 0)) for place in {**here, **there})
    if gap < 1e-15:
        assert value < 1e-14
    else:  # the grid of places bounds how little any mass can cost
        assert value > 0 or gap < 1e-6


def test_a_plan_moves_all_mass_and_points_of_no_weight_take_no_part():
    points = np.eye(4)
    with np.errstate(divide="ignore"):
        one = WeightedPoints.of(points, np.log([0.0, 0.25, 0.0, 0.75]))
    assert one.kept.tolist() == [1, 3] and one.weights.tolist() == [0.25, 0.75]
    other = WeightedPoints.of(points[:3], np.zeros(0))  # the special tokens of an empty text
    assert other.weights.tolist() == [1 / 3] * 3
    plan = best_plan(one.weights, other.weights, costs(one.points, other.points))
    np.testing.assert_allclose(plan.sum(1), one.weights, atol=1e-15)
    np.testing.assert_allclose(plan.sum(0), other.weights, atol=1e-15)


def test_costs_lie_between_0_and_4():
    points = np.array([[1.0, 0.0], [1.0 - 1e-16, 1e-9], [-1.0, 0.0]])
    found = costs(points, points)
    assert found.min() >= 0 and found.max() == 4
    np.testing.assert_allclose(found, squared(points, points), atol=1e-15)


def test_where_the_solver_reports_trouble_another_one_answers(monkeypatch, recwarn):
    draw = np.random.default_rng(4)
    one, other = random_points(draw, 20), random_points(draw, 25)
    expected = squared_distance(one, other)
    monkeypatch.setattr(transport, "ITERATIONS", 1)
    cost = cost_of(one, other)
    _, log = transport.solver().emd(one.weights, other.weights, cost, numItermax=1, log=True)
    assert log["warning"]
    recwarn.clear()
    assert squared_distance(one, other) == pytest.approx(expected, abs=1e-12)
    assert not recwarn.list


def test_the_environment_is_the_callers_own_again(monkeypatch):
    monkeypatch.setenv("POT_BACKEND_DISABLE_JAX", "0")
    monkeypatch.delenv("POT_BACKEND_DISABLE_CUPY", raising=False)
    before = dict(os.environ)
    transport.solver.cache_clear()  # as if it had not been asked for yet
    assert transport.solver() is not None and dict(os.environ) == before
