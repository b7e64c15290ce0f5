"""Correlations of several metrics with several human criteria, with significance tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from infolm_metric.core.checks import InputError, check_known
from infolm_metric.core.files import finite
from infolm_metric.core.inputs import counted
from infolm_metric.meta_evaluation import correlations, significance
from infolm_metric.meta_evaluation.correlations import COEFFICIENTS
from infolm_metric.meta_evaluation.ratings import check_varies

# Name under which the text length is reported as a metric.
LENGTH = "length"
# Column titles of the statistics, in display order.
TITLES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "accuracy": "accuracy",
    "soft_accuracy": "soft accuracy",
    "partial": "given length",
}
# Explanations of the statistics, by level.
ACCURACIES = {
    "system": "accuracy: fraction of system pairs in the order of the human scores. Soft accuracy: "
    "how closely the metric's confidence in each order matches the humans'.",
    "segment": "accuracy (segment level): fraction of text pairs within a sample whose order or "
    "tie the metric and humans agree on. Metric differences up to a fitted threshold are ties.",
}


@dataclass(frozen=True)
class Agreement:
    """Statistic of a metric and a human criterion.

    Attributes:
        metric: name of the metric.
        criterion: name of the criterion.
        level: "system" or "segment".
        statistic: a coefficient from -1 to 1: "pearson", "spearman", "kendall" or "partial"
            (partial Pearson correlation given the text length), or an accuracy from 0 to 1:
            "accuracy" (`order_accuracy` of systems, `calibrated_accuracy` of texts) or
            "soft_accuracy" (`soft_pairwise_accuracy`).
        value: the statistic, NaN if it is not defined.
        low: lower bound of the 95% bootstrap interval. NaN if it is not defined, as for the
            calibrated accuracy and the soft accuracy.
        high: upper bound of the interval.
        p_values: metric to test against -> two-sided p-value for the difference, NaN if it is not
            defined, as for the calibrated accuracy and the soft accuracy. From Williams' test for
            system-level "pearson", "spearman" and "kendall", else from the bootstrap.
    """

    metric: str
    criterion: str
    level: str
    statistic: str
    value: float
    low: float
    high: float
    p_values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class AgreementTable:
    """Statistics of all metrics and criteria, with sample counts and resampling settings.

    Attributes:
        cells: the statistics, ordered by criterion, level, metric and statistic.
        systems: the number of systems. 0 if they are unknown and each text is a sample.
        samples: criterion -> number of samples used.
        dropped: criterion -> number of samples dropped because of missing scores.
        against: the metrics that the other metrics are tested against.
        resamples: the number of resamples for intervals and p-values.
        seed: the random seed for the resamples.
    """

    cells: tuple[Agreement, ...]
    systems: int
    samples: Mapping[str, int]
    dropped: Mapping[str, int]
    against: tuple[str, ...]
    resamples: int
    seed: int

    def find(self, metric: str, criterion: str, level: str, statistic: str) -> Agreement:
        """Return the cell of `metric`, `criterion`, `level` and `statistic`, or raise KeyError."""
        cells = {(c.metric, c.criterion, c.level, c.statistic): c for c in self.cells}
        return cells[metric, criterion, level, statistic]

    def names(self, attribute: str) -> list[str]:
        """Return the distinct values of an `attribute` of the cells, such as "metric", in order."""
        return list(dict.fromkeys(getattr(cell, attribute) for cell in self.cells))

    def as_dict(self) -> dict[str, Any]:
        """Return the table for JSON, with None for values that are not defined."""
        values = finite(vars(self))
        cells = values.pop("cells")
        return {**values, "agreement": [finite(vars(cell)) for cell in cells]}


def agreement(
    human: Mapping[str, np.ndarray],
    metrics: Mapping[str, np.ndarray],
    *,
    against: Sequence[str] = (),
    length: np.ndarray | None = None,
    resamples: int = significance.RESAMPLES,
    seed: int = 0,
) -> AgreementTable:
    """Correlate every metric with every human criterion.

    For each criterion, all metrics are compared on the same resamples of the same samples. Raises
    InputError if a name or a number is invalid, the grids differ in shape, contain infinities or
    have no common scores, there is no criterion or no metric, or all scores in a grid are equal.

    Args:
        human: criterion -> human scores, float64 [systems, samples], NaN for missing scores, higher
            is better. If the systems are unknown, [texts]. The only level is then "segment", which
            correlates all texts together, and accuracies are not computed.
        metrics: metric -> scores, same shape, higher is better. Negate scores if lower is better.
            The name "length" is reserved.
        against: name or names of metrics to test the other metrics against.
        length: the text lengths, same shape. If the lengths differ, the metric "length", tests
            against this metric, and partial correlations given length are added.
        resamples: number of resamples for intervals and p-values, >= 1.
        seed: random seed for the resamples.

    Returns:
        All statistics, with an `Agreement` for each metric, criterion, level and statistic.

    >>> human = np.arange(5.0)[:, None] + np.random.default_rng(0).normal(size=(5, 30))
    >>> metrics = {"good": human + 1, "bad": np.random.default_rng(1).normal(size=(5, 30))}
    >>> table = agreement({"fluency": human}, metrics, against=["bad"], resamples=100)
    >>> cell = table.find("good", "fluency", "system", "pearson")
    >>> round(cell.value, 3), cell.p_values["bad"] < 0.05
    (1.0, True)
    """
    if wrong := [x for x in (human, metrics) if not (isinstance(x, Mapping) and x)]:
        raise InputError(f"human and metrics must be non-empty dictionaries, got {wrong[0]!r:.60}")
    named_grids = {f"criterion {name!r}": grid for name, grid in human.items()}
    named_grids |= {f"metric {name!r}": grid for name, grid in metrics.items()}
    correlations.check_grids(named_grids | ({} if length is None else {LENGTH: length}))
    for name, grid in named_grids.items():
        check_varies(name, grid)
    has_systems = np.ndim(next(iter(human.values()))) > 1
    against = comparison_metrics(against, metrics, length)
    if length is not None and LENGTH in against:
        metrics = {**metrics, LENGTH: length}
    # Level -> accuracy of a metric, or None.
    accuracies: dict[str, Callable[..., float] | None] = {"segment": None}
    if has_systems:
        soft_accuracy = partial(significance.soft_pairwise_accuracy, seed=seed)
        accuracies = {"system": soft_accuracy, "segment": correlations.calibrated_accuracy}
    cells: list[Agreement] = []
    samples, dropped, systems = {}, {}, 0
    for criterion, grid in human.items():
        try:
            grids, dropped[criterion] = correlations.common_scores([grid, *metrics.values()])
        except InputError as error:
            raise InputError(f"criterion {criterion!r}: {error}") from None
        rows, columns = grids[0].shape
        systems, samples[criterion] = (rows, columns) if has_systems else (0, rows)
        # Without systems, the rows are the texts, and there is one column.
        draws = significance.draw(rows, columns, resamples, seed)
        scores = dict(zip(metrics, grids[1:], strict=True))
        for level, accuracy in accuracies.items():
            cells += _compute_cells(criterion, level, grids[0], scores, against, draws, accuracy)
    return AgreementTable(tuple(cells), systems, samples, dropped, against, resamples, seed)


def comparison_metrics(
    against: Sequence[str], metrics: Iterable[str], length: np.ndarray | None
) -> tuple[str, ...]:
    """Return the metrics to test against: `against`, then "length" if there are unequal lengths.

    >>> comparison_metrics(["length", "bleu"], ["mine", "bleu"], np.array([[3.0, 4.0]]))
    ('bleu', 'length')
    """
    names = list(metrics)
    if LENGTH in names:
        raise InputError(f"a metric is named {LENGTH!r}, reserved for text lengths. Rename it.")
    against = list(dict.fromkeys([against] if isinstance(against, str) else against or ()))
    for name in against:
        check_known("against", name, names if length is None else [*names, LENGTH])
    varies = length is not None and bool(np.nanmin(length) < np.nanmax(length))
    return (*(name for name in against if name in names), *([LENGTH] if varies else []))


def _compute_cells(
    criterion: str,
    level: str,
    human: np.ndarray,
    metrics: Mapping[str, np.ndarray],
    against: Sequence[str],
    draws: significance.Draws,
    accuracy: Callable[..., float] | None,
) -> Iterator[Agreement]:
    """Compute every statistic of every metric at one level, from grids of common scores."""
    statistics: dict[str, correlations.Statistic] = {**COEFFICIENTS}
    if level == "system":
        statistics["accuracy"] = correlations.order_accuracy
    if LENGTH in against:
        statistics["partial"] = correlations.partial_pearson
    grids, values = {}, {}
    for key in product(metrics, statistics):
        covariates = [metrics[LENGTH]] if key[1] == "partial" else []
        grids[key] = [human, metrics[key[0]], *covariates]
        values[key] = significance.resample(statistics[key[1]], grids[key], draws, level)

    def p_value(metric: str, other: str, name: str) -> float:
        if level == "system" and name in COEFFICIENTS:
            sides = (human, metrics[metric], metrics[other])
            means, one, two = map(correlations.system_means, sides)
            return significance.compare_metrics(means, one, two, name)
        return significance.difference_p_value(values[metric, name], values[other, name])

    for metric in metrics:
        others = [other for other in against if other != metric]
        for name, statistic in statistics.items():
            value = correlations.mean_over_samples(statistic, grids[metric, name], level)
            low, high = significance.percentile_interval(values[metric, name])
            p_values = {other: p_value(metric, other, name) for other in others}
            yield Agreement(metric, criterion, level, name, value, low, high, p_values)
        if accuracy:
            name = "soft_accuracy" if level == "system" else "accuracy"
            value = accuracy(human, metrics[metric])  # without an interval and tests
            undefined = dict.fromkeys(others, math.nan)
            yield Agreement(metric, criterion, level, name, value, math.nan, math.nan, undefined)


# Formatting.


def level_rows(table: AgreementTable, level: str) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of a level's table, with p-values of its first statistic, Pearson."""
    statistics = {cell.statistic for cell in table.cells if cell.level == level}
    names = [name for name in TITLES if name in statistics]
    header = ["criterion", "metric", *(TITLES[name] for name in names)]
    rows = []
    for criterion, metric in product(table.names("criterion"), table.names("metric")):
        cells = [table.find(metric, criterion, level, name) for name in names]
        tests = [format_p_value(cells[0].p_values.get(name)) for name in table.against]
        rows.append([criterion, metric, *map(format_cell, cells), *tests])
    return header + [f"p vs {name}" for name in table.against], rows


