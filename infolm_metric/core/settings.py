"""Settings of the metrics. Their fields define checks, command-line options and signatures.

This module does not import torch, so that help and error messages appear without delay.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import re
import typing
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from infolm_metric.core import checks
from infolm_metric.core.checks import InputError
from infolm_metric.core.idf import IDF

BUNDLED = "bundled"
BUNDLED_FOLDER = Path(__file__).parents[1] / "bundled"
REUSED_BYTES = 5 << 27
# Values of the `idf` setting by word, for command lines and configuration files.
IDF_WORDS: dict[str, bool | str] = {
    **dict.fromkeys(("references", "true"), "references"),
    **dict.fromkeys(("none", "false", "no"), False),  # "no" in signatures
    "separate": "separate",
}
NLI_LABELS = ("entailment", "neutral", "contradiction")
LABEL_SETS = (sorted(NLI_LABELS), ["entailment", "not_entailment"])
# Patterns that match the beginning of a lowercased label name.
LABEL_PATTERNS = {"entailment": "entail", "neutral": "neutral", "contradiction": "contradict"}
LABEL_PATTERNS["not_entailment"] = "no[nt][ _-]?entail"


def setting(default: object = None, **metadata: object) -> Any:
    """Return a field of settings with a default value and metadata (see `Settings`)."""
    return dataclasses.field(default=default, metadata=metadata)


IDFSetting = bool | str | os.PathLike[str] | IDF | None
IDF_VALUES = "'references', 'separate', 'bundled', False, a path or an IDF"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a metric, checked on creation.

    A metric defines its settings as dataclass fields of a subclass, and describes them under
    "Args:" in its docstring. Annotations define the allowed types and words, and `__post_init__`
    checks further conditions. A field's metadata may contain `flags`, `signature` and `allowed`.
    `flags` are its command-line flags: by default its name with dashes, or an empty tuple if it is
    not an option. `signature` is its name in signatures (default: the field's name), "" if the run
    adds it, or None if it cannot change a score. `allowed` describes its values in messages, by
    default by their types.

    Raises:
        InputError: a value is invalid. The message names the setting.
    """

    # Name of the metric in results and signatures.
    metric: ClassVar[str] = ""
    # Name of the field that selects one or several scores.
    names_field: ClassVar[str] = ""
    # Names of the columns of verdicts, of a metric that has a verdict for each candidate.
    verdict_columns: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        types = field_types(type(self))
        for field in dataclasses.fields(self):
            name, allowed = field.name, field.metadata.get("allowed", "")
            value = checks.check_value(name, getattr(self, name), types[name], allowed)
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, **values: object) -> Self:
        """Return settings with these values. Raise InputError for an unknown name.

        >>> Settings.of(temprature=2)
        Traceback (most recent call last):
        infolm_metric.InputError: unknown setting 'temprature'. Known: none
        """
        checks.check_names(values, field_types(cls))
        return cls(**values)

    def replace(self, **values: object) -> Self:
        """Return a copy with changed values. Raise InputError for an unknown name."""
        checks.check_names(values, field_types(type(self)))
        return dataclasses.replace(self, **values) if values else self

    @property
    def names(self) -> tuple[str, ...]:
        """Full names of the requested scores."""
        value = getattr(self, self.names_field) if self.names_field else self.metric
        return (value,) if isinstance(value, str) else tuple(value)

    @property
    def several(self) -> bool:
        """True if a list of score names was requested, even a list of one name."""
        return isinstance(getattr(self, self.names_field, None), tuple)

    @property
    def idf(self) -> IDFSetting:
        """Token weights. Metrics that weight tokens override this property with a field."""
        return False

    @property
    def idf_sides(self) -> tuple[str, ...]:
        """Sides (candidates, references) whose documents are counted for IDF weights."""
        sides = {"references": ("references",), "separate": ("candidates", "references")}
        return sides[self.idf] if isinstance(self.idf, str) else ()

    def with_uniform_weights(self) -> Self:
        """Return these settings, with uniform weights if IDF weights come from the scored texts."""
        return self.replace(idf=False) if self.idf_sides else self

    def without_reuse(self) -> Self:
        """Return these settings without a cache of encodings."""
        return self

    def single(self, name: str) -> Self:
        """Return these settings with a single score name."""
        return self.replace(**{self.names_field: name}) if self.names_field else self

    def signature_fields(self) -> dict[str, object]:
        """Return the settings that can change a score. The run adds the model's fields."""
        fields: dict[str, object] = {}
        for field in ordered_fields(type(self)):
            name, value = field.metadata.get("signature", field.name), getattr(self, field.name)
            if name:
                fields[name] = "+".join(self.names) if field.name == self.names_field else value
        return fields

    def column(self, name: str) -> str:
        """Return the name of a score in tables and files, which starts with the metric's name.

        The default score has the name of the metric.
        """
        default = getattr(type(self), self.names_field) if self.names_field else name
        return self.metric if name == default else f"{self.metric}_{name}"

    def columns(self, rescaled: bool = False) -> list[str]:
        """Return the names of the columns of scores that scoring adds to a table."""
        columns = list(map(self.column, self.names))
        return columns + [f"{column}_rescaled" for column in columns if rescaled]

    def all_columns(self, rescaled: bool = False) -> list[str]:
        """Return the names of the columns that scoring adds, with the columns of verdicts."""
        return [*self.columns(rescaled), *self.verdict_columns]

    def baseline_settings(self) -> list[Self]:
        """Return the settings that a baseline covers, one per token weighting scheme."""
        if "idf" not in field_types(type(self)):
            return [self]
        return [self.replace(idf=form) for form in (False, self.idf or "references")]


