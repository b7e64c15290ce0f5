"""Where results go: checked before time goes into their content."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence

from infolm_metric.commands.options import Group
from infolm_metric.core.files import check_writable, write_text

STANDARD_OUTPUT = "-"


def add_output(group: Group, tables: bool = True) -> None:
    """The options that say where and how results are written."""
    if tables:
        group.add_argument("--json", action="store_true", help="every number, as one JSON object")
        group.add_argument("--markdown", action="store_true", help="tables in Markdown")
    group.add_argument(
        "-o", "--output", metavar="FILE", default=STANDARD_OUTPUT, help="write to a file"
    )


def check_output(arguments: argparse.Namespace, inputs: Iterable[str]) -> None:
    """Raise ValueError if two forms are asked for, or no file can be written."""
    if getattr(arguments, "json", False) and getattr(arguments, "markdown", False):
        raise ValueError("give --json or --markdown, not both")
    if arguments.output != STANDARD_OUTPUT:
        check_writable(arguments.output, inputs)


def write(lines: Iterable[str], output: str) -> None:
    """Write the lines to the file, or to standard output if it is "-"."""
    text = "".join(f"{line}\n" for line in lines)
    if output != STANDARD_OUTPUT:
        write_text(output, text)
    elif sys.stdout:  # which may be closed
        sys.stdout.write(text)


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


def layout_of(arguments: argparse.Namespace) -> Callable[..., list[str]]:
    """How tables are to be written."""
    return markdown if arguments.markdown else aligned
