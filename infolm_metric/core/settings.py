"""Settings: a frozen dataclass a metric, from whose fields come checks, options and signatures.

Nothing here imports torch, so that help and wrong arguments are answered at once.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import math
import os
import re
import typing
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union

from infolm_metric.core.idf import IDF

BUNDLED = "bundled"
BUNDLED_FOLDER = Path(__file__).parents[1] / "bundled"
LISTED = 50  # names in a message
REUSED_BYTES = 1 << 30
PLAIN = (bool, int, float, str)
IDF_WORDS: dict[str, bool | str] = {
    **dict.fromkeys(("references", "true"), "references"),
    **dict.fromkeys(("none", "false", "no"), False),  # "no" in signatures
    "separate": "separate",
}
"""Words for idf without a table, as the command line and configuration files give them."""
INPUTS = ("predictions", "references", "sources")
NAMES_ELSEWHERE = {
    **dict.fromkeys(("candidate", "candidates", "cands", "cand", "preds"), "predictions"),
    **dict.fromkeys(("hypothesis", "hypotheses", "hyps", "hyp", "outputs"), "predictions"),
    **dict.fromkeys(("refs", "ref", "target", "targets", "label", "labels"), "references"),
    **dict.fromkeys(("model", "model_name", "model_type", "lang"), "model_name_or_path"),
}
"""Names of inputs and settings in other libraries, with ours."""

AnySettings = TypeVar("AnySettings", bound="Settings")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a metric, checked when they are made.

    A metric's own are a subclass with ordinary fields, described under "Args:" in its docstring.
    Types and words are checked by the annotations; what these cannot say is an `if` in
    `__post_init__`. A field's metadata may hold `flags` of the command line (by default the name
    with dashes; none for no option) and `signature`, its name there ("": a scorer signs it).

    Raises:
        TypeError, ValueError: a value is wrong; the message names it.
    """

    metric: ClassVar[str] = ""
    """The metric's name, which its results and signatures carry."""
    names_field: ClassVar[str] = ""
    """The field that names the scores, of which a call can ask for several."""
    unsigned: ClassVar[frozenset[str]] = frozenset()
    """Fields that cannot change a score."""
    takes_sources: ClassVar[bool] = False
    """True if sources can take the place of references."""
    idf = typing.cast(Any, False)
    """Token weights; a metric that weights tokens makes this a field."""

    def __post_init__(self) -> None:
        for name, annotation in field_types(type(self)).items():
            object.__setattr__(self, name, check_value(name, getattr(self, name), annotation))

    @classmethod
    def of(cls: type[AnySettings], **values: Any) -> AnySettings:
        """The settings with these values; an unknown name is refused with the nearest one.

        >>> Settings.of(temprature=2)
        Traceback (most recent call last):
        TypeError: unknown setting 'temprature'; known: none
        """
        check_names(values, field_types(cls))
        return cls(**values)

    def replace(self: AnySettings, **values: Any) -> AnySettings:
        """These settings with some values changed; an unknown name is refused."""
        check_names(values, field_types(type(self)))
        return dataclasses.replace(self, **values) if values else self

    @property
    def names(self) -> tuple[str, ...]:
        """Full names of the scores that a pair gets."""
        value = getattr(self, self.names_field) if self.names_field else self.metric
        return (value,) if isinstance(value, str) else tuple(value)

    @property
    def several(self) -> bool:
        """True if a list of scores was asked for, even of one."""
        return bool(self.names_field) and not isinstance(getattr(self, self.names_field), str)

    @property
    def needs_sources(self) -> bool:
        """True if sources must take the place of references."""
        return False

    @property
    def extra_columns(self) -> tuple[str, ...]:
        """Names of the columns that a result has in addition to scores."""
        return ()

    @property
    def counted(self) -> tuple[str, ...]:
        """The sides of the pairs whose documents are counted for the setting `idf`."""
        sides = {"references": ("references",), "separate": ("candidates", "references")}
        return sides[self.idf] if isinstance(self.idf, str) else ()

    def without_counts(self: AnySettings) -> AnySettings:
        """These settings, but that tokens are weighed alike where documents would be counted."""
        return self.replace(idf=False) if self.counted else self

    def without_reuse(self: AnySettings) -> AnySettings:
        """Return these settings without a cache of encodings."""
        return self

    def single(self: AnySettings, name: str) -> AnySettings:
        """Return these settings for the score of this name alone."""
        return self.replace(**{self.names_field: name}) if self.names_field else self

    def targets(self, references: Any, sources: Any) -> Any:
        """Return the references, or the sources that take their place.

        Raises:
            TypeError: both are given, or the metric takes no sources.
        """
        if sources is None:
            return references
        if not self.takes_sources:
            raise TypeError(f"{self.metric} takes no sources; give references")
        if references is not None:
            raise TypeError("got both references and sources; give one of them")
        return sources

    def signed(self) -> dict[str, object]:
        """What can change a score, but for the model and how it reads, which a scorer signs."""
        fields: dict[str, object] = {}
        for field in own_fields(type(self)):
            name, value = field.metadata.get("signature", field.name), getattr(self, field.name)
            if name and field.name not in self.unsigned:
                fields[name] = "+".join(self.names) if field.name == self.names_field else value
        return fields

    def label(self, name: str) -> str:
        """What to call the score of this name, with the parameters that belong to it."""
        return name

    def baseline_settings(self: AnySettings) -> list[AnySettings]:
        """The settings whose scores a baseline file holds, for every kind of weights."""
        if "idf" not in field_types(type(self)):
            return [self]
        return [self.replace(idf=form) for form in (False, self.idf or "references")]


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Settings):
    """Settings of metrics that read texts with a model.

    Args:
        model_name_or_path: a folder, a name on the Hub, or "bundled", small, English and offline;
            None: ${model_variable}, else {default_model}.
        model_revision: branch, tag or commit of a model on the Hub.
        max_length: tokens of the longest text, special ones too; None: the model's limit.
        long_text: longer texts: truncate, window (read them whole, in windows) or error.
        batch_size: rows in one forward pass, or "auto".
        device: cpu, cuda, cuda:1 ...; None: a GPU that has room.
        dtype: float32, bfloat16 or float16.
        tokenize_processes: processes that tokenise a large corpus to count its documents.
        reuse_memory: bytes kept of texts that come again.
    """

    default_model: ClassVar[str] = "google-bert/bert-base-uncased"
    model_variable: ClassVar[str] = "INFOLM_MODEL"
    unsigned = frozenset(("batch_size", "device", "tokenize_processes", "reuse_memory"))

    model_name_or_path: str | os.PathLike[str] | None = dataclasses.field(
        default=None, metadata={"flags": ("--model",), "signature": ""}
    )
    model_revision: str | None = dataclasses.field(
        default=None, metadata={"flags": ("--revision",), "signature": ""}
    )
    max_length: int | None = dataclasses.field(default=None, metadata={"signature": ""})
    long_text: Literal["truncate", "window", "error"] = dataclasses.field(
        default="truncate", metadata={"signature": ""}
    )
    batch_size: int | Literal["auto"] = "auto"
    device: str | None = None
    dtype: Literal["float32", "bfloat16", "float16"] = dataclasses.field(
        default="float32", metadata={"signature": ""}
    )
    tokenize_processes: int | None = None
    reuse_memory: int = dataclasses.field(default=REUSED_BYTES, metadata={"flags": ()})

    def __post_init__(self) -> None:
        for name in ("device", "dtype"):  # torch's own are names, too
            if type(getattr(self, name)).__module__ == "torch":
                object.__setattr__(self, name, str(getattr(self, name)).removeprefix("torch."))
        if isinstance(self.device, int):
            raise TypeError(
                f"device must be a name such as 'cpu' or 'cuda:0', got {self.device!r}; "
                f"give device='cuda:{self.device:d}' for the GPU of this number"
            )
        super().__post_init__()
        for name in ("max_length", "batch_size", "tokenize_processes"):
            check_at_least(name, getattr(self, name), 1)
        check_at_least("reuse_memory", self.reuse_memory, 0)
        if self.device is not None:
            check_device(self.device)
        object.__setattr__(self, "model_name_or_path", self._model())

    def without_reuse(self: AnySettings) -> AnySettings:
        """Return these settings without a cache of encodings."""
        return self.replace(reuse_memory=0)

    def _model(self) -> str:
        """The model's name or the absolute path of its folder, also from the environment."""
        name = self.model_name_or_path or os.environ.get(self.model_variable)
        if not name:  # the bundled model stands for each metric's own
            everywhere = os.environ.get(ModelSettings.model_variable) == BUNDLED
            name = BUNDLED if everywhere else self.default_model
        path = os.path.expanduser(name)
        # Absolute, because workers have other working folders.
        return os.path.abspath(path) if name != BUNDLED and os.path.isdir(path) else str(name)


