"""How a metric's scores agree with people's, by statistics of one signature.

A statistic takes (human, metric, ..., level, missing). Both sides are grids, float64
[systems, samples], NaN where a score is missing, higher is better: negate a metric of which that is
not true. The levels are those of mt-metrics-eval: "system" judges the means of the systems
(Colombo et al. 2022, equation 2), "text" the systems' scores of each sample, averaged over the
samples (equation 1). Where the systems are not known grids are [texts], and there is the text level
alone, over all texts together.

The coefficients are written for many vectors at once, because resampling needs thousands; scipy's
take one pair of vectors at a time. They equal scipy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import kendalltau, rankdata

from infolm_metric.core.settings import check_known

LEVELS = ("system", "text")
MISSING = ("drop", "available")
PAIRS_AT_ONCE = 1 << 23  # differences that Kendall's coefficient holds at a time
LONG = 256  # from here on scipy's way, n log n, is faster than all pairs
ROUNDING = 1e-13  # a spread below this, relative to the values, is no spread
FEWEST = 4  # of three points what a line leaves is always one line: partial would be 1 or -1
NOTHING_LEFT = 1e-9  # a share of the variance below this is rounding

Statistic = Callable[..., np.ndarray]
"""[..., n] for each grid -> [...]"""


def pearson(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Pearson's r over the last axis.

    Args:
        x: one side, [..., n]; positions where either side is NaN are left out.
        y: the other, likewise; leading axes broadcast.

    Returns:
        float64 [...], from -1 to 1; NaN where a side does not vary.

    Raises:
        ValueError: the shapes do not broadcast, or a value is infinite.

    >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([[2.0, 4.0, 6.0], [1.0, 1.0, 1.0]]))
    array([ 1., nan])
    """
    x, y, present = _paired(x, y)
    count = present.sum(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        dx, dy = (
            np.where(present, v - np.where(present, v, 0).sum(-1, keepdims=True) / count, 0)
            for v in (x, y)
        )
        spread: Any = 1.0
        for values, deviations in ((x, dx), (y, dy)):
            sizes = np.sqrt((deviations * deviations).sum(-1))
            maxima = np.where(present, np.abs(values), 0).max(-1)
            varies = sizes > ROUNDING * maxima * np.sqrt(count[..., 0])
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
        results = [kendalltau(*pair, nan_policy="omit") for pair in zip(x, y, strict=True)]
        return np.reshape([result.statistic for result in results], shape)[()]
    first, second = np.triu_indices(n, 1)
    taus = np.full(len(x), np.nan)
    step = max(1, PAIRS_AT_ONCE // max(1, len(first)))
    for start in range(0, len(x), step):
        part = slice(start, start + step)
        # A NaN makes its pairs NaN; they count as ties on both sides, which tau-b leaves out.
        signs = [np.nan_to_num(np.sign(v[part][:, first] - v[part][:, second])) for v in (x, y)]
        counts = [np.abs(sign).sum(-1) for sign in signs]
        with np.errstate(invalid="ignore", divide="ignore"):
            taus[part] = (signs[0] * signs[1]).sum(-1) / np.sqrt(counts[0] * counts[1])
    return taus.reshape(shape)[()]


COEFFICIENTS: dict[str, Statistic] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}


def same_order(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The share of pairs that y orders as x does, of those that x does not tie, [..., n] -> [...].

    >>> same_order(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 3.0, 2.0], [1.0, 2.0, 3.0]]))
    array([0.66666667, 1.        ])
    """
    first, second = np.triu_indices(x.shape[-1], 1)
    # A position that is NaN in one is NaN in both, and its pairs count as tied.
    signs = [np.nan_to_num(np.sign(values[..., first] - values[..., second])) for values in (x, y)]
    untied = signs[0] != 0
    with np.errstate(invalid="ignore"):
        return ((signs[0] == signs[1]) & untied).sum(-1) / untied.sum(-1)


def partial(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Pearson's correlation of x and y given z over the last axis, [..., n] -> [...].

    (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2)(1 - r_yz^2)) (Yule 1907). A position that is NaN in one
    is NaN in all. NaN where z leaves nothing of x or y, and where the positions are too few to
    tell.

    >>> x, y, z = np.array([[1.0, 2, 3, 4], [1, 3, 2, 4], [1, -1, -1, 1]])
    >>> partial(x, y, z).round(6)
    np.float64(0.8)
    """
    xy, xz, yz = pearson(x, y), pearson(x, z), pearson(y, z)
    residuals = [1 - xz**2, 1 - yz**2]
    with np.errstate(invalid="ignore", divide="ignore"):
        values = (xy - xz * yz) / np.sqrt(residuals[0] * residuals[1])
    defined = (np.minimum(*residuals) > NOTHING_LEFT) & ((~np.isnan(x)).sum(-1) >= FEWEST)
    return np.where(defined, values, np.nan).clip(-1, 1)[()]


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
        human: people's scores, float64 [systems, samples], NaN for missing, higher is better;
            [texts] where no systems are known, for the text level.
        metric: the metric's, likewise.
        coefficient: "pearson", "spearman" or "kendall".
        level: "system", of the systems' means, or "text", the mean over the samples.
        missing: "drop" leaves a sample out for every system if one system lacks a score, so that
            all systems are judged by the same samples; "available" takes what each system has.

    Returns:
        The coefficient, from -1 to 1; NaN where it is not defined.

    Raises:
        ValueError: the grids differ in shape, hold infinities, or nothing would remain; an unknown
            name; or the system level where no systems are known.

    >>> human = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]])
    >>> correlation(human, human**2)
    0.9873...
    >>> correlation(human, human**2, "kendall", "text")
    1.0
    """
    check_known("coefficient", coefficient, tuple(COEFFICIENTS))
    grids = checked_grids(level, missing, human=human, metric=metric)
    return mean_over_samples(COEFFICIENTS[coefficient], grids, level)


def pairwise_accuracy(
    human: np.ndarray, metric: np.ndarray, level: str = "system", missing: str = "drop"
) -> float:
    """The share of system pairs that the metric orders as people do.

    Pairs between which people see no difference are left out; a pair between which the metric sees
    none is not ordered as people order it. (Kocmi et al. 2021, "To Ship or Not to Ship".)

    Args:
        human: people's scores, as for `correlation`.
        metric: the metric's, likewise.
        level: "system", of pairs of systems' means, or "text", of a sample's texts.
        missing: as for `correlation`.

    Returns:
        The share, from 0 to 1; NaN where people see no difference between any two systems.

    Raises:
        ValueError: as `correlation`.

    >>> pairwise_accuracy(np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [3.0], [2.0]]))
    0.6666666666666666
    """
    grids = checked_grids(level, missing, human=human, metric=metric)
    return mean_over_samples(same_order, grids, level)


def calibrated_accuracy(
    human: np.ndarray, metric: np.ndarray, level: str = "text", missing: str = "drop"
) -> float:
    """The share of pairs of a sample's texts of which a metric says what people say.

    That is that one is better, or neither: people tie often and metrics hardly ever, so a
    difference of the metric's up to a threshold counts as a tie. The threshold is the one that
    gives the largest share on these very data, which favours every metric alike (Deutsch, Foster
    and Freitag 2023, "Ties Matter": acc_eq, grouped by item, tau calibration).

    Args:
        human: people's scores, as for `correlation`.
        metric: the metric's, likewise.
        level: "text", of a sample's texts, or "system", of pairs of systems' means.
        missing: as for `correlation`.

    Returns:
        The share, from 0 to 1; NaN where no sample has two texts with scores.

    Raises:
        ValueError: as `correlation`.

    >>> human = np.array([[1.0], [1.0], [3.0]])
    >>> calibrated_accuracy(human, np.array([[0.2], [0.3], [0.9]]))
    1.0
    """
    x, y = at_level(checked_grids(level, missing, human=human, metric=metric), level)
    first, second = np.triu_indices(x.shape[-1], 1)
    people = np.sign(x[:, first] - x[:, second])  # [samples, pairs]
    differences = y[:, first] - y[:, second]
    present = ~np.isnan(people + differences)
    count = present.sum(-1, keepdims=True)
    if not count.any():
        return math.nan
    # Every sample weighs alike, and every pair of a sample.
    weights = (present / np.maximum(count, 1) / (count > 0).sum())[present]
    people, differences = people[present], differences[present]
    ordered = (np.sign(differences) == people) & (people != 0)
    # What is gained where the pairs that the metric sets apart least count as ties.
    order = np.argsort(np.abs(differences), kind="stable")
    distances = np.abs(differences)[order]
    gains = np.cumsum((weights * ((people == 0) * 1.0 - ordered))[order])
    thresholds = np.append(np.diff(distances) > 0, True)
    best = gains[thresholds].max()
    if distances[0] > 0:  # a threshold of 0 takes none of them for a tie
        best = max(best, 0.0)
    return float((weights * ordered).sum() + best)


def partial_correlation(
    human: np.ndarray,
    metric: np.ndarray,
    given: np.ndarray,
    level: str = "system",
    missing: str = "drop",
) -> float:
    """The agreement of a metric with people given a third grid, such as lengths.

    Long texts may be better, or worse, in the eyes of people, and a metric may see little else.
    This is what remains of its correlation with people when both have been freed of what length
    predicts, linearly.

    Args:
        human: people's scores, as for `correlation`.
        metric: the metric's, likewise.
        given: the third grid, likewise.
        level: "system", of the systems' means, or "text", the mean over the samples.
        missing: as for `correlation`.

    Returns:
        Pearson's partial correlation, from -1 to 1; NaN where it is not defined, as it is for fewer
        than 4 systems.

    Raises:
        ValueError: as `correlation`.

    >>> lengths = np.array([[9.0], [12.0], [20.0], [16.0], [11.0]])
    >>> human = np.array([[3.0], [5.0], [4.0], [4.0], [2.0]])
    >>> round(partial_correlation(human, lengths + human, lengths), 6)
    1.0
    """
    grids = checked_grids(level, missing, human=human, metric=metric, given=given)
    return mean_over_samples(partial, grids, level)


# From grids to vectors.


def check_levels(levels: Sequence[str], systems: bool) -> None:
    """Raise ValueError for a level that is not there."""
    for level in levels:
        check_known("level", level, LEVELS)
    if "system" in levels and not systems:
        raise ValueError(
            "the system level needs the system of each row, in a column 'system'; without one "
            "there is the text level, over all rows"
        )


def check_grids(grids: Mapping[str, np.ndarray]) -> None:
    """Raise ValueError unless the named grids have one shape and hold no infinity.

    >>> check_grids({"human": np.zeros((2, 3)), "metric": np.zeros((2, 1))})
    Traceback (most recent call last):
    ValueError: human and metric must have one shape [systems, samples], got [2, 3] and [2, 1]
    """
    first_name, first_grid = next(iter(grids.items()))
    for name, grid in grids.items():
        if np.shape(grid) != np.shape(first_grid) or np.ndim(grid) not in (1, 2):
            raise ValueError(
                f"{first_name} and {name} must have one shape [systems, samples], "
                f"got {list(np.shape(first_grid))} and {list(np.shape(grid))}"
            )
        check_finite(name, grid)


def check_finite(name: str, scores: np.ndarray) -> None:
    """Raise ValueError if a score is infinite."""
    if np.isinf(scores).any():
        raise ValueError(f"{name} must be finite, or NaN where a score is missing, got infinities")


def common_scores(
    grids: Sequence[np.ndarray], missing: str = "drop"
) -> tuple[list[np.ndarray], int]:
    """The grids, NaN in all where one is, and how many samples were left out.

    Of grids [systems, samples] samples are left out that lack a score of some system, or with
    "available" of every system; of grids [texts], which become [texts, 1], texts.

    Raises ValueError if nothing would remain.
    """
    check_known("missing", missing, MISSING)
    grids = [np.asarray(grid, dtype=float) for grid in grids]
    present = ~np.any([np.isnan(grid) for grid in grids], axis=0)
    if present.ndim == 1:
        if present.sum() < 2:
            raise ValueError("fewer than two texts have all scores")
        return [grid[present][:, None] for grid in grids], int((~present).sum())
    if missing == "available" and not present.any(1).all():
        raise ValueError("a system has no score at all; leave it out")
    columns = present.any(0) if missing == "available" else present.all(0)
    if not columns.any():
        raise ValueError(
            "no sample has scores of every system; leave out the systems that lack scores, with "
            "--exclude-system (in Python: exclude_systems, or missing='available')"
        )
    return [np.where(present, g, np.nan)[:, columns] for g in grids], int((~columns).sum())


def at_level(grids: Sequence[np.ndarray], level: str) -> list[np.ndarray]:
    """What a level compares, [vectors, systems]: the means, or the scores of each sample."""
    if level == "system":
        return [system_means(grid)[None] for grid in grids]
    return [grid.T for grid in grids]


def mean_over_samples(statistic: Statistic, grids: Sequence[np.ndarray], level: str) -> float:
    """The statistic of the systems' means, or its mean over the samples for which it is defined."""
    values = statistic(*at_level(grids, level))
    return float(np.nanmean(values)) if not np.isnan(values).all() else math.nan


def system_means(grid: np.ndarray) -> np.ndarray:
    """The mean of each system over the samples that it has, [systems, samples] -> [systems].

    Rounded to 12 digits of the largest, so that equal ratings in another order are a tie.

    >>> system_means(np.array([[1.0, 3.0], [5.0, np.nan]]))
    array([2., 5.])
    """
    means: np.ndarray = np.nanmean(grid, axis=1)
    maximum = float(np.nanmax(np.abs(means), initial=0.0))
    digits = 12 - math.ceil(math.log10(maximum)) if 0 < maximum < math.inf else 12
    return means.round(min(max(digits, -300), 300))


def checked_grids(level: str, missing: str, **grids: np.ndarray) -> list[np.ndarray]:
    """The grids as `common_scores` gives them, checked."""
    check_grids(grids)
    check_levels([level], np.ndim(grids["human"]) > 1)
    return common_scores(list(grids.values()), missing)[0]


def _paired(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Both sides at their common shape, NaN where either is, and where neither is."""
    x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    check_finite("x", x)
    check_finite("y", y)
    present = ~(np.isnan(x) | np.isnan(y))
    return np.where(present, x, np.nan), np.where(present, y, np.nan), present
