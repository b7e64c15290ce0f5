"""The agreement of several metrics with people on several criteria, with intervals and tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from infolm_metric.meta_evaluation.checks import (
    LENGTH,
    check_arguments,
    check_grids,
    check_levels,
    rivals,
)
from infolm_metric.meta_evaluation.correlations import (
    COEFFICIENTS,
    Paired,
    correlation,
    pair,
    pairwise_accuracy,
    system_means,
)
from infolm_metric.meta_evaluation.partial import partial_correlation
from infolm_metric.meta_evaluation.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Draws,
    difference_p_value,
    draw,
    percentile_interval,
    resampled,
    resampled_texts,
)
from infolm_metric.meta_evaluation.tie_calibration import calibrated_accuracy
from infolm_metric.meta_evaluation.williams import compare_metrics


@dataclass(frozen=True)
class Agreement:
    """How far a metric agrees with people on a criterion, by one statistic.

    Attributes:
        metric: its name.
        criterion: its name.
        level: "system" or "text".
        statistic: "pearson", "spearman", "kendall" or "partial", Pearson's given length, each from
            -1 to 1; or "accuracy", from 0 to 1.
        value: the statistic, NaN where it is not defined.
        low: the lower end of its bootstrap interval, NaN where no resample has a value.
        high: the upper end, likewise.
        p_values: rival -> two-sided p-value of the difference to it, NaN where there is none:
            Williams' test for coefficients at the system level, else the bootstrap.
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
        against: the rivals, metrics that the others are tested against.
        resamples: how many the intervals and the p-values rest on.
        confidence: the share of the resamples inside an interval, between 0 and 1.
        seed: what the draws began with.
    """

    cells: tuple[Agreement, ...]
    systems: int
    samples: Mapping[str, int]
    dropped: Mapping[str, int]
    against: tuple[str, ...]
    resamples: int
    confidence: float
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
        wanted = (metric, criterion, level, statistic)
        for cell in self.cells:
            if (cell.metric, cell.criterion, cell.level, cell.statistic) == wanted:
                return cell
        raise KeyError(wanted)

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
        found = plain(vars(self) | {"against": list(self.against)})
        del found["cells"]
        return {**found, "agreement": [plain(vars(cell)) for cell in self.cells]}


def plain(value: Any) -> Any:
    """The value for JSON, with None for each number in it that is not defined.

    >>> plain({"value": float("nan"), "p_values": {"bleu": 0.5}})
    {'value': None, 'p_values': {'bleu': 0.5}}
    """
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return None if isinstance(value, float) and np.isnan(value) else value


def agreement(
    human: Mapping[str, np.ndarray],
    metrics: Mapping[str, np.ndarray],
    *,
    against: Sequence[str] = (),
    length: np.ndarray | None = None,
    levels: Sequence[str] = (),
    missing: str = "drop",
    over: str = "both",
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
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
        against: the rivals, names of metrics that the others are tested against.
        length: a grid of the texts' lengths. Then "length" is a metric and a rival too, whether
            `against` names it or not, and correlations given it are there; if all lengths are
            equal, it is left out of both.
        levels: a list of "system", "text" or both (default: those there are).
        missing: "drop" or "available", as in `pair`.
        over: what is drawn anew: "systems", "samples" or "both".
        resamples: how many times, at least 1.
        confidence: the share of the draws inside an interval, between 0 and 1.
        seed: the same gives the same draws.

    Returns:
        The table of every metric on every criterion, by every statistic at every level.

    Raises:
        TypeError, ValueError: a name, a number or a grid is wrong, the grids differ in shape, there
            is no criterion or no metric, or the scores of one are all equal.

    >>> human = np.arange(5.0)[:, None] + np.random.default_rng(0).normal(size=(5, 30))
    >>> metrics = {"good": human + 1, "bad": np.random.default_rng(1).normal(size=(5, 30))}
    >>> table = agreement({"fluency": human}, metrics, against=["bad"], resamples=100)
    >>> cell = table.find("good", "fluency", "system", "pearson")
    >>> round(cell.value, 3), cell.p_values["bad"] < 0.05
    (1.0, True)
    """
    if not (human and metrics):
        raise ValueError("agreement needs at least one criterion and one metric")
    check_arguments(
        missing=missing,
        over=over,
        resamples=resamples,
        confidence=confidence,
        seed=seed,
    )
    known = np.ndim(next(iter(human.values()))) > 1  # the systems
    levels = check_levels(levels, known)
    if not known:
        human, metrics = (
            {name: _column(grid) for name, grid in g.items()} for g in (human, metrics)
        )
        length = None if length is None else _column(length)
    check_grids([*human.items(), *metrics.items()], length)
    against = rivals(against, metrics, length)
    differs = LENGTH in against and LENGTH not in metrics
    if length is not None and differs:
        metrics = {**metrics, LENGTH: length}
    cells: list[Agreement] = []
    samples, dropped = {}, {}
    for criterion, people in human.items():
        common = sum(metrics.values()) + people  # NaN wherever a score is missing
        shared = np.where(np.isnan(common), np.nan, people)
        rows = np.full(len(people), True) if known else ~np.isnan(common[:, 0])
        if not known and rows.sum() < 2:
            raise ValueError(f"{criterion}: fewer than two texts have all scores")
        pairs = {m: pair(shared[rows], grid[rows], missing) for m, grid in metrics.items()}
        first = next(iter(pairs.values()))
        systems, samples[criterion] = first.human.shape
        dropped[criterion] = first.dropped
        draws = draw(systems, samples[criterion], resamples, seed, over if known else "systems")
        if not known:
            systems, samples[criterion], dropped[criterion] = 0, systems, int((~rows).sum())
        judged = _Criterion(criterion, pairs, pairs[LENGTH].metric if differs else None, known)
        for level in levels:
            cells += judged.cells(level, draws, against, confidence)
    return AgreementTable(
        tuple(cells), systems, samples, dropped, against, resamples, confidence, seed
    )


