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
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow
import pyarrow.dataset
import ray

from infolm_metric import metrics
from infolm_metric.kernel import text_files
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.rescaling import check_baseline, known_baseline, score_part
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.kernel.settings import Settings
from infolm_metric.kernel.signatures import differences
from infolm_metric.running.ray_tables import find_writer
from infolm_metric.running.resume import JobResult
from infolm_metric.running.totals import RunningMean, Seen

if TYPE_CHECKING:
    from ray.data import Dataset

BATCH = 256  # pairs that an actor scores at a time
COUNTED = 4096  # pairs that a task counts at a time
COUNTS = "counts"


def score_dataset(
    dataset: Dataset,
    *,
    metric: str = metrics.DEFAULT,
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
    workers: int | None = None,
    batch: int = BATCH,
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
        workers: how many actors at most; by default as many as the cluster offers, one for each
            GPU, or without GPUs (or with device="cpu") one for each CPU.
        batch: pairs scored at a time.
        **settings: those of the metric.

    Raises:
        TypeError, ValueError: a setting is wrong, or a column would be overwritten; what is wrong
            with a row, or with a worker that would score otherwise than this process, is raised,
            wrapped by Ray, as soon as it is met.
        OSError: the model is not there.
    """
    scorer = metrics.find(metric).scorer_type()(**settings)
    return _scored(dataset, scorer, candidate_column, reference_columns, workers, batch)[0]


def score_files(
    source: Dataset, output: str, *, metric: str, settings: Settings, **options: Any
) -> JobResult:
    """What was written: a folder of rows.

    `output` ends in .parquet or .jsonl, and names a folder that is not there yet: each worker
    writes files of its own into it. `options` are the other arguments of `score_dataset`. What
    there is to warn of is warned of here, once.
    """
    write, form = find_writer(output)
    output = os.path.abspath(output)  # workers have other working folders
    scorer = metrics.find(metric).scorer_type().of(settings)
    try:
        seen: Any = ray.remote(num_cpus=0)(Seen).remote()
        scored, statistics = _scored(source, scorer, **options, seen=seen)
        write(scored, output)
        remarks, counts = ray.get(seen.all.remote())
    except ray.exceptions.RayError as error:
        raise _own_error(error) from error
    written = pyarrow.dataset.dataset(output, format=form)
    # The scores, and other views of them, come after the columns of the source.
    names = written.schema.names[written.schema.names.index(settings.names[0]) :]
    columns, pairs = {name: RunningMean() for name in names}, 0
    for rows in written.to_batches(columns=names):
        pairs += len(rows)
        for name, column in columns.items():
            column.add(rows[name].to_pylist())
    means = {name: column.value for name, column in columns.items()}
    remarks.warn()
    return JobResult(
        pairs,
        means,
        scorer.inner.signature(scorer.settings, statistics),
        baseline=known_baseline(scorer.inner, scorer.settings, statistics, counts),
        judged=remarks.judged,
    )


def _scored(
    dataset: Dataset,
    scorer: MetricScorer,
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
    workers: int | None = None,
    batch: int = BATCH,
    seen: Any = None,
) -> tuple[Dataset, Statistics]:
    """What `score_dataset` gives, and the statistics of its pairs.

    The scorer is sent to the workers as its class and settings, and with it `seen`, which they tell
    what they would warn of otherwise.
    """
    pair_of = partial(
        text_files.pair_of,
        candidate_column=candidate_column,
        reference_columns=tuple(reference_columns),
    )
    _check_new(scorer.settings.names, dataset.columns() or ())
    statistics = count_dataset(dataset, pair_of, scorer)
    check_baseline(scorer.inner, scorer.settings, statistics)
    device = getattr(scorer.settings, "device", None) or ""
    gpu = bool(ray.cluster_resources().get("GPU")) and not device.startswith("cpu")
    scored = dataset.map_batches(
        _Worker,
        fn_constructor_args=(scorer, scorer.signature(), statistics, pair_of, seen),
        batch_size=batch,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers),
        num_cpus=None if gpu else 1,
        num_gpus=1 if gpu else None,
        udf_modifying_row_count=False,
    )
    return scored, statistics


def count_dataset(dataset: Dataset, pair_of: Any, scorer: MetricScorer) -> Statistics:
    """The statistics of a data set, of the sides that the scorer's settings say to count.

    `pair_of` gives the candidate and the references of a row; see `text_files.pair_of`.
    """
    if not scorer.settings.counted:
        return Statistics()
    counted = dataset.map_batches(
        partial(_count, pair_of=pair_of, scorer=scorer),
        batch_size=COUNTED,
        batch_format="pyarrow",
        num_cpus=1,
    )
    # Not by Ray's aggregation, whose actors take longer to start than this takes to add.
    statistics = Statistics()
    for row in counted.iter_rows():
        statistics += pickle.loads(row[COUNTS])
    if not statistics:
        raise ValueError("the data set has no rows; give one row for each pair")
    return statistics


@dataclass
class _Worker:
    """An actor: holds the scorer, and adds scores to batches of rows."""

    scorer: MetricScorer
    signature: str
    statistics: Statistics
    pair_of: Any
    seen: Any = None

    def __call__(self, rows: pyarrow.Table) -> pyarrow.Table:
        # Here, because Ray does not give back what is raised where an actor is made.
        self._check_signature()
        pairs = _pairs(rows, self.pair_of)
        result = score_part(self.scorer.inner, pairs, self.scorer.settings, self.statistics)
        self._check_signature()  # the model's files may have changed before they were loaded
        if self.seen is None:
            result.remarks.warn()
        else:
            counts = Counter(map(len, pairs.references))
            ray.get(self.seen.add.remote(result.remarks, counts))  # told before the worker ends
        _check_new(result.columns(), rows.column_names)
        for name, column in result.columns().items():
            rows = rows.append_column(name, pyarrow.array(column, pyarrow.float64()))
        return rows

    def _check_signature(self) -> None:
        if difference := differences(self.signature, self.scorer.signature()):
            raise ValueError(
                f"a worker would score otherwise than the driver: {difference}; give all workers "
                "the same model and versions"
            )


def _count(rows: pyarrow.Table, pair_of: Any, scorer: MetricScorer) -> dict[str, list[bytes]]:
    """One row: the statistics of a batch."""
    return {COUNTS: [pickle.dumps(scorer.inner.count(_pairs(rows, pair_of), scorer.settings))]}


def _pairs(rows: pyarrow.Table, pair_of: Any) -> Pairs:
    """The checked pairs of a batch."""
    return Pairs.of(
        pair_of(f"row {number} of a batch of {len(rows)}", row)
        for number, row in enumerate(rows.to_pylist(), 1)
    )


def _check_new(names: Iterable[str], there: Iterable[str]) -> None:
    """Raise ValueError if a column is there already."""
    if taken := sorted(set(names) & set(there)):
        raise ValueError(f"the data set has a column {taken[0]!r} already; rename or drop it")


def start() -> None:
    """Join the cluster that RAY_ADDRESS names, or start one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report to its makers
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    context = ray.data.DataContext.get_current()  # data sets take it over when they are made
    context.execution_options.preserve_order = True
    context.raise_original_map_exception = True
    # Its own account of an error fills pages; what is wrong is raised as well.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)


def _own_error(error: BaseException) -> BaseException:
    """The error of ours that Ray has wrapped, if it is one, as what it was."""
    inner: BaseException | None = error
    while inner is not None:
        if type(inner) in (ValueError, TypeError, OSError):
            return type(inner)(str(inner))
        inner = getattr(inner, "cause", None) or inner.__cause__
    return error
