"""Long jobs that survive: scores pairs in chunks, keeps each, and goes on where it was stopped.

Pairs are scored in chunks of a fixed number, each on its own: neither batches nor reuse cross a
chunk. So a job that was killed and taken up again writes, on the same machine, the same bytes as
one that was not. A chunk's rows are written and forced to the disk, then its edge in the journal.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from datasets.utils import tqdm

from infolm_metric.kernel.idf.statistics import CANDIDATES, REFERENCES, Statistics
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.pairs import Pair, Pairs
from infolm_metric.kernel.results import Remarks
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.kernel.settings import Settings
from infolm_metric.running.durable_files import alone, write_durably
from infolm_metric.running.files import PairSource
from infolm_metric.running.journal import (
    Edge,
    Header,
    Journal,
    edge_line,
    header_line,
    journal_path,
    read_journal,
)

CHUNK = 256  # pairs
COUNTED = 4096  # pairs whose documents are counted at a time
FULL, LAST, TORN = "full", "last", "torn"  # chunks: whole, at the end, before a wrong pair
EMPTY = "has no rows; give one row for each pair"
ANEW = "name another output, or begin anew with --restart"


@dataclass(frozen=True)
class JobResult:
    """What a finished job has written: its means by column, and the signature of all scores."""

    pairs: int
    means: dict[str, float]
    signature: str
    resumed: int  # pairs that were there before this run


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

    If a journal lies beside `output`, the job goes on where it was stopped, or with `restart`
    begins anew. Where documents are counted, as with idf "references" or "separate", the source is
    read twice, first to count; the tables are kept beside the output. `progress` shows a bar with
    rate and time left: True, False, or None for terminals only.

    Raises:
        ValueError: a pair cannot be read, and those before it are kept; the job that was begun has
            other settings or another input; or `output` is no job's.
        OSError: the output cannot be written, as where the disk is full; what was written is kept.

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
    path = Path(output)
    with alone(path):
        journal = None if restart else _found(path)
        settings = scorer.settings.replace(verbose=False)
        if "reuse_memory" in settings.choices():  # nothing may cross a chunk
            settings = settings.replace(reuse_memory=0)
        if journal is None:
            for old in (path, *_table_paths(path).values(), journal_path(path)):
                old.unlink(missing_ok=True)
            # Before the model is loaded, because this finds what is wrong with the input.
            statistics, corpus = _count(scorer, source, settings, path, progress)
            header = Header(scorer.signature(), chunk, statistics.fingerprints, corpus)
            write_durably(journal_path(path), 0, header_line(header))
            journal = Journal(header, (len(header_line(header)),))
        else:
            begun = journal.header
            asked = Header(scorer.signature(), chunk, begun.tables, begun.corpus)
            if difference := begun.differences(asked):
                raise ValueError(
                    f"{path} was begun otherwise: {difference}; give the same settings to go on, "
                    f"or {ANEW}"
                )
            statistics = _kept_statistics(path, begun, settings)
            _check_corpus(source, begun, path)
        run = _Run(scorer, source, path, settings, statistics, journal)
        try:
            resumed = run.go(progress)
        finally:
            sum(run.remarks, Remarks()).warn()
        return JobResult(*_means(path), journal.header.signature, resumed)


@dataclass(frozen=True)
class _Run:
    """The second pass of a job: everything is decided, pairs are scored and written."""

    scorer: MetricScorer
    source: PairSource
    path: Path
    settings: Settings
    statistics: Statistics
    journal: Journal
    remarks: list[Remarks] = field(default_factory=list)  # of the chunks scored

    def go(self, progress: bool | None) -> int:
        """Scores and writes what is missing; the number of pairs that were there."""
        size = self.path.stat().st_size if self.path.exists() else 0
        whole = self.journal.upto(size, finished=True).last
        if whole.finished and (whole.pairs, whole.digest) == _digest(self.source):
            write_durably(self.path, whole.size, b"")  # cuts off what does not belong there
            return whole.pairs
        # Where the last chunk was not full, it is scored again: there may be more pairs now.
        kept = self.journal.upto(size, finished=False)
        start, rows, seen = kept.last, self.source.read(), hashlib.sha256()
        for pair in islice(rows, start.pairs):
            seen.update(_bytes(pair))
        if start.pairs and seen.hexdigest() != start.digest:
            raise ValueError(
                f"{self.path} was begun with another input: the first {start.pairs} pairs of "
                f"{self.source.name} are not those that were scored; give the same input, or {ANEW}"
            )
        corpus = kept.header.corpus
        total = corpus[0] if corpus else self.source.count()
        edge, end = start, kept.ends[-1]
        with _bar(progress, total, self.settings.metric, start.pairs) as bar:
            for pairs, kind in _chunks(rows, kept.header.chunk):
                lines = self._lines(pairs, edge.pairs)
                write_durably(self.path, edge.size, lines, edge.pairs)
                bar.update(len(pairs))
                if kind == TORN:
                    continue  # kept for the eye; it is scored again within the whole chunk
                for pair in pairs:
                    seen.update(_bytes(pair))
                pairs_done, size_done = edge.pairs + len(pairs), edge.size + len(lines)
                edge = Edge(pairs_done, size_done, seen.hexdigest(), kind == LAST)
                write_durably(journal_path(self.path), end, edge_line(edge), edge.pairs)
                end += len(edge_line(edge))
        if not edge.pairs:
            raise ValueError(f"{self.source.name} {EMPTY}")
        return start.pairs

    def _lines(self, pairs: Sequence[Pair], before: int) -> bytes:
        """The output for a chunk, before which so many pairs were scored."""
        with self.scorer.lock:
            result = self.scorer.inner.score(Pairs.of(pairs), self.settings, self.statistics)
        self.remarks.append(result.remarks)
        columns = result.columns()
        rows = (
            {"pair": number, **dict(zip(columns, values, strict=True))}
            for number, values in enumerate(zip(*columns.values(), strict=True), before + 1)
        )
        return "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows).encode()


def _found(path: Path) -> Journal | None:
    """The journal of the job that was begun, if any; raises ValueError if `path` is no job's."""
    journal = read_journal(journal_path(path))
    if journal is None and path.exists() and path.stat().st_size:
        raise ValueError(
            f"{path} exists, and there is no job to go on with, since {journal_path(path)} is not "
            f"there; {ANEW}"
        )
    return journal


