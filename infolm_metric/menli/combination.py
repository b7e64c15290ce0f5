"""MENLI combined with another metric: w N + (1 - w) M, both brought to [0, 1] first.

N is the value of a formula and M the score of the other metric, with 1 for the best score. Source:
Chen and Eger, TACL 2023, section 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infolm_metric.core.baselines import (
    Baseline,
    BaselineNotFoundError,
    BaselineStats,
    package_baseline,
)
from infolm_metric.core.checks import check_fraction
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.scorer import Scorer

Range = tuple[float, float]
"""The scores that become 0 and 1; if lower is better, 1 and 0."""
SHARED_FIELDS = ("metric", "infolm", "transformers", "torch")
"""Signature fields that a combination has only once."""


@dataclass(frozen=True)
class CombinedMetric:
    """The other metric of a combination, on a scale from 0 to 1.

    Attributes:
        scorer: the metric's scorer.
        settings: the metric's settings.
        baseline: sets the scale; None: the package's baseline, or else the bounds of the metric.
    """

    scorer: Scorer
    settings: Any
    baseline: Baseline | None

    def count(self, texts: Mapping[str, Iterable[str]]) -> CorpusStatistics:
        """Collect corpus statistics."""
        return self.scorer.count(texts, self.settings)

    def check(self, pairs: Pairs, statistics: CorpusStatistics) -> None:
        """Raise errors that would keep pairs from being scored, before the weights are loaded."""
        self.range(statistics)
        self.scorer.check(pairs, self.settings, statistics)

    def score(
        self, pairs: Pairs, statistics: CorpusStatistics
    ) -> tuple[np.ndarray, Mapping[str, int]]:
        """Return the scaled scores, float64 [pairs], and the counts of warnings."""
        result = self.scorer.score_part(pairs, self.settings, statistics)
        (scores,) = result.scores.values()
        values = scaled(np.asarray(scores), self.range(statistics), result.higher_is_better)
        # A text that is farther than unrelated texts is not worse than unrelated.
        return values.clip(0.0, 1.0), result.counts

    def range(self, statistics: CorpusStatistics) -> Range:
        """Return the scores that become 0 and 1, which do not depend on the call.

        Raises:
            BaselineNotFoundError: the metric has neither a baseline nor finite bounds.
        """
        (name,) = self.settings.names
        bounds = self.scorer.bounds(self.settings, name)
        best = bounds[int(self.scorer.higher_is_better)]
        if (stats := self._stats(statistics)) is not None:
            return min(best, stats.mean), max(best, stats.mean)
        if not all(map(math.isfinite, bounds)):
            raise BaselineNotFoundError(
                "combine_with needs a metric with finite bounds or a baseline; "
                f"{self.settings.label(name)} has neither. Pass as combine_baseline a file made "
                f"with `infolm baseline CORPUS --metric {self.settings.metric} -o FILE`"
            )
        return bounds

    def signature_fields(self, statistics: CorpusStatistics | None) -> dict[str, str]:
        """Return the fields of the metric's signature with its name as prefix."""
        signature = self.scorer.signature(self.settings, statistics)
        if self._stats(statistics or CorpusStatistics()) is not None:
            signature = self._table.sign(signature)
        return signature.without(SHARED_FIELDS).prefixed(self.settings.metric)

    @property
    def _table(self) -> Baseline:
        return self.baseline or package_baseline(self.settings.metric)

    def _stats(self, statistics: CorpusStatistics) -> BaselineStats | None:
        """Return the statistics of the baseline for one reference; None if bounds set the scale."""
        (name,) = self.settings.names
        by_count = self.scorer.baseline_stats(self.settings, statistics, self.baseline, [1])
        best = self.scorer.bounds(self.settings, name)[int(self.scorer.higher_is_better)]
        if not by_count or not math.isfinite(best) or by_count[1][name].mean == best:
            return None
        return by_count[1][name]


def combine(
    nli_scores: Sequence[float],
    other_scores: Sequence[float],
    nli_weight: float,
    higher_is_better: bool = True,
) -> list[float]:
    """MENLI's scores combined with those of any metric, as the authors do: scaled by min-max.

    A combined score depends on all pairs of the lists, which should be those of a whole corpus;
    constant scores scale to 0.5.

    Args:
        nli_scores: MENLI's score of each pair, at least two.
        other_scores: the other metric's, as many.
        nli_weight: of MENLI's scores, from 0 to 1; the paper finds 0.2 to 0.3 best for
            translations and 0.8 for summaries.
        higher_is_better: False if lower is better among `other_scores`.

    Returns:
        For each pair nli_weight N + (1 - nli_weight) M, from 0 to 1, where 1 is best.

    Raises:
        ValueError: fewer than two scores, lists of unequal length, NaN, an infinity or a weight
            outside of [0, 1].

    >>> combine([0.875, 0.125, 0.5], [0.25, 0.75, 0.5], nli_weight=0.25, higher_is_better=False)
    [1.0, 0.0, 0.5]
    """
    nli, other = _check("nli_scores", nli_scores), _check("other_scores", other_scores)
    if len(nli) != len(other):
        raise ValueError(
            f"nli_scores and other_scores must be as many, got {len(nli)} and {len(other)}"
        )
    check_fraction("nli_weight", nli_weight, "")
    nli = scaled(nli, (nli.min(), nli.max()))
    other = scaled(other, (other.min(), other.max()), higher_is_better)
    return (nli_weight * nli + (1 - nli_weight) * other).tolist()


def scaled(scores: np.ndarray, ends: Range, higher: bool = True) -> np.ndarray:
    """Scores [pairs] on the scale on which `ends` are 0 and 1; where lower is better, 1 and 0.

    Where both ends are the same, as those of constant scores, all are in the middle.

    >>> scaled(np.array([1.0, 2.0, 3.0]), (1.0, 3.0)), scaled(np.array([4.0]), (4.0, 4.0))
    (array([0. , 0.5, 1. ]), array([0.5]))
    """
    low, high = ends
    if low == high:
        return 0 * scores + 0.5
    return ((scores - low) if higher else (high - scores)) / (high - low)


def _check(name: str, scores: Any) -> np.ndarray:
    """The scores, float64 [pairs]."""
    array = np.asarray(scores, dtype=np.float64)
    if array.ndim != 1 or len(array) < 2:
        raise ValueError(f"{name} must be a list of at least 2 scores, got {scores!r:.60}")
    if not np.isfinite(array).all():
        place = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{place}] must be finite, got {array[place]}")
    return array
