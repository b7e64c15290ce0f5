"""Correlation of a metric with human scores, at the level of systems and of texts.

Scores are grids, float64 [systems, samples], NaN where one is missing, higher is better for both
sides: negate a metric of which that is not true. The terms are those of mt-metrics-eval: at the
system level the means of the systems are correlated (Colombo et al. 2022, equation 2), at the text
level the systems' scores of each sample are, and the samples' correlations are averaged
(equation 1).

The coefficients are written for many vectors at once, because resampling needs thousands; scipy's
take one pair of vectors at a time. They equal scipy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import kendalltau, rankdata

from infolm_metric.kernel.checks import check_known

LEVELS = ("system", "text")
MISSING = ("drop", "available")
PAIRS_AT_ONCE = 1 << 23  # differences that Kendall's coefficient holds at a time
LONG = 256  # from here on scipy's way, n log n, is faster than all pairs
ROUNDING = 1e-13  # a spread below this, relative to the values, is no spread
EQUAL = 1e-12  # coefficients that differ by less are equal, as those of a metric and its percentage


def pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's r over the last axis.

    Args:
        x: one side, [..., n]; positions where either side is NaN are left out.
        y: the other, likewise; leading axes broadcast.

    Returns:
        float64 [...], from -1 to 1; NaN where a side does not vary.

    Raises:
        ValueError: the shapes do not broadcast.

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([[2.0, 4.0, 6.0], [1.0, 1.0, 1.0]]))
    array([ 1., nan])
    """
    x, y, there = _paired(x, y)
    count = there.sum(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        dx, dy = (
            np.where(there, values - np.where(there, values, 0).sum(-1, keepdims=True) / count, 0)
            for values in (x, y)
        )
        spread: Any = 1.0
        for values, deviations in ((x, dx), (y, dy)):
            sizes = np.sqrt((deviations * deviations).sum(-1))
            largest = np.where(there, np.abs(values), 0).max(-1)
            varies = sizes > ROUNDING * largest * np.sqrt(count[..., 0])
            spread = spread * np.where(varies, sizes, np.nan)
        return ((dx * dy).sum(-1) / spread).clip(-1, 1)


def spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Spearman's rho over the last axis, ties at their mean rank.

    Args:
        x: as for `pearson`.
        y: likewise.

    Returns:
        As `pearson`.

    Raises:
        ValueError: as `pearson`.

    >>> spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 3.0, 20.0])).round(3)
    np.float64(0.949)
    """
    x, y, _ = _paired(x, y)
    return pearson(*(rankdata(values, axis=-1, nan_policy="omit") for values in (x, y)))


def kendall(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Kendall's tau-b over the last axis, which corrects for ties.

    Args:
        x: as for `pearson`.
        y: likewise.

    Returns:
        As `pearson`.

    Raises:
        ValueError: as `pearson`.

    >>> kendall(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])).round(3)
    np.float64(0.667)
    """
    x, y, _ = _paired(x, y)
    shape, n = x.shape[:-1], x.shape[-1]
    x, y = x.reshape(-1, n), y.reshape(-1, n)
    if n > LONG:
        found = [kendalltau(*both, nan_policy="omit").statistic for both in zip(x, y, strict=True)]
        return np.reshape(found, shape)[()]
    one, other = np.triu_indices(n, 1)
    taus = np.full(len(x), np.nan)
    step = max(1, PAIRS_AT_ONCE // max(1, len(one)))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        # A NaN makes its pairs NaN; they count as ties on both sides, which tau-b leaves out.
        signs = [np.nan_to_num(np.sign(v[part][:, one] - v[part][:, other])) for v in (x, y)]
        untied = [np.abs(sign).sum(-1) for sign in signs]
        with np.errstate(invalid="ignore", divide="ignore"):
            taus[part] = (signs[0] * signs[1]).sum(-1) / np.sqrt(untied[0] * untied[1])
    return taus.reshape(shape)[()]


COEFFICIENTS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}
"""[..., n], [..., n] -> [...]"""


@dataclass(frozen=True)
class Paired:
    """Human and metric scores of the same texts, both [systems, samples], and what was left out."""

    human: np.ndarray
    metric: np.ndarray
    dropped: int
    """Samples that were left out because a score of some system is missing."""


def pair(human: np.ndarray, metric: np.ndarray, missing: str = "drop") -> Paired:
    """The two grids, NaN in both where either is.

    `missing`: "drop" leaves a sample out for every system if one system lacks a score, so that all
    systems are judged by the same samples; "available" takes what each system has.

    Raises:
        ValueError: the grids differ in shape, hold infinities, or nothing would remain.
    """
    human, metric = np.asarray(human, dtype=float), np.asarray(metric, dtype=float)
    check_shapes([("human", human), ("metric", metric)])
    check_known("missing", missing, MISSING)
    there = ~(np.isnan(human) | np.isnan(metric))
    if not np.isfinite(human[there]).all() or not np.isfinite(metric[there]).all():
        raise ValueError("human and metric must be finite, or NaN where a score is missing")
    human, metric = np.where(there, human, np.nan), np.where(there, metric, np.nan)
    if missing == "available":
        kept = there.any(0)
        if not there.any(1).all():
            raise ValueError("a system has no score at all; leave it out")
    else:
        kept = there.all(0)
        if not kept.any():
            raise ValueError(
                "no sample has scores of every system; missing='available' takes those there are"
            )
    return Paired(human[:, kept], metric[:, kept], int((~kept).sum()))


