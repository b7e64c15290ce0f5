"""Correlation of metrics with human scores.

Public statistics take `human` and `metric` scores in grids, float64 [systems, samples], or [texts]
if the systems are unknown. Higher is better, so negate other scores. Missing scores are NaN. As in
mt-metrics-eval, the `level` is "system" to compare the systems' mean scores (Colombo et al. 2022,
equation 2), or "segment" to compare the scores within each sample and average over the samples
(equation 1). With [texts], the only level is "segment", which compares all texts. A sample is
skipped if any system has no score, so that all systems are compared on the same samples. Results
are NaN if they are not defined. Public statistics raise InputError if the grids differ in shape,
contain infinities or have no common scores, if a name is unknown, or if the level is "system" but
the systems are unknown.

The coefficients of `x` and `y`, float64 [..., n] -> [...], are from -1 to 1, or NaN if x or y is
constant or contains NaN. Leading axes broadcast, and infinities raise InputError. The coefficients
equal scipy's, but are vectorized, because resampling computes thousands of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau, rankdata

from infolm_metric.core.checks import InputError, check_known

LEVELS = ("system", "segment")
MAX_PAIRWISE = 256  # for longer vectors, scipy's n log n algorithm is faster than all pairs
MIN_SPREAD = 1e-13  # a smaller spread, relative to the values, is a rounding error
MIN_SYSTEMS = 4  # the partial correlation of three systems is always 1 or -1
MIN_RESIDUAL = 1e-9  # a smaller fraction of the variance is a rounding error

# Function that reduces the last axis of its arguments: [..., n] each -> [...].
Statistic = Callable[..., np.ndarray]


def pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute Pearson's r over the last axis, [..., n] -> [...].

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([[2.0, 4.0, 6.0], [1.0, 1.0, 1.0]]))
    array([ 1., nan])
    """
    deviations, sizes = [], []
    for values in check_arrays({"x": x, "y": y}):
        deviation = values - values.mean(-1, keepdims=True)
        size = np.sqrt((deviation * deviation).sum(-1))
        rounding_error = MIN_SPREAD * np.abs(values).max(-1) * math.sqrt(values.shape[-1])
        sizes.append(np.where(size > rounding_error, size, np.nan))
        deviations.append(deviation)
    return ((deviations[0] * deviations[1]).sum(-1) / (sizes[0] * sizes[1])).clip(-1, 1)


def spearman(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute Spearman's rho over the last axis, with mean ranks for ties, [..., n] -> [...].

    >>> spearman(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 3.0, 20.0])).round(3)
    np.float64(0.949)
    """
    x, y = check_arrays({"x": x, "y": y})
    return pearson(rankdata(x, axis=-1), rankdata(y, axis=-1))


def kendall(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute Kendall's tau-b, which corrects for ties, over the last axis, [..., n] -> [...].

    >>> kendall(np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, 3.0, 2.0, 4.0])).round(3)
    np.float64(0.667)
    """
    x, y = np.broadcast_arrays(*check_arrays({"x": x, "y": y}))
    n = x.shape[-1]
    if n > MAX_PAIRWISE:
        vectors = zip(x.reshape(-1, n), y.reshape(-1, n), strict=True)
        return np.reshape([kendalltau(*pair).statistic for pair in vectors], x.shape[:-1])[()]
    signs = [_pair_signs(values) for values in (x, y)]
    counts = [np.abs(sign).sum(-1) for sign in signs]
    with np.errstate(invalid="ignore"):
        return (signs[0] * signs[1]).sum(-1) / np.sqrt(counts[0] * counts[1])


def _pair_signs(values: np.ndarray) -> np.ndarray:
    """Return the sign of the difference of each pair of values, [..., n] -> [..., pairs]."""
    first, second = np.triu_indices(values.shape[-1], 1)
    return np.sign(values[..., first] - values[..., second])


