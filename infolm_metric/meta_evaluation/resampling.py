"""How sure the figures are: intervals and tests by resampling, seeded, without a loop per resample.

Systems and samples are both drawn anew, with replacement, because a new evaluation would have other
systems as well as other texts (Deutsch, Dror and Roth 2021, "Boot-Both"). Several metrics are given
the same draws, so that their differences can be judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from infolm_metric.kernel.checks import check_known, fraction, whole_number
from infolm_metric.meta_evaluation.correlations import (
    COEFFICIENTS,
    EQUAL,
    LEVELS,
    ordered_alike,
    pair,
)
from infolm_metric.meta_evaluation.partial import partial, partial_of
from infolm_metric.meta_evaluation.repetition import repeated, repeated_pearson
from infolm_metric.meta_evaluation.tie_calibration import calibrated_shares

RESAMPLES = 1000
CONFIDENCE = 0.95
FEW = 20  # samples, with fewer than which what is found is largely chance
AXES = ("both", "samples", "systems")
ELEMENTS = 1 << 23  # scores that a chunk of the resamples holds at a time
STATISTICS = (*COEFFICIENTS, "accuracy", "partial")


@dataclass(frozen=True)
class Draws:
    """Resamples: the systems drawn, and how often each sample was drawn."""

    systems: np.ndarray  # int [resamples, systems]
    samples: np.ndarray  # int [resamples, samples]; rows sum to the number of samples

    def __len__(self) -> int:
        return len(self.systems)

    @property
    def times(self) -> np.ndarray:
        """How often each system was drawn, int [resamples, systems]."""
        return np.stack([np.bincount(row, minlength=row.size) for row in self.systems])


def draw(
    systems: int, samples: int, resamples: int = RESAMPLES, seed: int = 0, over: str = "both"
) -> Draws:
    """Resamples of `systems` systems and `samples` samples, with replacement.

    `over`: "both", or "samples" or "systems" alone, with the other axis as it is.

    >>> draws = draw(3, 5, resamples=2)
    >>> draws.systems.shape, draws.samples.sum(1)
    ((2, 3), array([5, 5]))
    """
    check_known("over", over, AXES)
    whole_number("resamples", resamples)
    random = np.random.default_rng(seed)
    chosen = np.tile(np.arange(systems), (resamples, 1))
    counts = np.ones((resamples, samples), dtype=np.int64)
    if over != "samples":
        chosen = random.integers(systems, size=(resamples, systems))
    if over != "systems":
        counts = random.multinomial(samples, np.full(samples, 1 / samples), size=resamples)
    return Draws(chosen, counts)


def resampled(
    human: np.ndarray,
    metric: np.ndarray,
    draws: Draws,
    level: str = "system",
    given: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Each statistic for every resample, by name, [resamples].

    Grids [systems, samples] as `pair` gives them, NaN in all where a score is missing. NaN where a
    resample has no correlation, as when one system was drawn only. With a grid `given` there is
    "partial" too. What a threshold of ties is chosen for at the text level, it is chosen for in
    every resample anew.
    """
    if level == "system":
        people, ours = (_means(grid, draws) for grid in (human, metric))
        found = {name: function(people, ours) for name, function in COEFFICIENTS.items()}
        found["accuracy"] = ordered_alike(people, ours)
        if given is not None:
            found["partial"] = partial(people, ours, _means(given, draws))
        return found
    names = STATISTICS if given is not None else (*COEFFICIENTS, "accuracy")
    found = {name: np.empty(len(draws)) for name in names}
    step = max(1, ELEMENTS // (human.size + len(human) ** 2))
    for start in range(0, len(draws), step):
        part = slice(start, start + step)
        times, samples = draws.times[part], draws.samples[part]
        by_sample = repeated(human, metric, times)
        if given is not None:
            people, ours = (repeated_pearson(grid, given, times) for grid in (human, metric))
            count = times @ ~np.isnan(human)
            by_sample["partial"] = partial_of(by_sample["pearson"], people, ours, count)
        for name, values in by_sample.items():
            weights = np.where(np.isnan(values), 0, samples)
            with np.errstate(invalid="ignore", divide="ignore"):
                found[name][part] = (np.nan_to_num(values) * weights).sum(-1) / weights.sum(-1)
    found["accuracy"] = calibrated_shares(human, metric, draws.times, draws.samples)
    return found


def resampled_texts(
    human: np.ndarray, metric: np.ndarray, draws: Draws, given: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Each coefficient over the drawn texts of one sample for every resample, by name, [resamples].

    Grids [texts, 1], without NaN; with `given` there is "partial" too.
    """
    parts = list[dict[str, np.ndarray]]()
    step = max(1, ELEMENTS // len(human))
    for start in range(0, len(draws), step):
        drawn = draws.systems[start : start + step]
        people, ours = human[drawn, 0], metric[drawn, 0]
        found = {name: function(people, ours) for name, function in COEFFICIENTS.items()}
        if given is not None:
            found["partial"] = partial(people, ours, given[drawn, 0])
        parts.append(found)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _means(grid: np.ndarray, draws: Draws) -> np.ndarray:
    """The means of the drawn systems over the drawn samples, [resamples, systems]."""
    there = ~np.isnan(grid)
    sums = draws.samples @ np.nan_to_num(grid).T
    counts = draws.samples @ there.T.astype(np.int64)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts
    return np.take_along_axis(means, draws.systems, axis=1)


def percentile_interval(values: np.ndarray, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The ends of the middle `confidence` of the values; NaN values are left out.

    >>> percentile_interval(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    fraction("confidence", confidence)
    if np.isnan(values).all():
        return (float("nan"), float("nan"))
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(values, [tail, 1 - tail])
    return float(low), float(high)


def bootstrap_interval(
    human: np.ndarray,
    metric: np.ndarray,
    coefficient: str = "pearson",
    level: str = "system",
    *,
    missing: str = "drop",
    over: str = "both",
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """The percentile bootstrap interval of a correlation.

    Args:
        human: as for `correlation`.
        metric: likewise.
        coefficient: likewise; also "accuracy": at the system level `pairwise_accuracy`, else
            `calibrated_accuracy`.
        level: "system" or "text".
        missing: what to do where a score is missing.
        over: what is drawn anew: "systems", "samples" or "both".
        resamples: how many times, at least 1.
        seed: the same gives the same draws.
        confidence: the share of the draws inside, between 0 and 1.

    Returns:
        The lower and the upper end; NaN where no draw has a value.

    Raises:
        TypeError, ValueError: a name or a number is wrong, or as `pair`.

    >>> human = np.random.default_rng(0).normal(size=(8, 40)) + np.arange(8.0)[:, None]
    >>> low, high = bootstrap_interval(human, human + 1, resamples=50)
    >>> round(low, 6), round(high, 6)
    (1.0, 1.0)
    """
    check_known("coefficient", coefficient, (*COEFFICIENTS, "accuracy"))
    check_known("level", level, LEVELS)
    both = pair(human, metric, missing)
    systems, samples = both.human.shape
    draws = draw(systems, samples, resamples, seed, over)
    values = resampled(both.human, both.metric, draws, level)[coefficient]
    return percentile_interval(values, confidence)


def difference_p_value(ours: np.ndarray, rival: np.ndarray) -> float:
    """The two-sided p-value of a difference of coefficients, from its values over resamples.

    Twice the share of resamples on the rarer side of 0, of which one more is counted, so that it is
    never 0 (Davison and Hinkley 1997, section 4.2).

    >>> difference_p_value(np.full(99, 0.5), np.full(99, 0.1))
    0.02
    """
    difference = ours - rival
    difference = difference[~np.isnan(difference)]
    rarer = min((difference <= EQUAL).sum(), (difference >= -EQUAL).sum())
    return float(min(1.0, 2 * (rarer + 1) / (len(difference) + 1)))


def paired_bootstrap(
    scores: Sequence[float] | np.ndarray,
    baseline: Sequence[float] | np.ndarray,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> float:
    """The p-value of the difference of two systems' mean scores by the paired bootstrap.

    Counted is how often the difference of a resample is as far from the observed one as that is
    from 0, as sacreBLEU does (Koehn 2004; Riezler and Maxwell 2005).

    Args:
        scores: of one system by one metric, float64 [samples].
        baseline: of the other, likewise, for the same samples.
        resamples: how many times samples are drawn, at least 1.
        seed: the same gives the same draws.

    Returns:
        The two-sided p-value, above 0 and up to 1.

    Raises:
        TypeError, ValueError: the lists are not equally long, have fewer than two scores or hold a
            number that is not finite, or `resamples` is no whole number of at least 1.

    >>> paired_bootstrap([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    """
    difference = _difference(scores, baseline)
    counts = draw(1, len(difference), resamples, seed, "samples").samples
    observed = difference.mean()
    away = np.abs(counts @ difference / len(difference) - observed)
    return float(((away >= abs(observed) - _slack(difference)).sum() + 1) / (resamples + 1))


def approximate_randomization(
    scores: Sequence[float] | np.ndarray,
    baseline: Sequence[float] | np.ndarray,
    resamples: int = 10 * RESAMPLES,
    seed: int = 0,
) -> float:
    """The p-value of the difference of two systems' mean scores by approximate randomisation.

    Each sample's two scores change places at random (Noreen 1989; Riezler and Maxwell 2005).

    Args:
        scores: of one system by one metric, float64 [samples].
        baseline: of the other, likewise, for the same samples.
        resamples: how many times places are drawn, at least 1.
        seed: the same gives the same draws.

    Returns:
        The two-sided p-value, above 0 and up to 1.

    Raises:
        TypeError, ValueError: as `paired_bootstrap`.

    >>> approximate_randomization([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    1.0
    """
    whole_number("resamples", resamples)
    difference = _difference(scores, baseline)
    random = np.random.default_rng(seed)
    observed = abs(difference.sum()) - len(difference) * _slack(difference)
    count, step = 0, max(1, ELEMENTS // len(difference))
    for start in range(0, resamples, step):
        size = min(step, resamples - start), len(difference)
        signs = random.integers(2, size=size, dtype=np.int8) * 2 - 1
        count += int((np.abs(signs @ difference) >= observed).sum())
    return (count + 1) / (resamples + 1)


def _slack(difference: np.ndarray) -> float:
    """What rounding may do to a mean: a tie must count as one."""
    return float(1e-12 * np.abs(difference).max())


def _difference(
    scores: Sequence[float] | np.ndarray, baseline: Sequence[float] | np.ndarray
) -> np.ndarray:
    one, other = np.asarray(scores, dtype=float), np.asarray(baseline, dtype=float)
    if one.shape != other.shape or one.ndim != 1 or len(one) < 2:
        raise ValueError(
            "scores and baseline must be equally long lists of at least two scores, "
            f"got shapes {list(one.shape)} and {list(other.shape)}"
        )
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise ValueError("scores and baseline must be finite")
    return one - other
