"""Why two texts score as they do: predictions by position, and each vocabulary entry's share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from torch import Tensor

from infolm_metric.core.settings import check_whole
from infolm_metric.infolm import measures
from infolm_metric.infolm.settings import InfoLMSettings


@dataclass(frozen=True)
class TextView:
    """What the model predicts for one text.

    Attributes:
        tokens: [positions]; a lone mask token for a text without a maskable one.
        weights: float64 [positions], summing to 1.
        log_predictions: float64 [positions, vocab], at the settings' temperature.
        log_distribution: their weighted mean, interpolated if asked for, float64 [vocab].
    """

    tokens: list[str]
    weights: Tensor
    log_predictions: Tensor
    log_distribution: Tensor


class Share(NamedTuple):
    """What an entry of the vocabulary adds to a score.

    Attributes:
        token: the entry.
        share: what it adds, >= 0.
        in_reference: its probability in the reference's distribution.
        in_candidate: likewise in the candidate's.
        own: True if it stands in one of the texts.
    """

    token: str
    share: float
    in_reference: float
    in_candidate: float
    own: bool


@dataclass(frozen=True, repr=False)
class Explanation:
    """A score with what it is made of.

    Attributes:
        measure: its full name.
        score: what `score` gives.
        signature: all that can change it.
        candidate: what the model predicts for the text to judge.
        reference: likewise for the other.
        shares: what each vocabulary entry adds to the score, float64 [vocab], >= 0.
        vocabulary: the entries as strings, [vocab].
    """

    measure: str
    score: float
    signature: str
    candidate: TextView
    reference: TextView
    shares: Tensor
    vocabulary: list[str]

    def __repr__(self) -> str:
        drivers = ", ".join(f"{share.token} {share.share:.3g}" for share in self.top(3))
        return f"<Explanation of {self.measure} {self.score:.6g}: {drivers}, ...>"

    def top(self, count: int = 10) -> list[Share]:
        """The entries with the largest shares, the largest first.

        Args:
            count: how many, or all if there are fewer.

        Returns:
            Each with its probabilities in both texts.
        """
        count = check_whole("count", count)
        indices = self.shares.topk(min(count, len(self.shares))).indices
        tokens = {*self.candidate.tokens, *self.reference.tokens}
        p, q = self.reference.log_distribution.exp(), self.candidate.log_distribution.exp()
        return [
            Share(
                self.vocabulary[i],
                float(self.shares[i]),
                float(p[i]),
                float(q[i]),
                self.vocabulary[i] in tokens,
            )
            for i in indices.tolist()
        ]


def explain_score(
    candidate: TextView,
    reference: TextView,
    settings: InfoLMSettings,
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
