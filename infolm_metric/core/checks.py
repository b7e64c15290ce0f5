"""Validation of names and values, with suggestions for misspelled names."""

from __future__ import annotations

import difflib
import math
import os
import sys
import typing
import warnings
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from types import NoneType, UnionType
from typing import Any, Literal, TypeGuard, Union

PLAIN = (bool, int, float, str)
INPUTS = ("predictions", "references")
# Mapping from names of inputs and settings in other libraries to names in infolm.
NAMES_ELSEWHERE = {
    **dict.fromkeys(("candidate", "candidates", "cands", "cand", "preds"), "predictions"),
    **dict.fromkeys(("hypothesis", "hypotheses", "hyps", "hyp", "outputs"), "predictions"),
    **dict.fromkeys(("refs", "ref", "target", "targets", "label", "labels"), "references"),
    **dict.fromkeys(("model", "model_name", "model_type"), "model_name_or_path"),
    "num_layers": "layer",
}
# Names and values in other libraries without a direct equivalent, with their replacements.
REPLACEMENTS = {
    **dict.fromkeys(
        ("source", "sources", "src", "srcs"),
        "Pass the sources as references, with task='source' of MENLI.",
    ),
    "return_sentence_level_score": "Scorers and metrics of `evaluate` return all 'scores'.",
    "verbose": "Omit it, or pass it to Scorer.score or to compute of `evaluate`.",
    **dict.fromkeys(("num_threads", "nthreads"), "Call torch.set_num_threads instead."),
    "compute_on_cpu": "Texts always stay on the CPU. Set device='cpu' for the model.",
    "lang": "There is no default model for a language. Set model_name_or_path.",
    **dict.fromkeys(
        ("js", "jsd", "jensen_shannon", "jensen_shannon_divergence"),
        "Use information_measure='kl_divergence' with symmetrize='jensen'.",
    ),
}
# Packages whose frames are skipped, so that a warning points to the user's line.
CALLERS = ("infolm_metric", "evaluate", "torch", "torchmetrics", "transformers", "trl")


class InputError(ValueError):
    """Raised for invalid arguments or input. The message names the remedy.

    `setting` is the name of the setting that is invalid, as it occurs in the message, or "".
    """

    __module__ = "infolm_metric"  # where it is public

    def __init__(self, message: str = "", setting: str = "") -> None:
        super().__init__(message)
        self.setting = setting.partition("[")[0]


