"""Optimal transport between weighted points.

The squared 2-Wasserstein distance is the minimum cost of a transport plan. The cost of each move is
the mass moved times the squared Euclidean distance. The linear program is solved exactly. POT is
imported when the first distance is computed.
"""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

WARNINGS_LOCK = threading.Lock()  # `warnings.catch_warnings` is not thread-safe
LARGEST_COST = 4.0  # squared diameter of the unit ball
ITERATIONS = 1_000_000
UNUSED_BACKENDS = ("TENSORFLOW", "JAX", "CUPY")


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """A text's points with positive weights."""

    points: np.ndarray  # float64 [points, hidden]
    weights: np.ndarray  # float64 [points], > 0, summing to 1
    indices: np.ndarray  # int [points], indices of the tokens in the text

    @classmethod
    def of(cls, points: np.ndarray, log_weights: np.ndarray) -> WeightedPoints:
        """Select the points with positive weights. `points` are [tokens, hidden].

        If `log_weights` is empty, as for a text with only special tokens, weights are uniform.

        >>> WeightedPoints.of(np.eye(3), np.log([0.5, 1e-300, 0.5])).weights.round(2)
        array([0.5, 0. , 0.5])
        """
        weights = np.exp(log_weights) if len(log_weights) else np.ones(len(points))
        indices = np.flatnonzero(weights)
        weights = weights[indices]
        return cls(points[indices], weights / weights.sum(), indices)


def costs(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the squared distances [n, m] between points [n, hidden] and [m, hidden], at most 4.

    Products are computed by torch, because numpy's threads stay busy after a product.
    """
    squares = (x * x).sum(1)[:, None] + (y * y).sum(1)
    products = torch.mm(torch.from_numpy(x), torch.from_numpy(y).t()).numpy()
    return np.clip(squares - 2 * products, 0.0, LARGEST_COST)


def best_plan(a: np.ndarray, b: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Return the optimal transport plan from masses `a` [n] to `b` [m] under `cost`, [n, m].

    >>> best_plan(np.array([0.5, 0.5]), np.array([1.0]), np.array([[1.0], [3.0]])).tolist()
    [[0.5], [0.5]]
    """
    if min(cost.shape) == 1:  # only one plan exists
        return np.outer(a, b)
    unused = {"center_dual": False, "check_marginals": False}
    plan, log = solver().emd(a, b, cost, numItermax=ITERATIONS, log=True, **unused)
    if log["warning"] is None:
        return np.asarray(plan)
    return linear_program(a, b, cost)


def linear_program(a: np.ndarray, b: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Solve the same problem as `best_plan` with HiGHS, which is slower but more robust."""
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
        raise ArithmeticError(f"no transport plan from {n} to {m} tokens: {solution.message}")
    return np.asarray(solution.x).reshape(n, m)


def squared_distance(x: WeightedPoints, y: WeightedPoints) -> float:
    """Return the squared 2-Wasserstein distance between two texts, in [0, LARGEST_COST]."""
    cost = costs(x.points, y.points)
    return float((best_plan(x.weights, y.weights, cost) * cost).sum())


@contextmanager
def silent_solver() -> Iterator[None]:
    """Suppress POT's warnings, which are also in its log."""
    with WARNINGS_LOCK, warnings.catch_warnings(action="ignore"):
        yield


@functools.cache
def solver() -> Any:
    """Import POT without its unused backends, which would take seconds to import."""
    names = [f"POT_BACKEND_DISABLE_{name}" for name in UNUSED_BACKENDS]
    environment = {name: os.environ[name] for name in names if name in os.environ}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        import ot

        return ot
    finally:
        for name in names:
            del os.environ[name]
        os.environ.update(environment)
