"""Each candidate with each of its references: chunks that fit, and one score from several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infolm_metric.kernel.pairs import Pair
from infolm_metric.kernel.weighed_texts import WeighedText

Array = np.ndarray[Any, Any]


def chunks(
    pairs: Iterable[Pair], room: int, size: Callable[[str], float] = lambda text: 1.0
) -> Iterator[list[Pair]]:
    """The pairs in order, in chunks of at most `room` pairs, whose distinct texts fit the room.

    `size` tells what room a text takes, by default 1. A pair with larger texts than that is a
    chunk of its own.

    >>> [len(chunk) for chunk in chunks([("a", ["b"]), ("b", ["a"]), ("c", ["d"])], 2)]
    [2, 1]
    """
    chunk: list[Pair] = []
    seen: set[str] = set()
    filled = 0.0
    for candidate, references in pairs:
        texts = {candidate, *references}
        new = sum(size(text) for text in texts - seen)
        if chunk and (filled + new > room or len(chunk) == room):
            yield chunk
            chunk, seen, filled = [], set(), 0.0
            new = sum(size(text) for text in texts)
        chunk.append((candidate, references))
        seen |= texts
        filled += new
    if chunk:
        yield chunk


@dataclass(frozen=True)
class SinglePairs:
    """Each candidate with each of its references: pair i has `counts[i]` single pairs."""

    candidates: list[WeighedText]  # [pairs]
    references: list[WeighedText]  # [single pairs]
    counts: Array  # int [pairs]

    @property
    def sides(self) -> tuple[list[WeighedText], list[WeighedText]]:
        """The candidate and the reference of every single pair, [single pairs] each."""
        owners = np.repeat(np.arange(len(self.candidates)), self.counts)
        return [self.candidates[owner] for owner in owners], self.references

    @property
    def weighed_texts(self) -> list[WeighedText]:
        """All texts: the candidates, then the references."""
        return [*self.candidates, *self.references]

    def combine(self, values: Array, multi_reference: str) -> Array:
        """One score a pair from those of its single pairs: [..., single pairs] -> [..., pairs]."""
        starts = np.cumsum(self.counts) - self.counts
        closest: Array = np.minimum.reduceat(values, starts, axis=-1)
        if multi_reference == "min":
            return closest
        # Divided first, because the sum of very large scores could overflow, and held between the
        # smallest and the largest, because rounding could still carry it beyond.
        shares = values / np.repeat(self.counts, self.counts)
        with np.errstate(over="ignore"):
            mean = np.add.reduceat(shares, starts, axis=-1)
        return np.clip(mean, closest, np.maximum.reduceat(values, starts, axis=-1))


def sides_of(chunk: Sequence[Pair]) -> tuple[list[str], list[str]]:
    """The candidates of a chunk [pairs], and all references [single pairs]."""
    return (
        [candidate for candidate, _ in chunk],
        [text for _, group in chunk for text in group],
    )


def counts_of(chunk: Sequence[Pair]) -> Array:
    """The number of references of each pair, int [pairs]."""
    return np.asarray([len(group) for _, group in chunk])
