"""BERTScore scorer, which matches each token with the most similar token in the other text.

Source: Zhang, Kishore, Wu, Weinberger and Artzi, "BERTScore: Evaluating Text Generation with BERT",
ICLR 2020. As in the package bert-score, special tokens have no weight, but other tokens can match
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from tokenizers.pre_tokenizers import ByteLevel
from torch import Tensor
from transformers import RobertaTokenizer

from infolm_metric.bertscore.explanation import Explanation, Match
from infolm_metric.bertscore.settings import SCORES, BERTScoreSettings
from infolm_metric.models.checkpoints import Checkpoint
from infolm_metric.models.tokenization import WeightedText
from infolm_metric.scoring.encoding_scorer import (
    EncodedText,
    Encodings,
    HiddenStatesRun,
    HiddenStatesScorer,
    Texts,
)


@dataclass(frozen=True, kw_only=True)
class BERTScoreRun(HiddenStatesRun[BERTScoreSettings]):
    """A call of BERTScore. Encodings are unit vectors, float32 [tokens, hidden], by token ids."""

    dtype = torch.float32

    def layer_indices(self, states: int) -> tuple[int, ...]:
        return (self.settings.index(states),)

    def combine(self, states: Sequence[Tensor]) -> Tensor:
        """Return the normalized states of the layer, float32 [rows, hidden]."""
        (rows,) = states
        return torch.nn.functional.normalize(rows.float(), dim=-1)

    def compare(
        self, candidates: Texts, references: Texts, encodings: Encodings
    ) -> dict[str, np.ndarray]:
        """Compute the requested scores, float64 [pairs], once per distinct pair."""
        pairs = {(x.key, y.key): (x, y) for x, y in zip(candidates, references, strict=True)}
        scores = {
            keys: pair_scores(x, y, similarities(encodings[x.key[0]], encodings[y.key[0]]))
            for keys, (x, y) in pairs.items()
        }
        rows = [scores[x.key, y.key] for x, y in zip(candidates, references, strict=True)]
        columns = dict(zip(SCORES, np.asarray(rows).T, strict=True))
        return {name: columns[name] for name in self.settings.names}


class BERTScorer(HiddenStatesScorer[BERTScoreSettings]):
    """BERTScore scorer, which loads the model on first use and keeps it.

    `settings` is a `BERTScoreSettings` object, or None for the defaults. Keyword arguments override
    single settings, here and in the methods that score. Invalid arguments raise InputError before
    the model is loaded. If the model cannot be found, OSError is raised.

    >>> scorer = BERTScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["The cat sat down."], ["The cat sat down."], score=["f1", "recall"])
    >>> result.scores
    {'f1': [1.0], 'recall': [1.0]}
    """

    settings_type = BERTScoreSettings
    run_type = BERTScoreRun
    higher_is_better = True

    def open(self, settings: BERTScoreSettings) -> Checkpoint:
        """Open the encoder's checkpoint. RoBERTa's tokenizer adds a space before the first word.

        This is how bert-score tokenizes with transformers 4, which all published scores use. With
        transformers 5, bert-score requests the space, but the tokenizer ignores the request.
        """
        checkpoint = super().open(settings)
        tokenizer = checkpoint.tokenizer
        if isinstance(tokenizer, RobertaTokenizer):
            splitter = tokenizer.backend_tokenizer.pre_tokenizer
            if isinstance(splitter, ByteLevel):
                splitter.add_prefix_space = True
        return checkpoint

    def bounds(self, settings: BERTScoreSettings, name: str) -> tuple[float, float]:
        """Return the bounds of a cosine similarity."""
        return -1.0, 1.0

    def explain(self, candidate: str, reference: str, **changed: object) -> Explanation:
        """Explain the score of `candidate` against `reference` by the best match of each token.

        Token weights are uniform unless idf is a table (`IDF`). `changed` overrides settings for
        this call.

        >>> scorer = BERTScorer(model_name_or_path="bundled")
        >>> match = scorer.explain("A dog slept.", "The cat was asleep.").candidate[1]
        >>> match.token, match.match
        ('dog', 'cat')
        """
        result, (x, y) = self.score_and_encode(
            candidate, reference, self.settings.replace(**changed)
        )
        values = similarities(x.encoding, y.encoding)
        scores = {name: column[0] for name, column in result.scores.items()}
        return Explanation(scores, result.signature, matches(x, y, values), matches(y, x, values.T))


def similarities(x: Tensor, y: Tensor) -> np.ndarray:
    """Return the cosine similarities of unit vectors, float64 [n, m].

    Pairs are multiplied one at a time, so that a score does not depend on the other pairs.

    >>> similarities(torch.eye(2), torch.tensor([[0.6, 0.8]])).round(3)
    array([[0.6],
           [0.8]])
    """
    values = np.clip(x.numpy() @ y.numpy().T, -1.0, 1.0).astype(np.float64)
    if x is y:  # identical texts score exactly 1, regardless of rounding
        np.fill_diagonal(values, 1.0)
    return values


def pair_scores(x: WeightedText, y: WeightedText, values: np.ndarray) -> tuple[float, float, float]:
    """Return F1, precision and recall of a candidate `x` and a reference `y`.

    `values` are the similarities of all tokens, [x's tokens, y's tokens]. Texts without tokens
    score 1 if both are empty, and otherwise 0.
    """
    if not (len(x.log_weights) and len(y.log_weights)):
        best = float(len(x.log_weights) == len(y.log_weights))
        return best, best, best
    precision, recall = weighted_mean(x, values.max(1)), weighted_mean(y, values.max(0))
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    # A harmonic mean of numbers with different signs can be arbitrarily large.
    return min(max(f1, min(precision, recall)), max(precision, recall)), precision, recall


def weighted_mean(text: WeightedText, values: np.ndarray) -> float:
    """Return the weighted mean of `values` [tokens] over the tokens that are not special."""
    weights = np.exp(text.log_weights)
    return float((weights * values[text.text.maskable]).sum() / weights.sum())


def matches(x: EncodedText, y: EncodedText, values: np.ndarray) -> list[Match]:
    """Return the best match in `y` of each token in `x`, given all similarities."""
    rows = np.flatnonzero(x.weighted.text.maskable)
    positions = {int(row): at for at, row in enumerate(np.flatnonzero(y.weighted.text.maskable))}
    best = values[rows].argmax(1).tolist()
    weights = np.exp(x.weighted.log_weights).tolist()
    return [
        Match(
            x.tokens[row], weight, y.tokens[other], positions.get(other), float(values[row, other])
        )
        for row, weight, other in zip(rows.tolist(), weights, best, strict=True)
    ]
