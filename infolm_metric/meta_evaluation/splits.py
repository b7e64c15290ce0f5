"""A development split and a held-out split of the samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def split_samples(
    samples: Sequence[str], development: int, seed: int = 0
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of the development split and of the held-out split, drawn at random.

    The same ids and the same seed give the same split, in whatever order the ids come.

    Args:
        samples: the ids.
        development: how many of them the development split holds.
        seed: what the draw begins with.

    Returns:
        The development ids and the held-out ids, either in the order in which they came.

    Raises:
        ValueError: either split would hold fewer than two samples.

    >>> split_samples(["1", "2", "3", "4", "5"], 3)
    (('3', '4', '5'), ('1', '2'))
    """
    if not 2 <= development <= len(samples) - 2:
        raise ValueError(
            f"development must leave both splits at least 2 of the {len(samples)} samples, "
            f"got {development}"
        )
    drawn = np.random.default_rng(seed).permutation(sorted(samples))[:development]
    chosen = set(drawn.tolist())
    return (
        tuple(name for name in samples if name in chosen),
        tuple(name for name in samples if name not in chosen),
    )
