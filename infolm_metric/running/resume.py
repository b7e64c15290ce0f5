"""Long jobs that survive: scores pairs in chunks, keeps each, and goes on where it was stopped.

Pairs are scored in chunks of a fixed number, each on its own: neither batches nor reuse cross a
chunk. So a job that was killed and taken up again writes, on the same machine, the same bytes as
one that was not. The rows of a chunk are kept as a shard; the output is joined from all of them.
"""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import count, islice
from pathlib import Path
from typing import Any

from infolm_metric.kernel.baselines import Baseline, NoBaseline
from infolm_metric.kernel.checks import whole_number
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.lines import check_apart, check_regular, write_whole
from infolm_metric.kernel.pairs import Pair, Pairs
from infolm_metric.kernel.progress import bar
from infolm_metric.kernel.rescaling import check_baseline, known_baseline, score_part
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.kernel.settings import Settings
from infolm_metric.kernel.signatures import differences
from infolm_metric.running.files import PairSource, check_again
from infolm_metric.running.shards import DRAFT, SHARD, TABLE, Job, Shard, digest, lock
from infolm_metric.running.totals import RunningMean, Seen

CHUNK = 256  # pairs
COUNTED = 4096  # pairs whose documents are counted at a time
NO_ROWS = "{} has no rows; give one row for each pair"
ANEW = "name another output, or begin anew with --restart"
KEPT, CHANGED, NEW = "kept", "changed", "new"  # shards as they were found
STOPS = (KeyboardInterrupt, OSError, TypeError, ValueError)


@dataclass(frozen=True)
class JobResult:
    """What a finished job has written: its means by column, and the signature of all scores."""

    pairs: int
    means: dict[str, float]
    signature: str
    resumed: int = 0  # pairs that were there before this run
    baseline: Mapping[str, Mapping[str, Any]] | None = None
    """What unrelated texts score, by name, where it is known."""
    judged: bool = True
    """False if the model had too little that it can read."""


