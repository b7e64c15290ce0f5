"""Settings, each declared once: a field carries its check, its help, its flag, what it changes.

From the fields come the checks of arguments, the options of the command line and the signature.
Nothing here imports torch: help and wrong arguments are answered at once.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from infolm_metric.kernel.baselines import Baseline, baseline_source, of_the_package
from infolm_metric.kernel.checks import flag, nearest

SIDES = {"references": ("references",), "separate": ("candidates", "references")}
FILL = textwrap.TextWrapper(100, "    ", " " * 8, break_on_hyphens=False)

Own = TypeVar("Own", bound="Settings")


@dataclass(frozen=True)
class Choice:
    """What is known of a setting beside its name and its default.

    `check` takes the name and a value, and gives the value normalised or raises. A setting with
    `flags` is an option of the command line. `signed` tells whether the setting can change a score,
    and so stands in the signature, under `label` if one is given. `repeated` is True where
    one call can hold several values. `kind` is the annotation of the field, and `given` that of
    what callers may give, where it is more.
    """

    check: Callable[[str, Any], Any]
    help: str
    flags: tuple[str, ...] = ()
    signed: bool = False
    label: str = ""
    repeated: bool = False
    kind: str = ""
    given: str = ""


def choice(
    default: Any, check: Callable[[str, Any], Any], help: str, *flags: str, **more: Any
) -> Any:
    """A field of `Settings`; the arguments are the default and those of `Choice`.

    >>> from infolm_metric.kernel.checks import whole_number
    >>> @dataclass(frozen=True)
    ... class Mine(Settings):
    ...     metric = "mine"
    ...     size: int = choice(2, whole_number, "how large", "--size", signed=True)
    >>> Mine.of(size=3).signed()
    {'size': 3}
    >>> Mine.of(sise=3)
    Traceback (most recent call last):
    TypeError: unknown setting 'sise'; did you mean 'size'?
    """
    return field(default=default, metadata={"choice": Choice(check, help, flags, **more)})


@dataclass(frozen=True)
class Settings:
    """A checked set of choices; raises ValueError or TypeError that names the wrong one.

    A metric's settings are a subclass that declares its fields with `choice`.
    """

    metric: ClassVar[str] = ""
    """The metric's name, which its result and its signature carry."""

    takes_sources: ClassVar[bool] = False
    """True if sources can stand in the place of references."""

    return_scores: bool = choice(True, flag, "whether `compute` gives the score of each pair")
    rescale_with_baseline: bool | Baseline = choice(
        False,
        baseline_source,
        "give also each score as 1 for a copy and 0 for what unrelated texts score: True (by the "
        "package's baseline) or a file made by infolm baseline",
        "--rescale-with-baseline",
        given="bool | str | os.PathLike[str] | Baseline",
    )
    verbose: bool = choice(
        False,
        flag,
        "show progress; on the command line, which does so on terminals unless told --quiet, show "
        "where in the code an error arose",
        "-v",
        "--verbose",
    )

    def __post_init__(self) -> None:
        # Names of scores last: they are known with their formulas, which wait for torch.
        for name, declared in sorted(self.choices().items(), key=lambda each: each[1].repeated):
            object.__setattr__(self, name, declared.check(name, getattr(self, name)))
        if self.rescale_with_baseline is True:
            object.__setattr__(self, "rescale_with_baseline", of_the_package(self.metric))

    @classmethod
    @functools.cache
    def choices(cls) -> Mapping[str, Choice]:
        """The declaration of every setting, by name, the metric's own ones first."""
        fields = {}
        for each in dataclasses.fields(cls):
            declared: Choice = each.metadata["choice"]
            kind = _written(each.type)
            fields[each.name] = dataclasses.replace(
                declared, kind=kind, given=declared.given or kind
            )
        own_first = [name for one in cls.__mro__ for name in vars(one).get("__annotations__", ())]
        ordered = {name: fields[name] for name in dict.fromkeys(own_first) if name in fields}
        return MappingProxyType(ordered)

    @classmethod
    def help(cls, name: str) -> str:
        """What a setting is, in a line."""
        return cls.choices()[name].help.format_map(
            {word: getattr(cls, word, "") for word in ("model_variable", "default_model")}
        )

    @classmethod
    def documentation(cls) -> str:
        """Every setting with what it takes and its help, for the manual page of `compute`."""
        return "\n".join(
            FILL.fill(f"{name} ({declared.given}): {cls.help(name)}")
            for name, declared in cls.choices().items()
        )

    @classmethod
    def of(cls: type[Own], **given: Any) -> Own:
        """The settings with the given values; an unknown name is refused."""
        return cls(**cls._known(given))

    def replace(self: Own, **given: Any) -> Own:
        """These settings with some values changed; an unknown name is refused."""
        return dataclasses.replace(self, **self._known(given)) if given else self

    @classmethod
    def _known(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        for name in given:
            if name not in cls.choices():
                raise TypeError(f"unknown setting {name!r}; {nearest(name, list(cls.choices()))}")
        return given

    @classmethod
    @functools.cache
    def _naming(cls) -> str | None:
        """The setting that names the scores, if a call can ask for several."""
        return next((name for name, each in cls.choices().items() if each.repeated), None)

    @property
    def names(self) -> tuple[str, ...]:
        """Full names of the scores that a pair gets."""
        naming = self._naming()
        asked = getattr(self, naming) if naming else self.metric
        return (asked,) if isinstance(asked, str) else tuple(asked)

    @property
    def several(self) -> bool:
        """True if a list of scores was asked for, even of one."""
        naming = self._naming()
        return naming is not None and not isinstance(getattr(self, naming), str)

    @property
    def counted(self) -> tuple[str, ...]:
        """The sides of the pairs whose documents are counted for the setting `idf`.

        >>> Settings().counted
        ()
        """
        idf = getattr(self, "idf", False)
        return SIDES[idf] if isinstance(idf, str) else ()

    def signed(self) -> dict[str, object]:
        """What can change a score under these settings, as the signature shows it."""
        fields = {
            declared.label or name: "+".join(self.names)
            if declared.repeated
            else getattr(self, name)
            for name, declared in self.choices().items()
            if declared.signed
        }
        if isinstance(self.rescale_with_baseline, Baseline):
            fields["baseline"] = self.rescale_with_baseline
        return fields

    def label(self, name: str) -> str:
        """What to call the score of this name, with the parameters that belong to it."""
        return name

    def only(self: Own, name: str) -> Own:
        """These settings for the score of this name alone."""
        naming = self._naming()
        return self.replace(**{naming: name}) if naming else self

    def baselined(self: Own) -> list[Own]:
        """The settings whose scores a baseline file holds, for every kind of weights."""
        plain, idf = self.replace(rescale_with_baseline=False), getattr(self, "idf", None)
        forms = [] if idf is None else [False, idf or "references"]
        return [plain.replace(idf=form) for form in forms] or [plain]

    def grid(self: Own, lists: Mapping[str, Sequence[Any]]) -> list[Own]:
        """These settings with every combination of the values listed by name.

        >>> [each.return_scores for each in Settings().grid({"return_scores": [True, False]})]
        [True, False]
        """
        return [
            self.replace(**dict(zip(lists, values, strict=True)))
            for values in itertools.product(*check_lists(lists).values())
        ]


def check_lists(lists: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The values by name, each a list; TypeError if one is no list, ValueError if it is empty.

    >>> check_lists({"temperatures": (1, 2)})
    {'temperatures': [1, 2]}
    """
    found = {}
    for name, values in lists.items():
        if isinstance(values, str) or not isinstance(values, Collection):
            raise TypeError(f"{name} must be a list of values, got {values!r}; use [{values!r}]")
        found[name] = list(values)
        if not found[name]:
            raise ValueError(f"{name} must be a list of at least one value, got {values!r}")
    return found


def _written(annotation: Any) -> str:
    """The annotation of a field as it was written, in modules that evaluate it, too."""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)
