"""The other metrics that MENLI is combined with: their scores, and the range fixed for these."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from infolm_metric import metrics
from infolm_metric.kernel.baselines import Baseline, NoBaseline
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.rescaling import spread_of, with_baseline
from infolm_metric.kernel.scorer import Scorer
from infolm_metric.kernel.settings import Settings as KernelSettings
from infolm_metric.kernel.wording import spelled
from infolm_metric.menli.combination import FIXED, MINMAX, Range, Ranges, extremes, scaled
from infolm_metric.menli.formulas import FORMULAS
from infolm_metric.menli.settings import Settings

UNNESTED = ("metric", "infolm", "transformers", "torch")
"""Fields of the other metric's signature that the combination's has itself."""


@dataclass(frozen=True)
class Scored:
    """The scores of the other metric, the range that is fixed for them, and their direction."""

    scores: np.ndarray  # float64 [pairs]
    fixed: Range | None
    higher: bool
    remarks: Remarks = Remarks()


class Companions:
    """The scorers of other metrics, kept between calls."""

    def __init__(self) -> None:
        self._inner: dict[str, Scorer] = {}

    def unload(self) -> None:
        """Free their models and what they keep."""
        for inner in self._inner.values():
            inner.unload()

    def inner(self, other: KernelSettings) -> Scorer:
        """The scorer of the metric that has these settings, made once."""
        if other.metric not in self._inner:
            self._inner[other.metric] = metrics.find(other.metric).scorer_type().inner_type()
        return self._inner[other.metric]

    def check(
        self, pairs: Pairs, other: KernelSettings, statistics: Statistics, fixes: bool
    ) -> Range | None:
        """The range fixed for another metric if `fixes`; raises what would keep it from scoring."""
        found = self.fixed(other, statistics)[1] if fixes else None
        plain = other.replace(rescale_with_baseline=False)
        self.inner(other).check(pairs, plain, statistics)
        return found

    def score(
        self, pairs: Pairs, other: KernelSettings, statistics: Statistics, fixed: Range | None
    ) -> Scored:
        """Another metric's scores of the pairs, with what `check` gave for them."""
        plain = other.replace(rescale_with_baseline=False)
        result = self.inner(other).score(pairs, plain, statistics)
        (scores,) = result.scores.values()
        return Scored(np.asarray(scores), fixed, result.higher_is_better, result.remarks)

    def fixed(self, other: KernelSettings, statistics: Statistics) -> tuple[KernelSettings, Range]:
        """The range of another metric that no call changes, and its settings that say which.

        From its best score to its baseline for one reference, that of the file given or of the
        package, or else its bounds. Raises NoBaseline if it has neither.
        """
        inner, (name,) = self.inner(other), other.names
        bounds = inner.bounds(other, name)
        best = bounds[int(inner.higher_is_better(other))]
        given = isinstance(other.rescale_with_baseline, Baseline)
        try:
            asked = other if given else other.replace(rescale_with_baseline=True)
            lit = with_baseline(inner, asked, statistics)
            mean = spread_of(inner, lit, statistics, name, 1).mean
            if math.isfinite(best) and mean != best:
                return lit, (min(best, mean), max(best, mean))
        except NoBaseline:
            if given:
                raise
        if not all(map(math.isfinite, bounds)):
            raise NoBaseline(
                f"{spelled('normalize', FIXED)} needs a metric with a smallest and a largest "
                f"score, or a baseline of it; {other.label(name)} has neither: give "
                f"{spelled('normalize', MINMAX)}, the ranges, or combine_with="
                f"{{'metric': {other.metric!r}, 'rescale_with_baseline': FILE}} with a file that "
                f"`infolm baseline CORPUS --metric {other.metric} -o FILE` made"
            )
        return other.replace(rescale_with_baseline=False), bounds

    def signed(
        self, other: KernelSettings, statistics: Statistics | None, fixes: bool
    ) -> dict[str, object]:
        """What can change another metric's score or its range, under its name."""
        if fixes:
            other, _ = self.fixed(other, statistics or Statistics())
        nested = self.inner(other).signature(other, statistics).split("|")
        fields = (part.partition(":") for part in nested)
        return {
            f"{other.metric}.{name}": value for name, _, value in fields if name not in UNNESTED
        }


def combined(
    values: np.ndarray, other: Scored, name: str, settings: Settings
) -> tuple[np.ndarray, dict[str, Range]]:
    """The weighted mean of both parts on [0, 1], and the ranges that they were brought there by.

    `values` are those of the formula `name`, float64 [pairs].
    """
    given = settings.normalize if isinstance(settings.normalize, Ranges) else Ranges()
    if settings.normalize == MINMAX:
        ranges = {"nli": extremes(values), "metric": extremes(other.scores)}
    else:
        metric = given.metric or other.fixed
        assert metric is not None  # or the settings had been refused
        ranges = {"nli": given.nli or FORMULAS[name].range, "metric": metric}
    nli = scaled(values, ranges["nli"])
    rest = scaled(other.scores, ranges["metric"], other.higher)
    if other.fixed is not None:  # beyond its baseline a text is no worse than unrelated
        rest = rest.clip(0.0, 1.0)
    return settings.weight * nli + (1 - settings.weight) * rest, ranges