COEFFICIENTS: dict[str, Statistic] = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def order_accuracy(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute the fraction of pairs not tied in x that y orders in the same way, [..., n] -> [...].

    >>> order_accuracy(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 3.0, 2.0], [1.0, 2.0, 3.0]]))
    array([0.66666667, 1.        ])
    """
    human, metric = _pair_signs(x), _pair_signs(y)
    untied = human != 0
    with np.errstate(invalid="ignore"):
        return ((human == metric) & untied).sum(-1) / untied.sum(-1)


def partial_pearson(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Compute the partial correlation of x and y given z over the last axis, [..., n] -> [...].

    (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2)(1 - r_yz^2)) (Yule 1907). The result is NaN if z
    is constant or determines x or y, or if n is below 4.

    >>> x, y, z = np.array([[1.0, 2, 3, 4], [1, 3, 2, 4], [1, -1, -1, 1]])
    >>> partial_pearson(x, y, z).round(6)
    np.float64(0.8)
    """
    xy, xz, yz = pearson(x, y), pearson(x, z), pearson(y, z)
    residuals = [1 - xz**2, 1 - yz**2]
    defined = (np.minimum(*residuals) > MIN_RESIDUAL) & (x.shape[-1] >= MIN_SYSTEMS)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = (xy - xz * yz) / np.sqrt(residuals[0] * residuals[1])
    return np.where(defined, values, np.nan).clip(-1, 1)[()]


def correlation(
    human: np.ndarray, metric: np.ndarray, coefficient: str = "pearson", level: str = "system"
) -> float:
    """Correlate a metric with human scores, from -1 to 1.

    `coefficient` is "pearson", "spearman" or "kendall". The module docstring describes the rest.
    At the segment level, samples in which all human scores or all metric scores are equal are
    skipped.

    >>> human = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]])
    >>> correlation(human, human**2)
    0.9873...
    >>> correlation(human, human**2, "kendall", "segment")
    1.0
    """
    check_known("coefficient", coefficient, tuple(COEFFICIENTS))
    grids = prepare_grids(level, human=human, metric=metric)
    return mean_over_samples(COEFFICIENTS[coefficient], grids, level)


def calibrated_accuracy(human: np.ndarray, metric: np.ndarray) -> float:
    """Compute the fraction of text pairs whose order or tie the metric and humans agree on.

    Pairs are texts for the same sample, or any two texts if the systems are unknown. Human scores
    are often tied, but metric scores rarely are. Therefore, metric differences up to a threshold
    count as ties. The threshold maximizes the accuracy on these data (Deutsch, Foster and Freitag
    2023, "Ties Matter": acc_eq, grouped by item, tau calibration). The result is NaN for a single
    system. See the module docstring for the arguments.

    >>> human = np.array([[1.0], [1.0], [3.0]])
    >>> calibrated_accuracy(human, np.array([[0.2], [0.3], [0.9]]))
    1.0
    """
    x, y = prepare_grids("segment", human=human, metric=metric)
    first, second = np.triu_indices(len(x), 1)
    if not len(first):
        return math.nan
    human_signs = np.sign(x[first] - x[second]).ravel()  # [pairs * samples]
    differences = (y[first] - y[second]).ravel()
    ordered = (np.sign(differences) == human_signs) & (human_signs != 0)
    # Gain in accuracy when the pairs with the smallest metric differences count as ties.
    order = np.argsort(np.abs(differences), kind="stable")
    distances = np.abs(differences)[order]
    gains = np.cumsum(((human_signs == 0) * 1.0 - ordered)[order])
    thresholds = np.append(np.diff(distances) > 0, True)
    best = gains[thresholds].max()
    if distances[0] > 0:  # with a threshold of 0, there are no ties
        best = max(best, 0.0)
    return float((ordered.sum() + best) / len(differences))


# From grids to vectors.


