"""What `infolm idf` and `infolm baseline` are given: files of texts, and where to save."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from infolm_metric.commands.options import Group
from infolm_metric.core.files import check_there, check_writable, read_documents


def add_corpus(group: Group) -> None:
    """The options that name the corpus and the file."""
    group.add_argument(
        "corpus", nargs="+", metavar="CORPUS", help="file; - is plain text on standard input"
    )
    group.add_argument("--column", metavar="NAME", default="text", help="of tables (default: text)")
    group.add_argument("-o", "--output", metavar="FILE", required=True, help="file to save to")


def check_corpus(arguments: argparse.Namespace) -> None:
    """Raise ValueError if a file is not there, or nothing can be saved."""
    check_there(arguments.corpus)
    if arguments.output == "-":
        raise ValueError("standard output cannot hold this; name a file with -o")
    check_writable(arguments.output, arguments.corpus)


def read_corpus(arguments: argparse.Namespace) -> Iterator[str]:
    """The texts of all files."""
    for path in arguments.corpus:
        yield from read_documents(path, arguments.column)
