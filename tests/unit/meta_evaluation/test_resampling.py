"""Intervals and tests by resampling, against slow loops and known chances."""

import numpy as np
import pytest
from scipy import stats

from infolm_metric.meta_evaluation import (
    approximate_randomization,
    bootstrap_interval,
    correlation,
    paired_bootstrap,
    williams_test,
)
from infolm_metric.meta_evaluation.correlations import COEFFICIENTS, ordered_alike, pearson
from infolm_metric.meta_evaluation.repetition import repeated
from infolm_metric.meta_evaluation.resampling import difference_p_value, draw, resampled
from infolm_metric.meta_evaluation.williams import WilliamsTest, compare_metrics


def grids(seed=0, systems=6, samples=15):
    random = np.random.default_rng(seed)
    human = (random.normal(size=(systems, samples)) * 2 + np.arange(systems)[:, None]).round()
    return human, (human + 3 * random.normal(size=human.shape)).round()


@pytest.mark.parametrize("over", ["both", "samples", "systems"])
@pytest.mark.parametrize("level", ["system", "text"])
def test_a_resample_is_what_its_rows_and_columns_written_out_give(level, over):
    human, metric = grids()
    draws = draw(*human.shape, resamples=30, seed=1, over=over)
    found = resampled(human, metric, draws, level)
    for index in range(len(draws)):
        columns = np.repeat(np.arange(human.shape[1]), draws.samples[index])
        h, m = (grid[draws.systems[index]][:, columns] for grid in (human, metric))
        for name in COEFFICIENTS:
            assert found[name][index] == pytest.approx(
                correlation(h, m, name, level), abs=1e-9, nan_ok=True
            )
        if level == "system":
            with np.errstate(invalid="ignore"):
                expected = ordered_alike(h.mean(1), m.mean(1))
            assert found["accuracy"][index] == pytest.approx(expected, nan_ok=True)


def test_repeated_systems_count_as_often_as_drawn_also_where_scores_are_missing():
    human, metric = grids()
    human[2, 3] = metric[2, 3] = np.nan
    human[:, 5] = 4.0
    draws = draw(*human.shape, resamples=40, seed=2)
    times = (draws.systems[:, :, None] == np.arange(6)).sum(1)
    found = repeated(human, metric, times)
    for name, function in COEFFICIENTS.items():
        h, m = (grid[draws.systems].transpose(0, 2, 1) for grid in (human, metric))
        assert found[name] == pytest.approx(function(h, m), abs=1e-9, nan_ok=True)


def test_resamples_over_one_axis_leave_the_other_as_it_is():
    assert (draw(4, 9, 5, over="samples").systems == np.arange(4)).all()
    assert (draw(4, 9, 5, over="systems").samples == 1).all()


def test_an_interval_is_the_same_for_the_same_seed_and_another_for_another():
    human, metric = grids()
    one, again, other = (
        bootstrap_interval(human, metric, resamples=50, seed=seed) for seed in (0, 0, 1)
    )
    assert one == again != other


def test_an_interval_of_an_unknown_level_is_refused():
    with pytest.raises(ValueError, match="unknown level 'sytem'; did you mean 'system'"):
        bootstrap_interval(*grids(), level="sytem")


def test_an_interval_holds_the_truth_about_as_often_as_it_says():
    random, truth, hits = np.random.default_rng(0), 0.6, 0
    for trial in range(200):
        human = random.normal(size=(60, 1))
        metric = truth * human + np.sqrt(1 - truth**2) * random.normal(size=(60, 1))
        low, high = bootstrap_interval(
            human, metric, over="systems", resamples=200, seed=trial, confidence=0.9
        )
        hits += low <= truth <= high
    assert 0.82 <= hits / 200 <= 0.96


def test_more_samples_make_an_interval_over_samples_narrower():
    few, many = (
        np.diff(bootstrap_interval(*grids(samples=n), over="samples", resamples=200))[0]
        for n in (8, 200)
    )
    assert many < few


def test_williams_test_gives_the_worked_example_of_howells_textbook():
    # Statistical Methods for Psychology: r12 = .80, r13 = .72, r23 = .89, n = 26.
    test = williams_test(0.80, 0.72, 0.89, 26)
    assert (round(test.statistic, 3), round(test.p_value, 3)) == (1.361, 0.187)


def test_williams_test_is_symmetric_in_the_metrics():
    one, other = williams_test(0.5, 0.8, 0.3, 20), williams_test(0.8, 0.5, 0.3, 20)
    assert one.statistic == -other.statistic
    assert one.p_value == other.p_value


@pytest.mark.parametrize("same", [lambda x: 100 * x, lambda x: x + 1, lambda x: (3 - x) / -3])
def test_a_metric_and_the_same_on_another_scale_do_not_differ(same):
    draws = np.random.default_rng(0).normal(size=(200, 2, 16))
    for human, metric in draws:
        assert compare_metrics(human, metric, same(metric)) == WilliamsTest(0.0, 1.0)
    resampled = [pearson(draws[:, 0], each) for each in (draws[:, 1], same(draws[:, 1]))]
    assert difference_p_value(*resampled) == 1.0


