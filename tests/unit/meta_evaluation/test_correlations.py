"""Correlations and accuracies, compared with scipy and with slow loops."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from infolm_metric import InputError
from infolm_metric.meta_evaluation import calibrated_accuracy, correlation, soft_pairwise_accuracy
from infolm_metric.meta_evaluation.correlations import (
    COEFFICIENTS,
    MAX_PAIRWISE,
    MIN_SYSTEMS,
    mean_over_samples,
    order_accuracy,
    partial_pearson,
    system_means,
)

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
NAMES = list(COEFFICIENTS)
# Integers, to produce ties.
SCORES = st.lists(st.integers(-3, 3).map(float), min_size=3, max_size=9)


def grids(seed=0, systems=7, samples=12, ties=True):
    random = np.random.default_rng(seed)
    human = random.normal(size=(systems, samples)) + np.arange(systems)[:, None]
    metric = human + 2 * random.normal(size=human.shape)
    return (human.round(), metric.round()) if ties else (human, metric)


def grids_with_length(seed=0, systems=6, samples=9):
    random = np.random.default_rng(seed)
    length = random.integers(5, 40, size=(systems, samples)).astype(float)
    human = 0.2 * length + random.normal(size=length.shape) * 3
    return human, human + 0.3 * length + random.normal(size=length.shape) * 4, length


def per_sample(function, *sides):
    return [function(*columns) for columns in zip(*(side.T for side in sides), strict=True)]


# Coefficients


@pytest.mark.parametrize("name", NAMES)
@given(x=SCORES, y=SCORES)
def test_coefficients_equal_scipy_including_ties(name, x, y):
    n = min(len(x), len(y))
    x, y = np.asarray(x[:n]), np.asarray(y[:n])
    value = COEFFICIENTS[name](x, y)
    if len(set(x)) == 1 or len(set(y)) == 1:
        assert np.isnan(value)
    else:
        assert value == pytest.approx(SCIPY[name](x, y)[0], abs=1e-12)


@pytest.mark.parametrize("n", [MAX_PAIRWISE, MAX_PAIRWISE + 1, 700])
@pytest.mark.parametrize("name", NAMES)
def test_coefficients_of_long_vectors_equal_scipy(name, n):
    x, y = np.random.default_rng(0).integers(-3, 4, size=(2, 3, n)).astype(float)
    y += x
    expected = [SCIPY[name](*sides)[0] for sides in zip(x, y, strict=True)]
    assert COEFFICIENTS[name](x, y) == pytest.approx(expected, abs=1e-12)


def test_pearson_of_values_that_differ_by_rounding_is_nan():
    tenths = np.full(5, 0.1) + np.array([0, 1.5e-17, 0, -1.5e-17, 0])
    assert len(set(tenths)) > 1
    assert np.isnan(COEFFICIENTS["pearson"](tenths, np.arange(5.0)))


def test_pearson_is_invariant_to_a_large_shift():
    x, y = grids(ties=False)
    expected = COEFFICIENTS["pearson"](x[:, 0], y[:, 0])
    assert COEFFICIENTS["pearson"](x[:, 0] + 1e6, y[:, 0]) == pytest.approx(expected, abs=1e-8)


# System and segment level


@pytest.mark.parametrize("name", NAMES)
def test_system_level_uses_means_and_segment_level_averages_samples(name):
    human, metric = grids()
    expected = SCIPY[name](human.mean(1), metric.mean(1))[0]
    assert correlation(human, metric, name) == pytest.approx(expected)
    expected = np.mean(per_sample(lambda h, m: SCIPY[name](h, m)[0], human, metric))
    assert correlation(human, metric, name, "segment") == pytest.approx(expected)


def test_segment_level_excludes_samples_with_constant_scores():
    human, metric = grids()
    human[:, 3] = 5.0
    samples = [sample for sample in range(12) if sample != 3]
    expected = correlation(human[:, samples], metric[:, samples], level="segment")
    assert correlation(human, metric, level="segment") == pytest.approx(expected)
    assert np.isnan(correlation(np.ones_like(human), metric, level="segment"))


STATISTICS = {  # arguments: human scores, metric scores and level
    **{name: lambda h, m, how, name=name: correlation(h, m, name, how) for name in NAMES},
    "calibrated": lambda h, m, _: calibrated_accuracy(h, m),
    "soft": lambda h, m, _: soft_pairwise_accuracy(h, m),
}
ONE_LEVEL = {("soft", "segment"), ("calibrated", "system")}
STATISTIC_LEVELS = sorted({*itertools.product(STATISTICS, ("system", "segment"))} - ONE_LEVEL)


@pytest.mark.parametrize(("name", "level"), STATISTIC_LEVELS)
def test_sample_missing_for_one_system_is_dropped_for_all(name, level):
    human, metric, _ = grids_with_length()
    samples = [sample for sample in range(9) if sample not in (4, 7)]
    expected = STATISTICS[name](human[:, samples], metric[:, samples], level)
    human[2, 4] = metric[5, 7] = np.nan
    assert STATISTICS[name](human, metric, level) == pytest.approx(expected)


def grids_with_value(side, place, value):
    sides = [*grids_with_length()[:2]]
    sides[side][place] = value
    return sides


INVALID_FOR_ALL = [
    ([grid[None] for grid in grids_with_length()[:2]], r"human and metric .* got \[1, 6, 9\]"),
    ([grids_with_length()[0], grids_with_length()[1][:, 1:]],
     r"human and metric .* got \[6, 9\] and \[6, 8\]"),
    (grids_with_value(0, (0, 0), np.inf), "human must be finite"),
    (grids_with_value(1, (0, 0), -np.inf), "metric must be finite"),
    (grids_with_value(0, 2, np.nan), "no sample .* Use the same ids"),
]  # fmt: skip


@pytest.mark.parametrize(("sides", "message"), INVALID_FOR_ALL)
@pytest.mark.parametrize("name", STATISTICS)
def test_every_statistic_rejects_invalid_grids(name, sides, message):
    with pytest.raises(InputError, match=message):
        STATISTICS[name](*sides, "system")


INVALID_FOR_ONE = [
    (lambda h, m, z: correlation(h, m, "pearsn"), "'pearsn'. Did you mean 'pearson'"),
    (lambda h, m, z: correlation(h[0, :1], m[0, :1], level="segment"), "at least 2 texts"),
    (lambda h, m, z: COEFFICIENTS["pearson"](h / 0, m), "x must be finite"),
    (lambda h, m, z: COEFFICIENTS["kendall"](h, -m / 0), "y must be finite"),
    (lambda h, m, z: COEFFICIENTS["pearson"](["a"], [1]), r"x must be .* numbers, got \['a'\]"),
    (lambda h, m, z: COEFFICIENTS["spearman"](h, m[:, :1]), r"equal lengths > 0, got \[\d+, 1\]"),
    (lambda h, m, z: correlation(h.ravel(), m.ravel()), "the system level requires scores"),
    (lambda h, m, z: soft_pairwise_accuracy(h.ravel(), m.ravel()), "system level requires scores"),
    (lambda h, m, z: correlation(h, m, level="sytem"), "'sytem'. Did you mean 'system'"),
]


@pytest.mark.parametrize(("call", "message"), INVALID_FOR_ONE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_invalid_arguments_of_single_statistics_are_rejected(call, message):
    with pytest.raises(InputError, match=message):
        call(*grids_with_length())


# Pairs of systems


def test_order_accuracy_is_the_fraction_of_pairs_in_human_order():
    human, metric = np.array([1.0, 2.0, 3.0, 3.0]), np.array([1.0, 1.0, 5.0, 4.0])
    # The pair with equal human scores is excluded. The metric ties one of the other five.
    assert order_accuracy(human, metric) == pytest.approx(4 / 5)
    assert np.isnan(order_accuracy(np.ones_like(human), metric))


@pytest.mark.parametrize("unit", [1.0, 10.0, 1e-9, 1e12])
def test_equal_ratings_in_another_order_tie_at_any_scale(unit):
    # Their means differ in the last bit.
    human = unit * np.array([[3.3, 4.7, 1.1], [1.1, 3.3, 4.7], [1.0, 1.0, 1.0]])
    metric = np.array([[2.0] * 3, [3.0] * 3, [1.0] * 3])
    expected = stats.kendalltau([2, 2, 1], [2, 3, 1]).statistic
    assert correlation(human, metric, "kendall") == pytest.approx(expected)
    assert order_accuracy(*map(system_means, (human, metric[[1, 0, 2]]))) == 1.0
    assert np.isnan(order_accuracy(*map(system_means, (human[:2], metric[:2]))))  # all tied


@given(st.floats(0.1, 1), st.integers(-280, 280), st.sampled_from([-2, -1, 1, 2]))
def test_system_means_keep_their_leading_digits(digits, exponent, factor):
    value = digits * 10.0**exponent
    means = system_means(np.array([[value, value], [value * factor] * 2]))
    assert means == pytest.approx([value, value * factor], rel=1e-11, abs=0)


# Pairs of texts with calibrated ties


def rating_grids(seed=0, systems=6, samples=8):
    random = np.random.default_rng(seed)
    human = random.integers(1, 5, size=(systems, samples)).astype(float)
    return human, (human + 1.5 * random.normal(size=human.shape)).round(1)


def accuracy_at(human, metric, threshold):
    """Return the mean over samples of the fraction of pairs on which both sides agree."""
    fractions = []
    for human_scores, scores in zip(human.T, metric.T, strict=True):
        verdicts = []
        for first, second in itertools.combinations(range(len(human_scores)), 2):
            difference = scores[first] - scores[second]
            sign = 0.0 if abs(difference) <= threshold else np.sign(difference)
            if not np.isnan(human_scores[first] - human_scores[second] + difference):
                verdicts.append(sign == np.sign(human_scores[first] - human_scores[second]))
        if verdicts:
            fractions.append(np.mean(verdicts))
    return np.mean(fractions)


def best_accuracy(human, metric):
    """Return the highest accuracy over the threshold 0 and all differences that occur."""
    thresholds = {0.0}
    for scores in metric.T:
        thresholds |= {abs(a - b) for a, b in itertools.combinations(scores, 2)}
    return max(accuracy_at(human, metric, threshold) for threshold in thresholds)


@pytest.mark.parametrize("seed", range(5))
def test_calibrated_accuracy_is_the_maximum_over_all_thresholds(seed):
    human, metric = rating_grids(seed)
    for human_scores, scores in ((human, metric), (human, 0 * metric), (metric, metric)):
        value = calibrated_accuracy(human_scores, scores)
        assert value == pytest.approx(best_accuracy(human_scores, scores))


def test_calibrated_accuracy_of_a_single_system_is_nan():
    assert np.isnan(calibrated_accuracy(*(grid[:1] for grid in rating_grids())))


# Partial correlation given length


def residual_correlation(x, y, z):
    """Return the Pearson correlation of the residuals of x and y after regression on z."""
    design = np.stack([np.ones_like(z), z], axis=1)
    slopes = [np.linalg.lstsq(design, values, rcond=None)[0] for values in (x, y)]
    return np.corrcoef(x - design @ slopes[0], y - design @ slopes[1])[0, 1]


def test_partial_correlation_is_the_correlation_of_residuals():
    sides = grids_with_length()
    expected = residual_correlation(*(grid.mean(1) for grid in sides))
    assert mean_over_samples(partial_pearson, sides, "system") == pytest.approx(expected)
    expected = np.mean(per_sample(residual_correlation, *sides))
    assert mean_over_samples(partial_pearson, sides, "segment") == pytest.approx(expected)


def test_partial_correlation_handles_perfect_and_zero_correlation_with_length():
    human, metric, length = (grid[:, 0] for grid in grids_with_length())
    assert np.isnan(partial_pearson(human, 3 - 2 * length, length))
    x, y, z = np.array([[1.0, 2, 3, 4], [1, 3, 2, 4], [1, -1, -1, 1]])
    assert partial_pearson(x, y, z) == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_partial_correlation_needs_at_least_four_texts():
    for level in ("system", "segment"):
        for systems, defined in ((MIN_SYSTEMS - 1, False), (MIN_SYSTEMS, True)):
            sides = [grid[:systems] for grid in grids_with_length()]
            assert np.isfinite(mean_over_samples(partial_pearson, sides, level)) == defined