def _count(
    scorer: MetricScorer, source: PairSource, settings: Settings, path: Path, progress: bool | None
) -> tuple[Statistics, tuple[int, str] | None]:
    """The statistics of all pairs, kept beside the output; and the pairs' number and digest.

    Empty ones, and None, if the settings say to count nothing.
    """
    statistics = Statistics()
    if not settings.counted:
        return statistics, None
    seen, number, rows = hashlib.sha256(), 0, source.read()
    with _bar(progress, source.total, "counting", 0) as bar:
        while part := list(islice(rows, COUNTED)):
            with scorer.lock:
                statistics += scorer.inner.count(Pairs.of(part), settings)
            for pair in part:
                seen.update(_bytes(pair))
            number += len(part)
            bar.update(len(part))
    if not number:
        raise ValueError(f"{source.name} {EMPTY}")
    for side, table in statistics.tables.items():
        table.save(_table_paths(path)[side])
    return statistics, (number, seen.hexdigest())


def _table_paths(path: Path) -> dict[str, Path]:
    """Where the table of each side is kept."""
    return {side: path.with_name(f"{path.name}.{side}.idf") for side in (CANDIDATES, REFERENCES)}


def _kept_statistics(path: Path, header: Header, settings: Settings) -> Statistics:
    """The tables that the job was begun with; raises ValueError if they are no longer there."""
    try:
        paths = _table_paths(path)
        kept = Statistics({side: IDF.load(paths[side]) for side in settings.counted})
        if kept.fingerprints == header.tables:
            return kept
        problem = "they are others"
    except (OSError, ValueError) as error:
        problem = str(error)
    raise ValueError(f"the idf tables that {path} was begun with are not there: {problem}; {ANEW}")


def _check_corpus(source: PairSource, header: Header, path: Path) -> None:
    """Raise ValueError unless the source holds the pairs that were counted, if any."""
    if header.corpus is not None and (now := _digest(source)) != header.corpus:
        raise ValueError(
            f"{path} was begun with another input, whose references were counted: "
            f"{header.corpus[0]} pairs with the digest {header.corpus[1][:12]}, and {source.name} "
            f"holds {now[0]} with {now[1][:12]}; give the same input, or {ANEW}"
        )


def _digest(source: PairSource) -> tuple[int, str]:
    """The number of the source's pairs, and what stands for their texts."""
    seen, number = hashlib.sha256(), 0
    for pair in source.read():
        seen.update(_bytes(pair))
        number += 1
    return number, seen.hexdigest()


def _bytes(pair: Pair) -> bytes:
    return json.dumps(pair).encode() + b"\n"


def _chunks(rows: Iterable[Pair], size: int) -> Iterator[tuple[list[Pair], str]]:
    """The pairs in chunks; those before a wrong one are a chunk of its own, then it raises."""
    pairs: list[Pair] = []
    try:
        for pair in rows:
            pairs.append(pair)
            if len(pairs) == size:
                yield pairs, FULL
                pairs = []
    except (ValueError, TypeError):
        if pairs:
            yield pairs, TORN
        raise
    if pairs:
        yield pairs, LAST


def _means(path: Path) -> tuple[int, dict[str, float]]:
    """The number of pairs in an output, and the mean of each column."""
    sums: Counter[str] = Counter()
    number = 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            number = row.pop("pair")
            for name, value in row.items():
                sums[name] += value
    return number, {name: total / number for name, total in sums.items()}


def _bar(progress: bool | None, total: int | None, title: str, initial: int) -> Any:
    """A bar with rate and time left; `datasets` can switch it off."""
    disabled = None if progress is None else not progress
    return tqdm(total=total, initial=initial, unit="pair", desc=title, disable=disabled)
