"""Partial correlation: what a metric knows of people's scores beyond what another figure says.

Long texts may be better, or worse, in the eyes of people, and a metric may see little else. What is
left of its correlation with people when both have been freed of what length predicts, linearly, is
the partial correlation given length.
"""

from __future__ import annotations

import numpy as np

from infolm_metric.kernel.checks import check_known
from infolm_metric.meta_evaluation.correlations import (
    LEVELS,
    check_shapes,
    pair,
    pearson,
    system_means,
)

FEWEST = 4  # of three points what a line leaves is always one line: the answer would be 1 or -1
NOTHING_LEFT = 1e-9  # a share of the variance below this is rounding


def partial_of(xy: np.ndarray, xz: np.ndarray, yz: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The correlation of x and y given z, from the three correlations over `count` positions each.

    (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2)(1 - r_yz^2)) (Yule 1907), [...] -> [...]. NaN where z
    leaves nothing of x or y, and where the positions are too few to tell.

    >>> halves, ten = np.array([0.5, 0.5]), np.array([10, 10])
    >>> partial_of(halves, np.array([0.0, 0.6]), np.array([0.0, 0.5]), ten).round(3)
    array([0.5  , 0.289])
    """
    left = [1 - xz**2, 1 - yz**2]
    with np.errstate(invalid="ignore", divide="ignore"):
        values = (xy - xz * yz) / np.sqrt(left[0] * left[1])
        defined = (np.minimum(*left) > NOTHING_LEFT) & (count >= FEWEST)
        return np.where(defined, values, np.nan).clip(-1, 1)[()]


def partial(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Pearson's correlation of x and y given z over the last axis, [..., n] -> [...].

    NaN in all where one is missing, and as the value where it is not defined.
    """
    count = (~np.isnan(x + y + z)).sum(-1)
    return partial_of(pearson(x, y), pearson(x, z), pearson(y, z), count)


def partial_correlation(
    human: np.ndarray,
    metric: np.ndarray,
    given: np.ndarray,
    level: str = "system",
    missing: str = "drop",
) -> float:
    """The agreement of a metric with people given a third grid, such as lengths.

    Args:
        human: people's scores, as for `correlation`.
        metric: the metric's, likewise.
        given: the third grid, float64 [systems, samples], NaN for missing.
        level: "system", of the systems' means, or "text", the mean over the samples.
        missing: "drop" or "available", as in `pair`.

    Returns:
        Pearson's partial correlation, from -1 to 1; NaN where it is not defined, as it is for fewer
        than 4 systems.

    Raises:
        ValueError: as `pair`, or an unknown level.

    >>> lengths = np.array([[9.0], [12.0], [20.0], [16.0], [11.0]])
    >>> human = np.array([[3.0], [5.0], [4.0], [4.0], [2.0]])
    >>> round(partial_correlation(human, lengths + human, lengths), 6)
    1.0
    """
    check_known("level", level, LEVELS)
    check_shapes([("human", human), ("metric", metric), ("given", given)])
    common = np.where(np.isnan(human) | np.isnan(metric) | np.isnan(given), np.nan, 1.0)
    x, y = (pair(human * common, grid * common, missing) for grid in (metric, given))
    if level == "system":
        return float(partial(*map(system_means, (x.human, x.metric, y.metric))))
    values = partial(x.human.T, x.metric.T, y.metric.T)
    return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")
