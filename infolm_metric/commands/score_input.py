"""Input options of `infolm score`: texts, files or a data set."""

from __future__ import annotations

import argparse
import os
from functools import cache, partial

from infolm_metric import tables
from infolm_metric.commands import options
from infolm_metric.core.checks import InputError
from infolm_metric.core.files import STANDARD_INPUT, label
from infolm_metric.tables import Source, resembles_file

INPUT_MODES = "texts as arguments, -c FILE and -r FILE, --data FILE, or --dataset NAME"
DATASET_OPTIONS = {
    "--dataset": "data set on the Hub, or folder of data files",
    "--dataset-config": "configuration of the data set, required if it has several",
    "--dataset-revision": "branch, tag or commit of the data set",
    "--split": "split of the data set (default: the only split)",
}


def add_texts(group: options.Group) -> None:
    add = group.add_argument
    text = "a candidate followed by its references, or the name of a table file"
    add("texts", nargs="*", metavar="TEXT", help=text)
    text = "plain text, one candidate per line, or - for standard input"
    add("-c", "--candidates", metavar="FILE", help=text)
    options.add_references(group)
    add("--data", metavar="FILE", help="table, or - for JSON Lines from standard input")


def parse_source(arguments: argparse.Namespace) -> Source:
    """Return the source that the arguments select, without reading it.

    A single text that is "-" or resembles the name of a file is treated as --data.
    """
    texts, table = arguments.texts, arguments.data
    path = texts[0] if len(texts) == 1 and not (arguments.as_texts or table) else ""
    if path == STANDARD_INPUT or resembles_file(path):
        texts, table = [], path
    references = arguments.references
    parallel = [*filter(None, [arguments.candidates]), *references]
    check_input_mode(arguments, texts, table, parallel)
    columns = (arguments.candidate_column, arguments.reference_columns)
    if texts:
        row = ("arguments", {"prediction": texts[0], "references": texts[1:]})
        return Source("arguments", lambda: iter([row]))
    if parallel:
        read = partial(tables.read_parallel, parallel[0], references)
        return Source(label(parallel[0]), read, *columns, tuple(parallel))
    if table:
        read = partial(tables.read_rows, table)
        return Source(label(table), read, *columns, (table,))
    name = arguments.dataset
    part = (arguments.dataset_config, arguments.split, arguments.dataset_revision)
    load = cache(partial(tables.load_dataset, name, *part))
    rows = partial(tables.dataset_rows, name, load)
    paths = (name,) if os.path.isdir(name) else ()
    return Source(name, rows, *columns, paths, load)


def check_input_mode(
    arguments: argparse.Namespace, texts: list[str], table: str | None, parallel: list[str]
) -> None:
    """Check that exactly one input mode is used, with only its own options."""
    if (modes := sum(map(bool, (texts, table, arguments.dataset, parallel)))) != 1:
        problem = "more than one input" if modes else "nothing to score"
        raise InputError(f"{problem}. Pass {INPUT_MODES}.")
    if (texts or parallel) and (arguments.candidate_column or arguments.reference_columns):
        raise InputError("--candidate-column and --reference-column require --data or --dataset")
    for flag in ("split", "dataset_config", "dataset_revision"):
        if getattr(arguments, flag) and not arguments.dataset:
            raise InputError(f"--{flag.replace('_', '-')} requires --dataset NAME")
    if parallel and not (arguments.candidates and parallel[1:]):
        raise InputError("-c and -r require each other. Pass -c CANDIDATES and -r REFERENCES.")
    names = [text for text in texts if text not in arguments.as_texts and resembles_file(text)]
    if names:
        raise InputError(
            f"{names[0]!r} looks like a file name. {tables.PLAIN_TEXT} To score a table, run "
            "infolm score --data FILE. To score the arguments as texts, put -- before them."
        )
    if len(texts) == 1:
        raise InputError(
            f"the candidate has no references, got only {texts[0]!r}. Add a reference. To score "
            "a table, check its name. Pass a folder of tables with --dataset."
        )
