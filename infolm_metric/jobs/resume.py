"""Resumable jobs: pairs are scored in chunks, and an interrupted job resumes after the last chunk.

OUTPUT.part holds the rows of complete chunks, and OUTPUT.job the record of the job. To resume, rows
after the last complete chunk are dropped, and the pairs of all complete chunks are skipped. At the
end OUTPUT.part is renamed to OUTPUT. Batches and cached encodings do not cross chunks, so that a
resumed job writes bitwise the same output, on the same machine, as an uninterrupted one.
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

from infolm_metric.core.baselines import Baseline, most_frequent, resolve_baseline
from infolm_metric.core.files import check_exists, check_writable, put_in_place, write_text
from infolm_metric.core.idf import CorpusStatistics, batches
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import Result, Summary, add_counts, user_stacklevel, warn
from infolm_metric.core.scorer import Scorer
from infolm_metric.core.signature import Signature
from infolm_metric.core.tables import Row, Source

CHUNK = 256  # pairs
COUNTED = 1024  # pairs whose document frequencies are counted at a time
PAIR = "pair"
"""Column of a pair's number."""
RESTART = "name another output, or start again with --restart"


@dataclass(frozen=True)
class JobRecord:
    """Content of OUTPUT.job: the identity of a job and its progress.

    Attributes:
        signature: signature of the scores.
        digest: hash of all rows of the input.
        rows: number of rows of the input.
        done: number of rows that are written.
        size: their bytes.
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
        """Read the record in a file; return None if there is no file."""
        try:
            if not file.exists():
                return None
            record = json.loads(file.read_bytes())
            return cls(Signature.parse(record.pop("signature")), **record)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ValueError(f"{file} is not a job record of this version; {RESTART}") from None

    def write(self, file: Path) -> None:
        """Replace the record in a file by this one."""
        write_text(file, json.dumps(vars(self)) + "\n")

    def check(self, job: JobRecord, output: str | os.PathLike[str]) -> None:
        """Raise ValueError with the differences if the requested job is another one."""
        if changes := self.signature.differences(job.signature):
            raise ValueError(
                f"{output} was begun otherwise: {changes}; give the same, or {RESTART}"
            )
        if (self.rows, self.digest) != (job.rows, job.digest):
            raise ValueError(
                f"{output} was begun with another input: it had {self.rows} rows (digest "
                f"{self.digest[:12]}), and has {job.rows} now ({job.digest[:12]}); give the "
                f"same, or {RESTART}"
            )

    def means(self) -> dict[str, float]:
        """Return the mean of each column, clipped to its range because sums are rounded."""
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
    """Write a line of JSON per pair: its number, the columns of the input and its scores.

    An interrupted job is resumed, and a finished job returns its summary without loading a model.
    The input is read twice: to check and count it, and to score it.

    Args:
        scorer: the metric, with its settings.
        source: the pairs.
        output: the file to write.
        rescale_with_baseline: as for `Scorer.score`.
        restart: start again, even if there is a job.
        verbose: show progress.
        chunk: number of pairs that are scored and written together.

    Returns:
        The summary of all scores.

    Raises:
        TypeError, ValueError: a row is wrong, or the input can be read only once; the job has other
            settings or another input, or is running elsewhere; a job did not write `output`.
        OSError: the output cannot be written; the complete chunks are kept.

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
    check_exists(source.files, again=True)
    check_writable(output, source.files)
    path = Path(os.path.realpath(output))  # a link is kept, and the part is on the target's disk
    part, record = Path(f"{path}.part"), Path(f"{path}.job")
    settings = scorer.settings.without_reuse()  # nothing may cross a chunk
    baseline = resolve_baseline(settings.metric, rescale_with_baseline)
    bar = partial(tqdm, unit="pair", disable=not verbose)
    with _locked(path):
        job = None if restart else JobRecord.read(record)
        if job and not part.exists() and not path.exists():
            job = None  # its rows were moved away
        if path.exists() and not (path.is_file() and (job or restart or not path.stat().st_size)):
            raise ValueError(f"{output} is there, and no job has written it; {RESTART}")
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
            put_in_place(part, path)
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
    """Score the remaining rows in chunks that are flushed one by one; return the final record."""
    part, record = Path(f"{path}.part"), Path(f"{path}.job")
    remaining_rows = islice(source.rows(), job.done, None)
    with open(part, "ab", buffering=0) as file:
        if path.exists():
            shutil.copymode(path, part)
        if file.seek(0, os.SEEK_END) < job.size:
            raise ValueError(f"{part} holds less than was written to it; {RESTART}")
        file.truncate(job.size)
        try:
            while rows := list(islice(remaining_rows, chunk)):
                result = score(rows)
                columns = result.columns()
                scored = scored_rows(rows, columns, job.done + 1)
                lines = "".join(f"{json_line(row)}\n" for row in scored).encode()
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
                    f"infolm: {job.done} of {job.rows} pairs are kept in {part}, from where the "
                    "same command goes on",
                    stacklevel=user_stacklevel(),
                )
            raise
    return job


