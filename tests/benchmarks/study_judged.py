"""How the scores of study.py agree with people: figures averaged over a data set's criteria."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import study_data

from infolm_metric.meta_evaluation.correlations import (
    COEFFICIENTS,
    Statistic,
    calibrated_accuracy,
    correlation,
    pairwise_accuracy,
    partial,
    partial_correlation,
    same_order,
    system_means,
)
from infolm_metric.meta_evaluation.significance import (
    WilliamsTest,
    compare_metrics,
    draw,
    percentile_interval,
    resampled,
)

Interval = tuple[float, float, float]  # value, low, high
RESAMPLED: Mapping[str, Statistic] = {
    **COEFFICIENTS,
    "accuracy": same_order,  # of systems
    "partial": partial,
}


@dataclass
class Judged:
    """A data set, and every metric's grid on it, [systems, samples]."""

    data: study_data.DataSet
    grids: Mapping[str, np.ndarray]
    resamples: int
    _spreads: dict[tuple[str, str, str, str], np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(
        cls, data: study_data.DataSet, scores: Mapping[str, np.ndarray], resamples: int
    ) -> Judged:
        """The metrics that have a score of every text that takes part."""
        grids = {name: data.grid(values) for name, values in scores.items()}
        return cls(data, {n: g for n, g in grids.items() if not np.isnan(g).any()}, resamples)

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels that there are: without systems that of texts alone."""
        return ("system", "text") if self.data.systems else ("text",)

    @property
    def criteria(self) -> tuple[str, ...]:
        return tuple(self.data.ratings.human)

    def value(
        self, name: str, level: str, statistic: str = "pearson", criteria: Sequence[str] = ()
    ) -> float:
        """The figure, averaged over the criteria (default: all); NaN where it is not defined."""
        human, grid = self.data.ratings.human, self.grids[name]
        function = _figure(level, statistic, self.grids["length"])
        return float(np.mean([function(human[each], grid) for each in criteria or self.criteria]))

    def spread(
        self, name: str, level: str, statistic: str = "pearson", criteria: Sequence[str] = ()
    ) -> np.ndarray:
        """The same over the resamples, which are the same for every metric, [resamples]."""
        found = [self._spread(name, level, statistic, e) for e in criteria or self.criteria]
        return np.mean(found, axis=0)

    def interval(
        self, name: str, level: str, statistic: str = "pearson", criteria: Sequence[str] = ()
    ) -> Interval:
        """The value with its 95% interval, of which the accuracy of texts has none."""
        value = self.value(name, level, statistic, criteria)
        if (level, statistic) == ("text", "accuracy"):
            return value, math.nan, math.nan
        return (value, *percentile_interval(self.spread(name, level, statistic, criteria)))

    def gain(self, name: str, other: str, level: str, criteria: Sequence[str] = ()) -> Interval:
        """How much larger the first metric's Pearson is, with the interval of the difference."""
        value = self.value(name, level, criteria=criteria) - self.value(
            other, level, criteria=criteria
        )
        spreads = (self.spread(each, level, criteria=criteria) for each in (name, other))
        return (value, *percentile_interval(np.subtract(*spreads)))

    def williams(self, name: str, other: str, criterion: str) -> WilliamsTest:
        """Williams' test of the difference in Pearson between systems' means, or between texts."""
        grids = self.data.ratings.human[criterion], self.grids[name], self.grids[other]
        return compare_metrics(*map(system_means, grids))

    def best(
        self, names: Iterable[str], level: str, criteria: Sequence[str] = ()
    ) -> tuple[str, list[str]]:
        """The metric with the largest Pearson, and those whose difference to it may be chance.

        These are the ones for which the interval of the difference holds 0.
        """
        known = [name for name in names if name in self.grids]
        first = max(known, key=lambda name: self.value(name, level, criteria=criteria))
        near = [
            name
            for name in known
            if name != first and self.gain(first, name, level, criteria)[1] <= 0
        ]
        return first, near

    def _spread(self, name: str, level: str, statistic: str, criterion: str) -> np.ndarray:
        key = (name, level, statistic, criterion)
        if key not in self._spreads:
            grids = [self.data.ratings.human[criterion], self.grids[name]]
            if statistic == "partial":
                grids.append(self.grids["length"])
            draws = draw(*grids[0].shape, resamples=self.resamples)
            self._spreads[key] = resampled(RESAMPLED[statistic], grids, draws, level)
        return self._spreads[key]


def _figure(
    level: str, statistic: str, length: np.ndarray
) -> Callable[[np.ndarray, np.ndarray], float]:
    """The function of (human, metric) that gives the figure."""
    if statistic in COEFFICIENTS:
        return lambda human, grid: correlation(human, grid, statistic, level)
    if statistic == "partial":
        return lambda human, grid: partial_correlation(human, grid, length, level)
    if level == "system":
        return pairwise_accuracy
    return calibrated_accuracy