def _column(texts: np.ndarray) -> np.ndarray:
    """[texts] -> [texts, 1], as the texts of one sample."""
    return np.asarray(texts)[:, None]


@dataclass(frozen=True)
class _Criterion:
    """Every metric beside what people say of one criterion, on the same samples."""

    name: str
    pairs: Mapping[str, Paired]
    length: np.ndarray | None
    """The texts' lengths, where they are a rival."""
    systems: bool
    """False where they are not known, and the texts are those of one sample."""

    def cells(
        self, level: str, draws: Draws, against: Sequence[str], confidence: float
    ) -> Iterator[Agreement]:
        """Every metric by every statistic at a level."""
        spread = {
            metric: resampled(both.human, both.metric, draws, level, self.length)
            if self.systems
            else resampled_texts(both.human, both.metric, draws, self.length)
            for metric, both in self.pairs.items()
        }
        for metric, found in spread.items():
            for statistic, values in found.items():
                p_values = {
                    other: self._p_value(metric, other, level, statistic, spread)
                    for other in against
                    if other != metric
                }
                value = self._value(metric, level, statistic)
                low, high = percentile_interval(values, confidence)
                yield Agreement(metric, self.name, level, statistic, value, low, high, p_values)

    def _value(self, metric: str, level: str, statistic: str) -> float:
        grids = self.pairs[metric].human, self.pairs[metric].metric
        if statistic == "partial" and self.length is not None:
            return partial_correlation(*grids, self.length, level, "available")
        if statistic != "accuracy":
            return correlation(*grids, statistic, level, "available")
        if level == "system":
            return pairwise_accuracy(*grids, "available")
        return calibrated_accuracy(*grids, "available").value

    def _p_value(
        self,
        metric: str,
        other: str,
        level: str,
        statistic: str,
        spread: Mapping[str, Mapping[str, np.ndarray]],
    ) -> float:
        if level == "system" and statistic in COEFFICIENTS:
            one, another = self.pairs[metric], self.pairs[other]
            if len(one.human) < 4:  # too few for Williams' test
                return float("nan")
            people, ours, theirs = map(system_means, (one.human, one.metric, another.metric))
            return compare_metrics(people, ours, theirs, statistic).p_value
        ours, theirs = spread[metric][statistic], spread[other][statistic]
        told = np.isfinite(ours - theirs).any()
        return difference_p_value(ours, theirs) if told else float("nan")
