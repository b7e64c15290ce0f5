"""Tables with values that readers often mistake for another type."""

import csv
import gzip
import json
from pathlib import Path

from pyarrow import Table, parquet

TEXTS = ["007", "1e5", "true", "null", "2024-03-04", "2024-03-04T05:06:07Z", "12:30", "NaN", "None"]
TEXTS += ["-0", "0x1F", "1,5", "inf", "NA", "caf\u00e9 \u6771\u4eac \U0001f642"]
TEXT_ROWS = [{"id": text, "prediction": text, "reference": text} for text in TEXTS]
# All dates, all numbers, and so on: readers infer the type of a column only if its values agree.
UNIFORM_ROWS = [
    {"day": "2024-03-04", "id": "007", "prediction": "2024-03-05", "reference": "1e5"},
    {"day": "2024-03-06", "id": "008", "prediction": "2024-03-07", "reference": "42"},
]
VALUES = [
    {"id": 1, "large": 1 << 60, "nested": {"a": [1, None]}, "one": 1},
    {"id": 2, "large": 2, "nested": {"a": []}, "one": 1.5},
    {"id": 3, "large": -3, "nested": None, "one": None, "tags": ["007", "x"]},
    {"id": 4, "nested": {"a": [2]}, "one": -3, "tags": []},
]
NESTED_ROWS = [
    {**values, "prediction": text, "references": [text, "x"]}
    for values, text in zip(VALUES, TEXTS, strict=False)
]
# Rows whose values have no common type in a column.
MIXED_ROWS = [
    {**NESTED_ROWS[0], "references": "2024-03-04"},
    {**NESTED_ROWS[1], "large": 1 << 70, "empty": {}, "id": "b"},
]
# The first row has other names of columns than the second.
OTHER_NAMES = [{"candidate": "a", "reference": "b"}, {"prediction": "c", "references": ["d"]}]
# Rows by file name.
TABLES = {
    "text.csv": TEXT_ROWS,
    "text.tsv.gz": TEXT_ROWS,
    "uniform.csv.gz": UNIFORM_ROWS,
    "uniform.tsv": UNIFORM_ROWS,
    "uniform.jsonl": UNIFORM_ROWS,
    "uniform.parquet": UNIFORM_ROWS,
    "text.parquet": TEXT_ROWS,
    "nested.jsonl": NESTED_ROWS,
    "mixed.ndjson.gz": MIXED_ROWS,
    "names.jsonl.gz": OTHER_NAMES,
}


def write_table(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows in the format of the file's extension."""
    if path.suffix == ".parquet":
        parquet.write_table(Table.from_pylist(rows), path)
        return
    with (gzip.open if path.suffix == ".gz" else open)(path, "wt", encoding="utf-8") as file:
        if path.name.partition(".")[2].startswith(("csv", "tsv")):
            separator = "\t" if ".tsv" in path.name else ","
            table = csv.DictWriter(file, list(rows[0]), delimiter=separator, lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
        else:
            file.writelines(json.dumps(row) + "\n" for row in rows)
