"""Progress bars, which `datasets` can switch off; it is imported where one is shown."""

from __future__ import annotations

import sys
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
