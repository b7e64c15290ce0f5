"""Base classes of scorers that encode each text once and compare encodings, and of their runs."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, TypeVar

import numpy as np
from torch import Tensor

from infolm_metric.core.baselines import Baseline
from infolm_metric.core.document_counts import count_corpus, count_tokens
from infolm_metric.core.idf import IDF, CorpusStatistics
from infolm_metric.core.inputs import Pairs, batches
from infolm_metric.core.results import ChunkScores, Result, reduce_references
from infolm_metric.core.scorer import CHUNK_PAIRS, Progress, Run, Scorer, no_progress
from infolm_metric.core.settings import EncodingSettings
from infolm_metric.core.tokenization import TokenizedText, WeightedText, tokenize
from infolm_metric.models.checkpoints import Architecture, Checkpoint, ModelHolder, open_checkpoint
from infolm_metric.models.out_of_domain import count_out_of_domain

CACHED_TEXTS = 1 << 14  # maximum number of cached tokenized texts
# Maximum number of texts in a chunk of pairs, and memory for their encodings in bytes.
CHUNK_TEXTS = 2048
CHUNK_BYTES = 1 << 28
TOKENIZED_DOCUMENTS = 1 << 12  # documents that are tokenized at a time

Texts = Sequence[WeightedText]
Encodings = Mapping[Hashable, Tensor]
E = TypeVar("E", bound=EncodingSettings)


class EncodingScorer(Scorer[E]):
    """Base class of scorers that compare encodings: distributions or vectors of tokens.

    A metric implements `load`, and its `EncodingRun`.
    """

    run_type: ClassVar[type[EncodingRun[Any]]]
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

    def make_run(self, settings: E, baseline: Baseline | None) -> EncodingRun[E]:
        checkpoint = self.models.checkpoint(settings)
        if isinstance(settings.idf, IDF):
            settings.idf.check_tokenizer(checkpoint.fingerprint, checkpoint.name)
        return self.run_type(
            scorer=self,
            settings=settings,
            baseline=baseline,
            checkpoint=checkpoint,
            limit=checkpoint.text_limit(settings.max_length),
        )

    # Implemented by a metric.

    def open(self, settings: E) -> Checkpoint:
        """Open the checkpoint named in the settings."""
        name = str(settings.model_name_or_path)
        return open_checkpoint(name, settings.model_revision, self.architecture)

    @abstractmethod
    def load(self, checkpoint: Checkpoint, settings: E) -> Any:
        """Load a checkpoint's model."""


