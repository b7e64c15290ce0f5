"""Resumable jobs: score pairs in chunks, and resume an interrupted job after its last chunk.

A job appends each complete chunk to OUTPUT.part, and records its progress in OUTPUT.job. A resumed
job drops an incomplete chunk at the end of OUTPUT.part. When all pairs are scored, OUTPUT.part is
renamed to OUTPUT. Chunks share neither batches nor cached encodings. On the same machine, the
output of an interrupted job is therefore bitwise identical to the output of an uninterrupted job.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from tqdm import tqdm

from infolm_metric.core import files
from infolm_metric.core.baselines import resolve_baseline
from infolm_metric.core.checks import InputError, check_whole, warn_user
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.core.inputs import Pairs, batches
from infolm_metric.core.results import Summary, add_counts, warn
from infolm_metric.core.signature import Signature
from infolm_metric.scoring.scorer import COUNTED_PAIRS, Run, S, Scorer
from infolm_metric.tables import PAIR, Row, Source, check_new_columns, scored_rows

JOB_CHUNK = 256  # pairs that are scored and written together
RESTART = "Choose another output, or overwrite this one with restart=True."


@dataclass(frozen=True)
class JobRecord:
    """Contents of OUTPUT.job: the identity of a job and its progress.

    `digest` is a hash of all `rows` input rows. Values that JSON lacks contribute only their types.
    `done` rows and `size` bytes have been written so far. `sums` contains the sum of each score
    column. `counts` are as in `Result`, with the sums of tokens and percentiles for a verdict.
    """

    signature: Signature
    digest: str
    rows: int
    done: int = 0
    size: int = 0
    sums: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> JobRecord:
        """Read a record written by `write`."""
        try:
            record = json.loads(file.read_bytes())
            return cls(Signature.parse(record.pop("signature")), **record)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise InputError(f"{file} is not a job record of this version. {RESTART}") from None

    def write(self, file: Path) -> None:
        files.write_text(file, json.dumps(vars(self)) + "\n")

    def check(self, job: JobRecord, output: str | os.PathLike[str]) -> None:
        """Check that the requested job has the same settings and the same input."""
        if changes := self.signature.differences(job.signature):
            raise InputError(
                f"the signature differs from the job in {output}: {changes}. To resume it, use the "
                f"same settings, model and versions. {RESTART}"
            )
        if (self.rows, self.digest) != (job.rows, job.digest):
            raise InputError(
                f"the input differs from the input of the job in {output}. Rows then: {self.rows} "
                f"(digest {self.digest[:12]}), now: {job.rows} (digest {job.digest[:12]}). "
                f"To resume it, use the same input. {RESTART}"
            )


def run_job(
    scorer: Scorer[S],
    source: Source,
    output: str | os.PathLike[str],
    *,
    rescale_with_baseline: object = False,
    restart: bool = False,
    verbose: bool = False,
    chunk: int = JOB_CHUNK,
) -> Summary:
    """Score pairs, and write one JSON line per pair with its number, input columns and scores.

    An interrupted job is resumed, unless `restart` discards it. If the job is finished, its summary
    is returned without loading a model. The input is read twice: first to check and count it, then
    to score it. Complete chunks are kept if the output can no longer be written. Raises InputError
    if the signature or the input differs from the job that wrote `output`, or if `output` exists
    but no job wrote it, unless `restart` is True.

    >>> import tempfile
    >>> from infolm_metric import InfoLMScorer
    >>> rows = [{"prediction": "a cat", "reference": "a cat"}]
    >>> source = Source("a row", lambda: (("row 1", row) for row in rows))
    >>> scorer = InfoLMScorer(model_name_or_path="bundled", idf=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = run_job(scorer, source, folder + "/scores.jsonl")
    ...     print(Path(folder, "scores.jsonl").read_text(), end="")
    {"pair": 1, "prediction": "a cat", "reference": "a cat", "infolm": 0.0}
    >>> result.means
    {'infolm': 0.0}
    """
    chunk = check_whole("chunk", chunk)
    files.check_exists(source.files, again=True)
    files.check_writable(output, source.files)
    path = Path(os.path.realpath(output))  # the target of a link. The .part file is next to it
    part, record = Path(f"{path}.part"), Path(f"{path}.job")
    settings = scorer.settings.without_reuse()  # chunks must not share encodings
    baseline = resolve_baseline(settings.metric, rescale_with_baseline)
    run = scorer.prepare(settings, baseline=baseline)
    bar = partial(tqdm, unit="pair", disable=not verbose)
    with _locked(output):
        # A record without output is ignored, because its output was moved or deleted.
        resumable = record.exists() and (part.exists() or path.exists()) and not restart
        job = JobRecord.read(record) if resumable else None
        replaceable = path.is_file() and (job or restart or path.stat().st_size == 0)
        if path.exists() and not replaceable:
            raise InputError(f"{output} exists and was not written by a job. {RESTART}")
        names = [PAIR, *settings.all_columns(baseline is not None)]
        digest, references, run = _read(source, run, names, bar)
        rows = sum(references.values())
        if baseline:
            run.unrelated(references)
        new_job = JobRecord(run.signature, digest, rows)
        if job:
            job.check(new_job, output)
        else:
            job = new_job
            job.write(record)

        resumed = job.done
        if part.exists() or resumed < rows:
            with bar(total=rows, initial=resumed, desc=settings.metric) as progress:
                job = _resume(job, path, source, chunk, run, progress)
            files.put_in_place(part, path)
        warn(job.counts)
        return run.summary(means(job.sums, rows), job.counts, references, resumed)


def _resume(
    job: JobRecord, path: Path, source: Source, chunk: int, run: Run[S], progress: tqdm[Any]
) -> JobRecord:
    """Score the remaining rows, flush each chunk to the disk, and return the final record."""
    part, record = Path(f"{path}.part"), Path(f"{path}.job")
    with open(part, "ab", buffering=0) as file:
        if path.exists():
            shutil.copymode(path, part)
        if file.seek(0, os.SEEK_END) < job.size:
            raise InputError(f"{part} was truncated after it was written. {RESTART}")
        file.truncate(job.size)
        try:
            for rows in batches(islice(source.rows(), job.done, None), chunk):
                pairs = Pairs.of(map(source.pair, rows))
                result = run.score(pairs, rank=True).renamed(run.settings.column)
                scored = scored_rows(rows, result.all_columns(), job.done + 1)
                lines = "".join(f"{files.json_line(row)}\n" for row in scored).encode()
                _append(file, lines)
                next_job = replace(
                    job,
                    done=job.done + len(rows),
                    size=job.size + len(lines),
                    sums=add_scores(job.sums, result.columns()),
                    counts=add_counts([job.counts, result.counts]),
                )
                next_job.write(record)
                job = next_job  # only now are the rows saved
                progress.update(len(rows))
        except BaseException:
            if job.done:
                warn_user(
                    f"{job.done} of {job.rows} pairs are saved in {part}. Run the command "
                    "again, without restart=True, to resume."
                )
            raise
    return job


def _read(
    source: Source, run: Run[S], names: Sequence[str], bar: Callable[..., Iterable[Row]]
) -> tuple[str, Counter[int], Run[S]]:
    """Check the input. Return its digest, pair counts by number of references, and the run."""
    digest, references, statistics = hashlib.sha256(), Counter[int](), CorpusStatistics()
    for part in batches(bar(source.rows(), desc="reading"), COUNTED_PAIRS):
        rows = [source.pair(row) for row in part]
        for (where, row), pair in zip(part, rows, strict=True):
            check_new_columns(where, row, names)
            # Not str, because the default representation of an object contains its address.
            text = json.dumps([pair, row], default=lambda value: type(value).__name__)
            digest.update(text.encode() + b"\n")
        pairs = Pairs.of(rows)
        references.update(pairs.counts)
        statistics += run.count(pairs.texts_by_side)
    if not references:
        raise InputError(f"{source.name} has no rows. Add one row per pair.")
    return digest.hexdigest(), references, run.with_statistics(statistics)


def add_scores(
    sums: Mapping[str, float], columns: Mapping[str, Sequence[float]]
) -> dict[str, float]:
    """Add a chunk's scores to the sum of each column."""
    return {name: math.fsum((sums.get(name, 0.0), *scores)) for name, scores in columns.items()}


def means(sums: Mapping[str, float], rows: int) -> dict[str, float]:
    """Return the mean of each score column."""
    return {name: total / rows for name, total in sums.items()}


@contextmanager
def _locked(output: str | os.PathLike[str]) -> Iterator[None]:
    """Prevent other jobs from writing to the output."""
    lock = FileLock(f"{os.path.realpath(output)}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise InputError(
            f"another job is writing to {output}. Wait for it to finish, or choose another output."
        ) from None
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(lock.lock_file)
        lock.release()


def _append(file: FileIO, content: bytes) -> None:
    remainder = memoryview(content)
    try:
        while remainder:
            remainder = remainder[file.write(remainder) :]
        os.fsync(file.fileno())
    except OSError as error:
        raise OSError(
            f"cannot write {os.fspath(file.name)}: {error.strerror}. Check available disk space."
        ) from error
