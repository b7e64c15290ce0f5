"""What the commands share: options of metrics, columns, corpora and outputs, and their checks."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from infolm_metric import metrics
from infolm_metric.core import files
from infolm_metric.core import settings as fields
from infolm_metric.core.settings import Settings

if TYPE_CHECKING:
    from infolm_metric.core.scorer import Scorer

STANDARD_OUTPUT = "-"
COMBINED = "combine_with"  # the setting that names another metric
IDF_OF_COMBINED = (
    "token weights of the metric in --combine-with: references, separate, none, bundled or a file "
    "of infolm idf (default: none)"
)
Group = argparse._ArgumentGroup
SettingsTypes = Sequence[type[Settings]]


# Metrics and their settings.


def chosen_settings(words: Sequence[str]) -> list[type[Settings]]:
    """The settings of the metrics that --metric names, the last first, before a parser has them.

    Those of the default one if none is named, or none that is known.

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
    several: bool = False,
    scores: bool = True,
) -> None:
    """The group of options that name the metric, its model and, with `scores`, kinds of score.

    Several metrics can be named with `several`.
    """
    group = parser.add_argument_group("metric")
    default = f"default: {metrics.DEFAULT}{'; repeat for several' if several else ''}"
    text = f"{', '.join(metrics.METRICS)} ({default}); --help shows its settings"
    choices = list(metrics.METRICS)
    if several:
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
    """The groups of all other settings, or of those of `names`, and of what every command has."""
    group = running or parser.add_argument_group("running")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress bar")
    group.add_argument("--verbose", action="store_true", help="show where an error was raised")
    group.add_argument("-h", "--help", action="help", help="show this")
    if types:
        title = f"more settings of {' and '.join(settings.metric for settings in types)}"
        _add_fields(parser.add_argument_group(title), types, names)


def _add_fields(group: Group, types: SettingsTypes, names: Container[str] | None) -> None:
    """The settings as options; one that several metrics have, and a flag that is taken, once."""
    actions = group._option_string_actions
    for settings in types:
        for field in fields.own_fields(settings):
            flags = [flag for flag in fields.flags(field) if flag not in actions]
            if flags and (names is None or field.name in names):
                group.add_argument(*flags, **fields.option(settings, field))
                if field.name == COMBINED and "--idf" not in actions:
                    group.add_argument("--idf", metavar="NAME", help=IDF_OF_COMBINED)


def read_settings(name: str, arguments: argparse.Namespace, **defaults: Any) -> Any:
    """The settings of a metric: what the command line gives, where it gives nothing the defaults.

    >>> read_settings("infolm", argparse.Namespace(temperature=1.5)).temperature
    1.5
    """
    settings: type[Settings] = metrics.find(name).settings_type()
    for field in fields.own_fields(settings):
        if (value := getattr(arguments, field.name, None)) is not None:
            single = field.name == settings.names_field and len(value) == 1
            defaults[field.name] = value[0] if single else value
    return _with_idf(settings.of(**defaults), arguments)


def _with_idf(settings: Any, arguments: argparse.Namespace) -> Any:
    """Return the settings of a combination with the other metric's token weights from --idf."""
    idf = getattr(arguments, "idf", None)
    if idf is None or not hasattr(settings, COMBINED):
        return settings
    if settings.other is not None:
        return settings.replace(**{COMBINED: settings.other.replace(idf=idf)})
    names = [arguments.metric] if isinstance(arguments.metric, str) else arguments.metric
    if all(hasattr(metrics.find(name).settings_type(), COMBINED) for name in names):
        raise ValueError(
            f"--idf {idf} needs a metric that weights tokens, and {settings.metric} does not; add "
            "--combine-with infolm or baryscore"
        )
    return settings


def scorer_of(settings: Any) -> Scorer:
    """A scorer with these settings; waits for torch."""
    return metrics.find(settings.metric).scorer_type()(settings)


def shows_progress(arguments: argparse.Namespace) -> bool:
    """True on a terminal, unless it is to be quiet."""
    return sys.stderr is not None and sys.stderr.isatty() and not arguments.quiet


# Other options.


def add_repeated(group: Group, *flags: str, metavar: str = "NAME", **keywords: Any) -> None:
    """An option that can be given several times; without it there is an empty list."""
    group.add_argument(*flags, action="append", default=[], metavar=metavar, **keywords)


def add_references(group: Group, **keywords: Any) -> None:
    """The option that names files of references."""
    text = "plain text with as many lines; repeat for several references each"
    add_repeated(group, "-r", "--references", metavar="FILE", help=text, **keywords)


