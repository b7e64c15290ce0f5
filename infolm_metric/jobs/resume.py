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
from collections import Counter, defaultdict
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

from infolm_metric.core.baselines import Baseline, baseline_of
from infolm_metric.core.files import check_exists, check_writable, put_in_place, write_text
from infolm_metric.core.idf import Statistics
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import Result, add_counts, differences, user_stacklevel, warn
from infolm_metric.core.scorer import Scorer, sign_baseline
from infolm_metric.core.settings import ModelSettings
from infolm_metric.core.tables import Row, Source

CHUNK = 256  # pairs
COUNTED = 1024  # pairs whose document frequencies are counted at a time
PAIR = "pair"
"""Column of a pair's number."""
RESTART = "name another output, or start again with --restart"


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
    warnings are counted. `sums` holds the sum, minimum and maximum of each column of scores.
    """

    signature: str
    digest: str
    rows: int
    done: int = 0
    size: int = 0
    sums: Mapping[str, Sequence[float]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> _Job | None:
        """The job that a file records; None if there is no file."""
        try:
            return cls(**json.loads(file.read_bytes())) if file.exists() else None
        except (TypeError, ValueError):
            raise ValueError(f"{file} is not a job record of this version; {RESTART}") from None

    def write(self, file: Path) -> None:
        """Record the job, in the place of what was recorded before."""
        write_text(file, json.dumps(vars(self)) + "\n")

    def check(self, job: _Job, output: str | os.PathLike[str]) -> None:
        """Raise ValueError with what is different if this is not the job that is asked for."""
        if changes := differences(self.signature, job.signature):
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
) -> JobResult:
    """What the job has written, once it is finished: a JSON object for each pair, a line each.

    It holds the pair's number, the columns of its input, and its scores. A job that was begun goes
    on where it was stopped, and one that is finished loads no model. The input is read twice: to
    check and count it, and to score it.

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
    check_exists(source.files, again=True)
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
            raise ValueError(f"{output} is there, and no job has written it; {RESTART}")
        names = [PAIR, *result_columns(scorer, settings, baseline)]
        digest, references, statistics = _read(source, scorer, settings, names, bar)
        rows = sum(references.values())
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
        return JobResult(rows, job.means(), signature, job.counts, stats, resumed)


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


def result_columns(scorer: Scorer, settings: Any, baseline: Baseline | None) -> list[str]:
    """Return the names of the columns that scoring with these settings adds; loads no model.

    >>> from infolm_metric import InfoLMScorer
    >>> scorer = InfoLMScorer()
    >>> result_columns(scorer, scorer.settings, Baseline({}))
    ['fisher_rao_distance', 'fisher_rao_distance_rescaled']
    """
    empty: dict[str, list[float]] = {name: [] for name in settings.names}
    extra, rescaled = scorer.extra(defaultdict(list), settings), empty if baseline else {}
    return list(Result("", empty, "", False, rescaled=rescaled, extra=extra).columns())


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
    """Each row of the input with its number and its scores.

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
) -> tuple[str, Counter[int], Statistics]:
    """Read the input once: check every row and count references and document frequencies.

    Returns:
        The digest of all rows, the number of pairs by number of references, and the statistics.
    """
    digest, references, statistics = hashlib.sha256(), Counter[int](), Statistics()
    rows = iter(bar(source.rows(), desc="reading"))
    while part := list(islice(rows, COUNTED)):
        pairs = [source.pair(row) for row in part]
        for (where, row), pair in zip(part, pairs, strict=True):
            check_new_columns(where, row, names)
            digest.update(json.dumps([pair, row], default=str).encode() + b"\n")
            references[len(pair[1])] += 1
        statistics += scorer.count(pairs, settings)
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
