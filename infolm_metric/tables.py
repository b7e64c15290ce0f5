"""Reading of tables of texts (CSV, TSV, JSON Lines, Parquet, data sets) row by row.

Errors in files are InputErrors that name the file and, if possible, the line and the remedy.
"""

from __future__ import annotations

import ast
import csv
import json
import os
import re
import reprlib
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import PurePath
from typing import Any

from infolm_metric.core.checks import InputError
from infolm_metric.core.files import LONGEST, STANDARD_INPUT, label, read_lines, read_texts
from infolm_metric.core.inputs import Pair, check_text, counted

# Number of rows read at a time.
PARQUET_BATCH = 1024
CANDIDATE_COLUMNS = ("prediction", "candidate")
REFERENCE_COLUMNS = ("references", "reference")

JSON_LINES = (
    "Write one JSON object per line (`jq -c '.[]' FILE` converts an array of objects, and "
    "`jq -c . FILE` converts objects that span several lines)."
)

PLAIN_TEXT = "To score files with one text per line, run infolm score -c CANDIDATES -r REFERENCES."

QUOTES = 'Put cells with quotes or carriage returns in double quotes, and write each quote as "".'

PAIR = "pair"  # column of pair numbers

# Position of a row ("data.csv, line 3"), and its values by column.
Row = tuple[str, Mapping[str, Any]]


class Cells(dict[str, str]):
    """Row of CSV or TSV, in which a list of references is written as a string."""


@dataclass(frozen=True)
class Source:
    """Pairs of candidates and references that can be read any number of times.

    >>> row = {"prediction": "a cat", "references": ["the cat", "cats"]}
    >>> list(Source("two texts", lambda: iter([("row 1", row)])))
    [('a cat', ['the cat', 'cats'])]
    """

    name: str  # for messages
    rows: Callable[[], Iterator[Row]]
    candidate_column: str | None = None  # None: the only one of CANDIDATE_COLUMNS in the row
    reference_columns: Sequence[str] = ()  # (): the only one of REFERENCE_COLUMNS in the row
    files: tuple[str, ...] = ()  # input files, which must not be overwritten
    load: Callable[[], Any] | None = None  # returns a data set of `datasets`. None: texts or files

    def __iter__(self) -> Iterator[Pair]:
        return (self.pair(row) for row in self.rows())

    def pair(self, row: Row) -> Pair:
        """Check and return a row's candidate and references."""
        return parse_pair(*row, self.candidate_column, self.reference_columns)


def read_rows(path: str) -> Iterator[Row]:
    r"""Return the rows of a table as (position, values by column). CSV cells are strings.

    Standard input is read as JSON Lines.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/data.tsv"
    ...     _ = open(path, "w").write("system\tfluency\nA\t80\n")
    ...     [row for _, row in read_rows(path)]
    [{'system': 'A', 'fluency': '80'}]
    """
    reader = _json_rows if path == STANDARD_INPUT else TABLES.get(file_ending(path))
    if reader is None:
        raise InputError(
            f"{path}: a table must end in {', '.join(TABLES)} (.gz may follow, except .parquet). "
            + (JSON_LINES if file_ending(path) == ".json" else f"Convert the file. {PLAIN_TEXT}")
        )
    return reader(path)


def is_table_path(path: str) -> bool:
    """Return True for the file extensions of tables.

    >>> is_table_path("pairs.CSV.gz"), is_table_path("pairs.txt")
    (True, False)
    """
    return file_ending(path) in TABLES


def resembles_file(text: str) -> bool:
    """Return True for an existing file or one word with the extension of a text or table file.

    >>> resembles_file("missing.txt"), resembles_file("See missing.txt"), resembles_file("a cat")
    (True, False, False)
    """
    if os.path.exists(text):
        return not os.path.isdir(text)
    return file_ending(text) in (*TEXT_ENDINGS, *TABLES) and len(text.split()) == 1


def file_ending(path: str) -> str:
    """Return the file extension in lower case, ignoring ".gz"."""
    return PurePath(path.lower().removesuffix(".gz")).suffix


def _json_rows(path: str) -> Iterator[Row]:
    """Yield the rows of a JSON Lines file. Blank lines are skipped."""
    for number, line in read_lines(path):
        if not line.strip():
            continue
        where = f"{label(path)}, line {number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: not valid JSON ({error}). {JSON_LINES}") from None
        if not isinstance(row, dict):
            raise InputError(f"{where}: not a JSON object. {JSON_LINES}")
        yield where, row


def find_separator(path: str) -> str:
    """Return the most frequent delimiter outside of quotes in the header of a CSV or TSV file."""
    header = next((line for _, line in read_lines(path)), "")
    return max(SEPARATORS[file_ending(path)], key=re.sub(r'"[^"]*"', "", header).count)


