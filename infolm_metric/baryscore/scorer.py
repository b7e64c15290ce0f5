"""BaryScore scorer, which compares texts as weighted points by optimal transport.

Each token is a point, the mean of its normalized states over the chosen layers. These means replace
the Wasserstein barycenter of the layers: with the same token weights in every layer, they are a
fixed point of the barycenter iteration (Cuturi and Doucet 2014).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from infolm_metric.baryscore import transport
from infolm_metric.baryscore.explanation import Explanation, explain_score, token_points
from infolm_metric.baryscore.settings import BaryScoreSettings
from infolm_metric.baryscore.transport import WeightedPoints
from infolm_metric.scoring.encoding_scorer import (
    Encodings,
    HiddenStatesRun,
    HiddenStatesScorer,
    Texts,
)


@dataclass(frozen=True, kw_only=True)
class BaryScoreRun(HiddenStatesRun[BaryScoreSettings]):
    """A call of BaryScore. Encodings are points, float64 [tokens, hidden], by token ids."""

    dtype = torch.float64

    def layer_indices(self, states: int) -> tuple[int, ...]:
        return self.settings.indices(states)

    def combine(self, states: Sequence[Tensor]) -> Tensor:
        """Return the mean of the normalized states over the layers, float64 [rows, hidden]."""
        units = (torch.nn.functional.normalize(rows.double(), dim=-1) for rows in states)
        return functools.reduce(torch.add, units) / len(states)

    def compare(
        self, candidates: Texts, references: Texts, encodings: Encodings
    ) -> dict[str, np.ndarray]:
        """Compute the minimum transport costs, float64 [pairs], once per distinct pair."""
        clouds = {
            text.key: WeightedPoints.of(
                token_points(text.text, encodings[text.key[0]]), text.log_weights
            )
            for text in {text.key: text for text in (*candidates, *references)}.values()
        }
        pairs = [(x.key, y.key) for x, y in zip(candidates, references, strict=True)]
        # Identical texts score exactly 0, regardless of rounding.
        with transport.silent_solver():
            distances = {
                (x, y): 0.0 if x == y else transport.squared_distance(clouds[x], clouds[y])
                for x, y in dict.fromkeys(pairs)
            }
        return {self.settings.metric: np.asarray([distances[pair] for pair in pairs])}


class BaryScorer(HiddenStatesScorer[BaryScoreSettings]):
    """BaryScore scorer. The model is loaded on first use and kept.

    `settings` is a `BaryScoreSettings` object, or None for the defaults. Keyword arguments override
    single settings, here and in the methods that score. Invalid arguments raise InputError before
    the model is loaded. If the model cannot be found, OSError is raised.

    >>> scorer = BaryScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["The cat sat down."], ["The cat sat down."])
    >>> result.scores
    {'baryscore': [0.0]}
    """

    settings_type = BaryScoreSettings
    run_type = BaryScoreRun

    def bounds(self, settings: BaryScoreSettings, name: str) -> tuple[float, float]:
        """Return the bounds: 0 for identical points, and the squared diameter of the unit ball."""
        return 0.0, transport.LARGEST_COST

    def explain(self, candidate: str, reference: str, **changed: object) -> Explanation:
        """Explain the score of `candidate` against `reference` using the optimal transport plan.

        Token weights are uniform unless idf is a table (`IDF`). `changed` overrides settings for
        this call.

        >>> scorer = BaryScorer(model_name_or_path="bundled", idf=False)
        >>> explanation = scorer.explain("A cat sat.", "The cat sat.")
        >>> explanation.candidate.tokens[explanation.moves()[0].candidate]
        'a'
        """
        settings = self.settings.replace(**changed)
        result, (x, y) = self.score_and_encode(candidate, reference, settings)
        return explain_score(x, y, result.scores[settings.metric][0], result.signature)
