"""What unrelated texts score: the foot of the scale on which a copy is 1 and they are 0.

A baseline comes from a file that `infolm baseline` made, or from the package. It belongs to all
that can change a score: the measure, the model, how texts are read, the kind of weights, and the
number of references, of which the closest is closer where there are more.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from infolm_metric.core.files import write_text
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.core.signature import Signature

FORMAT, VERSION = "infolm baseline", 1
PACKAGE = "package"
VERDICTS = {"far closer than": 3, "closer than": 2}  # deviations from what unrelated texts score
WEIGHT_FIELDS = ("idf", "weights")  # also those of a metric that is combined
NOT_IN_KEY = (*WEIGHT_FIELDS, "against", "baseline", "infolm", "transformers", "torch")
"""Fields of a signature that a baseline does not depend on, or that its key holds otherwise."""
MULTI_REFERENCE_FIELDS = ("multi_reference",)
"""Fields that a baseline for one reference does not depend on either."""
REMEDY = "make one with `infolm baseline CORPUS -o FILE` and these very settings and give its path"

Key = tuple[Signature, str, int]
"""A score's signature without NOT_IN_KEY, the weights used, and the number of references."""


class BaselineNotFoundError(ValueError):
    """There is no baseline for these settings."""


@dataclass(frozen=True)
class BaselineStats:
    """How the scores of unrelated texts lie: the nine deciles divide them into ten equal parts."""

    mean: float
    deviation: float
    deciles: tuple[float, ...]
    pairs: int
    source: str = field(default="file", compare=False)

    @classmethod
    def of(cls, scores: Sequence[float]) -> BaselineStats:
        """The statistics of at least two scores.

        >>> BaselineStats.of([0.5, 0.75, 1.0]).mean
        0.75
        """
        mean = statistics.fmean(scores)
        # In order, because rounding can turn those of equal scores round.
        deciles = sorted(statistics.quantiles(scores, n=10, method="inclusive"))
        return cls(mean, statistics.stdev(scores, mean), tuple(deciles), len(scores))

    @property
    def numbers(self) -> dict[str, Any]:
        """The statistics without their source, as JSON has them."""
        numbers = {name: getattr(self, name) for name in ("mean", "deviation", "deciles", "pairs")}
        return {**numbers, "deciles": list(self.deciles)}

    @property
    def is_valid(self) -> bool:
        """True if these can be the figures of some scores."""
        numbers = (self.mean, self.deviation, *self.deciles)
        return (
            all(type(number) in (int, float) and math.isfinite(number) for number in numbers)
            and self.deviation >= 0
            and len(self.deciles) == 9
            and sorted(self.deciles) == list(self.deciles)
            and type(self.pairs) is int
        )

    def verdict(self, score: float, best: float) -> str:
        """How close two texts of this score are, in words; `best` is what a copy scores.

        Closer is better than the mean of unrelated texts by two deviations, far closer by three;
        hardly closer is better than nine in ten of them, farther is worse than nine in ten.

        >>> stats = BaselineStats.of([0.5, 0.55, 0.6, 0.65, 0.7])
        >>> [stats.verdict(score, best=0.0) for score in (0.0, 0.2, 0.4, 0.5, 0.6)]
        ['a copy', 'far closer than', 'closer than', 'hardly closer than', 'about as far as']
        >>> stats.verdict(0.8, best=0.0)
        'farther than'
        """
        if score == best:
            return "a copy"
        sign = -1 if best < self.mean else 1
        values = (score, self.deciles[0], self.deciles[-1])
        gain, *nine_in_ten = (sign * (value - self.mean) for value in values)
        for words, deviations in VERDICTS.items():
            if gain > deviations * self.deviation:
                return words
        if gain > max(nine_in_ten):
            return "hardly closer than"
        return "about as far as" if gain >= min(nine_in_ten) else "farther than"

    def rescale(self, score: float, best: float) -> float:
        """1 for the best score, 0 for what unrelated texts score, below 0 for a worse one.

        >>> BaselineStats.of([0.5, 1.0]).rescale(0.5, best=0.0).__round__(3)
        0.333
        """
        if not math.isfinite(best) or self.mean == best:
            raise BaselineNotFoundError(
                f"rescale_with_baseline needs a best score that unrelated texts do not "
                f"have; it is {best}, and they score {self.mean}"
            )
        return (self.mean - score) / (self.mean - best)


