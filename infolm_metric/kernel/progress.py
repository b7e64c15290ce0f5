"""Progress bars, which `datasets` can switch off; it is imported where one is shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from huggingface_hub.utils import tqdm


def bar(shown: bool | None, **how: Any) -> Any:
    """A bar as tqdm makes it; `shown` is True, False, or None for terminals only.

    >>> with bar(False, total=3) as hidden:
    ...     hidden.update(1)
    """
    if not (sys.stderr.isatty() if shown is None else shown):
        return tqdm(**how, disable=True)  # type: ignore[no-untyped-call]
    from datasets.utils import tqdm as switched

    return switched(**how)


@contextmanager
def pair_bar(pairs: int, shown: bool) -> Iterator[Callable[[int, int, float], object]]:
    """A progress bar over so many pairs, if there are several.

    It is told the pairs done before a portion, those of the portion, and the share of these done.
    """
    with bar(shown and pairs > 1, total=pairs, unit="pair", desc="infolm") as drawn:
        yield lambda before, size, share: drawn.update(before + int(size * share) - drawn.n)
