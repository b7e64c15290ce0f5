"""Files: text, CSV, TSV, JSON Lines, Parquet, .gz, read row by row; whole files written.

Only a line feed ends a line. The other characters that Unicode counts as line ends (U+2028, U+0085,
a lone carriage return) are part of it: splitting at them would shift every later pair. A byte order
mark at the start is dropped, "-" is standard input, and a name that ends in .gz is decompressed.
Whatever is wrong is a ValueError or TypeError that names the file, the line and the remedy.
"""

from __future__ import annotations

import ast
import codecs
import csv
import gzip
import json
import os
import re
import secrets
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path, PurePath
from typing import Any

from infolm_metric.core.inputs import check_text

STANDARD_INPUT = "-"


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


def check_regular(path: str | os.PathLike[str]) -> None:
    """Raise ValueError if what is there is no regular file, and so cannot be a job's output.

    >>> check_regular(os.devnull)
    Traceback (most recent call last):
    ValueError: cannot write ...: what is there is a device or a pipe; name a file
    """
    other = os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path))
    if other or open_descriptor(path) is not None:
        raise ValueError(
            f"cannot write {os.fspath(path)}: what is there is a device or a pipe; name a file"
        )


def open_descriptor(path: str | os.PathLike[str]) -> int | None:
    """The number of the open file that a path stands for, such as 1 for /dev/stdout, or None.

    >>> open_descriptor("/dev/stderr"), open_descriptor("scores.txt")
    (2, None)
    """
    name = os.path.abspath(path)
    while os.path.exists(name):  # link by link: the last one leads to the file behind it
        folder, last = os.path.split(name)
        folder = os.path.realpath(folder)
        if folder == os.path.realpath("/dev/fd") and last.isdigit():
            return int(last)
        if not os.path.islink(name):
            break
        name = os.path.join(folder, os.readlink(name))
    return None


def read_lines(path: str) -> Iterator[tuple[int, str]]:
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
            f"{shown(path)}, line {number}: not valid UTF-8 "
            f"(byte 0x{error.object[error.start]:02x}); convert the file to UTF-8, for example "
            "with iconv -f LATIN1 -t UTF-8"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"cannot read {shown(path)}: {reason}; check its name") from error


def _opened(path: str) -> AbstractContextManager[Iterable[bytes]]:
    if path == STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")


def shown(path: str) -> str:
    """A file's name as messages say it."""
    return "standard input" if path == STANDARD_INPUT else path


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file as `write_whole` does."""
    write_whole(path, [text.encode()])


def write_whole(
    path: str | os.PathLike[str], parts: Iterable[bytes], draft: Path | None = None
) -> None:
    """Write a file; one that is there keeps its mode and its links.

    It is written as a draft, by default beside it, and put in its place once all of it is on the
    disk. What is no regular file, has several names or lies in a folder that takes no draft is
    written into as it is. Raises OSError if that fails; but for these an older file is then as it
    was.
    """
    number, target = open_descriptor(path), Path(os.path.realpath(path))
    try:
        if number is not None:  # opened anew it would be written from its start
            with os.fdopen(os.dup(number), "wb") as file:
                file.writelines(parts)
        elif target.exists() and not _replaceable(target):
            with target.open("wb") as file:
                file.writelines(parts)
        else:
            _replace(target, parts, draft)
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"cannot write {os.fspath(path)}: {error.strerror}; see that it has room"
        raise OSError(message) from error


def _replaceable(path: Path) -> bool:
    """True for a regular file of one name in a folder that takes a draft."""
    return path.is_file() and path.stat().st_nlink == 1 and os.access(path.parent, os.W_OK)


def _replace(path: Path, parts: Iterable[bytes], draft: Path | None) -> None:
    """Put a draft in the place of what is there, with its mode."""
    draft = draft or path.with_name(f".infolm-{secrets.token_hex(8)}.tmp")
    try:
        with draft.open("wb") as file:
            if path.exists():  # before there is anything to read
                shutil.copymode(path, draft)
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
        if os.name == "posix":  # the name, too, must be on the disk
            names = os.open(path.parent, os.O_RDONLY)
            os.fsync(names)
            os.close(names)
    except BaseException:
        with suppress(OSError):  # on a disk that is read-only even what is not there
            draft.unlink()
        raise


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


CANDIDATE_COLUMNS = ("prediction", "candidate")
REFERENCE_COLUMNS = ("references", "reference")


def read_texts(path: str) -> Iterator[str]:
    r"""The lines of a plain text file as texts; an empty line is an empty text.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/candidates.txt"
    ...     _ = open(path, "wb").write("a\u2028b\r\n\nc".encode())
    ...     list(read_texts(path))
    ['a\u2028b', '', 'c']
    """
    for _, line in read_lines(path):
        yield line.removesuffix("\n").removesuffix("\r")


def iterate_parallel(candidates: str, references: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each candidate with its references, from plain text files of equally many lines."""
    paths = [candidates, *references]
    check_there(paths)
    for path in paths:
        if named_as_table(path):
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
                f"{shown(candidates)} has {counts[0]}, {shown(paths[other])} has {counts[other]}"
            )
        yield candidate, group


def iterate_pairs(
    path: str, candidate_column: str | None = None, reference_columns: Sequence[str] = ()
) -> Iterator[tuple[str, list[str]]]:
    """Each candidate with its references, from one table.

    Where no column is named it is the one of CANDIDATE_COLUMNS or REFERENCE_COLUMNS that is there.
    A reference may be a list of strings, in CSV and TSV as pandas or JSON writes it; there an empty
    cell is an empty text.
    """
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
    if isinstance(row, Cells) and list_in(prediction):
        raise ValueError(f"{where}: {column!r} holds a list; give one candidate in a row")
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


def read_documents(path: str, column: str) -> Iterator[str]:
    r"""The texts of a file one by one: lines of plain text, or what a column of a table holds.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/corpus.csv"
    ...     _ = open(path, "w").write('id,text\n1,"a, b"\n2,NA\n')
    ...     list(read_documents(path, "text"))
    ['a, b', 'NA']
    """
    if not named_as_table(path):
        yield from read_texts(path)
        return
    for where, row in read_rows(path):
        yield from _texts(where, row, column)


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
    value = value.tolist() if hasattr(value, "tolist") else value  # an array, as of pandas
    if isinstance(row, Cells) and isinstance(value, str):
        value = list_in(value) or value
    texts = list(value) if isinstance(value, list | tuple) else [value]
    if not texts:
        raise ValueError(f"{where}: {column!r} is an empty list; give at least one text")
    for text in texts:
        check_text(f"{where}: {column!r}", text)
    return texts
