"""Lock that serves visitors in the order in which they asked for it."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any


class FairLock:
    """Reentrant lock that threads obtain in the order of their requests.

    A thread that releases a `threading.RLock` and requests it again usually obtains it before the
    threads that are already waiting. Here, it waits until each of them has had the lock once.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._queue: deque[int] = deque()  # ids of threads. The first one has the lock
        self._depth = 0

    def __enter__(self) -> None:
        thread = threading.get_ident()
        with self._changed:
            if not (self._depth and self._queue[0] == thread):
                self._queue.append(thread)
                self._changed.wait_for(lambda: self._queue[0] == thread)
            self._depth += 1

    def __exit__(self, *error: Any) -> None:
        with self._changed:
            self._depth -= 1
            if not self._depth:
                self._queue.popleft()
                self._changed.notify_all()
