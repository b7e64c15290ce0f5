"""What the commands share: the options of metrics and their settings, and of columns."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from infolm_metric import metrics
from infolm_metric.core.files import CANDIDATE_COLUMNS, REFERENCE_COLUMNS
from infolm_metric.core.settings import Settings, annotations, flags, option, own_fields

if TYPE_CHECKING:
    from infolm_metric.core.scorer import Scorer

Group = argparse._ArgumentGroup
SettingsTypes = Sequence[type[Settings]]


def chosen_settings(words: Sequence[str]) -> list[type[Settings]]:
    """The settings of the metrics that --metric names, the last first, before a parser has them.

    Those of the default one if none is named, or none that is known.

    >>> [each.metric for each in chosen_settings(["--metric=menli", "a text", "another"])]
    ['menli']
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--metric", nargs="?", action="append", default=[])
    named = parser.parse_known_args(words)[0].metric
    known = [name for name in reversed(named) if name in metrics.METRICS] or [metrics.DEFAULT]
    return [metrics.find(name).settings_type() for name in dict.fromkeys(known)]


def metric_name(name: str) -> str:
    """The name of a metric, as argparse reads it."""
    try:
        return metrics.find(name).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def metric_or_column(name: str) -> str:
    """Likewise, where scores of other metrics come in columns."""
    try:
        return metric_name(name)
    except argparse.ArgumentTypeError as error:
        hint = f"{error}; a column of scores is named with --scores {name}"
        raise argparse.ArgumentTypeError(hint) from None


def add_metric(
    parser: argparse.ArgumentParser,
    types: SettingsTypes,
    read: Any = metric_name,
    several: str = "",
    scores: bool = True,
) -> None:
    """The group of options that name the metric, its model and, with `scores`, kinds of score.

    With `several`, which ends the help, any number of metrics can be named.
    """
    group = parser.add_argument_group("metric")
    known = f"{', '.join(metrics.METRICS)}"
    if several:
        more: dict[str, Any] = {"action": "append", "default": []}
        text = f"{known}; repeat for several ({several}); help shows their settings"
    else:
        more = {"default": metrics.DEFAULT}
        text = f"{known} (default: {metrics.DEFAULT}); with --help: its settings"
    group.add_argument("--metric", metavar="NAME", type=read, help=text, **more)
    names = {"model_name_or_path", *(each.names_field for each in types if scores)}
    _add_fields(group, types, names)


def add_settings(
    parser: argparse.ArgumentParser, types: SettingsTypes, names: Container[str] | None = None
) -> None:
    """The group of all other settings, or of those of `names`."""
    metric_names = " and ".join(each.metric for each in types)
    group = parser.add_argument_group(f"more settings of {metric_names}")
    _add_fields(group, types, names)


def add_running(group: Group) -> None:
    """The options that every command has."""
    group.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    group.add_argument("--verbose", action="store_true", help="show where an error was raised")
    group.add_argument("-h", "--help", action="help", help="show this")


def _add_fields(group: Group, types: SettingsTypes, names: Container[str] | None) -> None:
    """The settings as options; one that several metrics have, and a flag that is taken, once."""
    taken = group._option_string_actions
    for settings in types:
        for field in own_fields(settings):
            free = [flag for flag in flags(field) if flag not in taken]
            if free and (names is None or field.name in names):
                group.add_argument(*free, **option(settings, field))


def add_columns(group: Group) -> None:
    """The options that name the columns of a table."""
    group.add_argument(
        "--candidate-column",
        metavar="NAME",
        help=f"(default: {' or '.join(CANDIDATE_COLUMNS)})",
    )
    add_repeated(
        group,
        "--reference-column",
        f"repeat for several (default: {' or '.join(REFERENCE_COLUMNS)})",
    )


def add_references(group: Group, **more: Any) -> None:
    """The option that names files of references."""
    group.add_argument(
        "-r",
        "--references",
        metavar="FILE",
        action="append",
        default=[],
        help="plain text with as many lines; repeat for several references each",
        **more,
    )


def add_repeated(group: Group, flag: str, help: str, metavar: str = "NAME", **more: Any) -> None:
    """An option that can be given several times; without it there is an empty list."""
    group.add_argument(flag, action="append", default=[], metavar=metavar, help=help, **more)


def add_number(group: Group, flag: str, help: str, default: int | None = None) -> None:
    """An option that takes a whole number."""
    group.add_argument(flag, type=int, default=default, metavar="N", help=help)


def add_resampling(group: Group) -> None:
    """The options of resamples."""
    add_number(group, "--resamples", "(default: 1000)", 1000)
    add_number(group, "--seed", "of resamples (default: 0)", 0)


def read_settings(settings: type[Settings], arguments: argparse.Namespace, **usual: Any) -> Any:
    """The metric's settings that the command line gives, and where it gives none, the usual ones.

    >>> from infolm_metric.infolm.settings import InfoLMSettings
    >>> read_settings(InfoLMSettings, argparse.Namespace(temperature=1.5)).temperature
    1.5
    """
    values = dict(usual)
    for name in annotations(settings):
        value = getattr(arguments, name, None)
        if value is not None:
            lone = name == settings.names_field and len(value) == 1
            values[name] = value[0] if lone else value
    return settings.of(**values)


def chosen(arguments: argparse.Namespace, **usual: Any) -> Any:
    """What `read_settings` gives for the metric that is named."""
    return read_settings(metrics.find(arguments.metric).settings_type(), arguments, **usual)


def scorer_of(settings: Any) -> Scorer:
    """A scorer with these settings; waits for torch."""
    scorer: Scorer = metrics.find(settings.metric).scorer_type()(settings)
    return scorer


def shows_progress(arguments: argparse.Namespace) -> bool:
    """True on a terminal, unless it is to be quiet."""
    return sys.stderr is not None and sys.stderr.isatty() and not arguments.quiet
