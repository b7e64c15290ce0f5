"""What unrelated texts score: the foot of the scale on which a copy is 1 and they are 0.

A baseline comes from a file that `infolm baseline` made, or from the package. It belongs to all
that can change a score: the measure, the model, how texts are read, the kind of weights, and the
number of references, of which the closest is closer where there are more.
"""

from __future__ import annotations

import json
import math
import os
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from infolm_metric.kernel.checks import BUNDLED_FOLDER
from infolm_metric.kernel.lines import write_text
from infolm_metric.kernel.signatures import differences, without
from infolm_metric.kernel.unrelated_pairs import digest_of

FORMAT, VERSION = "infolm baseline", 1
PACKAGE = "package"
VERDICTS = {"far closer than": 3, "closer than": 2}  # deviations from what unrelated texts score
OF_WEIGHTS = ("idf", "weights")  # also those of a metric that is combined
UNSIGNED = (*OF_WEIGHTS, "baseline", "infolm", "transformers", "torch")
"""Fields of a signature that a baseline does not depend on, or that its key holds otherwise."""
OF_SEVERAL = ("multi_reference",)
"""Fields that a baseline for one reference does not depend on either."""

REMEDY = "make one with `infolm baseline CORPUS -o FILE` and these very settings and give its path"

Key = tuple[str, str, int]
"""A score's signature without UNSIGNED, the weights used, and the number of references."""


class NoBaseline(ValueError):
    """There is no baseline for these settings."""


