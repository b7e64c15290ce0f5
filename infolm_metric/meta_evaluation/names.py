"""The check of a name against those that are known."""

from __future__ import annotations

from collections.abc import Sequence


def check_known(name: str, given: object, known: Sequence[str]) -> None:
    """Nothing; raises ValueError with the nearest known name if `given` is none of them.

    >>> check_known("level", "sytem", ("system", "text"))
    Traceback (most recent call last):
    ValueError: unknown level 'sytem'; did you mean 'system'?
    """
    if given not in known:
        from infolm_metric.infolm.settings import nearest  # which takes torch along

        raise ValueError(f"unknown {name} {given!r}; {nearest(given, known)}")
