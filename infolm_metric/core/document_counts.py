"""Document frequencies of a corpus, counted in memory or with `datasets`."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import as_list, batches, check_text
from infolm_metric.core.tokenization import tokenize

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

COUNTS_VERSION = 3  # version of the counts that datasets caches in files
DOCUMENTS_PER_ROW = 1000  # documents per row of counts
DOCUMENTS_PER_STEP = 100  # documents tokenized at a time, to limit memory for long documents
DISTINCT = 10  # maximum number of distinct documents that are recorded


def count_rows(
    rows: Mapping[str, Any],
    positions: Iterable[int],
    *,
    tokenizer: PreTrainedTokenizerBase,
    max_length: int | None,
    column: str,
) -> dict[str, list[Any]]:
    """Count document frequencies in one column of a batch, in the same way as `count_tokens`."""
    if column not in rows:
        raise InputError(
            f"corpus has no column {column!r}, only {', '.join(map(repr, rows))}. "
            "Select one with column=."
        )
    texts = _documents(zip(positions, rows[column], strict=True))
    return count_tokens(
        text.tokens
        for part in batches(texts, DOCUMENTS_PER_STEP)
        for text in tokenize(tokenizer, part, max_length, "truncate")
    )


def count_tokens(documents: Iterable[np.ndarray]) -> dict[str, list[Any]]:
    """Count document frequencies, int64 [tokens] per document. Return columns with one row."""
    distinct_tokens, digests = [np.zeros(0, dtype=np.int64)], set[str]()
    for tokens in documents:
        distinct_tokens.append(np.unique(tokens))
        digests.add(hashlib.sha256(tokens.tobytes()).hexdigest()[:16])
    ids, counts = np.unique(np.concatenate(distinct_tokens), return_counts=True)
    return {
        "documents": [len(distinct_tokens) - 1],
        "token_ids": [ids],
        "counts": [counts],
        "digests": [sorted(digests)[:DISTINCT]],
    }


def count_corpus(
    corpus: Any,
    tokenizer: PreTrainedTokenizerBase,
    fingerprint: str,
    max_length: int | None,
    column: str,
    processes: int,
) -> Iterator[Mapping[str, Any]]:
    """Yield rows of counts. Iterators and short lists are counted without `datasets`."""
    count = partial(count_rows, tokenizer=tokenizer, max_length=max_length)
    in_memory = isinstance(corpus, list | tuple)
    if isinstance(corpus, Iterator) or (
        in_memory and (processes == 1 or len(corpus) <= DOCUMENTS_PER_ROW)
    ):
        for part in batches(enumerate(corpus), DOCUMENTS_PER_ROW):
            positions, texts = zip(*part, strict=True)
            yield count({"text": texts}, positions, column="text")
        return

    from datasets import Features, IterableDataset, List, Value

    dataset, column = _as_dataset(corpus, column)
    if isinstance(dataset, IterableDataset):
        start = 0
        for rows in dataset.iter(batch_size=DOCUMENTS_PER_ROW):
            stop = start + len(next(iter(rows.values())))
            yield count(rows, range(start, stop), column=column)
            start = stop
        return
    # Explicit, because datasets would hash the tokenizer object, which changes with use.
    side = tokenizer.truncation_side if max_length is not None else None
    state = [COUNTS_VERSION, dataset._fingerprint, fingerprint, column, max_length, side]
    numbers = List(Value("int32"))
    features = {"documents": Value("int64"), "token_ids": numbers, "counts": numbers}
    features["digests"] = List(Value("string"))
    processes = min(processes, -(-len(dataset) // DOCUMENTS_PER_ROW))  # at least one row each
    counts = dataset.map(
        partial(count, column=column),
        with_indices=True,
        batched=True,
        batch_size=DOCUMENTS_PER_ROW,
        remove_columns=dataset.column_names,
        features=Features(features),
        num_proc=processes if processes > 1 else None,
        keep_in_memory=not _can_keep(dataset),
        new_fingerprint=hashlib.sha256(json.dumps(state).encode()).hexdigest()[:16],
        desc="Counting documents",
    )
    yield from counts.with_format("numpy").iter(batch_size=1)


def _documents(rows: Iterable[tuple[int, Any]]) -> Iterator[str]:
    """Check and yield the documents in numbered rows of strings or lists of strings."""
    for position, row in rows:
        several = isinstance(row, list | tuple | np.ndarray)
        for index, text in enumerate(row if several else [row]):
            name = f"corpus[{position}]" + (f"[{index}]" if several else "")
            if not isinstance(text, str):
                raise InputError(
                    f"{name} must be a string, got {text!r:.60} ({type(text).__name__}). "
                    "Remove it, use an empty string, or select a column of strings."
                )
            check_text(name, text)
            yield text


def _as_dataset(corpus: Any, column: str) -> tuple[Any, str]:
    """Return the corpus as a data set with only its text column, and the name of the column."""
    from datasets import Column, Dataset, Features, IterableColumn, IterableDataset, Value

    sources = Dataset | IterableDataset
    if isinstance(corpus, Column | IterableColumn) and isinstance(corpus.source, sources):
        corpus, column = corpus.source, corpus.column_name
    if isinstance(corpus, dict):  # such as a DatasetDict
        raise InputError("corpus must not be a dictionary. Select a split, as in corpus['train'].")
    if not isinstance(corpus, sources):
        texts = list(_documents(enumerate(as_list("corpus", corpus))))
        return Dataset.from_dict({"text": texts}, Features({"text": Value("string")})), "text"
    # A transform can create other columns, and the columns of a stream can be unknown.
    if corpus.features is None or (
        isinstance(corpus, Dataset) and corpus.format["type"] == "custom"
    ):
        return corpus, column
    text_columns = [name for name, feature in corpus.features.items() if _holds_text(feature)]
    if column not in corpus.features:
        if column != "text" or len(text_columns) != 1:
            raise InputError(
                f"corpus has no column {column!r}. Select one with column= (columns with text: "
                f"{', '.join(map(repr, text_columns)) or 'none'})."
            )
        (column,) = text_columns
    return corpus.with_format(None).select_columns(column), column


def _holds_text(feature: object) -> bool:
    values = getattr(feature, "feature", feature)  # of a list
    return getattr(values, "dtype", None) in ("string", "large_string", "string_view")


def _can_keep(dataset: Any) -> bool:
    """Return True if counts can be cached next to the files of the data set."""
    from datasets import is_caching_enabled

    files = dataset.cache_files
    folder = os.path.dirname(files[0]["filename"]) or "." if files else ""
    return is_caching_enabled() and os.access(folder, os.W_OK)
