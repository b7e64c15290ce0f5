"""Where the pairs of a long job come from: files and data sets, read as streams, repeatedly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from infolm_metric.kernel import text_files
from infolm_metric.kernel.lines import STANDARD_INPUT, check_there, read_once
from infolm_metric.kernel.pairs import Pair
from infolm_metric.kernel.tables import Cells


@dataclass(frozen=True)
class PairSource:
    """Pairs that can be read from the first to the last any number of times.

    `read` gives them one by one; what is wrong with one is a ValueError or TypeError that names
    it. `total` is their number if it is known without reading them, else None. `files` are those
    that are read, which no job may write to.
    """

    name: str
    read: Callable[[], Iterator[Pair]]
    total: int | None = None
    files: tuple[str, ...] = ()

    def count(self) -> int | None:
        """The number of pairs, or None if one cannot be read, or all of it would take long."""
        if self.total is not None or not Path(self.name).is_file():
            return self.total
        try:
            return sum(1 for _ in self.read())
        except (ValueError, TypeError):
            return None


def from_table(
    path: str, candidate_column: str | None = None, reference_columns: Sequence[str] = ()
) -> PairSource:
    """The pairs of a table: JSON Lines, CSV, TSV or Parquet.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = folder + "/data.jsonl"
    ...     _ = open(path, "w").write('{"prediction": "a cat", "references": ["the cat", "cats"]}')
    ...     source = from_table(path)
    ...     list(source.read()), source.count()
    ([('a cat', ['the cat', 'cats'])], 1)
    """
    read = partial(text_files.iterate_pairs, path, candidate_column, reference_columns)
    return PairSource(path, read, files=(path,))


def from_parallel(candidates: str, references: Sequence[str]) -> PairSource:
    """The pairs of plain text files of equally many lines."""
    read = partial(text_files.iterate_parallel, candidates, references)
    return PairSource(candidates, read, files=(candidates, *references))


def from_dataset(
    name: str,
    dataset: Any,
    candidate_column: str | None = None,
    reference_columns: Sequence[str] = (),
) -> PairSource:
    """The pairs of the data set that `load` gave for a name."""

    def read() -> Iterator[Pair]:
        for number, row in enumerate(dataset, 1):
            where = f"{name}, row {number}"
            row = Cells(row) if dataset.info.builder_name == "csv" else row
            yield text_files.pair_of(where, row, candidate_column, reference_columns)

    split = (dataset.info.splits or {}).get(str(dataset.split))
    known = len(dataset) if hasattr(dataset, "__len__") else split and split.num_examples
    return PairSource(name, read, known or None, _data_files(name))


def load(
    name: str,
    *,
    config: str | None = None,
    split: str | None = None,
    revision: str | None = None,
    streaming: bool = False,
) -> Any:
    """The `datasets.Dataset` or IterableDataset of a name on the Hub or a folder.

    The folder holds data files, or what save_to_disk wrote. `split` may be left out if there is one
    only. With `streaming` nothing is downloaded before it is read. Raises ValueError if there is no
    such split, and OSError if there is no such data set.
    """
    from datasets import load_dataset, load_from_disk
    from datasets.exceptions import DatasetGenerationError

    if _was_saved(name):
        splits = Path(name, "dataset_dict.json").is_file()
        given = {"--dataset-config": config, "--dataset-revision": revision}
        for flag, value in {**given, **({} if splits else {"--split": split})}.items():
            if value is not None:
                raise ValueError(
                    f"{flag} {value} is not for {name!r}, which save_to_disk wrote as one data set"
                    + (" with splits; leave it out" if splits else "; leave it out")
                )
    try:
        if _was_saved(name):
            found = load_from_disk(name)
        else:
            found = load_dataset(name, config, split=split, revision=revision, streaming=streaming)
    except (OSError, ValueError, DatasetGenerationError) as error:
        cause = error.__cause__ if isinstance(error, DatasetGenerationError) else None
        reason = str(cause or error).strip().partition("\n")[0].rstrip(" .")
        if jobs := [str(path) for path in Path(name).glob("**/*.shards")]:
            reason += f" (it holds {jobs[0]}, which a job wrote: move that, and name an output "
            reason += "outside of the data set)"
        kind = ValueError if isinstance(error, ValueError) else OSError
        raise kind(
            f"cannot load the data set {name!r}: {reason}. Check --dataset, --dataset-config and "
            "--split"
        ) from error
    if isinstance(found, Mapping):
        found = _only_split(name, found, split)
    if streaming and _was_saved(name):
        found = found.to_iterable_dataset()
    # Images, tensors and the like would cost time and bring other types than Python's.
    return found.with_format(None)


def _data_files(name: str) -> tuple[str, ...]:
    """The files of a folder, without what jobs have written there."""
    there = filter(Path.is_file, Path(name).rglob("*")) if Path(name).is_dir() else ()
    return tuple(str(file) for file in there if not Path(f"{file}.shards").is_dir())


def _was_saved(name: str) -> bool:
    """True for a folder that `save_to_disk` wrote."""
    return any(Path(name, file).is_file() for file in ("state.json", "dataset_dict.json"))


def _only_split(name: str, splits: Mapping[str, Any], split: str | None) -> Any:
    if split is not None and split in splits:
        return splits[split]
    if split is not None or len(splits) != 1:
        asked = "give one with --split" if split is None else f"there is no split {split!r}"
        raise ValueError(f"the data set {name!r} has the splits {', '.join(splits)}; {asked}")
    return next(iter(splits.values()))


def check_again(paths: Sequence[str]) -> None:
    """Raise ValueError for files that are not there, and for what can be read only once."""
    check_there(paths)
    for path in filter(read_once, paths):
        shown = "standard input" if path == STANDARD_INPUT else path
        raise ValueError(
            f"a job that can be taken up again needs an input that can be read again, and {shown} "
            "cannot; write it to a file first, or give another --output than JSON Lines"
        )