def result_columns(settings: Any, baseline: Baseline | None) -> list[str]:
    """Return the names of the columns that scoring with these settings adds.

    >>> from infolm_metric import InfoLMSettings
    >>> result_columns(InfoLMSettings(), Baseline({}))
    ['fisher_rao_distance', 'fisher_rao_distance_rescaled']
    """
    rescaled = [f"{name}_rescaled" for name in settings.names] if baseline else []
    return [*settings.names, *rescaled, *settings.extra_columns]


def check_new_columns(where: str, columns: Collection[str], names: Iterable[str]) -> None:
    """Raise ValueError if the input has one of the columns that will be added."""
    if duplicates := [name for name in names if name in columns]:
        raise ValueError(
            f"{where}: there is a column {duplicates[0]!r} already; rename or drop it, because "
            "the result has a column of this name"
        )


def scored_rows(
    rows: Iterable[Row], columns: Mapping[str, Sequence[float]], start: int = 1
) -> Iterator[dict[str, Any]]:
    """Yield each row of the input with its number and its scores.

    >>> list(scored_rows([("line 1", {"id": "a"})], {"toy": [0.5]}))
    [{'pair': 1, 'id': 'a', 'toy': 0.5}]
    """
    scores = zip(*columns.values(), strict=True)
    for number, ((_, row), values) in enumerate(zip(rows, scores, strict=True), start):
        yield {PAIR: number, **row, **dict(zip(columns, values, strict=True))}


def json_line(value: Any) -> str:
    r"""Return a value as one line of JSON: null for NaN and infinity, other objects as strings.

    >>> json_line({"text": "café \ud800", "human": {"fluency": math.nan}})
    '{"text": "café \\ud800", "human": {"fluency": null}}'
    """
    line = json.dumps(finite(value), ensure_ascii=False, allow_nan=False, default=str)
    return line.encode(errors="backslashreplace").decode()  # a lone surrogate becomes an escape


def finite(value: Any) -> Any:
    """Return a value with None for NaN and infinity at every depth, because JSON has neither."""
    if isinstance(value, Mapping):
        return {name: finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _read(
    source: Source, scorer: Scorer, settings: Any, names: Sequence[str], bar: Any
) -> tuple[str, Counter[int], CorpusStatistics]:
    """Read the input once: check every row and count references and document frequencies.

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
        raise ValueError(f"{source.name} has no rows; give one row for each pair")
    return digest.hexdigest(), references, statistics


def _add(
    sums: Mapping[str, Sequence[float]], columns: Mapping[str, Sequence[float]]
) -> dict[str, Sequence[float]]:
    """Return the sum, minimum and maximum of each column with the scores of one more chunk."""
    totals: dict[str, Sequence[float]] = {}
    for name, scores in columns.items():
        total, least, most = sums.get(name, (0.0, math.inf, -math.inf))
        totals[name] = (math.fsum((total, *scores)), min(least, *scores), max(most, *scores))
    return totals


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Prevent other processes from writing to the same output."""
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
    """Append the content to the file, and flush it to the disk."""
    remainder = memoryview(content)
    try:
        while remainder:
            remainder = remainder[file.write(remainder) :]
        os.fsync(file.fileno())
    except OSError as error:
        raise OSError(
            f"cannot write {os.fspath(file.name)}: {error.strerror}; see that it has room"
        ) from error
