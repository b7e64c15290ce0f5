"""The journal of a long job: what it scores, and how far its output is complete.

It lies beside the output as `OUTPUT.job`, in JSON Lines. The first line says what the job is; each
of the others, written once the rows before it are safely on the disk, marks an edge at which the
job can be taken up again. What follows the last edge in either file is the torn end of a job that
was killed, and is cut off.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from infolm_metric.kernel import results

FORMAT, VERSION = "infolm job", 1


@dataclass(frozen=True)
class Edge:
    """A place where a job can be taken up: after so many pairs, and so many bytes of output.

    `digest` stands for the texts of these pairs. Only the last edge of a job is `finished`.
    """

    pairs: int = 0
    size: int = 0
    digest: str = ""
    finished: bool = False


@dataclass(frozen=True)
class Header:
    """What a job is. Two jobs with equal headers write equal rows for equal pairs.

    `tables` are the fingerprints of the tables counted for the job, by side; `corpus` tells the
    pairs that they were counted on, by number and digest, or is None if nothing was counted.
    """

    signature: str
    chunk: int
    tables: Mapping[str, str]
    corpus: tuple[int, str] | None

    def differences(self, now: Header) -> str:
        """What is different `now`, or nothing.

        >>> old = Header("metric:infolm|temperature:1.0|model:m", 256, {}, None)
        >>> old.differences(Header("metric:infolm|temperature:2.0|model:m", 256, {}, None))
        'temperature was 1.0 and is 2.0 now'
        """
        then, today = (f"{one.signature}|pairs in a chunk:{one.chunk}" for one in (self, now))
        return results.differences(then, today)


@dataclass(frozen=True)
class Journal:
    """A journal as it was found: its header, its edges in order, and where each line ends.

    `ends` holds the size of the journal after the header, and after each edge.
    """

    header: Header
    ends: tuple[int, ...]
    edges: tuple[Edge, ...] = ()

    def upto(self, size: int, finished: bool) -> Journal:
        """The journal as it was when the output had reached `size` bytes, at most.

        Without `finished`, an edge at the very end of the job does not count.
        """
        count = 0
        while count < len(self.edges) and self.edges[count].size <= size:
            if self.edges[count].finished and not finished:
                break
            count += 1
        return Journal(self.header, self.ends[: count + 1], self.edges[:count])

    @property
    def last(self) -> Edge:
        """The last edge, or the beginning."""
        return self.edges[-1] if self.edges else Edge()


def journal_path(output: Path) -> Path:
    """Where the journal of an output lies.

    >>> journal_path(Path("scores.jsonl")).name
    'scores.jsonl.job'
    """
    return output.with_name(f"{output.name}.job")


def read_journal(path: Path) -> Journal | None:
    """The journal, without the torn end it may have; None if there is no whole header.

    Raises ValueError if the file is something else.
    """
    if not path.exists():
        return None
    header: Header | None = None
    ends: list[int] = []
    edges: list[Edge] = []
    for line in path.read_bytes().splitlines(keepends=True):
        record = _record(line)
        if record is None:
            break
        if header is None:
            header = _header(path, record)
        else:
            edges.append(Edge(**record))
        ends.append(len(line) + (ends[-1] if ends else 0))
    return None if header is None else Journal(header, tuple(ends), tuple(edges))


def header_line(header: Header) -> bytes:
    """The first line of a journal."""
    return _line({"format": FORMAT, "version": VERSION, **asdict(header)})


def edge_line(edge: Edge) -> bytes:
    """The line that marks an edge.

    >>> edge_line(Edge(256, 9000, "5f2e"))
    b'{"pairs": 256, "size": 9000, "digest": "5f2e", "finished": false}\\n'
    """
    return _line(asdict(edge))


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _record(line: bytes) -> dict[str, Any] | None:
    """What a line holds, or None if it was torn."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if line.endswith(b"\n") and isinstance(record, dict) else None


def _header(path: Path, record: dict[str, Any]) -> Header:
    if record.pop("format", None) != FORMAT or record.pop("version", None) != VERSION:
        raise ValueError(
            f"{os.fspath(path)!r} is not a job that this release can take up again; remove it, or "
            "name another output"
        )
    corpus = record.pop("corpus")
    return Header(**record, corpus=None if corpus is None else (corpus[0], corpus[1]))
