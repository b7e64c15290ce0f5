"""Estimates from few ratings: closed forms, and coverage in simulations."""

import math

import numpy as np
import pytest
from scipy import stats

from infolm_metric import InputError
from infolm_metric.meta_evaluation import estimate_mean

MEAN = 70.0


def population(random, rows, correlation):
    """Draw human scores with mean 70 and deviation 10, and a metric with this correlation."""
    human = random.normal(size=rows)
    noise = random.normal(size=rows)
    return MEAN + 10 * human, correlation * human + math.sqrt(1 - correlation**2) * noise


def rate(human, indices):
    """Return the human scores of these rows, NaN elsewhere."""
    ratings = np.full(len(human), np.nan)
    ratings[indices] = human[indices]
    return ratings


def width(interval):
    return interval.high - interval.low


def test_the_estimate_follows_a_regression_line():
    # y = 10 + 2 m exactly, so that only the variance of the metric's mean is left
    metric = np.arange(1.0, 11.0)
    result = estimate_mean(rate(10 + 2 * metric, [0, 2, 4, 6]), metric)
    assert result.ratings.mean == pytest.approx(18)
    assert result.estimate.mean == pytest.approx(21)
    assert result.metric_weight == pytest.approx(2 * 6 / 10)
    deviation = 2 * math.sqrt(metric.var(ddof=1) / 10)
    assert width(result.estimate) == pytest.approx(2 * stats.t.ppf(0.975, 2) * deviation)
    assert (result.rated, result.rows) == (4, 10)


def test_the_variance_is_the_jackknife_of_the_ratings():
    random = np.random.default_rng(1)
    human, metric = population(random, 50, 0.6)
    result = estimate_mean(rate(human, range(12)), metric)
    errors = []
    for place in range(12):
        others = [other for other in range(12) if other != place]
        line = np.polyfit(metric[others], human[others], 1)
        errors.append(human[place] - np.polyval(line, metric[place]))
    slope = np.polyfit(metric[:12], human[:12], 1)[0]
    variance = 11 / 12 * np.sum(np.square(errors)) / 12**2 + slope**2 * metric.var(ddof=1) / 50
    half = stats.t.ppf(0.975, 10) * math.sqrt(variance)
    assert width(result.estimate) == pytest.approx(2 * half)
    skewness = np.sum(np.power(errors, 3)) / 12**3 / variance**1.5
    shift = math.sqrt(variance) * skewness * (2 * stats.norm.ppf(0.975) ** 2 + 1) / 6
    center = (result.estimate.low + result.estimate.high) / 2
    assert center == pytest.approx(result.estimate.mean + shift)


def test_symmetric_ratings_alone_have_the_interval_of_the_t_test():
    ratings = np.array([1.0, 2, 3, 4, 5] * 4)
    result = estimate_mean(np.append(ratings, np.nan), np.zeros(21))
    expected = stats.t.interval(0.95, 19, loc=3, scale=stats.sem(ratings))
    assert (result.ratings.low, result.ratings.high) == pytest.approx(expected)
    assert result.estimate == result.ratings


def test_an_interval_of_skewed_ratings_reaches_toward_the_long_tail():
    ratings = np.array([1.0] + [5.0] * 19)
    result = estimate_mean(np.append(ratings, np.nan), np.zeros(21)).ratings
    expected = stats.t.interval(0.95, 19, loc=ratings.mean(), scale=stats.sem(ratings))
    assert width(result) == pytest.approx(expected[1] - expected[0])
    assert result.low < expected[0] and result.mean < result.high < expected[1]


@pytest.mark.parametrize(("rated", "correlation"), [(30, 0.2), (40, 0.9)])
def test_intervals_cover_the_mean_in_95_percent_of_samples(rated, correlation):
    random = np.random.default_rng(2)
    results = []
    for _ in range(1000):
        human, metric = population(random, 500, correlation)
        results.append(estimate_mean(rate(human, range(rated)), metric))
    for intervals in zip(*((x.ratings, x.estimate) for x in results), strict=True):
        assert 0.935 < np.mean([x.low <= MEAN <= x.high for x in intervals]) < 0.965
    variance = (1 - correlation**2 * (1 - rated / 500)) / (rated - 2)
    expected = 20 * stats.t.ppf(0.975, rated - 2) * math.sqrt(variance)
    assert np.mean([width(result.estimate) for result in results]) == pytest.approx(expected, 0.02)


def test_equivalent_ratings_approach_the_bound():
    human, metric = population(np.random.default_rng(5), 20000, 0.8)
    result = estimate_mean(rate(human, range(2000)), metric)
    bound = 2000 / (1 - 0.8**2 * 18000 / 20000)
    assert result.equivalent_ratings == pytest.approx(bound, rel=0.05)


WITHOUT_SLOPE = {
    "two ratings": ([1.0, 2.0, None, None], [1.0, 2.0, 3.0, 4.0]),
    "equal scores": ([1.0, 2.0, 4.0, None], [1.0, 1.0, 1.0, 1.0]),
    "one rating determines the slope": ([1.0, 2.0, 4.0, None], [0.0, 0.0, 1.0, 1.0]),
    "all rows rated": ([1.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0, 4.0]),
}


@pytest.mark.parametrize("name", WITHOUT_SLOPE)
def test_without_a_usable_slope_the_estimate_is_the_mean_of_the_ratings(name):
    human, metric = (np.array(values, dtype=float) for values in WITHOUT_SLOPE[name])
    result = estimate_mean(human, metric)
    assert result.estimate == result.ratings and result.metric_weight == 0
    assert result.equivalent_ratings == pytest.approx(result.rated)


@pytest.mark.parametrize(("ratings", "mean"), [([], math.nan), ([0.3], 0.3), ([0.7] * 3, 0.7)])
def test_no_interval_without_variation(ratings, mean):
    human = np.array([*ratings, *[np.nan] * 5])
    result = estimate_mean(human, np.arange(len(human), dtype=float))
    for interval in (result.ratings, result.estimate):
        assert interval.mean == pytest.approx(mean, nan_ok=True)
        assert math.isnan(interval.low) and math.isnan(interval.high)
    assert math.isnan(result.equivalent_ratings)


def test_invalid_arguments_are_rejected():
    with pytest.raises(InputError, match=r"shapes \[2\] and \[3\]"):
        estimate_mean(np.ones(2), np.ones(3))
    for human, metric in (([1, 1], [1, np.nan]), ([1, np.inf], [1, 1])):
        with pytest.raises(InputError, match=r"\[1\] must be finite, got (nan|inf)\."):
            estimate_mean(human, metric)