# Fields.


_type_hints = functools.cache(typing.get_type_hints)


def field_types(settings: type[Settings]) -> Mapping[str, Any]:
    """The annotation of every field, by name."""
    hints = _type_hints(typing.cast(Hashable, settings))
    return {field.name: hints[field.name] for field in dataclasses.fields(settings)}


def own_fields(settings: type[Settings]) -> tuple[dataclasses.Field[Any], ...]:
    """The fields, those of the metric itself before those of all metrics."""
    fields = {field.name: field for field in dataclasses.fields(settings)}
    names = [name for base in settings.__mro__ for name in vars(base).get("__annotations__", ())]
    return tuple(fields[name] for name in dict.fromkeys(names) if name in fields)


def descriptions(settings: type[Settings]) -> Mapping[str, str]:
    """What each field is, from the docstrings of the class and its bases.

    >>> descriptions(ModelSettings)["model_revision"]
    'branch, tag or commit of a model on the Hub.'
    """
    entries: dict[str, str] = {}
    for base in reversed(settings.__mro__):
        # From Python 3.13 on a docstring comes without its indentation.
        documentation = inspect.cleandoc(base.__doc__ or "")
        for word in ("model_variable", "default_model"):
            documentation = documentation.replace(f"{{{word}}}", getattr(settings, word, ""))
        arguments = documentation.partition("Args:\n")[2].partition("\n\n")[0]
        for name, text in re.findall(r"^ +(\w+): ((?:.+\n?)(?: {5,}.+\n?)*)", arguments, re.M):
            entries[name] = " ".join(text.split())
    return entries


