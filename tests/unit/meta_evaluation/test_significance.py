"""Resampling intervals and significance tests, compared with slow loops and known values."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from infolm_metric import InputError
from infolm_metric.meta_evaluation import (
    approximate_randomization,
    compare_metrics,
    holm,
    significance,
    soft_pairwise_accuracy,
    williams_test,
)
from infolm_metric.meta_evaluation.correlations import (
    COEFFICIENTS,
    mean_over_samples,
    order_accuracy,
    partial_pearson,
    pearson,
)
from infolm_metric.meta_evaluation.significance import (
    TOLERANCE,
    difference_p_value,
    draw,
    mean_interval,
    percentile_interval,
    resample,
)


def grids(seed=0, systems=6, samples=15):
    random = np.random.default_rng(seed)
    human = (random.normal(size=(systems, samples)) * 2 + np.arange(systems)[:, None]).round()
    return human, (human + 3 * random.normal(size=human.shape)).round()


@pytest.fixture(params=[1, 1 << 23], ids=["many chunks", "one chunk"])
def elements(request, monkeypatch):
    monkeypatch.setattr(significance, "SCORES_PER_CHUNK", request.param)


def expand(grid, draws, index):
    """Return the rows and columns of a resample, repeated as often as they were drawn."""
    columns = np.repeat(np.arange(grid.shape[1]), draws.samples[index])
    return grid[draws.systems[index]][:, columns]


@pytest.mark.parametrize("level", ["system", "segment"])
def test_resample_equals_the_statistic_of_its_expanded_rows_and_columns(level, elements):
    human, metric = grids()
    human[:, 5] = 4.0
    length = np.random.default_rng(1).integers(5, 40, size=human.shape).astype(float)
    draws = draw(*human.shape, resamples=30, seed=1)
    for function in (*COEFFICIENTS.values(), order_accuracy, partial_pearson):
        sides = [human, metric, *([length] if function is partial_pearson else [])]
        values = resample(function, sides, draws, level)
        for index in range(len(draws.systems)):
            drawn = [expand(grid, draws, index) for grid in sides]
            expected = mean_over_samples(function, drawn, level)
            assert values[index] == pytest.approx(expected, abs=1e-9, nan_ok=True), function


def test_resamples_are_reproducible_by_seed():
    def means(human, metric, seed):
        return resample(pearson, [human, metric], draw(*human.shape, seed=seed)).mean()

    for statistic in (means, soft_pairwise_accuracy):
        first, second, third = (statistic(*grids(), seed=seed) for seed in (0, 0, 1))
        assert first == second != third


def test_percentile_interval_ignores_nan():
    values = np.append(np.arange(101.0), np.nan)
    assert percentile_interval(values) == pytest.approx((2.5, 97.5))
    assert np.isnan(percentile_interval(np.full(3, np.nan))).all()


@pytest.mark.parametrize("rescale", [lambda x: 100 * x, lambda x: x + 1, lambda x: (3 - x) / -3])
def test_rescaled_metric_does_not_differ_from_the_original(rescale):
    draws = np.random.default_rng(0).normal(size=(200, 2, 16))
    for human, metric in draws:
        assert compare_metrics(human, metric, rescale(metric)) == 1.0
    values = [pearson(draws[:, 0], scores) for scores in (draws[:, 1], rescale(draws[:, 1]))]
    assert difference_p_value(*values) == 1.0


@pytest.mark.parametrize("name", list(COEFFICIENTS))
def test_metrics_are_compared_by_williams_test_of_their_correlations(name):
    x, y, z = np.random.default_rng(0).normal(size=(3, 6)) + np.arange(6.0)
    scipy = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    r12, r13, r23 = (scipy[name](*pair)[0] for pair in ((x, y), (x, z), (y, z)))
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    variance = 2 * k * 5 / 3 + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    t = (r12 - r13) * np.sqrt(5 * (1 + r23) / variance)
    p_value = 2 * stats.t.sf(abs(t), 3)
    assert williams_test(r12, r13, r23, 6) == pytest.approx((t, p_value))
    assert compare_metrics(x, y, z, name) == pytest.approx(p_value)
    assert np.isnan(compare_metrics(x[:3], y[:3], z[:3], name))


def test_randomization_agrees_with_the_t_test_on_normal_differences():
    random = np.random.default_rng(3)
    scores, baseline = random.normal(size=(2, 150))
    scores += 0.2
    p_value = approximate_randomization(scores, baseline, 4000)
    assert p_value == pytest.approx(stats.ttest_rel(scores, baseline).pvalue, abs=0.02)


@pytest.mark.parametrize("samples", [2, 5, 20])
def test_mean_interval_contains_the_mean_of_a_normal_distribution_as_often_as_stated(samples):
    scores = np.random.default_rng(0).normal(0.7, 0.1, size=(2000, samples))
    ends = np.array([mean_interval(row) for row in scores])
    assert np.mean((ends[:, 0] <= 0.7) & (ends[:, 1] >= 0.7)) == pytest.approx(0.95, abs=0.015)
    expected = stats.t.interval(0.95, samples - 1, scores[0].mean(), stats.sem(scores[0]))
    assert mean_interval(scores[0]) == pytest.approx(expected)


@pytest.mark.parametrize("unit", [1.0, 0.1, 1e-7])
@pytest.mark.parametrize("units", [(2, 3, 1, 4), (1, 2, 3, -3), (5, -1, 2, 2, 1)])
@pytest.mark.parametrize("copies", [1, 3])  # enumerated, sampled
def test_approximate_randomization_is_close_to_the_exact_p_value(units, copies, unit, elements):
    units *= copies
    # In multiples of 0.1, sums that should be equal differ in the last bit.
    signs = np.asarray(list(itertools.product([1, -1], repeat=len(units))))
    chance = np.mean(np.abs(signs @ units) >= abs(sum(units)))
    scores = unit * np.asarray(units)
    assert approximate_randomization(scores, 0 * scores, 4000) == pytest.approx(chance, abs=0.03)


def test_p_value_of_a_difference_is_two_sided_and_ignores_nan():
    values = np.append(np.arange(-19.0, 80), np.nan)  # 20 of 99 are <= 0
    for first, second in ((values, 0 * values), (0 * values, values)):
        assert difference_p_value(first, second) == pytest.approx(2 * 21 / 100)
    assert np.isnan(difference_p_value(np.full(3, np.nan), np.zeros(3)))
    assert difference_p_value(np.full(99, TOLERANCE / 2), np.zeros(99)) == 1.0


# Soft pairwise accuracy


def exact_p_value(first, second):
    """Return the exact p-value of a one-sided permutation test of whether the first is better."""
    signs = np.asarray(list(itertools.product([1, -1], repeat=len(first))))
    return np.mean(signs @ (first - second) >= (first - second).sum() - 1e-9)


def test_soft_accuracy_is_close_to_the_exact_permutation_value():
    human, metric = (grid[:4] for grid in grids(samples=9))
    pairs = itertools.combinations(range(4), 2)
    errors = [exact_p_value(*human[[*x]]) - exact_p_value(*metric[[*x]]) for x in pairs]
    accuracy = soft_pairwise_accuracy(human, metric, permutations=40000)
    assert accuracy == pytest.approx(1 - np.mean(np.abs(errors)), abs=0.01)
    assert accuracy < 0.97


def test_soft_accuracy_is_1_for_equal_systems_and_rescaled_scores_and_near_0_after_negation():
    human, _ = grids(samples=60)
    human += 3 * np.arange(6.0)[:, None]
    assert soft_pairwise_accuracy(human, 64 * human - 8) == 1.0
    assert soft_pairwise_accuracy(human, -human) < 0.02
    human, metric = np.tile(grids()[0][:1], (3, 1)), np.tile(grids()[1][:1], (3, 1))
    tenths = 0.1 * metric  # differences are 0 up to rounding
    assert soft_pairwise_accuracy(human, tenths) == 1.0
    assert np.isnan(soft_pairwise_accuracy(human[:1], metric[:1]))


@pytest.mark.parametrize(("better", "accuracy"), [(0, 0.0), (1, 1.0)])
def test_soft_accuracy_of_systems_with_equal_human_scores_is_0_or_1(better, accuracy):
    human = np.tile(np.arange(60.0), (2, 1))
    metric = human + (np.arange(2) == better)[:, None]
    assert soft_pairwise_accuracy(human, metric) == accuracy


# Invalid arguments


MEANS = np.arange(6.0), np.arange(6.0) ** 2, np.arange(6.0) ** 3


def comparison(one=MEANS[1], other=MEANS[2], coefficient="pearson"):
    return lambda: compare_metrics(MEANS[0], one, other, coefficient)


INVALID = [
    (lambda: draw(6, 15, resamples=0), "resamples must be at least 1, got 0"),
    (lambda: draw(6, 15, resamples=1.5), "resamples must be a whole number"),
    (lambda: draw(6, 15, seed=-1), "seed must be at least 0, got -1"),
    (comparison(coefficient="pearsn"), "unknown coefficient 'pearsn'. Did you mean 'pearson'"),
    (comparison(one=np.append(np.arange(5.0), np.inf)), "one must be finite"),
    (comparison(other=np.arange(1.0)), r"human and .*other .* got .*\[6\] and \[1\]"),
    (lambda: williams_test(0.5, 0.4, 0.3, 3), "number of systems.* at least 4, got 3"),
    *((lambda r=r: williams_test(r, 0, 0, 9), "r12, r13 and r23 must be") for r in (1.5, "a")),
    *((lambda p=p: holm(p), "p_values must be") for p in (["a"], 0.5, [1.5], [[0.5]])),
    (lambda: approximate_randomization([1.0, 2.0], [1.0, 3.0], seed=-1), "seed must be at least"),
    (lambda: soft_pairwise_accuracy(*grids(), permutations=0), "permutations must be at least"),
    (lambda: approximate_randomization([1.0], [1.0, 2.0]), "equal lengths > 0, got .1, 2."),
    (lambda: approximate_randomization([1.0, np.nan], [1.0, 2.0]), "without NaN"),
    (lambda: approximate_randomization([1.0], [2.0]), "at least two scores"),
    (lambda: approximate_randomization(*MEANS[:2], 0), "resamples must be at least 1, got 0"),
]


@pytest.mark.parametrize(("call", "message"), INVALID)
def test_invalid_arguments_are_rejected(call, message):
    with pytest.raises(InputError, match=message):
        call()


# Multiple tests

P_VALUES = st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.05, 0.3, 1.0]), max_size=8)


@given(P_VALUES)
def test_holm_rejects_the_same_tests_as_the_step_down_procedure(p_values):
    for level in (0.0100001, 0.0500001, 0.3000001):
        rejected, order = set(), np.argsort(p_values, kind="stable")
        for step, test in enumerate(order):
            if p_values[test] * (len(order) - step) > level:
                break
            rejected.add(int(test))
        assert {*np.flatnonzero(holm(p_values) <= level).tolist()} == rejected


@given(P_VALUES, st.integers(0, 8))
def test_holm_ignores_undefined_tests(p_values, place):
    gap = [*p_values[:place], np.nan, *p_values[place:]]
    adjusted = holm(gap)
    assert np.isnan(adjusted[min(place, len(p_values))])
    assert adjusted[~np.isnan(adjusted)].tolist() == holm(p_values).tolist()
    assert all(adjusted[~np.isnan(adjusted)] <= 1)
