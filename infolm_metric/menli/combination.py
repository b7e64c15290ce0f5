"""Combinations of MENLI with another metric, w N + (1 - w) M.

N is the NLI score, M the other metric's score, and w the weight of N, from 0 to 1 (`nli_weight`).
Both scores are scaled to [0, 1], and 1 is best.
Source: Chen and Eger, TACL 2023, section 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from infolm_metric.core.baselines import Baseline, BaselineNotFoundError, package_baseline
from infolm_metric.core.checks import InputError, check_fraction, check_value
from infolm_metric.core.inputs import Pairs
from infolm_metric.scoring.scorer import Run

# Scores that are mapped to 0 and 1, or to 1 and 0 if lower is better.
ScoreRange = tuple[float, float]
# Signature fields shared by both metrics.
SHARED_FIELDS = ("metric", "infolm", "transformers", "torch")


@dataclass(frozen=True)
class CombinedMetric:
    """Metric that MENLI is combined with. Its scores are scaled to [0, 1].

    If `baseline` is None, the scale is set by the package's baseline or, if there is no matching
    baseline, by the metric's bounds.
    """

    run: Run[Any]
    baseline: Baseline | None

    def check(self, pairs: Pairs) -> None:
        """Check that the pairs can be scored, before weights are loaded."""
        self.range  # noqa: B018 (raises an error if there is no scale)
        self.run.check(pairs)

    def score(self, pairs: Pairs) -> tuple[np.ndarray, Mapping[str, int]]:
        """Return the scaled scores, float64 [pairs], and the warning counts."""
        result = self.run.score(pairs)
        (scores,) = result.scores.values()
        values = scaled(np.asarray(scores), self.range, result.higher_is_better)
        # Clip scores that are worse than the baseline (the mean score of unrelated texts).
        return values.clip(0.0, 1.0), result.counts

    @cached_property
    def range(self) -> ScoreRange:
        """Scores mapped to 0 and 1, or to 1 and 0 if lower is better. Independent of the pairs."""
        settings = self.run.settings
        (name,) = settings.names
        bounds = self.run.scorer.bounds(settings, name)
        if ends := self.baseline_range:
            return ends
        if self.baseline:
            raise InputError(
                f"combine_baseline must not have the best score as its mean, got {self.baseline}. "
                "Create it from other texts."
            )
        if not all(map(math.isfinite, bounds)):
            raise BaselineNotFoundError(
                "combine_with needs a metric with finite bounds or a baseline, but "
                f"{settings.column(name)} has neither. Pass combine_baseline=FILE, written by "
                f"`infolm baseline CORPUS --metric {settings.metric} -o FILE` with its settings."
            )
        return bounds

    def signature_fields(self) -> dict[str, str]:
        """Return the metric's signature fields, prefixed with its name."""
        metric = self.run.settings.metric
        baseline = self.baseline or package_baseline(metric) if self.baseline_range else None
        signature = replace(self.run, baseline=baseline).signature
        fields = signature.without(SHARED_FIELDS).fields
        return {f"{metric}.{name}": word for name, word in fields.items()}

    @cached_property
    def baseline_range(self) -> ScoreRange | None:
        """Best score and the baseline's mean, in ascending order. None if the bounds are used."""
        (name,) = self.run.settings.names
        by_count = replace(self.run, baseline=self.baseline).unrelated([1])
        best = self.run.scorer.best(self.run.settings, name)
        mean = by_count[1][name].mean if by_count else best
        return (min(best, mean), max(best, mean)) if math.isfinite(best) and mean != best else None


def combine(
    nli_scores: Sequence[float],
    other_scores: Sequence[float],
    nli_weight: float,
    higher_is_better: bool = True,
) -> list[float]:
    """Combine MENLI scores with any metric's scores after min-max scaling (the authors' method).

    Return nli_weight N + (1 - nli_weight) M for each pair, from 0 to 1 (best). N and M are the
    scaled `nli_scores` and `other_scores`. A combined score depends on all pairs, so pass the
    scores of a whole corpus. Constant scores are scaled to 0.5. `nli_weight` is from 0 to 1. In the
    paper, 0.2 to 0.3 works best for translation and 0.8 for summarization. `higher_is_better` is
    False if lower `other_scores` are better.

    Raises InputError if there are fewer than two scores, the lists differ in length, a
    score is not a finite number, or another argument is invalid.

    >>> combine([0.875, 0.125, 0.5], [0.25, 0.75, 0.5], nli_weight=0.25, higher_is_better=False)
    [1.0, 0.0, 0.5]
    """
    nli, other = _check("nli_scores", nli_scores), _check("other_scores", other_scores)
    if len(nli) != len(other):
        raise InputError(
            f"nli_scores and other_scores must have equal length, got {len(nli)} and {len(other)}"
        )
    check_fraction("nli_weight", check_value("nli_weight", nli_weight, float), "")
    nli = scaled(nli, (nli.min(), nli.max()))
    higher = check_value("higher_is_better", higher_is_better, bool)
    other = scaled(other, (other.min(), other.max()), higher)
    return (nli_weight * nli + (1 - nli_weight) * other).tolist()


def scaled(scores: np.ndarray, ends: ScoreRange, higher: bool = True) -> np.ndarray:
    """Scale scores [pairs] linearly so that `ends` become 0 and 1, or 1 and 0 if lower is better.

    >>> scaled(np.array([1.0, 2.0, 3.0]), (1.0, 3.0)), scaled(np.array([4.0]), (4.0, 4.0))
    (array([0. , 0.5, 1. ]), array([0.5]))
    """
    low, high = ends
    if low == high:
        return 0 * scores + 0.5
    return ((scores - low) if higher else (high - scores)) / (high - low)


def _check(name: str, scores: object) -> np.ndarray:
    """Check scores and return them as float64 [pairs]."""
    allowed = "a list of at least 2 scores, such as result.scores['e'] of MENLI"
    values = check_value(name, scores, tuple[float, ...], allowed)
    if len(values) < 2:
        raise InputError(f"{name} must be {allowed}, got {scores!r:.60}")
    return np.array(values)
