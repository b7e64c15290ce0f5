"""What is asked of an evaluation, checked before any text is scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from infolm_metric.kernel.checks import check_known, fraction, natural_number, whole_number
from infolm_metric.meta_evaluation.correlations import LEVELS, MISSING, check_shapes
from infolm_metric.meta_evaluation.resampling import AXES, CONFIDENCE, RESAMPLES
from infolm_metric.meta_evaluation.rows import check_varies

LENGTH = "length"
"""The rival that stands beside every metric: how long the text is."""


def check_arguments(
    *,
    missing: str = "drop",
    over: str = "both",
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> None:
    """Raise TypeError or ValueError for an argument that `agreement` does not take."""
    check_known("missing", missing, MISSING)
    check_known("over", over, AXES)
    whole_number("resamples", resamples)
    fraction("confidence", confidence)
    natural_number("seed", seed)


def check_levels(levels: Sequence[str], systems: bool) -> tuple[str, ...]:
    """The levels asked for, by default all there are; ValueError for one that is not there.

    >>> check_levels([], systems=False)
    ('text',)
    """
    for level in levels:
        check_known("level", level, LEVELS)
    if "system" in levels and not systems:
        raise ValueError(
            "the system level needs the system of each row, in a column 'system'; without one "
            "there is the text level, over all rows"
        )
    return tuple(levels) or (LEVELS if systems else ("text",))


def check_grids(grids: Iterable[tuple[str, np.ndarray]], length: np.ndarray | None = None) -> None:
    """Raise ValueError unless the named grids, and the lengths, have one shape, and grids vary."""
    named = [(repr(name), grid) for name, grid in grids]
    check_shapes(named if length is None else [*named, (LENGTH, length)])
    for name, grid in named:
        check_varies(name, grid)


def rivals(
    against: Sequence[str], metrics: Iterable[str], length: np.ndarray | None
) -> tuple[str, ...]:
    """Those whom the metrics of these names are tested against: `against`, and length at the end.

    Without `length`, and where all lengths are equal, length is none of them. Raises ValueError if
    there is no metric of a name, two have one name, or length has the name of a metric.

    >>> rivals(["length", "bleu"], ["mine", "bleu"], np.array([[3.0, 4.0]]))
    ('bleu', 'length')
    """
    names = list(metrics)
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(
            f"two metrics are named {twice[0]!r}, a column and one of those scored here; rename "
            "the column"
        )
    varies = length is not None and bool(np.nanmin(length) < np.nanmax(length))
    if varies and LENGTH in names:
        raise ValueError(
            f"a metric is named {LENGTH!r}, which is the name of the texts' length here; rename it"
        )
    # A metric may have the name where the texts' length does not need it.
    standing = [LENGTH] if length is not None and LENGTH not in names else []
    for name in against:
        check_known("rival", name, [*names, *standing])
    others = tuple(name for name in against if name not in standing)
    return (*others, LENGTH) if varies else others
