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
        low: lower bound of the bootstrap interval. NaN if it is not defined, as for the calibrated
            accuracy and the soft accuracy.
        high: upper bound of the interval.
        p_values: metric to test against -> two-sided p-value for the difference, NaN if it is not
            defined. From Williams' test for system-level coefficients, else from the bootstrap.
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
        key = (metric, criterion, level, statistic)
        for cell in self.cells:
            if (cell.metric, cell.criterion, cell.level, cell.statistic) == key:
                return cell
        raise KeyError(key)

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
    levels: Sequence[str] = (),
    missing: str = "drop",
    resamples: int = significance.RESAMPLES,
    seed: int = 0,
) -> AgreementTable:
    """Correlate every metric with every human criterion.

    For each criterion, all metrics are compared on the same resamples of the same samples. Raises
    InputError if a name or a number is invalid, the grids differ in shape or contain
    infinities, there is no criterion or no metric, or all scores in a grid are equal.

    Args:
        human: criterion -> human scores, float64 [systems, samples], NaN for missing scores, higher
            is better. If the systems are unknown, [texts]. The only level is then "segment", which
            correlates all texts together, and accuracies are not computed.
        metrics: metric -> scores, same shape, higher is better. Negate scores if lower is better.
            The name "length" is reserved.
        against: name or names of metrics to test the other metrics against.
        length: the text lengths, same shape. If the lengths differ, the metric "length", tests
            against this metric, and partial correlations given length are added.
        levels: "system", "segment" or a list of both (default: all levels that are defined).
        missing: "drop" or "available", as in `correlation`.
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
    if not (human and metrics):
        raise InputError(
            "agreement needs at least one criterion and one metric, got "
            f"{len(human)} and {len(metrics)}"
        )
    named_grids = {f"criterion {name!r}": grid for name, grid in human.items()}
    named_grids |= {f"metric {name!r}": grid for name, grid in metrics.items()}
    correlations.check_grids(named_grids | ({} if length is None else {LENGTH: length}))
    for name, grid in named_grids.items():
        check_varies(name, grid)
    has_systems = np.ndim(next(iter(human.values()))) > 1
    levels = tuple(dict.fromkeys([levels] if isinstance(levels, str) else levels))
    correlations.check_levels(levels, has_systems)
    levels = levels or (correlations.LEVELS if has_systems else ("segment",))
    against = comparison_metrics(against, metrics, length)
    if length is not None and LENGTH in against:
        metrics = {**metrics, LENGTH: length}
    cells: list[Agreement] = []
    samples, dropped, n_systems = {}, {}, 0
    for criterion, criterion_grid in human.items():
        grids = [criterion_grid, *metrics.values()]
        try:
            (human_grid, *grids), dropped[criterion] = correlations.common_scores(grids, missing)
        except InputError as error:
            raise InputError(f"criterion {criterion!r}: {error}") from None
        rows, columns = human_grid.shape
        n_systems, samples[criterion] = (rows, columns) if has_systems else (0, rows)
        axes = "both" if has_systems else "systems"  # without systems, the rows are the texts
        draws = significance.draw(rows, columns, resamples, seed, axes)
        scores = dict(zip(metrics, grids, strict=True))
        for level in levels:
            cells += _compute_cells(
                criterion, level, human_grid, scores, against, draws, has_systems, seed
            )
    return AgreementTable(tuple(cells), n_systems, samples, dropped, against, resamples, seed)


def comparison_metrics(
    against: Sequence[str], metrics: Iterable[str], length: np.ndarray | None
) -> tuple[str, ...]:
    """Return the metrics to test against: `against`, then "length" unless all lengths are equal.

    >>> comparison_metrics(["length", "bleu"], ["mine", "bleu"], np.array([[3.0, 4.0]]))
    ('bleu', 'length')
    """
    names = list(metrics)
    if LENGTH in names:
        raise InputError(
            f"a metric is named {LENGTH!r}, which is reserved for text lengths. Rename the metric."
        )
    against = list(dict.fromkeys([against] if isinstance(against, str) else against))
    for name in against:
        check_known("metric to test against", name, names if length is None else [*names, LENGTH])
    varies = length is not None and bool(np.nanmin(length) < np.nanmax(length))
    return (*(name for name in against if name in names), *([LENGTH] if varies else []))


def _compute_cells(
    criterion: str,
    level: str,
    human: np.ndarray,
    metrics: Mapping[str, np.ndarray],
    against: Sequence[str],
    draws: significance.Draws,
    has_systems: bool,
    seed: int,
) -> Iterator[Agreement]:
    """Compute every statistic of every metric at one level, from grids of common scores."""
    resampled: dict[str, correlations.Statistic] = {**COEFFICIENTS}
    others: dict[str, Callable[..., float]] = {}  # without intervals and tests
    covariates: dict[str, list[np.ndarray]] = {}
    if LENGTH in against:
        resampled["partial"] = correlations.partial_pearson
        covariates["partial"] = [metrics[LENGTH]]
    if level == "system":
        resampled["accuracy"] = correlations.order_accuracy
        soft_accuracy = significance.soft_pairwise_accuracy
        others["soft_accuracy"] = partial(soft_accuracy, missing="available", seed=seed)
    elif has_systems:
        others["accuracy"] = partial(correlations.calibrated_accuracy, missing="available")
    grids = {
        (metric, name): [human, metrics[metric], *covariates.get(name, [])]
        for metric, name in product(metrics, resampled)
    }
    values = {
        (metric, name): significance.resample(resampled[name], grids[metric, name], draws, level)
        for metric, name in grids
    }
    names = [name for name in TITLES if name in resampled or name in others]
    for metric, name in product(metrics, names):
        p_values = {other: math.nan for other in against if other != metric}
        if name in others:
            value, low, high = others[name](human, metrics[metric]), math.nan, math.nan
        else:
            value = correlations.mean_over_samples(resampled[name], grids[metric, name], level)
            low, high = significance.percentile_interval(values[metric, name])
            for other in p_values:
                if level == "system" and name in COEFFICIENTS:
                    p_values[other] = _williams(human, metrics[metric], metrics[other], name)
                else:
                    pair = values[metric, name], values[other, name]
                    p_values[other] = significance.difference_p_value(*pair)
        yield Agreement(metric, criterion, level, name, value, low, high, p_values)


def _williams(human: np.ndarray, metric: np.ndarray, other: np.ndarray, coefficient: str) -> float:
    """Return the p-value of Williams' test on system means. NaN for fewer than 4 systems."""
    if len(human) < 4:
        return math.nan
    first, second, third = map(correlations.system_means, (human, metric, other))
    return significance.compare_metrics(first, second, third, coefficient).p_value


