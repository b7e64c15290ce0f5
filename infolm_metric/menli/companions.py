"""The other metrics that MENLI is combined with: their scores, and the range that scales them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from infolm_metric import metrics
from infolm_metric.kernel.baselines import Baseline, NoBaseline
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.rescaling import spread_of
from infolm_metric.kernel.scorer import Scorer
from infolm_metric.kernel.settings import Settings as KernelSettings
from infolm_metric.menli.combination import Range, scaled
from infolm_metric.menli.formulas import FORMULAS

UNNESTED = ("metric", "infolm", "transformers", "torch")
"""Fields of the other metric's signature that the combination's has itself."""


@dataclass(frozen=True)
class Scored:
    """The scores of the other metric, the range that scales them, and their direction."""

    scores: np.ndarray  # float64 [pairs]
    range: Range
    higher: bool
    remarks: Remarks


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

    def check(self, pairs: Pairs, other: KernelSettings, statistics: Statistics) -> Range:
        """The range of another metric; raises what would keep it from scoring."""
        found = self.fixed(other, statistics)[1]
        plain = other.replace(rescale_with_baseline=False)
        self.inner(other).check(pairs, plain, statistics)
        return found

    def score(
        self, pairs: Pairs, other: KernelSettings, statistics: Statistics, range: Range
    ) -> Scored:
        """Another metric's scores of the pairs, with what `check` gave for them."""
        plain = other.replace(rescale_with_baseline=False)
        result = self.inner(other).score(pairs, plain, statistics)
        (scores,) = result.scores.values()
        return Scored(np.asarray(scores), range, result.higher_is_better, result.remarks)

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
            mean = spread_of(inner, asked, statistics, name, 1).mean
            if math.isfinite(best) and mean != best:
                return asked, (min(best, mean), max(best, mean))
        except NoBaseline:
            if given:
                raise
        if not all(map(math.isfinite, bounds)):
            raise NoBaseline(
                f"combine_with needs a metric with a smallest and a largest score, or "
                f"a baseline of it; {other.label(name)} has neither: give "
                f"combine_baseline a file that `infolm baseline CORPUS --metric "
                f"{other.metric} -o FILE` made"
            )
        return other.replace(rescale_with_baseline=False), bounds

    def signed(
        self, other: KernelSettings, statistics: Statistics | None = None
    ) -> dict[str, object]:
        """What can change another metric's score or its range, under its name."""
        other, _ = self.fixed(other, statistics or Statistics())
        nested = self.inner(other).signature(other, statistics).split("|")
        fields = (part.partition(":") for part in nested)
        return {
            f"{other.metric}.{name}": value for name, _, value in fields if name not in UNNESTED
        }


def combined(values: np.ndarray, other: Scored, name: str, weight: float) -> np.ndarray:
    """The weighted mean of both parts on [0, 1]; `values` are those of the formula `name`."""
    nli = scaled(values, FORMULAS[name].range)
    # Beyond its baseline a text is no worse than unrelated.
    rest = scaled(other.scores, other.range, other.higher).clip(0.0, 1.0)
    return weight * nli + (1 - weight) * rest
