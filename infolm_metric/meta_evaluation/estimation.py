"""Estimates of mean human scores from a few ratings and a metric's scores for all texts.

`estimate_mean` implements prediction-powered inference with a tuned metric weight (PPI++,
Angelopoulos, Duchi and Zrnic 2023, arXiv 2311.01453). The rated rows must be a random sample of all
rows. The estimand is the mean over the population from which the rows are sampled.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from infolm_metric.core.checks import InputError
from infolm_metric.meta_evaluation.correlations import as_array
from infolm_metric.meta_evaluation.significance import CONFIDENCE

QUANTILE = (1 + CONFIDENCE) / 2
Z = float(ndtri(QUANTILE))


@dataclass(frozen=True)
class Interval:
    """Mean with its 95% interval.

    Attributes:
        mean: the mean, NaN without ratings.
        low: the lower end of the interval, NaN if it is not defined.
        high: the upper end of the interval, NaN if it is not defined.
    """

    mean: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class MeanEstimate:
    """Mean human score of a system on a criterion.

    Attributes:
        rated: number of rows with a human score.
        rows: total number of rows.
        ratings: mean of the ratings alone.
        estimate: the prediction-powered estimate.
        metric_weight: lambda of PPI++, in units of the human score per unit of the metric.
        equivalent_ratings: number of ratings that, without the metric, would give an equally narrow
            interval.
    """

    rated: int
    rows: int
    ratings: Interval
    estimate: Interval
    metric_weight: float
    equivalent_ratings: float


def estimate_mean(human: np.ndarray, metric: np.ndarray) -> MeanEstimate:
    """Estimate the mean human score of the population from which the rows are sampled.

    `human` contains the ratings y, float64 [rows], with NaN for unrated rows. `metric` contains the
    scores m of all rows in any unit, float64 [rows]. The estimate is mean(y) + b (mean(m over all
    rows) - mean(m over rated rows)), where b is the slope of y on m in the rated rows. The weight
    in PPI++ is then lambda = b unrated / rows. The variance is b^2 var(m) / rows plus the jackknife
    variance, in which b is re-estimated each time to account for its error. Both intervals use t
    quantiles and Hall's (1992, section 3.5) correction for skewed ratings, which shifts an interval
    without changing its width.

    The estimate equals the mean of the ratings if no slope can be used, as with fewer than 3
    ratings, equal metric scores, or no unrated rows. If all ratings are equal, both intervals are
    NaN. Raises InputError if the arrays differ in shape, or a score is not finite.

    >>> random = np.random.default_rng(0)
    >>> human = random.normal(70, 10, size=500)
    >>> metric = human + random.normal(0, 8, size=500)
    >>> human[40:] = np.nan  # 40 ratings
    >>> result = estimate_mean(human, metric)
    >>> [round(end, 1) for end in (result.ratings.low, result.ratings.high)]
    [66.8, 71.9]
    >>> [round(end, 1) for end in (result.estimate.low, result.estimate.high)]
    [66.8, 71.1]
    >>> round(result.equivalent_ratings)
    58
    """
    human, metric = as_array("human", human), as_array("metric", metric)
    if human.shape != metric.shape or human.ndim != 1:
        shapes = f"{list(human.shape)} and {list(metric.shape)}"
        raise InputError(f"human and metric must be lists of equal length, got shapes {shapes}")
    for name, values in (("metric", metric), ("human", np.where(np.isnan(human), 0, human))):
        for row in np.flatnonzero(~np.isfinite(values)):
            raise InputError(f"{name}[{row}] must be finite, got {values[row]}. Remove such rows.")
    is_rated = ~np.isnan(human)
    y, m = human[is_rated], metric[is_rated]
    rated, rows = len(y), len(human)
    if not rated:
        nothing = Interval(math.nan)
        return MeanEstimate(0, rows, nothing, nothing, math.nan, math.nan)
    deviations = y - y.mean() if np.ptp(y) else np.zeros(rated)
    slope, leverages = _regress(deviations, m)
    alone = estimate = _interval(y.mean(), deviations / max(1, rated - 1), 0.0, rated - 1)
    if rated == rows:
        slope = 0.0
    if slope:
        estimate = _interval(
            y.mean() + slope * (metric.mean() - m.mean()),
            (deviations - slope * (m - m.mean())) / (1 - leverages) / rated,
            slope**2 * metric.var(ddof=1) / rows,
            rated - 2,
        )
    equivalent = rated * ((alone.high - alone.low) / (estimate.high - estimate.low)) ** 2
    return MeanEstimate(rated, rows, alone, estimate, slope * (1 - rated / rows), equivalent)


def _regress(y: np.ndarray, m: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the slope of y on m, or 0 if a single rating determines it, and the leverages."""
    centered = m - m.mean()
    squares = float(centered @ centered)
    if not np.ptp(m):
        return 0.0, np.zeros(len(m))
    leverages = 1 / len(m) + centered**2 / squares
    slope = float(centered @ y) / squares
    return (slope if leverages.max() < 1 - 1e-9 else 0.0), leverages


def _interval(mean: float, changes: np.ndarray, extra: float, freedom: int) -> Interval:
    """Return a confidence interval for a mean, given its changes when each rating is left out.

    `extra` is added to the jackknife variance.
    """
    deviation = math.sqrt((1 - 1 / len(changes)) * float(changes @ changes) + extra)
    if freedom < 1 or not deviation > 0:
        return Interval(float(mean))
    skewness = float((changes**3).sum()) / deviation**3
    center = float(mean) + deviation * skewness * (2 * Z**2 + 1) / 6
    half = deviation * float(stdtrit(freedom, QUANTILE))
    return Interval(float(mean), center - half, center + half)
