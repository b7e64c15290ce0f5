"""Corpus inverse document frequencies of a tokenizer's tokens, and the file that keeps them."""

from __future__ import annotations

import hashlib
import json
import operator
import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from infolm_metric.kernel.idf.counting import count_documents, merged
from infolm_metric.kernel.lines import write_whole

FORMAT = "infolm idf table"
VERSION = 1
LARGEST_VOCABULARY = 1 << 26  # of which the largest in use have 2^18
REMEDY = "count it again with IDF.from_corpus and save it"
PROBE = "The cat's 3rd CAFÉ, naïve   in 東京: ½ #tag 🙂\n[MASK]"

_sizes: dict[str, int] = {}  # by fingerprint; to list a large vocabulary takes most of a second


@dataclass(frozen=True, eq=False)
class IDF:
    """The document frequencies of one tokenizer's tokens in a corpus, and their inverses.

    Tables are equal if documents, frequencies and tokenizer are.

    Attributes:
        documents: how many were counted, at least 1.
        document_frequency: for each token id the number of documents that contain it, int64
            [vocab], from 0 to `documents`.
        tokenizer: the fingerprint of the tokenizer that the ids belong to.
        tokenizer_name: what to call it in messages.
        digests: stand for distinct documents, ten at most; they tell if a corpus says anything.

    Raises:
        ValueError: a frequency is not between 0 and `documents`, or no whole number.

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
        given = np.asarray(self.document_frequency)
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
            raise ValueError(
                "document_frequency must be a one-dimensional array of whole numbers, "
                f"got {given.dtype} of shape {given.shape}"
            )
        object.__setattr__(self, "documents", operator.index(self.documents))
        if self.documents < 1:
            raise ValueError(f"documents must be at least 1, got {self.documents!r}")
        frequency = given.astype(np.int64)
        if frequency.size and not 0 <= frequency.min() <= frequency.max() <= self.documents:
            raise ValueError(
                f"document_frequency must lie between 0 and documents={self.documents}, "
                f"got values from {frequency.min()} to {frequency.max()}"
            )
        object.__setattr__(self, "document_frequency", _read_only(frequency))

    def __eq__(self, other: object) -> bool:
        return self.fingerprint == other.fingerprint if isinstance(other, IDF) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __str__(self) -> str:
        """What a signature shows."""
        return f"table-{self.fingerprint}"

    @cached_property
    def weights(self) -> np.ndarray:
        """log((N + 1) / (df + 1)), float64 [vocab]: 0 for a token that every document contains."""
        return _read_only(np.log((self.documents + 1) / (self.document_frequency + 1)))

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hexadecimal digits that stand for the contents: tokenizer, documents, counts."""
        head = [VERSION, self.tokenizer, self.documents, len(self.document_frequency)]
        counts = self.document_frequency.astype("<i8").tobytes()
        return hashlib.sha256(json.dumps(head).encode() + counts).hexdigest()[:12]

    def __add__(self, other: IDF) -> IDF:
        """The table of both corpora together; raises ValueError if the tokenizers differ.

        >>> half = IDF(1, np.array([1, 0]), "5f2e")
        >>> (half + half).document_frequency.tolist()
        [2, 0]
        """
        if not isinstance(other, IDF):
            return NotImplemented
        if self.tokenizer != other.tokenizer:
            raise ValueError(
                f"cannot add idf tables of two tokenizers, {self._owner} and {other._owner}; "
                "count both with the same one"
            )
        frequency = self.document_frequency + other.document_frequency
        documents = self.documents + other.documents
        digests = merged(self.digests, other.digests)
        return IDF(documents, frequency, self.tokenizer, self.tokenizer_name, digests)

    def check_tokenizer(self, tokenizer: Any) -> None:
        """Raise ValueError unless the table was counted with this tokenizer.

        Args:
            tokenizer: one of `transformers`.

        Raises:
            ValueError: it is another, which the message names.
        """
        fingerprint = tokenizer_fingerprint(tokenizer)
        if fingerprint != self.tokenizer:
            raise ValueError(
                f"this idf table belongs to the tokenizer {self._owner}, not to "
                f"{_owner(str(tokenizer.name_or_path), fingerprint)}; count it again with "
                "IDF.from_corpus and this tokenizer, or use the model that the table belongs to"
            )

    @property
    def _owner(self) -> str:
        return _owner(self.tokenizer_name, self.tokenizer)

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
        """The table of a corpus, in which every string as given is one document, repeats included.

        The counts of a `Dataset` that lies in files are kept beside it, where `datasets` keeps
        its own: the second call reads no text.

        Args:
            corpus: a list of strings or anything like it, a `datasets.Dataset`, one of its columns,
                or a stream (`datasets.IterableDataset`). A cell that is a list of strings is as
                many documents.
            tokenizer: one of `transformers`; tokens that it flags as special do not count.
            max_length: how many tokens of a document are read, special ones included; None: all.
            column: which to read where there are columns; without one named "text", the only one
                that holds text.
            processes: share the work, each taking 1000 documents at a time; None: the tokenizer's
                own threads do.

        Returns:
            The table, of as many entries as the tokenizer has ids.

        Raises:
            TypeError: `corpus` is nothing of the above.
            ValueError: it is empty or something in it is not a string; it has no such column;
                `max_length` leaves no room for a token; `processes` is less than 1.

        >>> from transformers import BertTokenizer
        >>> words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "sat"]
        >>> tokenizer = BertTokenizer(vocab={word: i for i, word in enumerate(words)})
        >>> table = IDF.from_corpus(["a cat", "a cat sat", "a cat", "a a a"], tokenizer)
        >>> {word: int(table.document_frequency[i]) for i, word in enumerate(words) if i > 4}
        {'a': 4, 'cat': 3, 'sat': 1}
        """
        fingerprint = tokenizer_fingerprint(tokenizer)
        if fingerprint not in _sizes:
            # The largest id, because a vocabulary with repeated lines has more ids than tokens.
            _sizes[fingerprint] = 1 + max(tokenizer.get_vocab().values())
        documents, frequency, digests = count_documents(
            corpus,
            tokenizer,
            fingerprint=fingerprint,
            vocabulary=_sizes[fingerprint],
            max_length=max_length,
            column=column,
            processes=1 if processes is None else processes,
        )
        return cls(documents, frequency, fingerprint, str(tokenizer.name_or_path), digests)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the table to one JSON file, which takes the place of an older one whole.

        Args:
            path: where to.

        Raises:
            OSError: nothing can be written there; an older file is then as it was.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     IDF(3, np.array([0, 2, 3]), "5f2e").save(Path(folder, "idf.json"))
        ...     IDF.load(Path(folder, "idf.json"))
        IDF(documents=3, tokenizer='5f2e', tokenizer_name='')
        """
        target = Path(os.path.realpath(path))  # through a link, not in its place
        if not target.parent.is_dir():
            raise FileNotFoundError(
                f"cannot save the idf table as {os.fspath(path)!r}: there is no folder "
                f"{str(target.parent)!r}; make it first"
            )
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
        """The table that `save` wrote to `path`.

        Args:
            path: of the file.

        Returns:
            The table, equal to the one that was saved.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not a table, is damaged, or has a format that is not known here.
        """
        name = repr(os.fspath(path))
        try:
            record = json.loads(Path(path).read_bytes())
        except FileNotFoundError:
            raise FileNotFoundError(
                f"there is no idf table {name}; check the path, or make one with IDF.from_corpus "
                "and save it"
            ) from None
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise ValueError(f"{name} is not an idf table, or a damaged one; {REMEDY}")
        if record.get("version") != VERSION:
            raise ValueError(
                f"{name} is an idf table of version {record.get('version')!r}, and this release "
                f"reads version {VERSION}; update infolm-metric, or {REMEDY}"
            )
        try:
            if not 0 <= record["vocabulary"] <= LARGEST_VOCABULARY:
                raise ValueError  # before so much memory is asked for
            frequency = np.zeros(record["vocabulary"], dtype=np.int64)
            frequency[np.asarray(record["token_ids"], dtype=np.int64)] = record["counts"]
            owner = (record["tokenizer"], record["tokenizer_name"])
            digests = tuple(map(str, record.get("digests", ())))
            table = cls(record["documents"], frequency, *owner, digests)
            whole = table.fingerprint == record["fingerprint"]
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError):
            whole = False
        if not whole:
            raise ValueError(f"the idf table {name} is damaged; {REMEDY}")
        return table


def tokenizer_fingerprint(tokenizer: Any) -> str:
    """Sixteen hexadecimal digits that stand for all that decides a tokenizer's ids.

    Use, saving and loading do not change it; another vocabulary, normalisation or way to split
    words does. It can also change with a new release of the `tokenizers` library.

    >>> from transformers import BertTokenizer
    >>> words = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "[PAD]": 3, "[MASK]": 4, "cat": 5}
    >>> cased, lower = (BertTokenizer(vocab=words, do_lower_case=lower) for lower in (False, True))
    >>> tokenizer_fingerprint(cased) == tokenizer_fingerprint(lower)
    False
    """
    if not hasattr(tokenizer, "all_special_ids"):
        raise TypeError(
            "tokenizer must be one of transformers, such as InfoLMScorer(...).tokenizer, "
            f"got {tokenizer!r}"
        )
    special = json.dumps(sorted(tokenizer.all_special_ids))
    rules = _backend_rules if tokenizer.is_fast else _probed_rules
    return hashlib.sha256((special + rules(tokenizer)).encode()).hexdigest()[:16]


def _backend_rules(tokenizer: Any) -> str:
    """The JSON of a fast tokenizer, without the truncation and padding that its last call left."""
    backend = tokenizer.backend_tokenizer
    if backend.truncation is not None or backend.padding is not None:
        # On a copy: to change the user's own, even for a moment, would disturb other threads.
        backend = type(backend).from_str(backend.to_str())
        backend.no_truncation()
        backend.no_padding()
    return str(backend.to_str())


def _probed_rules(tokenizer: Any) -> str:
    """What can be seen of a tokenizer written in Python: its vocabulary, and how it reads PROBE."""
    vocabulary = sorted(tokenizer.get_vocab().items())
    return json.dumps([type(tokenizer).__name__, vocabulary, tokenizer(PROBE)["input_ids"]])


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _owner(name: str, fingerprint: str) -> str:
    return f"{name or 'unnamed'!r} (fingerprint {fingerprint})"
