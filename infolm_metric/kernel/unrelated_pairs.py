"""Unrelated texts: pairs drawn from a corpus by a hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from infolm_metric.kernel.pairs import Pairs


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
            f"references must be fewer than the distinct texts, which are {size}, got "
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
