"""The metrics in other frameworks, one file per framework."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def require(package: str) -> Iterator[None]:
    """Raise ImportError with the remedy if an import of an optional library fails.

    >>> with require("no-such-library"):
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
    """Raise ValueError for settings that ask for several scores, because one number is needed."""
    if settings.several:
        raise ValueError(
            f"{settings.names_field} must be one name, not a list, where a score is one number, "
            f"got {list(settings.names)}"
        )
