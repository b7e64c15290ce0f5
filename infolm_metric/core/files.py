"""Files, row by row: text, CSV, TSV, JSON Lines, Parquet, .gz and data sets; whole files written.

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
import reprlib
import secrets
import shutil
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path, PurePath
from typing import IO, Any

from infolm_metric.core.inputs import Pair, check_text

STANDARD_INPUT = "-"
LONGEST = 1 << 24
"""Bytes of a line, and characters of a cell: what is longer, such as a bomb in .gz, is refused."""
PARQUET_BATCH = 1024
"""Rows read at a time."""
CANDIDATE_COLUMNS = ("prediction", "candidate")
REFERENCE_COLUMNS = ("references", "reference")

JSON_LINES = (
    "write one JSON object per line (`jq -c '.[]' FILE` converts an array of objects, "
    "`jq -c . FILE` objects that span lines)"
)

Row = tuple[str, Mapping[str, Any]]
"""Where a row stands ("data.csv, line 3"), and its values by column."""


class Cells(dict[str, str]):
    """A row of CSV or TSV, in which a list of references is written as a string."""


@dataclass(frozen=True)
class Source:
    """Rows that hold a candidate and its references, readable any number of times.

    `rows` gives them from the first to the last; what is wrong with one is a ValueError or
    TypeError that names it. Where no column is named it is the one of CANDIDATE_COLUMNS or
    REFERENCE_COLUMNS that is there. `files` are what is read, to which nothing may be written.
    `against_sources` is true if the columns of references hold sources.

    >>> row = {"prediction": "a cat", "references": ["the cat", "cats"]}
    >>> list(Source("two texts", lambda: iter([("row 1", row)])))
    [('a cat', ['the cat', 'cats'])]
    """

    name: str
    rows: Callable[[], Iterator[Row]]
    candidate_column: str | None = None
    reference_columns: Sequence[str] = ()
    files: tuple[str, ...] = ()
    against_sources: bool = False

    def __iter__(self) -> Iterator[Pair]:
        return (self.pair(row) for row in self.rows())

    def pair(self, row: Row) -> Pair:
        """The checked candidate of a row, and its references."""
        return pair_of(*row, self.candidate_column, self.reference_columns)


# Reading.


def check_there(paths: Sequence[str], again: bool = False) -> None:
    """Raise ValueError if a file is not there, or has to be read more often than it can be.

    `again` tells that each is read more than once.

    >>> check_there(["missing.txt"])
    Traceback (most recent call last):
    ValueError: cannot read missing.txt: there is no such file; check its name
    """
    for number, path in enumerate(paths):
        if path != STANDARD_INPUT and not os.path.exists(path):
            raise ValueError(f"cannot read {path}: there is no such file; check its name")
        stream = path == STANDARD_INPUT or not (os.path.isfile(path) or os.path.isdir(path))
        if stream and (again or path in paths[:number]):
            raise ValueError(
                f"{label(path)} can be read once, and has to be read more often here; write it to "
                "a file first"
            )


def label(path: str) -> str:
    """A file's name as messages say it."""
    return "standard input" if path == STANDARD_INPUT else path


