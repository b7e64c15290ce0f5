"""Inverse document frequencies: tables, document counts and token weights."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from infolm_metric.core.checks import check_value, check_whole
from infolm_metric.core.files import write_whole
from infolm_metric.core.inputs import as_list, check_text
from infolm_metric.core.tokenization import TokenizedText, check_max_length, tokenize

FORMAT, VERSION = "infolm idf table", 1
COUNTS_VERSION = 3  # version of the counts that datasets caches in files
REMEDY = "create a table with IDF.from_corpus and save it"
PROBE = "The cat's 3rd CAFÉ, naïve   in 東京: ½ #tag 🙂\n[MASK]"
BATCH = 1000  # documents per row of counts
SLICE = 100  # documents tokenized at a time; limits memory for long documents
DISTINCT = 10  # maximum number of distinct documents that are recorded

_sizes: dict[str, int] = {}  # by fingerprint; listing a large vocabulary takes up to a second


@dataclass(frozen=True, eq=False)
class IDF:
    """Document frequencies of tokens in a corpus, and the resulting IDF weights.

    Tables are equal if their numbers of documents, frequencies and tokenizers are equal. Raises
    ValueError if a frequency is not an integer between 0 and `documents`.

    Attributes:
        documents: number of documents, at least 1.
        document_frequency: number of documents that contain each token id, int64 [vocab].
        tokenizer: fingerprint of the tokenizer.
        tokenizer_name: name of the tokenizer for messages.
        digests: hashes of up to ten distinct documents, to detect corpora that are too small.

    >>> table = IDF(3, np.array([0, 2, 3]), "5f2e")
    >>> table.weights.round(4).tolist()
    [1.3863, 0.2877, 0.0]
    """

    documents: int
    document_frequency: np.ndarray = field(repr=False)
    tokenizer: str
    tokenizer_name: str = ""
    digests: tuple[str, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        frequency = np.asarray(self.document_frequency)
        if frequency.ndim != 1 or not np.issubdtype(frequency.dtype, np.integer):
            raise ValueError(
                "document_frequency must be a one-dimensional array of integers, "
                f"got {frequency.dtype} of shape {frequency.shape}"
            )
        object.__setattr__(self, "documents", check_whole("documents", self.documents))
        frequency = frequency.astype(np.int64)
        if frequency.size and not 0 <= frequency.min() <= frequency.max() <= self.documents:
            raise ValueError(
                f"document_frequency must be between 0 and documents={self.documents}, "
                f"got values from {frequency.min()} to {frequency.max()}"
            )
        frequency.setflags(write=False)
        object.__setattr__(self, "document_frequency", frequency)

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, IDF) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __str__(self) -> str:
        """Return the label for signatures."""
        return f"table-{self.fingerprint}"

    @cached_property
    def weights(self) -> np.ndarray:
        """IDF weights log((N + 1) / (df + 1)), float64 [vocab]; 0 for tokens in every document."""
        weights: np.ndarray = np.log((self.documents + 1) / (self.document_frequency + 1))
        weights.setflags(write=False)
        return weights

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the tokenizer, number of documents and frequencies: 12 hexadecimal digits."""
        head = [VERSION, self.tokenizer, self.documents, len(self.document_frequency)]
        counts = self.document_frequency.astype("<i8").tobytes()
        return hashlib.sha256(json.dumps(head).encode() + counts).hexdigest()[:12]

    def __add__(self, other: IDF) -> IDF:
        """Return the table of the combined corpora; raise ValueError if the tokenizers differ.

        >>> half = IDF(1, np.array([1, 0]), "5f2e")
        >>> (half + half).document_frequency.tolist()
        [2, 0]
        """
        if not isinstance(other, IDF):
            return NotImplemented
        lengths = [len(table.document_frequency) for table in (self, other)]
        if self.tokenizer != other.tokenizer or lengths[0] != lengths[1]:
            raise ValueError(
                f"cannot add idf tables of different tokenizers, {self._label} and {other._label}; "
                "create both with the same tokenizer"
            )
        return IDF(
            self.documents + other.documents,
            self.document_frequency + other.document_frequency,
            self.tokenizer,
            self.tokenizer_name,
            tuple(sorted({*self.digests, *other.digests})[:DISTINCT]),
        )

    def check_tokenizer(self, fingerprint: str, name: str) -> None:
        """Raise ValueError unless the tokenizer `name` with this `fingerprint` made the table."""
        if fingerprint != self.tokenizer:
            raise ValueError(
                f"this idf table was computed with the tokenizer {self._label}, but the model uses "
                f"{_tokenizer_label(name, fingerprint)}; create a table with the model's tokenizer "
                "(IDF.from_corpus), or use the model that the table was created with"
            )

    @property
    def _label(self) -> str:
        return _tokenizer_label(self.tokenizer_name, self.tokenizer)

    @classmethod
    def from_corpus(
        cls,
        corpus: Any,
        tokenizer: Any,
        *,
        max_length: int | None = None,
        column: str = "text",
        processes: int | None = None,
    ) -> IDF:
        """Count the document frequencies of a corpus; each string is a document.

        Repeated strings are counted each time. If a `Dataset` is stored in files, `datasets` caches
        its counts, so that the next call does not read the texts again.

        Args:
            corpus: a sequence of strings, a `datasets.Dataset`, one of its columns, or a stream
                (`datasets.IterableDataset`). If a cell is a list, each string is a document.
            tokenizer: a transformers tokenizer; tokens that it flags as special are not counted.
            max_length: number of tokens, including special tokens, to which documents are
                truncated; None: no limit.
            column: column of a data set, by default "text" or else the only column with text.
            processes: number of processes for a `Dataset` or list; None: one with several threads.

        Returns:
            The table, with one entry per token id.

        Raises:
            TypeError: `corpus`, `max_length` or `processes` has a different type.
            ValueError: `corpus` is empty, contains something other than strings or lacks the
                column; `max_length` is too small for one token; `processes` is less than 1.

        >>> from transformers import BertTokenizer
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "sat"]
        >>> tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(words)})
        >>> table = IDF.from_corpus(["a cat", "a cat sat", "a cat", "a a a"], tokenizer)
        >>> {word: int(table.document_frequency[i]) for i, word in enumerate(words) if i > 4}
        {'a': 4, 'cat': 3, 'sat': 1}
        """
        fingerprint = tokenizer_fingerprint(tokenizer)
        max_length = check_value("max_length", max_length, int | None)
        check_max_length(max_length, tokenizer.num_special_tokens_to_add())
        processes = 1 if processes is None else check_whole("processes", processes)
        rows = _count(corpus, tokenizer, fingerprint, max_length, column, processes)
        return cls.from_counts(rows, tokenizer, fingerprint, str(tokenizer.name_or_path))

    @classmethod
    def from_counts(
        cls, rows: Iterable[Mapping[str, Any]], tokenizer: Any, fingerprint: str, name: str
    ) -> IDF:
        """Create a table by adding up the counts of parts of a corpus.

        `rows` contains the result of `count_tokens` for each part. `fingerprint` identifies
        `tokenizer`, and `name` is for messages. Raises ValueError if there are no documents.
        """
        size = vocabulary_size(tokenizer, fingerprint)
        documents, frequency, digests = 0, np.zeros(size, dtype=np.int64), set[str]()
        for row in rows:
            documents += int(row["documents"][0])
            frequency[np.asarray(row["token_ids"][0], dtype=np.int64)] += row["counts"][0]
            digests |= {*map(str, row["digests"][0])}
        if not documents:
            raise ValueError("corpus is empty; pass at least one document")
        sample = tuple(sorted(digests)[:DISTINCT])
        return cls(documents, frequency, fingerprint, name, sample)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to the JSON file `path` atomically, replacing an existing file.

        Raises OSError if writing fails; an existing file is then unchanged.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     IDF(3, np.array([0, 2, 3]), "5f2e").save(Path(folder, "idf.json"))
        ...     IDF.load(Path(folder, "idf.json"))
        IDF(documents=3, tokenizer='5f2e', tokenizer_name='')
        """
        ids = np.flatnonzero(self.document_frequency)
        record = {
            "format": FORMAT,
            "version": VERSION,
            "fingerprint": self.fingerprint,
            "tokenizer": self.tokenizer,
            "tokenizer_name": self.tokenizer_name,
            "documents": self.documents,
            "vocabulary": len(self.document_frequency),
            "token_ids": ids.tolist(),
            "counts": self.document_frequency[ids].tolist(),
            "digests": self.digests,
        }
        lines = (
            f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}"
            for key, value in record.items()
        )
        write_whole(path, [("{\n" + ",\n".join(lines) + "\n}\n").encode("ascii")])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> IDF:
        """Load a table that `save` wrote to `path`.

        Raises OSError if the file cannot be read, and ValueError if it is not a table, is damaged
        or has an unsupported version.
        """
        name = repr(os.fspath(path))
        try:
            record = json.loads(Path(path).read_bytes())
            frequency = np.zeros([record["vocabulary"]], dtype=np.int64)
            frequency[np.asarray(record["token_ids"], dtype=np.int64)] = record["counts"]
            tokenizer = (record["tokenizer"], record["tokenizer_name"])
            digests = tuple(map(str, record.get("digests", ())))
            table = cls(record["documents"], frequency, *tokenizer, digests)
            head = (record["format"], record["version"], record["fingerprint"])
            if head != (FORMAT, VERSION, table.fingerprint):
                raise ValueError
            return table
        except OSError as error:
            raise type(error)(
                f"cannot read the idf table {name}: {error.strerror}; check the path, or {REMEDY}"
            ) from None
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError):
            raise ValueError(
                f"{name} is damaged or is not an idf table of version {VERSION}; update "
                f"infolm-metric, or {REMEDY}"
            ) from None


# Statistics of a corpus.


@dataclass(frozen=True)
class CorpusStatistics:
    """Document frequencies of the candidates, the references, or both.

    The score of a pair depends on other pairs only through these statistics. To score a corpus in
    parts, count each part, add the statistics, and score every part with the sum.
    """

    tables: Mapping[str, IDF] = field(default_factory=dict)

    def __add__(self, other: CorpusStatistics) -> CorpusStatistics:
        """Return the statistics of the combined parts.

        >>> half = CorpusStatistics({"references": IDF(1, np.array([1, 0]), "5f2e")})
        >>> (half + CorpusStatistics() + half).tables["references"].documents
        2
        """
        total = dict(self.tables)
        for side, table in other.tables.items():
            total[side] = total[side] + table if side in total else table
        return CorpusStatistics(total)

    @property
    def distinct_documents(self) -> int:
        """Minimum number of distinct documents over the sides, at most 10; 0 without documents.

        >>> table = IDF(2, np.array([2]), "5f2e", digests=("a0",))
        >>> CorpusStatistics({"references": table}).distinct_documents
        1
        """
        return min((len(table.digests) for table in self.tables.values()), default=0)

    def idf_tables(self, settings: Any) -> tuple[IDF | None, IDF | None]:
        """Return the tables for candidates and references; None means uniform weights.

        Weights are uniform for a corpus with fewer than two distinct documents.
        """
        if isinstance(settings.idf, IDF):
            return settings.idf, settings.idf
        if not settings.idf_sides or self.distinct_documents < 2:
            return None, None
        tables = [self.tables[side] for side in settings.idf_sides]
        return tables[0], tables[-1]

    def weight_scheme(self, settings: Any) -> str:
        """Return the token weighting scheme, "idf" or "uniform"."""
        return "uniform" if self.idf_tables(settings)[0] is None else "idf"


def count_rows(
    rows: Mapping[str, Any],
    positions: Iterable[int],
    *,
    tokenizer: Any,
    max_length: int | None,
    column: str,
) -> dict[str, list[Any]]:
    """Count document frequencies in one column of a batch, in the same way as `count_tokens`."""
    if column not in rows:
        raise ValueError(
            f"corpus has no column {column!r}, only {', '.join(map(repr, rows))}; "
            "select one with column="
        )
    texts = _documents(zip(positions, rows[column], strict=True))
    return count_tokens(
        text.tokens
        for part in batches(texts, SLICE)
        for text in tokenize(tokenizer, part, max_length, "truncate")
    )


def count_tokens(documents: Iterable[np.ndarray]) -> dict[str, list[Any]]:
    """Count document frequencies, int64 [tokens] per document; return columns with one row."""
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


def _count(
    corpus: Any,
    tokenizer: Any,
    fingerprint: str,
    max_length: int | None,
    column: str,
    processes: int,
) -> Iterator[Mapping[str, Any]]:
    """Yield rows of counts; iterators and short lists are counted without `datasets`."""
    count = partial(count_rows, tokenizer=tokenizer, max_length=max_length)
    in_memory = isinstance(corpus, list | tuple)
    if isinstance(corpus, Iterator) or (in_memory and (processes == 1 or len(corpus) <= BATCH)):
        for part in batches(enumerate(corpus), BATCH):
            positions, texts = zip(*part, strict=True)
            yield count({"text": texts}, positions, column="text")
        return

    from datasets import Features, IterableDataset, List, Value

    dataset, column = _as_dataset(corpus, column)
    if isinstance(dataset, IterableDataset):
        start = 0
        for rows in dataset.iter(batch_size=BATCH):
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
    processes = min(processes, -(-len(dataset) // BATCH))  # at least one batch per process
    counts = dataset.map(
        partial(count, column=column),
        with_indices=True,
        batched=True,
        batch_size=BATCH,
        remove_columns=dataset.column_names,
        features=Features(features),
        num_proc=processes if processes > 1 else None,
        keep_in_memory=not _can_keep(dataset),
        new_fingerprint=hashlib.sha256(json.dumps(state).encode()).hexdigest()[:16],
        desc="Counting documents",
    )
    yield from counts.with_format("numpy").iter(batch_size=1)


def vocabulary_size(tokenizer: Any, fingerprint: str) -> int:
    """Return a tokenizer's number of token ids, cached by its fingerprint."""
    if fingerprint not in _sizes:
        # From the largest id, because a vocabulary with repeated lines has more ids than tokens.
        _sizes[fingerprint] = 1 + max(tokenizer.get_vocab().values())
    return _sizes[fingerprint]


