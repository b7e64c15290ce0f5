"""The metrics in other people's harnesses: a file each, which needs the library of its name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def needed(package: str) -> Iterator[None]:
    """Imports of a library that infolm does not install, with the remedy where it is missing.

    >>> with needed("no-such-library"):
    ...     import no_such_library
    Traceback (most recent call last):
    ImportError: this needs no-such-library, which is not installed: pip install no-such-library
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(
            f"this needs {package}, which is not installed: pip install {package}"
        ) from error


def check_one_score(settings: Any) -> None:
    """Raise ValueError for settings that name a list of scores, where there is room for one."""
    if settings.several:
        raise ValueError(
            f"{settings.names_field} must be one name, not a list, where a score is one number, "
            f"got {list(settings.names)}"
        )
