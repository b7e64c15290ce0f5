"""The table of metrics and criteria: its cells, its text form and invalid arguments."""

import json
import math

import numpy as np
import pytest

from infolm_metric import InputError
from infolm_metric.meta_evaluation import (
    Agreement,
    agreement,
    calibrated_accuracy,
    compare_metrics,
    correlation,
    soft_pairwise_accuracy,
)
from infolm_metric.meta_evaluation.agreement import format_cell, format_p_value, level_rows, notes
from infolm_metric.meta_evaluation.correlations import (
    COEFFICIENTS,
    common_scores,
    mean_over_samples,
    order_accuracy,
    partial_pearson,
)
from infolm_metric.meta_evaluation.significance import (
    difference_p_value,
    draw,
    percentile_interval,
    resample,
)
from tests.nearly_equal import assert_nearly_equal


def grids(systems=6, samples=8):
    random = np.random.default_rng(0)
    human = random.normal(size=(systems, samples)) + np.arange(systems)[:, None]
    metrics = {name: human + random.normal(size=human.shape) for name in ("mine", "bleu")}
    return {"fluency": human}, metrics, random.integers(5, 40, size=human.shape).astype(float)


@pytest.mark.parametrize("level", ["system", "segment"])
def test_every_cell_equals_its_statistic_computed_separately(level):
    human, metrics, length = grids()
    human["fluency"][1, 2] = metrics["bleu"][3, 4] = np.nan
    table = agreement(human, metrics, against=["bleu"], length=length, resamples=60, seed=3)
    # Metrics are compared on the samples that all of them have scored.
    all_grids = [human["fluency"], metrics["mine"], metrics["bleu"], length]
    human_scores, scores, bleu, characters = common_scores(all_grids)[0]
    draws = draw(*human_scores.shape, 60, 3)
    for name, function in COEFFICIENTS.items():
        cell = table.find("mine", "fluency", level, name)
        assert cell.value == pytest.approx(correlation(human_scores, scores, name, level))
        values = [resample(function, [human_scores, x], draws, level) for x in (scores, bleu)]
        assert (cell.low, cell.high) == pytest.approx(percentile_interval(values[0]))
        expected = difference_p_value(*values)
        if level == "system":
            means = (grid.mean(1).round(10) for grid in (human_scores, scores, bleu))
            expected = compare_metrics(*means, name)
        assert cell.p_values["bleu"] == pytest.approx(expected, abs=1e-6)
    cell = table.find("mine", "fluency", level, "partial")
    expected = mean_over_samples(partial_pearson, [human_scores, scores, characters], level)
    assert cell.value == pytest.approx(expected)
    values = resample(partial_pearson, [human_scores, scores, characters], draws, level)
    assert (cell.low, cell.high) == pytest.approx(np.nanquantile(values, [0.025, 0.975]))
    cell = table.find("mine", "fluency", level, "accuracy")
    expected = calibrated_accuracy(human_scores, scores)
    if level == "system":
        expected = mean_over_samples(order_accuracy, [human_scores, scores], level)
    assert cell.value == pytest.approx(expected)
    assert math.isnan(cell.low) == math.isnan(cell.p_values["bleu"]) == (level == "segment")
    if level == "system":
        cell = table.find("mine", "fluency", level, "soft_accuracy")
        expected = soft_pairwise_accuracy(human_scores, scores, seed=3)
        assert cell.value == pytest.approx(expected)
    assert table.samples == {"fluency": human_scores.shape[1]}
    assert table.dropped == {"fluency": 8 - human_scores.shape[1]}
    assert (table.systems, table.resamples, table.seed) == (6, 60, 3)


def test_texts_without_systems_get_segment_level_correlations_only():
    human, metrics, length = grids()
    flat = {name: grid.ravel() for name, grid in metrics.items()}
    flat["bleu"][5] = np.nan
    criteria = {"fluency": human["fluency"].ravel()}
    table = agreement(criteria, flat, length=length.ravel(), resamples=30)
    assert (table.systems, table.samples, table.dropped) == (0, {"fluency": 47}, {"fluency": 1})
    assert table.names("level") == ["segment"]
    assert table.names("statistic") == ["pearson", "spearman", "kendall", "partial"]
    sides = [grid.ravel()[np.arange(48) != 5] for grid in (human["fluency"], metrics["mine"])]
    cell = table.find("mine", "fluency", "segment", "pearson")
    assert cell.value == pytest.approx(np.corrcoef(*sides)[0, 1])
    texts = np.random.default_rng(0).integers(47, size=(30, 47))
    values = [np.corrcoef(*(side[row] for side in sides))[0, 1] for row in texts]
    assert (cell.low, cell.high) == pytest.approx(np.quantile(values, [0.025, 0.975]))


