"""Check that processor time is linear in the length of a text."""

import time
from collections.abc import Callable

TRIES = 5  # other processes can slow down a try


def assert_linear_time(work: Callable[[int], object], length: int) -> None:
    """Assert that ten times the `length` takes at most 40 times as long, 100 times if quadratic."""
    for _ in range(TRIES):
        seconds = []
        for size in (length, 10 * length):
            start = time.process_time()
            work(size)
            seconds.append(time.process_time() - start)
        if seconds[1] < 0.1 + 40 * seconds[0]:
            return
    raise AssertionError(f"{seconds[1]:.3f} s instead of {seconds[0]:.3f} s for a 10-fold length")
