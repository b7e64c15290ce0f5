"""Accuracy on pairs of texts with calibrated ties, against loops that follow the paper's words."""

import itertools

import numpy as np
import pytest

from infolm_metric.meta_evaluation import bootstrap_interval, calibrated_accuracy
from infolm_metric.meta_evaluation.resampling import draw, resampled
from infolm_metric.meta_evaluation.tie_calibration import calibrated_shares


def grids(seed=0, systems=6, samples=8):
    random = np.random.default_rng(seed)
    human = random.integers(1, 5, size=(systems, samples)).astype(float)
    return human, (human + 1.5 * random.normal(size=human.shape)).round(1)


def accuracy_at(human, metric, threshold, pairs_of):
    """Mean over samples of the share of pairs of which both say "better", "worse" or "tie" alike.

    `pairs_of` gives the pairs of systems of a sample.
    """
    shares = []
    for people, scores in zip(human.T, metric.T, strict=True):
        right = []
        for one, other in pairs_of(people):
            apart = scores[one] - scores[other]
            said = 0.0 if abs(apart) <= threshold else np.sign(apart)
            right.append(said == np.sign(people[one] - people[other]))
        if right:
            shares.append(np.mean(right))
    return np.mean(shares)


def best(human, metric, pairs_of):
    """The largest accuracy over all differences that occur and 0, and its smallest threshold."""
    thresholds = {0.0}
    for scores in metric.T:
        thresholds |= {abs(a - b) for a, b in itertools.combinations(scores, 2)}
    found = [(-accuracy_at(human, metric, t, pairs_of), t) for t in thresholds - {np.nan}]
    top = min(value for value, _ in found)
    return -top, min(t for value, t in found if value <= top + 1e-12)


def every_pair(people):
    return list(itertools.combinations(range(len(people)), 2))


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_best_accuracy_over_all_thresholds(seed):
    human, metric = grids(seed)
    found = calibrated_accuracy(human, metric)
    value, threshold = best(human, metric, every_pair)
    assert found.value == pytest.approx(value)
    assert found.threshold == pytest.approx(threshold)
    assert accuracy_at(human, metric, found.threshold, every_pair) == pytest.approx(value)


def test_a_metric_that_ties_all_gets_the_share_of_peoples_ties():
    human, _ = grids()
    ties = accuracy_at(human, np.zeros_like(human), 0.0, every_pair)
    found = calibrated_accuracy(human, np.zeros_like(human))
    assert (found.value, found.threshold) == (pytest.approx(ties), 0.0)
    noise = np.random.default_rng(0).normal(size=human.shape)
    assert calibrated_accuracy(human, noise).value >= ties


def test_people_without_ties_leave_no_use_for_a_threshold():
    human, metric = np.arange(5.0)[:, None] ** 2, np.array([[0.1], [0.3], [0.2], [0.4], [0.7]])
    assert calibrated_accuracy(human, metric).value == pytest.approx(9 / 10)
    assert calibrated_accuracy(human, metric).threshold == 0.0


def test_a_factor_and_a_shift_change_the_threshold_alone():
    human, metric = grids()
    plain, changed = (calibrated_accuracy(human, m) for m in (metric, 4 * metric - 8))
    assert changed.value == pytest.approx(plain.value)
    assert changed.threshold == pytest.approx(4 * plain.threshold)


def test_pairs_that_lack_a_score_are_left_out():
    human, metric = grids()
    human[2, 3] = metric[4, 5] = np.nan
    kept = [sample for sample in range(8) if sample not in (3, 5)]
    dropped = calibrated_accuracy(human, metric)
    assert dropped == calibrated_accuracy(human[:, kept], metric[:, kept])
    there = lambda people: [p for p in every_pair(people) if not np.isnan(people[list(p)]).any()]  # noqa: E731
    human[4, 5] = np.nan
    value, _ = best(human, metric, there)
    assert calibrated_accuracy(human, metric, "available").value == pytest.approx(value)


def test_a_resample_is_what_its_rows_and_columns_written_out_give():
    human, metric = grids(samples=5)
    draws = draw(*human.shape, resamples=20, seed=4)
    found = resampled(human, metric, draws, "text")["accuracy"]
    for index in range(len(draws)):
        columns = np.repeat(np.arange(5), draws.samples[index])
        systems = draws.systems[index]
        h, m = (grid[systems][:, columns] for grid in (human, metric))
        different = [p for p in every_pair(systems) if systems[p[0]] != systems[p[1]]]
        expected, _ = best(h, m, lambda people, different=different: different)
        assert found[index] == pytest.approx(expected)


def test_where_no_sample_has_two_scored_texts_there_is_no_accuracy():
    grid = np.where(np.eye(4) == 1, 1.0 + np.arange(4.0), np.nan)
    found = calibrated_accuracy(grid, grid, "available")
    assert np.isnan([found.value, found.threshold]).all()
    draws = draw(4, 4, resamples=5)
    assert np.isnan(calibrated_shares(grid, grid, draws.times, draws.samples)).all()


def test_an_interval_of_the_accuracy_of_texts_holds_it():
    human, metric = grids(samples=60)
    low, high = bootstrap_interval(human, metric, "accuracy", "text", over="samples", resamples=200)
    assert low < calibrated_accuracy(human, metric).value < high