@dataclass(frozen=True, kw_only=True)
class ModelSettings(Settings):
    """Settings of metrics that encode texts with a model.

    Args:
        model_name_or_path: a folder, a name on the Hub, or "bundled" (small, English, offline).
            Default: ${model_variable} if set, else {default_model}.
        model_revision: branch, tag or commit of a model on the Hub.
        max_length: maximum number of tokens per text, including special tokens. Default: the
            model's limit.
        long_text: handling of longer texts: truncate, window (overlapping windows) or error.
        batch_size: number of sequences per forward pass, or "auto".
        device: cpu, cuda, cuda:1 and so on. Default: a CUDA GPU with free memory, else the CPU.
        dtype: float32, bfloat16 or float16.
        reuse_memory: maximum size of the cache of encodings, in bytes.
    """

    default_model: ClassVar[str] = "google-bert/bert-base-uncased"
    model_variable: ClassVar[str] = "INFOLM_MODEL"

    model_name_or_path: str | os.PathLike[str] | None = setting(
        flags=("--model",), signature="", allowed="a name or path"
    )
    model_revision: str | None = setting(flags=("--revision",), signature="")
    max_length: int | None = setting(signature="")
    long_text: Literal["truncate", "window", "error"] = setting("truncate", signature="")
    batch_size: int | Literal["auto"] = setting("auto", signature=None)
    device: str | None = setting(signature=None, allowed="a torch device such as 'cpu' or 'cuda:0'")
    dtype: Literal["float32", "bfloat16", "float16"] = setting("float32", signature="")
    reuse_memory: int = setting(REUSED_BYTES, flags=(), signature=None)

    def __post_init__(self) -> None:
        for name in ("device", "dtype"):  # torch.device and torch.dtype
            if type(getattr(self, name)).__module__ == "torch":
                object.__setattr__(self, name, str(getattr(self, name)).removeprefix("torch."))
        super().__post_init__()
        for name, least in {"max_length": 1, "batch_size": 1, "reuse_memory": 0}.items():
            checks.check_at_least(name, getattr(self, name), least)
        if self.device is not None:
            checks.check_device(self.device)
        model = self.model_name_or_path or os.environ.get(self.model_variable)
        if not model:  # each metric has its own bundled model
            everywhere = os.environ.get(ModelSettings.model_variable) == BUNDLED
            model = BUNDLED if everywhere else self.default_model
        path = os.path.expanduser(model)
        if model != BUNDLED and os.path.isdir(path):
            model = os.path.abspath(path)  # workers have different working directories
        object.__setattr__(self, "model_name_or_path", str(model))

    def without_reuse(self) -> Self:
        return self.replace(reuse_memory=0)

    @property
    def rows_per_batch(self) -> int | None:
        """Number of sequences per forward pass, or None to fill batches by tokens."""
        return None if self.batch_size == "auto" else int(self.batch_size)


@dataclass(frozen=True, kw_only=True)
class EncodingSettings(ModelSettings):
    """Settings of metrics that encode each text once and compare encodings.

    Args:
        idf: token weights: references (IDF of the references), separate (IDF of each side), none
            (uniform), bundled (IDF of English prose, requires the vocabulary of the bundled
            models), or a file written by infolm idf.
        multi_reference: reduction over several references: {best_of_references} or mean.
    """

    best_of_references: ClassVar[str] = "min"

    idf: IDFSetting = setting("references", allowed=IDF_VALUES)
    multi_reference: Literal["min", "max", "mean"] = "min"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "idf", resolve_idf(self.idf))


# Fields.


_type_hints = functools.cache(typing.get_type_hints)


def field_types(settings: type[Settings]) -> Mapping[str, Any]:
    """Return the type annotations of all fields by name."""
    hints = _type_hints(typing.cast(Hashable, settings))
    return {field.name: hints[field.name] for field in dataclasses.fields(settings)}


