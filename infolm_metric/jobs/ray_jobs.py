"""Scoring on a Ray cluster: score columns are added to a `ray.data.Dataset` of pairs.

Blocks of pairs stream through actors, each with its own scorer. If document frequencies are needed,
tasks count them in all blocks before any pair is scored. This module requires the `ray` extra.
"""

from __future__ import annotations

import logging
import os
import pickle
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow
import pyarrow.dataset
import ray
from pyarrow import parquet
from ray.data.block import BlockAccessor
from ray.data.datasource import BlockBasedFileDatasink

from infolm_metric import metrics
from infolm_metric.core.baselines import Baseline, resolve_baseline
from infolm_metric.core.checks import InputError
from infolm_metric.core.files import check_exists
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import Summary, add_counts, warn
from infolm_metric.core.signature import Signature
from infolm_metric.jobs.ray_tables import find_tables, open_tables, read_schema
from infolm_metric.jobs.resume import (
    ColumnRange,
    add_scores,
    check_new_columns,
    means,
)
from infolm_metric.scoring.scorer import COUNTED_PAIRS, Run, S, Scorer
from infolm_metric.tables import Source, TableFiles, file_ending, parse_pair, row_type

if TYPE_CHECKING:
    from ray.data import Dataset

RAY_BATCH = 256  # pairs that an actor scores together
ROWS_PER_FILE = 1 << 14  # minimum number of rows in an output file, except for the last
# Function that returns the row of a source from a row of the Ray data set.
RestoreRow = Callable[[dict[str, Any]], Any]


def score_dataset(
    dataset: Dataset,
    *,
    metric: str = metrics.DEFAULT,
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
    workers: int | None = None,
    batch: int = RAY_BATCH,
    rescale_with_baseline: object = False,
    **settings: object,
) -> Dataset:
    """Return a data set with added score columns, computed lazily block by block.

    The scores are the same as if one process scored all pairs. If document frequencies are needed
    (idf="references" or "separate"), this call reads the data set once to count them. Workers write
    warnings to their own logs.

    Args:
        dataset: one row per pair, with a column of candidates and one or more columns of
            references. A reference column contains strings or lists of strings.
        metric: name of the metric.
        candidate_column: column of candidates. By default "prediction" or "candidate".
        reference_columns: columns of references. By default "references" or "reference".
        workers: maximum number of actors. The default is one per GPU in the cluster, or one per CPU
            if the cluster has no GPU or `device` is "cpu".
        batch: number of pairs that are scored together.
        rescale_with_baseline: as in `Scorer.score`.
        **settings: settings of the metric.

    Raises:
        InputError: a setting is invalid, or a column would be overwritten. Invalid rows,
            and workers with a different signature, raise errors when the result is read.
        OSError: the model cannot be loaded.
    """
    scorer = metrics.find(metric).scorer_type()(**settings)
    columns = Columns(candidate_column, tuple(reference_columns))
    baseline = resolve_baseline(metric, rescale_with_baseline)
    return _scored(dataset, scorer, columns, workers, batch, baseline)[0]


def score_source(
    scorer: Scorer[S],
    source: Source,
    output: str,
    *,
    rescale_with_baseline: object = False,
    workers: int | None = None,
    verbose: bool = False,
) -> Summary:
    """Score pairs, and write the input columns and the scores to a new folder of Parquet files.

    All workers must be able to read the source: a data set, a table or a folder of tables.
    """
    assert source.load
    check_output(output)
    start(verbose)
    baseline = resolve_baseline(scorer.settings.metric, rescale_with_baseline)
    added = scorer.settings.all_columns(baseline is not None)
    names = tuple(source.reference_columns)
    try:
        dataset, restore_row = _open_source(source, added)
        columns = Columns(source.candidate_column, names, restore_row)
        totals: Any = ray.remote(num_cpus=0)(_Totals).remote()
        scores, run = _scored(dataset, scorer, columns, workers, RAY_BATCH, baseline, totals)
        # Workers have different working directories.
        options: Any = {"file_format": "parquet", "min_rows_per_file": ROWS_PER_FILE}
        scores.write_datasink(_ParquetFiles(os.path.abspath(output), **options))
        counts, references = ray.get(totals.read.remote())
    except ray.exceptions.RayError as error:
        raise _unwrap_error(error, source.name) from error
    written = pyarrow.dataset.dataset(output, format="parquet")
    rows, ranges = written.count_rows(), dict[str, ColumnRange]()
    numbers = [name for name in added if name != scorer.settings.verdict_column]
    for part in written.to_batches(columns=numbers):
        if part.num_rows:
            ranges = add_scores(ranges, part.to_pydict())
    warn(counts, scorer.warning_messages)
    return run.summary(means(ranges, rows), counts, references)


