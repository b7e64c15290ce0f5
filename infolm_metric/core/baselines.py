"""Baselines: statistics of the scores of unrelated texts, for verdicts and rescaled scores.

Rescaled scores are 1 for the best possible score, and 0 on average for unrelated texts. A baseline
is valid only for scores with the same measure, model, settings, token weighting scheme and number
of references. The number matters because the closest of several unrelated references is on average
closer than a single one.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from infolm_metric.core.checks import InputError
from infolm_metric.core.files import write_text
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.core.signature import Signature

BASELINE_FORMAT, BASELINE_VERSION = "infolm baseline", 1
PACKAGE = "package"
WEIGHT_FIELDS = ("idf", "weights")  # also with the prefix of a combined metric
# Signature fields that a baseline does not depend on, or that are separate parts of its key.
NOT_IN_KEY = (*WEIGHT_FIELDS, "against", "baseline", "infolm", "transformers", "torch")
# Signature field that matters only with several references (also with a prefix).
MULTI_REFERENCE = "multi_reference"
BASELINE_REMEDY = (
    "Create one with `infolm baseline CORPUS -o FILE` and the same settings, and pass FILE"
)

# Signature (without the fields in NOT_IN_KEY), weighting scheme and number of references.
BaselineKey = tuple[Signature, str, int]


class Verdict(StrEnum):
    """Closeness of two texts relative to unrelated texts."""

    COPY = "identical"
    FAR_CLOSER = "far closer than"
    CLOSER = "closer than"
    SLIGHTLY_CLOSER = "slightly closer than"
    ABOUT_AS_FAR = "about as far apart as"
    FARTHER = "farther apart than"


class BaselineNotFoundError(InputError):
    """Raised if no baseline matches the settings."""


@dataclass(frozen=True)
class BaselineStats:
    """Mean, standard deviation and nine deciles of the scores of unrelated texts."""

    mean: float
    deviation: float
    deciles: tuple[float, ...]
    pairs: int
    source: str = field(default="file", compare=False)

    @classmethod
    def of(cls, scores: Sequence[float]) -> BaselineStats:
        """Compute the statistics of at least two scores.

        >>> BaselineStats.of([0.5, 0.75, 1.0]).mean
        0.75
        """
        mean = statistics.fmean(scores)
        # Sorted, because rounding can swap deciles of equal scores.
        deciles = sorted(statistics.quantiles(scores, n=10, method="inclusive"))
        return cls(mean, statistics.stdev(scores, mean), tuple(deciles), len(scores))

    def verdict(self, score: float, best: float, identical: bool = False) -> Verdict:
        """Describe how close two texts with this score are, relative to unrelated texts.

        "closer" means more than two standard deviations better than the mean score of unrelated
        texts, and "far closer" means more than three. "slightly closer" means better than nine in
        ten scores of unrelated texts, and "farther" means worse than nine in ten. `best` is the
        best possible score, which different texts can have. `identical` is True if the texts have
        the same token ids.

        >>> stats = BaselineStats.of([0.5, 0.55, 0.6, 0.65, 0.7])
        >>> [str(stats.verdict(score, best=0.0)) for score in (0.0, 0.4, 0.5, 0.8)]
        ['far closer than', 'closer than', 'slightly closer than', 'farther apart than']
        >>> print(stats.verdict(0.0, best=0.0, identical=True))
        identical
        """
        if identical:
            return Verdict.COPY
        sign = -1 if best < self.mean else 1
        values = (score, self.deciles[0], self.deciles[-1])
        gain, *nine_in_ten = (sign * (value - self.mean) for value in values)
        if gain > 3 * self.deviation:
            return Verdict.FAR_CLOSER
        if gain > 2 * self.deviation:
            return Verdict.CLOSER
        if gain > max(nine_in_ten):
            return Verdict.SLIGHTLY_CLOSER
        return Verdict.ABOUT_AS_FAR if gain >= min(nine_in_ten) else Verdict.FARTHER

    def check_best(self, best: float) -> None:
        """Check that `rescale` is defined for this best score. Raise BaselineNotFoundError if not.

        >>> BaselineStats.of([0.5, 1.0]).check_best(0.0)
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

        >>> BaselineStats.of([0.5, 1.0]).rescale(0.5, best=0.0).__round__(3)
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
        signature, weights, references = key
        if key in self.stats:
            return replace(self.stats[key], source=self.source)
        entries = [entry for entry in self.stats if entry[1:] == key[1:]]
        single = baseline_key(signature, weights, 1)
        counts = [
            count for fields, kind, count in self.stats if baseline_key(fields, kind, 1) == single
        ]
        if not self.stats:
            problem = " contains no baseline for this metric"
        elif counts and not entries:
            size = "1 reference" if max(counts) == 1 else f"up to {max(counts)} references"
            problem = f"'s baseline covers {size} per pair, got {references}"
        else:
            differences = (fields.differences(key[0]) for fields, *_ in entries or self.stats)
            problem = f"'s baseline does not match: {min(differences, key=len) or 'model weights'}"
        raise BaselineNotFoundError(f"the {self.source}{problem}. {BASELINE_REMEDY}.")

    def sign(self, signature: Signature) -> Signature:
        """Return the signature of scores rescaled with this baseline."""
        return signature.with_fields({"baseline": str(self)}, before="model")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the baseline to a JSON file."""
        head = {
            "format": BASELINE_FORMAT,
            "version": BASELINE_VERSION,
            "fingerprint": self.fingerprint,
        }
        lines = ",\n".join(json.dumps(record) for record in self._records())
        text = json.dumps(head)[:-1] + ', "statistics": [\n' + lines + "\n]}\n"
        write_text(path, text)

    @classmethod
    def load(cls, path: str | os.PathLike[str], source: str = "file") -> Baseline:
        """Load a baseline written by `save`. Raise InputError for other or damaged files."""
        try:
            record = json.loads(Path(path).read_bytes())
            baseline = cls(dict(map(_read_record, record["statistics"])), source)
            head = (record["format"], record["version"], record["fingerprint"])
            if head != (BASELINE_FORMAT, BASELINE_VERSION, baseline.fingerprint):
                raise InputError
            return baseline
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise InputError(
                f"{os.fspath(path)!r} is not a baseline file or is damaged. Create it again with "
                "`infolm baseline`."
            ) from None

    def _records(self) -> list[dict[str, Any]]:
        return [
            {"signature": signature, "weights": weights, "references": references}
            | {name: value for name, value in vars(stats).items() if name != "source"}
            for (signature, weights, references), stats in self.stats.items()
        ]


def _read_record(record: dict[str, Any]) -> tuple[BaselineKey, BaselineStats]:
    signature, weights, references = map(record.pop, ("signature", "weights", "references"))
    stats = BaselineStats(**{**record, "deciles": tuple(record["deciles"])})
    return (Signature.parse(signature), weights, references), stats


def baseline_key(signature: Signature, weights: str, references: int) -> BaselineKey:
    """Return the key under which a baseline stores the statistics for a score.

    >>> signature = Signature({"metric": "menli", "infolm.idf": False, "multi_reference": "max"})
    >>> baseline_key(signature, "uniform", 1)
    ('metric:menli', 'uniform', 1)
    >>> baseline_key(signature, "uniform", 2)
    ('metric:menli|multi_reference:max', 'uniform', 2)
    """
    dropped = {*WEIGHT_FIELDS, *([MULTI_REFERENCE] if references == 1 else [])}
    nested = [name for name in signature.fields if name.rpartition(".")[2] in dropped]
    return signature.without((*NOT_IN_KEY, *nested)), weights, references


def resolve_baseline(
    metric: str, value: object, name: str = "rescale_with_baseline"
) -> Baseline | None:
    """Return the package's baseline for True, a loaded baseline for a path, and None for False.

    >>> str(resolve_baseline("infolm", True))[:8], resolve_baseline("infolm", False)
    ('package-', None)
    """
    if value is False or value is None:
        return None
    if value is True:
        return package_baseline(metric)
    if isinstance(value, Baseline):
        return value
    if not isinstance(value, str | os.PathLike):
        raise InputError(
            f"{name} must be True, False or the path of a baseline, got {value!r}", setting=name
        )
    path = Path(value).expanduser()
    if not path.is_file():
        raise InputError(
            f"{name} must be True, False or the path to a baseline file, but there is no file "
            f"{str(path)!r}. Create one with `infolm baseline`.",
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


def unrelated_pairs(texts: Sequence[str], pairs: int, references: int) -> Iterator[Pairs]:
    """Yield pairs of different texts: up to `pairs` with 1 reference, then with 2, and so on.

    At most 2 * `pairs` texts, selected by a hash, are used. In a smaller corpus, texts are used
    several times.

    >>> [len(part) for part in unrelated_pairs([f"text {i}" for i in range(40)], 500, 2)]
    [360, 360]
    """
    ring = sorted(set(texts), key=stable_hash)[: 2 * pairs]
    size = len(ring)
    if references >= size:
        raise InputError(
            f"references must be smaller than the number of distinct texts ({size}), got "
            f"{references}. Use a larger corpus."
        )
    laps = min(-(-pairs // size), max(1, (size - 1) // (2 * references)))
    stride = max(1, size // (laps * references + 1))

    def select_references(position: int, count: int) -> list[str]:
        """Select references that differ from the candidate and its references in other pairs."""
        first = position // size * references + 1
        return [ring[(position + (first + step) * stride) % size] for step in range(count)]

    for count in range(1, references + 1):
        yield Pairs.of(
            (ring[position % size], select_references(position, count))
            for position in range(min(pairs, laps * size))
        )


def stable_hash(texts: object) -> str:
    """Return a hash of JSON-compatible values, identical in all processes."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()
