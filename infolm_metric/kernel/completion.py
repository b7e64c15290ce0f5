"""Signatures that name every setting, for `inspect`, `help` and notebooks."""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Mapping, Sequence
from dataclasses import fields
from inspect import Parameter
from typing import Any

from infolm_metric.kernel.settings import Settings

KNOWN = {"os": os, "Mapping": Mapping, "Sequence": Sequence}


def name_settings(owner: type, settings: type[Settings]) -> None:
    """Give a class its own copies of the methods that take **settings, whose signature names them.

    >>> from infolm_metric import InfoLMScorer
    >>> str(inspect.signature(InfoLMScorer.score).parameters["temperature"])
    'temperature: float = 1.0'
    """
    for name in dir(owner):
        method = getattr(owner, name)
        if isinstance(method, types.FunctionType):
            other = inspect.signature(method).parameters.get("settings")
            if other is not None and other.kind is Parameter.VAR_KEYWORD:
                setattr(owner, name, _copied(method, settings))


def _copied(method: types.FunctionType, settings: type[Settings]) -> types.FunctionType:
    """The function under its own name; not a wrapper, which warnings would count as a caller."""
    copy = types.FunctionType(method.__code__, method.__globals__, closure=method.__closure__)
    functools.update_wrapper(copy, method)
    copy.__defaults__, copy.__kwdefaults__ = method.__defaults__, method.__kwdefaults__
    plain = inspect.signature(method)
    own = [each for each in plain.parameters.values() if each.name != "settings"]
    defaults = {each.name: each.default for each in fields(settings)}
    named = [
        Parameter(
            name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=_type(each.given)
        )
        for name, each in settings.choices().items()
        if name not in plain.parameters
    ]
    copy.__signature__ = plain.replace(parameters=[*own, *named])  # type: ignore[attr-defined]
    return copy


def _type(annotation: str) -> Any:
    """The type of an annotation, or its words where it names what is imported on demand."""
    try:
        return eval(annotation, KNOWN.copy())  # a constant of the class that declares the setting
    except NameError:
        return annotation