def warn_user(message: str) -> None:
    """Issue a warning at the user's line, which is the first outside of the packages in CALLERS."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in CALLERS:
        frame, level = frame.f_back, level + 1
    warnings.warn(f"infolm: {message}", stacklevel=level)


def nearest(value: object, choices: Iterable[str], every: bool = False) -> str:
    """Suggest the replacement or the most similar known name, or else list all known names.

    With `every`, do both. `choices` may map aliases to known names.

    >>> nearest("truncated", ["truncate", "window"])
    "Did you mean 'truncate'?"
    >>> nearest("x", ["truncate", "window"])
    "Known: 'truncate', 'window'"
    """
    names = dict(choices) if isinstance(choices, Mapping) else {name: name for name in choices}
    text = str(value).lower()
    if text.replace("-", "_") in REPLACEMENTS:
        return REPLACEMENTS[text.replace("-", "_")]
    matches = [name for name in names if len(text) > 2 and text in name.lower()]
    matches.sort(key=lambda name: name.lower() != text)  # an equal name first
    # A weak match is harmless if the list follows.
    cutoff = 0.4 if every else 0.6
    matches = matches or difflib.get_close_matches(text, names, n=1, cutoff=cutoff)
    if "," in text and all(part.strip() in names for part in text.split(",")):
        return "Pass each name separately."
    hints = [f"Did you mean {names[matches[0]]!r}?"] if matches else []
    if every or not matches:
        labels = list(map(repr, dict.fromkeys(names.values())))
        hints.append("Known: " + (", ".join(labels) or "none"))
    return " ".join(hints)


def check_names(
    values: Iterable[str], choices: Collection[str], problem: str = "unknown setting"
) -> None:
    """Raise InputError for an unknown name, with the most similar known name.

    >>> check_names(["model_type"], ["model_name_or_path"])
    Traceback (most recent call last):
    infolm_metric.InputError: unknown setting 'model_type'. Did you mean 'model_name_or_path'?
    """
    for name in values:
        if name not in choices:
            equivalent = NAMES_ELSEWHERE.get(name)
            # A call also accepts inputs, which are not among the settings checked here.
            known = equivalent in choices or equivalent in INPUTS
            hint = f"Did you mean {equivalent!r}?" if known else nearest(name, list(choices))
            raise InputError(f"{problem} {name!r}. {hint}")


def check_known(name: str, value: object, choices: Collection[str], every: bool = False) -> None:
    """Check that a word is known. The error names the most similar known word.

    >>> check_known("level", "sytem", ("system", "segment"))
    Traceback (most recent call last):
    infolm_metric.InputError: unknown level 'sytem'. Did you mean 'system'?
    """
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"unknown {name} {value!r}. {nearest(value, choices, every)}", name)


def check_at_least(name: str, value: object, least: float) -> None:
    """Check that a number is at least `least`. Ignore strings and None.

    >>> check_at_least("seed", -1, 0)
    Traceback (most recent call last):
    infolm_metric.InputError: seed must be at least 0, got -1
    """
    if isinstance(value, int | float) and not value >= least:
        raise InputError(f"{name} must be at least {least}, got {value!r}", setting=name)


def check_device(name: str) -> None:
    """Check that `name` is a torch device on this machine."""
    import torch

    with suppress(RuntimeError):  # its message lists 20 kinds of devices
        device = torch.device(name)
        if (device.index or 0) < torch.get_device_module(device).device_count():
            return
    raise InputError(
        f"device must be a torch device of this machine, got {name!r} (CUDA GPUs: "
        f"{torch.cuda.device_count()}). Use 'cuda' for a GPU, 'cpu', or omit it.",
        setting="device",
    )


def check_value(name: str, value: Any, annotation: object, allowed: str = "") -> Any:
    """Check a value against a type annotation and return it as a Python type.

    Lists become tuples, and NumPy and torch scalars become Python numbers. Raises InputError for
    other types, unknown words, and numbers that are not finite. `allowed` describes the valid
    values in messages (default: the types). It does not restrict the values.

    >>> check_value("layers", [4, 6], int | tuple[int, ...])
    (4, 6)
    >>> check_value("temperature", "warm", float)
    Traceback (most recent call last):
    infolm_metric.InputError: temperature must be a number, got 'warm'
    """
    kinds = members(annotation)
    if annotation is Any or (value is None and NoneType in kinds):
        return value
    if (axes := getattr(value, "ndim", None)) == 0:
        with suppress(RuntimeError):  # a tensor on the device "meta" has no value
            value = value.item()
    number, one = int if int in kinds else float, not axes and not isinstance(value, bool)
    if bool in kinds and isinstance(value, bool):
        return value
    if isinstance(value, str):
        words = literal_words(kinds)
        if value in words or (value and str in kinds):
            return value
        if words and not {bool, int, float} & set(kinds):
            check_known(name, value, words)
    elif os.PathLike in map(_origin, kinds) and isinstance(value, os.PathLike):
        return os.fspath(value)
    elif number in kinds and one and hasattr(value, "__index__" if number is int else "__float__"):
        with suppress(TypeError, ValueError, OverflowError, RuntimeError):
            if math.isfinite(number(value)):
                return number(value)
        raise InputError(f"{name} must be a finite number, got {value!r:.100}", setting=name)
    for kind in kinds:
        if _origin(kind) is tuple and is_list(value):
            member = typing.get_args(kind)[0]
            return tuple(check_value(f"{name}[{i}]", part, member) for i, part in enumerate(value))
        if isinstance(kind, type) and kind not in PLAIN and isinstance(value, kind):
            return value
    raise InputError(f"{name} must be {allowed or _in_words(kinds)}, got {value!r:.100}", name)


def check_whole(name: str, value: object, least: int = 1) -> int:
    """Return a whole number as an int. Raise an error if it is smaller than `least`."""
    number: int = check_value(name, value, int)
    check_at_least(name, number, least)
    return number


def check_fraction(name: str, value: float, ends: str) -> None:
    """Check that a number is in [0, 1]. `ends` describes the bounds in the message."""
    if not 0 <= value <= 1:
        raise InputError(f"{name} must be between 0 and 1{ends}, got {value!r}", setting=name)


def score_names(
    name: str, value: Any, choices: Mapping[str, str], every: bool = False
) -> str | tuple[str, ...]:
    """Return the full name of a score, or the distinct full names of a list of scores.

    `choices` maps all names and aliases to full names.

    >>> score_names("animals", ["cat", "kitty"], {"cat": "cat", "kitty": "cat"})
    ('cat',)
    """
    if isinstance(value, str):
        check_known(name, value, choices, every)
        return choices[value]
    if not value:
        raise InputError(
            f"{name} is an empty list. Pass at least one of {sorted(set(choices.values()))}.",
            setting=name,
        )
    return tuple(dict.fromkeys(str(score_names(name, part, choices, every)) for part in value))


def members(annotation: object) -> tuple[Any, ...]:
    """Return the members of a union, or the annotation itself."""
    union = typing.get_origin(annotation) in (Union, UnionType)
    return typing.get_args(annotation) if union else (annotation,)


def _origin(kind: object) -> Any:
    return typing.get_origin(kind) or kind


def literal_words(kinds: Iterable[object]) -> list[Any]:
    """Return the words that literal annotations allow."""
    return [word for kind in kinds for word in typing.get_args(kind) if _origin(kind) is Literal]


def is_list(values: object) -> TypeGuard[Collection[Any]]:
    """Return True for sequences other than strings: lists, tuples, arrays, series, columns.

    NumPy scalars are not sequences. Neither are data frames and data sets, which have columns.
    """
    # The attributes of the class, because some tables compute their values.
    is_table = any(hasattr(type(values), name) for name in ("columns", "column_names"))
    if is_table or isinstance(values, str | bytes | dict | set | frozenset):
        return False
    axes = getattr(values, "ndim", 1)
    ordered = all(hasattr(values, name) for name in ("__iter__", "__len__", "__getitem__"))
    return ordered and (axes == 1 or (axes > 1 and hasattr(values, "tolist")))


def _in_words(kinds: Collection[object]) -> str:
    """Describe the allowed types for messages."""
    words: dict[Any, str] = {bool: "True or False", int: "a whole number", float: "a number"}
    words |= {str: "a non-empty string", tuple: "a list of values", NoneType: "None"}
    labels: list[str] = []
    for kind in kinds:
        name = words.get(_origin(kind), getattr(kind, "__name__", str(kind)))
        labels += map(repr, typing.get_args(kind)) if _origin(kind) is Literal else [name]
    return " or ".join(labels)