def _delimited_rows(path: str) -> Iterator[Row]:
    """Yield the rows of a CSV or TSV file with a header and spreadsheet-style quotes."""
    csv.field_size_limit(max(LONGEST, csv.field_size_limit()))  # a limit of the whole process
    separator = find_separator(path)
    lines = (line for _, line in read_lines(path))
    # Without `strict`, a stray quote would silently join all lines up to the next quote.
    reader = csv.DictReader(lines, delimiter=separator, strict=True)

    def where() -> str:
        return f"{label(path)}, line {reader.reader.line_num}"

    try:
        header = list(reader.fieldnames or ())
        if duplicates := {name for name in header if header.count(name) > 1}:
            raise InputError(
                f"{where()}: duplicate column name {min(duplicates)!r}. Rename one "
                "column, or add a header if it is missing."
            )
        for row in reader:
            if None in row or None in row.values():
                remedy = "Add the missing separators."
                if None in row:
                    remedy = "Put cells that contain separators in double quotes."
                raise InputError(
                    f"{where()}: expected {counted(len(header), 'cell')} separated by "
                    f"{separator!r}, got {'more' if None in row else 'fewer'}. {remedy} {QUOTES}"
                )
            yield where(), Cells(row)
    except csv.Error as error:
        is_return = str(error).startswith("new-line character")
        problem = "a carriage return without a line feed" if is_return else error
        raise InputError(f"{where()}: not valid CSV ({problem}). {QUOTES}") from None


def _parquet_rows(path: str) -> Iterator[Row]:
    """Yield the rows of a Parquet file, read in batches."""
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
        raise InputError(f"cannot read {path} after row {number}: {reason}. Check it.") from error


# Possible separators of cells. Spreadsheets also write semicolons.
SEPARATORS = {".csv": ",;\t", ".tsv": "\t"}
# Readers of tables by file extension.
TABLES: dict[str, Callable[[str], Iterator[Row]]] = {
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
    ".csv": _delimited_rows,
    ".tsv": _delimited_rows,
    ".parquet": _parquet_rows,
}
# Other file extensions that suggest a file of texts.
TEXT_ENDINGS = (".txt", ".text", ".json", ".xlsx")


def read_parallel(candidates: str, references: Sequence[str]) -> Iterator[Row]:
    """Yield one row per line of plain text files with equal numbers of lines."""
    paths = [candidates, *references]
    for path in paths:
        if is_table_path(path):
            raise InputError(
                f"{path} must be plain text with one text per line, not a table. Save its "
                f"texts as .txt, or score the table: infolm score --data {path}."
            )
    streams = [read_texts(path) for path in paths]
    for number, texts in enumerate(zip_longest(*streams), 1):
        if None in texts:
            raise InputError(
                "the files must have the same number of lines, with one text per line, but "
                f"{label(paths[texts.index(None)])} has only {number - 1}."
            )
        row = {"prediction": texts[0], "references": list(texts[1:])}
        yield f"{label(candidates)}, line {number}", row


def read_documents(path: str, column: str) -> Iterator[str]:
    r"""Return an iterator over the lines of plain text, or the texts in a column of a table.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/corpus.csv"
    ...     _ = open(path, "w").write('id,text\n1,"a, b"\n2,NA\n')
    ...     list(read_documents(path, "text"))
    ['a, b', 'NA']
    """
    if not is_table_path(path):
        return read_texts(path)
    return (text for row in read_rows(path) for text in _texts(*row, column, "column"))


def load_dataset(
    name: str, config: str | None = None, split: str | None = None, revision: str | None = None
) -> Any:
    """Load a `datasets.Dataset` from the Hub or a folder of data files.

    `split` is optional if there is only one.
    """
    import datasets

    if os.path.isfile(name):
        raise InputError(
            f"--dataset takes a data set or folder, but {name} is a file. Pass tables with --data."
        )
    if os.path.isdir(name):
        name = os.path.abspath(name)  # `datasets` cannot load "."
    try:
        builder = datasets.load_dataset_builder(name, config, revision=revision)
        # By default, texts such as NA in CSV are read as missing values.
        options = {"keep_default_na": False} if builder.name == "csv" else {}
        dataset = datasets.load_dataset(name, config, split=split, revision=revision, **options)
    except (OSError, ValueError, datasets.exceptions.DatasetGenerationError) as error:
        reason = str(error.__cause__ or error).strip().partition("\n")[0].rstrip(" .")
        kind = InputError if isinstance(error, ValueError) or os.path.isdir(name) else OSError
        raise kind(
            f"cannot load the data set {name!r}: {reason}. Check its name, configuration and split."
        ) from error
    if isinstance(dataset, Mapping):
        if len(dataset) > 1:
            raise InputError(f"{name!r} has the splits {', '.join(dataset)}. Pass --split NAME.")
        (dataset,) = dataset.values()
    return dataset


def dataset_rows(name: str, load: Callable[[], Any]) -> Iterator[Row]:
    """Yield the rows of the data set that `load` returns."""
    dataset = load()
    inferred = dataset.info.builder_name in ("csv", "json")
    note = " (types inferred by `datasets`)" if inferred else ""
    for number, row in enumerate(dataset, 1):
        yield f"{name}, row {number}{note}", row_type(dataset)(row)


def row_type(dataset: Any) -> type[dict[str, Any]]:
    """Return the type of the rows of a data set: Cells if it was read from CSV, else dict."""
    return Cells if dataset.info.builder_name == "csv" else dict


# Rows.


