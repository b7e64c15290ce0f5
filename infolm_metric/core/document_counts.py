"""Tokenized texts, and document frequencies of a corpus, counted with `datasets`."""

from __future__ import annotations

import hashlib
import json
import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from infolm_metric.core.checks import InputError, check_at_least, check_value
from infolm_metric.core.inputs import as_list, batches, check_text, check_texts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PROBE = "The cat's 3rd CAFÉ, naïve   in 東京: ½ #tag 🙂\n[MASK]"
TEXTS_PER_STEP = 100  # texts tokenized at a time, to limit memory for long texts
COUNTS_VERSION = 3  # version of the counts that datasets caches in files
DOCUMENTS_PER_ROW = 1000  # documents per row of counts
DISTINCT = 10  # maximum number of distinct documents that are recorded
# Lock of the progress bars of datasets, which are switched on and off for all threads.
_PROGRESS_BARS = threading.Lock()


@dataclass(frozen=True)
class TokenizedText:
    """Token ids of a text, including special tokens, after truncation."""

    ids: np.ndarray  # int64 [tokens]
    maskable: np.ndarray  # bool [tokens]
    too_long: bool = False  # exceeded the maximum length before truncation

    @property
    def tokens(self) -> np.ndarray:
        """Ids of the maskable tokens, int64 [maskable]."""
        tokens: np.ndarray = self.ids[self.maskable]
        return tokens


# Function that tokenizes a list of texts.
Tokenize = Callable[[list[str]], Iterable[TokenizedText]]


def check_max_length(
    max_length: int | None, special_tokens: int, limit: int | None = None, texts: int = 1
) -> None:
    """Check that `max_length` is within the limit and leaves room for a token per text."""
    least, most = special_tokens + texts, math.inf if limit is None else limit
    if max_length is not None and not least <= max_length <= most:
        most_words = f" and at most {most}, the model's limit" if limit else ""
        raise InputError(
            f"max_length must be at least {least} (a token per text and {special_tokens} special "
            f"tokens){most_words}, got {max_length!r}",
            setting="max_length",
        )


def tokenize(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], max_length: int | None, long_text: str
) -> Iterator[TokenizedText]:
    """Tokenize texts without leading and trailing whitespace. `max_length` includes special tokens.

    Positions that the tokenizer flags as special are not maskable. Unknown tokens and special
    strings in the text are maskable. Depending on `long_text`, texts longer than `max_length` are
    truncated ("truncate"), returned whole ("window") or rejected with an InputError ("error").
    """
    for part in batches(texts, TEXTS_PER_STEP):
        encoded = tokenizer(
            [text.strip() for text in part],
            return_special_tokens_mask=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            # Truncated below, because truncation by the tokenizer changes state that threads share.
            truncation=False,
            padding=False,
            verbose=False,
        )
        columns = encoded["input_ids"], encoded["special_tokens_mask"]
        for text, numbers, special in zip(part, *columns, strict=True):
            ids, maskable = np.asarray(numbers, dtype=np.int64), ~np.asarray(special, dtype=bool)
            surplus = 0 if max_length is None else max(0, len(ids) - max_length)
            if surplus and long_text == "error":
                raise InputError(
                    f"texts must have at most max_length={max_length} tokens, got {len(ids)}: "
                    f"{text!r:.60}. Shorten the text, or set long_text='truncate'."
                )
            if surplus and long_text == "truncate":
                positions = np.flatnonzero(maskable)
                left = tokenizer.truncation_side == "left"
                start = positions[0] if left else positions[-1] + 1 - surplus
                cut = slice(start, start + surplus)
                ids, maskable = np.delete(ids, cut), np.delete(maskable, cut)
            yield TokenizedText(ids, maskable, surplus > 0)


def tokenizer_fingerprint(tokenizer: PreTrainedTokenizerBase) -> str:
    """Return a hash of everything that determines a tokenizer's output, 16 hexadecimal digits.

    The hash depends on vocabulary, normalization and word splitting, and possibly on the version of
    the `tokenizers` library. It does not change when a tokenizer is used, saved or loaded.

    >>> from transformers import BertTokenizer
    >>> words = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4, "cat": 5}
    >>> cased, lower = (BertTokenizer(vocab=words, do_lower_case=lower) for lower in (False, True))
    >>> tokenizer_fingerprint(cased) == tokenizer_fingerprint(lower)
    False
    """
    if not hasattr(tokenizer, "all_special_ids"):
        raise InputError(f"tokenizer must be a tokenizer of transformers, got {tokenizer!r:.60}")
    if tokenizer.is_fast:
        backend = tokenizer.backend_tokenizer
        if backend.truncation is not None or backend.padding is not None:  # from its last call
            # On a copy, because changing the user's tokenizer could affect other threads.
            backend = type(backend).from_str(backend.to_str())
            backend.no_truncation()
            backend.no_padding()
        rules = backend.to_str()
    else:  # written in Python: hash its vocabulary and the ids of PROBE
        vocabulary = sorted(tokenizer.get_vocab().items())
        rules = json.dumps([type(tokenizer).__name__, vocabulary, tokenizer(PROBE)["input_ids"]])
    special = json.dumps(sorted(tokenizer.all_special_ids))
    return hashlib.sha256((special + rules).encode()).hexdigest()[:16]


