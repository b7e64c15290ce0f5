"""Base class of scorers that encode each text once and compare encodings."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from infolm_metric.core.idf import IDF, CorpusStatistics, WeightedText, batches, count_tokens
from infolm_metric.core.inputs import Pairs, check_text
from infolm_metric.core.models import Architecture, Checkpoint, ModelHolder, open_model
from infolm_metric.core.out_of_domain import count_out_of_domain
from infolm_metric.core.results import ChunkScores, Result
from infolm_metric.core.scorer import CHUNK, Progress, Scorer, no_progress
from infolm_metric.core.tokenization import TokenizedText, tokenize

KEPT_TEXTS = 1 << 14  # maximum number of cached tokenized texts
SLICE = 1 << 12  # documents that are tokenized at a time

Texts = Sequence[WeightedText]
Encodings = Mapping[Hashable, Tensor]


class EncodingScorer(Scorer):
    """Base class of scorers that compare encodings: distributions (InfoLM) or points (BaryScore).

    A metric implements `load`, `encode` and `compare`. Its settings extend `ModelSettings` with a
    field `idf`.
    """

    architecture: ClassVar[Architecture]

    def unload(self) -> None:
        with self.lock:  # not during another thread's call
            self.models = ModelHolder(self.open, self.load)
            self.tokenized: dict[tuple[Any, ...], TokenizedText] = {}

    @property
    def tokenizer(self) -> Any:
        """The model's tokenizer, for example for `IDF.from_corpus`."""
        with self.lock:
            return self.models.checkpoint(self.settings).tokenizer

    # Implemented by a metric.

    def open(self, settings: Any) -> Checkpoint:
        """Open the checkpoint named in the settings."""
        return open_model(settings, self.architecture)

    @abstractmethod
    def load(self, checkpoint: Checkpoint, settings: Any) -> Any:
        """Load a checkpoint's model."""

    @abstractmethod
    def encode(self, texts: Texts, settings: Any, progress: Progress = no_progress) -> Encodings:
        """Encode each distinct text once, and return the encodings by text key."""

    @abstractmethod
    def compare(
        self, candidates: Texts, references: Texts, encodings: Encodings, settings: Any
    ) -> dict[str, np.ndarray]:
        """Score each candidate against its reference; return float64 [pairs] by score name."""

    def compare_all(
        self, candidates: Texts, references: Texts, encodings: Encodings, settings: Any
    ) -> np.ndarray:
        """Score all candidates against all references, float64 [candidates, references]."""
        rows = []
        for candidate in candidates:  # one at a time to limit memory
            repeats = [candidate] * len(references)
            (row,) = self.compare(repeats, references, encodings, settings).values()
            rows.append(row)
        return np.stack(rows)

    def block_size(self, settings: Any) -> int:
        """Return the number of candidates or references that `score_matrix` encodes at a time."""
        return CHUNK

    # Texts.

    def tokenize(self, texts: Iterable[str], settings: Any) -> Iterator[TokenizedText]:
        """Tokenize texts and truncate them to the maximum length."""
        checkpoint = self.models.checkpoint(settings)
        limit = checkpoint.text_limit(settings.max_length)
        options = checkpoint.name, checkpoint.revision, limit, settings.long_text
        keys = [(text, *options) for text in texts]
        known = {key: self.tokenized[key] for key in keys if key in self.tokenized}
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        rows = tokenize(
            checkpoint.tokenizer, [key[0] for key in missing], limit, settings.long_text
        )
        new = dict(zip(missing, rows, strict=True))
        if len(self.tokenized) + len(new) > KEPT_TEXTS:
            self.tokenized = {}
        self.tokenized.update(islice(new.items(), KEPT_TEXTS))
        known |= new
        return (known[key] for key in keys)

    def tokenize_and_weight(
        self, texts: Sequence[str], table: IDF | None, settings: Any
    ) -> list[WeightedText]:
        """Tokenize texts and weight their tokens by IDF, or uniformly if `table` is None."""
        weights = None if table is None else table.weights
        by_text = dict(zip(texts, self.tokenize(texts, settings), strict=True))
        weighted = {text: WeightedText.of(tokens, weights) for text, tokens in by_text.items()}
        return [weighted[text] for text in texts]

    def count_warnings(self, texts: Texts, settings: Any) -> Counter[str]:
        """Count texts, tokens, and the texts that cause each warning."""
        checkpoint = self.models.checkpoint(settings)
        tokens = np.concatenate([text.text.tokens for text in texts])
        lengths = np.asarray([len(text.log_weights) for text in texts])
        truncated = settings.long_text == "truncate"
        return Counter(
            texts=len(texts),
            tokens=len(tokens),
            too_long=sum(text.text.too_long for text in texts) if truncated else 0,
            empty=int((lengths == 0).sum()),
            zero_weight=sum(text.zero_weight for text in texts),
            few_weighted=sum(text.few_weighted for text in texts),
            unknown_tokens=int((tokens == checkpoint.tokenizer.unk_token_id).sum()),
            out_of_domain=count_out_of_domain(
                (text.text.tokens for text in texts), checkpoint.english
            ),
        )

    # Steps of scoring.

    def count(self, texts: Mapping[str, Iterable[str]], settings: Any) -> CorpusStatistics:
        """Count document frequencies in the texts that the `idf` setting selects."""
        tables = {}
        for side in settings.idf_sides:
            documents = texts[side]
            if not documents:
                continue
            checkpoint = self.models.checkpoint(settings)
            if (settings.tokenize_processes or 1) > 1:
                limit = checkpoint.text_limit(settings.max_length)
                table = IDF.from_corpus(
                    list(documents),
                    checkpoint.tokenizer,
                    max_length=None if settings.long_text == "window" else limit,
                    processes=settings.tokenize_processes,
                )
                tables[side] = replace(table, tokenizer_name=checkpoint.name)
            else:
                rows = (
                    count_tokens(text.tokens for text in self.tokenize(part, settings))
                    for part in batches(documents, SLICE)
                )
                tables[side] = IDF.from_counts(
                    rows, checkpoint.tokenizer, checkpoint.fingerprint, checkpoint.name
                )
        return CorpusStatistics(tables)

    def check(self, pairs: Pairs, settings: Any, statistics: CorpusStatistics) -> None:
        checkpoint = self.models.checkpoint(settings)
        if isinstance(settings.idf, IDF):
            settings.idf.check_tokenizer(checkpoint.fingerprint, checkpoint.name)
        checkpoint.text_limit(settings.max_length)
        if settings.long_text == "error":
            for part in batches(pairs.texts, SLICE):
                self.tokenize(part, settings)

    def score_chunk(
        self, pairs: Pairs, settings: Any, statistics: CorpusStatistics, progress: Progress
    ) -> ChunkScores:
        """Encode the texts of a chunk, and compare its candidates with their references."""
        tables = statistics.idf_tables(settings)
        candidates = self.tokenize_and_weight(pairs.predictions, tables[0], settings)
        references = self.tokenize_and_weight(pairs.flat_references, tables[1], settings)
        encodings = self.encode([*candidates, *references], settings, progress)
        repeated = [candidates[owner] for owner in np.arange(len(pairs)).repeat(pairs.counts)]
        values = self.compare(repeated, references, encodings, settings)
        return self.reduce(candidates, references, pairs.counts, values, settings)

    def reduce(
        self,
        candidates: Texts,
        references: Texts,
        counts: Sequence[int],
        values: Mapping[str, np.ndarray],
        settings: Any,
    ) -> ChunkScores:
        """Reduce the scores against each reference to one score per pair, and count warnings.

        `counts` are the numbers of references, [pairs], and `values` are float64 [references].
        """
        rule = settings.multi_reference
        scores = {name: reduce_references(part, counts, rule) for name, part in values.items()}
        owners = np.arange(len(counts)).repeat(counts).tolist()
        equal = [
            candidates[owner].key[0] == reference.key[0]
            for owner, reference in zip(owners, references, strict=True)
        ]
        starts = np.cumsum(counts, dtype=np.int64) - np.asarray(counts)
        combine = np.logical_and if rule == "mean" else np.logical_or
        identical = combine.reduceat(equal, starts)
        best = np.any([part == self.best(settings, name) for name, part in scores.items()], axis=0)
        warnings = self.count_warnings([*candidates, *references], settings)
        warnings["identical"] = int(identical.sum())
        warnings["indistinguishable"] = int((best & ~identical).sum())
        return ChunkScores({name: part.tolist() for name, part in scores.items()}, warnings)

    def score_pair(
        self, candidate: Any, reference: Any, settings: Any
    ) -> tuple[Result, list[WeightedText]]:
        """Check and score a pair; return the result and both texts with their token weights."""
        check_text("candidate", candidate)
        check_text("reference", reference)
        pairs = Pairs([candidate], [[reference]])
        statistics = self.count(pairs.texts_by_side, settings)
        result = self.score_part(pairs, settings, statistics)
        sides = zip((candidate, reference), statistics.idf_tables(settings), strict=True)
        texts = [self.tokenize_and_weight([text], table, settings)[0] for text, table in sides]
        return result, texts

    def score_matrix(
        self,
        candidates: list[str],
        references: list[str],
        settings: Any,
        statistics: CorpusStatistics,
    ) -> tuple[np.ndarray, Counter[str]]:
        """Score all candidates against all references, and count warnings.

        Texts are encoded in blocks to limit memory. Candidates that are not cached are encoded
        again for each block of references.
        """
        self.check(Pairs(candidates[:1], [references]), settings, statistics)
        values = np.empty((len(candidates), len(references)))
        tables = statistics.idf_tables(settings)
        rows = self.tokenize_and_weight(candidates, tables[0], settings)
        columns = self.tokenize_and_weight(references, tables[1], settings)
        size = self.block_size(settings)
        for first in range(0, len(columns), size):
            column_block = columns[first : first + size]
            column_encodings = self.encode(column_block, settings)
            for start in range(0, len(rows), size):
                row_block = rows[start : start + size]
                encodings = {**column_encodings, **self.encode(row_block, settings)}
                block = self.compare_all(row_block, column_block, encodings, settings)
                values[start : start + size, first : first + size] = block
        counts, (name,) = self.count_warnings([*rows, *columns], settings), settings.names
        for text, row in zip(rows, values, strict=True):
            best = row == self.best(settings, name)
            counts["indistinguishable"] += sum(
                columns[index].key[0] != text.key[0] for index in np.flatnonzero(best)
            )
        return values, counts

    def model_fields(self, settings: Any, statistics: CorpusStatistics | None) -> dict[str, object]:
        checkpoint = self.models.checkpoint(settings)
        return {
            "model": checkpoint.identity,
            "max_length": checkpoint.text_limit(settings.max_length),
            "long_text": settings.long_text,
            "dtype": settings.dtype,
        }


def reduce_references(values: np.ndarray, counts: Sequence[int], rule: str) -> np.ndarray:
    """Reduce the scores against each pair's references to one score, [references] -> [pairs].

    `rule` is "min" or "mean".

    >>> reduce_references(np.array([0.5, 0.25, 1.0]), [2, 1], "min")
    array([0.25, 1.  ])
    """
    starts = np.cumsum(counts, dtype=np.int64) - np.asarray(counts)
    closest: np.ndarray = np.minimum.reduceat(values, starts)
    if rule == "min":
        return closest
    # Clipped, because rounding can move a mean outside the range of its values.
    mean = np.add.reduceat(values / np.repeat(counts, counts), starts)
    return np.clip(mean, closest, np.maximum.reduceat(values, starts))