def flags(field: dataclasses.Field[Any]) -> tuple[str, ...]:
    """The flags of a field on the command line, none for a setting that is no option."""
    return tuple(field.metadata.get("flags", ("--" + field.name.replace("_", "-"),)))


def option(settings: type[Settings], field: dataclasses.Field[Any]) -> dict[str, Any]:
    """The keywords by which argparse reads a field; without the option it has no value.

    >>> option(ModelSettings, own_fields(ModelSettings)[2])["metavar"]
    'N'
    """
    kinds = _members(field_types(settings)[field.name])
    words = _words(kinds)
    keywords: dict[str, Any] = {
        "dest": field.name,
        "default": None,
        "help": descriptions(settings)[field.name].rstrip(".").replace("%", "%%"),
    }
    if kinds == (bool,):
        return {**keywords, "action": "store_true"}
    if {int, float} & set(kinds):
        keywords |= {"type": _number_or_word, "metavar": "N"}
    else:
        keywords["metavar"] = "WORD" if words and str not in kinds else "NAME"
    if field.name == settings.names_field:
        keywords["action"] = "append"
    return keywords


def _number_or_word(word: str) -> int | float | str:
    """A word of the command line as a number, if it is one."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(word)
    return word


# Checks of values.


def nearest(value: object, choices: Iterable[str], every: bool = False) -> str:
    """A hint at the known name most like `value`, or a list of all of them; with `every`, both.

    A mapping from other names to known ones does for `choices`, too.

    >>> nearest("truncated", ["truncate", "window"])
    "did you mean 'truncate'?"
    >>> nearest("x", ["truncate", "window"])
    "known: 'truncate', 'window'"
    """
    names = dict(choices) if isinstance(choices, Mapping) else {name: name for name in choices}
    text = str(value).lower()
    matches = [name for name in names if len(text) > 2 and text in name.lower()]
    # A bold guess does no harm beside the whole list.
    cutoff = 0.4 if every else 0.6
    matches = matches or difflib.get_close_matches(text, names, n=1, cutoff=cutoff)
    hints = [f"did you mean {names[matches[0]]!r}?"] if matches else []
    if every or not matches:
        labels = [repr(name) for name in dict.fromkeys(names.values())]
        rest = [f"and {len(labels) - LISTED} more"] if len(labels) > LISTED else []
        hints.append("known: " + (", ".join([*labels[:LISTED], *rest]) or "none"))
    return " ".join(hints)


def check_names(
    values: Iterable[str], choices: Collection[str], problem: str = "unknown setting"
) -> None:
    """Raise TypeError for an unknown name, with the most similar known name.

    >>> check_names(["lang"], ["model_name_or_path"])
    Traceback (most recent call last):
    TypeError: unknown setting 'lang'; did you mean 'model_name_or_path'?
    """
    for name in values:
        if name not in choices:
            meant = NAMES_ELSEWHERE.get(name)
            # A call takes inputs in addition to the settings that are checked here.
            known = meant in choices or meant in INPUTS
            hint = f"did you mean {meant!r}?" if known else nearest(name, list(choices))
            raise TypeError(f"{problem} {name!r}; {hint}")


def check_known(name: str, value: object, choices: Collection[str], every: bool = False) -> None:
    """Raise ValueError with the nearest known word if `value` is none of them.

    >>> check_known("level", "sytem", ("system", "text"))
    Traceback (most recent call last):
    ValueError: unknown level 'sytem'; did you mean 'system'?
    """
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"unknown {name} {value!r}; {nearest(value, choices, every)}")


def check_at_least(name: str, value: Any, least: float) -> None:
    """Raise ValueError for a number below `least`; words and None pass.

    >>> check_at_least("seed", -1, 0)
    Traceback (most recent call last):
    ValueError: seed must be at least 0, got -1
    """
    if isinstance(value, int | float) and not value >= least:
        raise ValueError(f"{name} must be at least {least}, got {value!r}")


def check_device(name: str) -> None:
    """Raise ValueError unless this machine has the torch device."""
    import torch

    try:
        device = torch.device(name)
        if (device.index or 0) < torch.get_device_module(device).device_count():
            return
        reason = "this machine has no such device"
    except RuntimeError as error:
        reason = str(error).partition("\n")[0]
    raise ValueError(
        f"device must be a torch device such as 'cpu' or 'cuda:0', got {name!r}: {reason}"
    )


def check_value(name: str, value: Any, annotation: Any) -> Any:
    """The value as its annotation has it; lists become tuples, numpy's numbers Python's.

    Raises:
        TypeError: it is of another type.
        ValueError: it is an unknown word, or not finite.

    >>> check_value("layers", [4, 6], int | tuple[int, ...])
    (4, 6)
    >>> check_value("temperature", "warm", float)
    Traceback (most recent call last):
    TypeError: temperature must be a number, got 'warm'
    """
    kinds = _members(annotation)
    if annotation is Any or (value is None and NoneType in kinds):
        return value
    if bool in kinds and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    if isinstance(value, str):
        words = _words(kinds)
        if value in words or (value and str in kinds):
            return value
        if words and not {bool, int, float} & set(kinds):
            check_known(name, value, words)
    elif os.PathLike in map(_origin, kinds) and isinstance(value, os.PathLike):
        return os.fspath(value)
    elif (kind := int if int in kinds else float) in kinds and _is_number(value, kind):
        return _number(name, value, kind)
    for kind in kinds:
        if _origin(kind) is tuple and _is_list(value):
            member = typing.get_args(kind)[0]
            return tuple(check_value(f"{name}[{i}]", part, member) for i, part in enumerate(value))
        if isinstance(kind, type) and kind not in PLAIN and isinstance(value, kind):
            return value
    raise TypeError(f"{name} must be {_in_words(kinds)}, got {value!r:.100}")


def check_whole(name: str, value: Any, least: int = 1) -> int:
    """The value as an int of at least `least`."""
    number: int = check_value(name, value, int)
    check_at_least(name, number, least)
    return number


def check_share(name: str, value: float, ends: str) -> None:
    """Raise ValueError for a number that is not from 0 to 1; `ends` says what those stand for."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1{ends}, got {value!r}")


