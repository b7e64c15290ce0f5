"""Scoring on a Ray cluster, for `infolm score --engine ray`.

Ray Data reads and writes the tables. Blocks of pairs stream through actors, each with its own
scorer. If document frequencies are needed, tasks count them in all blocks before any pair is
scored. This module requires the `ray` extra.
"""

from __future__ import annotations

import io
import logging
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import JSONDecodeError
from typing import Any

import pyarrow
import ray
from pyarrow import csv, dataset, json, parquet
from ray.data.datasource import BlockBasedFileDatasink

from infolm_metric import tables
from infolm_metric.core import baselines, files
from infolm_metric.core.checks import InputError
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.core.inputs import Pairs, batches
from infolm_metric.core.results import Summary, Totals, warn
from infolm_metric.core.signature import Signature
from infolm_metric.jobs import resume
from infolm_metric.scoring.scorer import COUNTED_PAIRS, Run, S, Scorer

LOCAL = "Convert the file, or score it without --engine ray."
ROWS_PER_FILE = 1 << 14  # minimum number of rows in an output file, except for the last
ROWS_PER_BLOCK = 1 << 10
BLOCK_BYTES = 1 << 17  # bytes of a block. A block is the smallest unit of work for an actor
# Otherwise Ray would fuse reading and scoring, and a single actor would score each file.
READING: Mapping[str, Any] = {"num_cpus": 0}


def score_source(
    scorer: Scorer[S],
    source: tables.Source,
    output: str,
    *,
    rescale_with_baseline: object = False,
    verbose: bool = False,
) -> Summary:
    """Score pairs, and write the input columns and the scores to a new folder of Parquet files.

    The source is a data set, or a table that all workers must be able to read.
    """
    table = len(source.files) == 1 and tables.is_table_path(source.files[0])
    if not (source.load or table):
        raise InputError(f"Ray reads tables and data sets, not {source.name}. Omit --engine.")
    files.check_exists(source.files)
    if os.path.exists(output):  # Ray would add files to the folder
        raise InputError(f"{output} already exists. Choose a new folder.")
    start(verbose)
    baseline = baselines.resolve_baseline(scorer.settings.metric, rescale_with_baseline)
    totals: Any = ray.remote(num_cpus=0)(Totals).remote()
    columns = (source.candidate_column, source.reference_columns)
    try:
        rows, row_type = _open_source(source)
        if not rows.take(1):
            raise InputError(f"{source.name} has no rows. Add one row per pair.")
        scores, run = Plan(scorer, baseline, columns, row_type, totals).score(rows)
        # Workers have different working directories.
        options: Any = {"file_format": "parquet", "min_rows_per_file": ROWS_PER_FILE}
        scores.write_datasink(_ParquetFiles(os.path.abspath(output), **options))
        counts, references = ray.get(totals.add.remote({}, Counter()))
    except ray.exceptions.RayError as error:
        raise _unwrap_error(error, source.name) from error
    written, sums = dataset.dataset(output, format="parquet"), dict[str, float]()
    for part in filter(len, written.to_batches(columns=scorer.settings.columns(bool(baseline)))):
        sums = resume.add_scores(sums, part.to_pydict())
    warn(counts)
    return run.summary(resume.means(sums, written.count_rows()), counts, references)


class _ParquetFiles(BlockBasedFileDatasink):
    """Parquet files with the rows in order, unlike Ray's `write_parquet`, which uses threads."""

    def write_block_to_file(self, block: Any, file: pyarrow.NativeFile) -> None:
        parquet.write_table(block.to_arrow(), file)


