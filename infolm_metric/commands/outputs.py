"""Outputs of commands: file formats, checks before a run, tables and signatures.

The extension of an output file selects its format.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from infolm_metric.core import files
from infolm_metric.core.checks import InputError
from infolm_metric.core.results import Result, Summary

STANDARD_OUTPUT = "-"
JSON_HELP = "print all results as one JSON object"
# Formats by file extension. "" is for standard output and for names without an extension.
Formats = Mapping[str, str]
JSON_LINES: Formats = dict.fromkeys(("", ".jsonl", ".ndjson"), "rows")
REPORTS: Formats = {"": "text", ".txt": "text", ".json": "json"}


def add_output(group: argparse._ArgumentGroup, formats: Formats = REPORTS) -> None:
    """Add the option for the output file and, for reports, for their format."""
    if formats is REPORTS:
        group.add_argument("--json", action="store_true", help=JSON_HELP)
        add_short_signature(group)
    names = ", ".join(filter(None, formats))
    text = f"output file: {names} (default: standard output)"
    group.add_argument("-o", "--output", metavar="FILE", default=STANDARD_OUTPUT, help=text)


def add_short_signature(group: argparse._ArgumentGroup) -> None:
    text = "print signatures without default values (--json contains full signatures)"
    group.add_argument("--short-signature", action="store_true", help=text)


def find_format(output: str, formats: Formats, flag: str = "") -> str:
    """Look up the format of an output file. `flag` names the option in the error message."""
    suffix = PurePath(output.lower()).suffix
    if suffix in formats:
        return formats[suffix]
    ending = f"must end in {', '.join(filter(None, formats))}"
    alternative = " or have no extension" if "" in formats else ""
    raise InputError(
        f"cannot write {output}{flag and f' with {flag}'}: its name {ending}{alternative}. "
        "Name a file with -o."
    )


def check_output(
    arguments: argparse.Namespace, formats: Formats, *inputs: str, flag: str = ""
) -> str:
    """Check that the inputs exist and that the output can be written, and return its format.

    Jobs and Ray check their outputs themselves.
    """
    output = arguments.output
    output_format = find_format(output, formats, flag)
    files.check_exists(inputs)
    if output == STANDARD_OUTPUT or output_format in ("job", "ray"):
        return output_format
    # Any argument can name an input file, but most are texts or names such as "infolm".
    others = {name: value for name, value in vars(arguments).items() if name != "output"}
    words = (os.path.expanduser(word) for word in others.values() if isinstance(word, str))
    files.check_writable(output, [*inputs, *filter(os.path.isfile, words)])
    if os.path.exists(f"{os.path.realpath(output)}.job"):
        raise InputError(
            f"cannot write {output}: it belongs to a job. Choose another output, or delete it, "
            f"{output}.job and, if it exists, {output}.part."
        )
    return output_format


def write(lines: Iterable[str], output: str) -> None:
    """Write lines to a file, or to standard output if `output` is "-"."""
    text = "".join(f"{line}\n" for line in lines)
    if output != STANDARD_OUTPUT:
        files.write_text(output, text)
    else:
        print(text, end="")


def write_report(
    arguments: argparse.Namespace, report: Mapping[str, object], lines: Iterable[str]
) -> None:
    """Write the report as JSON with --json or for a .json file, and otherwise the lines."""
    if arguments.json or find_format(arguments.output, REPORTS) == "json":
        lines = [json.dumps(files.finite(report), allow_nan=False)]
    write(lines, arguments.output)


def write_table(rows: Iterable[Mapping[str, object]], output: str) -> None:
    """Write rows as CSV or TSV with a header. Lists are JSON, which `infolm` can read."""
    rows, text = list(rows), io.StringIO()
    names = dict.fromkeys(name for row in rows for name in row)
    # All strings are quoted, because most readers end a row at an unquoted carriage return.
    options: dict[str, Any] = {"lineterminator": "\n", "quoting": csv.QUOTE_NONNUMERIC}
    separator = "\t" if output.lower().endswith(".tsv") else ","
    table = csv.DictWriter(text, names, delimiter=separator, **options)
    table.writeheader()
    for row in rows:
        lists = {name: value for name, value in row.items() if isinstance(value, list | dict)}
        json_cells = {name: files.json_line(value) for name, value in lists.items()}
        table.writerow(files.finite(row) | json_cells)
    files.write_text(output, text.getvalue())


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Return the lines of a plain-text table. The first `left` columns are left-aligned.

    >>> aligned(["metric", "r"], [["BLEU", "0.5"]])
    ['metric    r', 'BLEU    0.5']
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    sides = "<" * left + ">" * (len(header) - left)
    layout = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return [layout.format(*row).rstrip() for row in (header, *rows)]


def signature_lines(
    results: Iterable[Result | Summary], arguments: argparse.Namespace
) -> Iterator[str]:
    """Yield a line with each signature, which is short if --short-signature was passed."""
    for result in results:
        signature = result.signature
        yield f"signature: {signature.short() if arguments.short_signature else signature}"


def describe_metrics(results: Iterable[Result]) -> dict[str, dict[str, Any]]:
    """Return the direction and the signature of each metric, for JSON."""
    return {
        result.metric: {"higher_is_better": result.higher_is_better, "signature": result.signature}
        for result in results
    }


def describe_directions(results: Sequence[Result]) -> str:
    """Return whether lower or higher scores are better, by metric."""
    better = {result.metric: "higher" if result.higher_is_better else "lower" for result in results}
    return ", ".join(f"{metric}: {word} is better" for metric, word in better.items())
