"""How sure the figures are: intervals and tests by resampling, seeded, and Williams' test.

Systems and samples are both drawn anew, with replacement, because a new evaluation would have other
systems as well as other texts (Deutsch, Dror and Roth 2021, "Boot-Both"). Several metrics are given
the same draws, so that their differences can be judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from infolm_metric.core.settings import check_known, check_whole
from infolm_metric.meta_evaluation.correlations import (
    COEFFICIENTS,
    Statistic,
    check_grids,
    checked_grids,
    same_order,
)

RESAMPLES = 1000
CONFIDENCE = 0.95
ELEMENTS = 1 << 23  # scores that a chunk of the resamples holds at a time
EQUAL = 1e-12  # coefficients that differ by less are equal, as those of a metric and its percentage


# The bootstrap over systems and samples.


@dataclass(frozen=True)
class Draws:
    """Resamples: the systems drawn, and how often each sample was drawn."""

    systems: np.ndarray  # int [resamples, systems]
    samples: np.ndarray  # int [resamples, samples]; rows sum to the number of samples


def draw(
    systems: int, samples: int, resamples: int = RESAMPLES, seed: int = 0, axes: str = "both"
) -> Draws:
    """Resamples of `systems` systems and `samples` samples, with replacement.

    `axes`: "both", or "samples" or "systems" alone, with the other axis as it is.

    >>> draws = draw(3, 5, resamples=2)
    >>> draws.systems.shape, draws.samples.sum(1)
    ((2, 3), array([5, 5]))
    """
    check_whole("resamples", resamples)
    check_whole("seed", seed, least=0)
    random = np.random.default_rng(seed)
    rows = np.tile(np.arange(systems), (resamples, 1))
    counts = np.ones((resamples, samples), dtype=np.int64)
    if axes != "samples":
        rows = random.integers(systems, size=(resamples, systems))
    if axes != "systems":
        counts = random.multinomial(samples, np.full(samples, 1 / samples), size=resamples)
    return Draws(rows, counts)


def resampled(
    statistic: Statistic, grids: Sequence[np.ndarray], draws: Draws, level: str = "system"
) -> np.ndarray:
    """A statistic of every resample, [resamples].

    Grids [systems, samples] as `common_scores` gives them. NaN where a resample has no value, as
    when one system was drawn only.
    """
    if level == "system":
        return statistic(*(_drawn_means(grid, draws) for grid in grids))
    values = np.empty(len(draws.systems))
    step = max(1, ELEMENTS // grids[0].size)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        systems, samples = draws.systems[part], draws.samples[part]
        # [resamples, samples, systems] -> [resamples, samples]
        coefficients = statistic(*(grid[systems].swapaxes(1, 2) for grid in grids))
        weights = np.where(np.isnan(coefficients), 0, samples)
        with np.errstate(invalid="ignore", divide="ignore"):
            values[part] = (np.nan_to_num(coefficients) * weights).sum(-1) / weights.sum(-1)
    return values


def _drawn_means(grid: np.ndarray, draws: Draws) -> np.ndarray:
    """The means of the drawn systems over the drawn samples, [resamples, systems]."""
    sums = draws.samples @ np.nan_to_num(grid).T
    counts = draws.samples @ (~np.isnan(grid)).T.astype(np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
    return np.take_along_axis(means, draws.systems, axis=1)


def percentile_interval(values: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The ends of the middle `confidence` of the values; NaN values are left out.

    >>> percentile_interval(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be above 0 and below 1, got {confidence!r}")
    if np.isnan(values).all():
        return (math.nan, math.nan)
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(values, [tail, 1 - tail])
    return float(low), float(high)


def bootstrap_interval(
    human: np.ndarray,
    metric: np.ndarray,
    coefficient: str = "pearson",
    level: str = "system",
    missing: str = "drop",
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """The percentile bootstrap interval of a correlation.

    Args:
        human: as for `correlation`; grids [texts] are drawn by text.
        metric: likewise.
        coefficient: likewise; at the system level also "accuracy", the `pairwise_accuracy`.
        level: "system" or "text".
        missing: what to do where a score is missing.
        resamples: how many times, at least 1.
        seed: the same gives the same draws.
        confidence: the share of the draws inside, between 0 and 1.

    Returns:
        The lower and the upper end; NaN where no draw has a value.

    Raises:
        TypeError, ValueError: a name or a number is wrong, or as `correlation`.

    >>> human = np.random.default_rng(0).normal(size=(8, 40)) + np.arange(8.0)[:, None]
    >>> low, high = bootstrap_interval(human, human + 1, resamples=50)
    >>> round(low, 6), round(high, 6)
    (1.0, 1.0)
    """
    grids = checked_grids(level, missing, human=human, metric=metric)
    statistics = {**COEFFICIENTS, **({"accuracy": same_order} if level == "system" else {})}
    check_known("coefficient", coefficient, tuple(statistics))
    systems, samples = grids[0].shape
    draws = draw(systems, samples, resamples, seed, "both" if np.ndim(human) > 1 else "systems")
    return percentile_interval(resampled(statistics[coefficient], grids, draws, level), confidence)


def difference_p_value(first: np.ndarray, second: np.ndarray) -> float:
    """The two-sided p-value of a difference of statistics, from their values over resamples.

    Twice the share of resamples on the rarer side of 0, of which one more is counted, so that it is
    never 0 (Davison and Hinkley 1997, section 4.2). NaN where no resample has both.

    >>> difference_p_value(np.full(99, 0.5), np.full(99, 0.1))
    0.02
    """
    differences = first - second
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        return math.nan
    count = min((differences <= EQUAL).sum(), (differences >= -EQUAL).sum())
    return float(min(1.0, 2 * (count + 1) / (len(differences) + 1)))


# Two systems by one metric: paired tests over the samples.


def paired_bootstrap(
    scores: Sequence[float] | np.ndarray,
    baseline: Sequence[float] | np.ndarray,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """The p-value of the difference of two systems' mean scores by the paired bootstrap.

    Counted is how often the difference of a resample is as far from the observed one as that is
    from 0, as sacreBLEU does (Koehn 2004; Riezler and Maxwell 2005).

    Args:
        scores: of one system by one metric, float64 [samples].
        baseline: of the other, likewise, for the same samples.
        resamples: how many times samples are drawn, at least 1.
        seed: the same gives the same draws.

    Returns:
        The two-sided p-value, above 0 and up to 1.

    Raises:
        TypeError, ValueError: the lists are not equally long, have fewer than two scores or hold a
            number that is not finite, or `resamples` is no whole number of at least 1.

    >>> paired_bootstrap([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    """
    differences = _differences(scores, baseline)
    counts = draw(1, len(differences), resamples, seed, "samples").samples
    mean = differences.mean()
    deviations = np.abs(counts @ differences / len(differences) - mean)
    return float(((deviations >= abs(mean) - _slack(differences)).sum() + 1) / (resamples + 1))


def approximate_randomization(
    scores: Sequence[float] | np.ndarray,
    baseline: Sequence[float] | np.ndarray,
    resamples: int = 10 * RESAMPLES,
    seed: int = 0,
) -> float:
    """The p-value of the difference of two systems' mean scores by the paired permutation test.

    Each sample's two scores change places at random (Noreen 1989; Riezler and Maxwell 2005).

    Args:
        scores: of one system by one metric, float64 [samples].
        baseline: of the other, likewise, for the same samples.
        resamples: how many times places are drawn, at least 1.
        seed: the same gives the same draws.

    Returns:
        The two-sided p-value, above 0 and up to 1.

    Raises:
        TypeError, ValueError: as `paired_bootstrap`.

    >>> approximate_randomization([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    """
    check_whole("resamples", resamples)
    differences = _differences(scores, baseline)
    random = np.random.default_rng(seed)
    threshold = abs(differences.sum()) - len(differences) * _slack(differences)
    count, step = 0, max(1, ELEMENTS // len(differences))
    for start in range(0, resamples, step):
        signs = _signs(random, min(step, resamples - start), len(differences))
        count += int((np.abs(signs @ differences) >= threshold).sum())
    return (count + 1) / (resamples + 1)


def soft_pairwise_accuracy(
    human: np.ndarray,
    metric: np.ndarray,
    level: str = "system",
    missing: str = "drop",
    *,
    permutations: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """How alike a metric and people are in how sure they are which of two systems is better.

    The mean over pairs of systems of 1 - |p_human - p_metric|, where p is the one-sided p-value of
    the paired permutation test over samples, by the same permutations for all: near 0 where the
    first system is surely better, near 1 where the second is (Thompson, Mathur, Deutsch and
    Khayrallah 2024; what WMT reports since 2024).

    Args:
        human: people's scores, as for `correlation`.
        metric: the metric's, likewise.
        level: "system", which is the only one.
        missing: as for `correlation`; with "available" two systems are compared on the samples that
            both have.
        permutations: how many times places are drawn, at least 1.
        seed: the same gives the same draws.

    Returns:
        The accuracy, from 0 to 1, above; NaN where there is one system alone.

    Raises:
        TypeError, ValueError: a number is wrong, or as `correlation`.

    >>> human = np.random.default_rng(0).normal(size=(5, 40)) + np.arange(5.0)[:, None]
    >>> soft_pairwise_accuracy(human, 10 * human)
    1.0
    """
    check_known("level", level, ("system",))
    check_whole("permutations", permutations)
    check_whole("seed", seed, least=0)
    grids = checked_grids(level, missing, human=human, metric=metric)
    if len(grids[0]) < 2:
        return math.nan
    signs = _signs(np.random.default_rng(seed), permutations, grids[0].shape[1])
    human_p_values, metric_p_values = (_one_sided_p_values(grid, signs) for grid in grids)
    return float(1 - np.abs(human_p_values - metric_p_values).mean())


def _one_sided_p_values(grid: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """That the first system of each pair is better, [systems, samples] -> [pairs]."""
    first, second = np.triu_indices(len(grid), 1)
    differences = np.nan_to_num(grid[first] - grid[second])  # a gap says nothing either way
    slack = 1e-12 * np.abs(differences).sum(1)  # rounding: a tie must count as one
    permuted_sums = signs @ differences.T  # [permutations, pairs]
    return (permuted_sums >= differences.sum(1) - slack).mean(0)


def _signs(random: np.random.Generator, permutations: int, samples: int) -> np.ndarray:
    """Whether two scores stay or change places: 1 or -1, [permutations, samples]."""
    return random.integers(2, size=(permutations, samples), dtype=np.int8) * 2 - 1


def _slack(differences: np.ndarray) -> float:
    """What rounding may do to a mean: a tie must count as one."""
    return float(1e-12 * np.abs(differences).max())


def _differences(
    scores: Sequence[float] | np.ndarray, baseline: Sequence[float] | np.ndarray
) -> np.ndarray:
    scores, baseline = np.asarray(scores, dtype=float), np.asarray(baseline, dtype=float)
    if scores.shape != baseline.shape or scores.ndim != 1 or len(scores) < 2:
        shapes = f"{list(scores.shape)} and {list(baseline.shape)}"
        raise ValueError(f"scores and baseline must be equally long, from two on, got {shapes}")
    if not np.isfinite([scores, baseline]).all():
        raise ValueError("scores and baseline must be finite")
    return scores - baseline


# Two metrics on the same systems.


@dataclass(frozen=True)
class WilliamsTest:
    """What Williams' test finds; NaN in both where a correlation is not defined.

    Attributes:
        statistic: t, with n - 3 degrees of freedom; above 0 where the first metric agrees better.
        p_value: the two-sided p-value, from 0 to 1.
    """

    statistic: float
    p_value: float


def williams_test(r12: float, r13: float, r23: float, n: int) -> WilliamsTest:
    """Whether the correlations r12 and r13, which share variable 1, differ.

    Variable 1 is people, 2 and 3 are the metrics. With
    K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23,

        t(n - 3) = (r12 - r13) sqrt((n - 1)(1 + r23))
                   / sqrt(2K (n - 1)/(n - 3) + (r12 + r13)^2 / 4 (1 - r23)^3).

    Source: Williams 1959; Steiger 1980, equation 7; Graham and Baldwin 2014 for metrics. It is made
    for Pearson's r of normal variables; for rank correlations it is an approximation.

    Args:
        r12: how one metric agrees with people, from -1 to 1, or NaN.
        r13: how the other does, likewise.
        r23: how the metrics agree with each other, likewise.
        n: the number of systems, at least 4.

    Returns:
        The statistic and the p-value.

    Raises:
        ValueError: n is below 4, or a correlation lies outside [-1, 1].

    >>> test = williams_test(0.80, 0.72, 0.89, 26)  # Howell, Statistical Methods for Psychology
    >>> round(test.statistic, 3), round(test.p_value, 3)
    (1.361, 0.187)
    """
    if n < 4:
        raise ValueError(f"Williams' test needs at least 4 systems, got {n}")
    if any(math.isnan(r) for r in (r12, r13, r23)):
        return WilliamsTest(math.nan, math.nan)
    for name, r in (("r12", r12), ("r13", r13), ("r23", r23)):
        if not -1 <= r <= 1:
            raise ValueError(f"{name} must lie in [-1, 1], got {r}")
    # The determinant of the three correlations; rounding can carry it below 0.
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    variance = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    effect = (r12 - r13) * math.sqrt((n - 1) * (1 + r23))
    if abs(r12 - r13) <= EQUAL:
        return WilliamsTest(0.0, 1.0)
    statistic = math.copysign(math.inf, effect) if variance == 0 else effect / math.sqrt(variance)
    return WilliamsTest(statistic, float(2 * student.sf(abs(statistic), n - 3)))


def compare_metrics(
    human: np.ndarray, one: np.ndarray, other: np.ndarray, coefficient: str = "pearson"
) -> WilliamsTest:
    """Williams' test of two metrics' agreement with people, from the systems' means.

    A system that lacks one of the three means takes no part.

    Args:
        human: people's means, float64 [systems], NaN for missing.
        one: those of a metric, likewise, higher is better.
        other: those of another, likewise.
        coefficient: "pearson", "spearman" or "kendall".

    Returns:
        The statistic and the p-value.

    Raises:
        ValueError: fewer than 4 systems have all means, the lists are not equally long or hold
            infinities, or an unknown coefficient.

    >>> human = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> good, bad = human + [0.1, -0.1, 0.1, 0, 0.1, -0.1], np.array([3.0, 1, 2, 6, 4, 5])
    >>> compare_metrics(human, good, bad).p_value < 0.05
    True
    """
    check_known("coefficient", coefficient, tuple(COEFFICIENTS))
    lists = {"human": human, "one": one, "other": other}
    check_grids(lists)
    if np.ndim(human) != 1:
        raise ValueError(f"human must hold the systems' means, got shape {list(np.shape(human))}")
    means = np.asarray([*lists.values()], dtype=float)
    x, y, z = means[:, ~np.isnan(means).any(0)]
    r = COEFFICIENTS[coefficient]
    return williams_test(float(r(x, y)), float(r(x, z)), float(r(y, z)), len(x))


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """The p-values of several tests, corrected for their number by Holm's step-down method.

    Where those below 0.05 are taken for differences, there is a false one among them in at most 1
    of 20 families of tests (Holm 1979).

    Args:
        p_values: of one family of tests, [tests], from 0 to 1; NaN, for a test that is not
            defined, does not count.

    Returns:
        float64 [tests], from 0 to 1, in the same order.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(p_values, dtype=float)
    corrected_values = np.full(values.shape, np.nan)
    order = np.argsort(values)[: (~np.isnan(values)).sum()]  # NaN is sorted to the end
    factors = np.arange(len(order), 0, -1)
    corrected_values[order] = np.maximum.accumulate(values[order] * factors).clip(max=1)
    return corrected_values