def run_job(
    scorer: MetricScorer,
    source: PairSource,
    output: str | os.PathLike[str],
    *,
    chunk: int = CHUNK,
    restart: bool = False,
    progress: bool | None = None,
) -> JobResult:
    """What the job has written, once it is finished: a JSON object for each pair, a line each.

    If a job was begun in the folder `output`.shards, it goes on where it was stopped. Rows that
    were changed since, there or in the output, are made good, with a warning. A finished job loads
    no model. Where documents are counted, as with idf "references" or "separate", or a baseline has
    to fit the pairs of files, the source is read twice, first to count.

    Args:
        scorer: the metric, with its settings.
        source: the pairs.
        output: the file to write.
        chunk: pairs that are scored, and kept on the disk, at a time.
        restart: True to begin anew.
        progress: a bar with rate and time left: True, False, or None for terminals only.

    Raises:
        TypeError, ValueError: a pair cannot be read, or only once; the job that was begun has
            other settings or another input; `output` is no job's, or is read; `chunk` is no whole
            number of at least 1.
        OSError: something cannot be written, as where the disk is full.
        KeyboardInterrupt: as any of these, it says how many pairs are kept.

    >>> import tempfile
    >>> from infolm_metric import InfoLMScorer
    >>> source = PairSource("two", lambda: iter([("a cat", ["a cat"]), ("a dog", ["a dog"])]))
    >>> scorer = InfoLMScorer(model_name_or_path="bundled")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = run_job(scorer, source, folder + "/scores.jsonl", progress=False)
    ...     print(Path(folder, "scores.jsonl").read_text(), end="")
    {"pair": 1, "fisher_rao_distance": 0.0}
    {"pair": 2, "fisher_rao_distance": 0.0}
    >>> result.pairs, result.means
    (2, {'fisher_rao_distance': 0.0})
    """
    whole_number("chunk", chunk)
    check_regular(output)
    path = Path(output)
    if path.is_symlink():  # the link stays, and the shards lie where there is room for the output
        path = path.resolve()
    check_again(source.files)
    check_apart(path, source.files)
    folder = path.with_name(f"{path.name}.shards")
    if not restart and not Job.begun(folder) and path.exists() and path.stat().st_size:
        raise ValueError(f"{path} exists, and there is no job to go on with in {folder}; {ANEW}")
    settings = scorer.settings.replace(verbose=False)
    if "reuse_memory" in settings.choices():  # nothing may cross a chunk
        settings = settings.replace(reuse_memory=0)
    signature = scorer.signature()
    seen = Seen()

    def score(pairs: list[Pair], first: int) -> Shard:
        with scorer.lock:
            result = score_part(scorer.inner, Pairs.of(pairs), settings, statistics)
        if found := differences(told, result.signature):
            raise OSError(f"the model's files changed while the job was at work: {found}; {ANEW}")
        columns = result.columns()
        rows = enumerate(zip(*columns.values(), strict=True), first)
        named = ({"pair": number, **dict(zip(columns, row, strict=True))} for number, row in rows)
        lines = "".join(json.dumps(row, allow_nan=False) + "\n" for row in named)
        return Shard(digest(pairs), lines.encode(), result.remarks)

    with lock(folder):
        job = None if restart else Job.begun(folder)
        if job:
            asked = replace(job, signature=signature, chunk=chunk)
            statistics = _take_up(folder, job, asked, settings.counted, source)
        else:
            # Before the model is loaded, because this finds what is wrong with the input.
            statistics, corpus, counts = _count(scorer, source, settings, progress)
            check_baseline(scorer.inner, settings, statistics, counts)
            job = Job(signature, chunk, statistics.fingerprints, corpus)
            if path.exists():  # emptied, so that its mode and its links stay
                os.truncate(path, 0)
            job.begin(folder, statistics)
        told = scorer.inner.signature(settings, statistics)
        try:
            with bar(progress, total=source.count(), unit="pair", desc=settings.metric) as shown:
                shards = _shards(source, folder, chunk, score, seen)
                result = _join(path, folder, told, shards, shown)
            known = known_baseline(scorer.inner, settings, statistics, seen.counts)
            return replace(result, baseline=known, judged=seen.remarks.judged)
        except NoBaseline:  # nor would it fit if the job went on
            raise
        except STOPS as stop:
            kept = sum(len(Shard.read(file) or ()) for file in folder.glob("*.rows"))
            raise next(kind for kind in STOPS if isinstance(stop, kind))(
                f"{str(stop) or 'interrupted'}; {kept} pairs are kept in {folder}, from where the "
                "same command goes on"
            ) from stop
        finally:
            seen.remarks.warn()


def _shards(
    source: PairSource,
    folder: Path,
    chunk: int,
    score: Callable[[list[Pair], int], Shard],
    seen: Seen,
) -> Iterator[tuple[Path, Shard, str]]:
    """Where the shard of each chunk is, the shard, scored unless it was there, and if it was.

    `seen` is told what there is to remark, and how many references each pair has.
    """
    rows = source.read()
    for first in count(1, chunk):
        pairs, file = list(islice(rows, chunk)), folder / SHARD.format(first)
        state = CHANGED if file.exists() else NEW
        if shard := Shard.read(file):
            if digest(pairs[: len(shard)]) != shard.pairs:
                span = f"{first} to {first + len(shard) - 1}"
                raise ValueError(
                    f"{folder} was begun with another input: pairs {span} of {source.name} are not "
                    f"those that were scored; give the same input, or {ANEW}"
                )
            # Where the input has grown, the last shard, too, is another.
            state = KEPT if len(shard) == len(pairs) else NEW
        if not pairs and first == 1:
            raise ValueError(NO_ROWS.format(source.name))
        if not pairs:
            break
        if not shard or state == NEW:
            shard = score(pairs, first)
            shard.write(file)
        seen.add(shard.remarks, Counter(len(references) for _, references in pairs))
        yield file, shard, state


