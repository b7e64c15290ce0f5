"""What `infolm score` is given: texts, files or a data set, and the options that name them."""

from __future__ import annotations

import argparse
import os
from functools import partial

from infolm_metric.commands import options
from infolm_metric.core import files, tables
from infolm_metric.core.files import STANDARD_INPUT, check_exists
from infolm_metric.core.tables import Source, resembles_file

WAYS = "texts as arguments, -c FILE and -r FILE, or --data FILE"
OF_DATASETS = {
    "--dataset": "a name on the Hub, a folder of data files, or one of save_to_disk",
    "--dataset-config": "its configuration, if several",
    "--dataset-revision": "its branch, tag or commit",
    "--split": "its split (default: the only one)",
}


def add_texts(group: options.Group, types: options.SettingsTypes) -> None:
    """The options that most use: texts and files."""
    add = group.add_argument
    text = "the candidate, then its references; alone: a table, as with --data"
    add("texts", nargs="*", metavar="TEXT", help=text)
    text = "plain text, one on a line; - is standard input"
    add("-c", "--candidates", metavar="FILE", help=text)
    options.add_references(group)
    if types[0].takes_sources:
        text = "in the place of -r: what the candidates were made from"
        add("--sources", metavar="FILE", help=text)
    add("--data", metavar="FILE", help="table of candidates and references; - is JSON Lines")


def add_datasets(group: options.Group, types: options.SettingsTypes) -> None:
    """The options of columns and data sets."""
    options.add_columns(group, types)
    for flag, text in OF_DATASETS.items():
        group.add_argument(flag, metavar="NAME", help=text)
    group.add_argument("--streaming", action="store_true", help="do not download it first")


def check_way(arguments: argparse.Namespace) -> None:
    """Raise ValueError unless pairs are given in one way, and exist. A lone table is one way."""
    texts, references = arguments.texts, arguments.references
    path = texts[0] if len(texts) == 1 and not (arguments.as_texts or arguments.data) else ""
    if path == STANDARD_INPUT or resembles_file(path):
        arguments.data, texts = path, []
    if sources := getattr(arguments, "sources", None):
        if references:
            raise ValueError(f"give -r FILE or --sources FILE, not both, got --sources {sources}")
        references = [sources]
    arguments.texts, arguments.references = texts, references
    table = [arguments.data] if arguments.data else []
    parallel = [*filter(None, [arguments.candidates]), *references]
    if (ways := sum(map(bool, (texts, table, arguments.dataset, parallel)))) != 1:
        problem = "give either" if ways else "nothing to score; give"
        raise ValueError(f"{problem} {WAYS}{_swallowed(arguments)}")
    columns = options.target_columns(arguments)
    if (texts or parallel) and (arguments.candidate_column or columns):
        side = "source" if getattr(arguments, "source_column", None) else "reference"
        raise ValueError(f"--candidate-column and --{side}-column need --data FILE or --dataset")
    for flag in ("split", "dataset_config", "dataset_revision", "streaming"):
        if getattr(arguments, flag) and not arguments.dataset:
            raise ValueError(f"--{flag.replace('_', '-')} needs --dataset NAME")
    if parallel and not (arguments.candidates and references):
        raise ValueError("give both files: -c FILE with the candidates, -r FILE with references")
    if texts:
        _check_texts(texts, arguments)
    check_exists([*table, *parallel])


def _check_texts(texts: list[str], arguments: argparse.Namespace) -> None:
    """Raise ValueError for names of files that do not follow "--", and for a single text."""
    names = [text for text in texts if text not in arguments.as_texts and resembles_file(text)]
    if names:
        typed = ["FILE", "FILE"] if set(names) < set(texts) else texts
        command = " -r ".join([f"infolm score -c {typed[0]}", *typed[1:]])
        raise ValueError(
            f"{names[0]!r} was taken for a file name; to score files with one text per line: "
            f"{command}; to score a table: infolm score --data FILE; to score the arguments as "
            "they are, put -- before them"
        )
    if len(texts) == 1:
        hint = _swallowed(arguments)
        raise ValueError(f"got one text; give the candidate, then at least one reference{hint}")


def _swallowed(arguments: argparse.Namespace) -> str:
    """Return a hint if --rescale-with-baseline has taken what may be a text or a table."""
    value = arguments.rescale_with_baseline
    if not isinstance(value, str):
        return ""
    return f"; --rescale-with-baseline took {value!r} for its FILE: put this option last"


def open_source(arguments: argparse.Namespace) -> Source:
    """The pairs as a stream that can be read again, unless it is standard input."""
    columns = (arguments.candidate_column, options.target_columns(arguments))
    source_column, sources = (
        getattr(arguments, name, None) for name in ("source_column", "sources")
    )
    against_sources = bool(source_column or sources)
    if arguments.data:
        read = partial(tables.read_rows, arguments.data)
        label = files.label(arguments.data)
        return Source(label, read, *columns, (arguments.data,), against_sources)
    if arguments.dataset:
        name = arguments.dataset
        read = partial(tables.dataset_rows, name, load_dataset(arguments))
        return Source(name, read, *columns, (name,) if os.path.isdir(name) else (), against_sources)
    if arguments.candidates:
        paths = (arguments.candidates, *arguments.references)
        read = partial(tables.read_parallel, arguments.candidates, arguments.references)
        label = files.label(arguments.candidates)
        return Source(label, read, files=paths, against_sources=against_sources)
    candidate, *references = arguments.texts
    row = ("arguments", {"prediction": candidate, "references": references})
    return Source("arguments", lambda: iter([row]))


def load_dataset(arguments: argparse.Namespace) -> object:
    """The data set that the arguments name, as `datasets` loads it."""
    return tables.load_dataset(
        arguments.dataset,
        config=arguments.dataset_config,
        split=arguments.split,
        revision=arguments.dataset_revision,
        streaming=arguments.streaming,
    )
