"""Base classes of scorers that score pairs of texts with an NLI model, and of their runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch

from infolm_metric.core.baselines import Baseline
from infolm_metric.core.checks import InputError
from infolm_metric.core.document_counts import check_max_length, tokenize
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.settings import NLISettings
from infolm_metric.models.checkpoints import Checkpoint
from infolm_metric.models.nli import NLI_MODEL, Labels, NLIModel, join_pairs, load_nli, read_labels
from infolm_metric.scoring.scorer import ModelRun, ModelScorer

N = TypeVar("N", bound=NLISettings)
TextPair = tuple[str, str]  # premise and hypothesis


class NLIScorer(ModelScorer[N]):
    """Base class of scorers with an NLI model."""

    run_type: ClassVar[type[NLIRun[Any]]]
    architecture = NLI_MODEL
    higher_is_better = True

    def load(self, checkpoint: Checkpoint, settings: N) -> NLIModel:
        """Load the NLI model."""
        return load_nli(checkpoint, settings)

    def make_run(self, settings: N, baseline: Baseline | None, **fields: Any) -> NLIRun[N]:
        checkpoint = self.models.checkpoint(settings)
        overhead = int(checkpoint.tokenizer.num_special_tokens_to_add(pair=True))
        limit = settings.max_length or checkpoint.limit
        check_max_length(limit, overhead, checkpoint.limit, texts=2)
        return self.run_type(
            scorer=self,
            settings=settings,
            baseline=baseline,
            checkpoint=checkpoint,
            labels=read_labels(checkpoint.name, checkpoint.config.id2label, settings.labels),
            overhead=overhead,
            limit=limit,
            **fields,
        )


@dataclass(frozen=True, kw_only=True)
class NLIRun(ModelRun[N]):
    """A run of a scorer with an NLI model.

    Attributes:
        labels: output index of each label.
        overhead: number of special tokens that the tokenizer adds to a pair.
    """

    scorer: NLIScorer[N]
    labels: Labels
    overhead: int

    def probabilities(self, pairs: Sequence[TextPair]) -> np.ndarray:
        """Return the probabilities of entailment, neutral and contradiction, float64 [pairs, 3].

        `pairs` are premises and hypotheses. Identical pairs are encoded once.
        """
        settings, labels = self.settings, self.labels
        model, cache = self.scorer.models.model(settings), self.scorer.models.cache
        distinct = list(dict.fromkeys(pairs))
        sequences = join_pairs(self.checkpoint.tokenizer, distinct, self.limit)
        by_pair = dict(zip(distinct, sequences, strict=True))
        encodings: dict[Any, Any] = {pair: cache.get((pair, labels)) for pair in by_pair.values()}
        missing = [pair for pair, row in encodings.items() if row is None]
        probabilities = model.probabilities(missing, labels, settings.rows_per_batch)
        for pair, row in zip(missing, probabilities, strict=True):
            encodings[pair] = cache.put((pair, labels), row)
        rows = torch.stack([encodings[by_pair[pair]] for pair in pairs])
        return np.asarray(rows.numpy())

    def tokens(self, texts: Iterable[str]) -> dict[str, np.ndarray]:
        """Return token ids by text, int64 [tokens] each, without special tokens or truncation."""
        distinct = list(dict.fromkeys(texts))
        tokenized = tokenize(self.checkpoint.tokenizer, distinct, None, "window")
        return dict(zip(distinct, (text.tokens for text in tokenized), strict=True))

    def lengths(self, texts: Iterable[str]) -> Iterator[int]:
        tokenized = tokenize(self.checkpoint.tokenizer, list(texts), None, "window")
        return (len(text.tokens) for text in tokenized)

    def check(self, pairs: Pairs) -> None:
        """Check the lengths of the pairs if long_text is "error"."""
        if self.settings.long_text == "error":
            for candidate, reference, size in self.too_long(pairs, self.tokens(pairs.texts)):
                raise InputError(
                    f"two texts (or their longest sentences) have {size} tokens together, more "
                    f"than max_length={self.limit!r}: {candidate!r:.60} and {reference!r:.60}. "
                    "Shorten them, or use long_text='truncate'."
                )

    def too_long(
        self, pairs: Pairs, tokens: Mapping[str, np.ndarray]
    ) -> Iterator[tuple[str, str, int]]:
        """Yield each candidate and reference that together exceed the limit, with their length."""
        for candidate, group in pairs:
            for reference in group:
                size = len(tokens[candidate]) + len(tokens[reference]) + self.overhead
                if self.limit is not None and size > self.limit:
                    yield candidate, reference, size

    def count_warnings(self, pairs: Pairs, tokens: Mapping[str, np.ndarray]) -> Counter[str]:
        """Count texts, tokens, and the texts or pairs that cause each warning."""
        counts = self.checkpoint.count_tokens([tokens[text] for text in pairs.texts])
        counts["too_long_pairs"] = sum(1 for _ in self.too_long(pairs, tokens))
        return counts

    def model_fields(self) -> dict[str, object]:
        fields = super().model_fields()
        return {"model": fields.pop("model"), "labels": self.labels.order, **fields}
