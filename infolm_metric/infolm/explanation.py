"""Why two texts score as they do: predictions by position, and each vocabulary entry's share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from infolm_metric.infolm import measures
from infolm_metric.infolm.settings import Settings


@dataclass(frozen=True)
class TextView:
    """What the model predicts for one text."""

    tokens: list[str]  # [positions]; a lone mask token for a text without a maskable one
    weights: Tensor  # float64 [positions], summing to 1
    log_predictions: Tensor  # float64 [positions, vocab], at the settings' temperature
    log_distribution: Tensor  # float64 [vocab]: their weighted mean, interpolated if asked for


class Share(NamedTuple):
    """What an entry of the vocabulary adds to a score."""

    token: str
    share: float
    in_reference: float  # its probability in the reference's distribution
    in_candidate: float
    own: bool  # it stands in one of the texts


@dataclass(frozen=True, repr=False)
class Explanation:
    """A score with what it is made of."""

    measure: str
    score: float
    signature: str
    candidate: TextView
    reference: TextView
    shares: Tensor  # float64 [vocab], >= 0, summing to the score
    vocabulary: list[str]  # [vocab]

    def __repr__(self) -> str:
        drivers = ", ".join(f"{each.token} {each.share:.3g}" for each in self.top(3))
        return f"<Explanation of {self.measure} {self.score:.6g}: {drivers}, ...>"

    def top(self, count: int = 10) -> list[Share]:
        """The entries with the largest shares, the largest first."""
        largest = self.shares.topk(min(count, len(self.shares))).indices
        own = {*self.candidate.tokens, *self.reference.tokens}
        p, q = self.reference.log_distribution.exp(), self.candidate.log_distribution.exp()
        return [
            Share(
                self.vocabulary[i],
                float(self.shares[i]),
                float(p[i]),
                float(q[i]),
                self.vocabulary[i] in own,
            )
            for i in largest.tolist()
        ]


def view_text(
    ids: np.ndarray, log_weights: np.ndarray, log_predictions: Tensor, tokenizer: Any
) -> TextView:
    """The view of a text from what the model predicts in it.

    Args:
        ids: its maskable token ids, [positions].
        log_weights: the logarithms of their weights, [positions].
        log_predictions: the model's predictions there, [positions, vocab].
        tokenizer: what spells the ids.
    """
    if not len(ids):
        ids, log_weights = np.asarray([tokenizer.mask_token_id]), np.zeros(1)
    weights = torch.from_numpy(log_weights).to(log_predictions.device)
    return TextView(
        tokenizer.convert_ids_to_tokens(ids.tolist()),
        weights.exp(),
        log_predictions,
        torch.logsumexp(log_predictions + weights[:, None], dim=0),
    )


def explain_score(
    candidate: TextView,
    reference: TextView,
    settings: Settings,
    score: float,
    signature: str,
    tokenizer: Any,
) -> Explanation:
    """The explanation of a score by the two texts' distributions."""
    (measure,) = settings.names
    shares = measures.shares(
        measure,
        reference.log_distribution,
        candidate.log_distribution,
        symmetrize=settings.symmetrize,
        alpha=settings.alpha,
        beta=settings.beta,
    )
    total = float(shares.sum())
    size = len(shares)
    names = tokenizer.convert_ids_to_tokens(list(range(min(size, len(tokenizer)))))
    return Explanation(
        measure,
        score,
        signature,
        candidate,
        reference,
        # The shares are made to add up to the very score that is shown.
        shares * (score / total) if total > 0 else shares,
        names + [""] * (size - len(names)),
    )