def count_corpus(
    corpus: Any,
    read: Tokenize,
    column: str = "text",
    num_proc: int | None = None,
    key: Sequence[object] = (),
) -> Iterator[Mapping[str, Any]]:
    """Yield rows of counts. Streams and iterators are counted batch by batch.

    `read` tokenizes a list of texts. Counts of data sets in files are cached by `key`, if any.
    """
    check_at_least("num_proc", check_value("num_proc", num_proc, int | None), 1)
    if isinstance(corpus, Iterator):
        column, parts = "text", ({"text": part} for part in batches(corpus, DOCUMENTS_PER_ROW))
    else:
        from datasets import IterableDataset  # the import takes half a second

        dataset, column = _as_dataset(corpus, column)
        if not isinstance(dataset, IterableDataset):
            yield from _count_dataset(dataset, read, column, num_proc, key)
            return
        parts = dataset.iter(batch_size=DOCUMENTS_PER_ROW)
    start = 0
    for rows in parts:
        stop = start + len(next(iter(rows.values())))
        yield count_rows(rows, range(start, stop), read=read, column=column)
        start = stop


def _count_dataset(
    dataset: Any, read: Tokenize, column: str, num_proc: int | None, key: Sequence[object]
) -> Iterator[Mapping[str, Any]]:
    """Count the documents of a data set with `map`, which caches the counts of files."""
    from datasets import Features, List, Value, is_caching_enabled

    numbers = List(Value("int32"))
    features = {"documents": Value("int64"), "token_ids": numbers, "counts": numbers}
    features["digests"] = List(Value("string"))
    files = [file["filename"] for file in dataset.cache_files]
    cached = bool(key and files) and is_caching_enabled()
    # Explicit, because datasets would hash the tokenizer, which changes with use.
    state = json.dumps([COUNTS_VERSION, dataset._fingerprint, column, *key])
    with nullcontext() if files else _without_progress_bars():
        counts = dataset.map(
            partial(count_rows, read=read, column=column),
            with_indices=True,
            batched=True,
            batch_size=DOCUMENTS_PER_ROW,
            remove_columns=dataset.column_names,
            features=Features(features),
            num_proc=num_proc,
            keep_in_memory=not (cached and os.access(os.path.dirname(files[0]) or ".", os.W_OK)),
            new_fingerprint=hashlib.sha256(state.encode()).hexdigest()[:16],
            desc="Counting documents",
        )
    yield from counts.with_format("numpy").iter(batch_size=1)


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Switch the progress bars of datasets off, and on again if they were on."""
    from datasets import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    with _PROGRESS_BARS:
        enabled = not are_progress_bars_disabled()
        disable_progress_bars()
        try:
            yield
        finally:
            if enabled:
                enable_progress_bars()


def count_rows(
    rows: Mapping[str, Any], positions: Iterable[int], *, read: Tokenize, column: str
) -> dict[str, list[Any]]:
    """Count document frequencies in one column of a batch. Return columns with one row."""
    if column not in rows:
        raise InputError(
            f"corpus has no column {column!r}, only {', '.join(map(repr, rows))}. "
            "Select one with column=NAME."
        )
    distinct_tokens, digests = [np.zeros(0, dtype=np.int64)], set[str]()
    texts = _documents(zip(positions, rows[column], strict=True))
    for tokens in (text.tokens for text in read(list(texts))):
        distinct_tokens.append(np.unique(tokens))
        digests.add(hashlib.sha256(tokens.tobytes()).hexdigest()[:16])
    ids, counts = np.unique(np.concatenate(distinct_tokens), return_counts=True)
    return {
        "documents": [len(distinct_tokens) - 1],
        "token_ids": [ids],
        "counts": [counts],
        "digests": [sorted(digests)[:DISTINCT]],
    }


def _documents(rows: Iterable[tuple[int, Any]]) -> Iterator[str]:
    """Check and yield the documents in numbered rows of strings or lists of strings."""
    for position, row in rows:
        if isinstance(row, list | tuple | np.ndarray):
            yield from check_texts(f"corpus[{position}]", row)
        else:
            check_text(f"corpus[{position}]", row)
            yield row


def _as_dataset(corpus: Any, column: str) -> tuple[Any, str]:
    """Return the corpus as a data set, and the name of its text column."""
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
    transformed = isinstance(corpus, Dataset) and corpus.format["type"] == "custom"
    if transformed or column not in (corpus.features or ()):
        return corpus, column
    return corpus.with_format(None).select_columns(column), column
