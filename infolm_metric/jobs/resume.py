"""Resumable jobs: score pairs in chunks, and resume an interrupted job after the last chunk.

OUTPUT.part contains the rows of complete chunks, and OUTPUT.job contains the record of the job. To
resume, rows after the last complete chunk are dropped, and the pairs of all complete chunks are
skipped. At the end, OUTPUT.part is renamed to OUTPUT. Neither batches nor cached encodings cross
chunks, so on the same machine, a resumed job and an uninterrupted run produce bitwise identical
output.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from infolm_metric.core.baselines import Baseline, most_frequent, resolve_baseline
from infolm_metric.core.idf import CorpusStatistics, batches
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import Result, Summary, add_counts, user_stacklevel, warn
from infolm_metric.core.scorer import Scorer
from infolm_metric.core.signature import Signature
from infolm_metric.core.tables import Row, Source

CHUNK = 256  # pairs
COUNTED = 1024  # pairs whose document frequencies are counted together
PAIR = "pair"
"""Column with the number of the pair."""
RESTART = "choose another output, or start over with --restart"


@dataclass(frozen=True)
class JobRecord:
    """Content of OUTPUT.job: the identity of a job and its progress.

    Attributes:
        signature: signature of the scores.
        digest: hash of all rows of the input.
        rows: number of input rows.
        done: number of rows written.
        size: number of bytes written.
        sums: sum, minimum and maximum of each column of scores.
        counts: counts for warnings.
    """

    signature: Signature
    digest: str
    rows: int
    done: int = 0
    size: int = 0
    sums: Mapping[str, Sequence[float]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> JobRecord | None:
        """Read a record from a file; return None if the file does not exist."""
        try:
            if not file.exists():
                return None
            record = json.loads(file.read_bytes())
            return cls(Signature.parse(record.pop("signature")), **record)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ValueError(f"{file} is not a job record of this version; {RESTART}") from None

    def write(self, file: Path) -> None:
        """Write the record to a file, replacing its content."""
        files.write_text(file, json.dumps(vars(self)) + "\n")

    def check(self, job: JobRecord, output: str | os.PathLike[str]) -> None:
        """Raise ValueError if the requested job has other settings or another input."""
        if changes := self.signature.differences(job.signature):
            raise ValueError(
                f"{output} was started with other settings: {changes}; use the same settings, or "
                f"{RESTART}"
            )
        if (self.rows, self.digest) != (job.rows, job.digest):
            raise ValueError(
                f"{output} was started with another input: it had {self.rows} rows (digest "
                f"{self.digest[:12]}) and has {job.rows} now (digest {job.digest[:12]}); use the "
                f"same input, or {RESTART}"
            )

    def means(self) -> dict[str, float]:
        """Return the mean of each column, clipped to the column's range because of rounding."""
        return {
            name: min(max(total / self.done, least), most)
            for name, (total, least, most) in self.sums.items()
        }


