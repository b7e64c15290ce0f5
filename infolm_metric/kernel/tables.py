"""Rows of tables: JSON Lines, CSV and TSV, Parquet.

Whatever is wrong is a ValueError that names the file, the line and the remedy.
"""

from __future__ import annotations

import ast
import csv
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import PurePath
from typing import Any

from infolm_metric.kernel.lines import STANDARD_INPUT, read_lines, shown

LONGEST_CELL = 2**31 - 1
"""In characters; the csv module's own limit is 131,072."""
PARQUET_BATCH = 1024
"""Rows read at a time."""

QUOTED = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
LIST = re.compile(rf"\[\s*(?:{QUOTED})(?:[\s,]+(?:{QUOTED}))*\s*\]")
"""A list of texts as pandas writes one, or an array of them, which has no commas."""

Row = tuple[str, Mapping[str, Any]]
"""Where a row stands ("data.csv, line 3"), and its values by column."""


def read_rows(path: str) -> Iterator[Row]:
    r"""Each row of a table as (where it stands, its values by column); cells of CSV are strings.

    Standard input is read as JSON Lines.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/data.tsv"
    ...     _ = open(path, "w").write("system\tfluency\nA\t80\n")
    ...     [row for _, row in read_rows(path)]
    [{'system': 'A', 'fluency': '80'}]
    """
    read = _json_rows if path == STANDARD_INPUT else TABLES.get(_format(path))
    if read is None:
        raise ValueError(
            f"{path}: the name of a table ends in {', '.join(TABLES)} (or one of these and .gz); "
            "rename it (plain text is for infolm score, with --candidates and --references)"
        )
    return read(path)


class Cells(dict[str, str]):
    """A row of CSV or TSV, in which a list stands as a text."""


def list_in(cell: str) -> list[str]:
    r"""The texts of a cell that holds a list of them, as Python or JSON writes it; else none.

    >>> list_in("['a cat', \"it's\"]"), list_in('["a cat"]'), list_in("[sic] a 'cat'")
    (['a cat', "it's"], ['a cat'], [])
    """
    if not cell.startswith("["):
        return []
    try:
        texts = json.loads(cell)
    except (ValueError, RecursionError):
        found = re.findall(QUOTED, cell) if LIST.fullmatch(cell) else []
        try:
            return [ast.literal_eval(text) for text in found]
        except (ValueError, SyntaxError):  # an escape that is none
            return []
    return texts if all(isinstance(text, str) for text in texts) else []


def named_as_table(path: str) -> bool:
    """True if the file's name ends as that of a table.

    >>> named_as_table("pairs.CSV.gz"), named_as_table("pairs.txt")
    (True, False)
    """
    return _format(path) in TABLES


def _json_rows(path: str) -> Iterator[Row]:
    """The rows of a JSON Lines file; blank lines are passed over."""
    for number, line in read_lines(path):
        where = f"{shown(path)}, line {number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{where}: not valid JSON ({error}); write one JSON object per line"
            ) from None
        if not isinstance(row, dict):
            raise ValueError(f"{where}: not a JSON object; write one JSON object per line")
        yield where, row


def _delimited_rows(path: str, delimiters: str) -> Iterator[Row]:
    """The rows of a CSV or TSV file with a header, quoted as spreadsheet programs do.

    Its separator is the first of `delimiters` that is in the first line.
    """
    csv.field_size_limit(LONGEST_CELL)
    # Without `strict` a stray quote would silently swallow the lines up to the next one.
    lines = (line for _, line in read_lines(path))
    first = next(lines, "")
    # Spreadsheets write a "CSV" with semicolons where the comma is the decimal mark.
    separator = next((each for each in delimiters if each in first), delimiters[0])
    reader = csv.reader(chain([first], lines), delimiter=separator, strict=True)
    header: list[str] = []
    try:
        for cells in reader:
            where = f"{shown(path)}, line {reader.line_num}"
            if not cells:
                continue
            if not header:
                header = cells
                twice = {name for name in header if header.count(name) > 1}
                if twice:
                    raise ValueError(
                        f"{where}: more than one column is called {min(twice)!r}; rename one"
                    )
            elif len(cells) != len(header):
                raise ValueError(
                    f"{where}: {len(cells)} cells where the header has {len(header)}; "
                    "put cells that contain separators, quotes or line ends in double quotes"
                )
            else:
                yield where, Cells(zip(header, cells, strict=True))
    except csv.Error as error:
        raise ValueError(
            f"{shown(path)}, line {reader.line_num}: not valid CSV ({error}); put cells that "
            'contain quotes in double quotes, and write each quote inside as ""'
        ) from None


def _parquet_rows(path: str) -> Iterator[Row]:
    """The rows of a Parquet file, batch by batch."""
    from pyarrow import ArrowException, parquet

    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=PARQUET_BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except (OSError, ArrowException) as error:
        reason = str(error).strip().partition("\n")[0].rstrip(" .")
        raise ValueError(f"cannot read {path} after row {number}: {reason}") from error


TABLES: dict[str, Callable[[str], Iterator[Row]]] = {
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
    ".csv": partial(_delimited_rows, delimiters=",;\t"),
    ".tsv": partial(_delimited_rows, delimiters="\t"),
    ".parquet": _parquet_rows,
}
"""How a table is read, by the end of its name."""


def _format(path: str) -> str:
    """The end of the file's name in lower case, ".gz" apart."""
    return PurePath(path.lower().removesuffix(".gz")).suffix