def idf_of(value: bool | str | os.PathLike[str] | IDF | None) -> bool | str | IDF:
    """What weighs the tokens, from the setting `idf`: "references", "separate", a table or False.

    The words of `IDF_WORDS`, True, False and None need no table. "bundled" is the table counted on
    the bundled model's corpus; a path is loaded.

    Raises:
        ValueError: there is no table at the path.
    """
    if isinstance(value, IDF):
        return value
    if not isinstance(value, os.PathLike):
        value = str(value)
        if value.lower() in IDF_WORDS:
            return IDF_WORDS[value.lower()]
    path = BUNDLED_FOLDER / "idf.json" if value == BUNDLED else Path(value).expanduser()
    if not path.is_file():
        words = ("references", "separate", "none", BUNDLED)
        raise ValueError(
            "idf must be 'references', 'separate', 'none', 'bundled', an IDF or the path of a "
            f"saved table; there is no file {str(path)!r}; {nearest(value, words)}, or make a "
            "table with `infolm idf`"
        )
    return IDF.load(path)


def score_names(
    name: str, value: Any, choices: Mapping[str, str], every: bool = False
) -> str | tuple[str, ...]:
    """The full name of a score, or those of a list, once each, by a mapping from all names.

    >>> score_names("animals", ["cat", "kitty"], {"cat": "cat", "kitty": "cat"})
    ('cat',)
    """
    if isinstance(value, str):
        check_known(name, value, choices, every)
        return choices[value]
    if not value:
        raise ValueError(
            f"{name} is an empty list; name at least one of {sorted(set(choices.values()))}"
        )
    return tuple(dict.fromkeys(str(score_names(name, part, choices, every)) for part in value))


