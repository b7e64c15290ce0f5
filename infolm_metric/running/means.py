"""Means of columns that are too long to hold."""

from __future__ import annotations

from collections.abc import Iterable

SCALE = 2.0**-64  # which changes no digit of a score, and keeps sums of as many from overflowing


class RunningMean:
    """`kernel.results.mean` of numbers that are told one after the other.

    >>> column = RunningMean()
    >>> column.add([1e308, 1.5e308])
    >>> column.value
    1.25e+308
    """

    def __init__(self) -> None:
        self._count, self._sum = 0, 0.0
        self._ends = float("inf"), float("-inf")

    def add(self, values: Iterable[float]) -> None:
        """Take in more numbers."""
        least, most = self._ends
        for value in values:
            self._count += 1
            self._sum += value * SCALE
            least, most = min(least, value), max(most, value)
        self._ends = least, most

    @property
    def value(self) -> float:
        """The mean of at least one number; finite, and never beyond them."""
        least, most = self._ends
        return min(max(self._sum / self._count / SCALE, least), most)
