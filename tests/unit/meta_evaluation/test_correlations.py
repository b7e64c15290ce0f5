"""Correlations against scipy's, and what happens to ties, constants and missing scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from infolm_metric.meta_evaluation import correlation, pairwise_accuracy
from infolm_metric.meta_evaluation.correlations import COEFFICIENTS, ordered_alike

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
NAMES = list(COEFFICIENTS)
# Whole numbers, so that there are ties.
SCORES = st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=9)


def grids(seed=0, systems=7, samples=12, ties=True):
    random = np.random.default_rng(seed)
    human = random.normal(size=(systems, samples)) + np.arange(systems)[:, None]
    metric = human + 2 * random.normal(size=human.shape)
    return (human.round(), metric.round()) if ties else (human, metric)


@pytest.mark.parametrize("name", NAMES)
@given(x=SCORES, y=SCORES)
def test_a_coefficient_is_scipys_also_with_ties(name, x, y):
    n = min(len(x), len(y))
    x, y = np.asarray(x[:n]), np.asarray(y[:n])
    ours = COEFFICIENTS[name](x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(ours)
    else:
        assert ours == pytest.approx(SCIPY[name](x, y)[0], abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_many_vectors_at_once_are_each_correlated(name):
    human, metric = grids()
    at_once = COEFFICIENTS[name](human.T, metric.T)
    each = [SCIPY[name](h, m)[0] for h, m in zip(human.T, metric.T, strict=True)]
    assert at_once == pytest.approx(each, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_long_vectors_are_correlated_as_short_ones_are(name):
    x, y = np.random.default_rng(0).integers(-3, 4, size=(2, 3, 700)).astype(float)
    y += x
    y[0, :50] = np.nan
    each = [SCIPY[name](*both)[0] for both in zip(x[1:], y[1:], strict=True)]
    first = SCIPY[name](x[0, 50:], y[0, 50:])[0]
    assert COEFFICIENTS[name](x, y) == pytest.approx([first, *each], abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_position_without_a_score_is_left_out(name):
    x, y = np.array([1.0, np.nan, 3.0, 2.0, 7.0]), np.array([2.0, 5.0, 3.0, np.nan, 1.0])
    there = [0, 2, 4]
    assert COEFFICIENTS[name](x, y) == pytest.approx(SCIPY[name](x[there], y[there])[0])


def test_a_spread_that_is_only_rounding_has_no_pearson_correlation():
    tenths = np.full(5, 0.1) + np.array([0, 1.5e-17, 0, -1.5e-17, 0])
    assert len(set(tenths)) > 1
    assert np.isnan(COEFFICIENTS["pearson"](tenths, np.arange(5.0)))


def test_a_shift_far_from_zero_does_not_change_pearson():
    x, y = grids(ties=False)
    plain = COEFFICIENTS["pearson"](x[:, 0], y[:, 0])
    assert COEFFICIENTS["pearson"](x[:, 0] + 1e6, y[:, 0]) == pytest.approx(plain, abs=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_system_level_correlates_the_systems_means(name):
    human, metric = grids()
    expected = SCIPY[name](human.mean(1), metric.mean(1))[0]
    assert correlation(human, metric, name) == pytest.approx(expected)


@pytest.mark.parametrize("name", NAMES)
def test_text_level_averages_the_samples_correlations(name):
    human, metric = grids()
    expected = np.mean([SCIPY[name](h, m)[0] for h, m in zip(human.T, metric.T, strict=True)])
    assert correlation(human, metric, name, "text") == pytest.approx(expected)


def test_text_level_leaves_out_samples_that_all_systems_score_alike():
    human, metric = grids()
    human[:, 3] = 5.0
    kept = [sample for sample in range(12) if sample != 3]
    assert correlation(human, metric, level="text") == pytest.approx(
        correlation(human[:, kept], metric[:, kept], level="text")
    )


def test_a_sample_that_lacks_one_system_is_dropped_for_all():
    human, metric = grids()
    human[2, 4] = metric[5, 7] = np.nan
    kept = [sample for sample in range(12) if sample not in (4, 7)]
    assert correlation(human, metric) == correlation(human[:, kept], metric[:, kept])


def test_available_scores_are_taken_system_by_system():
    human, metric = grids()
    human[2, 4] = np.nan
    rest = [sample for sample in range(12) if sample != 4]
    human_means, metric_means = human.mean(1), metric.mean(1)
    human_means[2], metric_means[2] = human[2, rest].mean(), metric[2, rest].mean()
    expected = stats.pearsonr(human_means, metric_means)[0]
    assert correlation(human, metric, missing="available") == pytest.approx(expected)


def test_where_every_sample_lacks_a_system_the_error_says_what_to_do():
    human, metric = grids()
    human[0, ::2] = human[1, 1::2] = np.nan
    with pytest.raises(ValueError, match="missing='available'"):
        correlation(human, metric)
    assert -1 <= correlation(human, metric, missing="available") <= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"coefficient": "pearsn"}, "unknown coefficient 'pearsn'; did you mean 'pearson'"),
        ({"level": "sample"}, "unknown level 'sample'"),
        ({"missing": "omit"}, "unknown missing 'omit'"),
    ],
)
def test_an_unknown_name_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        correlation(*grids(), **arguments)


def test_grids_of_different_shapes_are_refused():
    human, metric = grids()
    with pytest.raises(ValueError, match=r"got \[7, 12\] and \[7, 11\]"):
        correlation(human, metric[:, 1:])


def test_infinite_scores_are_refused():
    human, metric = grids()
    metric[0, 0] = np.inf
    with pytest.raises(ValueError, match="must be finite"):
        correlation(human, metric)


def test_pairwise_accuracy_counts_the_pairs_in_peoples_order():
    human, metric = np.array([[1.0], [2.0], [3.0], [3.0]]), np.array([[1.0], [1.0], [5.0], [4.0]])
    # The pair that people tie is left out; of the other five the metric ties one.
    assert pairwise_accuracy(human, metric) == pytest.approx(4 / 5)


def test_without_ties_pairwise_accuracy_is_kendalls_tau_rescaled():
    human, metric = (grid.mean(1) for grid in grids(ties=False))
    tau = stats.kendalltau(human, metric)[0]
    assert ordered_alike(human, metric) == pytest.approx((tau + 1) / 2)


@pytest.mark.parametrize("unit", [1.0, 10.0, 1e-9, 1e12])
def test_equal_ratings_in_another_order_are_a_tie_in_any_unit(unit):
    # Their means differ in the last bit.
    human = unit * np.array([[3.3, 4.7, 1.1], [1.1, 3.3, 4.7], [1.0, 1.0, 1.0]])
    metric = np.array([[2.0] * 3, [3.0] * 3, [1.0] * 3])
    expected = stats.kendalltau([2, 2, 1], [2, 3, 1]).statistic
    assert correlation(human, metric, "kendall") == pytest.approx(expected)
    assert pairwise_accuracy(human, metric[[1, 0, 2]]) == 1.0
    assert pairwise_accuracy(human[[0, 1]], metric[[0, 1]]) != 1.0  # there is no pair in order
