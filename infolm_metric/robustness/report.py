"""What a metric notices: accuracy, ties and sensitivity for each attack, and their means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from infolm_metric.kernel.checks import fraction, natural_number, whole_number
from infolm_metric.robustness.attacks import ADEQUACY, ATTACKS, FLUENCY
from infolm_metric.robustness.triples import Triple

CONFIDENCE = 0.95
RELATIVE, ABSOLUTE = 1e-6, 1e-9  # what float32 cannot tell apart, two scores may not either
GROUPS = ("all", ADEQUACY, FLUENCY)


@dataclass(frozen=True)
class CaseScores:
    """The scores of a case against its anchor, higher is better; None where there is no such text.

    `copy` is the score of the anchor itself, where that is needed.
    """

    paraphrase: float | None
    adversary: float | None
    paraphrase_adversary: float | None
    copy: float | None = None

    @property
    def preference(self) -> tuple[float, float] | None:
        """The paraphrase's score and the attacked anchor's."""
        return _both(self.paraphrase, self.adversary)

    @property
    def sensitivity(self) -> tuple[float, float] | None:
        """The scores of a text and of the same one attacked: the paraphrase, else the anchor."""
        own = _both(self.paraphrase, self.paraphrase_adversary)
        return own or _both(self.copy, self.adversary)


@dataclass(frozen=True)
class AttackResult:
    """How a metric does on one attack; shares are from 0 to 1, and None where there is no case.

    Attributes:
        attack: its name.
        kind: "adequacy" or "fluency".
        cases: how many have the scores of a text and of the same text attacked.
        n: how many have the scores of a paraphrase and of the attacked anchor.
        accuracy: the share of the `n` in which the paraphrase scores better.
        low: the lower end of its 95% interval after Wilson.
        high: the upper end.
        ties: the share of the `n` with equal scores, which are misses.
        sensitivity: the share of the `cases` in which the text scores better than the same text
            attacked: the paraphrase, or else the anchor.
    """

    attack: str
    kind: str
    cases: int
    n: int
    accuracy: float | None
    low: float | None
    high: float | None
    ties: float | None
    sensitivity: float | None

    def as_dict(self) -> dict[str, Any]:
        """The numbers as `infolm robustness --json` gives them."""
        names = ("n", "accuracy", "low", "high", "ties", "sensitivity")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class MetricResult:
    """How a metric does on every attack.

    Attributes:
        signature: that of the metric's scores; None for scores made elsewhere.
        attacks: attack -> result, for those that the cases have, in the order of `ATTACKS`.
    """

    signature: str | None
    attacks: Mapping[str, AttackResult]

    def macro(self, what: str = "accuracy") -> dict[str, float | None]:
        """The means over the attacks, of which each counts alike.

        Args:
            what: "accuracy", "sensitivity" or "ties".

        Returns:
            The mean over "all", over those of "adequacy" and over those of "fluency"; None where
            none has a case.
        """
        found: dict[str, float | None] = {}
        for group in GROUPS:
            values = [
                getattr(each, what) for each in self.attacks.values() if group in ("all", each.kind)
            ]
            there = [value for value in values if value is not None]
            found[group] = sum(there) / len(there) if there else None
        return found

    def as_dict(self) -> dict[str, Any]:
        """The numbers as `infolm robustness --json` gives them."""
        return {
            "signature": self.signature,
            "attacks": {name: each.as_dict() for name, each in self.attacks.items()},
            "macro": self.macro(),
            "macro_sensitivity": self.macro("sensitivity"),
        }


@dataclass(frozen=True)
class Robustness:
    """How several metrics do on the same cases.

    Attributes:
        metrics: metric -> result.
    """

    metrics: Mapping[str, MetricResult]

    def as_dict(self) -> dict[str, Any]:
        """What `infolm robustness --json` gives."""
        return {"metrics": {name: each.as_dict() for name, each in self.metrics.items()}}


def wilson_interval(hits: int, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The score interval of a share (Wilson 1927), which stays within [0, 1] for few cases, too.

    Args:
        hits: how many of the cases count, from 0 to `n`.
        n: the number of cases, at least 1.
        confidence: how often such an interval holds the true share, between 0 and 1.

    Returns:
        The lower and the upper end, from 0 to 1.

    Raises:
        TypeError, ValueError: `hits` or `n` is no whole number or out of range, or `confidence` is
            no number above 0 and below 1.

    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    hits, n = natural_number("hits", hits), whole_number("n", n)
    if hits > n:
        raise ValueError(f"hits must be at most n, got {hits} of {n}")
    z = NormalDist().inv_cdf((1 + fraction("confidence", confidence)) / 2)
    share, spread = hits / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    reach = z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def summarise(triples: Sequence[Triple], scores: Sequence[CaseScores]) -> dict[str, AttackResult]:
    """The result for each attack that the cases have, in the order of the table of attacks.

    Attacks of the user's own come last.
    """
    found: dict[str, AttackResult] = {}
    for name in dict.fromkeys([*ATTACKS, *(triple.attack for triple in triples)]):
        own = [
            (triple, score)
            for triple, score in zip(triples, scores, strict=True)
            if triple.attack == name
        ]
        if own:
            found[name] = _result(own[0][0], [score for _, score in own])
    return found


def _result(first: Triple, scores: Sequence[CaseScores]) -> AttackResult:
    preferred = _judged(score.preference for score in scores)
    noticed = _judged(score.sensitivity for score in scores)
    n, hits = len(preferred), preferred.count(1)
    low, high = wilson_interval(hits, n) if n else (None, None)
    return AttackResult(
        first.attack,
        first.kind,
        len(noticed),
        n,
        hits / n if n else None,
        low,
        high,
        preferred.count(0) / n if n else None,
        noticed.count(1) / len(noticed) if noticed else None,
    )


def _judged(couples: Iterable[tuple[float, float] | None]) -> list[int]:
    """1 where the first scores better, 0 for a tie, -1 where it scores worse."""
    return [
        0 if math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE) else (one > other) * 2 - 1
        for one, other in (couple for couple in couples if couple is not None)
    ]


def _both(one: float | None, other: float | None) -> tuple[float, float] | None:
    return None if one is None or other is None else (one, other)
