"""Table of correlations of several metrics with several human criteria, with tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from infolm_metric.core.checks import check_known
from infolm_metric.core.files import finite
from infolm_metric.meta_evaluation.correlations import (
    COEFFICIENTS,
    LEVELS,
    Statistic,
    calibrated_accuracy,
    check_grids,
    check_levels,
    common_scores,
    mean_over_samples,
    order_accuracy,
    partial_pearson,
    system_means,
)
from infolm_metric.meta_evaluation.ratings import check_varies
from infolm_metric.meta_evaluation.significance import (
    RESAMPLES,
    Draws,
    compare_metrics,
    difference_p_value,
    draw,
    percentile_interval,
    resample,
    soft_pairwise_accuracy,
)

LENGTH = "length"
"""Name of the text length, which is treated as a metric."""
TITLES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "accuracy": "accuracy",
    "soft_accuracy": "soft accuracy",
    "partial": "given length",
}
"""Column titles of the statistics, in the order of the table."""


@dataclass(frozen=True)
class Agreement:
    """Statistic of a metric and a human criterion.

    Attributes:
        metric: the name of the metric.
        criterion: the name of the criterion.
        level: "system" or "text".
        statistic: "pearson", "spearman", "kendall" or "partial" (Pearson given length), from -1 to
            1; "accuracy" (`pairwise_accuracy` of systems, `calibrated_accuracy` of texts) or
            "soft_accuracy" (`soft_pairwise_accuracy`), from 0 to 1.
        value: the statistic, NaN if it is not defined.
        low: the lower end of the bootstrap interval; NaN if it is not defined, as for the accuracy
            of texts and the soft accuracy.
        high: the upper end.
        p_values: metric of `against` -> two-sided p-value of the difference, NaN if it is not
            defined: Williams' test for coefficients at the system level, else the bootstrap.
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
    """Statistics of all metrics and criteria, and the data they are based on.

    Attributes:
        cells: one per criterion, level, metric and statistic, in this order.
        systems: the number of systems; 0 if they are unknown and each text is a sample.
        samples: criterion -> number of samples used.
        dropped: criterion -> number of samples dropped because of missing scores.
        against: the metrics that the others are tested against.
        resamples: the number of resamples for intervals and p-values.
        seed: the seed of the resamples.
    """

    cells: tuple[Agreement, ...]
    systems: int
    samples: Mapping[str, int]
    dropped: Mapping[str, int]
    against: tuple[str, ...]
    resamples: int
    seed: int

    def find(self, metric: str, criterion: str, level: str, statistic: str) -> Agreement:
        """Return a cell by its names.

        Args:
            metric: the name of the metric.
            criterion: the name of the criterion.
            level: "system" or "text".
            statistic: the name of the statistic, as in `Agreement`.

        Returns:
            The cell.

        Raises:
            KeyError: there is no such cell.
        """
        key = (metric, criterion, level, statistic)
        for cell in self.cells:
            if (cell.metric, cell.criterion, cell.level, cell.statistic) == key:
                return cell
        raise KeyError(key)

    def names(self, attribute: str) -> list[str]:
        """Return the metrics, criteria, levels or statistics of the table.

        Args:
            attribute: "metric", "criterion", "level" or "statistic".

        Returns:
            The distinct names, in the order of the cells.
        """
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
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> AgreementTable:
    """Correlate every metric with every human criterion.

    For each criterion, all metrics are compared on the same samples, for which all of them have
    scores, and on the same resamples.

    Args:
        human: human scores by criterion, float64 [systems, samples], NaN for missing, higher is
            better; [texts] if the systems are unknown. Then the only level is "text", over all
            texts with all scores, and there is no accuracy.
        metrics: scores by metric, same shape, higher is better; negate scores if lower is better.
        against: names of metrics that the others are tested against.
        length: the text lengths, same shape. Adds the metric "length", tests against it, and
            partial correlations given length, unless all lengths are equal.
        levels: a list of "system", "text" or both (default: all that are defined).
        missing: "drop" or "available", as in `correlation`.
        resamples: the number of resamples, >= 1.
        seed: the seed of the resamples.

    Returns:
        The table of all metrics, criteria, levels and statistics.

    Raises:
        TypeError, ValueError: a name, a number or a grid is wrong, the grids differ in shape or
            contain infinities, there is no criterion or no metric, or all scores of one are equal.

    >>> human = np.arange(5.0)[:, None] + np.random.default_rng(0).normal(size=(5, 30))
    >>> metrics = {"good": human + 1, "bad": np.random.default_rng(1).normal(size=(5, 30))}
    >>> table = agreement({"fluency": human}, metrics, against=["bad"], resamples=100)
    >>> cell = table.find("good", "fluency", "system", "pearson")
    >>> round(cell.value, 3), cell.p_values["bad"] < 0.05
    (1.0, True)
    """
    if not (human and metrics):
        raise ValueError(
            "agreement needs at least one criterion and one metric, got "
            f"{len(human)} and {len(metrics)}"
        )
    named_grids = {
        f"{kind} {name!r}": grid
        for kind, grids in (("criterion", human), ("metric", metrics))
        for name, grid in grids.items()
    }
    check_grids(named_grids if length is None else {**named_grids, LENGTH: length})
    for name, grid in named_grids.items():
        check_varies(name, grid)
    has_systems = np.ndim(next(iter(human.values()))) > 1
    check_levels(levels, has_systems)
    levels = tuple(levels) or (LEVELS if has_systems else ("text",))
    against = comparison_metrics(against, metrics, length)
    if length is not None and LENGTH in against:
        metrics = {**metrics, LENGTH: length}
    cells: list[Agreement] = []
    samples, dropped, systems = {}, {}, 0
    for criterion, human_scores in human.items():
        common, dropped[criterion] = common_scores([human_scores, *metrics.values()], missing)
        human_scores, *grids = common
        rows, columns = human_scores.shape
        systems, samples[criterion] = (rows, columns) if has_systems else (0, rows)
        scores = dict(zip(metrics, grids, strict=True))
        draws = draw(rows, columns, resamples, seed, "both" if has_systems else "systems")
        cells += _compute_cells(
            criterion, human_scores, scores, levels, against, draws, has_systems, seed
        )
    return AgreementTable(tuple(cells), systems, samples, dropped, against, resamples, seed)