def run_job(
    scorer: Scorer,
    source: Source,
    output: str | os.PathLike[str],
    *,
    rescale_with_baseline: Any = False,
    restart: bool = False,
    verbose: bool = False,
    chunk: int = CHUNK,
) -> Summary:
    """Write one JSON line per pair, with its number, the input columns and the scores.

    Resumes an interrupted job; returns the summary of a finished job without loading a model. The
    input is read twice, first to check and count it, then to score it.

    Args:
        scorer: the metric with its settings.
        source: the pairs.
        output: the file to write.
        rescale_with_baseline: as in `Scorer.score`.
        restart: discard an existing job and start over.
        verbose: show progress.
        chunk: number of pairs to score and write together.

    Returns:
        The summary of all scores.

    Raises:
        TypeError, ValueError: a row is invalid; the input can be read only once; the existing job
            has other settings or another input, or is running; `output` exists without a job.
        OSError: the output cannot be written; complete chunks are kept.

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
    files.check_exists(source.files, again=True)
    files.check_writable(output, source.files)
    path = Path(os.path.realpath(output))  # the target of a link; the .part file is next to it
    part, record = Path(f"{path}.part"), Path(f"{path}.job")
    settings = scorer.settings.without_reuse()  # encodings must not cross chunks
    baseline = resolve_baseline(settings.metric, rescale_with_baseline)
    bar = partial(tqdm, unit="pair", disable=not verbose)
    with _locked(path):
        job = None if restart else JobRecord.read(record)
        if job and not part.exists() and not path.exists():
            job = None  # its output was moved or deleted
        if path.exists() and not (path.is_file() and (job or restart or not path.stat().st_size)):
            raise ValueError(f"{output} exists and was not written by a job; {RESTART}")
        names = [PAIR, *result_columns(settings, baseline)]
        digest, references, statistics = _read(source, scorer, settings, names, bar)
        rows = sum(references.values())
        stats = scorer.baseline_stats(settings, statistics, baseline, references)
        signature = scorer.signature(settings, statistics, source.against_sources)
        signature = baseline.sign(signature) if baseline else signature
        new_job = JobRecord(signature, digest, rows)
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
                job = _resume(job, path, source, chunk, score, progress)
            files.put_in_place(part, path)
        warn(job.counts, scorer.warning_messages)
        known = most_frequent(stats, references)
        return Summary(rows, job.means(), signature, job.counts, known, resumed)


def _resume(
    job: JobRecord,
    path: Path,
    source: Source,
    chunk: int,
    score: Callable[[list[Row]], Result],
    progress: tqdm[Any],
) -> JobRecord:
    """Score the remaining rows, flushing each chunk to the disk; return the final record."""
    part, record = Path(f"{path}.part"), Path(f"{path}.job")
    remaining_rows = islice(source.rows(), job.done, None)
    with open(part, "ab", buffering=0) as file:
        if path.exists():
            shutil.copymode(path, part)
        if file.seek(0, os.SEEK_END) < job.size:
            raise ValueError(f"{part} was truncated after it had been written; {RESTART}")
        file.truncate(job.size)
        try:
            while rows := list(islice(remaining_rows, chunk)):
                result = score(rows)
                columns = result.columns()
                scored = scored_rows(rows, columns, job.done + 1)
                lines = "".join(f"{files.json_line(row)}\n" for row in scored).encode()
                _append(file, lines)
                job = replace(
                    job,
                    done=job.done + len(rows),
                    size=job.size + len(lines),
                    sums=_add(job.sums, columns),
                    counts=add_counts([job.counts, result.counts]),
                )
                job.write(record)
                progress.update(len(rows))
        except BaseException:
            if job.done:
                warnings.warn(
                    f"infolm: {job.done} of {job.rows} pairs are saved in {part}; run the same "
                    "command again to resume",
                    stacklevel=user_stacklevel(),
                )
            raise
    return job


def result_columns(settings: Any, baseline: Baseline | None) -> list[str]:
    """Return the names of the columns added by scoring with these settings.

    >>> from infolm_metric import InfoLMSettings
    >>> result_columns(InfoLMSettings(), Baseline({}))
    ['fisher_rao_distance', 'fisher_rao_distance_rescaled']
    """
    rescaled = [f"{name}_rescaled" for name in settings.names] if baseline else []
    return [*settings.names, *rescaled, *settings.extra_columns]


def check_new_columns(where: str, columns: Collection[str], names: Iterable[str]) -> None:
    """Raise ValueError if the input already has one of the columns to be added."""
    if duplicates := [name for name in names if name in columns]:
        raise ValueError(
            f"{where}: column {duplicates[0]!r} already exists, and the output adds a column with "
            "this name; rename or drop it"
        )


def scored_rows(
    rows: Iterable[Row], columns: Mapping[str, Sequence[float]], start: int = 1
) -> Iterator[dict[str, Any]]:
    """Yield the rows of the input with their numbers and scores.

    >>> list(scored_rows([("line 1", {"id": "a"})], {"toy": [0.5]}))
    [{'pair': 1, 'id': 'a', 'toy': 0.5}]
    """
    scores = zip(*columns.values(), strict=True)
    for number, ((_, row), values) in enumerate(zip(rows, scores, strict=True), start):
        yield {PAIR: number, **row, **dict(zip(columns, values, strict=True))}


def _read(
    source: Source, scorer: Scorer, settings: Any, names: Sequence[str], bar: Any
) -> tuple[str, Counter[int], CorpusStatistics]:
    """Check every row of the input, and count references and document frequencies.

    Returns:
        The digest of all rows, the number of pairs by number of references, and the statistics.
    """
    digest, references, statistics = hashlib.sha256(), Counter[int](), CorpusStatistics()
    for part in batches(bar(source.rows(), desc="reading"), COUNTED):
        pairs = [source.pair(row) for row in part]
        for (where, row), pair in zip(part, pairs, strict=True):
            check_new_columns(where, row, names)
            digest.update(json.dumps([pair, row], default=str).encode() + b"\n")
            references[len(pair[1])] += 1
        statistics += scorer.count(Pairs.of(pairs).texts_by_side, settings)
    if not references:
        raise ValueError(f"{source.name} has no rows; add one row per pair")
    return digest.hexdigest(), references, statistics


def _add(
    sums: Mapping[str, Sequence[float]], columns: Mapping[str, Sequence[float]]
) -> dict[str, Sequence[float]]:
    """Update the sum, minimum and maximum of each column with the scores of a chunk."""
    totals: dict[str, Sequence[float]] = {}
    for name, scores in columns.items():
        total, least, most = sums.get(name, (0.0, math.inf, -math.inf))
        totals[name] = (math.fsum((total, *scores)), min(least, *scores), max(most, *scores))
    return totals


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock the output against other processes."""
    lock = FileLock(f"{path}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(f"another process is writing {path}; wait until it ends") from None
    except (OSError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OSError(
            f"cannot lock {path}: {reason}; choose an output on a file system that supports locks"
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(lock.lock_file)
        lock.release()


def _append(file: FileIO, content: bytes) -> None:
    """Append the content to the file and flush it to the disk."""
    remainder = memoryview(content)
    try:
        while remainder:
            remainder = remainder[file.write(remainder) :]
        os.fsync(file.fileno())
    except OSError as error:
        raise OSError(
            f"cannot write {os.fspath(file.name)}: {error.strerror}; check the free disk space"
        ) from error
