"""Explanation of a score: predictions per position and contributions per vocabulary entry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from infolm_metric.core.checks import check_whole


@dataclass(frozen=True)
class TextView:
    """The model's predictions for one text.

    Attributes:
        tokens: tokens by position, [positions]. A single mask token if no token is maskable.
        weights: float64 [positions], summing to 1.
        log_predictions: log-probabilities, float64 [positions, vocab].
        log_distribution: logarithm of the weighted mean of the probabilities over all positions,
            after interpolation, float64 [vocab].
    """

    tokens: list[str]
    weights: Tensor
    log_predictions: Tensor
    log_distribution: Tensor


class TokenContribution(NamedTuple):
    """The contribution of a vocabulary entry to a score.

    Attributes:
        token: the vocabulary entry.
        share: its contribution to the score, >= 0.
        in_reference: its probability in the reference's distribution.
        in_candidate: its probability in the candidate's distribution.
        in_texts: True if the candidate or the reference contains the token.
    """

    token: str
    share: float
    in_reference: float
    in_candidate: float
    in_texts: bool


@dataclass(frozen=True, repr=False)
class Explanation:
    """A score with the predictions and contributions that explain it.

    Attributes:
        measure: full name of the measure.
        score: the score, as returned by `score` for this pair alone.
        signature: signature of the score.
        candidate: predictions for the candidate.
        reference: predictions for the reference.
        shares: contribution of each vocabulary entry, float64 [vocab], >= 0. Their sum is `score`.
        vocabulary: vocabulary entries as strings, [vocab].
    """

    measure: str
    score: float
    signature: str
    candidate: TextView
    reference: TextView
    shares: Tensor
    vocabulary: list[str]

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the score and the largest contributions as text."""
        top = self.top()
        part = sum(entry.share for entry in top) / self.score if self.score else 0.0
        yield (
            f"{self.measure}: {self.score:.6g}. Largest contributions of vocabulary entries, "
            f"{part:.0%} of the score:"
        )
        for entry in top:
            p, q = f"{entry.in_reference:.3f}", f"{entry.in_candidate:.3f}"
            yield f"{entry.token}: {entry.share:.4f} (reference {p}, candidate {q})"

    def top(self, count: int = 10) -> list[TokenContribution]:
        """Return the `count` vocabulary entries with the largest contributions, largest first."""
        indices = self.shares.topk(min(check_whole("count", count), len(self.shares))).indices
        tokens = {*self.candidate.tokens, *self.reference.tokens}
        names = [self.vocabulary[index] for index in indices.tolist()]
        p, q = (text.log_distribution[indices].exp() for text in (self.reference, self.candidate))
        columns = self.shares[indices].tolist(), p.tolist(), q.tolist()
        rows = zip(names, *columns, (name in tokens for name in names), strict=True)
        return [TokenContribution(*row) for row in rows]
