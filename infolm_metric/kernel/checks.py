"""Checks of single values: (name, value) -> the value normalised, or an error that says what to do.

Nothing here imports torch before it is needed.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infolm_metric.kernel.idf.table import IDF

BUNDLED_FOLDER = Path(__file__).parents[1] / "bundled"
DTYPES = ("float32", "bfloat16", "float16")
IDF_FORMS = ("references", "separate")
BUNDLED = "bundled"
LISTED = 50  # names in a message


def nearest(value: object, known: Iterable[str], every: bool = False) -> str:
    """A hint at the known name most like `value`, or a list of all of them; with `every`, both.

    A mapping from other names to known ones does for `known`, too. Of many names only the first are
    listed.

    >>> nearest("truncated", ["truncate", "window"])
    "did you mean 'truncate'?"
    >>> nearest("measure", ["temperature", "information_measure"])
    "did you mean 'information_measure'?"
    >>> nearest("x", ["truncate", "window"])
    "known: 'truncate', 'window'"
    """
    names = dict(known) if isinstance(known, Mapping) else {name: name for name in known}
    text = str(value).lower()
    inside = [name for name in names if len(text) > 2 and text in name.lower()]
    # A bold guess does no harm beside the whole list.
    close = inside or difflib.get_close_matches(text, names, n=1, cutoff=0.4 if every else 0.6)
    hints = [f"did you mean {names[close[0]]!r}?"] if close else []
    if every or not close:
        listed = [repr(name) for name in dict.fromkeys(names.values())]
        more = [f"and {len(listed) - LISTED} more"] if len(listed) > LISTED else []
        hints.append("known: " + ", ".join([*listed[:LISTED], *more]))
    return " ".join(hints)


def check_known(name: str, given: object, known: Collection[str]) -> None:
    """Raise ValueError with the nearest known name if `given` is none of them.

    >>> check_known("level", "sytem", ("system", "text"))
    Traceback (most recent call last):
    ValueError: unknown level 'sytem'; did you mean 'system'?
    """
    if not isinstance(given, str) or given not in known:
        raise ValueError(f"unknown {name} {given!r}; {nearest(given, known)}")


# The checks.


def number(name: str, value: Any) -> float:
    """The value as a finite float; raises TypeError or ValueError otherwise.

    >>> number("temperature", "warm")
    Traceback (most recent call last):
    TypeError: temperature must be a number, got 'warm'
    """
    # By its name numpy's bool is known without importing numpy, for which help would wait.
    kind = type(value).__name__  # numpy's complex numbers would lose a part
    other = isinstance(value, str | bytes) or kind.startswith(("bool", "complex"))
    if other or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise TypeError(f"{name} must be a single number, got {value!r}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return result


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """The value as an int of at least `least`; raises TypeError or ValueError otherwise."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if int(value) < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
    return int(value)


def natural_number(name: str, value: Any) -> int:
    """The value as an int of at least 0."""
    return whole_number(name, value, least=0)


def fraction(name: str, value: Any) -> float:
    """The value as a float between 0 and 1, neither included; raises TypeError or ValueError.

    >>> fraction("confidence", 95)
    Traceback (most recent call last):
    ValueError: confidence must be above 0 and below 1, got 95
    """
    result = number(name, value)
    if not 0 < result < 1:
        raise ValueError(f"{name} must be above 0 and below 1, got {value!r}")
    return result


def flag(name: str, value: Any) -> bool:
    """The value if it is True or False; raises TypeError otherwise."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


def text(name: str, value: Any) -> str:
    """The value as a name or a path; raises TypeError otherwise."""
    if isinstance(value, os.PathLike):
        return str(os.fspath(value))
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name} must be a name or a path, got {value!r}")
    return value


def optional(check: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    """The check, which lets None pass."""
    return lambda name, value: None if value is None else check(name, value)


def one_of(known: Sequence[str]) -> Callable[[str, Any], Any]:
    """The check that a value is one of the known words."""

    def check(name: str, value: Any) -> Any:
        check_known(name, value, known)
        return value

    return check


def name_or_names(
    name: str, value: Any, kind: str, known: Iterable[str], resolve: Callable[[str], str]
) -> str | tuple[str, ...]:
    """The full name that `resolve` gives for a name of some `kind`, or those of a list, once each.

    >>> name_or_names("animals", ["Cat", "cat"], "word", ["cat", "dog"], str.lower)
    ('cat',)
    """
    if isinstance(value, str):
        return resolve(value)
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        raise TypeError(f"{name} must be a {kind} or a list of {kind}s, got {value!r}")
    if not value:
        raise ValueError(f"{name} is an empty list; name at least one of {list(known)}")
    for entry in value:
        if not isinstance(entry, str):
            raise TypeError(f"{name} must hold names, got {entry!r}")
    return tuple(dict.fromkeys(map(resolve, value)))


def idf_source(name: str, value: Any) -> bool | str | IDF:
    """What the setting `idf` can be: a corpus by its name, a table, or False.

    True means "references", and "none" False. A path is loaded, and "bundled" is the table that
    was counted on the bundled model's corpus. Raises TypeError or ValueError,
    also if there is no table at the path.
    """
    if value is True:
        return "references"
    if isinstance(value, str) and value == "none":
        return False
    if value is False or (isinstance(value, str) and value in IDF_FORMS):
        return value
    from infolm_metric.kernel.idf.table import IDF  # which takes `datasets` along

    if isinstance(value, IDF):
        return value
    if isinstance(value, str) and value == BUNDLED:
        return IDF.load(BUNDLED_FOLDER / "idf.json")
    if isinstance(value, str | os.PathLike):
        path = os.path.expanduser(value)
        if not Path(path).is_file():
            raise ValueError(
                f"{name} must be True, False, 'references', 'separate', 'bundled', an IDF or the "
                f"path of a saved table; there is no file {str(path)!r}; "
                f"{nearest(path, (*IDF_FORMS, BUNDLED))}, or make a table with `infolm idf`"
            )
        return IDF.load(path)
    raise TypeError(
        f"{name} must be True, False, 'references', 'separate', 'bundled', an IDF or a path, "
        f"got {value!r}"
    )


def batch_size(name: str, value: Any) -> int | str:
    """A number of rows in a forward pass, or "auto"."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"{name} must be 'auto' or a whole number, got {value!r}")
        return value
    return whole_number(name, value)


def device_name(name: str, value: Any) -> str:
    """The name of a torch device that this machine has."""
    import torch

    try:
        device = torch.device(value)
    except (RuntimeError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"{name} must be a torch device such as 'cpu' or 'cuda:0', got {value!r}: {reason}"
        ) from None
    count = getattr(getattr(torch, device.type, None), "device_count", lambda: 0)
    if device.type != "cpu" and (device.index or 0) >= count():
        raise ValueError(f"{name} must be one that this machine has, got {value!r}; use 'cpu'")
    return str(device)


def dtype_name(name: str, value: Any) -> Any:
    """The name of one of DTYPES, given as a string or as torch's own."""
    plain = str(value).removeprefix("torch.") if type(value).__name__ == "dtype" else value
    return one_of(DTYPES)(name, plain)
