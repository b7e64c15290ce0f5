"""Options that several commands share: metrics, settings, columns and corpora."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Container, Iterator, Mapping
from dataclasses import Field
from typing import TYPE_CHECKING, Any

from infolm_metric import metrics, tables
from infolm_metric.commands import outputs
from infolm_metric.commands.parser import Parser
from infolm_metric.core import settings as fields
from infolm_metric.core.checks import InputError, check_at_least
from infolm_metric.core.settings import Settings

if TYPE_CHECKING:
    from infolm_metric.scoring.scorer import Scorer

MODEL = "model_name_or_path"
Group = argparse._ArgumentGroup


# Metrics and their settings.


def add_metric(parser: Parser, *, multiple: bool = False) -> None:
    """Add the options that select metrics and models."""
    group = parser.add_argument_group("metric")
    text = f"{', '.join(metrics.METRICS)} ({'repeatable, ' * multiple}default: {metrics.DEFAULT})"
    keywords: dict[str, Any] = {"choices": list(metrics.METRICS), "help": text}
    if multiple:
        add_repeated(group, "--metric", **keywords)
    else:
        group.add_argument("--metric", metavar="NAME", default=metrics.DEFAULT, **keywords)
    text = (
        "a folder, a name on the Hub, or bundled (each metric's small English model, offline). "
        "METRIC=NAME sets the model of one metric. Repeatable. Default: INFOLM_MODEL (menli: "
        "INFOLM_NLI_MODEL) if set, or else the metric's default (answer_check: always bundled)"
    )
    add_repeated(group, "--model", dest=MODEL, help=text)


def add_running(group: Group) -> None:
    """Add the options that every command has."""
    group.add_argument("-q", "--quiet", action="store_true", help="hide the progress bar")
    group.add_argument("--verbose", action="store_true", help="show the full traceback on errors")
    group.add_argument("-h", "--help", action="help", help="show this help")


def add_common(parser: Parser, names: Container[str] | None = None, scores: bool = True) -> None:
    """Add common options and, as in `add_settings`, the settings of all metrics."""
    add_running(parser.add_argument_group("running"))
    add_settings(parser, names, scores)


def add_settings(parser: Parser, names: Container[str] | None = None, scores: bool = True) -> None:
    """Add the settings of all metrics, grouped by metric.

    Only settings in `names` are added (default: all), without the settings that select scores if
    `scores` is False.
    """
    types = {name: metric.settings_type() for name, metric in metrics.METRICS.items()}
    table: dict[str, dict[str, Field[Any]]] = {}  # setting -> metric -> field
    for metric, settings in types.items():
        for field in fields.ordered_fields(settings):
            excluded = (MODEL,) if scores else (MODEL, settings.names_field)
            wanted = field.name not in excluded and (names is None or field.name in names)
            if wanted and fields.flags(field):
                table.setdefault(field.name, {})[metric] = field
    groups = {name: parser.add_argument_group(f"settings of {name}") for name in types}
    shared = parser.add_argument_group("settings of several metrics")
    for name, field_by_metric in table.items():
        texts: dict[str, list[str]] = {}
        for metric, field in field_by_metric.items():
            option = fields.option(types[metric], field)
            texts.setdefault(option["help"], []).append(metric)
        parser.owners[name] = [metric for owners in texts.values() for metric in owners]
        if len(texts) > 1 or len(parser.owners[name]) not in (1, len(types)):
            labels = (f"{', '.join(owners)}: {text}" for text, owners in texts.items())
            option["help"] = ". ".join(labels)
        group = shared if len(parser.owners[name]) > 1 else groups[metric]
        group.add_argument(*fields.flags(field), **option)


def chosen_metrics(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the metrics that --metric selects, or the default metric."""
    names: str | list[str] = arguments.metric
    return [names] if isinstance(names, str) else names or [metrics.DEFAULT]


def check_metrics(parser: Parser, arguments: argparse.Namespace) -> None:
    """Reject metrics that are chosen twice, and settings that no chosen metric has."""
    if "metric" not in arguments:
        return
    names = chosen_metrics(arguments)
    for name in {name for name in names if names.count(name) > 1}:
        parser.error(f"argument --metric: {name!r} passed twice. Remove one of them")
    for setting, owners in parser.owners.items():
        if getattr(arguments, setting) is not None and not {*owners} & {*names}:
            parser.error(
                f"{parser.flags()[setting]} is a setting of {', '.join(owners)}, not of "
                f"{', '.join(names)}. Omit it, or pass --metric {owners[0]}"
            )


def read_metrics(arguments: argparse.Namespace) -> list[Settings]:
    """Return the settings of all chosen metrics."""
    return [read_settings(name, arguments) for name in chosen_metrics(arguments)]


