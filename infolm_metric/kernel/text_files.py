"""Texts and pairs from files: from the lines of plain text, or the rows of tables.

Whatever is wrong is a ValueError or TypeError that names the file, the line and the remedy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from infolm_metric.kernel.lines import check_there, read_lines, shown
from infolm_metric.kernel.pairs import check_text
from infolm_metric.kernel.tables import Cells, list_in, named_as_table, read_rows

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