def _join(
    path: Path, folder: Path, signature: str, shards: Iterable[tuple[Path, Shard, str]], shown: Any
) -> JobResult:
    """Write the output from the shards, unless it is there as it should be."""
    means: defaultdict[str, RunningMean] = defaultdict(RunningMean)
    files, pairs, resumed = list[Path](), 0, 0
    scored, written = list[range](), list[range]()  # pairs that were changed
    same = path.exists()
    try:
        with path.open("rb") if same else BytesIO() as output:
            for file, shard, state in shards:
                lines = shard.rows.splitlines(keepends=True)
                there = list(islice(output, len(lines)))
                same = same and there == lines
                here = range(pairs + 1, pairs + len(lines) + 1)
                if state == CHANGED:
                    scored.append(here)
                elif there != lines[: len(there)]:  # one of fewer pairs is only an older output
                    written.append(here)
                for row in map(json.loads, lines):
                    del row["pair"]
                    for name, value in row.items():
                        means[name].add([value])
                files.append(file)
                pairs += len(lines)
                resumed += len(lines) if state == KEPT else 0
                shown.update(len(lines))
            same = same and not output.read(1)
    finally:
        _warn(scored, folder, "scored")
        _warn(written, path, "written")
    if not same:
        write_whole(path, (file.read_bytes().partition(b"\n")[2] for file in files), folder / DRAFT)
    return JobResult(pairs, {name: each.value for name, each in means.items()}, signature, resumed)


def _warn(changed: list[range], where: Path, done: str) -> None:
    """Warn of pairs whose rows were changed, consecutive ones together."""
    spans: list[range] = []
    for span in changed:
        start = spans.pop().start if spans and spans[-1].stop == span.start else span.start
        spans.append(range(start, span.stop))
    if spans:
        named = ", ".join(f"{span.start} to {span.stop - 1}" for span in spans)
        message = f"pairs {named} of {where} were changed since they were written; they are {done}"
        warnings.warn(f"infolm: {message} again", stacklevel=4)


def _count(
    scorer: MetricScorer, source: PairSource, settings: Settings, progress: bool | None
) -> tuple[Statistics, str | None, set[int]]:
    """The statistics of all pairs, their digest, and how many references they have.

    Where nothing is counted, no statistics and no digest; and unless a baseline has to fit the
    pairs of files, only how many the first pair has.
    """
    rows = source.read()
    first = next(rows, None)
    if first is None:
        raise ValueError(NO_ROWS.format(source.name))
    if (again := source.read()) is rows or next(again, None) != first:
        raise ValueError(
            f"{source.name} is not read from its first pair again; `read` must give a new iterator "
            "over all pairs each time"
        )
    statistics, seen = Statistics(), {len(first[1])}
    if not settings.counted:
        fitted = isinstance(settings.rescale_with_baseline, Baseline) and source.files
        seen.update(len(references) for _, references in (source.read() if fitted else ()))
        return statistics, None, seen

    def counted() -> Iterator[Pair]:
        nonlocal statistics
        rows = source.read()
        while part := list(islice(rows, COUNTED)):
            with scorer.lock:
                statistics += scorer.inner.count(Pairs.of(part), settings)
            seen.update(len(references) for _, references in part)
            shown.update(len(part))
            yield from part

    with bar(progress, total=source.total, unit="pair", desc="counting") as shown:
        corpus = digest(counted())
    return statistics, corpus, seen


def _take_up(
    folder: Path, job: Job, asked: Job, sides: Iterable[str], source: PairSource
) -> Statistics:
    """The statistics that the job was begun with; ValueError if another one is asked for now."""
    then, now = (f"{each.signature}|pairs in a chunk:{each.chunk}" for each in (job, asked))
    if found := differences(then, now):
        raise ValueError(
            f"{folder} was begun otherwise: {found}; give the same settings to go on, or {ANEW}"
        )
    try:
        statistics = Statistics({side: IDF.load(folder / TABLE.format(side)) for side in sides})
        found = "" if statistics.fingerprints == job.tables else "they are others"
    except (OSError, ValueError) as error:
        found = str(error)
    if found:
        raise ValueError(f"the idf tables of {folder} are not those of its job: {found}; {ANEW}")
    if job.corpus and (read := digest(source.read())) != job.corpus:
        raise ValueError(
            f"{folder} was begun with another input, whose texts were counted: their number and "
            f"digest were {job.corpus[:20]}, and those of {source.name} are {read[:20]}; give the "
            f"same input, or {ANEW}"
        )
    return statistics
