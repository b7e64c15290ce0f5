"""How often a metric prefers the paraphrase to the attacked text, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from infolm_metric.meta_evaluation.significance import draw, percentile_interval
from infolm_metric.robustness.attacks import ATTACKS, KINDS
from infolm_metric.robustness.suite import ABSOLUTE, RELATIVE, Triple

Interval = tuple[float, float, float]  # value, low, high
GROUPS = ("all", *KINDS)


class Attacks:
    """Cases with a paraphrase, and the pairs of texts that they need, each once."""

    def __init__(self, triples: Sequence[Triple], resamples: int) -> None:
        self.triples = [each for each in triples if each.paraphrase is not None]
        self.resamples = resamples
        self.singles = list(
            dict.fromkeys(single for each in self.triples for single in _couples(each))
        )
        """(candidate, anchor), in which the candidate is a paraphrase or an attacked anchor."""

    def pairs(self) -> tuple[list[str], list[list[str]]]:
        """The single pairs as candidates and their references."""
        return [text for text, _ in self.singles], [[anchor] for _, anchor in self.singles]

    def halves(self) -> tuple[Attacks, Attacks]:
        """The cases of every other anchor, and the rest."""
        places = self._places
        first, second = (
            [each for each, at in zip(self.triples, places, strict=True) if at % 2 == half]
            for half in (0, 1)
        )
        return Attacks(first, self.resamples), Attacks(second, self.resamples)

    def preferred(self, scores: Mapping[tuple[str, str], float]) -> np.ndarray:
        """Whether the paraphrase scores better, [cases]; a tie is a miss. Higher is better."""
        one, other = (
            np.asarray([scores[_couples(each)[side]] for each in self.triples]) for side in (0, 1)
        )
        return (one > other) & ~np.isclose(one, other, rtol=RELATIVE, atol=ABSOLUTE)

    def accuracy(self, preferred: np.ndarray, group: str = "all") -> Interval:
        """The mean over the attacks of a group, with its 95% interval over the anchors."""
        spread = self.spread(preferred, group)
        return (float(spread[0]), *percentile_interval(spread[1:]))

    def gain(self, preferred: np.ndarray, other: np.ndarray) -> Interval:
        """How much larger the first's accuracy is, with the interval of the difference."""
        spread = self.spread(preferred) - self.spread(other)
        return (float(spread[0]), *percentile_interval(spread[1:]))

    def spread(self, preferred: np.ndarray, group: str = "all") -> np.ndarray:
        """The accuracy on the cases as they are, then on each resample, [1 + resamples]."""
        shape = (1 + max(self._places), len(ATTACKS))
        hits, cases = np.zeros(shape), np.zeros(shape)
        np.add.at(hits, (self._places, self._attacks), preferred)
        np.add.at(cases, (self._places, self._attacks), 1)
        chosen = [at for at, each in enumerate(ATTACKS.values()) if group in ("all", each.kind)]
        drawn = draw(1, shape[0], self.resamples, over="samples").samples
        times = np.concatenate([np.ones((1, shape[0])), drawn])
        with np.errstate(invalid="ignore"):  # no case of an attack
            return np.nanmean((times @ hits[:, chosen]) / (times @ cases[:, chosen]), axis=1)

    @cached_property
    def _places(self) -> list[int]:
        numbers = {anchor: at for at, anchor in enumerate(dict.fromkeys(self._anchors))}
        return [numbers[anchor] for anchor in self._anchors]

    @property
    def _anchors(self) -> list[str]:
        return [each.anchor for each in self.triples]

    @cached_property
    def _attacks(self) -> list[int]:
        return [list(ATTACKS).index(each.attack) for each in self.triples]


def _couples(triple: Triple) -> tuple[tuple[str, str], tuple[str, str]]:
    return (str(triple.paraphrase), triple.anchor), (triple.adversary, triple.anchor)