def add_columns(group: Group, types: SettingsTypes = (), candidates: bool = True) -> None:
    """Add options that name columns, with a column of sources if a metric takes sources."""
    if candidates:
        text = f"(default: {' or '.join(files.CANDIDATE_COLUMNS)})"
        group.add_argument("--candidate-column", metavar="NAME", help=text)
    text = f"repeat for several (default: {' or '.join(files.REFERENCE_COLUMNS)})"
    add_repeated(group, "--reference-column", help=text)
    if any(settings.takes_sources for settings in types):
        text = "of sources, in place of references"
        group.add_argument("--source-column", metavar="NAME", help=text)


def target_columns(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the columns of references, or of sources in their place."""
    source, references = getattr(arguments, "source_column", None), arguments.reference_column
    if source and references:
        raise ValueError(
            f"give --reference-column or --source-column, not both, got --source-column {source}"
        )
    return [source] if source else references


def add_resampling(group: Group) -> None:
    """The options of resamples."""
    group.add_argument("--resamples", type=int, default=1000, metavar="N", help="(default: 1000)")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of them (default: 0)")


def check_resampling(arguments: argparse.Namespace) -> None:
    """Raise ValueError for numbers that `add_resampling` does not take."""
    fields.check_at_least("resamples", arguments.resamples, 1)
    fields.check_at_least("seed", arguments.seed, 0)


def add_corpus(parser: argparse.ArgumentParser) -> Group:
    """The group of options that name a corpus and the file that is made of it."""
    group = parser.add_argument_group("corpus and output")
    text = "plain text or tables; - is plain text on standard input"
    group.add_argument("corpus", nargs="+", metavar="CORPUS", help=text)
    group.add_argument("--column", metavar="NAME", default="text", help="of tables (default: text)")
    group.add_argument("-o", "--output", metavar="FILE", required=True, help="file to save to")
    return group


def read_corpus(arguments: argparse.Namespace) -> Iterator[str]:
    """The texts of all files, once it is checked that they are there and the output can be made."""
    files.check_there(arguments.corpus)
    if arguments.output == STANDARD_OUTPUT:
        raise ValueError("standard output cannot hold this; name a file with -o")
    files.check_writable(arguments.output, arguments.corpus)
    return (
        text for path in arguments.corpus for text in files.read_documents(path, arguments.column)
    )


# Outputs.


def add_output(group: Group, tables: bool = True) -> None:
    """The options that say where and how results are written."""
    if tables:
        add = group.add_mutually_exclusive_group().add_argument
        add("--json", action="store_true", help="every number, as one JSON object")
        add("--markdown", action="store_true", help="tables in Markdown")
    text = "write to a file"
    group.add_argument("-o", "--output", metavar="FILE", default=STANDARD_OUTPUT, help=text)


def check_output(arguments: argparse.Namespace, *inputs: str) -> None:
    """Raise ValueError if an input is not there, or the output cannot be made."""
    files.check_there(inputs)
    if arguments.output != STANDARD_OUTPUT:
        values = [value for name, value in vars(arguments).items() if name != "output"]
        lists = [value if isinstance(value, list) else [value] for value in values]
        words = [word for words in lists for word in words if isinstance(word, str)]
        # Most of them are no files, but texts of any length, or names such as that of the metric.
        paths = [word for word in words if os.path.isfile(os.path.expanduser(word))]
        files.check_writable(arguments.output, [*inputs, *paths])


def write(lines: Iterable[str], output: str) -> None:
    """Write the lines to the file, or to standard output if it is "-"."""
    text = "".join(f"{line}\n" for line in lines)
    if output != STANDARD_OUTPUT:
        # A lone surrogate, as in a file's name, becomes an escape, as on standard output.
        files.write_whole(output, [text.encode(errors="backslashreplace")])
    elif sys.stdout:  # which may be closed
        sys.stdout.write(text)


def layout_of(arguments: argparse.Namespace) -> Callable[..., list[str]]:
    """How tables are to be written."""
    return markdown if arguments.markdown else aligned


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines with columns of equal width; the first `left` columns are flush left.

    >>> aligned(["metric", "r"], [["BLEU", "0.5"]])
    ['metric    r', 'BLEU    0.5']
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    sides = [str.ljust] * left + [str.rjust] * (len(header) - left)
    return [
        "  ".join(map(lambda side, cell, width: side(cell, width), sides, row, widths)).rstrip()
        for row in (header, *rows)
    ]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    r"""The lines of a Markdown table; the first `left` columns are flush left.

    >>> markdown(["metric", "r"], [["a|b", "0.5"]])
    ['| metric | r |', '|---|---:|', '| a\\|b | 0.5 |']
    """
    rule = "|" + "|".join(["---"] * left + ["---:"] * (len(header) - left)) + "|"
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return ["| " + " | ".join(header) + " |", rule, *lines]