def check_shapes(grids: Sequence[tuple[str, np.ndarray]]) -> None:
    """Raise ValueError, with both shapes, unless the named grids have one shape, of two axes.

    >>> check_shapes([("human", np.zeros((2, 3))), ("metric", np.zeros((2, 1)))])
    Traceback (most recent call last):
    ValueError: human and metric must have one shape [systems, samples], got [2, 3] and [2, 1]
    """
    (first, one), *others = grids
    for name, other in others:
        if np.shape(other) != np.shape(one) or np.ndim(one) != 2:
            raise ValueError(
                f"{first} and {name} must have one shape [systems, samples], "
                f"got {list(np.shape(one))} and {list(np.shape(other))}"
            )


def correlation(
    human: np.ndarray,
    metric: np.ndarray,
    coefficient: str = "pearson",
    level: str = "system",
    missing: str = "drop",
) -> float:
    """The agreement of a metric with people, by a coefficient.

    At the text level samples whose human or metric scores are equal for all systems have no
    correlation and are left out.

    Args:
        human: people's scores, float64 [systems, samples], NaN for missing, higher is better.
        metric: the metric's, likewise.
        coefficient: "pearson", "spearman" or "kendall".
        level: "system", of the systems' means, or "text", the mean over the samples.
        missing: "drop" or "available", as in `pair`.

    Returns:
        The coefficient, from -1 to 1; NaN where it is not defined.

    Raises:
        ValueError: as `pair`, or an unknown coefficient or level.

    >>> human = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]])
    >>> correlation(human, human**2)
    0.9873...
    >>> correlation(human, human**2, "kendall", "text")
    1.0
    """
    check_known("coefficient", coefficient, tuple(COEFFICIENTS))
    check_known("level", level, LEVELS)
    both = pair(human, metric, missing)
    function = COEFFICIENTS[coefficient]
    if level == "system":
        return float(function(system_means(both.human), system_means(both.metric)))
    values = function(both.human.T, both.metric.T)
    return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")


def system_means(grid: np.ndarray) -> np.ndarray:
    """The mean of each system over the samples that it has, [systems, samples] -> [systems].

    Rounded to 12 digits of the largest, so that equal ratings in another order are a tie.

    >>> system_means(np.array([[1.0, 3.0], [5.0, np.nan]]))
    array([2., 5.])
    """
    means: np.ndarray = np.nanmean(grid, axis=1)
    largest = float(np.nanmax(np.abs(means), initial=0.0))
    digits = 12 - math.ceil(math.log10(largest)) if 0 < largest < math.inf else 12
    return means.round(min(max(digits, -300), 300))


def pairwise_accuracy(human: np.ndarray, metric: np.ndarray, missing: str = "drop") -> float:
    """The share of system pairs that the metric orders as people do.

    Pairs between which people see no difference are left out; a pair between which the metric sees
    none is not ordered as people order it. (Kocmi et al. 2021, "To Ship or Not to Ship".)

    Args:
        human: people's scores, as for `correlation`.
        metric: the metric's, likewise.
        missing: likewise.

    Returns:
        The share, from 0 to 1; NaN where people see no difference between any two systems.

    Raises:
        ValueError: as `pair`.

    >>> pairwise_accuracy(np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [3.0], [2.0]]))
    0.6666666666666666
    """
    both = pair(human, metric, missing)
    return float(ordered_alike(system_means(both.human), system_means(both.metric)))


def ordered_alike(human: np.ndarray, metric: np.ndarray) -> np.ndarray:
    """`pairwise_accuracy` from the systems' means, [..., systems] -> [...].

    >>> ordered_alike(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 3.0, 2.0], [1.0, 2.0, 3.0]]))
    array([0.66666667, 1.        ])
    """
    one, other = np.triu_indices(human.shape[-1], 1)
    people = np.sign(human[..., one] - human[..., other])
    ours = np.sign(metric[..., one] - metric[..., other])
    with np.errstate(invalid="ignore"):
        return ((people == ours) & (people != 0)).sum(-1) / np.abs(people).sum(-1)


def _paired(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both sides at their common shape, NaN where either is, and where neither is."""
    x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    there = ~(np.isnan(x) | np.isnan(y))
    return np.where(there, x, np.nan), np.where(there, y, np.nan), there
