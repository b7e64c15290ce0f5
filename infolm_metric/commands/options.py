"""What a sub-command is made of, and the settings of one metric or of several as its options.

A command declares its own options in `COMMAND`, at the foot of its file.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from infolm_metric import metrics
from infolm_metric.kernel import text_files
from infolm_metric.kernel.checks import natural_number, whole_number
from infolm_metric.kernel.settings import Settings

if TYPE_CHECKING:
    from infolm_metric.kernel.scorer import MetricScorer


@dataclass(frozen=True)
class Option:
    """An argument of a sub-command: its flags, or one name, and the keywords for argparse."""

    flags: tuple[str, ...]
    keywords: Mapping[str, Any]


@dataclass(frozen=True)
class Command:
    """A sub-command: what it does in one line, its options by heading, what its help ends with.

    The options depend on the metrics that are chosen: their settings are among them.
    """

    name: str
    summary: str
    run: Callable[[argparse.Namespace], None]
    options: Callable[..., Mapping[str, Sequence[Option]]]
    epilogue: str = ""


def option(*flags: str, **keywords: Any) -> Option:
    """The option that argparse's `add_argument` makes of the same arguments.

    >>> option("--json", action="store_true").flags
    ('--json',)
    """
    return Option(flags, keywords)


def repeated(flag: str, help: str, metavar: str = "NAME", **keywords: Any) -> Option:
    """An option that can be given several times; without it there is an empty list."""
    return option(flag, action="append", default=[], metavar=metavar, help=help, **keywords)


COLUMNS = (
    option(
        "--candidate-column",
        metavar="NAME",
        help=f"(default: {' or '.join(text_files.CANDIDATE_COLUMNS)})",
    ),
    repeated(
        "--reference-column",
        f"repeat for several (default: {' or '.join(text_files.REFERENCE_COLUMNS)})",
    ),
)


def choice(flag: str, words: Sequence[str], help: str) -> Option:
    """An option that takes one of the words, by default the first."""
    return option(flag, choices=words, default=words[0], help=help)


def amount(flag: str, help: str, default: int | None = None) -> Option:
    """An option that takes a whole number."""
    return option(flag, type=int, default=default, metavar="N", help=help)


RESAMPLING = (
    amount("--resamples", "(default: 1000)", 1000),
    amount("--seed", "of resamples (default: 0)", 0),
)


def check_resampling(arguments: argparse.Namespace) -> None:
    """Raise ValueError for numbers that RESAMPLING does not take."""
    whole_number("--resamples", arguments.resamples)
    natural_number("--seed", arguments.seed)


def known_metric(name: str, hint: str = "") -> str:
    """The name of a metric, as argparse reads it; an unknown one is answered with the hint, too."""
    try:
        return metrics.find(name).name
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}{hint.format(name)}") from None


known_beside_scores = partial(known_metric, hint="; a column of scores is named with --scores {}")


def metric_option(known: Callable[[str], str] = known_metric) -> Option:
    """The option that names the metric."""
    return option(
        "--metric",
        metavar="NAME",
        type=known,
        default=metrics.DEFAULT,
        help=f"the metric: {', '.join(metrics.METRICS)} (default: {metrics.DEFAULT}); help shows "
        "the settings of the one that is named",
    )


def chosen_settings(argv: Sequence[str] | None) -> list[type[Settings]]:
    """The settings of the metrics that --metric names, the last first, before a parser has them.

    Those of the default one if none is named, or none that is known.

    >>> [own.metric for own in chosen_settings(["score", "--metric=menli", "a text", "another"])]
    ['menli']
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--metric", nargs="?", action="append", default=[])
    named = parser.parse_known_args(argv)[0].metric
    known = [name for name in reversed(named) if name in metrics.METRICS] or [metrics.DEFAULT]
    return [metrics.find(name).settings_type() for name in dict.fromkeys(known)]


def _number_or_word(given: str) -> int | str:
    return int(given) if given.lstrip("+-").isdecimal() else given


READ: dict[str, dict[str, Any]] = {
    "bool": {"action": "store_true"},
    "int": {"type": int, "metavar": "N"},
    "float": {"type": float, "metavar": "N"},
    "bool | Baseline": {"nargs": "?", "const": True, "metavar": "FILE"},
    "int | str": {"type": _number_or_word, "metavar": "N"},
    "int | str | tuple[int, ...]": {"type": _number_or_word, "metavar": "N"},
}
"""How argparse reads a setting, by its annotation; any other is a word."""


