"""Scoring on a Ray cluster: a `ray.data.Dataset` of pairs in, the same with scores out.

Ray schedules everything: blocks stream through actors, each of which holds a scorer, as many as
the cluster has room for. Where documents are counted, tasks count blocks, and their counts are
added up as they come in, before any pair is scored. Needs the extra `ray`.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow
import pyarrow.compute
import pyarrow.dataset
import ray

from infolm_metric import metrics
from infolm_metric.core.baselines import Baseline, baseline_of
from infolm_metric.core.files import check_exists
from infolm_metric.core.idf import Statistics
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import add_counts, differences, warn
from infolm_metric.core.scorer import Scorer, sign_baseline
from infolm_metric.core.tables import parse_pair, row_type
from infolm_metric.jobs.resume import JobResult, check_new_columns, result_columns

if TYPE_CHECKING:
    from ray.data import Dataset

BATCH = 256  # pairs that an actor scores at a time
COUNTED = 4096  # pairs that a task counts at a time
READERS = {".parquet": "read_parquet", ".jsonl": "read_json"}
"""How `ray.data` reads a file, or a folder of files, by the end of its name."""


def score_dataset(
    dataset: Dataset,
    *,
    metric: str = metrics.DEFAULT,
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
    source_column: str | None = None,
    workers: int | None = None,
    batch: int = BATCH,
    rescale_with_baseline: Any = False,
    **settings: Any,
) -> Dataset:
    """The data set with a column for each score of a pair: lazily, block by block.

    Scores equal those of one process that is given all the pairs. Where documents are counted, as
    with idf "references" or "separate", the data set is read twice; the first time, to count,
    happens in this call. Workers warn of their batches, into their own logs.

    Args:
        dataset: pairs, with a column of candidates, and columns of references, each a text or a
            list of texts.
        metric: the metric's name.
        candidate_column: the name of the column of candidates; by default "prediction" or
            "candidate".
        reference_columns: the names of those of references; by default "references" or
            "reference".
        source_column: the name of a column of sources in place of references, for a metric that
            takes sources.
        workers: how many actors at most; by default as many as the cluster offers, one for each
            GPU, or without GPUs (or with device="cpu") one for each CPU.
        batch: pairs scored at a time.
        rescale_with_baseline: as for `Scorer.score`.
        **settings: those of the metric.

    Raises:
        TypeError, ValueError: a setting is wrong, or a column would be overwritten; what is wrong
            with a row, or with a worker that would score otherwise than this process, is raised,
            wrapped by Ray, as soon as it is met.
        OSError: the model is not there.
    """
    scorer = metrics.find(metric).scorer_type()(**settings)
    columns = Columns.of(scorer, candidate_column, reference_columns, source_column)
    baseline = baseline_of(metric, rescale_with_baseline)
    return _scored(dataset, scorer, columns, workers, batch, baseline)[0]


def score_files(
    source: Any,
    output: str,
    scorer: Scorer,
    *,
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
    source_column: str | None = None,
    workers: int | None = None,
    rescale_with_baseline: Any = False,
) -> JobResult:
    """What was written: a folder of Parquet files, one or more of each worker.

    `source` is a data set of `datasets`, or the path of a file or a folder that the cluster reads;
    `output` names a folder that is not there yet. The other arguments are those of `score_dataset`.
    What there is to warn of is warned of here, once.
    """
    check_output(output)
    dataset = _open_files(source) if isinstance(source, str) else ray.data.from_huggingface(source)
    output = os.path.abspath(output)  # workers have other working folders
    baseline = baseline_of(scorer.settings.metric, rescale_with_baseline)
    type_of_rows = dict if isinstance(source, str) else row_type(source)
    names = candidate_column, reference_columns, source_column
    columns = Columns.of(scorer, *names, type_of_rows=type_of_rows)
    try:
        totals: Any = ray.remote(num_cpus=0)(_Totals).remote()
        scores, statistics = _scored(dataset, scorer, columns, workers, BATCH, baseline, totals)
        scores.write_parquet(output)
        counts, references = ray.get(totals.read.remote())
    except ray.exceptions.RayError as error:
        raise _own_error(error) from error
    parquet = pyarrow.dataset.dataset(output, format="parquet")
    names = parquet.schema.names  # scores, and other views of them, come after the source's
    names = names[names.index(scorer.settings.names[0]) :]
    rows, sums = 0, dict.fromkeys(names, 0.0)
    for part in parquet.to_batches(columns=names):
        rows += len(part)
        for name in names:
            sums[name] += pyarrow.compute.sum(part[name]).as_py() or 0.0
    warn(counts, scorer.sentences)
    signature = scorer.signature(scorer.settings, statistics, columns.against_sources)
    return JobResult(
        rows,
        {name: total / rows for name, total in sums.items()},
        sign_baseline(signature, baseline) if baseline else signature,
        counts,
        scorer.known_baseline(scorer.settings, statistics, references, baseline),
    )


def check_output(output: str) -> None:
    """Raise ValueError unless the name is that of a folder of Parquet files that can be made."""
    if Path(output).suffix.lower() != ".parquet":
        raise ValueError(
            f"with --engine ray the output is a folder whose name ends in .parquet, got {output!r}"
        )
    if Path(output).exists():  # Ray would add its files to those there
        raise ValueError(f"{output} is there; name a folder that is not there yet")


def _open_files(path: str) -> Dataset:
    """The rows of a file, or of a folder of files, of Parquet or JSON Lines; read by the cluster.

    A folder's name ends like that of a file, or else it holds Parquet files.
    """
    suffix = Path(path).suffix.lower() or (".parquet" if Path(path).is_dir() else "")
    if suffix not in READERS:
        raise ValueError(
            f"with --engine ray tables are {', '.join(READERS)}, or folders of them, got {path!r}; "
            "convert it, or score it without --engine ray"
        )
    check_exists([path], again=True)
    read = getattr(ray.data, READERS[suffix])
    return read(os.path.abspath(path))  # workers have other working folders


def start(verbose: bool = False) -> None:
    """Join the cluster that RAY_ADDRESS names, or start one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    context = ray.data.DataContext.get_current()  # data sets take it over when they are made
    context.enable_progress_bars = verbose
    context.execution_options.preserve_order = True
    context.raise_original_map_exception = True
    # Its own account of an error fills pages; what is wrong is raised as well.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)


