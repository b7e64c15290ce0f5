"""Tables that the workers of a Ray cluster read and write, each its own part."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow
import ray
from ray.data.block import BlockAccessor
from ray.data.datasource import BlockBasedFileDatasink

from infolm_metric.kernel.lines import check_there, read_once

if TYPE_CHECKING:
    from ray.data import Dataset


def open_files(path: str) -> Dataset:
    """The rows of a file, or of a folder of files, of Parquet or JSON Lines; read by the cluster.

    A folder's name ends like that of a file, or else it holds Parquet files.
    """
    suffix = Path(path).suffix.lower() or (".parquet" if Path(path).is_dir() else "")
    if suffix not in READERS:
        raise ValueError(
            f"with --engine ray tables are {', '.join(READERS)}, or folders of them, got {path!r}; "
            "convert it, or score it without --engine ray"
        )
    check_there([path])
    if read_once(path):
        raise ValueError(f"{path} is a pipe, which workers cannot share; write it to a file first")
    return READERS[suffix](os.path.abspath(path))  # workers have other working folders


def find_writer(output: str) -> tuple[Callable[[Dataset, str], None], str]:
    """What writes a data set into the folder `output`, and the format of its files.

    The folder's name ends in .parquet or .jsonl, and it is not there yet.
    """
    suffix = Path(output).suffix.lower()
    if suffix not in WRITERS:
        raise ValueError(
            f"with --engine ray the output is a folder whose name ends in {' or '.join(WRITERS)}, "
            f"got {output!r}"
        )
    if Path(output).exists():  # refused, because Ray would add its files to those there
        raise ValueError(f"{output} exists; name a folder that is not there yet")
    return WRITERS[suffix]


class _Lines(BlockBasedFileDatasink):
    """Writes JSON Lines with all digits of a number, of which Ray's own writer keeps ten decimals.

    As there, what JSON cannot say of a number is null; other values stand as their text.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, file_format="json")

    def write_block_to_file(self, block: BlockAccessor, file: pyarrow.NativeFile) -> None:
        for row in block.to_arrow().to_pylist():
            for name, value in row.items():
                if isinstance(value, float) and not math.isfinite(value):
                    row[name] = None
            file.write(json.dumps(row, default=str).encode() + b"\n")


READERS = {
    ".parquet": lambda path: ray.data.read_parquet(path),
    # Not with lines=True, which makes numbers of texts such as "12".
    ".jsonl": lambda path: ray.data.read_json(path),
    ".ndjson": lambda path: ray.data.read_json(path, file_extensions=None),
}
WRITERS = {
    ".parquet": (lambda scored, path: scored.write_parquet(path), "parquet"),
    ".jsonl": (lambda scored, path: scored.write_datasink(_Lines(path)), "json"),
}