def format_cell(cell: Agreement) -> str:
    """Format a value and its interval, if there is one. An undefined value becomes a dash.

    The partial correlation of the length given itself, which is undefined, is left empty.

    >>> format_cell(Agreement("m", "c", "system", "pearson", 0.5, 0.25, 0.75))
    '0.500 [0.25, 0.75]'
    """
    if math.isnan(cell.value):
        return "" if (cell.metric, cell.statistic) == (LENGTH, "partial") else "-"
    interval = "" if math.isnan(cell.low) else f" [{cell.low:.2f}, {cell.high:.2f}]"
    return f"{cell.value:.3f}{interval}"


def format_p_value(value: float | None) -> str:
    """Format a p-value to three decimal places.

    >>> format_p_value(0.0002), format_p_value(0.0312), format_p_value(None)
    ('<0.001', '0.031', '')
    """
    if value is None:
        return ""
    if math.isnan(value):
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def notes(table: AgreementTable) -> Iterator[str]:
    """Yield sentences that explain the tables of all levels."""
    unit, units = ("sample", "systems and samples") if table.systems else ("text", "texts")
    counts = dict.fromkeys(counted(number, unit) for number in table.samples.values())
    yield (
        f"{' or '.join(counts)}{', depending on the criterion' if len(counts) > 1 else ''}. "
        f"Brackets: 95% bootstrap intervals ({table.resamples} resamples of {units}, "
        f"seed {table.seed})."
    )
    levels = table.names("level")
    yield from (ACCURACIES[level] for level in levels if table.systems)
    if LENGTH in table.names("metric"):
        yield "length: the number of characters. Given length: partial Pearson correlation."
    if table.against:
        yield (
            "p: two-sided p-value for the difference in Pearson's r, not corrected for multiple "
            "testing (system level: Williams' test, for at least 4 systems, segment level: "
            "bootstrap)."
        )
    for criterion, number in table.dropped.items():
        if number:
            yield f"{criterion}: {counted(number, unit)} dropped because of missing scores."
    if any("-" in row for level in levels for row in level_rows(table, level)[1]):
        yield "-: not defined, because there are too few scores or means, or all are equal."