def comparison_metrics(
    against: Sequence[str], metrics: Iterable[str], length: np.ndarray | None
) -> tuple[str, ...]:
    """Return the metrics to test against: `against`, then length unless all lengths are equal.

    Raises ValueError if a metric is unknown, or is named "length" although `length` is passed.

    >>> comparison_metrics(["length", "bleu"], ["mine", "bleu"], np.array([[3.0, 4.0]]))
    ('bleu', 'length')
    """
    names = list(metrics)
    if length is not None and LENGTH in names:
        raise ValueError(
            f"a metric is named {LENGTH!r}, which is reserved for the length of texts; rename it"
        )
    for name in against:
        check_known("metric to test against", name, names if length is None else [*names, LENGTH])
    varies = length is not None and bool(np.nanmin(length) < np.nanmax(length))
    return (*(name for name in against if name in names), *([LENGTH] if varies else []))


def _compute_cells(
    criterion: str,
    human: np.ndarray,
    metrics: Mapping[str, np.ndarray],
    levels: Sequence[str],
    against: Sequence[str],
    draws: Draws,
    systems: bool,
    seed: int,
) -> Iterator[Agreement]:
    """Compute every statistic of every metric at every level, on the same samples.

    `systems` is False if they are unknown and all texts belong to one sample.
    """
    length = metrics[LENGTH] if LENGTH in against else None

    def grids(metric: str, name: str) -> list[np.ndarray]:
        covariates = [length] if name == "partial" and length is not None else []
        return [human, metrics[metric], *covariates]

    for level in levels:
        statistics: dict[str, Statistic] = {**COEFFICIENTS}  # resampled
        values: dict[str, Callable[..., float]] = {}  # not resampled
        if length is not None:
            statistics["partial"] = partial_pearson
        if level == "system":
            statistics["accuracy"] = order_accuracy
            soft_accuracy = partial(soft_pairwise_accuracy, missing="available", seed=seed)
            values["soft_accuracy"] = soft_accuracy
        elif systems:
            values["accuracy"] = partial(calibrated_accuracy, missing="available")
        spread = {
            (metric, name): resample(statistic, grids(metric, name), draws, level)
            for metric in metrics
            for name, statistic in statistics.items()
        }
        names = [name for name in TITLES if name in statistics or name in values]
        for metric, name in product(metrics, names):
            comparisons = [comparison for comparison in against if comparison != metric]
            if name in values:
                value, low, high = values[name](human, metrics[metric]), math.nan, math.nan
                p_values = dict.fromkeys(comparisons, math.nan)
            else:
                value = mean_over_samples(statistics[name], grids(metric, name), level)
                low, high = percentile_interval(spread[metric, name])
                p_values = {
                    comparison: difference_p_value(spread[metric, name], spread[comparison, name])
                    if level != "system" or name not in COEFFICIENTS
                    else _williams_p_value([human, metrics[metric], metrics[comparison]], name)
                    for comparison in comparisons
                }
            yield Agreement(metric, criterion, level, name, value, low, high, p_values)


