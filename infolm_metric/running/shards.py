"""The folder of a long job, `OUTPUT.shards`: what the job is, and a file for each finished shard.

A shard holds the rows of a chunk of pairs, and is named after the first of them. It is written
whole, so that it is done if it is there. Its first line has the digest of the pairs that it was
scored from, what was remarked on their texts, and the digest of all of it: a byte that was changed
afterwards is noticed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import AcquireReturnProxy, FileLock, Timeout

from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.lines import write_whole
from infolm_metric.kernel.pairs import Pair
from infolm_metric.kernel.remarks import Remarks

JOB, TABLE, SHARD, DRAFT = "job.json", "{}.idf", "{:012}.rows", "draft"


@dataclass(frozen=True)
class Shard:
    r"""The rows of consecutive pairs, a line each, the digest of these pairs, and the remarks.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, SHARD.format(1))
    ...     Shard("5f2e", b'{"pair": 1, "l1_distance": 0.5}\n').write(file)
    ...     kept = Shard.read(file)
    ...     _ = file.write_bytes(file.read_bytes().replace(b"0.5", b"9.9"))
    ...     kept.rows, Shard.read(file)
    (b'{"pair": 1, "l1_distance": 0.5}\n', None)
    """

    pairs: str
    rows: bytes
    remarks: Remarks = Remarks()

    @classmethod
    def read(cls, file: Path) -> Shard | None:
        """The shard that a file keeps; None if it is not there, or not as it was written."""
        content = file.read_bytes() if file.exists() else b""
        head, _, rows = content.partition(b"\n")
        try:
            pairs, remarks, _ = json.loads(head)
            shard = cls(pairs, rows, Remarks.of(remarks))
            return shard if content == shard._content() else None
        except (AttributeError, RecursionError, TypeError, ValueError):
            return None

    def write(self, file: Path) -> None:
        """Keep the shard."""
        write_whole(file, [self._content()], file.with_name(DRAFT))

    def _content(self) -> bytes:
        remarks = asdict(self.remarks)
        head = json.dumps([self.pairs, remarks]).encode()
        check = hashlib.sha256(head + self.rows).hexdigest()
        return json.dumps([self.pairs, remarks, check]).encode() + b"\n" + self.rows

    def __len__(self) -> int:
        return self.rows.count(b"\n")


@dataclass(frozen=True)
class Job:
    """What a job is, in `job.json`. Jobs that are equal write equal rows for equal pairs.

    `tables` are the fingerprints of the tables counted for the job, by side, and `corpus` is the
    digest of the pairs that they were counted on, or None if nothing was counted.
    """

    signature: str
    chunk: int
    tables: Mapping[str, str]
    corpus: str | None

    @classmethod
    def begun(cls, folder: Path) -> Job | None:
        """The job of a folder, if one was begun; raises ValueError if it is something else."""
        file = folder / JOB
        try:
            return cls(**json.loads(file.read_bytes())) if file.exists() else None
        except (RecursionError, TypeError, ValueError) as error:
            raise ValueError(
                f"{file} is not a job that this release can take up again; name another output, or "
                "begin anew with --restart"
            ) from error

    def begin(self, folder: Path, statistics: Statistics) -> None:
        """Make the folder this job's, with the tables counted for it and without old shards."""
        for pattern in (JOB, TABLE.format("*"), "*.rows"):  # without the first there is no job
            for file in folder.glob(pattern):
                file.unlink()
        for side, table in statistics.tables.items():
            table.save(folder / TABLE.format(side))
        record = json.dumps(asdict(self), indent=1).encode()
        write_whole(folder / JOB, [record + b"\n"], folder / DRAFT)


def digest(pairs: Iterable[Pair]) -> str:
    """The number of pairs, and what stands for their texts."""
    seen, number = hashlib.sha256(), 0
    for number, pair in enumerate(pairs, 1):  # noqa: B007 (the last number is wanted)
        seen.update(json.dumps(pair).encode() + b"\n")
    return f"{number}:{seen.hexdigest()}"


def lock(folder: Path) -> AcquireReturnProxy:
    """Make the folder, and keep others out of it until the block that this opens is left.

    The locked file stays there: who removes it lets two in, each with a file of that name. Raises
    ValueError if another is at work there, and OSError if there can be no such folder or lock.
    """
    try:
        folder.mkdir(exist_ok=True)
        return FileLock(folder / "lock").acquire(timeout=0)
    except Timeout:
        raise ValueError(f"another process is at work in {folder}; let it finish") from None
    except (OSError, NotImplementedError) as error:
        raise OSError(
            f"cannot make and lock {folder}: {getattr(error, 'strerror', None) or error}; name an "
            "output in a folder that you may write to, on a disk that has locks"
        ) from error