# Formatting.


def level_rows(table: AgreementTable, level: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and rows of a level's table: criterion, metric, statistics and p-values."""
    statistics = {cell.statistic for cell in table.cells if cell.level == level}
    names = [name for name in TITLES if name in statistics]
    header = ["criterion", "metric", *(TITLES[name] for name in names)]
    rows = []
    for criterion in table.names("criterion"):
        for metric in table.names("metric"):
            cells = [table.find(metric, criterion, level, name) for name in names]
            tests = [format_p_value(cells[0].p_values.get(name)) for name in table.against]
            rows.append([criterion, metric, *map(format_cell, cells), *tests])
    return header + [f"p vs {name}" for name in table.against], rows


def format_cell(cell: Agreement) -> str:
    """Format a value and its interval, if there is one. An undefined value becomes a dash.

    The length given length, which is never defined, is left empty.

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
    unit, units = ("sample", "systems and samples") if table.systems else ("text", "texts")
    counts = dict.fromkeys(counted(number, unit) for number in table.samples.values())
    yield (
        f"{' or '.join(counts)}{', depending on the criterion' if len(counts) > 1 else ''}. "
        f"Brackets: 95% bootstrap intervals ({table.resamples} resamples of {units}, "
        f"seed {table.seed})."
    )
    levels = table.names("level")
    if "system" in levels:
        yield (
            "accuracy (system level): the fraction of system pairs that the metric and humans "
            "rank in the same order. Soft accuracy: how closely the metric's confidence in these "
            "rankings matches the humans'."
        )
    if "segment" in levels and table.systems:
        yield (
            "accuracy (segment level): the fraction of text pairs within a sample for which the "
            "metric and humans agree on the order or on a tie. Metric differences up to a "
            "threshold count as ties. The threshold is fitted to these data for each metric."
        )
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