def check_grids(grids: Mapping[str, np.ndarray]) -> None:
    """Check that the grids have the same shape and no infinities.

    >>> check_grids({"human": np.zeros((2, 3)), "metric": np.zeros((2, 1))})
    Traceback (most recent call last):
    infolm_metric.InputError: human and metric must have the same shape, [systems, samples] ...
    """
    shapes = [list(as_array(name, grid).shape) for name, grid in grids.items()]
    if any(shape != shapes[0] or len(shape) not in (1, 2) for shape in shapes):
        raise InputError(
            f"{' and '.join(grids)} must have the same shape, [systems, samples] or [texts], got "
            f"{' and '.join(map(str, shapes))}"
        )
    check_arrays(grids)


def as_array(name: str, values: object) -> np.ndarray:
    """Return numbers as float64. Raise InputError for other values and for ragged lists.

    >>> as_array("x", ["one"])
    Traceback (most recent call last):
    infolm_metric.InputError: x must be an array of numbers, got ['one']
    """
    with suppress(TypeError, ValueError):
        if (array := np.asarray(values, dtype=float)).ndim:
            return array
    raise InputError(f"{name} must be an array of numbers, got {values!r:.100}")


def check_arrays(values: Mapping[str, npt.ArrayLike]) -> list[np.ndarray]:
    """Return the values as float64. Check that their lengths are equal and none is infinite."""
    arrays = {name: as_array(name, array) for name, array in values.items()}
    sizes = [array.size and array.shape[-1] for array in arrays.values()]
    if not sizes[0] or sizes != sizes[:1] * len(sizes):
        raise InputError(f"{' and '.join(values)} must have equal lengths > 0, got {sizes}")
    for name, array in arrays.items():
        if np.isinf(array).any():
            raise InputError(f"{name} must be finite, got infinity. Correct or remove such scores.")
    return list(arrays.values())


def common_scores(grids: Sequence[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """Return the grids without samples in which a system lacks a score, and the number dropped.

    In grids of shape [texts], texts with a missing score are dropped. The result is [texts, 1].
    """
    grids = [np.asarray(grid, dtype=float) for grid in grids]
    present = ~np.any([np.isnan(grid) for grid in grids], axis=0)
    if present.ndim == 1:
        if present.sum() < 2:
            raise InputError(f"at least 2 texts must have all scores, got {present.sum()}")
        return [grid[present][:, None] for grid in grids], int((~present).sum())
    columns = present.all(0)
    if not columns.any():
        raise InputError(
            "no sample has scores for every system. Use the same ids for all systems, or remove "
            "systems that lack scores."
        )
    return [grid[:, columns] for grid in grids], int((~columns).sum())


def mean_over_samples(statistic: Statistic, grids: Sequence[np.ndarray], level: str) -> float:
    """Compute a statistic of the system means, or its mean over the samples, ignoring NaN."""
    if level == "system":
        return float(statistic(*map(system_means, grids)))
    values = statistic(*(grid.T for grid in grids))
    return float(np.nanmean(values)) if not np.isnan(values).all() else math.nan


def system_means(grid: np.ndarray) -> np.ndarray:
    """Compute each system's mean score, [systems, samples] -> [systems].

    Means are rounded relative to their maximum, so that systems with the same scores in a different
    order are tied.

    >>> system_means(np.array([[1.0, 3.0], [5.0, 4.0]]))
    array([2. , 4.5])
    """
    means: np.ndarray = grid.mean(axis=1)
    maximum = float(np.abs(means).max())
    return means.round(min(12 - math.ceil(math.log10(maximum)), 300)) if maximum else means


def prepare_grids(level: str, **grids: np.ndarray) -> list[np.ndarray]:
    """Check the grids and return their common scores."""
    check_grids(grids)
    check_known("level", level, LEVELS)
    if level == "system" and np.ndim(grids["human"]) < 2:
        raise InputError(
            "the system level requires scores [systems, samples], got [texts]. Use the segment "
            "level (and calibrated_accuracy instead of soft_pairwise_accuracy)."
        )
    return common_scores(list(grids.values()))[0]