def _members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the only one."""
    union = typing.get_origin(annotation) in (Union, UnionType)
    return typing.get_args(annotation) if union else (annotation,)


def _origin(kind: Any) -> Any:
    return typing.get_origin(kind) or kind


def _words(kinds: Iterable[Any]) -> list[Any]:
    """The words that literal annotations allow."""
    return [word for kind in kinds for word in typing.get_args(kind) if _origin(kind) is Literal]


def _is_number(value: Any, number: type) -> bool:
    """True for a Python, numpy or torch scalar that is no bool and no complex number."""
    kind = type(value).__name__
    # Arrays have __index__, too.
    if getattr(value, "ndim", 0) or kind.startswith(("bool", "bytes", "complex")):
        return False
    return hasattr(value, "__index__" if number is int else "__float__")


def _number(name: str, value: Any, number: type) -> Any:
    try:
        scalar = int(value) if number is int else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise TypeError(f"{name} must be a single number, got {value!r:.100}") from None
    if not math.isfinite(scalar):
        raise ValueError(f"{name} must be finite, got {value!r}")
    return scalar


def _is_list(value: Any) -> bool:
    ordered = isinstance(value, Sequence) or getattr(value, "ndim", 0) == 1
    return bool(ordered) and not isinstance(value, str | bytes)


def _in_words(kinds: Iterable[Any]) -> str:
    """What a value may be, for messages."""
    words: dict[Any, str] = {bool: "True or False", int: "a whole number", float: "a number"}
    words |= {str: "a name or path", tuple: "a list of these", NoneType: "None"}
    labels = []
    for kind in kinds:
        if _origin(kind) is Literal:
            labels += [repr(word) for word in typing.get_args(kind)]
        elif _origin(kind) is not os.PathLike:
            labels.append(words.get(_origin(kind), getattr(kind, "__name__", str(kind))))
    return " or ".join(labels)
