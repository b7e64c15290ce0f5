"""Reading of text tables (CSV, TSV, JSON Lines) as Ray data sets.

Ray's own readers infer types: they change texts that look like dates, and reject columns of mixed
types. Here, tasks first read each file to check its rows and to find the type of each column, and
then read it again to yield blocks of rows. Columns without a common type contain JSON.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import pyarrow
import ray.data

from infolm_metric.core.checks import InputError
from infolm_metric.core.files import json_line
from infolm_metric.core.inputs import batches
from infolm_metric.core.results import warn_user
from infolm_metric.jobs.resume import check_new_columns
from infolm_metric.tables import TABLES, Cells, Row, Source, TableFiles, file_ending, parse_pair

ROWS = 1024  # rows that are converted together
BLOCK_BYTES = 1 << 17  # bytes of a block. A block is the smallest unit of work for an actor
# A name in ARROW, JSON, ("list", type) or ("object", {key: type}).
Type = str | tuple[str, Any]
Reader = Callable[[str], Iterable[Row]]
# Arrow types by type name.
ARROW = {
    "null": pyarrow.null(),
    "boolean": pyarrow.bool_(),
    "integer": pyarrow.int64(),
    "large integer": pyarrow.int64(),  # not representable in float64
    "number": pyarrow.float64(),
    "text": pyarrow.string(),
}
JSON = "JSON"
NULL: Type = "null"
# Pairs of types in which the second type can represent all values of the first type.
WIDER = (("integer", "number"), ("integer", "large integer"))


@dataclass(frozen=True)
class Schema:
    """Column types that hold for all rows."""

    types: Mapping[str, Type]
    cells: bool = False  # rows of CSV and TSV, in which lists are written as strings
    rows: int = 0
    warnings: tuple[str, ...] = ()

    @classmethod
    def join(cls, schemas: Iterable[Schema]) -> Schema:
        """Combine the schemas of several files."""
        total = cls({})
        for schema in schemas:
            messages = (*total.warnings, *schema.warnings)
            types = _merge_columns(total.types, schema.types)
            total = cls(types, total.cells or schema.cells, total.rows + schema.rows, messages)
        return total

    def table(self, rows: Sequence[Mapping[str, object]]) -> pyarrow.Table:
        """Convert rows to a table."""
        columns: dict[str, pyarrow.Array] = {}
        for name, kind in self.types.items():
            values = [row.get(name) for row in rows]
            if kind == JSON:
                values = [None if value is None else json_line(value) for value in values]
            columns[name] = pyarrow.array(values, _arrow_type("text" if kind == JSON else kind))
        return pyarrow.table(columns)

    def restore(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return the row of a file from a row of a table. Null values are left out."""
        values = {
            name: json.loads(value) if self.types.get(name) == JSON else value
            for name, value in row.items()
            if value is not None
        }
        return Cells(values) if self.cells else values


def type_of(value: object) -> Type:
    """Return the type of a JSON value.

    >>> type_of(["a", None]), type_of({"a": 1}), type_of([1, "a"])
    (('list', 'text'), ('object', {'a': 'integer'}), 'JSON')
    """
    if isinstance(value, list):
        items: Type = reduce(merge, map(type_of, value), NULL)
        return JSON if items == JSON else ("list", items)
    if isinstance(value, dict):
        fields = {name: type_of(item) for name, item in value.items()}
        # Parquet has no objects without keys.
        return ("object", fields) if fields and JSON not in fields.values() else JSON
    if isinstance(value, str):  # lone surrogates are not valid in Parquet
        return "text" if value.isascii() or not _has_surrogates(value) else JSON
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) <= 1 << 53:
            return "integer"
        return "large integer" if -(1 << 63) <= value < 1 << 63 else JSON
    return {type(None): "null", bool: "boolean", float: "number"}[type(value)]


def _has_surrogates(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text)


