"""Baselines: statistics of the scores of unrelated texts, for verdicts and rescaled scores.

Rescaled scores are 1 for the best possible score, and 0 on average for unrelated texts. The texts
of an unrelated pair come from the same source, a list of texts such as a data set. Their scores
depend on their lengths, so a verdict compares a score with percentiles of the scores of unrelated
texts of the same length. A baseline is valid only for scores with the same measure, model,
settings, token weighting scheme and number of references. The number matters because the closest of
several unrelated references is on average closer than a single one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from infolm_metric.core.checks import InputError
from infolm_metric.core.files import DAMAGE, write_text
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.core.signature import Signature

BASELINE_FORMAT, BASELINE_VERSION = "infolm baseline", 2
PACKAGE = "package"
LEVELS = (1, 5, 10, 50, 90)  # percentiles of a bin, starting at the best scores
BIN_EDGES = (8, 13, 20, 32, 50, 80)  # tokens of the shorter text at which the next bin begins
BIN_PAIRS = 50  # a bin needs at least so many pairs
WEIGHT_FIELDS = ("idf", "weights")  # also with the prefix of a combined metric
# Signature fields that a baseline does not depend on, or that are separate parts of its key.
NOT_IN_KEY = (*WEIGHT_FIELDS, "against", "baseline", "infolm", "transformers", "torch")

# Signature (without the fields in NOT_IN_KEY), weighting scheme and number of references.
BaselineKey = tuple[Signature, str, int]


class Verdict(StrEnum):
    """Closeness of two texts relative to unrelated texts."""

    COPY = "identical"
    FAR_CLOSER = "far closer than"
    CLOSER = "closer than"
    ABOUT_AS_FAR = "about as far apart as"

    @classmethod
    def of(cls, percentile: float) -> Verdict:
        """Describe a score that is better than all but `percentile` percent of unrelated texts.

        >>> [Verdict.of(percentile).name for percentile in (0.9, 4.9, 5.0)]
        ['FAR_CLOSER', 'CLOSER', 'ABOUT_AS_FAR']
        """
        close = cls.FAR_CLOSER if percentile < 1 else cls.CLOSER
        return close if percentile < 5 else cls.ABOUT_AS_FAR


class BaselineNotFoundError(InputError):
    """Raised if no baseline matches the settings, or if it cannot rescale scores."""


@dataclass(frozen=True)
class LengthBin:
    """Scores of unrelated texts of similar lengths.

    Attributes:
        tokens: mean number of tokens of the shorter text.
        mean: mean score.
        percentiles: scores at the percentiles `LEVELS`, starting with the best.
    """

    tokens: float
    mean: float
    percentiles: tuple[float, ...]


@dataclass(frozen=True)
class BaselineStats:
    """Mean of the scores of unrelated texts, and their percentiles by length.

    Without bins, scores can be rescaled, but there are no verdicts.
    """

    mean: float
    pairs: int
    bins: tuple[LengthBin, ...]
    source: str = field(default="file", compare=False)

    @classmethod
    def of(
        cls,
        scores: Sequence[float],
        tokens: Sequence[int],
        higher_is_better: bool = False,
        sources: Sequence[int] | None = None,
    ) -> BaselineStats:
        """Compute the statistics of the scores of unrelated pairs, [pairs].

        `tokens` are the lengths of their shortest texts, [pairs]. Bins with fewer than `BIN_PAIRS`
        pairs are left out. If no bin has so many, all pairs are in one bin. `sources` is the
        index of each pair's source, [pairs]. A verdict must hold for each source, so the first two
        percentiles are the best over all pairs and each source with enough pairs.

        >>> stats = BaselineStats.of([0.5, 0.75, 1.0], [9, 10, 11])
        >>> stats.mean, stats.bins[0].tokens, stats.bins[0].percentiles[3]
        (0.75, 10.0, 0.75)
        """
        values, lengths = np.asarray(scores, float), np.asarray(tokens)
        owners = np.digitize(lengths, BIN_EDGES)
        masks = [owners == index for index in range(len(BIN_EDGES) + 1)]
        masks = [mask for mask in masks if mask.sum() >= BIN_PAIRS] or [owners >= 0]
        levels = [100 - level if higher_is_better else level for level in LEVELS]
        best = np.max if higher_is_better else np.min
        rows = []
        for mask in masks:
            parts = [values[mask]]
            for source in set(sources or ()):
                part = values[mask & (np.asarray(sources) == source)]
                parts += [part] * (len(part) >= BIN_PAIRS)
            whole = np.percentile(values[mask], levels)
            whole[:2] = best([np.percentile(part, levels[:2]) for part in parts], axis=0)
            rows.append([lengths[mask].mean(), values[mask].mean(), *whole])
        # Six digits, to keep files small.
        rounded = [[float(f"{number:.6g}") for number in row] for row in rows]
        bins = tuple(LengthBin(length, mean, tuple(rest)) for length, mean, *rest in rounded)
        return cls(statistics.fmean(scores), len(scores), bins)

    def as_dict(self) -> dict[str, Any]:
        """Return the statistics as a dictionary that can be converted to JSON."""
        bins = [{**vars(part), "percentiles": [*part.percentiles]} for part in self.bins]
        return {**vars(self), "bins": bins}

    def at(self, tokens: float) -> LengthBin:
        """Interpolate the bins at a number of tokens, linearly in its logarithm.

        Texts shorter or longer than all bins get the first or last bin.

        >>> bins = LengthBin(4.0, 0.5, (0.5,) * 5), LengthBin(16.0, 0.75, (0.75,) * 5)
        >>> BaselineStats(0.6, 100, bins).at(8).mean
        0.625
        """
        lengths = np.log([part.tokens for part in self.bins])
        rows = np.array([(part.mean, *part.percentiles) for part in self.bins])
        mean, *percentiles = (
            float(np.interp(math.log(max(tokens, 1)), lengths, column)) for column in rows.T
        )
        return LengthBin(tokens, mean, tuple(percentiles))

    def percentile(self, score: float, best: float, tokens: float) -> float:
        """Return the percentage of unrelated texts of a length with a better score, at most 90.

        `best` is the best possible score, and `tokens` the length of the shorter text.

        >>> bins = (LengthBin(10.0, 0.6, (0.4, 0.45, 0.5, 0.6, 0.7)),)
        >>> stats = BaselineStats(0.6, 100, bins)
        >>> [round(stats.percentile(score, best=0.0, tokens=8), 3) for score in (0.2, 0.5, 0.8)]
        [0.5, 10.0, 90.0]
        """
        ends = self.at(tokens).percentiles
        sign = 1 if best < ends[-1] else -1
        start = best if math.isfinite(best) else ends[0]
        return float(np.interp(sign * score, sign * np.array([start, *ends]), [0, *LEVELS]))

    def check_best(self, best: float) -> None:
        """Check that `rescale` is defined for this best score. Raise BaselineNotFoundError if not.

        >>> BaselineStats.of([0.5, 1.0], [3, 4]).check_best(0.0)
        """
        if not math.isfinite(best) or self.mean == best:
            raise BaselineNotFoundError(
                "rescale_with_baseline needs a finite best score that differs from the mean score "
                f"of unrelated texts, got best score {best} and mean {self.mean}. "
                "Omit rescale_with_baseline."
            )

    def rescale(self, score: float, best: float) -> float:
        """Rescale a score so that 1 is the best score and 0 the mean score of unrelated texts.

        Scores worse than the mean become negative.

        >>> BaselineStats.of([0.5, 1.0], [3, 4]).rescale(0.5, best=0.0).__round__(3)
        0.333
        """
        return (self.mean - score) / (self.mean - best)


@dataclass(frozen=True, eq=False)
class Baseline:
    """Mapping from `BaselineKey` to `BaselineStats`. `source` is "package" or "file"."""

    stats: Mapping[BaselineKey, BaselineStats] = field(repr=False)
    source: str = "file"

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the contents, as twelve hexadecimal digits."""
        return stable_hash(self._records())[:12]

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Baseline) else False

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __str__(self) -> str:
        """Return the label for signatures."""
        return f"{self.source}-{self.fingerprint}"

    def of_metric(self, metric: str | None) -> Baseline:
        """Return the part of the baseline for a metric."""
        stats = {key: x for key, x in self.stats.items() if key[0].fields.get("metric") == metric}
        return Baseline(stats, self.source)

    def find(self, key: BaselineKey) -> BaselineStats:
        """Return the statistics for a `baseline_key`. Raise BaselineNotFoundError if none match."""
        (signature, weights, references), metric = key, key[0].fields.get("metric")
        if key in self.stats:
            return replace(self.stats[key], source=self.source)
        differences = [x.differences(signature) for x, *_ in self.stats] or ["only other metrics"]
        nearest = min(differences, key=len) or "only other weights or fewer references"
        raise BaselineNotFoundError(
            f"the {self.source} has no baseline for these settings, {weights} token weights and "
            f"references per pair: {references} ({nearest}). Omit the baseline or, except for "
            f"answer_check, create one: `infolm baseline CORPUS -o FILE --metric {metric} "
            f"--references {references}`, with the same model and settings."
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the baseline to a JSON file."""
        head = {"format": BASELINE_FORMAT, "version": BASELINE_VERSION}
        record = {**head, "fingerprint": self.fingerprint, "statistics": self._records()}
        write_text(path, json.dumps(record) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str], source: str = "file") -> Baseline:
        """Load a baseline written by `save`. Raise InputError for other or damaged files."""
        with suppress(*DAMAGE):
            record = json.loads(Path(path).read_bytes())
            baseline = cls(dict(map(_read_record, record["statistics"])), source)
            head = (record["format"], record["version"], record["fingerprint"])
            if head == (BASELINE_FORMAT, BASELINE_VERSION, baseline.fingerprint):
                return baseline
        raise InputError(
            f"{os.fspath(path)!r} is not a baseline file of version {BASELINE_VERSION} or is "
            "damaged. Create it again with `infolm baseline`."
        )

    def _records(self) -> list[dict[str, Any]]:
        return [
            {"signature": signature, "weights": weights, "references": references}
            | {"mean": stats.mean, "pairs": stats.pairs}
            | {"bins": [[part.tokens, part.mean, *part.percentiles] for part in stats.bins]}
            for (signature, weights, references), stats in self.stats.items()
        ]


def _read_record(record: dict[str, Any]) -> tuple[BaselineKey, BaselineStats]:
    signature, weights, references = map(record.pop, ("signature", "weights", "references"))
    bins = tuple(LengthBin(tokens, mean, tuple(rest)) for tokens, mean, *rest in record.pop("bins"))
    stats = BaselineStats(**record, bins=bins)
    return (Signature.parse(signature), weights, references), stats


def baseline_key(signature: Signature, weights: str, references: int) -> BaselineKey:
    """Return the key under which a baseline stores the statistics for a score.

    >>> signature = Signature({"metric": "menli", "infolm.idf": False, "multi_reference": "max"})
    >>> baseline_key(signature, "uniform", 1)
    ('metric:menli', 'uniform', 1)
    >>> baseline_key(signature, "uniform", 2)
    ('metric:menli|multi_reference:max', 'uniform', 2)
    """
    # The rule for several references does not matter for one.
    dropped = {*WEIGHT_FIELDS, *(["multi_reference"] if references == 1 else [])}
    nested = [name for name in signature.fields if name.rpartition(".")[2] in dropped]
    return signature.without((*NOT_IN_KEY, *nested)), weights, references


def resolve_baseline(
    metric: str, value: object, name: str = "rescale_with_baseline"
) -> Baseline | None:
    """Return the package's baseline for True, a loaded baseline for a path, and None for False.

    >>> str(resolve_baseline("infolm", True))[:8], resolve_baseline("infolm", False)
    ('package-', None)
    """
    if value is None or isinstance(value, Baseline):
        return value
    if isinstance(value, bool):
        return package_baseline(metric) if value else None
    path = os.path.expanduser(value) if isinstance(value, str | os.PathLike) else ""
    if not os.path.isfile(path):
        raise InputError(
            f"{name} must be the path to a baseline file, but there is no file {str(value)!r}. "
            "Create one with `infolm baseline`.",
            setting=name,
        )
    return Baseline.load(path)


@cache
def package_baseline(metric: str) -> Baseline:
    """Return the package's baseline for a metric, or an empty baseline if there is none."""
    path = BUNDLED_FOLDER / f"{metric}_baseline.json"
    return Baseline.load(path, PACKAGE) if path.is_file() else Baseline({}, PACKAGE)


def most_frequent(
    stats: Mapping[int, Mapping[str, BaselineStats]], counts: Mapping[int, int]
) -> Mapping[str, BaselineStats] | None:
    """Return the statistics for the most common number of references, or None."""
    return stats.get(max(counts, key=lambda count: counts[count])) if stats else None


def unrelated_pairs(
    texts: Sequence[str], pairs: int, references: int
) -> list[tuple[str, list[str]]]:
    """Return up to `pairs` texts, each with other texts of the same source as its references.

    At most 2 * `pairs` texts, selected by a hash, are used. If there are fewer than `pairs`,
    texts are used several times.

    >>> len(unrelated_pairs([f"text {i}" for i in range(40)], 500, 2))
    500
    """
    ring = sorted(set(texts), key=stable_hash)[: 2 * pairs]
    size = len(ring)
    if references >= size:
        raise InputError(
            f"references must be less than {size} (distinct texts, at most twice the pairs), got "
            f"{references}. Use fewer references, more pairs or a larger corpus."
        )
    laps = min(-(-pairs // size), max(1, (size - 1) // 2 - references + 1))
    # First references are less than half a ring away, so that no two texts are each other's.
    stride = max(1, size // (2 * (laps + references)))
    return [
        (ring[start % size], [ring[(start + step * stride) % size] for step in steps])
        for start in range(min(pairs, laps * size))
        for steps in [range(start // size + 1, start // size + references + 1)]
    ]


def stable_hash(texts: object) -> str:
    """Return a hash of JSON-compatible values, identical in all processes."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()