def batches(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Yield lists of `size` consecutive items.

    >>> list(batches("abc", 2))
    [['a', 'b'], ['c']]
    """
    items = iter(items)
    while batch := list(islice(items, size)):
        yield batch


def _documents(rows: Iterable[tuple[int, Any]]) -> Iterator[str]:
    """Check and yield the documents in numbered rows of strings or lists of strings."""
    for position, row in rows:
        several = isinstance(row, list | tuple | np.ndarray)
        for index, text in enumerate(row if several else [row]):
            name = f"corpus[{position}]" + (f"[{index}]" if several else "")
            if not isinstance(text, str):
                raise ValueError(
                    f"{name} must be a string, got {text!r:.60} ({type(text).__name__}); "
                    "remove it, use an empty string, or select a column of strings"
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
        raise TypeError("corpus must not be a dictionary; select a split, such as corpus['train']")
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
            raise ValueError(
                f"corpus has no column {column!r}; select one with column= (columns with text: "
                f"{', '.join(map(repr, text_columns)) or 'none'})"
            )
        (column,) = text_columns
    return corpus.with_format(None).select_columns(column), column


def _holds_text(feature: Any) -> bool:
    values = getattr(feature, "feature", feature)  # of a list
    return getattr(values, "dtype", None) in ("string", "large_string", "string_view")


def _can_keep(dataset: Any) -> bool:
    """Return True if counts can be cached next to the files of the data set."""
    from datasets import is_caching_enabled

    files = dataset.cache_files
    folder = os.path.dirname(files[0]["filename"]) or "." if files else ""
    return is_caching_enabled() and os.access(folder, os.W_OK)


# Token weights of a text.


@dataclass(frozen=True)
class WeightedText:
    """Tokens of a text and their weights."""

    key: tuple[bytes, bytes]  # equal for equal tokens with equal weights
    text: TokenizedText
    log_weights: np.ndarray  # float64 [maskable]
    zero_weight: bool = False  # all IDF weights are 0, so uniform weights are used

    @property
    def few_weighted(self) -> bool:
        """True if fewer than half of the tokens have more than 1% of the largest weight."""
        least = self.log_weights.max(initial=-np.inf) + math.log(0.01)
        return 2 * int((self.log_weights > least).sum()) < len(self.log_weights)

    @classmethod
    def of(cls, text: TokenizedText, table: np.ndarray | None) -> WeightedText:
        """Weight tokens by the IDF weights in `table`, [vocab], or uniformly if it is None.

        Weights sum to 1 over the maskable positions. If all IDF weights are 0, the weights are
        uniform. The logarithm of a zero weight is -inf.
        """
        tokens = text.tokens
        weights = np.ones(len(tokens)) if table is None else table[tokens]
        zero = bool(len(tokens)) and not weights.any()
        if zero:
            weights = np.ones(len(tokens))
        with np.errstate(divide="ignore"):
            log_weights = np.log(weights / weights.sum()) if len(tokens) else np.zeros(0)
        return cls((text.ids.tobytes(), log_weights.tobytes()), text, log_weights, zero)


# Tokenizer of a table.


def tokenizer_fingerprint(tokenizer: Any) -> str:
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
        raise TypeError(
            "tokenizer must be a tokenizer of transformers, such as InfoLMScorer(...).tokenizer, "
            f"got {tokenizer!r:.60}"
        )
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


def _tokenizer_label(name: str, fingerprint: str) -> str:
    return f"{name or 'unnamed'!r} (fingerprint {fingerprint})"
