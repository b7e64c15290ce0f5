"""MENLI combined with another metric: w N + (1 - w) M, both brought to [0, 1] first.

N is the value of a formula and M the score of the other metric, with 1 for the best score. What
[0, 1] stands for is either fixed, or the smallest and the largest score of a call. Source: Chen and
Eger, TACL 2023, section 4.3, who take the latter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infolm_metric import metrics
from infolm_metric.kernel.checks import nearest, number

if TYPE_CHECKING:
    import numpy as np

    from infolm_metric.kernel.settings import Settings

OWN = "menli"
FIXED, MINMAX = "fixed", "minmax"
Range = tuple[float, float]
"""The scores that stand for 0 and 1; where lower is better, for 1 and 0."""


@dataclass(frozen=True)
class Companion:
    """A metric to combine with: its name, the settings given for it, and its usual model."""

    metric: str
    given: tuple[tuple[str, Any], ...] = ()
    model: str = ""

    def __repr__(self) -> str:
        return repr({"metric": self.metric, **dict(self.given)} if self.given else self.metric)

    def settings(self, inherited: Mapping[str, Any]) -> Settings:
        """Its settings: those given, else those of `inherited` that it has, else its own."""
        kind = metrics.find(self.metric).settings_type()
        usual = {"model_name_or_path": self.model} if self.model else {}
        known = {
            name: value for name, value in {**usual, **inherited}.items() if name in kind.choices()
        }
        found: Settings = kind.of(**{**known, **dict(self.given)})
        return found


@dataclass(frozen=True)
class Ranges:
    """What stands for 0 and 1, by part of a combination; None: as "fixed" says."""

    nli: Range | None = None
    metric: Range | None = None

    def __str__(self) -> str:
        """What a signature shows.

        >>> print(Ranges(metric=(0.25, 0.75)))
        metric[0.25,0.75]
        """
        given = {name: found for name, found in vars(self).items() if found is not None}
        return "+".join(f"{name}[{low!r},{high!r}]" for name, (low, high) in given.items())


def companion(name: str, value: Any) -> Companion | tuple[float, ...]:
    """What the setting `combine_with` can be: a metric, or a score of each pair.

    >>> companion("combine_with", "infolm")
    'infolm'
    >>> companion("combine_with", [0.5, 0.25])
    (0.5, 0.25)
    >>> companion("combine_with", "menli")
    Traceback (most recent call last):
    ValueError: combine_with must be another metric than menli
    """
    if isinstance(value, Companion):
        return value
    if isinstance(value, str):
        value = _read(name, value) if value.startswith("{") else {"metric": value}
    if isinstance(value, Mapping):
        return _named(name, value)
    scores = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(scores, Sequence) or isinstance(scores, bytes):
        raise TypeError(
            f"{name} must be the name of a metric, a dictionary with its name and settings, or a "
            f"list with a score of each pair, got {value!r}"
        )
    return tuple(number(f"{name}[{index}]", score) for index, score in enumerate(scores))


def _named(name: str, value: Mapping[str, Any]) -> Companion:
    """The metric that a dictionary names, its settings checked; the environment is read here."""
    given = dict(value)
    metric = given.pop("metric", None)
    others = [each for each in metrics.METRICS if each != OWN]
    if metric == OWN:
        raise ValueError(f"{name} must be another metric than {OWN}")
    if metric not in others:
        raise ValueError(f"{name} must name a metric, got {metric!r}; {nearest(metric, others)}")
    own = metrics.find(metric).settings_type().of(**given)
    kept = tuple((each, getattr(own, each)) for each in given)
    return Companion(metric, kept, getattr(own, "model_name_or_path", None) or "")


def normalization(name: str, value: Any) -> str | Ranges:
    """What the setting `normalize` can be: "fixed", "minmax", or the ranges of the parts.

    >>> normalization("normalize", {"metric": (0, 1)})
    Ranges(nli=None, metric=(0.0, 1.0))
    >>> normalization("normalize", {"nli": (1, 0)})
    Traceback (most recent call last):
    ValueError: normalize['nli'] must be (low, high) with low <= high, got (1, 0)
    """
    if isinstance(value, Ranges):
        return value
    if isinstance(value, str) and value.startswith("{"):
        value = _read(name, value)
    if isinstance(value, str) and value in (FIXED, MINMAX):
        return value
    if isinstance(value, str):
        raise ValueError(f"unknown {name} {value!r}; {nearest(value, (FIXED, MINMAX))}")
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{name} must be {FIXED!r}, {MINMAX!r}, or ranges such as "
            f"{{'nli': (0, 1), 'metric': (0, 1)}}, got {value!r}"
        )
    if not value or (unknown := sorted(set(map(str, value)) - set(vars(Ranges())))):
        shown = repr(unknown[0]) if value else "nothing"
        raise ValueError(f"{name} must hold ranges of 'nli' and of 'metric', got {shown}")
    return Ranges(**{part: _range(f"{name}[{part!r}]", given) for part, given in value.items()})


def _range(name: str, value: Any) -> Range:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        raise TypeError(f"{name} must be (low, high), got {value!r}")
    low, high = (number(name, end) for end in value)
    if low > high:  # equal ones are what "minmax" returns for constant scores
        raise ValueError(f"{name} must be (low, high) with low <= high, got {value!r}")
    return low, high


def _read(name: str, value: str) -> Any:
    """What JSON on the command line stands for."""
    try:
        return json.loads(value)
    except ValueError as error:
        raise ValueError(
            f"{name} is not the JSON it begins like ({error}), got {value!r}"
        ) from None


def scaled(scores: np.ndarray, ends: Range, higher: bool = True) -> np.ndarray:
    """Scores [pairs] on the scale on which `ends` are 0 and 1; where lower is better, 1 and 0.

    Where both ends are the same, as those of constant scores, all are in the middle.

    >>> import numpy as np
    >>> scaled(np.array([1.0, 2.0, 3.0]), (1.0, 3.0)), scaled(np.array([4.0]), (4.0, 4.0))
    (array([0. , 0.5, 1. ]), array([0.5]))
    """
    low, high = ends
    if low == high:
        return 0 * scores + 0.5
    # In halves, because the distance of the largest numbers is none.
    gained = scores / 2 - low / 2 if higher else high / 2 - scores / 2
    return gained / (high / 2 - low / 2)


def extremes(scores: np.ndarray) -> Range:
    """The smallest and the largest score."""
    return float(scores.min()), float(scores.max())
