"""Every choice a user can make, with its default and its check."""

from __future__ import annotations

import dataclasses
import difflib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from infolm_metric.infolm import measures
from infolm_metric.kernel.idf.table import IDF

DEFAULT_MODEL = "google-bert/bert-base-uncased"  # as in the paper
MODEL_VARIABLE = "INFOLM_MODEL"
BUNDLED = "bundled"

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
IDF_FORMS = ("references", "separate")
LONG_TEXT = ("truncate", "window", "error")
MULTI_REFERENCE = ("min", "mean")


@dataclass(frozen=True)
class Settings:
    """A checked set of choices; raises ValueError or TypeError that names the wrong one.

    >>> Settings.of(information_measure="kl").information_measure
    'kl_divergence'
    >>> Settings.of(temprature=2.0)
    Traceback (most recent call last):
    TypeError: unknown setting 'temprature'; did you mean 'temperature'?
    """

    information_measure: str | tuple[str, ...] = "fisher_rao_distance"
    alpha: float | None = None
    beta: float | None = None
    temperature: float = 1.0
    idf: bool | str | IDF = "references"
    symmetrize: str = "jeffreys"
    multi_reference: str = "min"
    model_name_or_path: str | None = None
    model_revision: str | None = None
    max_length: int | None = None
    long_text: str = "truncate"
    masks_per_pass: int = 1
    batch_size: int | str = "auto"
    device: str | None = None
    dtype: str = "float32"
    tokenize_processes: int | None = None
    return_scores: bool = True
    similarity: bool = False
    reuse_memory: int = 1 << 30  # bytes of distributions kept for texts that come again
    verbose: bool = False

    def __post_init__(self) -> None:
        for name, check in _CHECKS.items():
            object.__setattr__(self, name, check(name, getattr(self, name)))
        for measure in self.measures:
            measures.check_parameters(measure, self.alpha, self.beta)
            if self.similarity:
                _check_bounded(measure, self)

    @classmethod
    def of(cls, **given: Any) -> Settings:
        """The settings with the given values; an unknown name is refused."""
        return cls(**_known(given))

    def replace(self, **given: Any) -> Settings:
        """These settings with some values changed; an unknown name is refused."""
        return dataclasses.replace(self, **_known(given)) if given else self

    @property
    def measures(self) -> tuple[str, ...]:
        """Full names of the measures asked for."""
        asked = self.information_measure
        return (asked,) if isinstance(asked, str) else asked

    @property
    def model(self) -> str:
        """The model's name or path: the setting, else $INFOLM_MODEL, else the paper's model."""
        return self.model_name_or_path or os.environ.get(MODEL_VARIABLE) or DEFAULT_MODEL

    def largest_value(self, measure: str) -> float:
        """The largest value `measure` can take under these settings, or infinity."""
        return measures.largest_value(
            measure, symmetrize=self.symmetrize, alpha=self.alpha, beta=self.beta
        )


def nearest(value: object, known: Sequence[str]) -> str:
    """A hint at the known name most like `value`, or a list of all of them.

    >>> nearest("truncated", ["truncate", "window"])
    "did you mean 'truncate'?"
    >>> nearest("measure", ["temperature", "information_measure"])
    "did you mean 'information_measure'?"
    >>> nearest("x", ["truncate", "window"])
    "known: 'truncate', 'window'"
    """
    text = str(value)
    inside = [name for name in known if len(text) > 2 and text in name]
    close = inside or difflib.get_close_matches(text, known, n=1)
    return f"did you mean {close[0]!r}?" if close else "known: " + ", ".join(map(repr, known))


def _known(given: Mapping[str, Any]) -> Mapping[str, Any]:
    names = [field.name for field in dataclasses.fields(Settings)]
    for name in given:
        if name not in names:
            raise TypeError(f"unknown setting {name!r}; {nearest(name, names)}")
    return given


def _check_bounded(measure: str, settings: Settings) -> None:
    if not math.isfinite(settings.largest_value(measure)):
        raise ValueError(
            f"similarity=True needs a measure with a largest value; {measure} with "
            f"symmetrize={settings.symmetrize!r} has none; use similarity=False, "
            'symmetrize="jensen" or a bounded measure such as fisher_rao_distance'
        )


# Checks: (name, value) -> the normalised value.


