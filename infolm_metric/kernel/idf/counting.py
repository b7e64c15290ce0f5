"""How many documents of a corpus contain each token, counted with `datasets`.

It takes a second to import, and so is left alone where a short list is counted.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from infolm_metric.kernel.checks import whole_number
from infolm_metric.kernel.pairs import as_list, check_text
from infolm_metric.kernel.progress import bar
from infolm_metric.kernel.tokens import tokenize

if TYPE_CHECKING:
    from datasets import Dataset, Features, IterableDataset

VERSION = 2  # of the counts that datasets keeps in files
BATCH = 1000  # rows that become one row of counts
DISTINCT = 10  # documents; whether there are more makes no difference
SLICE = 100  # documents tokenised at a time: bounds memory where documents are long
TITLE = "Counting documents"
LARGE = 10_000  # rows from which a corpus in memory is worth a progress bar
PATIENCE = 2.0  # seconds before a stream, whose length is unknown, shows a progress bar
PARALLELISM = "TOKENIZERS_PARALLELISM"


def is_small(corpus: Any) -> bool:
    """True for a list that is counted in one go, without `datasets`."""
    return isinstance(corpus, list) and len(corpus) <= BATCH


def count_documents(
    corpus: Any,
    tokenizer: Any,
    *,
    fingerprint: str,
    vocabulary: int,
    max_length: int | None = None,
    column: str = "text",
    processes: int = 1,
) -> tuple[int, np.ndarray, tuple[str, ...]]:
    """The number of documents, how many of them contain each token, int64 [vocab], and digests.

    A digest stands for a document as it is read; there are DISTINCT at most, of distinct ones.

    `fingerprint` stands for all that decides the tokenizer's ids, which lie below `vocabulary`.
    The other arguments, and the errors, are those of `IDF.from_corpus`.

    >>> from transformers import BertTokenizer
    >>> words = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4, "a": 5, "cat": 6}
    >>> tokenizer = BertTokenizer(vocab=words)
    >>> documents, counts, digests = count_documents(
    ...     ["a cat", "a dog"], tokenizer, fingerprint="5f2e", vocabulary=7
    ... )
    >>> documents, counts.tolist(), len(digests)
    (2, [1, 0, 0, 0, 0, 2, 1], 2)
    """
    overhead = tokenizer.num_special_tokens_to_add()
    if max_length is not None and whole_number("max_length", max_length, least=0) <= overhead:
        raise ValueError(
            f"max_length must be more than the {overhead} special tokens around a text, "
            f"got {max_length!r}; None sets no limit"
        )
    whole_number("processes", processes)
    dataset, column = _as_dataset(corpus, column)
    documents, counts = 0, np.zeros(vocabulary, dtype=np.int64)
    digests: tuple[str, ...] = ()
    for row in _counted(dataset, _Counter(tokenizer, max_length, column), fingerprint, processes):
        documents += int(row["documents"][0])
        ids, found = (np.asarray(row[name][0], dtype=np.int64) for name in ("token_ids", "counts"))
        counts[ids] += found
        digests = merged(digests, row["digests"][0])
    if not documents:
        raise ValueError("corpus is empty; give at least one document")
    return documents, counts, digests


def merged(digests: Sequence[str], others: Iterable[str]) -> tuple[str, ...]:
    """The digests of both parts of a corpus, DISTINCT at most.

    >>> merged(["5f", "a0"], ["a0", "b1"])
    ('5f', 'a0', 'b1')
    """
    return tuple(sorted({*digests, *map(str, others)})[:DISTINCT])


@dataclass(frozen=True)
class _Counter:
    """From rows of text to one row of counts; a class, so that other processes can receive it."""

    tokenizer: Any
    max_length: int | None
    column: str

    def __call__(self, rows: Mapping[str, Any], positions: Iterable[int]) -> dict[str, list[Any]]:
        if self.column not in rows:
            raise ValueError(
                f"corpus has no column {self.column!r}, only {', '.join(map(repr, rows))}; "
                "name one with column="
            )
        texts = list(_documents(zip(positions, rows[self.column], strict=True)))
        seen = [np.zeros(0, dtype=np.int64)]
        digests: set[str] = set()
        for start in range(0, len(texts), SLICE):
            some = texts[start : start + SLICE]
            read = tokenize(self.tokenizer, some, self.max_length, "truncate")
            part = [text.tokens for text in read]
            flat = np.concatenate(part)
            owner = np.repeat(np.arange(len(part)), list(map(len, part)))
            size = flat.max(initial=0) + 1
            seen.append(np.unique(owner * size + flat) % size)  # each token once a document
            for tokens in part:
                if len(digests) == DISTINCT:
                    break
                digests.add(hashlib.sha256(tokens.tobytes()).hexdigest()[:16])
        ids, counts = np.unique(np.concatenate(seen), return_counts=True)
        return {
            "documents": [len(texts)],
            "token_ids": [ids],
            "counts": [counts],
            "digests": [sorted(digests)],
        }


def _documents(rows: Iterable[tuple[int, Any]]) -> Iterator[str]:
    """The checked documents of numbered rows, each a string or a list of strings."""
    for position, row in rows:
        several = isinstance(row, list | tuple | np.ndarray)
        for inner, text in enumerate(row if several else [row]):
            name = f"corpus[{position}]" + (f"[{inner}]" if several else "")
            if not isinstance(text, str):
                raise ValueError(
                    f"{name} must be a string, got {text!r:.60} ({type(text).__name__}); "
                    "remove it or give an empty string"
                )
            check_text(name, text)
            yield text


def _as_dataset(
    corpus: Any, column: str
) -> tuple[Dataset | IterableDataset | Iterator[str] | list[str], str]:
    """The corpus as a data set with no more than the column of its texts, and that column.

    What can be read only once stays an iterator, so that it need not fit in memory, and what is
    small a list.
    """
    if is_small(corpus):
        return list(_documents(enumerate(corpus))), "text"

    from datasets import Column, Dataset, Features, IterableColumn, IterableDataset, Value

    if isinstance(corpus, Column | IterableColumn) and isinstance(
        corpus.source, Dataset | IterableDataset
    ):
        corpus, column = corpus.source, corpus.column_name
    if isinstance(corpus, Dataset | IterableDataset):
        if isinstance(corpus, Dataset) and corpus.format["type"] == "custom":
            return corpus, column  # the user's transform makes the columns, from any others
        if corpus.features is None:
            return corpus.with_format(None), column  # not known before the first row
        column = _text_column(corpus.features, column)
        return corpus.with_format(None).select_columns(column), column
    if isinstance(corpus, Mapping) or hasattr(corpus, "columns"):
        names = ", ".join(map(repr, getattr(corpus, "columns", corpus)))
        raise TypeError(
            f"corpus must be a list of strings or one data set, got a {type(corpus).__name__} of "
            f"{names or 'nothing'}; give one of these"
        )
    if isinstance(corpus, Iterator | IterableColumn):
        return _documents(enumerate(corpus)), "text"
    texts = list(_documents(enumerate(as_list("corpus", corpus))))
    return Dataset.from_dict({"text": texts}, Features({"text": Value("string")})), "text"


def _text_column(features: Features, column: str) -> str:
    """The column, or the only one that holds text if it is not there and none was asked for."""
    textual: list[str] = [name for name, feature in features.items() if _holds_text(feature)]
    if column in features:
        return column
    if column == "text" and len(textual) == 1:
        return textual[0]
    raise ValueError(
        f"corpus has no column {column!r}; name one with column= "
        f"(those that hold text: {', '.join(map(repr, textual)) or 'none'})"
    )


def _holds_text(feature: Any) -> bool:
    inner = getattr(feature, "feature", feature)  # of a list
    return getattr(inner, "dtype", None) in ("string", "large_string", "string_view")


def _counted(
    dataset: Dataset | IterableDataset | Iterator[str] | list[str],
    count: _Counter,
    fingerprint: str,
    processes: int,
) -> Iterator[Mapping[str, Any]]:
    """Rows of counts, one for each batch of the data set."""
    if isinstance(dataset, list):
        yield from _counted_here(iter(dataset), count)
        return

    from datasets import Dataset, Features, List, Value

    if not isinstance(dataset, Dataset):
        with bar(True, desc=TITLE, unit=" documents", delay=PATIENCE) as shown:
            for row in _counted_here(dataset, count):
                shown.update(row["documents"][0])
                yield row
        return
    processes = min(processes, -(-len(dataset) // BATCH))  # none without a batch of its own
    if processes <= 1 and not dataset.cache_files and len(dataset) < LARGE:
        yield from _counted_here(dataset, count)  # nothing to keep, to share or to wait for
        return
    side = None if count.max_length is None else count.tokenizer.truncation_side
    state = [VERSION, dataset._fingerprint, fingerprint, count.column, count.max_length, side]
    with _threads_off() if processes > 1 else nullcontext():
        counted = dataset.map(
            count,
            with_indices=True,
            batched=True,
            batch_size=BATCH,
            remove_columns=dataset.column_names,
            features=Features(
                {
                    "documents": Value("int64"),
                    "token_ids": List(Value("int32")),
                    "counts": List(Value("int32")),
                    "digests": List(Value("string")),
                }
            ),
            num_proc=processes if processes > 1 else None,
            keep_in_memory=not _can_keep(dataset),
            # Left to itself, datasets makes it from the tokenizer object, which use changes.
            new_fingerprint=hashlib.sha256(json.dumps(state).encode()).hexdigest()[:16],
            desc=TITLE,
        )
    yield from counted.with_format("numpy").iter(batch_size=1)


def _counted_here(
    dataset: Dataset | IterableDataset | Iterator[str], count: _Counter
) -> Iterator[dict[str, Any]]:
    if isinstance(dataset, Iterator):
        slices = iter(lambda: list(islice(dataset, BATCH)), [])
        batches: Iterator[Any] = ({"text": rows} for rows in slices)
    else:
        batches = dataset.iter(batch_size=BATCH)
    start = 0
    for rows in batches:
        stop = start + len(next(iter(rows.values())))
        yield count(rows, range(start, stop))
        start = stop


def _can_keep(dataset: Dataset) -> bool:
    """True if counts can be kept beside the data set: it lies in files, in an open folder."""
    from datasets import is_caching_enabled

    files = dataset.cache_files
    folder = os.path.dirname(files[0]["filename"]) or "." if files else ""
    return is_caching_enabled() and os.access(folder, os.W_OK)


@contextmanager
def _threads_off() -> Iterator[None]:
    """Keeps the tokenizer's threads out of forked processes, and gives them back afterwards.

    `datasets` does the first but leaves the variable set, so that every later call of a tokenizer
    in this process would run on one thread; and it puts a copy in the place of `os.environ`.
    """
    environment, value = os.environ, os.environ.get(PARALLELISM)
    os.environ[PARALLELISM] = "false"
    try:
        yield
    finally:
        os.environ = environment  # noqa: B003 (the very object that was there)
        del os.environ[PARALLELISM]
        if value is not None:
            os.environ[PARALLELISM] = value
