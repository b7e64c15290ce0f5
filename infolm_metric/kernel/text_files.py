"""Texts from files, for the command line: plain text, JSON Lines, CSV and TSV in UTF-8, Parquet.

In plain text each line is a text, and only a line feed, or a carriage return and a line feed, ends
a line. The other characters that Unicode counts as line ends (U+2028, U+0085, a lone carriage
return) are part of the text: splitting at them would shift every later pair. A byte order mark at
the start is dropped, "-" is standard input, and a name that ends in .gz is decompressed.

Whatever is wrong is a ValueError or TypeError that names the file, the line and the remedy.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain, zip_longest
from pathlib import PurePath
from typing import Any

from infolm_metric.kernel.pairs import check_text

STANDARD_INPUT = "-"
CANDIDATE_COLUMNS = ("prediction", "candidate")
REFERENCE_COLUMNS = ("references", "reference")
LONGEST_CELL = 2**31 - 1
"""In characters; the csv module's own limit is 131,072."""
PARQUET_BATCH = 1024
"""Rows read at a time."""

Row = tuple[str, Mapping[str, Any]]
"""Where a row stands ("data.csv, line 3"), and its values by column."""


def read_texts(path: str) -> Iterator[str]:
    r"""The lines of a plain text file as texts; an empty line is an empty text.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/candidates.txt"
    ...     _ = open(path, "wb").write("a\u2028b\r\n\nc".encode())
    ...     list(read_texts(path))
    ['a\u2028b', '', 'c']
    """
    for _, line in _lines(path):
        yield line.removesuffix("\n").removesuffix("\r")


