"""How messages name a setting: as a keyword of Python, or as a flag on the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_flags: ContextVar[Mapping[str, str] | None] = ContextVar("flags", default=None)


def spelled(name: str, *value: object) -> str:
    """What the reader calls a setting, or with a value, how it is given.

    >>> spelled("max_length"), spelled("long_text", "window")
    ('max_length', 'long_text="window"')
    >>> with as_flags({"long_text": "--long-text"}):
    ...     spelled("long_text", "window")
    '--long-text window'
    """
    flag = (_flags.get() or {}).get(name)
    if not value:
        return flag or name
    (given,) = value
    if flag:
        return flag if given is True else f"{flag} {'none' if given is False else given}"
    return f'{name}="{given}"' if isinstance(given, str) else f"{name}={given!r}"


@contextmanager
def as_flags(flags: Mapping[str, str]) -> Iterator[None]:
    """Messages made in here name settings by these flags."""
    token = _flags.set(flags)
    try:
        yield
    finally:
        _flags.reset(token)
