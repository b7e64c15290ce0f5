"""The agreement of several metrics with people on several criteria, with intervals and tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial as bound
from itertools import product
from typing import Any

import numpy as np

from infolm_metric.core.settings import check_known
from infolm_metric.meta_evaluation.correlations import (
    COEFFICIENTS,
    LEVELS,
    Statistic,
    calibrated_accuracy,
    check_grids,
    check_levels,
    common_scores,
    mean_over_samples,
    partial,
    same_order,
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
    resampled,
    soft_pairwise_accuracy,
)

LENGTH = "length"
"""The metric that stands beside every other: how long the text is."""
TITLES = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "kendall": "Kendall",
    "accuracy": "accuracy",
    "soft_accuracy": "soft accuracy",
    "partial": "given length",
}
"""The statistics in the order of the table, and how they are headed."""


@dataclass(frozen=True)
class Agreement:
    """How far a metric agrees with people on a criterion, by one statistic.

    Attributes:
        metric: its name.
        criterion: its name.
        level: "system" or "text".
        statistic: "pearson", "spearman", "kendall" or "partial", Pearson's given length, each from
            -1 to 1; or "accuracy", which is `pairwise_accuracy` of systems and
            `calibrated_accuracy` of texts, or "soft_accuracy", `soft_pairwise_accuracy`, each from
            0 to 1.
        value: the statistic, NaN where it is not defined.
        low: the lower end of its bootstrap interval, NaN where no resample has a value, and for the
            accuracy of texts and the soft one, which are not resampled.
        high: the upper end, likewise.
        p_values: metric of `against` -> two-sided p-value of the difference to it, NaN where there
            is none: Williams' test for coefficients at the system level, else the bootstrap.
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
    """Every metric on every criterion, and what the figures rest on.

    Attributes:
        cells: one for each criterion, level, metric and statistic, in this order.
        systems: how many there are; 0 where they are not known, and each text is a sample.
        samples: criterion -> samples that took part.
        dropped: criterion -> samples left out because of scores that are missing.
        against: the metrics that the others are tested against.
        resamples: how many the intervals and the p-values rest on.
        seed: what the draws began with.
    """

    cells: tuple[Agreement, ...]
    systems: int
    samples: Mapping[str, int]
    dropped: Mapping[str, int]
    against: tuple[str, ...]
    resamples: int
    seed: int

    def find(self, metric: str, criterion: str, level: str, statistic: str) -> Agreement:
        """The one cell of these names.

        Args:
            metric: the metric's name.
            criterion: the criterion's name.
            level: "system" or "text".
            statistic: its name, as in `Agreement`.

        Returns:
            The cell.

        Raises:
            KeyError: there is none of these names.
        """
        key = (metric, criterion, level, statistic)
        for cell in self.cells:
            if (cell.metric, cell.criterion, cell.level, cell.statistic) == key:
                return cell
        raise KeyError(key)

    def names(self, attribute: str) -> list[str]:
        """The metrics, criteria, levels or statistics of the table.

        Args:
            attribute: "metric", "criterion", "level" or "statistic".

        Returns:
            Each of them once, in the order of the cells.
        """
        return list(dict.fromkeys(getattr(cell, attribute) for cell in self.cells))

    def as_dict(self) -> dict[str, Any]:
        """The table as plain values for JSON; a value that is not defined is None."""
        values = _plain(vars(self) | {"against": list(self.against)})
        del values["cells"]
        return {**values, "agreement": [_plain(vars(cell)) for cell in self.cells]}


