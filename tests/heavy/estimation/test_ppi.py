"""Estimates agree with ppi-python, by the authors of PPI++, where the methods coincide.

ppi-python uses normal quantiles and no correction for small or skewed samples, so the intervals
agree only if there are many ratings.
"""

import numpy as np
import pytest
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

from infolm_metric.meta_evaluation import estimate_mean


@pytest.fixture(params=[0.3, 0.6, 0.9])
def sample(request):
    """Human scores for 2,000 of 20,000 rows, and a metric on the scale of the human scores."""
    random = np.random.default_rng(0)
    metric = random.normal(size=20000)
    human = request.param * metric + random.normal(scale=0.5, size=20000)
    return np.where(np.arange(20000) < 2000, human, np.nan), metric


def arguments(human, metric) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ratings, and the metric scores of rows with and without a rating."""
    rated = ~np.isnan(human)
    return human[rated], metric[rated], metric[~rated]


def test_the_estimate_equals_ppi_python_with_the_same_weight(sample):
    result = estimate_mean(*sample)
    expected = ppi_mean_pointestimate(*arguments(*sample), lam=result.metric_weight)
    assert result.estimate.mean == pytest.approx(float(np.squeeze(expected)), rel=1e-9)


def test_intervals_with_and_without_the_metric_equal_ppi_python(sample):
    result = estimate_mean(*sample)
    for interval, weight in ((result.estimate, None), (result.ratings, 0)):
        low, high = map(np.squeeze, ppi_mean_ci(*arguments(*sample), alpha=0.05, lam=weight))
        ends = pytest.approx((float(low), float(high)), abs=0.02 * float(high - low))
        assert (interval.low, interval.high) == ends
