"""Long jobs that survive: pairs are scored in chunks, and a job goes on where it was stopped.

OUTPUT.part holds the rows of whole chunks, and OUTPUT.job what the job is and how far it is. What a
kill left after the last whole chunk is dropped, as many pairs are skipped, and at the end the part
takes OUTPUT's name. Neither batches nor reuse cross a chunk: so a job that was killed and taken up
again writes, on the same machine, the same bytes as one that was not.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import warnings
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

from infolm_metric.core.baselines import baseline_of
from infolm_metric.core.files import (
    Row,
    Source,
    check_there,
    check_writable,
    put_in_place,
    write_text,
)
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import Result, add_counts, differences, warn
from infolm_metric.core.scorer import Scorer, sign_baseline
from infolm_metric.core.settings import ModelSettings

CHUNK = 256  # pairs
ANEW = "name another output, or begin anew with --restart"


@dataclass(frozen=True)
class JobResult:
    """What a finished job has written: its means by column, and the signature of all scores.

    Attributes:
        pairs: how many there are.
        means: of each column of scores.
        signature: all that can change them.
        counts: of texts, tokens, and those that are not scored quite as they were written.
        baseline: what unrelated texts score, by the kind of score, where it is known.
        resumed: pairs that were there before this run.
    """

    pairs: int
    means: Mapping[str, float]
    signature: str
    counts: Mapping[str, int]
    baseline: Mapping[str, Mapping[str, Any]] | None = None
    resumed: int = 0


@dataclass(frozen=True)
class _Job:
    """What a job is, and how far it is, as OUTPUT.job says it.

    `digest` stands for the `rows` of the input. `done` of them are written, in `size` bytes, whose
    warnings are counted, and whose scores stand in `columns`.
    """

    signature: str
    digest: str
    rows: int
    done: int = 0
    size: int = 0
    columns: Sequence[str] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> _Job | None:
        """The job that a file records; None if there is no file."""
        try:
            return cls(**json.loads(file.read_bytes())) if file.exists() else None
        except (TypeError, ValueError):
            raise ValueError(f"{file} is not the record of a job; {ANEW}") from None

    def write(self, file: Path) -> None:
        """Record the job, in the place of what was recorded before."""
        write_text(file, json.dumps(vars(self)) + "\n")

    def check(self, job: _Job, output: str | os.PathLike[str]) -> None:
        """Raise ValueError with what is different if this is not the job that is asked for."""
        if changes := differences(self.signature, job.signature):
            raise ValueError(f"{output} was begun otherwise: {changes}; give the same, or {ANEW}")
        if (self.rows, self.digest) != (job.rows, job.digest):
            raise ValueError(
                f"{output} was begun with another input: it had {self.rows} rows (digest "
                f"{self.digest[:12]}), and has {job.rows} now ({job.digest[:12]}); give the "
                f"same, or {ANEW}"
            )


def run_job(
    scorer: Scorer,
    source: Source,
    output: str | os.PathLike[str],
    *,
    rescale_with_baseline: Any = False,
    restart: bool = False,
    verbose: bool = False,
    chunk: int = CHUNK,
) -> JobResult:
    """What the job has written, once it is finished: a JSON object for each pair, a line each.

    It holds the pair's number, the columns of its input, and its scores. A job that was begun goes
    on where it was stopped, and one that is finished loads no model. The input is read at least
    twice: first to check and to count it.

    Args:
        scorer: the metric, with its settings.
        source: the pairs.
        output: the file to write.
        rescale_with_baseline: as for `Scorer.score`.
        restart: True to begin anew.
        verbose: show progress.
        chunk: pairs that are scored, and kept on the disk, at a time.

    Raises:
        TypeError, ValueError: a row is wrong, or can be read only once; the job that was begun has
            other settings or another input, or is at work elsewhere; `output` is no job's.
        OSError: something cannot be written, as where the disk is full; what is there is kept.

    >>> import tempfile
    >>> from infolm_metric import InfoLMScorer
    >>> rows = [{"prediction": "a cat", "reference": "a cat"}]
    >>> source = Source("a row", lambda: (("row 1", row) for row in rows))
    >>> scorer = InfoLMScorer(model_name_or_path="bundled", idf=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = run_job(scorer, source, folder + "/scores.jsonl")
    ...     print(Path(folder, "scores.jsonl").read_text(), end="")
    {"pair": 1, "prediction": "a cat", "reference": "a cat", "fisher_rao_distance": 0.0}
    >>> result.means
    {'fisher_rao_distance': 0.0}
    """
    check_there(source.files, again=True)
    check_writable(output, source.files)
    path = Path(os.path.realpath(output))  # a link stays, and the part lies where there is room
    part, record = Path(f"{path}.part"), Path(f"{path}.job")
    settings = scorer.settings
    if isinstance(settings, ModelSettings):
        settings = settings.replace(reuse_memory=0)  # nothing may cross a chunk
    baseline = baseline_of(settings.metric, rescale_with_baseline)
    bar = partial(tqdm, unit="pair", disable=not verbose)
    with _locked(path):
        job = None if restart else _Job.read(record)
        if job and not part.exists() and not path.exists():
            job = None  # its rows were taken elsewhere
        if path.exists() and not (path.is_file() and (job or restart or not path.stat().st_size)):
            raise ValueError(f"{output} is there, and no job has written it; {ANEW}")
        digest, references = _read(source, settings.names, bar)
        rows = sum(references.values())
        quiet = not (verbose and settings.counted)
        statistics = scorer.count(bar(source, total=rows, desc="counting", disable=quiet), settings)
        for count in references if baseline else ():
            scorer.baseline_stats(settings, statistics, baseline, count)
        signature = scorer.signature(settings, statistics, source.against_sources)
        signature = sign_baseline(signature, baseline) if baseline else signature
        new_job = _Job(signature, digest, rows)
        if job:
            job.check(new_job, output)
        else:
            job = new_job
            job.write(record)

        def score(chunk_rows: list[Row]) -> Result:
            pairs = Pairs.of(map(source.pair, chunk_rows), source.against_sources)
            with scorer.lock:
                return scorer.score_part(pairs, settings, statistics, baseline)

        resumed = job.done
        if part.exists() or resumed < rows:
            with bar(total=rows, initial=resumed, desc=settings.metric) as progress:
                job = _go_on(job, path, source, chunk, score, progress)
            put_in_place(part, path)
        warn(job.counts, scorer.sentences)
        stats = scorer.known_baseline(settings, statistics, references, baseline)
        means = _means(path, job.columns, rows)
        return JobResult(rows, means, signature, job.counts, stats, resumed)


def _go_on(
    job: _Job,
    path: Path,
    source: Source,
    chunk: int,
    score: Callable[[list[Row]], Result],
    progress: tqdm[Any],
) -> _Job:
    """The job with all of its rows in the part, each chunk put on the disk before the next."""
    part, record = Path(f"{path}.part"), Path(f"{path}.job")
    remaining_rows = islice(source.rows(), job.done, None)
    with open(part, "ab", buffering=0) as file:
        if path.exists():
            shutil.copymode(path, part)
        if file.seek(0, os.SEEK_END) < job.size:
            raise ValueError(f"{part} holds less than was written to it; {ANEW}")
        file.truncate(job.size)
        try:
            while rows := list(islice(remaining_rows, chunk)):
                result = score(rows)
                columns = result.columns()
                lines = _lines(scored_rows(rows, columns, job.done + 1))
                _append(file, lines)
                job = replace(
                    job,
                    done=job.done + len(rows),
                    size=job.size + len(lines),
                    columns=list(columns),
                    counts=add_counts([job.counts, result.counts]),
                )
                job.write(record)
                progress.update(len(rows))
        except BaseException:
            if job.done:
                warnings.warn(
                    f"infolm: {job.done} of {job.rows} pairs are kept in {part}, from where the "
                    "same command goes on",
                    stacklevel=3,
                )
            raise
    return job


def scored_rows(
    rows: Iterable[Row], columns: Mapping[str, Sequence[float]], start: int = 1
) -> Iterator[dict[str, Any]]:
    """Each row of the input with its number and its scores.

    >>> list(scored_rows([("line 1", {"id": "a"})], {"toy": [0.5]}))
    [{'pair': 1, 'id': 'a', 'toy': 0.5}]
    """
    scores = zip(*columns.values(), strict=True)
    for number, ((_, row), values) in enumerate(zip(rows, scores, strict=True), start):
        yield {"pair": number, **row, **dict(zip(columns, values, strict=True))}


def _lines(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """The rows as JSON Lines; what JSON cannot say of a number is null, other values their text."""
    finite = (
        {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        for row in rows
    )
    lines = (json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in finite)
    return "".join(lines).encode(errors="backslashreplace")  # a lone surrogate as JSON writes it


def _read(source: Source, names: Iterable[str], bar: Any) -> tuple[str, Counter[int]]:
    """What stands for all rows, and how many pairs have how many references; checks every row."""
    digest, references = hashlib.sha256(), Counter[int]()
    for where, row in bar(source.rows(), desc="reading"):
        pair = source.pair((where, row))
        if duplicates := [name for name in names if name in row]:
            raise ValueError(f"{where}: there is a column {duplicates[0]!r} already; rename it")
        digest.update(json.dumps([pair, row], default=str).encode() + b"\n")
        references[len(pair[1])] += 1
    if not references:
        raise ValueError(f"{source.name} has no rows; give one row for each pair")
    return digest.hexdigest(), references


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep others from working on the same output."""
    lock = FileLock(f"{path}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(f"another process is at work on {path}; let it finish") from None
    except (OSError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OSError(
            f"cannot lock {path}: {reason}; name an output on a disk that has locks"
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(lock.lock_file)
        lock.release()


def _append(file: FileIO, content: bytes) -> None:
    """Put the content on the disk."""
    remainder = memoryview(content)
    try:
        while remainder:
            remainder = remainder[file.write(remainder) :]
        os.fsync(file.fileno())
    except OSError as error:
        raise OSError(
            f"cannot write {os.fspath(file.name)}: {error.strerror}; see that it has room"
        ) from error


def _means(path: Path, columns: Sequence[str], rows: int) -> dict[str, float]:
    """The mean of each column of a finished job, which rounding does not carry beyond its ends."""
    means = dict.fromkeys(columns, 0.0)
    ends = {name: (math.inf, -math.inf) for name in columns}
    with path.open("rb") as lines:
        for row in map(json.loads, lines):
            for name, (least, most) in ends.items():
                means[name] += row[name] / rows
                ends[name] = min(least, row[name]), max(most, row[name])
    return {name: min(max(means[name], least), most) for name, (least, most) in ends.items()}