class _ParquetFiles(BlockBasedFileDatasink):
    """Parquet files with the rows in order. `write_parquet` writes from several threads."""

    def write_block_to_file(self, block: BlockAccessor, file: pyarrow.NativeFile) -> None:
        parquet.write_table(block.to_arrow(), file)


def check_output(output: str) -> None:
    """Check that the output is a new folder whose name ends in .parquet."""
    if Path(output).suffix.lower() != ".parquet":
        raise InputError(
            "with --engine ray, the output must be a folder whose name ends in .parquet, got "
            f"{output!r}"
        )
    if Path(output).exists():  # Ray would add files to the folder
        raise InputError(f"{output} already exists. Choose a new folder.")


def _open_source(source: Source, names: Sequence[str]) -> tuple[Dataset, RestoreRow]:
    """Return the data set of a source, and a function that returns the rows of the source from it.

    Text tables are read once here, to check them and to find the types of their columns.
    """
    assert source.load
    data = source.load()
    restore_row: RestoreRow = dict
    if isinstance(data, TableFiles):
        check_exists(data.paths, again=True)
        paths = [os.path.abspath(path) for path in data.paths]  # for workers in other folders
        files = tuple(file for path in paths for file in find_tables(path))
        if file_ending(files[0]) != ".parquet":
            tables = TableFiles(files, data.read)
            schema = read_schema(tables, source, names)
            if not schema.rows:
                raise InputError(f"{source.name} has no rows. Add one row per pair.")
            return open_tables(tables, schema), schema.restore
        dataset = ray.data.read_parquet(paths)
    else:
        dataset, restore_row = ray.data.from_huggingface(data), row_type(data)
    if not dataset.take(1):
        raise InputError(f"{source.name} has no rows. Add one row per pair.")
    return dataset, restore_row


def start(verbose: bool = False) -> None:
    """Connect to the cluster at RAY_ADDRESS, or start one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # disables Ray's usage reports
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    context = ray.data.DataContext.get_current()  # new data sets copy it
    context.enable_progress_bars = verbose
    context.execution_options.preserve_order = True
    context.raise_original_map_exception = True
    # Errors are raised. Ray would also log them at great length.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)


class Columns(NamedTuple):
    """Names of the candidate and reference columns, and how rows are restored."""

    candidate: str | None
    references: tuple[str, ...]
    restore_row: RestoreRow = dict


def _scored(
    dataset: Dataset,
    scorer: Scorer[S],
    columns: Columns,
    workers: int | None,
    batch: int,
    baseline: Baseline | None,
    totals: Any = None,
) -> tuple[Dataset, Run[S]]:
    """Return the data set with scores, and the run that computes them.

    Workers report warnings to the `totals` actor, or log them if it is None.
    """
    names = scorer.settings.all_columns(baseline is not None)
    check_new_columns("the data set", dataset.columns() or (), names)
    run = scorer.prepare(corpus=_count(dataset, scorer, columns), baseline=baseline)
    if baseline:
        run.unrelated([1])
    device = getattr(scorer.settings, "device", None) or ""
    gpu = bool(ray.cluster_resources().get("GPU")) and not device.startswith("cpu")
    # A dictionary, because Ray converts a Signature, which is a subclass of str, to str.
    fields = dict(run.signature.fields)
    scored_dataset = dataset.map_batches(
        _Worker,
        fn_constructor_args=(scorer, fields, run.statistics, columns, baseline, totals),
        batch_size=batch,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers),
        num_cpus=None if gpu else 1,
        num_gpus=1 if gpu else None,
        udf_modifying_row_count=False,
    )
    return scored_dataset, run


def _count(dataset: Dataset, scorer: Scorer[S], columns: Columns) -> CorpusStatistics:
    if not scorer.settings.idf_sides:
        return CorpusStatistics()
    counts = dataset.map_batches(
        partial(_count_batch, scorer=scorer, columns=columns),
        batch_size=COUNTED_PAIRS,
        batch_format="pyarrow",
        num_cpus=1,
    )
    # Ray's own aggregation would start actors, which takes longer than this addition.
    rows = counts.iter_rows()
    statistics = sum((pickle.loads(row["counts"]) for row in rows), CorpusStatistics())
    if not statistics.tables:
        raise InputError("the data set has no rows. Add one row per pair.")
    return statistics


def _count_batch(
    rows: pyarrow.Table, scorer: Scorer[S], columns: Columns
) -> dict[str, list[bytes]]:
    """Return a batch's corpus statistics as a single row."""
    statistics = scorer.prepare().count(_pairs(rows, columns).texts_by_side)
    return {"counts": [pickle.dumps(statistics)]}


