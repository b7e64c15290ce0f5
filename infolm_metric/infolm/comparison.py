"""Candidates beside their references, as plain values: what is compared with what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from infolm_metric.infolm import measures
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.idf.weights import normalised_log_weights
from infolm_metric.kernel.pairs import Pair
from infolm_metric.kernel.tokens import TokenizedText

COMPARED_ELEMENTS = 1 << 22  # entries of the distributions compared in one step

Key = tuple[bytes, bytes]


def portions(pairs: Iterable[Pair], room: int) -> Iterator[list[Pair]]:
    """The pairs in order, in portions of at most `room` pairs and `room` distinct texts.

    A pair with more texts than that is a portion of its own.

    >>> [len(portion) for portion in portions([("a", ["b"]), ("b", ["a"]), ("c", ["d"])], 2)]
    [2, 1]
    """
    portion: list[Pair] = []
    seen: set[str] = set()
    for candidate, references in pairs:
        texts = {candidate, *references}
        if portion and (len(seen | texts) > room or len(portion) == room):
            yield portion
            portion, seen = [], set()
        portion.append((candidate, references))
        seen |= texts
    if portion:
        yield portion


@dataclass(frozen=True)
class Reading:
    """A text as it is to be scored: its tokens and their weights."""

    key: Key  # equal for equal tokens with equal weights
    text: TokenizedText
    log_weights: np.ndarray  # float64 [maskable]
    weightless: bool = False  # its weights were all 0, so they are uniform: worth a warning

    @classmethod
    def of(cls, text: TokenizedText, table: np.ndarray | None) -> Reading:
        """The reading of a text with the weights of a table [vocab], or uniform ones for None."""
        log_weights = normalised_log_weights(text, table)
        weightless = bool(table is not None and len(text.tokens) and not table[text.tokens].any())
        return cls((text.ids.tobytes(), log_weights.tobytes()), text, log_weights, weightless)

    @property
    def masks(self) -> int:
        """Number of masked contexts the model has to read for it."""
        return max(1, int((self.log_weights > -np.inf).sum()))


@dataclass(frozen=True)
class Comparison:
    """One row of results: a measure with its parameters, at one of the pass's temperatures, and
    with one of its ways to weigh tokens.
    """

    measure: str
    alpha: float | None
    beta: float | None
    symmetrize: str
    multi_reference: str
    temperature: int = 0  # index
    weighting: int = 0  # index

    @classmethod
    def of(cls, measure: str, settings: Settings, temperature: int, weighting: int) -> Comparison:
        """The comparison that `settings` ask for."""
        return cls(
            measure,
            settings.alpha,
            settings.beta,
            settings.symmetrize,
            settings.multi_reference,
            temperature,
            weighting,
        )


@dataclass(frozen=True)
class Couples:
    """Each candidate with each of its references: pair i has `counts[i]` couples."""

    candidates: list[Reading]  # [pairs]
    references: list[Reading]  # [couples]
    counts: np.ndarray  # int [pairs]

    def keys(self) -> list[tuple[Key, Key]]:
        """(candidate, reference) of every couple, [couples]."""
        owners = np.repeat(np.arange(len(self.candidates)), self.counts)
        return [
            (self.candidates[owner].key, reference.key)
            for owner, reference in zip(owners, self.references, strict=True)
        ]

    def compare(self, found: Mapping[Key, Tensor], comparisons: Sequence[Comparison]) -> np.ndarray:
        """Every comparison of every couple, float64 [comparisons, couples].

        `found` holds log p [temperatures, vocab] of every text.
        """
        keys = self.keys()
        step = max(1, COMPARED_ELEMENTS // next(iter(found.values())).numel())
        values = []
        for start in range(0, len(keys), step):
            part = keys[start : start + step]
            log_q = torch.stack([found[candidate] for candidate, _ in part])
            log_p = torch.stack([found[reference] for _, reference in part])
            rows = [
                measures.compare(
                    c.measure,
                    log_p[:, c.temperature],
                    log_q[:, c.temperature],
                    symmetrize=c.symmetrize,
                    alpha=c.alpha,
                    beta=c.beta,
                )
                for c in comparisons
            ]
            values.append(torch.stack(rows).cpu().numpy())
        return np.concatenate(values, axis=1)

    def combine(self, values: np.ndarray, multi_reference: str) -> np.ndarray:
        """One score a pair from those of its couples: [..., couples] -> [..., pairs]."""
        starts = np.cumsum(self.counts) - self.counts
        closest = np.minimum.reduceat(values, starts, axis=-1)
        if multi_reference == "min":
            return closest
        # Divided first, because the sum of very large scores could overflow, and held between the
        # smallest and the largest, because rounding could still carry it beyond.
        shares = values / np.repeat(self.counts, self.counts)
        with np.errstate(over="ignore"):
            mean = np.add.reduceat(shares, starts, axis=-1)
        return mean.clip(closest, np.maximum.reduceat(values, starts, axis=-1))
