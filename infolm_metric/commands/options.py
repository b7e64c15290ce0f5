"""Options that several commands share: metrics, columns, corpora and outputs, with their checks."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from infolm_metric import metrics, tables
from infolm_metric.core import files
from infolm_metric.core import settings as fields
from infolm_metric.core.checks import check_at_least
from infolm_metric.core.settings import Settings

if TYPE_CHECKING:
    from infolm_metric.core.scorer import Scorer

STANDARD_OUTPUT = "-"
# Setting that selects the second metric of a combination.
COMBINED = "combine_with"
IDF_OF_COMBINED = (
    "token weights for the metric in --combine-with: references, separate, none, bundled, or a "
    "file written by infolm idf (default: none)"
)
Group = argparse._ArgumentGroup
SettingsTypes = Sequence[type[Settings]]


# Metrics and their settings.


def chosen_settings(words: Sequence[str]) -> list[type[Settings]]:
    """Return the settings classes of the metrics selected with --metric, in reverse order.

    A command's options depend on these classes, so they are determined before parsing. The default
    is the class of the default metric.

    >>> [settings.metric for settings in chosen_settings(["--metric=menli", "a text", "another"])]
    ['menli']
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--metric", nargs="?", action="append", default=[])
    arguments = parser.parse_known_args(words)[0]
    names = dict.fromkeys(name for name in reversed(arguments.metric) if name in metrics.METRICS)
    return [metrics.find(name).settings_type() for name in names or [metrics.DEFAULT]]


def add_metric(
    parser: argparse.ArgumentParser,
    types: SettingsTypes,
    *,
    multiple: bool = False,
    scores: bool = True,
) -> None:
    """Add the options that select the metrics, the model and, with `scores`, the scores."""
    group = parser.add_argument_group("metric")
    default = f"default: {metrics.DEFAULT}{'; repeat for several' if multiple else ''}"
    text = f"{', '.join(metrics.METRICS)} ({default}); with --help, list the metric's settings"
    choices = list(metrics.METRICS)
    if multiple:
        add_repeated(group, "--metric", choices=choices, help=text)
    else:
        add = group.add_argument
        add("--metric", metavar="NAME", choices=choices, default=metrics.DEFAULT, help=text)
    names = {"model_name_or_path", *(settings.names_field for settings in types if scores)}
    _add_fields(group, types, names)


def add_settings(
    parser: argparse.ArgumentParser,
    types: SettingsTypes,
    names: Container[str] | None = None,
    running: Group | None = None,
) -> None:
    """Add the options shared by all commands, and the settings in `names` (default: all)."""
    group = running or parser.add_argument_group("running")
    group.add_argument("-q", "--quiet", action="store_true", help="hide the progress bar")
    group.add_argument("--verbose", action="store_true", help="show the full traceback on errors")
    group.add_argument("-h", "--help", action="help", help="show this help")
    if types:
        title = f"more settings for {' and '.join(settings.metric for settings in types)}"
        _add_fields(parser.add_argument_group(title), types, names)


def _add_fields(group: Group, types: SettingsTypes, names: Container[str] | None) -> None:
    """Add an option for each setting, but skip flags that already exist."""
    actions = group._option_string_actions
    for settings in types:
        for field in fields.ordered_fields(settings):
            flags = [flag for flag in fields.flags(field) if flag not in actions]
            if flags and (names is None or field.name in names):
                group.add_argument(*flags, **fields.option(settings, field))
    if "--combine-with" in actions and "--idf" not in actions:  # no metric has its own --idf
        group.add_argument("--idf", metavar="NAME", help=IDF_OF_COMBINED)