@dataclass(frozen=True, eq=False)
class Baseline:
    """The statistics of unrelated texts' scores by `Key`, and where they come from."""

    stats: Mapping[Key, BaselineStats] = field(repr=False)
    source: str = "file"

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that stand for the contents."""
        return stable_hash(self._records())[:12]

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Baseline) else False

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __str__(self) -> str:
        """What a signature shows."""
        return f"{self.source}-{self.fingerprint}"

    def find(self, signature: Signature, weights: str, references: int) -> BaselineStats:
        """Return the statistics for a signature; raise BaselineNotFoundError if there are none."""
        key = baseline_key(signature, weights, references)
        if key in self.stats:
            return replace(self.stats[key], source=self.source)
        if not self.stats:
            raise BaselineNotFoundError(
                f"the {self.source} has no baseline for this metric; {REMEDY}"
            )
        entries = [entry for entry in self.stats if entry[1:] == key[1:]]
        single = key[0].without(MULTI_REFERENCE_FIELDS), weights
        counts = [
            count
            for fields, kind, count in self.stats
            if (fields.without(MULTI_REFERENCE_FIELDS), kind) == single
        ]
        if not entries and counts:
            size = "1 reference" if max(counts) == 1 else f"up to {max(counts)} references"
            raise BaselineNotFoundError(
                f"the {self.source}'s baseline is for {size}, and a pair has {references}; {REMEDY}"
            )
        problems = (fields.differences(key[0]) for fields, *_ in entries or self.stats)
        problem = min(problems, key=len) or "other weights"
        raise BaselineNotFoundError(
            f"the {self.source}'s baseline does not fit: {problem}; {REMEDY}"
        )

    def sign(self, signature: Signature) -> Signature:
        """Return the signature of scores that this baseline rescales."""
        return signature.with_fields({"baseline": str(self)}, before="model")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the baseline to a JSON file."""
        head = {"format": FORMAT, "version": VERSION, "fingerprint": self.fingerprint}
        lines = ",\n".join(json.dumps(record) for record in self._records())
        text = json.dumps(head)[:-1] + ', "spreads": [\n' + lines + "\n]}\n"
        write_text(path, text)

    @classmethod
    def load(cls, path: str | os.PathLike[str], source: str = "file") -> Baseline:
        """The baseline that `save` wrote; raises ValueError if the file is something else."""
        try:
            record = json.loads(Path(path).read_bytes())
            baseline = cls(dict(map(_read_record, record["spreads"])), source)
            # Older files have no fingerprint.
            fingerprint = record.get("fingerprint", baseline.fingerprint)
            head = (record["format"], record["version"], fingerprint)
            if head != (FORMAT, VERSION, baseline.fingerprint):
                raise ValueError
            return baseline
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise ValueError(
                f"{os.fspath(path)!r} is not a baseline, or a damaged one; make it again with "
                "`infolm baseline`"
            ) from None

    def _records(self) -> list[dict[str, Any]]:
        return [
            {"signature": signature, "weights": weights, "references": references, **stats.numbers}
            for (signature, weights, references), stats in self.stats.items()
        ]


def _read_record(record: dict[str, Any]) -> tuple[Key, BaselineStats]:
    signature, weights, references = map(record.pop, ("signature", "weights", "references"))
    key = (Signature.parse(signature), weights, references)
    stats = BaselineStats(**{**record, "deciles": tuple(record["deciles"])})
    if [*map(type, key)] != [Signature, str, int] or not stats.is_valid:
        raise ValueError
    return key, stats


def baseline_key(signature: Signature, weights: str, references: int) -> Key:
    """Return the key of the statistics for a score.

    >>> signature = Signature({"metric": "menli", "infolm.idf": False, "multi_reference": "max"})
    >>> baseline_key(signature, "uniform", 1)
    ('metric:menli', 'uniform', 1)
    """
    nested = [name for name in signature.fields if name.rpartition(".")[2] in WEIGHT_FIELDS]
    names = (*NOT_IN_KEY, *nested, *(MULTI_REFERENCE_FIELDS if references == 1 else ()))
    return signature.without(names), weights, references


def resolve_baseline(
    metric: str, value: Any, name: str = "rescale_with_baseline"
) -> Baseline | None:
    """The baseline that an argument asks for: True (the package's), a file's path, or none.

    Raises TypeError or ValueError for anything else.

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
        raise TypeError(f"{name} must be True, False or the path of a baseline, got {value!r}")
    path = Path(value).expanduser()
    if not path.is_file():
        raise ValueError(
            f"{name} must be True, False or the path of a baseline; there is no file "
            f"{str(path)!r}; make one with `infolm baseline`"
        )
    return Baseline.load(path)


@cache
def package_baseline(metric: str) -> Baseline:
    """The baseline that the package has for a metric, an empty one where it has none."""
    path = BUNDLED_FOLDER / f"{metric}_baseline.json"
    return Baseline.load(path, PACKAGE) if path.is_file() else Baseline({}, PACKAGE)


def most_frequent(
    stats: Mapping[int, Mapping[str, BaselineStats]], counts: Mapping[int, int]
) -> Mapping[str, BaselineStats] | None:
    """Return the statistics for the number of references that most pairs have, or None."""
    return stats.get(max(counts, key=lambda count: counts[count])) if stats else None


def unrelated_pairs(texts: Sequence[str], pairs: int, references: int) -> Iterator[Pairs]:
    """Up to `pairs` pairs of different texts, for each number of references up to `references`.

    They are drawn by a hash. At most 2 * `pairs` texts are read; where there are fewer, each is
    paired with several others. Raises ValueError if there are not more texts than references.

    >>> [len(part) for part in unrelated_pairs([f"text {i}" for i in range(40)], 500, 2)]
    [360, 360]
    """
    ring = sorted(set(texts), key=stable_hash)[: 2 * pairs]
    size = len(ring)
    if references >= size:
        raise ValueError(
            f"references must be fewer than the distinct texts, which are {size}, got "
            f"{references}; give a larger corpus"
        )
    laps = min(-(-pairs // size), max(1, (size - 1) // (2 * references)))
    stride = max(1, size // (laps * references + 1))

    def references_of(position: int, count: int) -> list[str]:
        """The references of a pair, all of them away from its candidate and its other pairs'."""
        first = position // size * references + 1
        return [ring[(position + (first + step) * stride) % size] for step in range(count)]

    for count in range(1, references + 1):
        yield Pairs.of(
            (ring[position % size], references_of(position, count))
            for position in range(min(pairs, laps * size))
        )


def stable_hash(texts: Any) -> str:
    """A hash of texts, or of lists of them."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()