class Columns(NamedTuple):
    """Names of the column of candidates and of the columns of references or sources."""

    candidate: str | None
    references: tuple[str, ...]
    against_sources: bool
    type_of_rows: type[dict[str, Any]]

    @classmethod
    def of(
        cls,
        scorer: Scorer,
        candidate: str | None,
        references: Sequence[str],
        source: str | None,
        type_of_rows: type[dict[str, Any]] = dict,
    ) -> Columns:
        """Check that one of references and sources is named, and that the metric takes it."""
        columns = scorer.references_or_sources(tuple(references) or None, source and (source,))
        return cls(candidate, columns or (), source is not None, type_of_rows)


def _scored(
    dataset: Dataset,
    scorer: Scorer,
    columns: Columns,
    workers: int | None,
    batch: int,
    baseline: Baseline | None,
    totals: Any = None,
) -> tuple[Dataset, Statistics]:
    """The data set with its scores, and the statistics of its pairs.

    The scorer is sent to the workers as its class and settings, and with it the actor `totals`,
    which they tell what they would warn of otherwise.
    """
    names = result_columns(scorer, scorer.settings, baseline)
    check_new_columns("the data set", dataset.columns() or (), names)
    statistics = _count(dataset, scorer, columns)
    if baseline:
        scorer.baseline_stats(scorer.settings, statistics, baseline)
    device = getattr(scorer.settings, "device", None) or ""
    gpu = bool(ray.cluster_resources().get("GPU")) and not device.startswith("cpu")
    worker = (scorer, scorer.signature(), statistics, columns, baseline, totals)
    scored_dataset = dataset.map_batches(
        _Worker,
        fn_constructor_args=worker,
        batch_size=batch,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers),
        num_cpus=None if gpu else 1,
        num_gpus=1 if gpu else None,
        udf_modifying_row_count=False,
    )
    return scored_dataset, statistics