def read_settings(name: str, arguments: argparse.Namespace, **defaults: Any) -> Any:
    """Return a metric's settings from the arguments, or from `defaults` for missing options.

    >>> read_settings("infolm", argparse.Namespace(metric="infolm", temperature=1.5)).temperature
    1.5
    """
    settings: type[Settings] = metrics.find(name).settings_type()
    for field in fields.ordered_fields(settings):
        if (value := getattr(arguments, field.name, None)) is not None:
            single = field.name == settings.names_field and len(value) == 1
            defaults[field.name] = value[0] if single else value
    names = [arguments.metric] if isinstance(arguments.metric, str) else arguments.metric
    return _with_idf(
        _check_used(settings.of(**defaults), arguments), getattr(arguments, "idf", None), names
    )


def _check_used(settings: Any, arguments: argparse.Namespace) -> Any:
    """Return the settings; raise ValueError if the requested scores do not use an argument.

    infolm baseline has no option for scores, because it computes all of them.
    """
    if hasattr(arguments, settings.names_field):
        for name in sorted(settings.unused):
            if getattr(arguments, name, None) is not None:
                raise ValueError(
                    f"{name} is not used by {', '.join(settings.names)}. Omit {name}, or set "
                    f"{settings.names_field} to a score that uses it"
                )
    return settings


def _with_idf(settings: Any, idf: Any, names: Sequence[str]) -> Any:
    """Apply --idf to the second metric of a combination, and return the settings."""
    if idf is None or not hasattr(settings, COMBINED):
        return settings
    if settings.other is not None:
        return settings.replace(**{COMBINED: settings.other.replace(idf=idf)})
    if all(hasattr(metrics.find(name).settings_type(), COMBINED) for name in names):
        raise ValueError(
            f"{settings.metric} has no token weights, got --idf {idf}; omit --idf, or add "
            "--combine-with infolm, baryscore or bertscore"
        )
    return settings


def make_scorer(settings: Any) -> Scorer:
    """Import torch, and return a scorer with these settings."""
    return metrics.find(settings.metric).scorer_type()(settings)


def progress_enabled(quiet: bool) -> bool:
    """Return True if standard error is a terminal and --quiet was not passed."""
    return sys.stderr is not None and sys.stderr.isatty() and not quiet


# Other options.


def add_repeated(group: Group, *flags: str, metavar: str = "NAME", **keywords: Any) -> None:
    """Add a repeatable option, whose default is an empty list."""
    group.add_argument(*flags, action="append", default=[], metavar=metavar, **keywords)


def add_references(group: Group, **keywords: Any) -> None:
    text = "plain text, one reference per line; repeatable"
    add_repeated(group, "-r", "--references", metavar="FILE", help=text, **keywords)


def add_columns(group: Group, types: SettingsTypes = (), candidates: bool = True) -> None:
    """Add the options for column names."""
    if candidates:
        text = f"column of candidates (default: {' or '.join(tables.CANDIDATE_COLUMNS)})"
        group.add_argument("--candidate-column", metavar="NAME", help=text)
    text = f"column of references; repeatable (default: {' or '.join(tables.REFERENCE_COLUMNS)})"
    add_repeated(group, "--reference-column", help=text)


def add_rating_columns(group: Group, types: SettingsTypes) -> None:
    """Add the options for column names in tables of human scores."""
    text = "column of systems, or none to treat all rows as independent texts (default: system)"
    group.add_argument("--system-column", metavar="NAME", help=text)
    group.add_argument("--id-column", metavar="NAME", help="column of sample ids (default: id)")
    add_columns(group, types)