def parse_pair(
    where: str,
    row: Mapping[str, object],
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
) -> Pair:
    """Check and return a row's candidate and references. `where` is its position, for messages.

    >>> parse_pair("line 1", {"candidate": "a cat", "reference": "the cat"})
    ('a cat', ['the cat'])
    """
    column = candidate_column or _find_column(where, row, CANDIDATE_COLUMNS, "candidate_column")
    prediction = cell(where, row, column, " Set candidate_column=NAME.")
    check_text(f"{where}: {column!r}", prediction)
    return prediction, parse_references(where, row, reference_columns)


def parse_references(
    where: str, row: Mapping[str, object], reference_columns: Sequence[str] = ()
) -> list[str]:
    """Check and return a row's references.

    A column may contain lists of strings, which CSV and TSV represent as Python or JSON literals.
    An empty cell in CSV is an empty text. `Pairs` leaves blank references out if there are others.
    If there are several `reference_columns`, the list contains the references of all of them.

    >>> parse_references("line 1", {"references": ["the cat", "cats"]})
    ['the cat', 'cats']
    """
    columns = reference_columns or [
        _find_column(where, row, REFERENCE_COLUMNS, "reference_columns")
    ]
    return [text for name in columns for text in _texts(where, row, name, "reference_columns")]


def cell(where: str, row: Mapping[str, object], column: str, remedy: str = "") -> Any:
    """Return the value in a column of a row. Raise InputError if there is no such column.

    >>> cell("line 1", {"reference": "the cat"}, "text")
    Traceback (most recent call last):
    infolm_metric.InputError: line 1: no column 'text'. Available: 'reference'.
    """
    if column not in row:
        raise InputError(
            f"{where}: no column {column!r}.{remedy} Available: "
            f"{', '.join(map(repr, row)) or 'none'}."
        )
    return row[column]


def _find_column(where: str, row: Mapping[str, object], names: Sequence[str], argument: str) -> str:
    """Return the only one of `names` that is a column of the row."""
    columns = [name for name in names if name in row]
    if len(columns) != 1:
        problem = "expected only one of the columns" if columns else "found none of the columns"
        check = " Check the header and its separator." if isinstance(row, Cells) else ""
        raise InputError(
            f"{where}: {problem} {' and '.join(map(repr, names))}. Rename the column, or pass "
            f"{argument} (available: {', '.join(map(repr, row)) or 'none'}).{check}"
        )
    return columns[0]


def _texts(where: str, row: Mapping[str, object], column: str, argument: str) -> list[str]:
    """Check and return the texts in the column that `argument` selects."""
    value = cell(where, row, column, f" Set {argument}=NAME.")
    if hasattr(value, "tolist"):  # an array, for example from pandas
        value = value.tolist()
    if isinstance(row, Cells) and isinstance(value, str):
        value = _parse_cell(f"{where}: {column!r}", value)
    texts = list(value) if isinstance(value, list | tuple) else [value]
    if not texts:
        raise InputError(f"{where}: {column!r} is an empty list. Add at least one text.")
    for text in texts:
        check_text(f"{where}: {column!r}", text)
    return texts


# Start of a printed NumPy array of strings, in which Python would join adjacent strings.
NUMPY_ARRAY = re.compile(r"""\s*\[(np\.str_\(['"]|('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s+['"])""")


def _parse_cell(name: str, cell: str) -> Any:
    r"""Parse a cell that contains a list as a JSON or Python literal. Other cells are unchanged.

    >>> _parse_cell("x", "['a cat', \"it's\"]"), _parse_cell("x", "[sic] a cat")
    (['a cat', "it's"], '[sic] a cat')
    """
    if not cell.lstrip().startswith("["):
        return cell
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        if NUMPY_ARRAY.match(cell):
            raise InputError(
                f"{name} must be a comma-separated list, not a printed NumPy array, got "
                f"{reprlib.repr(cell)}. Write a list, for example with array.tolist()."
            ) from None
        try:
            with warnings.catch_warnings(action="ignore"):  # unknown escape sequences
                value = ast.literal_eval(cell.strip())
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return cell
    return value if isinstance(value, list) else cell


# Columns that scoring adds.


def check_new_columns(where: str, columns: Collection[str], names: Iterable[str]) -> None:
    """Check that the input does not have one of the columns that scoring adds."""
    if duplicates := [name for name in names if name in columns]:
        raise InputError(
            f"{where}: column {duplicates[0]!r} already exists, but scoring adds a column with "
            "the same name. Rename or drop the input column."
        )


def scored_rows(
    rows: Iterable[Row], columns: Mapping[str, Sequence[object]], start: int = 1
) -> Iterator[dict[str, Any]]:
    """Yield the input rows with their pair numbers and scores.

    >>> list(scored_rows([("line 1", {"id": "a"})], {"toy": [0.5]}))
    [{'pair': 1, 'id': 'a', 'toy': 0.5}]
    """
    scores = zip(*columns.values(), strict=True)
    for number, ((_, row), values) in enumerate(zip(rows, scores, strict=True), start):
        yield {PAIR: number, **row, **dict(zip(columns, values, strict=True))}
