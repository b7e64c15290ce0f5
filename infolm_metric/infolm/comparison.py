"""Candidates beside their references, as plain values: what is compared with what."""

from __future__ import annotations

import math
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
    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """Its distinct tokens, int64, and the logarithms of their weights in it, float64."""
        tokens, owner = np.unique(self.text.tokens, return_inverse=True)
        with np.errstate(divide="ignore"):
            return tokens, np.log(np.bincount(owner, np.exp(self.log_weights), len(tokens)))

    @property
    def masks(self) -> int:
        """Number of masked contexts the model has to read for it."""
        return max(1, int((self.log_weights > -np.inf).sum()))


def interpolated(log_p: Tensor, readings: Sequence[Reading], share: float) -> Tensor:
    """log((1 - share) p + share m), m being a text's own tokens by weight: [texts, vocab], float64.

    Jelinek-Mercer interpolation (Zhai and Lafferty 2004). A text without tokens keeps its p.
    """
    if not share:
        return log_p
    owns = [reading.own for reading in readings]
    counts = torch.tensor([len(tokens) for tokens, _ in owns])
    rows = torch.arange(len(owns)).repeat_interleave(counts).to(log_p.device)
    columns, log_mass = (
        torch.from_numpy(np.concatenate([own[part] for own in owns])).to(log_p.device)
        for part in (0, 1)
    )
    rest = torch.tensor(1.0 - share, dtype=torch.float64).log()
    mixed = log_p + torch.where(counts > 0, rest, 0.0).to(log_p.device)[:, None]
    mixed[rows, columns] = torch.logaddexp(mixed[rows, columns], log_mass + math.log(share))
    return mixed


@dataclass(frozen=True)
class Comparison:
    """One row of results: a measure, its parameters, a temperature and a way to weigh tokens."""

    measure: str
    alpha: float | None
    beta: float | None
    symmetrize: str
    multi_reference: str
    temperature: int = 0  # index
    weighting: int = 0  # index
    interpolation: float = 0.0

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
            settings.interpolation,
        )


@dataclass(frozen=True)
class Couples:
    """Each candidate with each of its references: pair i has `counts[i]` couples."""

    candidates: list[Reading]  # [pairs]
    references: list[Reading]  # [couples]
    counts: np.ndarray  # int [pairs]

    @property
    def sides(self) -> tuple[list[Reading], list[Reading]]:
        """The candidate and the reference of every couple, [couples] each."""
        owners = np.repeat(np.arange(len(self.candidates)), self.counts)
        return [self.candidates[owner] for owner in owners], self.references

    def compare(self, found: Mapping[Key, Tensor], comparisons: Sequence[Comparison]) -> np.ndarray:
        """Every comparison of every couple, float64 [comparisons, couples].

        `found` holds log p [temperatures, vocab] of every text.
        """
        candidates, references = self.sides
        step = max(1, COMPARED_ELEMENTS // next(iter(found.values())).numel())
        values = np.empty((len(comparisons), len(references)))
        alike: dict[tuple[int, float], list[int]] = {}
        for row, c in enumerate(comparisons):
            alike.setdefault((c.temperature, c.interpolation), []).append(row)
        for start in range(0, len(references), step):
            part = slice(start, start + step)
            for (heat, share), rows in alike.items():
                log_q, log_p = (
                    interpolated(
                        torch.stack([found[reading.key][heat] for reading in side[part]]),
                        side[part],
                        share,
                    )
                    for side in (candidates, references)
                )
                for row in rows:
                    c = comparisons[row]
                    compared = measures.compare(
                        c.measure,
                        log_p,
                        log_q,
                        symmetrize=c.symmetrize,
                        alpha=c.alpha,
                        beta=c.beta,
                    )
                    values[row, part] = compared.cpu().numpy()
        return values

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