def ordered_fields(settings: type[Settings]) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of a class, followed by the fields of its bases."""
    fields = {field.name: field for field in dataclasses.fields(settings)}
    names = [name for base in settings.__mro__ for name in vars(base).get("__annotations__", ())]
    return tuple(fields[name] for name in dict.fromkeys(names) if name in fields)


def descriptions(settings: type[Settings]) -> Mapping[str, str]:
    """Return each field's description from the docstrings of the class and its bases.

    >>> descriptions(ModelSettings)["model_revision"]
    'branch, tag or commit of a model on the Hub.'
    """
    entries: dict[str, str] = {}
    for base in reversed(settings.__mro__):
        # Python 3.13 and later remove the indentation of docstrings.
        documentation = inspect.cleandoc(base.__doc__ or "")
        for word in ("model_variable", "default_model", "best_of_references"):
            documentation = documentation.replace(f"{{{word}}}", getattr(settings, word, ""))
        arguments = documentation.partition("Args:\n")[2].partition("\n\n")[0]
        for name, text in re.findall(r"^ +(\w+): ((?:.+\n?)(?: {5,}.+\n?)*)", arguments, re.M):
            entries[name] = " ".join(text.split())
    return entries


def flags(field: dataclasses.Field[Any]) -> tuple[str, ...]:
    """Return a field's command-line flags, or () if it is not an option."""
    return tuple(field.metadata.get("flags", ("--" + field.name.replace("_", "-"),)))


def option(settings: type[Settings], field: dataclasses.Field[Any]) -> dict[str, Any]:
    """Return the arguments with which argparse adds a field as an option. The default is None.

    >>> option(ModelSettings, ordered_fields(ModelSettings)[2])["metavar"]
    'N'
    """
    kinds = checks.members(field_types(settings)[field.name])
    text = descriptions(settings)[field.name].rstrip(".").replace("%", "%%")
    if field.default is not None and kinds != (bool,):
        text += f" (default: {'none' if field.default is False else field.default})"
    keywords: dict[str, Any] = {"dest": field.name, "default": None, "help": text}
    if kinds == (bool,):
        if field.default is True:  # its flag is --no-NAME
            return {**keywords, "action": "store_false", "help": f"do not {text}"}
        return {**keywords, "action": "store_true"}
    if {int, float} & set(kinds):
        keywords |= {"type": _number_or_word, "metavar": "N"}
    else:
        keywords["metavar"] = "WORD" if checks.literal_words(kinds) and str not in kinds else "NAME"
    if field.name == settings.names_field:
        keywords["action"] = "append"
    return keywords


def _number_or_word(word: str) -> int | float | str:
    """Convert a command-line argument to a number if possible."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(word)
    return word


def resolve_idf(value: bool | str | os.PathLike[str] | IDF | None) -> bool | str | IDF:
    """Resolve the `idf` setting to "references", "separate", False or a table.

    "bundled" loads the package's table, and a path loads a saved table. See `IDF_WORDS` for other
    words.
    """
    if isinstance(value, IDF):
        return value
    word = str(value)
    if word.lower() in IDF_WORDS:
        return IDF_WORDS[word.lower()]
    path = BUNDLED_FOLDER / "idf.json" if word == BUNDLED else os.path.expanduser(word)
    if not os.path.isfile(path):
        hint = checks.nearest(word, ("references", "separate", "none", BUNDLED), every=True)
        raise InputError(
            "idf must be a known word, an IDF or the path to a table saved by `infolm idf`, but "
            f"there is no file {str(path)!r}. {hint}",
            setting="idf",
        )
    return IDF.load(path)


@dataclass(frozen=True, kw_only=True)
class NLISettings(ModelSettings):
    """Settings of metrics that score pairs of texts with an NLI model.

    Args:
        labels: label names in the order of the model's outputs, such as
            contradiction,neutral,entailment. Default: read from the model's configuration.
        max_length: maximum number of tokens in both texts together, including special tokens.
            Default: the model's limit.
        long_text: handling of longer pairs: truncate (the longer text first) or error.
    """

    model_variable = "INFOLM_NLI_MODEL"

    labels: str | tuple[str, ...] | None = setting(signature="")
    max_length: int | None = setting(signature="")
    long_text: Literal["truncate", "error"] = setting("truncate", signature="")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels is None:
            return
        names = self.labels.split(",") if isinstance(self.labels, str) else self.labels
        kinds = parse_labels(names)
        if not kinds:
            raise InputError(
                "labels must be entailment, neutral and contradiction, or entailment and "
                f"not_entailment, in the order of the model's outputs, got {self.labels!r}",
                setting="labels",
            )
        object.__setattr__(self, "labels", kinds)


def parse_labels(names: Iterable[str]) -> tuple[str, ...]:
    """Return the keys in LABEL_PATTERNS that match the names, or () if they are not a label set."""
    words = [name.strip().casefold() for name in names]
    kinds = [
        next((kind for kind, pattern in LABEL_PATTERNS.items() if re.match(pattern, word)), "")
        for word in words
    ]
    return tuple(kinds) if sorted(kinds) in LABEL_SETS else ()
