"""Unrelated texts: pairs drawn by a hash from those of a call, or from a corpus."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from infolm_metric.kernel.pairs import Pair, Pairs
from infolm_metric.kernel.wording import spelled

LEAST_GROUPS = 20  # distinct groups of references without which a call has no baseline of its own
MOST_PAIRS = 500
MOST_TRIED = 1000  # groups for a candidate, and twice as many candidates


def unrelated(pairs: Pairs) -> list[Pair]:
    """Candidates, each with references of another group, drawn by a hash of the texts.

    At most MOST_PAIRS, whatever the order of the pairs; none where the pairs have fewer than
    LEAST_GROUPS distinct groups of references. A candidate keeps the number of its references, and
    none of them is a reference of its own group or its very text.

    >>> pairs = Pairs([f"text {i}" for i in range(30)], [[f"reference {i}"] for i in range(30)])
    >>> drawn = unrelated(pairs)
    >>> len(drawn), any(pair in list(pairs) for pair in drawn)
    (30, False)
    """
    groups = sorted({tuple(group) for group in pairs.references}, key=digest_of)
    if len(groups) < LEAST_GROUPS:
        return []
    distinct = {(candidate, tuple(group)) for candidate, group in pairs}
    drawn: list[Pair] = []
    # Where groups share strings, as empty ones, none may be found: the search has an end.
    for candidate, own in sorted(distinct, key=digest_of)[: 2 * MOST_TRIED]:
        start = int(digest_of((candidate, own)), 16)
        taken = {candidate, *own}
        for step in range(min(len(groups), MOST_TRIED)):
            other = groups[(start + step) % len(groups)]
            if len(other) >= len(own) and taken.isdisjoint(other):
                drawn.append((candidate, list(other[: len(own)])))
                break
        if len(drawn) == MOST_PAIRS:
            break
    return drawn if len(drawn) >= LEAST_GROUPS else []


def mixed(texts: Sequence[str], pairs: int, references: int) -> Iterator[Pairs]:
    """Up to `pairs` pairs of different texts, for each number of references up to `references`.

    At most 2 * `pairs` texts are read; where there are fewer, each is paired with several others.
    Raises ValueError if there are not more texts than references.

    >>> [len(each) for each in mixed([f"text {i}" for i in range(40)], 500, 2)]
    [360, 360]
    """
    ring = sorted(set(texts), key=digest_of)[: 2 * pairs]
    size = len(ring)
    if references >= size:
        raise ValueError(
            f"{spelled('references')} must be fewer than the distinct texts, which are {size}, got "
            f"{references}; give a larger corpus"
        )
    laps = min(-(-pairs // size), max(1, (size - 1) // (2 * references)))
    stride = max(1, size // (laps * references + 1))

    def others(position: int, count: int) -> list[str]:
        """The references of a pair, all of them away from its candidate and its other pairs'."""
        first = position // size * references + 1
        return [ring[(position + (first + step) * stride) % size] for step in range(count)]

    for count in range(1, references + 1):
        yield Pairs.of(
            (ring[position % size], others(position, count))
            for position in range(min(pairs, laps * size))
        )


def digest_of(texts: Any) -> str:
    """A hash of texts, or of lists of them."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()