def read_settings(name: str, arguments: argparse.Namespace, **defaults: object) -> Any:
    """Return a metric's settings from the arguments, or from `defaults` for missing options.

    >>> read_settings("infolm", argparse.Namespace(metric=[], temperature=1.5)).temperature
    1.5
    """
    settings: type[Settings] = metrics.find(name).settings_type()
    models = read_models(arguments)
    values = {**vars(arguments), MODEL: models.get(name, models.get(""))}
    for field in fields.ordered_fields(settings):
        if (value := values.get(field.name)) is not None:
            single = field.name == settings.names_field and len(value) == 1
            defaults[field.name] = value[0] if single else value
    return settings.of(**defaults)


def read_models(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the models that --model sets, by metric, or "" for all other metrics.

    >>> words = ["bundled", "menli=roberta-large-mnli"]
    >>> read_models(argparse.Namespace(metric=["infolm", "menli"], model_name_or_path=words))
    {'': 'bundled', 'menli': 'roberta-large-mnli'}
    """
    models: dict[str, str] = {}
    for word in getattr(arguments, MODEL, ()):
        metric, mark, model = word.partition("=")
        if not mark or os.path.exists(os.path.expanduser(word)):
            metric, model = "", word
        known = not metric or metric in chosen_metrics(arguments)
        if not (known and model) or metric in models:
            raise InputError(
                f"--model {word}: pass NAME once, or METRIC=NAME once per metric of --metric "
                f"({', '.join(chosen_metrics(arguments))})."
            )
        models[metric] = model
    return models


def make_scorer(settings: Settings) -> Scorer:
    """Import torch, and return a scorer with these settings."""
    return metrics.find(settings.metric).scorer_type()(settings)


def progress_enabled(quiet: bool) -> bool:
    """Return True if standard error is a terminal and --quiet was not passed."""
    return sys.stderr is not None and sys.stderr.isatty() and not quiet


# Other options.


# Arguments in Python whose names differ from their flags. Messages contain the names in Python.
NAMES = {"criterion": "criteria", "scores": "metrics", "reference-column": "reference_columns"}


def add_repeated(group: Group, *flags: str, metavar: str = "NAME", **keywords: Any) -> None:
    """Add a repeatable option, whose default is an empty list."""
    keywords = {"dest": NAMES.get(flags[-1].removeprefix("--"))} | keywords
    group.add_argument(*flags, action="append", default=[], metavar=metavar, **keywords)


def add_references(group: Group, **keywords: object) -> None:
    text = "plain text, one reference per line (repeatable)"
    add_repeated(group, "-r", "--references", metavar="FILE", help=text, **keywords)


def add_columns(group: Group, candidates: bool = True) -> None:
    """Add the options for column names."""
    if candidates:
        text = f"column of candidates (default: {' or '.join(tables.CANDIDATE_COLUMNS)})"
        add_names(group, {"--candidate-column": text})
    text = f"column of references (repeatable, default: {' or '.join(tables.REFERENCE_COLUMNS)})"
    add_repeated(group, "--reference-column", help=text)


RATING_COLUMNS = {
    "--system-column": "column of systems, or none for independent texts (default: system)",
    "--id-column": "column of sample ids (default: id)",
}


def add_names(group: Group, texts: Mapping[str, str]) -> None:
    """Add options that take a name, with their help texts."""
    for flag, text in texts.items():
        group.add_argument(flag, metavar="NAME", help=text)


def add_rating_columns(group: Group) -> None:
    """Add the options for column names in tables of human scores."""
    add_names(group, RATING_COLUMNS)
    add_columns(group)


def add_resampling(group: Group) -> None:
    text = "number of resamples (default: 1000)"
    group.add_argument("--resamples", type=int, default=1000, metavar="N", help=text)
    group.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")


def check_resampling(arguments: argparse.Namespace) -> None:
    check_at_least("--resamples", arguments.resamples, 1)
    check_at_least("--seed", arguments.seed, 0)


def add_corpus(parser: Parser, extension: str) -> Group:
    """Add the options for the corpus and the output file, and return their group."""
    group = parser.add_argument_group("corpus and output")
    text = "plain text files or tables, or - for plain text from standard input"
    group.add_argument("corpus", nargs="+", metavar="CORPUS", help=text)
    text = "table column that contains the texts (default: text)"
    group.add_argument("--column", metavar="NAME", default="text", help=text)
    text = f"output file ({extension} or .json)"
    group.add_argument("-o", "--output", metavar="FILE", required=True, help=text)
    return group


def read_corpus(arguments: argparse.Namespace, extension: str) -> Iterator[str]:
    """Check the corpus files and the output, and return an iterator over all texts."""
    if arguments.output == outputs.STANDARD_OUTPUT:
        raise InputError("cannot write the result to standard output. Name a file with -o.")
    formats = dict.fromkeys((extension, ".json", ""), "json")
    outputs.check_output(arguments, formats, *arguments.corpus)
    return (
        text for path in arguments.corpus for text in tables.read_documents(path, arguments.column)
    )
