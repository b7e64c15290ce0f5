"""Scoring on a Ray cluster: a `ray.data.Dataset` of pairs in, the same with scores out.

Ray schedules everything: blocks stream through actors, each of which holds the model, as many as
the cluster has room for. Where inverse document frequencies are counted, tasks count blocks and an
aggregation adds the counts up, before any pair is scored. Needs the extra `ray`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow
import pyarrow.dataset
import ray
from ray.data.aggregate import AggregateFnV2
from ray.data.block import BlockAccessor

from infolm_metric.infolm.masked_lm import load_vocabulary
from infolm_metric.infolm.scorer import InfoLMScorer
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel import text_files
from infolm_metric.kernel.idf import statistics as portions
from infolm_metric.kernel.idf.table import IDF, tokenizer_fingerprint
from infolm_metric.kernel.pairs import Pairs

if TYPE_CHECKING:
    from ray.data import Dataset

BATCH = 256  # pairs that an actor scores at a time
COUNTED = 4096  # pairs that a task counts at a time
COUNTS = "counts"


def score_dataset(
    dataset: Dataset,
    *,
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
    workers: int | None = None,
    batch: int = BATCH,
    **settings: Any,
) -> Dataset:
    """The data set with a column of scores for each measure: lazily, block by block.

    Scores equal those of one process that is given all the pairs. With idf "references" or
    "separate" the data set is read twice; the first time, to count, happens in this call.

    Args:
        dataset: pairs, with a column of candidates, and columns of references, each a text or a
            list of texts.
        candidate_column, reference_columns: their names; by default "prediction" or "candidate",
            and "references" or "reference".
        workers: how many actors at most; by default as many as the cluster offers, one for each
            GPU, or without GPUs (or with device="cpu") one for each CPU.
        batch: pairs scored at a time.
        settings: those of `Settings`.

    Raises:
        TypeError, ValueError: a setting is wrong, or a column would be overwritten; what is wrong
            with a row is raised, wrapped by Ray, as soon as it is read.
    """
    chosen = Settings.of(**settings)
    pair_of = partial(
        text_files.pair_of,
        candidate_column=candidate_column,
        reference_columns=tuple(reference_columns),
    )
    names = _score_columns(chosen)
    if taken := sorted(set(names) & set(dataset.columns() or ())):
        raise ValueError(f"the data set has a column {taken[0]!r} already; rename or drop it")
    tables = count_dataset(dataset, pair_of, chosen)
    gpu = bool(ray.cluster_resources().get("GPU")) and not (chosen.device or "").startswith("cpu")
    return dataset.map_batches(
        _Scorer,
        fn_constructor_kwargs={"settings": chosen, "tables": tables, "pair_of": pair_of},
        batch_size=batch,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(min_size=1, max_size=workers),
        num_cpus=None if gpu else 1,
        num_gpus=1 if gpu else None,
        udf_modifying_row_count=False,
    )


def count_dataset(dataset: Dataset, pair_of: Any, settings: Settings) -> dict[str, IDF]:
    """The idf tables of a data set, one for each side that the settings say to count.

    `pair_of` gives the candidate and the references of a row; see `text_files.pair_of`.
    """
    sides = portions.counted_sides(settings)
    if not sides:
        return {}
    counted = dataset.map_batches(
        partial(_count, settings=settings, pair_of=pair_of),
        batch_size=COUNTED,
        batch_format="pyarrow",
        num_cpus=1,
    )
    tokenizer = load_vocabulary(settings.model, settings.model_revision).tokenizer
    # As long as the tables of `IDF.from_corpus`.
    empty = IDF.from_corpus(["a"], tokenizer).document_frequency
    sums = (counted.aggregate(_Sums(len(sides) * (1 + len(empty)))) or {}).get(COUNTS)
    if sums is None or not np.any(sums):
        raise ValueError("the data set has no rows; give one row for each pair")
    owner = (tokenizer_fingerprint(tokenizer), str(tokenizer.name_or_path))
    rows = np.asarray(sums, dtype=np.int64).reshape(len(sides), -1)
    return {side: IDF(int(row[0]), row[1:], *owner) for side, row in zip(sides, rows, strict=True)}


class _Scorer:
    """An actor: holds the model, and adds scores to batches of rows."""

    def __init__(self, settings: Settings, tables: dict[str, IDF], pair_of: Any) -> None:
        self.settings, self.tables, self.pair_of = settings, tables, pair_of
        self.scorer = InfoLMScorer(**vars(settings))

    def __call__(self, rows: pyarrow.Table) -> pyarrow.Table:
        pairs = _pairs(rows, self.pair_of)
        result = portions.score(self.scorer, pairs, self.tables, self.settings)
        for name, column in portions.columns(result).items():
            rows = rows.append_column(name, pyarrow.array(column, pyarrow.float64()))
        return rows


def _count(rows: pyarrow.Table, settings: Settings, pair_of: Any) -> dict[str, np.ndarray]:
    """One row: the number of documents and the document frequencies, side after side."""
    tables = portions.count(_pairs(rows, pair_of), settings)
    counts = [np.append(table.documents, table.document_frequency) for table in tables.values()]
    return {COUNTS: np.concatenate(counts)[None]}


def _pairs(rows: pyarrow.Table, pair_of: Any) -> Pairs:
    """The checked pairs of a batch."""
    pairs = [
        pair_of(f"row {number} of a batch of {len(rows)}", row)
        for number, row in enumerate(rows.to_pylist(), 1)
    ]
    return Pairs([text for text, _ in pairs], [group for _, group in pairs], True)


def _score_columns(settings: Settings) -> list[str]:
    similar = [f"{name}_similarity" for name in settings.measures if settings.similarity]
    return [*settings.measures, *similar]


class _Sums(AggregateFnV2):
    """The sums of the counts of all batches, int64 [sides * (1 + vocab)]."""

    def __init__(self, width: int) -> None:
        super().__init__(
            COUNTS, lambda: np.zeros(width, dtype=np.int64), on=COUNTS, ignore_nulls=True
        )

    def aggregate_block(self, block: Any) -> np.ndarray:
        return np.asarray(BlockAccessor.for_block(block).to_numpy(COUNTS)).sum(0)

    def combine(self, current_accumulator: np.ndarray, new: np.ndarray) -> np.ndarray:
        return np.asarray(current_accumulator) + np.asarray(new)


def score_files(
    source: Dataset, output: str, *, settings: Settings, workers: int | None = None, **columns: Any
) -> tuple[int, dict[str, float], str]:
    """The number of pairs, the means of their scores, and the signature; writes a folder of rows.

    `output` ends in .parquet or .jsonl, and names a folder that is not there yet: each worker
    writes files of its own into it. `columns` are those of `score_dataset`.
    """
    suffix = Path(output).suffix.lower()
    if suffix not in WRITERS:
        raise ValueError(
            f"with --engine ray the output is a folder whose name ends in {' or '.join(WRITERS)}, "
            f"got {output!r}"
        )
    if Path(output).exists():  # refused, because Ray would add its files to those there
        raise ValueError(f"{output} exists; name a folder that is not there yet")
    write, form = WRITERS[suffix]
    output = os.path.abspath(output)  # workers have other working folders
    try:
        write(score_dataset(source, workers=workers, **columns, **vars(settings)), output)
    except ray.exceptions.RayError as error:
        raise _own_error(error) from error
    names = _score_columns(settings)
    written = pyarrow.dataset.dataset(output, format=form)
    sums, pairs = dict.fromkeys(names, 0.0), 0
    for rows in written.to_batches(columns=names):
        pairs += len(rows)
        for name in names:
            sums[name] += float(np.sum(rows[name].to_numpy()))
    means = {name: total / pairs for name, total in sums.items()}
    return pairs, means, InfoLMScorer(**vars(settings)).signature()


def open_files(path: str) -> Dataset:
    """The rows of a file, or of a folder of files, of Parquet or JSON Lines; read by the cluster.

    A folder's name ends like that of a file, or else it holds Parquet files.
    """
    suffix = Path(path).suffix.lower() or (".parquet" if Path(path).is_dir() else "")
    if suffix not in READERS:
        raise ValueError(
            f"with --engine ray tables are {', '.join(READERS)}, or folders of them, got {path!r}; "
            "convert it, or score it without --engine ray"
        )
    text_files.check_there([path])
    return READERS[suffix](os.path.abspath(path))  # workers have other working folders


def start() -> None:
    """Nothing; joins the cluster that RAY_ADDRESS names, or starts one on this machine."""
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
        cause = getattr(inner, "cause", None) or inner.__cause__
        for kind in (ValueError, TypeError, OSError):
            if type(inner) is kind or type(cause) is kind:
                return kind(str(inner if type(inner) is kind else cause))
        inner = cause
    return error


READERS = {
    ".parquet": lambda path: ray.data.read_parquet(path),
    # Not with lines=True, which makes numbers of texts such as "12".
    ".jsonl": lambda path: ray.data.read_json(path),
    ".ndjson": lambda path: ray.data.read_json(path, file_extensions=None),
}
WRITERS = {
    ".parquet": (lambda scored, path: scored.write_parquet(path), "parquet"),
    ".jsonl": (lambda scored, path: scored.write_json(path), "json"),
}