def _plain(value: Any) -> Any:
    """The value for JSON, with None for each number in it that is not defined."""
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value


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
    """The agreement of every metric with every criterion.

    On a criterion all metrics are judged by the same samples, those for which none lacks a score,
    and by the same resamples.

    Args:
        human: people's scores by criterion, float64 [systems, samples], NaN for missing, higher is
            better; [texts] where no systems are known: then there is the text level alone, over all
            texts that lack no score, and no accuracy.
        metrics: scores by metric, likewise: negate one of which lower is better.
        against: names of metrics that the others are tested against.
        length: a grid of the texts' lengths. Then "length" is a metric that the others are tested
            against, whether `against` names it or not, and correlations given it are there; if all
            lengths are equal, it is left out of both.
        levels: a list of "system", "text" or both (default: those there are).
        missing: "drop" or "available", as in `correlation`.
        resamples: how many times, at least 1.
        seed: the same gives the same draws.

    Returns:
        The table of every metric on every criterion, by every statistic at every level.

    Raises:
        TypeError, ValueError: a name, a number or a grid is wrong, the grids differ in shape or
            hold infinities, there is no criterion or no metric, or the scores of one are all equal.

    >>> human = np.arange(5.0)[:, None] + np.random.default_rng(0).normal(size=(5, 30))
    >>> metrics = {"good": human + 1, "bad": np.random.default_rng(1).normal(size=(5, 30))}
    >>> table = agreement({"fluency": human}, metrics, against=["bad"], resamples=100)
    >>> cell = table.find("good", "fluency", "system", "pearson")
    >>> round(cell.value, 3), cell.p_values["bad"] < 0.05
    (1.0, True)
    """
    if not (human and metrics):
        raise ValueError("agreement needs at least one criterion and one metric")
    named_grids = {
        f"{kind} {name!r}": grid
        for kind, grids in (("criterion", human), ("metric", metrics))
        for name, grid in grids.items()
    }
    check_grids(named_grids if length is None else {**named_grids, LENGTH: length})
    for name, grid in named_grids.items():
        check_varies(name, grid)
    has_systems = np.ndim(next(iter(human.values()))) > 1
    levels = present_levels(levels, has_systems)
    against = comparison_metrics(against, metrics, length)
    if length is not None and LENGTH in against:
        metrics = {**metrics, LENGTH: length}
    cells: list[Agreement] = []
    samples, dropped, systems = {}, {}, 0
    for criterion, people in human.items():
        (people, *grids), dropped[criterion] = common_scores([people, *metrics.values()], missing)
        rows, columns = people.shape
        systems, samples[criterion] = (rows, columns) if has_systems else (0, rows)
        scores = dict(zip(metrics, grids, strict=True))
        draws = draw(rows, columns, resamples, seed, "both" if has_systems else "systems")
        cells += _cells(criterion, people, scores, levels, against, draws, has_systems, seed)
    return AgreementTable(tuple(cells), systems, samples, dropped, against, resamples, seed)


def present_levels(levels: Sequence[str], systems: bool) -> tuple[str, ...]:
    """The levels asked for, by default all there are; ValueError for one that is not there.

    >>> present_levels([], systems=False)
    ('text',)
    """
    check_levels(levels, systems)
    return tuple(levels) or (LEVELS if systems else ("text",))


def comparison_metrics(
    against: Sequence[str], metrics: Iterable[str], length: np.ndarray | None
) -> tuple[str, ...]:
    """Those whom the metrics of these names are tested against: `against`, and length at the end.

    Without `length`, and where all lengths are equal, length is none of them. Raises ValueError if
    there is no metric of a name, or length has the name of a metric.

    >>> comparison_metrics(["length", "bleu"], ["mine", "bleu"], np.array([[3.0, 4.0]]))
    ('bleu', 'length')
    """
    names = list(metrics)
    if length is not None and LENGTH in names:
        raise ValueError(
            f"a metric is named {LENGTH!r}, which is the name of the texts' length here; rename it"
        )
    for name in against:
        check_known("metric to test against", name, names if length is None else [*names, LENGTH])
    varies = length is not None and bool(np.nanmin(length) < np.nanmax(length))
    return (*(name for name in against if name in names), *([LENGTH] if varies else []))


