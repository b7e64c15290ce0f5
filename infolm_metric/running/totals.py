"""What comes part by part and is too long to hold: means of columns, what there is to warn of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from infolm_metric.kernel.remarks import Remarks

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


class Seen:
    """What is told of the pairs of all parts: `remarks`, and `counts` of how many references.

    As an actor of Ray it stands beside the workers; a batch that Ray scores again, because a
    machine was lost, counts again.

    >>> seen = Seen()
    >>> seen.add(Remarks(), Counter({1: 3}))
    >>> seen.counts
    Counter({1: 3})
    """

    def __init__(self) -> None:
        self.remarks, self.counts = Remarks(), Counter[int]()

    def add(self, remarks: Remarks, counts: Counter[int]) -> None:
        """Take in a part; `counts` says how many of its pairs have how many references."""
        self.remarks += remarks
        self.counts += counts

    def all(self) -> tuple[Remarks, Counter[int]]:
        """Both at once, as an actor is asked."""
        return self.remarks, self.counts
