"""What `infolm score` is given: texts, files or a data set, and the options that name them."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from infolm_metric.commands.options import COLUMNS, Option, option
from infolm_metric.kernel import tables
from infolm_metric.kernel.lines import STANDARD_INPUT, check_there, shown
from infolm_metric.kernel.pairs import Pairs, check_pairs
from infolm_metric.kernel.settings import Settings

if TYPE_CHECKING:
    from infolm_metric.running.files import PairSource

WAYS = "texts as arguments, -c FILE and -r FILE, or --data FILE"


def check_way(arguments: argparse.Namespace) -> None:
    """Raise ValueError unless pairs are given in one way, and are there. A lone table is one.

    >>> check_way(argparse.Namespace(texts=[], data=None, dataset=None, candidates="a",
    ...     references=None, candidate_column=None, reference_column=[], split=None))
    Traceback (most recent call last):
    ValueError: give both files: -c FILE with the candidates, -r FILE with references
    """
    if len(arguments.texts) == 1 and arguments.data is None:
        (lone,) = arguments.texts
        if lone == STANDARD_INPUT or (tables.named_as_table(lone) and os.path.isfile(lone)):
            arguments.data, arguments.texts = lone, []
    if sources := getattr(arguments, "sources", None):
        if arguments.references:
            raise ValueError(f"give -r FILE or --sources FILE, not both, got --sources {sources}")
        arguments.references = [sources]
    files = bool(arguments.candidates or arguments.references)
    table = bool(arguments.data) + bool(arguments.dataset)
    if (ways := bool(arguments.texts) + table + files) != 1:
        raise ValueError(f"{'give either' if ways else 'nothing to score; give'} {WAYS}")
    if not table and (arguments.candidate_column or arguments.reference_column):
        raise ValueError("--candidate-column and --reference-column need --data FILE or --dataset")
    if files and not (arguments.candidates and arguments.references):
        raise ValueError("give both files: -c FILE with the candidates, -r FILE with references")
    for flag in ("split", "dataset_config", "dataset_revision", "streaming"):
        if getattr(arguments, flag) and not arguments.dataset:
            raise ValueError(f"--{flag.replace('_', '-')} needs --dataset NAME")
    if arguments.texts:
        _given_pair(arguments)
    elif files:
        check_there([arguments.candidates, *arguments.references])


def read_pairs(arguments: argparse.Namespace) -> Pairs:
    """All the pairs, in memory; standard input does, too."""
    source = open_source(arguments)
    pairs = Pairs.of(source.read())
    if not len(pairs):
        raise ValueError(f"{shown(source.name)} has no rows; give one row for each pair")
    return pairs


def open_source(arguments: argparse.Namespace) -> PairSource:
    """The pairs as a stream that can be read again."""
    from infolm_metric.running import files

    columns = (arguments.candidate_column, arguments.reference_column)
    if arguments.data:
        return files.from_table(arguments.data, *columns)
    if arguments.candidates:
        return files.from_parallel(arguments.candidates, arguments.references)
    if arguments.texts:
        pairs = _given_pair(arguments)
        return files.PairSource("arguments", lambda: iter(pairs), 1)
    return files.from_dataset(arguments.dataset, load_dataset(arguments), *columns)


def load_dataset(arguments: argparse.Namespace) -> Any:
    """The data set that the arguments name, as `datasets` loads it."""
    from infolm_metric.running import files

    return files.load(
        arguments.dataset,
        config=arguments.dataset_config,
        split=arguments.split,
        revision=arguments.dataset_revision,
        streaming=arguments.streaming,
    )


def _given_pair(arguments: argparse.Namespace) -> Pairs:
    """The first text as the candidate and the others as its references; refuses names of files."""
    for text in arguments.texts:
        if os.path.isfile(text):
            raise ValueError(
                f"{text!r} is a file, and texts are expected here; give files with options: "
                "-c FILE -r FILE (plain text, one text per line) or --data FILE (a table)"
            )
    candidate, *references = arguments.texts
    taken = getattr(arguments, "rescale_with_baseline", None)
    if not references and isinstance(taken, str) and not os.path.isfile(taken):
        raise ValueError(
            f"--rescale-with-baseline took {taken!r} for its file; put it after the texts"
        )
    if not references:
        table = candidate.lower().endswith(tuple(tables.TABLES))
        there = f", or a file that is there: {candidate!r} is none" if table else ""
        raise ValueError(f"got one text; give the candidate, then at least one reference{there}")
    return check_pairs([candidate], [references])


BEFORE: tuple[Option, ...] = (
    option(
        "texts",
        nargs="*",
        metavar="TEXT",
        help="the candidate, then its references; or, alone, a table FILE, as with --data",
    ),
    option("-c", "--candidates", metavar="FILE", help="plain text; - is standard input"),
    option(
        "-r",
        "--references",
        metavar="FILE",
        action="append",
        help="plain text with as many lines; repeat for several references each",
    ),
)
SOURCES = option(
    "--sources",
    metavar="FILE",
    help="plain text with as many lines, in the place of -r: what the candidates were made from; "
    "in a table --reference-column names its column",
)
AFTER: tuple[Option, ...] = (
    option(
        "--data",
        metavar="FILE",
        help=f"table of candidates and references ({' '.join(tables.TABLES)}); - is JSON Lines "
        "on standard input; the references may be a list, in CSV as pandas or JSON writes it",
    ),
    option(
        "--dataset",
        metavar="NAME",
        help="data set: a name on the Hub, a folder of data files, or one of save_to_disk",
    ),
    option("--dataset-config", metavar="NAME", help="configuration of the data set, if several"),
    option("--dataset-revision", metavar="NAME", help="branch, tag or commit of the data set"),
    option("--split", metavar="NAME", help="split of the data set (default: the only one)"),
    option("--streaming", action="store_true", help="read the data set without downloading it"),
    *COLUMNS,
)


def options(own: type[Settings]) -> tuple[Option, ...]:
    """What names the pairs, for the metric with these settings."""
    return (*BEFORE, *([SOURCES] if own.takes_sources else []), *AFTER)