def merge(one: Type, two: Type) -> Type:
    """Return the type of a column that contains values of both types.

    >>> merge("integer", "number"), merge("null", "text"), merge("integer", "text")
    ('number', 'text', 'JSON')
    """
    if one == two or two == "null":
        return one
    if one == "null":
        return two
    for narrow, wide in WIDER:
        if (one, two) in ((narrow, wide), (wide, narrow)):
            return wide
    if isinstance(one, tuple) and isinstance(two, tuple) and one[0] == two[0]:
        if one[0] == "list":
            items = merge(one[1], two[1])
            return JSON if items == JSON else ("list", items)
        if one[1].keys() == two[1].keys():
            fields = _merge_columns(one[1], two[1])
            return JSON if JSON in fields.values() else ("object", fields)
    return JSON


def _merge_columns(one: Mapping[str, Type], two: Mapping[str, Type]) -> dict[str, Type]:
    return {name: merge(one.get(name, "null"), two.get(name, "null")) for name in {**one, **two}}


def _arrow_type(kind: Type) -> pyarrow.DataType:
    if isinstance(kind, str):
        return ARROW[kind]
    if kind[0] == "list":
        return pyarrow.list_(_arrow_type(kind[1]))
    return pyarrow.struct({name: _arrow_type(field) for name, field in kind[1].items()})


def find_tables(path: str) -> list[str]:
    """Return the paths of the tables in a folder, which must have one format, or of a single file.

    Files and folders whose names start with "." or "_", such as _SUCCESS, are ignored.
    """
    if not os.path.isdir(path):
        return [path]
    files: list[str] = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        names = [name for name in names if not name.startswith((".", "_"))]
        files += [os.path.join(folder, name) for name in names]
    endings = sorted({file_ending(file) for file in files})
    if len(endings) != 1 or endings[0] not in TABLES:
        found = ", ".join(map(repr, endings)) or "no files"
        raise InputError(
            f"{path} must contain tables of one format ({', '.join(TABLES)}), got {found}. Convert "
            "or move the other files."
        )
    return sorted(files)


def read_schema(files: TableFiles, source: Source, names: Sequence[str]) -> Schema:
    """Read all files in parallel, check their rows, and return their schema.

    Invalid rows, and columns with the `names` of new columns, raise errors. Warnings of the tasks
    are repeated here.
    """
    columns = (source.candidate_column, tuple(source.reference_columns))
    task = ray.remote(num_cpus=1)(_read_schema).remote
    schemas = ray.get([task(path, files.read, columns, names) for path in files.paths])
    schema = Schema.join(schemas)
    for message in schema.warnings:
        warn_user(message.removeprefix("infolm: "))
    return schema


def _read_schema(
    path: str, read: Reader, columns: tuple[str | None, Sequence[str]], names: Sequence[str]
) -> Schema:
    """Check the rows of a file and return its schema."""
    types: dict[str, Type] = {}
    rows, cells = 0, False
    with warnings.catch_warnings(record=True, action="always") as caught:
        for where, row in read(path):
            rows += 1
            parse_pair(where, row, *columns)
            check_new_columns(where, row, names)
            types = _merge_columns(types, {name: type_of(value) for name, value in row.items()})
            cells = isinstance(row, Cells)
    return Schema(types, cells, rows, tuple(str(warning.message) for warning in caught))


def open_tables(files: TableFiles, schema: Schema) -> ray.data.Dataset:
    """Return a data set with the rows in order, in blocks that are small enough to share."""
    items = [{"path": path} for path in files.paths]
    tasks = min(len(items), max(1, int(ray.cluster_resources().get("CPU", 1))))
    paths = ray.data.from_items(items, override_num_blocks=tasks)
    paths.context.target_max_block_size = BLOCK_BYTES
    read = partial(_read_blocks, read=files.read, schema=schema)
    # Without a CPU of its own, reading is not fused with scoring: one actor would score each file.
    return paths.map_batches(read, batch_size=None, num_cpus=0)


def _read_blocks(
    batch: Mapping[str, Sequence[str]], read: Reader, schema: Schema
) -> Iterator[pyarrow.Table]:
    """Yield the rows of files as tables."""
    for path in batch["path"]:
        for rows in batches(read(str(path)), ROWS):
            yield schema.table([row for _, row in rows])