def start(verbose: bool = False) -> None:
    """Connect to the cluster at RAY_ADDRESS, or start one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # disables Ray's usage reports
    # Ray would start 32 processes to read the metadata of one file.
    os.environ.setdefault("RAY_DATA_PARQUET_FOOTER_NUM_ACTORS", "1")
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    context = ray.data.DataContext.get_current()  # new data sets copy it
    context.enable_progress_bars = verbose
    context.execution_options.preserve_order = True
    context.raise_original_map_exception = True
    context.target_max_block_size = BLOCK_BYTES
    # Errors are raised. Ray would also log them at great length.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)


def _open_source(source: tables.Source) -> tuple[ray.data.Dataset, type[dict[str, Any]]]:
    """Return the data set of a source, and the type of its rows."""
    if source.load:
        data = source.load()
        # `ray.data.from_huggingface` would look for a data set of the same name on the Hub.
        parts = data.with_format("arrow").iter(batch_size=ROWS_PER_BLOCK)
        return ray.data.from_arrow(list(parts)), tables.row_type(data)
    path = os.path.abspath(source.files[0])  # for workers in other folders
    if tables.file_ending(path) == ".parquet":
        return ray.data.read_parquet(path, **READING), dict
    # Ray would infer types, and change texts that look like dates.
    schema = _find_schema(source)
    options = {"file_extensions": None, "partitioning": None, **READING}
    if tables.file_ending(path) not in tables.SEPARATORS:
        parse = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error")
        return ray.data.read_json(path, parse_options=parse, **options), dict
    separator = tables.find_separator(path)
    options["parse_options"] = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    convert = csv.ConvertOptions(column_types=schema, include_columns=schema.names)
    return ray.data.read_csv(path, convert_options=convert, **options), tables.Cells


def _find_schema(source: tables.Source) -> pyarrow.Schema:
    """Check all rows of a text table, and return the types of its columns."""
    schema = pyarrow.schema([])
    for rows in batches(source.rows(), COUNTED_PAIRS):
        Pairs.of(map(source.pair, rows))  # checks the rows
        names = dict.fromkeys(name for _, row in rows for name in row)
        try:
            types = {name: pyarrow.infer_type([row.get(name) for _, row in rows]) for name in names}
            schemas = [schema, pyarrow.schema(types)]
            schema = pyarrow.unify_schemas(schemas, promote_options="permissive")
            parquet.write_table(schema.empty_table(), io.BytesIO())  # can Parquet represent it?
        except (pyarrow.ArrowException, OverflowError, UnicodeEncodeError) as error:
            raise InputError(
                f"{rows[0][0]} or later: Ray needs one Parquet type per column ({error}). {LOCAL}"
            ) from None
    return schema


@dataclass(frozen=True)
class Plan:
    """Scorer of a data set, and the columns of its rows."""

    scorer: Scorer[Any]
    baseline: baselines.Baseline | None
    columns: tuple[str | None, Sequence[str]]  # of candidates and references
    row_type: type[dict[str, Any]]
    totals: Any  # actor that collects warnings

    def pairs(self, rows: pyarrow.Table) -> Pairs:
        """Return the pairs of a batch of rows, in which missing values are null."""
        parts = ({k: v for k, v in row.items() if v is not None} for row in rows.to_pylist())
        return Pairs.of(
            tables.parse_pair(f"row {number} of a batch", self.row_type(row), *self.columns)
            for number, row in enumerate(parts, 1)
        )

    def count(self, rows: pyarrow.Table) -> dict[str, list[CorpusStatistics]]:
        """Return a batch's corpus statistics as a single row."""
        statistics = self.scorer.prepare().count(self.pairs(rows).texts_by_side)
        return {"counts": [statistics]}

    def score(self, rows: ray.data.Dataset) -> tuple[ray.data.Dataset, Run[Any]]:
        """Return the data set with scores, and the run that computes them."""
        names = self.scorer.settings.all_columns(self.baseline is not None)
        tables.check_new_columns("the data set", rows.columns() or (), names)
        statistics = CorpusStatistics()
        options: dict[str, Any] = {"batch_format": "pyarrow", "num_cpus": 1}
        if self.scorer.settings.idf_sides:
            # Ray's own aggregation would start actors, which takes longer than this addition.
            parts = rows.map_batches(self.count, batch_size=COUNTED_PAIRS, **options).iter_rows()
            statistics = sum((part["counts"] for part in parts), statistics)
        run = self.scorer.prepare(corpus=statistics, baseline=self.baseline)
        device = getattr(self.scorer.settings, "device", None) or ""
        if ray.cluster_resources().get("GPU") and not device.startswith("cpu"):
            options |= {"num_cpus": None, "num_gpus": 1}
        # A dictionary, because Ray converts a Signature, which is a subclass of str, to str.
        scored = rows.map_batches(
            _Worker,
            fn_constructor_args=(self, dict(run.signature.fields), statistics),
            batch_size=resume.JOB_CHUNK,
            compute=ray.data.ActorPoolStrategy(min_size=1),
            udf_modifying_row_count=False,
            **options,
        )
        return scored, run


@dataclass
class _Worker:
    """Actor that adds scores to batches of rows."""

    plan: Plan
    signature_fields: Mapping[str, str]
    statistics: CorpusStatistics

    @cached_property
    def run(self) -> Run[Any]:
        """The worker's run. It is created on first use: Ray hides errors of constructors."""
        run = self.plan.scorer.prepare(corpus=self.statistics, baseline=self.plan.baseline)
        if difference := Signature(self.signature_fields).differences(run.signature):
            raise InputError(f"a worker differs from the driver: {difference}. Make them equal.")
        return run

    def __call__(self, rows: pyarrow.Table) -> pyarrow.Table:
        pairs, scorer = self.plan.pairs(rows), self.plan.scorer
        result = self.run.score(pairs, rank=True).renamed(scorer.settings.column)
        # Wait for the result, because the worker may exit after this batch.
        ray.get(self.plan.totals.add.remote(result.counts, Counter(pairs.counts)))
        for name, column in result.all_columns().items():
            kind = pyarrow.float64() if name in result.columns() else pyarrow.string()
            rows = rows.append_column(name, pyarrow.array(column, kind))
        return rows


def _unwrap_error(error: BaseException, source: str) -> BaseException:
    """Return the InputError or OSError that Ray wrapped, without Ray's advice.

    Errors of Ray's readers become InputErrors, because infolm can read such tables without Ray.
    Other errors are returned unchanged.
    """
    inner: Any = error
    while isinstance(inner, ray.exceptions.RayError):
        inner = getattr(inner, "cause", None) or inner.__cause__
    # Ray reads JSON that pyarrow cannot parse with Python, which raises errors of other kinds.
    text = str(inner.args[-1] if isinstance(inner, KeyError) else inner)
    message, reading, _ = text.partition("Failed to read stream")
    message = message.partition("\nFailed to ")[0].strip()
    if isinstance(inner, InputError | OSError):
        return type(inner)(f"{source}: {message}")
    parsing = isinstance(inner, pyarrow.ArrowException | JSONDecodeError)
    if reading or parsing or "read CSV" in message:
        details = f" ({message})" if message else ""
        return InputError(f"{source}: Ray cannot read the file{details}. {LOCAL}")
    return error