@pytest.mark.parametrize("against", [["length", "bleu"], ["bleu", "length", "bleu"], "bleu"])
def test_length_is_included_exactly_once_in_the_comparison(against):
    human, metrics, length = grids()
    options = {"length": length, "resamples": 20}
    table = agreement(human, metrics, against=against, **options)
    expected = agreement(human, metrics, against=["bleu"], length=length, resamples=20)
    assert table.against == ("bleu", "length")
    assert_nearly_equal(table.as_dict(), expected.as_dict())
    assert table.find("mine", "fluency", "segment", "pearson").p_values["length"] > 0
    assert set(table.find("length", "fluency", "segment", "pearson").p_values) == {"bleu"}
    options |= {"length": 0 * length + 7}
    level_table = agreement(human, metrics, against=against, **options)
    assert (level_table.against, level_table.names("metric")) == (("bleu",), ["mine", "bleu"])
    assert "partial" not in level_table.names("statistic")
    explained = [any(n.startswith("length: ") for n in notes(t)) for t in (table, level_table)]
    assert explained == [True, False]


@pytest.mark.parametrize(("systems", "tested"), [(3, False), (4, True)])
def test_williams_test_needs_four_systems(systems, tested):
    human, metrics, _ = grids(systems)
    table = agreement(human, metrics, against=["bleu"], resamples=20)
    cell = table.find("mine", "fluency", "system", "pearson")
    assert np.isfinite(cell.p_values["bleu"]) == tested
    assert any(note.startswith("-: not defined") for note in notes(table)) != tested


INFINITE, UNSCORED = grids()[2], grids()[2]
INFINITE[0, 0], UNSCORED[0] = np.inf, np.nan


INVALID = [
    ({"against": ["lenght"]}, "unknown .* 'lenght'. Did you mean 'length'"),
    ({"against": ["length"], "length": None}, "unknown .* 'length'. Known: 'mine', 'bleu'"),
    ({"metrics": {"length": grids()[2]}, "length": None}, "'length', reserved.*Rename"),
    ({"metrics": {"flat": np.ones((6, 8))}}, "'flat': every value is 1 .48 in"),
    ({"human": {"fluency": INFINITE}}, "'fluency' must be finite"),
    ({"human": {"fluency": UNSCORED}}, "criterion 'fluency': no sample has scores"),
    ({"human": {"fluency": np.arange(48.0)}}, r"same shape, .* got \[48\] and \[6, 8\]"),
]


@pytest.mark.parametrize(("changes", "message"), INVALID)
def test_error_names_the_invalid_argument(changes, message):
    human, metrics, length = grids()
    with pytest.raises(InputError, match=message):
        agreement(**{"human": human, "metrics": metrics, "length": length, **changes})


# Text output


def test_rows_of_a_level_contain_every_cell():
    human, metrics, length = grids()
    table = agreement(human, metrics, against=["bleu"], length=length, resamples=20)
    header, rows = level_rows(table, "system")
    titles = "criterion, metric, Pearson, Spearman, Kendall, accuracy, soft accuracy"
    assert header == f"{titles}, given length, p vs bleu, p vs length".split(", ")
    assert [row[:2] for row in rows] == [["fluency", m] for m in ("mine", "bleu", "length")]
    cell = table.find("mine", "fluency", "system", "pearson")
    assert rows[0][2] == format_cell(cell)
    assert rows[0][8:] == [format_p_value(cell.p_values[name]) for name in ("bleu", "length")]
    assert rows[1][8] == rows[2][9] == rows[2][7] == ""
    assert not any(note.startswith("-") for note in notes(table))
    assert level_rows(table, "segment")[0] == [name for name in header if name != "soft accuracy"]
    assert format_cell(Agreement("m", "c", "segment", "pearson", 0.5, math.nan, 0.75)) == "0.500"
    assert list(map(format_p_value, (0.00099, 0.001, math.nan))) == ["<0.001", "0.001", "-"]
    report = json.loads(json.dumps(table.as_dict(), allow_nan=False))
    assert report["systems"] == 6 and report["against"] == ["bleu", "length"]
    assert {c["low"] for c in report["agreement"] if c["statistic"] == "soft_accuracy"} == {None}