def read_parallel(candidates: str, references: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Candidates and the references of each, from plain text files of equally many lines."""
    pairs = list(iterate_parallel(candidates, references))
    if not pairs:
        raise ValueError(f"{_shown(candidates)} is empty; write one text per line")
    return [candidate for candidate, _ in pairs], [group for _, group in pairs]


def iterate_parallel(candidates: str, references: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """What `read_parallel` gives, pair by pair; the files are checked at the first."""
    paths = [candidates, *references]
    check_there(paths)
    for path in paths:
        if _format(path) in TABLES:
            raise ValueError(
                f"{path} is a table, but plain text with one text per line is expected here; "
                "score a table that holds candidates and references with --data"
            )
    streams = [read_texts(path) for path in paths]
    for number, (candidate, *group) in enumerate(zip_longest(*streams)):
        if candidate is None or None in group:
            counts = [
                number + (text is not None) + sum(1 for _ in stream)
                for text, stream in zip([candidate, *group], streams, strict=True)
            ]
            other = next(i for i, count in enumerate(counts) if count != counts[0])
            raise ValueError(
                "the files must have equally many lines, one text on each: "
                f"{_shown(candidates)} has {counts[0]}, {_shown(paths[other])} has {counts[other]}"
            )
        yield candidate, group


def read_pairs(
    path: str, candidate_column: str | None = None, reference_columns: Sequence[str] = ()
) -> tuple[list[str], list[list[str]]]:
    """Candidates and the references of each, from one table.

    Where no column is named it is the one of CANDIDATE_COLUMNS or REFERENCE_COLUMNS that is there.
    In JSON Lines and Parquet a reference may be a list of strings; in CSV and TSV an empty cell is
    an empty text.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/data.jsonl"
    ...     _ = open(path, "w").write('{"prediction": "a cat", "references": ["the cat", "cats"]}')
    ...     read_pairs(path)
    (['a cat'], [['the cat', 'cats']])
    """
    pairs = list(iterate_pairs(path, candidate_column, reference_columns))
    if not pairs:
        raise ValueError(f"{_shown(path)} has no rows; give one row for each pair")
    return [candidate for candidate, _ in pairs], [group for _, group in pairs]


def iterate_pairs(
    path: str, candidate_column: str | None = None, reference_columns: Sequence[str] = ()
) -> Iterator[tuple[str, list[str]]]:
    """What `read_pairs` gives, pair by pair."""
    for where, row in read_rows(path):
        yield pair_of(where, row, candidate_column, reference_columns)


def pair_of(
    where: str,
    row: Mapping[str, Any],
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
) -> tuple[str, list[str]]:
    """The checked candidate and references of a row; `where` it stands is for messages.

    >>> pair_of("line 1", {"candidate": "a cat", "reference": "the cat"})
    ('a cat', ['the cat'])
    """
    column = candidate_column or _known(where, row, CANDIDATE_COLUMNS, "--candidate-column")
    prediction = cell(where, row, column)
    check_text(f"{where}: {column!r}", prediction)
    return prediction, references_of(where, row, reference_columns)


def references_of(
    where: str, row: Mapping[str, Any], reference_columns: Sequence[str] = ()
) -> list[str]:
    """The checked references of a row.

    >>> references_of("line 1", {"references": ["the cat", "cats"]})
    ['the cat', 'cats']
    """
    columns = reference_columns or [_known(where, row, REFERENCE_COLUMNS, "--reference-column")]
    return [text for name in columns for text in _texts(where, row, name)]


def cell(where: str, row: Mapping[str, Any], column: str) -> Any:
    """What a row has in a column; ValueError with the columns there are if it has no such one.

    >>> cell("line 1", {"reference": "the cat"}, "text")
    Traceback (most recent call last):
    ValueError: line 1: no column 'text'; there are 'reference'
    """
    if column not in row:
        raise ValueError(
            f"{where}: no column {column!r}; there are {', '.join(map(repr, row)) or 'none'}"
        )
    return row[column]


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


def read_documents(path: str, column: str) -> Iterator[str]:
    r"""The texts of a file one by one: lines of plain text, or what a column of a table holds.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/corpus.csv"
    ...     _ = open(path, "w").write('id,text\n1,"a, b"\n2,NA\n')
    ...     list(read_documents(path, "text"))
    ['a, b', 'NA']
    """
    if _format(path) not in TABLES:
        yield from read_texts(path)
        return
    for where, row in read_rows(path):
        yield from _texts(where, row, column)


def is_table(path: str) -> bool:
    """True if this is the name of a table that is there.

    >>> is_table("the cat sat."), is_table("missing.jsonl")
    (False, False)
    """
    return _format(path) in TABLES and os.path.isfile(path)


def check_there(paths: Sequence[str]) -> None:
    """Raise ValueError if a file is not there, or standard input is named twice.

    >>> check_there(["missing.txt"])
    Traceback (most recent call last):
    ValueError: cannot read missing.txt: there is no such file; check its name
    """
    if list(paths).count(STANDARD_INPUT) > 1:
        raise ValueError("only one file can be '-': standard input can be read once")
    for number, path in enumerate(paths):
        if path != STANDARD_INPUT and not os.path.exists(path):
            raise ValueError(f"cannot read {path}: there is no such file; check its name")
        if path in paths[:number] and read_once(path):
            raise ValueError(f"{path} is given twice, and it is no file that can be read again")


def read_once(path: str) -> bool:
    """True for standard input, a pipe, or whatever else is no file that can be read again.

    >>> read_once("-"), read_once(os.devnull), read_once(__file__)
    (True, True, False)
    """
    return path == STANDARD_INPUT or not (os.path.isfile(path) or os.path.isdir(path))


def check_apart(output: str | os.PathLike[str], inputs: Iterable[str]) -> None:
    """Raise ValueError if a file that is to be written is one of those that are read.

    >>> check_apart(__file__, [os.devnull, __file__])
    Traceback (most recent call last):
    ValueError: cannot write ...: it is read, too...
    """
    for path in map(os.path.expanduser, inputs) if os.path.isfile(output) else ():
        if os.path.isfile(path) and os.path.samefile(path, output):
            raise ValueError(
                f"cannot write {os.fspath(output)}: it is read, too, and would be lost; name "
                "another file with -o"
            )


def _lines(path: str) -> Iterator[tuple[int, str]]:
    """The number of each line, from 1, and the line with its end."""
    number = 0
    try:
        with _opened(path) as stream:
            # Bytes split at line feeds only, which no other UTF-8 character contains.
            for number, raw in enumerate(stream, 1):
                line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                if line:
                    yield number, line.decode()
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{_shown(path)}, line {number}: not valid UTF-8 "
            f"(byte 0x{error.object[error.start]:02x}); convert the file to UTF-8, for example "
            "with iconv -f LATIN1 -t UTF-8"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"cannot read {_shown(path)}: {reason}; check its name") from error


def _opened(path: str) -> AbstractContextManager[Iterable[bytes]]:
    if path == STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")


def _json_rows(path: str) -> Iterator[Row]:
    """The rows of a JSON Lines file; blank lines are passed over."""
    for number, line in _lines(path):
        where = f"{_shown(path)}, line {number}"
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
    lines = (line for _, line in _lines(path))
    first = next(lines, "")
    # Spreadsheets write a "CSV" with semicolons where the comma is the decimal mark.
    separator = next((each for each in delimiters if each in first), delimiters[0])
    reader = csv.reader(chain([first], lines), delimiter=separator, strict=True)
    header: list[str] = []
    try:
        for cells in reader:
            where = f"{_shown(path)}, line {reader.line_num}"
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
                yield where, dict(zip(header, cells, strict=True))
    except csv.Error as error:
        raise ValueError(
            f"{_shown(path)}, line {reader.line_num}: not valid CSV ({error}); put cells that "
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


def _known(where: str, row: Mapping[str, Any], names: Sequence[str], option: str) -> str:
    """The one of `names` that the row has."""
    present = [name for name in names if name in row]
    if len(present) != 1:
        found = "both of the columns" if present else "none of the columns"
        raise ValueError(
            f"{where}: {found} {' and '.join(map(repr, names))}; name the column with {option} "
            f"(there are {', '.join(map(repr, row)) or 'none'})"
        )
    return present[0]


def _texts(where: str, row: Mapping[str, Any], column: str) -> list[str]:
    """The checked text or texts in a column."""
    value = cell(where, row, column)
    texts = value if isinstance(value, list) else [value]
    if not texts:
        raise ValueError(f"{where}: {column!r} is an empty list; give at least one text")
    for text in texts:
        check_text(f"{where}: {column!r}", text)
    return texts


def _shown(path: str) -> str:
    return "standard input" if path == STANDARD_INPUT else path