@dataclass(frozen=True)
class Spread:
    """How the scores of unrelated texts lie: the nine deciles divide them into ten equal parts."""

    mean: float
    deviation: float
    deciles: tuple[float, ...]
    pairs: int

    @classmethod
    def of(cls, scores: Sequence[float]) -> Spread:
        """The spread of at least two scores.

        >>> Spread.of([0.5, 0.75, 1.0]).mean
        0.75
        """
        # Of scores near the largest number the squares are none, so they are halved often enough.
        shift = max(0, math.frexp(max(map(abs, scores)))[1] - 256)
        small = [math.ldexp(score, -shift) for score in scores]
        mean = statistics.fmean(small)
        tenths = statistics.quantiles(small, n=10, method="inclusive")
        found = (mean, statistics.stdev(small, mean), *tenths)
        mean, deviation, *deciles = (math.ldexp(value, shift) for value in found)
        return cls(mean, deviation, tuple(deciles), len(scores))

    @property
    def sound(self) -> bool:
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

        >>> spread = Spread.of([0.5, 0.55, 0.6, 0.65, 0.7])
        >>> [spread.verdict(score, best=0.0) for score in (0.0, 0.2, 0.4, 0.5, 0.6)]
        ['a copy', 'far closer than', 'closer than', 'hardly closer than', 'about as far as']
        >>> spread.verdict(0.8, best=0.0)
        'farther than'
        """
        if score == best:
            return "a copy"
        sign = -1 if best < self.mean else 1
        outer = (self.deciles[0], self.deciles[-1])
        gain, *nine_in_ten = (sign * (each - self.mean) for each in (score, *outer))
        for words, deviations in VERDICTS.items():
            if gain > deviations * self.deviation:
                return words
        if gain > max(nine_in_ten):
            return "hardly closer than"
        return "about as far as" if gain >= min(nine_in_ten) else "farther than"


@dataclass(frozen=True, eq=False)
class Baseline:
    """The spreads of unrelated texts' scores by `Key`, and where they come from."""

    spreads: Mapping[Key, Spread] = field(repr=False)
    source: str = "file"

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that stand for the contents."""
        return digest_of(self._records())[:12]

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, Baseline) else False

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __str__(self) -> str:
        """What a signature shows."""
        return f"{self.source}-{self.fingerprint}"

    def spread(self, signature: str, weights: str, references: int) -> Spread:
        """The spread for a score of this signature; raises NoBaseline if there is none."""
        key = key_of(signature, weights, references)
        if key in self.spreads:
            return self.spreads[key]
        if not self.spreads:
            raise NoBaseline(f"the {self.source} has no baseline for this metric; {REMEDY}")
        alike = [one for one, used, number in self.spreads if (used, number) == key[1:]]
        bare = without(key[0], OF_SEVERAL)
        counts = [
            number
            for one, used, number in self.spreads
            if used == weights and without(one, OF_SEVERAL) == bare
        ]
        if not alike and counts:
            raise NoBaseline(
                f"the {self.source}'s baseline is for up to {max(counts)} references, and a pair "
                f"has {references}; {REMEDY}"
            )
        near = alike or [one for one, *_ in self.spreads]
        shown = min((differences(one, key[0]) for one in near), key=len) or "other weights"
        raise NoBaseline(f"the {self.source}'s baseline does not fit: {shown}; {REMEDY}")

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
            if (record["format"], record["version"]) != (FORMAT, VERSION):
                raise ValueError
            spreads = {}
            for each in record["spreads"]:
                key = (each.pop("signature"), each.pop("weights"), each.pop("references"))
                spread = Spread(**{**each, "deciles": tuple(each["deciles"])})
                if [*map(type, key)] != [str, str, int] or not spread.sound:
                    raise ValueError
                spreads[key] = spread
            found = cls(spreads, source)
            told = record.get("fingerprint", found.fingerprint)  # which older files lack
            if told != found.fingerprint:
                raise ValueError
            return found
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RecursionError,
            TypeError,
            ValueError,
        ):
            raise ValueError(
                f"{os.fspath(path)!r} is not a baseline, or a damaged one; make it again with "
                "`infolm baseline`"
            ) from None

    def _records(self) -> list[dict[str, Any]]:
        return [
            {"signature": signature, "weights": weights, "references": references, **asdict(spread)}
            for (signature, weights, references), spread in self.spreads.items()
        ]


def key_of(signature: str, weights: str, references: int) -> Key:
    """What a spread belongs to.

    >>> key_of("metric:infolm|idf:no|multi_reference:min|model:m|torch:2", "uniform", 1)
    ('metric:infolm|model:m', 'uniform', 1)
    >>> key_of("metric:menli|combine_with:infolm|infolm.idf:no|infolm.weights:uniform", "idf", 1)
    ('metric:menli|combine_with:infolm', 'idf', 1)
    """
    fields = [part.partition(":")[0] for part in signature.split("|")]
    nested = [name for name in fields if name.rpartition(".")[2] in OF_WEIGHTS]
    left_out = (*UNSIGNED, *nested, *(OF_SEVERAL if references == 1 else ()))
    return without(signature, left_out), weights, references


def baseline_source(name: str, value: Any) -> bool | Baseline:
    """What the setting `rescale_with_baseline` can be: False, True or a file's path."""
    return value if isinstance(value, bool) else baseline_file(name, value, "True, False or ")


def baseline_file(name: str, value: Any, more: str = "") -> Baseline:
    """The baseline of a file's path; `more` says what else the setting can be."""
    if isinstance(value, Baseline):
        return value
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be {more}the path of a baseline, got {value!r}")
    path = os.path.expanduser(value)
    if not os.path.isfile(path):
        raise ValueError(
            f"{name} must be {more}the path of a baseline; there is no file {path!r}; make one "
            "with `infolm baseline`"
        )
    return Baseline.load(path)


def of_the_package(metric: str) -> Baseline:
    """The baseline that ships with the package for a metric; an empty one if there is none.

    >>> str(of_the_package("infolm"))[:8], len(of_the_package("another").spreads)
    ('package-', 0)
    """
    path = BUNDLED_FOLDER / f"{metric}_baseline.json"
    return Baseline.load(path, PACKAGE) if path.is_file() else Baseline({}, PACKAGE)


def rescaled(score: float, mean: float, best: float) -> float:
    """1 for the best score, 0 for what unrelated texts score, below 0 for a worse one.

    >>> rescaled(0.5, mean=0.75, best=0.0).__round__(3)
    0.333
    """
    if not math.isfinite(best) or mean == best:
        raise NoBaseline(
            f"rescale_with_baseline needs a best score that unrelated texts do not "
            f"have; it is {best}, and they score {mean}"
        )
    return (mean - score) / (mean - best)
