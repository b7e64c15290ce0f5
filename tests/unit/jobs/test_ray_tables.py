"""Tables for Ray: values keep their types, and warnings of tasks are returned."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from infolm_metric.tables import read_rows

pytest.importorskip("ray", reason="Ray is optional and does not support every Python version")
from infolm_metric.jobs import ray_tables

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("a0-\ud800"),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.sampled_from("ab"), values),
    max_leaves=8,
)
TABLES = st.lists(st.dictionaries(st.sampled_from("xy"), VALUES, min_size=1), min_size=1)


def with_types(value):
    """Return a value with the type of each part. Integers equal the same floats."""
    if isinstance(value, list):
        return [with_types(item) for item in value]
    if isinstance(value, dict):
        return {name: with_types(item) for name, item in value.items()}
    return isinstance(value, bool), value


def finite(value):
    """Replace infinity, which JSON lacks, with null. Other columns keep it."""
    return json.loads(ray_tables.json_line(value))


@settings(max_examples=300, deadline=None)
@example([{"x": [None, {"a": 1}]}, {"x": [{"a": 0.5}, None]}, {"x": [{"a": 1 << 60}]}])
@given(TABLES)
def test_values_are_the_same_in_a_table(rows):
    types = [{name: ray_tables.type_of(value) for name, value in row.items()} for row in rows]
    schema = ray_tables.Schema.join(map(ray_tables.Schema, types))
    parts = [schema.table(rows[:1]), schema.table(rows[1:])]
    restored = [schema.restore(row) for part in parts for row in part.to_pylist()]
    for row, copy in zip(rows, restored, strict=True):
        expected = {name: value for name, value in row.items() if value is not None}
        for name in [name for name in expected if schema.types[name] == ray_tables.JSON]:
            expected[name] = finite(expected[name])
        expected = {name: value for name, value in expected.items() if value is not None}
        copy = {name: value for name, value in copy.items() if value is not None}
        assert with_types(copy) == with_types(expected)


def test_warnings_and_rows_of_a_file_are_returned(tmp_path):
    path = Path(tmp_path, "a.csv")
    path.write_text('prediction,reference\na,b\n"c\nd","e\nf, g"\n')
    schema = ray_tables._read_schema(str(path), read_rows, (None, ()), [])
    assert schema.rows == 2 and schema.cells
    (warning,) = schema.warnings
    assert "stray double quote" in warning


def test_integers_are_not_rounded():
    for value in (1 << 53, (1 << 53) + 1, -(1 << 63), 1 << 63):
        rows = [{"x": value}, {"x": 0.5}]
        kinds = [{"x": ray_tables.type_of(row["x"])} for row in rows]
        schema = ray_tables.Schema.join(map(ray_tables.Schema, kinds))
        first, second = (schema.restore(row)["x"] for row in schema.table(rows).to_pylist())
        assert (int(first), second) == (value, 0.5) and not math.isnan(first)
