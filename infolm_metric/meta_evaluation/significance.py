"""Confidence intervals and significance tests: seeded resampling and Williams' test.

Both systems and samples are resampled with replacement, because a new evaluation would have
different systems and different texts (Deutsch, Dror and Roth 2021, "Boot-Both"). All metrics are
evaluated on the same resamples, so that their differences can be tested. `resamples` and
`permutations` are whole numbers >= 1. `seed` determines the resamples and permutations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.stats import permutation_test
from scipy.stats import t as student

from infolm_metric.core.checks import InputError, check_known, check_whole
from infolm_metric.meta_evaluation import correlations

RESAMPLES = 1000
CONFIDENCE = 0.95
SIGNIFICANCE_LEVEL = 0.05
SCORES_PER_CHUNK = 1 << 23  # limits the memory that a chunk of resamples uses
MIN_SYSTEMS = 4  # for Williams' test
TOLERANCE = 1e-12  # smaller differences are rounding errors, for example from percentages


# The bootstrap over systems and samples.


@dataclass(frozen=True)
class Draws:
    """Resamples: the drawn systems, and how often each sample was drawn."""

    systems: np.ndarray  # int [resamples, systems]
    samples: np.ndarray  # int [resamples, samples]. Rows sum to the number of samples


def draw(systems: int, samples: int, resamples: int = RESAMPLES, seed: int = 0) -> Draws:
    """Resample systems and samples with replacement.

    >>> draws = draw(3, 5, resamples=2)
    >>> draws.systems.shape, draws.samples.sum(1)
    ((2, 3), array([5, 5]))
    """
    check_whole("resamples", resamples)
    check_whole("seed", seed, least=0)
    random = np.random.default_rng(seed)
    rows = random.integers(systems, size=(resamples, systems))
    return Draws(rows, random.multinomial(samples, [1 / samples] * samples, size=resamples))


def resample(
    statistic: correlations.Statistic,
    grids: Sequence[np.ndarray],
    draws: Draws,
    level: str = "system",
) -> np.ndarray:
    """Compute a statistic for each resample of grids from `common_scores`, [resamples].

    The value is NaN if the statistic is not defined, as for a resample with a single system.
    """
    if level == "system":
        means = (draws.samples @ grid.T / grid.shape[1] for grid in grids)
        return statistic(*(np.take_along_axis(mean, draws.systems, axis=1) for mean in means))
    values = np.empty(len(draws.systems))
    # Statistics compare each system of a sample with every other system.
    step = max(1, SCORES_PER_CHUNK // (grids[0].size * len(grids[0])))
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        systems, samples = draws.systems[part], draws.samples[part]
        # [resamples, samples, systems] -> [resamples, samples]
        coefficients = statistic(*(grid[systems].swapaxes(1, 2) for grid in grids))
        weights = np.where(np.isnan(coefficients), 0, samples)
        with np.errstate(invalid="ignore"):
            values[part] = (np.nan_to_num(coefficients) * weights).sum(-1) / weights.sum(-1)
    return values


def percentile_interval(values: np.ndarray) -> tuple[float, float]:
    """Compute the ends of the 95% percentile interval, ignoring NaN.

    >>> low, high = percentile_interval(np.arange(201.0))
    >>> round(low, 6), round(high, 6)
    (5.0, 195.0)
    """
    if np.isnan(values).all():
        return (math.nan, math.nan)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.nanquantile(values, [tail, 1 - tail])
    return float(low), float(high)


def mean_interval(scores: Sequence[float] | np.ndarray) -> tuple[float, float]:
    """Compute a 95% confidence interval of the mean (Student's t) for at least two scores.

    >>> low, high = mean_interval([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    values = np.asarray(scores, dtype=float)
    error = float(values.std(ddof=1)) / math.sqrt(len(values))
    half = error * float(student.ppf((1 + CONFIDENCE) / 2, len(values) - 1))
    return float(values.mean()) - half, float(values.mean()) + half


def difference_p_value(first: np.ndarray, second: np.ndarray) -> float:
    """Compute the two-sided bootstrap p-value for the difference between two statistics.

    This is twice the fraction of resamples on the rarer side of 0, or NaN if no resample has both
    values. One is added to the numerator and the denominator, so that the p-value is never 0
    (Davison and Hinkley 1997, section 4.2).

    >>> difference_p_value(np.full(99, 0.5), np.full(99, 0.1))
    0.02
    """
    differences = first - second
    differences = differences[~np.isnan(differences)]
    if not len(differences):
        return math.nan
    count = min((differences <= TOLERANCE).sum(), (differences >= -TOLERANCE).sum())
    return float(min(1.0, 2 * (count + 1) / (len(differences) + 1)))


# Two systems scored by one metric: paired tests over the samples.


def approximate_randomization(
    scores: Sequence[float] | np.ndarray,
    other: Sequence[float] | np.ndarray,
    resamples: int = 10 * RESAMPLES,
    seed: int = 0,
) -> float:
    """Test the difference between two systems' mean scores with the paired permutation test.

    The two scores of each sample are swapped at random (Noreen 1989, Riezler and Maxwell 2005). If
    there are at most `resamples` ways to swap, each is used once and p is exact. `scores` and
    `other` are the two systems' scores for the same samples, float64 [samples]. Returns the
    two-sided p-value, in (0, 1]. Raises InputError if the lists differ in length, have fewer than
    two scores or contain NaN or infinities, or if `resamples` is not a whole number >= 1.

    >>> approximate_randomization([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    """
    check_whole("resamples", resamples)
    check_whole("seed", seed, least=0)
    scores, other = correlations.check_arrays({"scores": scores, "other": other})
    differences = scores - other
    if differences.ndim != 1 or len(differences) < 2 or np.isnan(differences).any():
        raise InputError("scores and other must be lists of at least two scores without NaN")
    batch = max(1, SCORES_PER_CHUNK // len(differences))
    options: Any = {"permutation_type": "samples", "n_resamples": resamples, "batch": batch}
    return float(permutation_test((differences,), np.sum, **options, rng=seed).pvalue)


def system_verdict(difference: float, p_value: float, higher_is_better: bool) -> str:
    """Call a system "better" or "worse" if p < 0.05, otherwise "unsure".

    `difference` is the system's mean score minus the other system's mean score, and `p_value` is
    two-sided.

    >>> system_verdict(0.1, 0.01, higher_is_better=False)
    'worse'
    """
    if p_value >= SIGNIFICANCE_LEVEL:
        return "unsure"
    return "better" if (difference > 0) == higher_is_better else "worse"


def soft_pairwise_accuracy(
    human: np.ndarray, metric: np.ndarray, *, permutations: int = RESAMPLES, seed: int = 0
) -> float:
    """Compute how well the metric's confidence in system rankings agrees with the humans', 0 to 1.

    This is the mean of 1 - |p_human - p_metric| over all pairs of systems, or NaN for a single
    system (Thompson, Mathur, Deutsch and Khayrallah 2024, reported by WMT since 2024). p is the
    one-sided p-value from the paired permutation test over samples. It is near 0 if the first
    system is clearly better, and near 1 if the second system is. All tests use the same
    permutations. `human` and `metric` (float64 [systems, samples]) are as in `correlation`, and the
    same exceptions are raised.

    >>> human = np.random.default_rng(0).normal(size=(5, 40)) + np.arange(5.0)[:, None]
    >>> soft_pairwise_accuracy(human, 10 * human)
    1.0
    """
    check_whole("permutations", permutations)
    check_whole("seed", seed, least=0)
    grids = correlations.prepare_grids("system", human=human, metric=metric)
    if len(grids[0]) < 2:
        return math.nan
    # 1 keeps the scores of a sample, and -1 swaps them, [permutations, samples].
    shape = (permutations, grids[0].shape[1])
    signs = np.random.default_rng(seed).integers(2, size=shape, dtype=np.int8) * 2 - 1
    human_p_values, metric_p_values = (_one_sided_p_values(grid, signs) for grid in grids)
    return float(1 - np.abs(human_p_values - metric_p_values).mean())


def _one_sided_p_values(grid: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Test whether the first system of each pair is better, [systems, samples] -> [pairs]."""
    first, second = np.triu_indices(len(grid), 1)
    differences = grid[first] - grid[second]
    slack = TOLERANCE * np.abs(differences).sum(1)  # counts ties despite rounding errors
    permuted_sums = signs @ differences.T  # [permutations, pairs]
    return (permuted_sums >= differences.sum(1) - slack).mean(0)


# Two metrics on the same systems.


def williams_test(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Test whether the correlations r12 and r13, which share variable 1, differ.

    Variable 1 is the human score, and variables 2 and 3 are the metrics. With n systems and
    K = 1 - r12^2 - r13^2 - r23^2 + 2 r12 r13 r23,

        t(n - 3) = (r12 - r13) sqrt((n - 1)(1 + r23))
                   / sqrt(2K (n - 1)/(n - 3) + ((r12 + r13) / 2)^2 (1 - r23)^3).

    Source: Williams 1959, and Steiger 1980, equation 7. Graham and Baldwin 2014 for metrics. The
    test assumes Pearson's r of normal variables. For rank correlations, it is an approximation.
    Returns t and the two-sided p-value, which are NaN if a correlation is NaN. Raises InputError if
    `n` is below 4, or if `r12`, `r13` or `r23` is outside [-1, 1] (if none is NaN).

    >>> t, p_value = williams_test(0.80, 0.72, 0.89, 26)  # Howell, Statistical Methods
    >>> round(t, 3), round(p_value, 3)
    (1.361, 0.187)
    """
    check_whole("n (the number of systems)", n, MIN_SYSTEMS)
    r12, r13, r23 = correlations.as_array("r12, r13 and r23", (r12, r13, r23)).tolist()
    if any(math.isnan(r) for r in (r12, r13, r23)):
        return math.nan, math.nan
    if max(map(abs, (r12, r13, r23))) > 1:
        raise InputError(f"r12, r13 and r23 must be in [-1, 1], got {r12}, {r13} and {r23}")
    # Determinant of the correlation matrix. Rounding errors can make it negative.
    k = max(0.0, 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23)
    variance = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    effect = (r12 - r13) * math.sqrt((n - 1) * (1 + r23))
    if abs(r12 - r13) <= TOLERANCE:
        return 0.0, 1.0
    t = math.copysign(math.inf, effect) if variance == 0 else effect / math.sqrt(variance)
    return t, float(2 * student.sf(abs(t), n - 3))


def compare_metrics(
    human: np.ndarray, one: np.ndarray, other: np.ndarray, coefficient: str = "pearson"
) -> float:
    """Compute the p-value of Williams' test of two metrics' correlations with human scores.

    `human`, `one` and `other` are mean scores, float64 [systems], higher is better. `coefficient`
    is "pearson", "spearman" or "kendall". The p-value is NaN for fewer than 4 systems. Raises
    InputError if the lists differ in length or contain infinities, or the coefficient is unknown.

    >>> human = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> good, bad = human + [0.1, -0.1, 0.1, 0, 0.1, -0.1], np.array([3.0, 1, 2, 6, 4, 5])
    >>> compare_metrics(human, good, bad) < 0.05
    True
    """
    check_known("coefficient", coefficient, tuple(correlations.COEFFICIENTS))
    correlations.check_grids({"human": human, "one": one, "other": other})
    if len(human) < MIN_SYSTEMS:
        return math.nan
    r = correlations.COEFFICIENTS[coefficient]
    r12, r13, r23 = (float(r(*pair)) for pair in combinations((human, one, other), 2))
    return williams_test(r12, r13, r23, len(human))[1]


def holm(p_values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Correct p-values for multiple testing with Holm's step-down method (Holm 1979).

    If hypotheses with a corrected p-value below 0.05 are rejected, the family-wise error rate is at
    most 0.05. `p_values`, float64 [tests], belong to one family of tests, and the result has the
    same shape. NaN (not defined) is ignored. Raises InputError for other values outside [0, 1].

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    values = correlations.as_array("p_values", p_values)
    if values.ndim > 1 or ((values < 0) | (values > 1)).any():
        raise InputError(f"p_values must be a list of numbers from 0 to 1, got {p_values!r:.100}")
    corrected_values = np.full(values.shape, np.nan)
    order = np.argsort(values)[: (~np.isnan(values)).sum()]  # NaN is sorted to the end
    factors = np.arange(len(order), 0, -1)
    corrected_values[order] = np.maximum.accumulate(values[order] * factors).clip(max=1)
    return corrected_values
