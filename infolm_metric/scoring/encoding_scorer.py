"""Base classes of scorers that encode each text once and compare encodings, and of their runs."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from infolm_metric.core.baselines import Baseline
from infolm_metric.core.document_counts import Tokenize, check_max_length, count_corpus, tokenize
from infolm_metric.core.idf import IDF, CorpusStatistics
from infolm_metric.core.inputs import Pairs, check_text
from infolm_metric.core.results import ChunkScores, Result, reduce_references, warn
from infolm_metric.core.settings import EncodingSettings
from infolm_metric.models.checkpoints import Checkpoint, non_finite_error, release_memory
from infolm_metric.models.hidden_states import ENCODER, Encoder, encoded_windows
from infolm_metric.models.tokenization import WeightedText, device_limit, packed_batches
from infolm_metric.scoring.scorer import ModelRun, ModelScorer

# Maximum number of texts in a chunk of pairs, and memory for their encodings in bytes.
CHUNK_TEXTS = 1024
CHUNK_BYTES = 1 << 28
TOKEN_BYTES = 4  # approximate number of bytes of a text per token
# Tokens per forward pass with batch_size="auto", by device type. Several layers are kept.
STATES_PER_BATCH = {"cpu": 4096, "cuda": 16_384}
RELEASE_TEXTS = 100  # texts of a chunk after which freed memory is returned to the system

Texts = Sequence[WeightedText]
Encodings = Mapping[Hashable, Tensor]
E = TypeVar("E", bound=EncodingSettings)


class EncodingScorer(ModelScorer[E]):
    """Base class of scorers that compare encodings: distributions or vectors of tokens.

    A metric implements `load`, and its `EncodingRun`.
    """

    run_type: ClassVar[type[EncodingRun[Any]]]

    def make_run(self, settings: E, baseline: Baseline | None) -> EncodingRun[E]:
        checkpoint = self.models.checkpoint(settings)
        check_max_length(settings.max_length, checkpoint.template.overhead, checkpoint.positions)
        if isinstance(settings.idf, IDF):
            settings.idf.check_tokenizer(checkpoint.fingerprint, checkpoint.name)
        limit = settings.max_length or checkpoint.limit
        return self.run_type(
            scorer=self, settings=settings, baseline=baseline, checkpoint=checkpoint, limit=limit
        )


@dataclass(frozen=True, kw_only=True)
class EncodingRun(ModelRun[E]):
    """A run that encodes each text once. A metric implements `encode` and `compare`."""

    scorer: EncodingScorer[E]

    # Defined by a metric.

    @abstractmethod
    def encode(self, texts: Texts) -> Encodings:
        """Encode each distinct text once. Return the encodings by the keys that `compare` uses."""

    @abstractmethod
    def compare(
        self, candidates: Texts, references: Texts, encodings: Encodings
    ) -> dict[str, np.ndarray]:
        """Score each candidate against its reference, float64 [pairs] by score name."""

    # Texts.

    @property
    def tokenize(self) -> Tokenize:
        """Function that tokenizes texts and applies `max_length` and `long_text`.

        It does not refer to the scorer, so that worker processes do not copy the scorer.
        """
        tokenizer, long_text = self.checkpoint.tokenizer, self.settings.long_text
        return partial(tokenize, tokenizer, max_length=self.limit, long_text=long_text)

    def tokenize_and_weight(self, texts: Sequence[str], table: IDF | None) -> list[WeightedText]:
        """Tokenize texts and weight their tokens by IDF, or uniformly if `table` is None."""
        weights = None if table is None else table.weights
        distinct = list(dict.fromkeys(texts))
        rows = zip(distinct, self.tokenize(distinct), strict=True)
        weighted = {text: WeightedText.of(tokens, weights) for text, tokens in rows}
        return [weighted[text] for text in texts]

    def count_warnings(self, texts: Texts) -> Counter[str]:
        """Count texts, tokens, and the texts that cause each warning."""
        counts = self.checkpoint.count_tokens([text.text.tokens for text in texts])
        if self.settings.long_text == "truncate":
            counts["too_long"] = sum(text.text.too_long for text in texts)
        counts["zero_weight"] = sum(text.zero_weight for text in texts)
        counts["few_weighted"] = sum(text.few_weighted for text in texts)
        return counts

    # Steps of scoring.

    def lengths(self, texts: Iterable[str]) -> Iterator[int]:
        return (len(text.tokens) for text in self.tokenize(list(texts)))

    def count(
        self, texts: Mapping[str, Iterable[str]], num_proc: int | None = None
    ) -> CorpusStatistics:
        """Count document frequencies in the texts that the `idf` setting selects."""
        checkpoint, tables = self.checkpoint, dict[str, IDF]()
        label = checkpoint.fingerprint, checkpoint.name
        with self.scorer.lock:
            for side in self.settings.idf_sides:
                if corpus := texts[side]:
                    if isinstance(corpus, list) and len(corpus) == 1:
                        corpus = iter(corpus)  # as a data set, it would take longer to count
                    rows = count_corpus(corpus, self.tokenize, num_proc=num_proc)
                    tables[side] = IDF.from_counts(rows, checkpoint.tokenizer, *label)
        return CorpusStatistics(tables)

    def check(self, pairs: Pairs) -> None:
        if self.settings.long_text == "error":
            list(self.tokenize(list(pairs.texts)))

    def score_chunk(self, pairs: Pairs) -> ChunkScores:
        """Encode the texts of a chunk, and compare its candidates with their references."""
        candidates, references = self.weighted(pairs)
        encodings = self.encode([*candidates, *references])
        return self.compare_pairs(pairs, candidates, references, encodings)

    def weighted(self, pairs: Pairs) -> tuple[list[WeightedText], list[WeightedText]]:
        """Tokenize and weight the candidates and the references of a chunk."""
        candidates = self.tokenize_and_weight(pairs.predictions, self.tables[0])
        return candidates, self.tokenize_and_weight(pairs.flat_references, self.tables[1])

    def compare_pairs(
        self, pairs: Pairs, candidates: Texts, references: Texts, encodings: Encodings
    ) -> ChunkScores:
        """Compare the encoded candidates of a chunk with their references, and count warnings."""
        counts, rule = pairs.counts, self.settings.multi_reference
        owners = np.repeat(np.arange(len(pairs)), counts).tolist()
        repeated = [candidates[owner] for owner in owners]
        values = self.compare(repeated, references, encodings)
        if len(encodings) > RELEASE_TEXTS:
            release_memory()
        scores = {name: reduce_references(part, counts, rule) for name, part in values.items()}
        equal = [x.key[0] == y.key[0] for x, y in zip(repeated, references, strict=True)]
        every_or_any = "min" if rule == "mean" else "max"
        identical = reduce_references(np.asarray(equal), counts, every_or_any)
        best = [part == self.scorer.best(self.settings, name) for name, part in scores.items()]
        warnings = self.count_warnings([*candidates, *references])
        warnings["identical"] = int(identical.sum())
        warnings["indistinguishable"] = int((np.any(best, axis=0) & ~identical).sum())
        return ChunkScores({name: part.tolist() for name, part in scores.items()}, warnings)

    def score_pair(self, candidate: str, reference: str) -> tuple[Result, list[WeightedText]]:
        """Score a pair. Return the result and both texts with their token weights."""
        result = self.score(Pairs([candidate], [[reference]]))
        sides = zip((candidate, reference), self.tables, strict=True)
        return result, [self.tokenize_and_weight([text], table)[0] for text, table in sides]

    def baseline_fields(self) -> dict[str, object]:
        return {"model": self.checkpoint.baseline_identity}


@dataclass(frozen=True)
class EncodedText:
    """A text with its encoding, for explanations."""

    weighted: WeightedText
    tokens: list[str]  # [tokens], special tokens included
    encoding: Tensor  # [tokens, hidden]


class HiddenStatesScorer(EncodingScorer[E]):
    """Base class of scorers that compare hidden states. A metric implements its run."""

    architecture = ENCODER
    perfect_score_label = "identical tokens"

    def load(self, checkpoint: Checkpoint, settings: E) -> Encoder:
        return Encoder.load(checkpoint, settings)

    def score_and_encode(
        self, candidate: str, reference: str, settings: E
    ) -> tuple[Result, list[EncodedText]]:
        """Score a pair, with uniform weights unless idf is a table. Return result and encodings."""
        check_text("candidate", candidate)
        check_text("reference", reference)
        with self.lock:
            run = self.prepare(settings.with_uniform_weights())
            assert isinstance(run, HiddenStatesRun)
            result, texts = run.score_pair(candidate, reference)
            encodings = run.encode(texts)
        warn(result.counts)
        names = run.checkpoint.tokenizer.convert_ids_to_tokens
        return result, [
            EncodedText(text, names(text.text.ids.tolist()), encodings[text.key[0]])
            for text in texts
        ]


@dataclass(frozen=True, kw_only=True)
class HiddenStatesRun(EncodingRun[E]):
    """A run that encodes each text as a tensor [tokens, hidden], stored by token ids.

    A metric implements `layer_indices` and `combine`, and `compare` of `EncodingRun`.

    Attributes:
        layers: indices of the hidden states that `combine` reduces. 0 means the embeddings.
    """

    dtype: ClassVar[torch.dtype]  # of the encodings
    scorer: HiddenStatesScorer[E]
    layers: tuple[int, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", self.layer_indices(self.checkpoint.states))

    @abstractmethod
    def layer_indices(self, states: int) -> tuple[int, ...]:
        """Return the indices of the layers in a model with `states` hidden states."""

    @abstractmethod
    def combine(self, states: Sequence[Tensor]) -> Tensor:
        """Combine the states of the layers, [rows, hidden] each, into rows of encodings."""

    def chunks(self, pairs: Pairs) -> Iterator[Pairs]:
        """Divide pairs into chunks whose encodings fit in `CHUNK_BYTES`."""
        hidden = int(self.checkpoint.config.hidden_size)
        most_tokens = (self.settings.long_text == "truncate" and self.limit) or float("inf")
        # Memory for a token's row, as a fraction of CHUNK_BYTES / CHUNK_TEXTS.
        token_size = self.dtype.itemsize * hidden * CHUNK_TEXTS / CHUNK_BYTES
        return pairs.chunks(
            CHUNK_TEXTS,
            lambda text: max(1.0, token_size * min(len(text.encode()) / TOKEN_BYTES, most_tokens)),
        )

    def encode(self, texts: Texts) -> dict[Hashable, Tensor]:
        """Return the encoding of each text by its token ids, [tokens, hidden] on the CPU."""
        settings, models = self.settings, self.scorer.models
        model, options = models.model(settings), (self.limit, self.layers)
        distinct: dict[Hashable, WeightedText] = {text.key[0]: text for text in texts}
        cache = {ids: models.cache.get((ids, *options)) for ids in distinct}
        encodings = {ids: encoding for ids, encoding in cache.items() if encoding is not None}
        missing = {ids: text for ids, text in distinct.items() if ids not in encodings}
        pieces = [
            (ids, window)
            for ids, text in missing.items()
            for window in encoded_windows(text.text, self.checkpoint.template, self.limit)
        ]
        lengths = [len(window.ids) for _, window in pieces]
        most_tokens = device_limit(STATES_PER_BATCH, model.device.type)
        for groups in packed_batches(lengths, settings.rows_per_batch, most_tokens):
            tokens = [
                torch.from_numpy(np.stack([pieces[index][1].ids for index in group]))
                for group in groups
            ]
            rows = self.combine(model.states(tokens, self.layers)).cpu()
            if not rows.isfinite().all():
                raise non_finite_error("states", settings.dtype)
            indices = [index for group in groups for index in group]
            parts = rows.split_with_sizes([lengths[index] for index in indices])
            for part, index in zip(parts, indices, strict=True):
                ids, window = pieces[index]
                if ids not in encodings:
                    shape = len(missing[ids].text.ids), part.shape[1]
                    encodings[ids] = torch.empty(shape, dtype=self.dtype, device="cpu")
                encodings[ids][window.indices] = part[window.positions]
        for ids in missing:
            encodings[ids] = models.cache.put((ids, *options), encodings[ids])
        return encodings