def read_lines(path: str) -> Iterator[tuple[int, str]]:
    """The number of each line, from 1, and the line with its end."""
    number = 0
    try:
        with _open(path) as stream:
            # Bytes split at line feeds only, which no other UTF-8 character contains.
            for number, raw in enumerate(iter(partial(stream.readline, LONGEST + 1), b""), 1):
                if len(raw) > LONGEST:
                    raise ValueError(
                        f"{label(path)}, line {number}: longer than {LONGEST} bytes; put one text "
                        "on a line"
                    )
                line = raw.removeprefix(codecs.BOM_UTF8) if number == 1 else raw
                if line:
                    yield number, line.decode()
    except UnicodeDecodeError as error:
        wide = error.object.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        byte = f"byte 0x{error.object[error.start]:02x}"
        raise ValueError(
            f"{label(path)}, line {number}: not valid UTF-8 ({'it is UTF-16' if wide else byte}); "
            f"convert the file, for example with iconv -f {'UTF-16' if wide else 'LATIN1'} -t UTF-8"
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ValueError(f"cannot read {label(path)}: {reason}; check its name") from error


def _open(path: str) -> AbstractContextManager[IO[bytes] | gzip.GzipFile]:
    if path == STANDARD_INPUT:
        return nullcontext(sys.stdin.buffer)
    return gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb")


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
    reader = _json_rows if path == STANDARD_INPUT else TABLES.get(_format(path))
    if reader is None:
        raise ValueError(
            f"{path}: the name of a table ends in {', '.join(TABLES)} (or one of these and .gz); "
            + (JSON_LINES if _format(path) == ".json" else "rename it")
            + "; for plain text use infolm score with --candidates and --references"
        )
    return reader(path)


def named_as_table(path: str) -> bool:
    """True if the file's name ends as that of a table.

    >>> named_as_table("pairs.CSV.gz"), named_as_table("pairs.txt")
    (True, False)
    """
    return _format(path) in TABLES


def resembles_file(text: str) -> bool:
    """Return True for an existing file, or one word with the ending of a text or table file.

    >>> resembles_file("missing.txt"), resembles_file("See missing.txt"), resembles_file("a cat")
    (True, False, False)
    """
    if os.path.exists(text):
        return not os.path.isdir(text)
    return _format(text) in (*TEXT_ENDINGS, *TABLES) and len(text.split()) == 1


def _format(path: str) -> str:
    """The end of the file's name in lower case, ".gz" apart."""
    return PurePath(path.lower().removesuffix(".gz")).suffix


def _json_rows(path: str) -> Iterator[Row]:
    """The rows of a JSON Lines file; blank lines are passed over."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        where = f"{label(path)}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{where}: not valid JSON ({error}); {JSON_LINES}") from None
        if not isinstance(row, dict):
            raise ValueError(f"{where}: not a JSON object; {JSON_LINES}")
        yield where, row


def _delimited_rows(path: str, delimiters: str) -> Iterator[Row]:
    """Yield the rows of a CSV or TSV file with a header, quoted as spreadsheet programs do."""
    csv.field_size_limit(LONGEST)
    lines = (line for _, line in read_lines(path))
    first_line, skipped = next(lines, ""), 0
    separator = _separator(first_line, delimiters)
    if declared := re.fullmatch(r"sep=(.)\r?\n?", first_line):  # as Excel reads and writes
        first_line, skipped, separator = next(lines, ""), 1, declared[1]
    # Without `strict` a stray quote would silently swallow the lines up to the next one.
    reader = csv.reader(chain([first_line], lines), delimiter=separator, strict=True)
    header: list[str] = []
    suspects: list[int] = []
    try:
        for cells in filter(None, reader):
            number = skipped + reader.line_num
            where = f"{label(path)}, line {number}"
            if not header:
                header = cells
                if duplicates := {name for name in header if header.count(name) > 1}:
                    raise ValueError(
                        f"{where}: more than one column is called {min(duplicates)!r}; rename one, "
                        "or add a header if there is none"
                    )
                continue
            if len(cells) != len(header):
                raise ValueError(
                    f"{where}: {len(cells)} cells where the header has {len(header)}, separated by "
                    f"{separator!r}; put cells that contain separators, quotes or line ends in "
                    "double quotes"
                )
            if any("\n" in cell and separator in cell for cell in cells):
                suspects.append(number - sum(cell.count("\n") for cell in cells))
                if separator == "\t":
                    raise ValueError(
                        f"{label(path)}, line {suspects[0]}: a cell in double quotes holds a tab "
                        "and a line end, as if a quotation joined two rows; put cells that contain "
                        'quotes in double quotes and write each quote inside as "", or use JSON '
                        "Lines"
                    )
            yield where, Cells(zip(header, cells, strict=True))
    except csv.Error as error:
        problem, remedy = str(error), "put cells that contain quotes in double quotes, and write "
        remedy += 'each quote inside as ""'
        if problem.startswith("new-line character"):
            problem = "a carriage return without a line feed"
            remedy = (
                "put cells that contain one in double quotes; if it ends each line, convert the "
                "file: tr '\\r' '\\n'"
            )
        where = f"{label(path)}, line {skipped + reader.line_num}"
        raise ValueError(f"{where}: not valid CSV ({problem}); {remedy}") from None
    if suspects:
        warnings.warn(
            f"infolm: {label(path)}: rows with a cell that holds a line end and {separator!r}: "
            f"{len(suspects)}, the first in line {suspects[0]}; check that no stray double quote "
            "joined lines there",
            stacklevel=2,
        )


def _separator(header: str, delimiters: str) -> str:
    """Return the most frequent delimiter outside of quotes; spreadsheets also use semicolons."""
    unquoted = re.sub(r'"[^"]*"', "", header)
    return max(delimiters, key=unquoted.count)


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
TEXT_ENDINGS = (".txt", ".text", ".json", ".xlsx")
"""Endings of other files with texts, which are not tables that can be read."""


def read_parallel(candidates: str, references: Sequence[str]) -> Iterator[Row]:
    """Each candidate with its references, from plain text files of equally many lines."""
    paths = [candidates, *references]
    for path in paths:
        if named_as_table(path):
            raise ValueError(
                f"{path} is a table, but plain text with one text per line is expected here; "
                f"for a table of candidates and references use: infolm score --data {path}"
            )
    streams = [read_texts(path) for path in paths]
    for number, (candidate, *group) in enumerate(zip_longest(*streams), 1):
        if candidate is None or None in group:
            counts = [
                number - (text is None) + sum(1 for _ in stream)
                for text, stream in zip([candidate, *group], streams, strict=True)
            ]
            index = next(i for i, count in enumerate(counts) if count != counts[0])
            raise ValueError(
                "the files must have equally many lines, one text on each: "
                f"{label(candidates)} has {counts[0]}, {label(paths[index])} has {counts[index]}"
            )
        yield f"{label(candidates)}, line {number}", {"prediction": candidate, "references": group}


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
        return read_texts(path)
    return (text for row in read_rows(path) for text in _texts(*row, column))


def load_dataset(
    name: str,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    streaming: bool = False,
) -> Any:
    """The `datasets.Dataset` or IterableDataset of a name on the Hub or a folder.

    The folder holds data files, or what save_to_disk wrote. `split` may be left out if there is one
    only. With `streaming` nothing is downloaded before it is read. Raises ValueError if there is no
    such split, and OSError if there is no such data set.
    """
    import datasets

    if os.path.isdir(name):
        name = os.path.abspath(name)  # `datasets` cannot load "."
    saved = any(Path(name, file).is_file() for file in ("state.json", "dataset_dict.json"))
    load = partial(
        datasets.load_dataset, name, config, split=split, revision=revision, streaming=streaming
    )
    try:
        if saved:
            dataset = datasets.load_from_disk(name)
        else:
            try:
                dataset = load(keep_default_na=False)  # or texts such as NA in CSV are missing
            except (TypeError, ValueError) as error:
                if "keep_default_na" not in str(error):
                    raise
                dataset = load()  # the other formats do not have the option
    except (OSError, ValueError, datasets.exceptions.DatasetGenerationError) as error:
        reason = str(error.__cause__ or error).strip().partition("\n")[0].rstrip(" .")
        kind = ValueError if isinstance(error, ValueError) else OSError
        raise kind(
            f"cannot load the data set {name!r}: {reason}. Check --dataset, --dataset-config and "
            "--split"
        ) from error
    if isinstance(dataset, Mapping):
        if split not in dataset and (split or len(dataset) > 1):
            hint = f"there is no split {split!r}" if split else "give one with --split"
            raise ValueError(f"the data set {name!r} has the splits {', '.join(dataset)}; {hint}")
        dataset = dataset[split or next(iter(dataset))]
    elif saved and split:
        raise ValueError(f"the data set {name!r} was saved without splits; leave --split out")
    if streaming and saved:
        dataset = dataset.to_iterable_dataset()
    # Tensors and the like would cost time and bring other types than Python's.
    return dataset.with_format(None)


def dataset_rows(name: str, dataset: Any) -> Iterator[Row]:
    """Yield the rows of a data set that `load_dataset` returned for a name."""
    for number, row in enumerate(dataset, 1):
        yield f"{name}, row {number}", row_type(dataset)(row)


def row_type(dataset: Any) -> type[dict[str, Any]]:
    """Return the type of a data set's rows: Cells if it was read from CSV, else dict."""
    return Cells if dataset.info.builder_name == "csv" else dict


# What a row holds.


def pair_of(
    where: str,
    row: Mapping[str, Any],
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
) -> Pair:
    """The checked candidate and references of a row; `where` it stands is for messages.

    >>> pair_of("line 1", {"candidate": "a cat", "reference": "the cat"})
    ('a cat', ['the cat'])
    """
    column = candidate_column or _column_of(where, row, CANDIDATE_COLUMNS, "--candidate-column")
    prediction = cell(where, row, column)
    check_text(f"{where}: {column!r}", prediction)
    return prediction, references_of(where, row, reference_columns)


def references_of(
    where: str, row: Mapping[str, Any], reference_columns: Sequence[str] = ()
) -> list[str]:
    """The checked references of a row.

    A column may hold a list of strings, in CSV and TSV as Python or JSON writes it; there an empty
    cell is an empty text.

    >>> references_of("line 1", {"references": ["the cat", "cats"]})
    ['the cat', 'cats']
    """
    columns = reference_columns or [_column_of(where, row, REFERENCE_COLUMNS, "--reference-column")]
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


def _column_of(where: str, row: Mapping[str, Any], names: Sequence[str], option: str) -> str:
    """The one of `names` that the row has."""
    columns = [name for name in names if name in row]
    if len(columns) != 1:
        problem = "both of the columns" if columns else "none of the columns"
        check = "; check the header and its separator" if isinstance(row, Cells) else ""
        raise ValueError(
            f"{where}: {problem} {' and '.join(map(repr, names))}; name the column with {option} "
            f"(there are {', '.join(map(repr, row)) or 'none'}){check}"
        )
    return columns[0]


def _texts(where: str, row: Mapping[str, Any], column: str) -> list[str]:
    """The checked text or texts in a column."""
    value = cell(where, row, column)
    value = value.tolist() if hasattr(value, "tolist") else value  # an array, as of pandas
    if isinstance(row, Cells) and isinstance(value, str):
        value = _parse_cell(f"{where}: {column!r}", value)
    texts = list(value) if isinstance(value, list | tuple) else [value]
    if not texts:
        raise ValueError(f"{where}: {column!r} is an empty list; give at least one text")
    for text in texts:
        check_text(f"{where}: {column!r}", text)
    return texts


QUOTED = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
PYTHON = re.compile(rf"({QUOTED})|np\.str_\(({QUOTED})\)|\bnan\b")
"""Strings, and the strings and missing values of NumPy, which are not Python literals."""


def _parse_cell(name: str, cell: str) -> Any:
    r"""Return the list that a cell holds, as JSON or Python writes it, or else the cell as a text.

    Raises ValueError for a dictionary, a set and a list without commas; `name` is for the message.

    >>> _parse_cell("x", "['a cat', \"it's\"]"), _parse_cell("x", "[sic] a cat")
    (['a cat', "it's"], '[sic] a cat')
    """
    if not cell.lstrip().startswith(("[", "(", "{")):
        return cell
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        python = PYTHON.sub(lambda match: match[1] or match[2] or "None", cell.strip())
        try:
            with warnings.catch_warnings(action="ignore"):  # of escapes that Python does not know
                value = ast.literal_eval(python)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return cell
        # Python joins adjacent strings, so that an array would be read as one reference.
        if isinstance(value, list) and re.search(r'"\s*"', re.sub(QUOTED, '"', python)):
            raise ValueError(
                f"{name} holds strings without commas between them, as NumPy prints an array: "
                f"{reprlib.repr(cell)}; write a list, for example with array.tolist()"
            ) from None
    if isinstance(value, dict | set):
        raise ValueError(
            f"{name} holds a {type(value).__name__}, {reprlib.repr(cell)}; give a text or a list "
            "of texts (in JSON Lines any text can be given)"
        )
    return value if isinstance(value, list | tuple) else cell


# Writing.


def check_writable(path: str | os.PathLike[str], inputs: Iterable[str] = ()) -> None:
    """Raise ValueError if no file can be made there, or if it would be one of those that are read.

    >>> check_writable("missing/scores.txt")
    Traceback (most recent call last):
    ValueError: cannot write missing/scores.txt: no folder 'missing'; name a file in one that exists
    """
    target = Path(os.path.realpath(path))  # a link is followed to a folder that may not be there
    if target.is_dir() or not target.parent.is_dir():
        folder = Path(path).parent if not Path(path).is_symlink() else target.parent
        problem = "it is a folder" if target.is_dir() else f"no folder {str(folder)!r}"
        raise ValueError(f"cannot write {path}: {problem}; name a file in one that exists")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise ValueError(
            f"cannot write {path}: permission denied; name a file in a folder that you may write to"
        )
    for source in map(Path, map(os.path.expanduser, inputs)):
        if (target.is_file() and source.is_file() and source.samefile(target)) or (
            source.is_dir() and source.resolve() in target.parents
        ):
            raise ValueError(
                f"cannot write {path}: it is read, too, and would be lost; name another file"
            )


def open_descriptor(path: str | os.PathLike[str]) -> int | None:
    """The number of the open file that a path stands for, such as 1 for /dev/stdout, or None.

    >>> open_descriptor("/dev/stderr"), open_descriptor("/dev/fd/5"), open_descriptor("scores.txt")
    (2, 5, None)
    """
    name = re.fullmatch(r"/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/(\d+)", os.fspath(path))
    if name is None:
        return None
    return int(name[2]) if name[2] else {"stdout": 1, "stderr": 2}[name[1]]


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file as `write_whole` does."""
    write_whole(path, [text.encode()])


def write_whole(path: str | os.PathLike[str], parts: Iterable[bytes]) -> None:
    """Write a file; one that is there keeps its mode and its links.

    It is written as a draft beside it, and put in its place once all of it is on the disk. What is
    no regular file, has several names or lies in a folder that takes no draft is written into as it
    is. Raises OSError if that fails; but for these an older file is then as it was.
    """
    number, target = open_descriptor(path), Path(os.path.realpath(path))
    draft = target.with_name(f".infolm-{secrets.token_hex(8)}.tmp")
    try:
        if number is not None or not _replaceable(target):
            # What is open would, opened anew, be written from its start.
            with open(target if number is None else os.dup(number), "wb") as file:
                file.writelines(parts)
        else:
            with draft.open("wb") as file:
                if target.exists():  # before there is anything to read
                    shutil.copymode(target, draft)
                file.writelines(parts)
            put_in_place(draft, target)
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"cannot write {os.fspath(path)}: {error.strerror}; see that it has room"
        raise OSError(message) from error
    finally:
        with suppress(OSError):  # on a disk that is read-only even what is not there
            draft.unlink(missing_ok=True)


def put_in_place(draft: Path, target: Path) -> None:
    """Make a finished draft the file of another name, which keeps its links."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
        if not _replaceable(target):
            with target.open("wb") as linked:
                shutil.copyfileobj(file, linked)
            draft.unlink()
            return
    os.replace(draft, target)
    if os.name == "posix":  # the name, too, must be on the disk
        names = os.open(target.parent, os.O_RDONLY)
        os.fsync(names)
        os.close(names)


def _replaceable(path: Path) -> bool:
    """True for what is not there yet, or a file of one name in a folder that takes a draft."""
    if not path.exists():
        return True
    return path.is_file() and path.stat().st_nlink == 1 and os.access(path.parent, os.W_OK)
