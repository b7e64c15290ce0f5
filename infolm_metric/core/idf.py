"""Inverse document frequencies: tables, and statistics of a corpus."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from infolm_metric.core import document_counts
from infolm_metric.core.checks import InputError, check_value
from infolm_metric.core.files import DAMAGE, write_text

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

IDF_FORMAT, IDF_VERSION = "infolm idf table", 1

# Numbers of token ids by fingerprint. Listing a large vocabulary takes up to a second.
_sizes: dict[str, int] = {}


@dataclass(frozen=True, eq=False)
class IDF:
    """Document frequencies of tokens in a corpus, and the resulting IDF weights.

    Tables are equal if their numbers of documents, frequencies and tokenizers are equal.

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
        frequency = np.array(self.document_frequency, dtype=np.int64)
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
        """IDF weights log((N + 1) / (df + 1)), float64 [vocab]: 0 for tokens in every document."""
        weights: np.ndarray = np.log((self.documents + 1) / (self.document_frequency + 1))
        weights.setflags(write=False)
        return weights

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the tokenizer, number of documents and frequencies: 12 hexadecimal digits."""
        head = [IDF_VERSION, self.tokenizer, self.documents, len(self.document_frequency)]
        counts = self.document_frequency.astype("<i8").tobytes()
        return hashlib.sha256(json.dumps(head).encode() + counts).hexdigest()[:12]

    def __add__(self, other: IDF) -> IDF:
        """Return the table of the combined corpora. Raise InputError if the tokenizers differ.

        >>> half = IDF(1, np.array([1, 0]), "5f2e")
        >>> (half + half).document_frequency.tolist()
        [2, 0]
        """
        if not isinstance(other, IDF):
            return NotImplemented
        lengths = [len(table.document_frequency) for table in (self, other)]
        if self.tokenizer != other.tokenizer or lengths[0] != lengths[1]:
            raise InputError(
                f"cannot add idf tables of different tokenizers, {self._label} and {other._label}. "
                "Create both with the same tokenizer."
            )
        return IDF(
            self.documents + other.documents,
            self.document_frequency + other.document_frequency,
            self.tokenizer,
            self.tokenizer_name,
            tuple(sorted({*self.digests, *other.digests})[: document_counts.DISTINCT]),
        )

    def check_tokenizer(self, fingerprint: str, name: str) -> None:
        """Check that the table was made with the tokenizer `name`, which has this `fingerprint`."""
        if fingerprint != self.tokenizer:
            raise InputError(
                f"idf is a table for the tokenizer {self._label}, but {name!r} has another "
                f"tokenizer ({fingerprint}). Create a table with this model (`infolm idf`, "
                "IDF.from_corpus), or set idf=False."
            )

    @property
    def _label(self) -> str:
        return f"{self.tokenizer_name!r} (fingerprint {self.tokenizer})"

    @classmethod
    def from_corpus(
        cls,
        corpus: object,
        tokenizer: PreTrainedTokenizerBase,
        *,
        max_length: int | None = None,
        column: str = "text",
        num_proc: int | None = None,
    ) -> IDF:
        """Count the document frequencies of a corpus. Each string is a document.

        Repeated strings are counted each time. If a `Dataset` is stored in files, `datasets` caches
        its counts, so that the next call does not read the texts again.

        Args:
            corpus: a sequence or iterator of strings, a `datasets.Dataset`, one of its columns, or
                a stream (`datasets.IterableDataset`). If a cell is a list, each string is a
                document.
            tokenizer: a transformers tokenizer. Special tokens that it adds are not counted.
            max_length: number of tokens, including special tokens, to which documents are
                truncated. None: no limit.
            column: column of a data set.
            num_proc: number of processes for a `Dataset` or list. None: this process.

        Returns:
            The table, with one entry per token id.

        Raises:
            InputError: an argument has the wrong type. `corpus` is empty, contains something other
                than strings or lacks the column. `max_length` is too small for one token.
                `num_proc` is less than 1.

        >>> from transformers import BertTokenizer
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "sat"]
        >>> tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(words)})
        >>> table = IDF.from_corpus(["a cat", "a cat sat", "a cat", "a a a"], tokenizer)
        >>> {word: int(table.document_frequency[i]) for i, word in enumerate(words) if i > 4}
        {'a': 4, 'cat': 3, 'sat': 1}
        """
        fingerprint = document_counts.tokenizer_fingerprint(tokenizer)
        limit = check_value("max_length", max_length, int | None)
        document_counts.check_max_length(limit, tokenizer.num_special_tokens_to_add())
        read = partial(document_counts.tokenize, tokenizer, max_length=limit, long_text="truncate")
        key = [fingerprint, limit, tokenizer.truncation_side if limit else None]
        rows = document_counts.count_corpus(corpus, read, column, num_proc, key)
        return cls.from_counts(rows, tokenizer, fingerprint, str(tokenizer.name_or_path))

    @classmethod
    def from_counts(
        cls,
        rows: Iterable[Mapping[str, Any]],
        tokenizer: PreTrainedTokenizerBase,
        fingerprint: str,
        name: str,
    ) -> IDF:
        """Create a table by adding up the counts of parts of a corpus.

        `rows` contains the result of `count_rows` for each part. `fingerprint` identifies
        `tokenizer`, and `name` is for messages. Raises InputError if there are no documents.
        """
        if fingerprint not in _sizes:
            # From the largest id, because repeated lines of a vocabulary have no token.
            _sizes[fingerprint] = 1 + max(tokenizer.get_vocab().values())
        frequency = np.zeros(_sizes[fingerprint], dtype=np.int64)
        documents, digests = 0, set[str]()
        for row in rows:
            documents += int(row["documents"][0])
            frequency[np.asarray(row["token_ids"][0], dtype=np.int64)] += row["counts"][0]
            digests |= {*map(str, row["digests"][0])}
        if not documents:
            raise InputError("corpus is empty. Pass at least one document.")
        sample = tuple(sorted(digests)[: document_counts.DISTINCT])
        return cls(documents, frequency, fingerprint, name, sample)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to the JSON file `path` atomically, replacing an existing file.

        Raises OSError if writing fails. An existing file is then unchanged.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     IDF(3, np.array([0, 2, 3]), "5f2e").save(Path(folder, "idf.json"))
        ...     IDF.load(Path(folder, "idf.json"))
        IDF(documents=3, tokenizer='5f2e', tokenizer_name='')
        """
        ids = np.flatnonzero(self.document_frequency)
        record = {
            "format": IDF_FORMAT,
            "version": IDF_VERSION,
            "fingerprint": self.fingerprint,
            "tokenizer": self.tokenizer,
            "tokenizer_name": self.tokenizer_name,
            "documents": self.documents,
            "vocabulary": len(self.document_frequency),
            "token_ids": ids.tolist(),
            "counts": self.document_frequency[ids].tolist(),
            "digests": self.digests,
        }
        write_text(path, json.dumps(record) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> IDF:
        """Load a table that `save` wrote to `path`.

        Raises OSError if the file cannot be read, and InputError if it is not a table, is damaged
        or has an unsupported version.
        """
        with suppress(*DAMAGE):
            record = json.loads(Path(path).read_bytes())
            head = (record["format"], record["version"], record["fingerprint"])
            frequency = np.zeros([record["vocabulary"]], dtype=np.int64)
            frequency[np.asarray(record["token_ids"], dtype=np.int64)] = record["counts"]
            names = (record["tokenizer"], record["tokenizer_name"])
            table = cls(record["documents"], frequency, *names, tuple(record.get("digests", ())))
            if head == (IDF_FORMAT, IDF_VERSION, table.fingerprint):
                return table
        raise InputError(
            f"{os.fspath(path)!r} is damaged or is not an idf table of version {IDF_VERSION}. "
            'Create one with IDF.from_corpus(...).save(path) or the command "infolm idf".'
        )


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
        """Minimum number of distinct documents over the sides, at most 10. 0 without documents.

        >>> table = IDF(2, np.array([2]), "5f2e", digests=("a0",))
        >>> CorpusStatistics({"references": table}).distinct_documents
        1
        """
        return min((len(table.digests) for table in self.tables.values()), default=0)