def test_williams_test_rejects_a_true_null_as_often_as_it_should():
    random = np.random.default_rng(0)
    # Both metrics correlate 0.7 with people and 0.8 with each other.
    covariance = np.array([[1, 0.7, 0.7], [0.7, 1, 0.8], [0.7, 0.8, 1]])
    draws = random.multivariate_normal(np.zeros(3), covariance, size=(2000, 16))
    r = COEFFICIENTS["pearson"]
    people, one, other = draws.transpose(2, 0, 1)
    tests = [
        williams_test(*correlations, 16).p_value
        for correlations in zip(r(people, one), r(people, other), r(one, other), strict=True)
    ]
    rejected = np.mean(np.asarray(tests) < 0.05)
    assert stats.binomtest(round(2000 * rejected), 2000, 0.05).pvalue > 0.001


@pytest.mark.parametrize(
    ("arguments", "p"), [((0.5, 0.5, 0.2, 10), 1.0), ((0.9, 0.9, 1.0, 10), 1.0)]
)
def test_equal_correlations_do_not_differ(arguments, p):
    assert williams_test(*arguments).p_value == p


def test_metrics_that_are_the_same_do_not_differ():
    human, metric = (grid.mean(1) for grid in grids())
    assert compare_metrics(human, metric, 2 * metric + 1).p_value == pytest.approx(1.0)


@pytest.mark.parametrize("name", list(COEFFICIENTS))
def test_a_system_that_lacks_a_mean_takes_no_part_in_williams_test(name):
    human, one, other = np.random.default_rng(0).normal(size=(3, 9)) + np.arange(9.0)
    human[1] = one[4] = other[6] = np.nan
    x, y, z = (means[[0, 2, 3, 5, 7, 8]] for means in (human, one, other))
    scipys = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    r12, r13, r23 = (scipys[name](*both)[0] for both in ((x, y), (x, z), (y, z)))
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    variance = 2 * k * 5 / 3 + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    t = (r12 - r13) * np.sqrt(5 * (1 + r23) / variance)
    found = compare_metrics(human, one, other, name)
    assert found.statistic == pytest.approx(t)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(t), 3))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"coefficient": "pearsn"}, "unknown coefficient 'pearsn'; did you mean 'pearson'"),
        ({"other": np.arange(1.0)}, r"equally long lists, got shapes \[6\] and \[6\] and \[1\]"),
        ({"one": np.array([1, 2, 3, np.nan, np.nan, np.nan])}, "at least 4 systems, got 3"),
    ],
)
def test_metrics_that_cannot_be_compared_are_refused(changes, message):
    means = {"human": np.arange(6.0), "one": np.arange(6.0) ** 2, "other": np.arange(6.0) ** 3}
    with pytest.raises(ValueError, match=message):
        compare_metrics(**{**means, **changes})


@pytest.mark.parametrize(
    ("arguments", "message"), [((0.5, 0.4, 0.3, 3), "at least 4 systems"), ((1.5, 0, 0, 9), "r12")]
)
def test_williams_test_refuses_what_it_is_not_made_for(arguments, message):
    with pytest.raises(ValueError, match=message):
        williams_test(*arguments)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_a_paired_test_agrees_with_a_t_test_on_normal_differences(test):
    random = np.random.default_rng(3)
    scores, baseline = random.normal(size=(2, 150))
    scores += 0.2
    expected = stats.ttest_rel(scores, baseline).pvalue
    assert test(scores, baseline, 4000) == pytest.approx(expected, abs=0.02)


def test_approximate_randomization_is_near_the_exact_chance_for_few_samples():
    scores, baseline = np.array([3.0, 5.0, 4.0, 6.0]), np.array([1.0, 2.0, 3.0, 2.0])
    # All four differences have one sign: of 16 sign patterns 2 are as far from 0.
    assert approximate_randomization(scores, baseline, 20000) == pytest.approx(2 / 16, abs=0.01)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
@pytest.mark.parametrize(
    ("scores", "message"), [([1.0], "equally long"), ([1.0, np.nan], "finite")]
)
def test_a_paired_test_refuses_scores_that_do_not_pair(test, scores, message):
    with pytest.raises(ValueError, match=message):
        test(scores, [1.0, 2.0])


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_a_paired_test_needs_two_samples(test):
    with pytest.raises(ValueError, match="scores and baseline must be .* at least two scores"):
        test([1.0], [2.0])


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_a_paired_test_needs_a_resample(test):
    with pytest.raises(ValueError, match="resamples must be at least 1, got 0"):
        test([1.0, 3.0], [1.0, 2.0], 0)


def test_a_difference_that_never_changes_its_sign_is_as_sure_as_the_resamples_allow():
    assert difference_p_value(np.ones(99), np.zeros(99)) == pytest.approx(0.02)
    assert difference_p_value(np.zeros(99), np.zeros(99)) == 1.0