def setting(own: type[Settings], name: str) -> Option:
    """The option that gives a setting of a metric.

    The namespace holds the setting only if the option was given, so that defaults and checks stay
    in one place, `Settings`.

    >>> from infolm_metric.infolm.settings import Settings
    >>> setting(Settings, "temperature").flags
    ('-t', '--temperature')
    """
    declared = own.choices()[name]
    keywords = {"dest": name, "default": argparse.SUPPRESS, "help": own.help(name)}
    keywords |= READ.get(declared.kind.removesuffix(" | None"), {"metavar": "NAME"})
    if declared.repeated:
        keywords["action"] = "append"
    return Option(declared.flags, keywords)


QUIET = option("-q", "--quiet", dest="quiet", action="store_true", help="no progress bar")


def setting_options(own: type[Settings], names: Container[str] | None = None) -> tuple[Option, ...]:
    """The options of a metric's settings, or of those of `names`.

    With the setting `verbose` comes its opposite, which is no setting.
    """
    choices = own.choices()
    mine = [name for name in choices if choices[name].flags and (names is None or name in names)]
    return (*(setting(own, name) for name in mine), *([QUIET] if "verbose" in mine else []))


def read_settings(own: type[Settings], arguments: argparse.Namespace, **usual: Any) -> Settings:
    """The metric's settings that the command line gives, and where it gives none, the usual ones.

    Progress is shown on a terminal, unless it says to be quiet.

    >>> from infolm_metric.infolm.settings import Settings
    >>> given = argparse.Namespace(temperature=1.5, json=True, quiet=False)
    >>> read_settings(Settings, given).temperature
    1.5
    """
    choices = own.choices()
    given = {
        name: value[0] if choices[name].repeated and len(value) == 1 else value
        for name, value in vars(arguments).items()
        if name in choices
    }
    shown = sys.stderr.isatty() and not arguments.quiet
    return own(**{**usual, **given, "verbose": shown})


def settings_given(arguments: argparse.Namespace, **usual: Any) -> Settings:
    """What `read_settings` gives for the chosen metric: checked before torch is imported.

    A command that may wait for its input, or reads long, calls it before.
    """
    own: type[Settings] = metrics.find(arguments.metric).settings_type()
    return read_settings(own, arguments, **usual)


def scorer_of(settings: Settings) -> MetricScorer:
    """A scorer with these settings."""
    scorer: MetricScorer = metrics.find(settings.metric).scorer_type().of(settings)
    return scorer


def labels_of(settings: Settings) -> list[str]:
    """What the scores that the settings give are called in tables."""
    return [settings.label(name) for name in settings.names]


def columns_of(result: Mapping[str, Any], labels: Sequence[str], key: str = "scores") -> Any:
    """The scores of every pair by label, of the result of a call of `score`, [pairs] each."""
    scores = result[key]
    columns = scores.values() if isinstance(scores, Mapping) else [scores]
    return dict(zip(labels, columns, strict=True))


def make_scorer(arguments: argparse.Namespace, **usual: Any) -> MetricScorer:
    """A scorer of the chosen metric with what `read_settings` gives."""
    return scorer_of(settings_given(arguments, **usual))


NOT_HERE = ("rescale_with_baseline",)
"""Settings that change no order of scores."""


def metrics_option(more: str = "") -> Option:
    """The option that names one metric or several; its help ends with `more`."""
    said = f"a metric: {', '.join(metrics.METRICS)}; repeat for several{more}"
    shown = "; help shows the settings of those that are named"
    return repeated("--metric", said + shown, type=known_beside_scores)


def several_setting_options(*types: type[Settings]) -> dict[str, list[Option]]:
    """The settings of several metrics by heading, those that several have first, each once."""
    owners: dict[str, list[type[Settings]]] = {}
    for own in types:
        for name, declared in own.choices().items():
            if declared.flags and name not in NOT_HERE:
                owners.setdefault(name, []).append(own)
    groups: dict[str, list[Option]] = {}
    taken: set[str] = set()
    for name, those in sorted(owners.items(), key=lambda each: -len(each[1])):
        heading = f"settings of {' and '.join(each.metric for each in those)}"
        made = setting(those[0], name)
        flags = tuple(flag for flag in made.flags if flag not in taken)
        taken.update(flags)
        if flags:
            groups.setdefault(heading, []).append(Option(flags, made.keywords))
    next(iter(groups.values())).append(QUIET)
    return groups


def make_scorers(names: Sequence[str], arguments: argparse.Namespace) -> dict[str, MetricScorer]:
    """A scorer of each metric, with those of the settings given that it has.

    The settings are checked before torch is imported.
    """
    types = {name: metrics.find(name).settings_type() for name in names}
    settings = {name: read_settings(own, arguments) for name, own in types.items()}
    return {name: metrics.find(name).scorer_type().of(settings[name]) for name in types}
