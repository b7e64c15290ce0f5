"""Where results go: checked before time goes into their content."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from infolm_metric.commands.options import option
from infolm_metric.kernel.lines import check_apart, write_text

STANDARD_OUTPUT = "-"
JSON = option("--json", action="store_true", help="one JSON object, with every number")
MARKDOWN = option("--markdown", action="store_true", help="tables in Markdown")
OUTPUT = option("-o", "--output", metavar="FILE", default=STANDARD_OUTPUT, help="write to a file")


def check_output(arguments: argparse.Namespace) -> None:
    """Raise ValueError if two forms are asked for, or no file can be written."""
    if getattr(arguments, "json", False) and getattr(arguments, "markdown", False):
        raise ValueError("give --json or --markdown, not both")
    if arguments.output != STANDARD_OUTPUT:
        check_writable(arguments)


def check_writable(arguments: argparse.Namespace) -> None:
    """Raise ValueError if no file can be made there, or if it is one that is read.

    >>> check_writable(argparse.Namespace(output="missing/scores.txt"))
    Traceback (most recent call last):
    ValueError: cannot write missing/scores.txt: no folder 'missing'; name a file in one that exists
    """
    output = arguments.output
    path = Path(output)
    if output == STANDARD_OUTPUT:
        raise ValueError("standard output cannot hold this; name a file with -o")
    if path.is_dir() or not path.parent.is_dir():
        problem = "it is a folder" if path.is_dir() else f"no folder {str(path.parent)!r}"
        raise ValueError(f"cannot write {output}: {problem}; name a file in one that exists")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(
            f"cannot write {output}: permission denied; name a file in a folder that you may "
            "write to"
        )
    given = [value for name, value in vars(arguments).items() if name != "output"]
    check_apart(output, _words(given))


def _words(given: Iterable[Any]) -> Iterator[str]:
    """All that was given in words, whatever is a file among them."""
    for value in given:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _words(value)


def write(lines: Iterable[str], output: str) -> None:
    """Write the lines to the file, or to standard output if it is "-"."""
    text = "".join(f"{line}\n" for line in lines)
    if output == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        write_text(output, text)


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Lines with columns of equal width; the first `left` columns are flush left.

    >>> aligned(["metric", "r"], [["BLEU", "0.5"]])
    ['metric    r', 'BLEU    0.5']
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (header, *rows)
    ]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    r"""The lines of a Markdown table; the first `left` columns are flush left.

    >>> markdown(["metric", "r"], [["a|b", "0.5"]])
    ['| metric | r |', '|---|---:|', '| a\\|b | 0.5 |']
    """
    rule = "|" + "|".join("---" if index < left else "---:" for index in range(len(header))) + "|"
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return ["| " + " | ".join(header) + " |", rule, *lines]


LAYOUTS = {"text": aligned, "markdown": markdown}