def _williams_p_value(grids: Sequence[np.ndarray], coefficient: str) -> float:
    """Return the p-value of Williams' test; NaN for fewer than 4 systems."""
    if len(grids[0]) < 4:
        return math.nan
    human, metric, comparison = map(system_means, grids)
    return compare_metrics(human, metric, comparison, coefficient).p_value


# Formatting.


def level_rows(table: AgreementTable, level: str) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of one level: criterion, metric, statistics and p-values."""
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
    """Format the value and its interval, if it has one; a dash if the value is not defined.

    >>> format_cell(Agreement("m", "c", "system", "pearson", 0.5, 0.25, 0.75))
    '0.500 [0.25, 0.75]'
    """
    if math.isnan(cell.value):
        return "-"
    interval = "" if math.isnan(cell.low) else f" [{cell.low:.2f}, {cell.high:.2f}]"
    return f"{cell.value:.3f}{interval}"


def format_p_value(value: float | None) -> str:
    """Format a p-value with three digits.

    >>> format_p_value(0.0002), format_p_value(0.0312), format_p_value(None)
    ('<0.001', '0.031', '')
    """
    if value is None:
        return ""
    if math.isnan(value):
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def notes(table: AgreementTable) -> Iterator[str]:
    """Yield sentences that explain the table."""
    unit, scope = ("samples", "systems and samples") if table.systems else ("texts", "texts")
    counts = dict.fromkeys(f"{count} {unit}" for count in table.samples.values())
    yield (
        f"{' or '.join(counts)}. Brackets: 95% bootstrap intervals over {scope} "
        f"({table.resamples} resamples, seed {table.seed})."
    )
    levels = table.names("level")
    if "system" in levels:
        yield (
            "accuracy (system level): the fraction of system pairs that the metric ranks as humans "
            "do; soft accuracy: the similarity of metric and human confidence in these rankings."
        )
    if "text" in levels and table.systems:
        yield (
            "accuracy (text level): the fraction of pairs of texts of a sample that the metric "
            "ranks or ties as humans do. Metric differences up to a threshold count as ties; the "
            "threshold is fitted to these data for each metric."
        )
    if LENGTH in table.names("metric"):
        yield "length: the number of characters; given length: partial Pearson correlation."
    if table.against:
        tests = "Williams' test at the system level, the bootstrap at the text level"
        yield f"p: two-sided, for Pearson, not corrected for multiple tests; {tests}."
    for criterion, count in table.dropped.items():
        if count:
            lacking = " for at least one system" if table.systems else ""
            yield f"{criterion}: {count} {unit} dropped because a score is missing{lacking}."
    if any(math.isnan(cell.value) for cell in table.cells):
        yield "-: not defined, because scores or means are all equal or too few."
