"""Weighted points, and what it costs to move those of one text onto those of another.

The cost is the squared 2-Wasserstein distance: the least sum of mass times squared Euclidean
distance over all ways to move the mass (a linear program, solved exactly). POT, the one library
for it, is imported when the first distance is asked for.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

QUIET = threading.Lock()  # two threads at once could leave the process without its warnings
LARGEST = 4.0  # of points in the unit ball
ITERATIONS = 1_000_000
UNUSED_BACKENDS = ("TENSORFLOW", "JAX", "CUPY")


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """The points of a text that weigh something."""

    points: np.ndarray  # float64 [points, hidden]
    weights: np.ndarray  # float64 [points], > 0, summing to 1
    indices: np.ndarray  # int [points]: which of the text's tokens they are

    @classmethod
    def of(cls, points: np.ndarray, log_weights: np.ndarray) -> WeightedPoints:
        """The points of a text [tokens, hidden] with the logarithms of their weights.

        No weights, of a text that has its special tokens alone, stand for equal ones.

        >>> WeightedPoints.of(np.eye(3), np.log([0.5, 1e-300, 0.5])).weights.round(2)
        array([0.5, 0. , 0.5])
        """
        weights = np.exp(log_weights) if len(log_weights) else np.ones(len(points))
        indices = np.flatnonzero(weights)
        weights = weights[indices]
        return cls(points[indices], weights / weights.sum(), indices)


def costs(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared distances between points [n, hidden] and [m, hidden] of the unit ball, [n, m]."""
    squares = (x * x).sum(1)[:, None] + (y * y).sum(1)
    return np.clip(squares - 2 * (x @ y.T), 0.0, LARGEST)


def best_plan(a: np.ndarray, b: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """The cheapest way to move masses `a` [n] onto `b` [m] at `cost` [n, m]: float64 [n, m].

    >>> best_plan(np.array([0.5, 0.5]), np.array([1.0]), np.array([[1.0], [3.0]])).tolist()
    [[0.5], [0.5]]
    """
    if min(cost.shape) == 1:  # there is only one way
        return np.outer(a, b)
    with QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is looked at below
        plan, log = solver().emd(a, b, cost, numItermax=ITERATIONS, log=True)
    if log["warning"] is None:
        return np.asarray(plan)
    return linear_program(a, b, cost)


def linear_program(a: np.ndarray, b: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """What `best_plan` gives, by HiGHS: slower, for what POT reports trouble with."""
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    n, m = cost.shape
    rows = kron(eye_array(n), np.ones((1, m)))
    columns = kron(np.ones((1, n)), eye_array(m))
    solution = linprog(
        cost.ravel(),
        A_eq=vstack([rows, columns]).tocsr(),
        b_eq=np.concatenate([a, b * (a.sum() / b.sum())]),
        bounds=(0, None),
        method="highs",
    )
    if solution.x is None:
        raise ArithmeticError(f"no transport plan of {n} onto {m} points: {solution.message}")
    return np.asarray(solution.x).reshape(n, m)


def squared_distance(x: WeightedPoints, y: WeightedPoints) -> float:
    """The squared 2-Wasserstein distance between two texts, from 0 to LARGEST."""
    cost = costs(x.points, y.points)
    return float((best_plan(x.weights, y.weights, cost) * cost).sum())


@functools.cache
def solver() -> Any:
    """POT, without its backends for libraries that are not used here, for they take seconds."""
    names = [f"POT_BACKEND_DISABLE_{name}" for name in UNUSED_BACKENDS]
    environment = {name: os.environ[name] for name in names if name in os.environ}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        import ot

        return ot
    finally:  # restored for whoever comes next
        for name in names:
            del os.environ[name]
        os.environ.update(environment)