@dataclass
class _Worker:
    """Actor that adds scores to batches of rows."""

    scorer: Scorer[Any]
    signature_fields: Mapping[str, str]
    statistics: CorpusStatistics
    columns: Columns
    baseline: Baseline | None
    totals: Any

    @cached_property
    def run(self) -> Run[Any]:
        """The worker's run. Ray does not propagate errors from the constructor."""
        run = self.scorer.prepare(corpus=self.statistics, baseline=self.baseline)
        if difference := Signature(self.signature_fields).differences(run.signature):
            raise InputError(
                f"a worker's signature differs from the driver's: {difference}. Install the same "
                "model and package versions on all workers."
            )
        return run

    def __call__(self, rows: pyarrow.Table) -> pyarrow.Table:
        pairs = _pairs(rows, self.columns)
        result = self.run.score(pairs).renamed(self.scorer.settings.column)
        scores = result.all_columns()
        check_new_columns("the data set", rows.column_names, scores)
        if self.totals is None:
            warn(result.counts, self.scorer.warning_messages)
        else:  # wait for the result, because the worker may exit after this batch
            ray.get(self.totals.add.remote(result.counts, Counter(pairs.counts)))
        for name, column in scores.items():
            kind = pyarrow.float64() if name in result.columns() else pyarrow.string()
            rows = rows.append_column(name, pyarrow.array(column, kind))
        return rows


class _Totals:
    """Actor that counts warnings, and counts pairs by number of references.

    Batches that Ray reruns because a machine was lost are counted twice.
    """

    def __init__(self) -> None:
        self.counts, self.references = Counter[str](), Counter[int]()

    def add(self, counts: Mapping[str, int], references: Counter[int]) -> None:
        self.counts = add_counts([self.counts, counts])
        self.references += references

    def read(self) -> tuple[Counter[str], Counter[int]]:
        return self.counts, self.references


def _pairs(rows: pyarrow.Table, columns: Columns) -> Pairs:
    candidate, references, restore_row = columns
    pairs = (
        parse_pair(
            f"row {number} of a batch of {len(rows)}", restore_row(row), candidate, references
        )
        for number, row in enumerate(rows.to_pylist(), 1)
    )
    return Pairs.of(pairs)


def _unwrap_error(error: BaseException, source: str = "") -> BaseException:
    """Return the InputError or OSError that Ray wrapped, or else the error itself.

    The message starts with the name of the source if it is passed, and omits Ray's advice.
    """
    inner: BaseException | None = error
    while inner is not None:
        kind = next((k for k in (InputError, OSError) if isinstance(inner, k)), None)
        if kind and not isinstance(inner, ray.exceptions.RayError):
            message = f"{source}: {inner}" if source else str(inner)
            return kind(message.partition("\nFailed to ")[0])
        inner = getattr(inner, "cause", None) or inner.__cause__
    return error