def measure_names(name: str, value: Any) -> str | tuple[str, ...]:
    """The full name of a measure, or those of a list of measures.

    >>> measure_names("information_measure", ["kl", "l1"])
    ('kl_divergence', 'l1_distance')
    """
    if isinstance(value, str):
        return measures.resolve(value).name
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        raise TypeError(f"{name} must be a name or a list of names, got {value!r}")
    if not value:
        raise ValueError(f"{name} is an empty list; name at least one of {list(measures.MEASURES)}")
    for entry in value:
        if not isinstance(entry, str):
            raise TypeError(f"{name} must hold names, got {entry!r}")
    return tuple(dict.fromkeys(measures.resolve(entry).name for entry in value))


def number(name: str, value: Any) -> float:
    """The value as a finite float; raises TypeError or ValueError otherwise.

    >>> number("temperature", "warm")
    Traceback (most recent call last):
    TypeError: temperature must be a number, got 'warm'
    """
    if isinstance(value, bool | np.bool_ | str | bytes) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise TypeError(f"{name} must be a single number, got {value!r}") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return result


def _optional_number(name: str, value: Any) -> float | None:
    return None if value is None else number(name, value)


def _temperature(name: str, value: Any) -> float:
    checked = number(name, value)
    if checked <= 0:
        raise ValueError(f"{name} must be > 0, got {value!r}; the paper finds the best in [1, 2]")
    return checked


def _idf(name: str, value: Any) -> bool | str | IDF:
    if isinstance(value, IDF) or value is False:
        return value
    if value is True:
        return "references"
    if value in IDF_FORMS if isinstance(value, str) else False:
        return value
    if isinstance(value, str | os.PathLike):
        value = os.path.expanduser(value)
        if not Path(value).is_file():
            raise ValueError(
                f"{name} must be True, False, 'references', 'separate', an IDF or the path of a "
                f"saved table; there is no file {str(value)!r}; "
                f"{nearest(value, IDF_FORMS)}, or make a table with `infolm idf`"
            )
        return IDF.load(value)
    raise TypeError(
        f"{name} must be True, False, 'references', 'separate', an IDF or a path, got {value!r}"
    )


def _one_of(known: Sequence[str]) -> Callable[[str, Any], str]:
    def check(name: str, value: Any) -> str:
        if value not in known if isinstance(value, str) else True:
            raise ValueError(f"unknown {name} {value!r}; {nearest(value, known)}")
        return value

    return check


def _optional_text(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name} must be a name or a path, got {value!r}")
    return value


def _whole_number(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if int(value) < least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")
    return int(value)


def _optional_whole_number(name: str, value: Any) -> int | None:
    return None if value is None else _whole_number(name, value)


def _bytes(name: str, value: Any) -> int:
    return _whole_number(name, value, least=0)


def _batch_size(name: str, value: Any) -> int | str:
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f"{name} must be 'auto' or a whole number, got {value!r}")
        return value
    return _whole_number(name, value)


def _device(name: str, value: Any) -> str | None:
    if value is None:
        return None
    try:
        device = torch.device(value)
    except (RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"{name} must be a torch device such as 'cpu' or 'cuda:0', got {value!r}: {reason}"
        ) from None
    there = {"cuda": torch.cuda.device_count(), "meta": 0}
    if device.type == "mps":
        there["mps"] = int(torch.backends.mps.is_available())
    if (device.index or 0) >= there.get(device.type, 1 << 30):
        raise ValueError(f"{name} must be one that this machine has, got {value!r}; use 'cpu'")
    return str(device)


def _dtype(name: str, value: Any) -> str:
    plain = str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else value
    return _one_of(tuple(DTYPES))(name, plain)


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return value


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "information_measure": measure_names,
    "alpha": _optional_number,
    "beta": _optional_number,
    "temperature": _temperature,
    "idf": _idf,
    "symmetrize": _one_of(measures.SYMMETRIZATIONS),
    "multi_reference": _one_of(MULTI_REFERENCE),
    "model_name_or_path": _optional_text,
    "model_revision": _optional_text,
    "max_length": _optional_whole_number,
    "long_text": _one_of(LONG_TEXT),
    "masks_per_pass": _whole_number,
    "batch_size": _batch_size,
    "device": _device,
    "dtype": _dtype,
    "tokenize_processes": _optional_whole_number,
    "return_scores": _flag,
    "similarity": _flag,
    "reuse_memory": _bytes,
    "verbose": _flag,
}
