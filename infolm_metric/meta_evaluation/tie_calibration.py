"""Pairwise accuracy of texts, where people tie often and metrics hardly ever.

Of two texts of one sample people say that one is better, or that they are as good; a metric whose
scores differ by no more than a threshold is taken to say the latter. The accuracy is the share of
pairs of which both say the same, averaged over the samples. The threshold is the one that gives the
largest accuracy on the very data that it is reported on, which favours every metric alike (Deutsch,
Foster and Freitag 2023, "Ties Matter": acc_eq, grouped by item, tau calibration).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from infolm_metric.meta_evaluation.correlations import pair

ELEMENTS = 1 << 23  # weights of pairs that are held at a time


@dataclass(frozen=True)
class CalibratedAccuracy:
    """The accuracy of a metric that is taken to see ties where its scores differ by little.

    Attributes:
        value: the accuracy, from 0 to 1; NaN where no sample has two texts with scores.
        threshold: the largest difference of the metric's scores that is taken for a tie, at
            least 0; likewise.
    """

    value: float
    threshold: float


@dataclass(frozen=True)
class _TextPairs:
    """Every two texts of a sample that both have scores, by how far the metric sets them apart."""

    distance: np.ndarray  # float64 [pairs], ascending
    ordered: np.ndarray  # bool [pairs]: the metric puts first whom people put first
    tied: np.ndarray  # bool [pairs]: by people
    sample: np.ndarray  # int [pairs]
    systems: tuple[np.ndarray, np.ndarray]  # int [pairs] each
    ends: np.ndarray  # int: how many pairs each possible threshold takes for ties


def calibrated_accuracy(
    human: np.ndarray, metric: np.ndarray, missing: str = "drop"
) -> CalibratedAccuracy:
    """The share of pairs of a sample's texts of which a metric says what people say.

    Args:
        human: people's scores, as for `correlation`.
        metric: the metric's, likewise.
        missing: likewise.

    Returns:
        The share and its threshold; of thresholds that are as good it is the smallest. NaN in both
        where no sample has two texts with scores.

    Raises:
        ValueError: as `pair`.

    >>> human = np.array([[1.0], [1.0], [3.0]])
    >>> calibrated_accuracy(human, np.array([[0.2], [0.3], [0.9]])).value
    1.0
    """
    both = pair(human, metric, missing)
    systems, samples = both.human.shape
    pairs = _text_pairs(both.human, both.metric)
    if not len(pairs.distance):
        return CalibratedAccuracy(math.nan, math.nan)
    once = np.ones((1, systems), dtype=np.int64), np.ones((1, samples), dtype=np.int64)
    (shares,) = _shares(pairs, *once)
    best = int(np.argmax(shares))
    end = pairs.ends[best]
    return CalibratedAccuracy(float(shares[best]), float(pairs.distance[end - 1]) if end else 0.0)


def calibrated_shares(
    human: np.ndarray, metric: np.ndarray, times: np.ndarray, samples: np.ndarray
) -> np.ndarray:
    """The accuracy for every resample, its threshold chosen anew, [resamples].

    Grids as `pair` gives them; `times` int [resamples, systems] and `samples` int [resamples,
    samples] say how often each was drawn. A system that was drawn twice makes no pair with itself.
    NaN where a resample has no pair.
    """
    pairs = _text_pairs(human, metric)
    if not len(pairs.distance):
        return np.full(len(times), math.nan)
    step = max(1, ELEMENTS // len(pairs.distance))
    found = [
        _shares(pairs, times[start : start + step], samples[start : start + step]).max(1)
        for start in range(0, len(times), step)
    ]
    return np.concatenate(found)


def _text_pairs(human: np.ndarray, metric: np.ndarray) -> _TextPairs:
    one, other = np.triu_indices(len(human), 1)
    people = np.sign(human[one] - human[other])  # [pairs of systems, samples]
    apart = metric[one] - metric[other]
    both, sample = np.nonzero(~np.isnan(people + apart))
    people, apart = people[both, sample], apart[both, sample]
    order = np.argsort(np.abs(apart), kind="stable")
    people, apart, both = people[order], apart[order], both[order]
    distance = np.abs(apart)
    # A threshold is a distance that occurs, with all that are as near; 0 is one in any case.
    ends = np.flatnonzero(np.append(np.diff(distance) > 0, True)) + 1
    ends = np.unique(np.append(ends[: len(distance)], (distance == 0).sum()))
    ordered = (np.sign(apart) == people) & (people != 0)
    return _TextPairs(distance, ordered, people == 0, sample[order], (one[both], other[both]), ends)


def _shares(pairs: _TextPairs, times: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """The accuracy of every resample with every threshold, [resamples, thresholds]."""
    together = (times[:, pairs.systems[0]] * times[:, pairs.systems[1]]).astype(float)
    of_sample = np.zeros((len(pairs.sample), samples.shape[1]))
    of_sample[np.arange(len(pairs.sample)), pairs.sample] = 1.0
    counts = together @ of_sample  # [resamples, samples]
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.where(counts > 0, samples / counts, 0.0)
        together *= each[:, pairs.sample] / np.where(counts > 0, samples, 0).sum(1, keepdims=True)
    least = (together * pairs.ordered).sum(1, keepdims=True)
    gained = np.cumsum(together * (pairs.tied.astype(float) - pairs.ordered), axis=1)
    gained = np.concatenate([np.zeros((len(gained), 1)), gained], axis=1)
    return least + gained[:, pairs.ends]
