"""Correlation given a third figure, against the correlation of what regression leaves."""

import numpy as np
import pytest

from infolm_metric.meta_evaluation import correlation, partial_correlation
from infolm_metric.meta_evaluation.partial import partial
from infolm_metric.meta_evaluation.resampling import draw, resampled


def grids(seed=0, systems=6, samples=9):
    random = np.random.default_rng(seed)
    length = random.integers(5, 40, size=(systems, samples)).astype(float)
    human = 0.2 * length + random.normal(size=length.shape) * 3
    return human, human + 0.3 * length + random.normal(size=length.shape) * 4, length


def of_residuals(x, y, z):
    """Pearson's correlation of what a least-squares line in z leaves of x and of y."""
    design = np.stack([np.ones_like(z), z], axis=1)
    left = [values - design @ np.linalg.lstsq(design, values, rcond=None)[0] for values in (x, y)]
    return np.corrcoef(*left)[0, 1]


def test_it_is_the_correlation_of_what_length_leaves():
    human, metric, length = grids()
    expected = of_residuals(human.mean(1), metric.mean(1), length.mean(1))
    assert partial_correlation(human, metric, length) == pytest.approx(expected)
    columns = zip(human.T, metric.T, length.T, strict=True)
    expected = np.mean([of_residuals(*column) for column in columns])
    assert partial_correlation(human, metric, length, "text") == pytest.approx(expected)


def test_a_metric_that_is_length_has_none_and_one_that_length_says_nothing_of_keeps_its_own():
    human, metric, length = grids()
    assert np.isnan(partial_correlation(human, 3 - 2 * length, length))
    x, y, z = np.array([[1.0, 2, 3, 4], [1, 3, 2, 4], [1, -1, -1, 1]])
    assert partial(x, y, z) == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_of_three_texts_nothing_is_left_to_correlate():
    human, metric, length = (grid[:3] for grid in grids())
    for level in ("system", "text"):
        assert np.isnan(partial_correlation(human, metric, length, level))
        draws = draw(*human.shape, resamples=10)
        assert np.isnan(resampled(human, metric, draws, level, length)["partial"]).all()


def test_a_sample_that_lacks_a_score_or_a_length_is_dropped():
    human, metric, length = grids()
    human[1, 2] = metric[3, 4] = length[5, 6] = np.nan
    kept = [sample for sample in range(9) if sample not in (2, 4, 6)]
    for level in ("system", "text"):
        whole = partial_correlation(human, metric, length, level)
        assert whole == partial_correlation(*(g[:, kept] for g in grids()), level)


@pytest.mark.parametrize("changed", [0, 1, 2])
def test_a_grid_of_another_shape_is_refused_and_not_repeated(changed):
    given = list(grids())
    given[changed] = given[changed][:, :1]
    with pytest.raises(ValueError, match=r"one shape .* got \[6, [19]\] and \[6, [19]\]"):
        partial_correlation(*given)


@pytest.mark.parametrize("level", ["system", "text"])
def test_a_resample_is_what_its_rows_and_columns_written_out_give(level):
    human, metric, length = grids()
    draws = draw(*human.shape, resamples=25, seed=3)
    found = resampled(human, metric, draws, level, length)["partial"]
    for index in range(len(draws)):
        columns = np.repeat(np.arange(human.shape[1]), draws.samples[index])
        drawn = (grid[draws.systems[index]][:, columns] for grid in (human, metric, length))
        expected = partial_correlation(*drawn, level)
        assert found[index] == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_a_metric_that_sees_length_alone_correlates_with_people_but_not_given_length():
    random = np.random.default_rng(1)
    length = random.normal(size=(300, 1))
    human = length + 0.5 * random.normal(size=length.shape)
    metric = length + 0.5 * random.normal(size=length.shape)
    assert correlation(human, metric) > 0.7
    assert abs(partial_correlation(human, metric, length)) < 0.15
