"""Integrations with other frameworks, one file per framework."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def require(package: str) -> Iterator[None]:
    """Raise ImportError with installation instructions if an optional library is missing.

    >>> with require("no-such-library"):
    ...     import no_such_library
    Traceback (most recent call last):
    ImportError: no-such-library is required but not installed; run: pip install no-such-library
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{package} is required but not installed; run: pip install {package}"
        ) from error


def check_one_score(settings: Any) -> None:
    """Raise ValueError if the settings request several scores."""
    if settings.several:
        raise ValueError(
            f"{settings.names_field} must be one name, because this framework expects one score, "
            f"got {list(settings.names)}"
        )