def _cells(
    criterion: str,
    human: np.ndarray,
    metrics: Mapping[str, np.ndarray],
    levels: Sequence[str],
    against: Sequence[str],
    draws: Draws,
    systems: bool,
    seed: int,
) -> Iterator[Agreement]:
    """Every metric by every statistic at every level, on the same samples.

    `systems`: False where they are not known, and the texts are those of one sample.
    """
    length = metrics[LENGTH] if LENGTH in against else None

    def grids(metric: str, name: str) -> list[np.ndarray]:
        covariates = [length] if name == "partial" and length is not None else []
        return [human, metrics[metric], *covariates]

    for level in levels:
        statistics: dict[str, Statistic] = {**COEFFICIENTS}  # those that are resampled
        values: dict[str, Callable[..., float]] = {}  # those that are not
        if length is not None:
            statistics["partial"] = partial
        if level == "system":
            statistics["accuracy"] = same_order
            values["soft_accuracy"] = bound(soft_pairwise_accuracy, missing="available", seed=seed)
        elif systems:
            values["accuracy"] = bound(calibrated_accuracy, missing="available")
        spread = {
            (metric, name): resampled(statistic, grids(metric, name), draws, level)
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
                    else _williams([human, metrics[metric], metrics[comparison]], name)
                    for comparison in comparisons
                }
            yield Agreement(metric, criterion, level, name, value, low, high, p_values)


def _williams(grids: Sequence[np.ndarray], coefficient: str) -> float:
    """The p-value of Williams' test of people and two metrics; NaN for systems too few for it."""
    if len(grids[0]) < 4:
        return math.nan
    human, metric, comparison = map(system_means, grids)
    return compare_metrics(human, metric, comparison, coefficient).p_value


# The table in words.


def level_rows(table: AgreementTable, level: str) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of one level: criterion, metric, statistics and p-values."""
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
    """The value and its interval, if it has one; a dash where there is no value.

    >>> format_cell(Agreement("m", "c", "system", "pearson", 0.5, 0.25, 0.75))
    '0.500 [0.25, 0.75]'
    """
    if math.isnan(cell.value):
        return "-"
    interval = "" if math.isnan(cell.low) else f" [{cell.low:.2f}, {cell.high:.2f}]"
    return f"{cell.value:.3f}{interval}"


def format_p_value(value: float | None) -> str:
    """A p-value in words that do not pretend to more than it says.

    >>> format_p_value(0.0002), format_p_value(0.0312), format_p_value(None)
    ('<0.001', '0.031', '')
    """
    if value is None:
        return ""
    if math.isnan(value):
        return "-"
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def notes(table: AgreementTable) -> Iterator[str]:
    """What the figures rest on, a sentence each."""
    unit, scope = ("samples", "systems and samples") if table.systems else ("texts", "texts")
    counts = dict.fromkeys(f"{count} {unit}" for count in table.samples.values())
    yield (
        f"{' or '.join(counts)}; in brackets 95% bootstrap intervals over "
        f"{scope} ({table.resamples} resamples, seed {table.seed})."
    )
    levels = table.names("level")
    if "system" in levels:
        yield (
            "accuracy: at the system level the share of pairs of systems in people's order; soft "
            "accuracy: how alike metric and people are in how sure they are of it."
        )
    if "text" in levels and table.systems:
        yield (
            "accuracy: at the text level the share of pairs of a sample's texts of which the "
            "metric says what people say, that one is better or neither; differences up to a "
            "threshold, chosen on these data for each metric, count as neither."
        )
    if LENGTH in table.names("metric"):
        yield (
            "length: the characters of the text; given length: Pearson's partial correlation, of "
            "what length does not predict."
        )
    if table.against:
        yield (
            "p: two-sided, for Pearson, not corrected for the number of tests; at the system level "
            "Williams' test, at the text level the bootstrap."
        )
    for criterion, count in table.dropped.items():
        if count:
            lacking = " for one system or more" if table.systems else ""
            yield f"{criterion}: {count} {unit} left out, because a score is missing{lacking}."
    if any(math.isnan(cell.value) for cell in table.cells):
        yield "-: not defined, because scores or means are all equal, or too few."