def _count(dataset: Dataset, scorer: Scorer, columns: Columns) -> Statistics:
    """The statistics of a data set, of the sides that the scorer's settings say to count."""
    if not scorer.settings.counted:
        return Statistics()
    counts = dataset.map_batches(
        partial(_count_batch, scorer=scorer, columns=columns),
        batch_size=COUNTED,
        batch_format="pyarrow",
        num_cpus=1,
    )
    # Not by Ray's aggregation, whose actors take longer to start than this takes to add.
    rows = counts.iter_rows()
    statistics = sum((pickle.loads(row["counts"]) for row in rows), Statistics())
    if not statistics.tables:
        raise ValueError("the data set has no rows; give one row for each pair")
    return statistics


def _count_batch(rows: pyarrow.Table, scorer: Scorer, columns: Columns) -> dict[str, list[bytes]]:
    """One row: the statistics of a batch."""
    return {"counts": [pickle.dumps(scorer.count(_pairs(rows, columns), scorer.settings))]}


@dataclass
class _Worker:
    """An actor: holds the scorer, and adds scores to batches of rows."""

    scorer: Scorer
    signature: str
    statistics: Statistics
    columns: Columns
    baseline: Baseline | None
    totals: Any

    def __call__(self, rows: pyarrow.Table) -> pyarrow.Table:
        # Here, because Ray does not give back what is raised where an actor is made.
        if difference := differences(self.signature, self.scorer.signature()):
            raise ValueError(
                f"a worker would score otherwise than the driver: {difference}; give all workers "
                "the same model and versions"
            )
        pairs = _pairs(rows, self.columns)
        settings = self.scorer.settings
        result = self.scorer.score_part(pairs, settings, self.statistics, self.baseline)
        scores = result.columns()
        check_new_columns("the data set", rows.column_names, scores)
        if self.totals is None:
            warn(result.counts, self.scorer.sentences)
        else:  # told before the worker ends
            ray.get(self.totals.add.remote(result.counts, Counter(pairs.counts)))
        for name, column in scores.items():
            rows = rows.append_column(name, pyarrow.array(column, pyarrow.float64()))
        return rows


class _Totals:
    """An actor beside the workers: warnings, and how many pairs have how many references.

    A batch that Ray scores again, because a machine was lost, counts again.
    """

    def __init__(self) -> None:
        self.counts, self.references = Counter[str](), Counter[int]()

    def add(self, counts: Mapping[str, int], references: Counter[int]) -> None:
        """Take in a batch."""
        self.counts = add_counts([self.counts, counts])
        self.references += references

    def read(self) -> tuple[Counter[str], Counter[int]]:
        """All of it."""
        return self.counts, self.references


def _pairs(rows: pyarrow.Table, columns: Columns) -> Pairs:
    """The checked pairs of a batch."""
    candidate, references, against_sources, type_of_rows = columns
    pairs = (
        parse_pair(
            f"row {number} of a batch of {len(rows)}", type_of_rows(row), candidate, references
        )
        for number, row in enumerate(rows.to_pylist(), 1)
    )
    return Pairs.of(pairs, against_sources)


def _own_error(error: BaseException) -> BaseException:
    """The error of ours that Ray has wrapped, if it is one, as what it was."""
    inner: BaseException | None = error
    while inner is not None:
        if type(inner) in (ValueError, TypeError, OSError):
            return type(inner)(str(inner))
        inner = getattr(inner, "cause", None) or inner.__cause__
    return error