def rating_columns(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the column names as keyword arguments of `read_ratings`.

    >>> words = {"candidate_column": None, "reference_column": [], "id_column": "doc"}
    >>> rating_columns(argparse.Namespace(system_column="none", **words))["system_column"]
    False
    """
    system = arguments.system_column
    return {
        "system_column": False if system == "none" else system,
        "id_column": arguments.id_column,
        "candidate_column": arguments.candidate_column,
        "reference_columns": arguments.reference_column,
    }


def add_resampling(group: Group) -> None:
    text = "number of resamples (default: 1000)"
    group.add_argument("--resamples", type=int, default=1000, metavar="N", help=text)
    group.add_argument("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")


def check_resampling(arguments: argparse.Namespace) -> None:
    check_at_least("--resamples", arguments.resamples, 1)
    check_at_least("--seed", arguments.seed, 0)


def add_corpus(parser: argparse.ArgumentParser) -> Group:
    """Add the options for the corpus and the output file, and return their group."""
    group = parser.add_argument_group("corpus and output")
    text = "plain text files or tables; - reads plain text from standard input"
    group.add_argument("corpus", nargs="+", metavar="CORPUS", help=text)
    text = "table column that contains the texts (default: text)"
    group.add_argument("--column", metavar="NAME", default="text", help=text)
    group.add_argument("-o", "--output", metavar="FILE", required=True, help="output file")
    return group


def read_corpus(arguments: argparse.Namespace) -> Iterator[str]:
    """Check the corpus files and the output, and return an iterator over all texts."""
    check_output(arguments, *arguments.corpus)
    if arguments.output == STANDARD_OUTPUT:
        raise ValueError("cannot write the result to standard output; name a file with -o")
    return (
        text for path in arguments.corpus for text in tables.read_documents(path, arguments.column)
    )


# Outputs.


def add_output(group: Group, tables: bool = True) -> None:
    """Add the options for the output file and, with `tables`, for its format."""
    if tables:
        add = group.add_mutually_exclusive_group().add_argument
        add("--json", action="store_true", help="print all results as one JSON object")
        layout: dict[str, Any] = {"dest": "layout", "const": markdown, "default": aligned}
        add("--markdown", action="store_const", **layout, help="print Markdown tables")
    text = "output file (default: standard output)"
    group.add_argument("-o", "--output", metavar="FILE", default=STANDARD_OUTPUT, help=text)


def check_output(arguments: argparse.Namespace, *inputs: str) -> None:
    """Raise ValueError if an input is missing or the output cannot be created."""
    files.check_exists(inputs)
    if arguments.output != STANDARD_OUTPUT:
        values = [value for name, value in vars(arguments).items() if name != "output"]
        lists = [value if isinstance(value, list) else [value] for value in values]
        words = [word for words in lists for word in words if isinstance(word, str)]
        # Any argument can name an input file, but most are texts or names such as "infolm".
        paths = [word for word in words if os.path.isfile(os.path.expanduser(word))]
        files.check_writable(arguments.output, [*inputs, *paths])


def write(lines: Iterable[str], output: str) -> None:
    """Write lines to a file, or to standard output if `output` is "-"."""
    text = "".join(f"{line}\n" for line in lines)
    if output != STANDARD_OUTPUT:
        # As on standard output, lone surrogates (possible in file names) are escaped.
        files.write_whole(output, [text.encode(errors="backslashreplace")])
    elif sys.stdout:  # None if it is closed
        sys.stdout.write(text)


def write_report(
    arguments: argparse.Namespace, report: Mapping[str, Any], lines: Iterable[str]
) -> None:
    """Write the report as JSON if --json was passed, otherwise the lines of text."""
    if arguments.json:
        lines = [json.dumps(files.finite(report), allow_nan=False)]
    write(lines, arguments.output)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a plain-text table; the first `left` columns are left-aligned.

    >>> aligned(["metric", "r"], [["BLEU", "0.5"]])
    ['metric    r', 'BLEU    0.5']
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    sides = "<" * left + ">" * (len(header) - left)
    layout = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return [layout.format(*row).rstrip() for row in (header, *rows)]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    r"""Return the lines of a Markdown table; the first `left` columns are left-aligned.

    >>> markdown(["metric", "x|y\nz"], [["a|b", "0.5"]])
    ['| metric | x\\|y z |', '|---|---:|', '| a\\|b | 0.5 |']
    """
    rule = "|" + "|".join(["---"] * left + ["---:"] * (len(header) - left)) + "|"

    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(" ".join(c.splitlines()).replace("|", "\\|") for c in row) + " |"

    return [line(header), rule, *map(line, rows)]