@dataclass(frozen=True, kw_only=True)
class EncodingRun(Run[E]):
    """A run that encodes each text once. A metric implements `encode` and `compare`.

    Attributes:
        checkpoint: tokenizer and configuration of the model.
        limit: maximum number of tokens per text, including special tokens. None: no limit.
    """

    scorer: EncodingScorer[E]
    checkpoint: Checkpoint
    limit: int | None

    # Implemented by a metric.

    @abstractmethod
    def encode(self, texts: Texts, progress: Progress = no_progress) -> Encodings:
        """Encode each distinct text once, and return the encodings by text key."""

    @abstractmethod
    def compare(
        self, candidates: Texts, references: Texts, encodings: Encodings
    ) -> dict[str, np.ndarray]:
        """Score each candidate against its reference, float64 [pairs] by score name."""

    def compare_all(self, candidates: Texts, references: Texts, encodings: Encodings) -> np.ndarray:
        """Score all candidates against all references, float64 [candidates, references]."""
        rows = []
        for candidate in candidates:  # one at a time to limit memory
            (row,) = self.compare([candidate] * len(references), references, encodings).values()
            rows.append(row)
        return np.stack(rows)

    @property
    def block_size(self) -> int:
        """Number of candidates or references that `score_matrix` encodes at a time."""
        return CHUNK_PAIRS

    # Texts.

    def tokenize(self, texts: Iterable[str]) -> Iterator[TokenizedText]:
        """Tokenize texts and truncate them to the maximum length."""
        cache, long_text = self.scorer.tokenized, self.settings.long_text
        options = self.checkpoint.name, self.checkpoint.revision, self.limit, long_text
        keys = [(text, *options) for text in texts]
        known = {key: cache[key] for key in keys if key in cache}
        missing = [key for key in dict.fromkeys(keys) if key not in known]
        names = [key[0] for key in missing]
        rows = tokenize(self.checkpoint.tokenizer, names, self.limit, long_text)
        new = dict(zip(missing, rows, strict=True))
        if len(cache) + len(new) > CACHED_TEXTS:
            cache.clear()
        cache.update(islice(new.items(), CACHED_TEXTS))
        known |= new
        return (known[key] for key in keys)

    def tokenize_and_weight(self, texts: Sequence[str], table: IDF | None) -> list[WeightedText]:
        """Tokenize texts and weight their tokens by IDF, or uniformly if `table` is None."""
        weights = None if table is None else table.weights
        by_text = dict(zip(texts, self.tokenize(texts), strict=True))
        weighted = {text: WeightedText.of(tokens, weights) for text, tokens in by_text.items()}
        return [weighted[text] for text in texts]

    def count_warnings(self, texts: Texts) -> Counter[str]:
        """Count texts, tokens, and the texts that cause each warning."""
        tokens = np.concatenate([text.text.tokens for text in texts])
        lengths = np.asarray([len(text.log_weights) for text in texts])
        truncated = self.settings.long_text == "truncate"
        return Counter(
            texts=len(texts),
            tokens=len(tokens),
            too_long=sum(text.text.too_long for text in texts) if truncated else 0,
            empty=int((lengths == 0).sum()),
            zero_weight=sum(text.zero_weight for text in texts),
            few_weighted=sum(text.few_weighted for text in texts),
            unknown_tokens=int((tokens == self.checkpoint.tokenizer.unk_token_id).sum()),
            out_of_domain=count_out_of_domain(
                (text.text.tokens for text in texts), self.checkpoint.english
            ),
        )

    # Steps of scoring.

    def count(self, texts: Mapping[str, Iterable[str]]) -> CorpusStatistics:
        """Count document frequencies in the texts that the `idf` setting selects."""
        settings, checkpoint = self.settings, self.checkpoint
        tokenizer = checkpoint.tokenizer, checkpoint.fingerprint
        tables, processes = {}, settings.tokenize_processes or 1
        with self.scorer.lock:
            for side in settings.idf_sides:
                documents = texts[side]
                if not documents:
                    continue
                rows: Iterator[Mapping[str, Any]]
                if processes > 1:
                    length = None if settings.long_text == "window" else self.limit
                    rows = count_corpus(list(documents), *tokenizer, length, "text", processes)
                else:
                    rows = (
                        count_tokens(text.tokens for text in self.tokenize(part))
                        for part in batches(documents, TOKENIZED_DOCUMENTS)
                    )
                tables[side] = IDF.from_counts(rows, *tokenizer, checkpoint.name)
        return CorpusStatistics(tables)

    def check(self, pairs: Pairs) -> None:
        if self.settings.long_text == "error":
            for part in batches(pairs.texts, TOKENIZED_DOCUMENTS):
                self.tokenize(part)

    def score_chunk(self, pairs: Pairs, progress: Progress) -> ChunkScores:
        """Encode the texts of a chunk, and compare its candidates with their references."""
        candidates = self.tokenize_and_weight(pairs.predictions, self.tables[0])
        references = self.tokenize_and_weight(pairs.flat_references, self.tables[1])
        encodings = self.encode([*candidates, *references], progress)
        repeated = [candidates[owner] for owner in np.arange(len(pairs)).repeat(pairs.counts)]
        values = self.compare(repeated, references, encodings)
        return self.reduce(candidates, references, pairs.counts, values)

    def reduce(
        self,
        candidates: Texts,
        references: Texts,
        counts: Sequence[int],
        values: Mapping[str, np.ndarray],
    ) -> ChunkScores:
        """Reduce the scores against each reference to one score per pair, and count warnings.

        `counts` are the numbers of references, [pairs], and `values` are float64 [references].
        """
        rule = self.settings.multi_reference
        scores = {name: reduce_references(part, counts, rule) for name, part in values.items()}
        owners = np.arange(len(counts)).repeat(counts).tolist()
        equal = [
            candidates[owner].key[0] == reference.key[0]
            for owner, reference in zip(owners, references, strict=True)
        ]
        starts = np.cumsum(counts, dtype=np.int64) - np.asarray(counts)
        combine = np.logical_and if rule == "mean" else np.logical_or
        identical = combine.reduceat(equal, starts)
        best = np.any(
            [part == self.scorer.best(self.settings, name) for name, part in scores.items()], axis=0
        )
        warnings = self.count_warnings([*candidates, *references])
        warnings["identical"] = int(identical.sum())
        warnings["indistinguishable"] = int((best & ~identical).sum())
        return ChunkScores({name: part.tolist() for name, part in scores.items()}, warnings)

    def score_pair(self, candidate: str, reference: str) -> tuple[Result, list[WeightedText]]:
        """Score a pair. Return the result and both texts with their token weights."""
        result = self.score(Pairs([candidate], [[reference]]))
        sides = zip((candidate, reference), self.tables, strict=True)
        return result, [self.tokenize_and_weight([text], table)[0] for text, table in sides]

    def score_matrix(
        self, candidates: list[str], references: list[str]
    ) -> tuple[np.ndarray, Counter[str]]:
        """Score all candidates against all references, and count warnings.

        Texts are encoded in blocks to limit memory. Candidates that are not cached are encoded
        again for each block of references.
        """
        self.check(Pairs(candidates[:1], [references]))
        values = np.empty((len(candidates), len(references)))
        rows = self.tokenize_and_weight(candidates, self.tables[0])
        columns = self.tokenize_and_weight(references, self.tables[1])
        size = self.block_size
        for first in range(0, len(columns), size):
            column_block = columns[first : first + size]
            column_encodings = self.encode(column_block)
            for start in range(0, len(rows), size):
                row_block = rows[start : start + size]
                encodings = {**column_encodings, **self.encode(row_block)}
                block = self.compare_all(row_block, column_block, encodings)
                values[start : start + size, first : first + size] = block
        counts, (name,) = self.count_warnings([*rows, *columns]), self.settings.names
        best = self.scorer.best(self.settings, name)
        for text, row in zip(rows, values, strict=True):
            counts["indistinguishable"] += sum(
                columns[index].key[0] != text.key[0] for index in np.flatnonzero(row == best)
            )
        return values, counts

    def baseline_fields(self) -> dict[str, object]:
        return {"model": self.checkpoint.baseline_identity}

    def model_fields(self) -> dict[str, object]:
        return {
            "model": self.checkpoint.identity,
            "max_length": self.limit,
            "long_text": self.settings.long_text,
            "dtype": self.settings.dtype,
        }
