"""Brings the pairs of a distributed evaluation together, with evaluate's own means.

Each process locks a file, waits until all have, writes its pairs and unlocks the file; the main
process, number 0, reads and removes them all. Beyond what evaluate does, no file stays behind, also
after an error, and a process cannot begin the next round before the last one is over.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import datasets
import evaluate
from evaluate.module import FileLock

from infolm_metric.kernel.pairs import Pairs

FEATURES = datasets.Features(
    {
        "predictions": datasets.Value("string"),
        "references": datasets.List(datasets.Value("string")),
    }
)


def gather_pairs(metric: evaluate.Metric, pairs: Pairs) -> Pairs | None:
    """The pairs of all processes, in the order of their numbers, in the main process; else None.

    `metric` tells the experiment, the process and the folder where the processes meet. Raises
    ValueError if they do not meet within `metric.timeout` seconds; then each keeps its pairs.

    >>> import tempfile
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from infolm_metric import InfoLM
    >>> def process(number):
    ...     metric = InfoLM(num_process=2, process_id=number, cache_dir=folder)
    ...     return gather_pairs(metric, Pairs([f"text {number}"], [["reference"]]))
    >>> with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
    ...     main, other = pool.map(process, [0, 1])
    >>> main.predictions, other
    (['text 0', 'text 1'], None)
    """
    stem = f"{metric.experiment_id}-{metric.num_process}"
    files = [Path(metric.data_dir, f"{stem}-{i}.arrow") for i in range(metric.num_process)]
    locks = [Path(f"{path}.lock") for path in (*files, Path(metric.data_dir, f"{stem}-rdv"))]
    own_file = files[metric.process_id]
    gathered = None
    try:
        _hand_over(metric, pairs)
        if metric.process_id == 0:
            gathered = _read(metric, pairs.several)
        else:
            _wait_until_taken(own_file, metric.timeout)
    except BaseException as error:
        written = [own_file] if metric.filelock is not None else []
        _let_go(metric)
        _remove(locks, written)
        if not isinstance(error, ValueError):
            raise
        raise ValueError(
            f"the {metric.num_process} processes of experiment {metric.experiment_id!r} did not "
            f"meet in compute within timeout={metric.timeout} seconds ({error}); call compute in "
            "each of them, with the same cache_dir and experiment_id, and give evaluate.load a "
            "longer timeout if some come much later than others"
        ) from error
    _let_go(metric)
    if metric.process_id == 0:
        _remove(locks, files)
    return gathered


def _hand_over(metric: evaluate.Metric, pairs: Pairs) -> None:
    """Write the pairs, possibly none, once all processes are there.

    Afterwards the main process holds the locks of all.
    """
    metric.selected_feature_format = FEATURES
    metric._init_writer()
    if pairs:
        metric.writer.write_batch(
            {"predictions": pairs.predictions, "references": pairs.references}
        )
    metric._finalize()


def _read(metric: evaluate.Metric, several: bool) -> Pairs:
    """What all processes have written; `several` if the main process was given lists."""
    references = list(metric.data["references"])
    several = several or any(len(group) > 1 for group in references)
    return Pairs(list(metric.data["predictions"]), references, several)


def _wait_until_taken(file: Path, timeout: float) -> None:
    """Wait until the main process has removed the file; ValueError after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while file.exists():
        if time.monotonic() > deadline:
            raise ValueError(f"the main process did not take {file.name}")
        time.sleep(0.02)


def _let_go(metric: evaluate.Metric) -> None:
    """Close the files of this round and release its locks."""
    if metric.writer is not None:
        metric.writer.close()
    for lock in (metric.rendez_vous_lock, metric.filelock, *(metric.filelocks or ())):
        if lock is not None:
            lock.release()
    metric.writer = metric.data = metric.selected_feature_format = None
    metric.rendez_vous_lock = metric.filelock = metric.filelocks = None
    metric.cache_file_name = metric.file_paths = None


def _remove(locks: Iterable[Path], files: Iterable[Path]) -> None:
    """Remove the files, and the locks that nobody holds.

    The locks go first: the other processes wait for their files to go, and must not find a lock of
    this round when they begin the next.
    """
    for path in locks:
        lock = FileLock(path)
        with suppress(OSError):  # held by another process, or a system that keeps open files
            lock.acquire(timeout=0)
            path.unlink()
        lock.release()
    for file in files:
        file.unlink(missing_ok=True)
