"""Why two texts score as they do: which token's mass moves where, how far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from infolm_metric.baryscore.transport import WeightedPoints, best_plan, costs


@dataclass(frozen=True, eq=False)
class TokenPoints:
    """The tokens of a text with their points and the logarithms of their weights."""

    tokens: list[str]  # [tokens]; the special ones for a text that has no other
    points: np.ndarray  # float64 [tokens, hidden]
    log_weights: np.ndarray  # float64 [tokens]; empty for special ones, which weigh alike


@dataclass(frozen=True)
class TextView:
    """The tokens of a text that are moved, or moved onto.

    Attributes:
        tokens: [tokens]; the special ones for a text that has no other.
        weights: float64 [tokens], summing to 1.
    """

    tokens: list[str]
    weights: np.ndarray


class Move(NamedTuple):
    """Mass of a candidate's token that goes to a token of the reference.

    Attributes:
        candidate: the index of the token.
        reference: likewise.
        mass: what moves, > 0, of 1 in all.
        distance: squared.
        share: of the score: mass times distance.
    """

    candidate: int
    reference: int
    mass: float
    distance: float
    share: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """A score as the plan that it is the cost of.

    Attributes:
        score: what `score` gives.
        signature: all that can change it.
        candidate: the tokens of the text to judge.
        reference: those of the other.
        plan: the mass between each two tokens, float64 [candidate's tokens, reference's tokens],
            summing to 1.
        distances: their squared distances, float64 of the same shape.
    """

    score: float
    signature: str
    candidate: TextView
    reference: TextView
    plan: np.ndarray
    distances: np.ndarray

    def __repr__(self) -> str:
        words = (
            f"{self.candidate.tokens[move.candidate]} -> {self.reference.tokens[move.reference]} "
            f"{move.share:.3g}"
            for move in self.moves()[:3]
        )
        return f"<Explanation of baryscore {self.score:.6g}: {', '.join(words)}, ...>"

    def moves(self) -> list[Move]:
        """Every move of some mass, the costliest first."""
        rows, columns = np.nonzero(self.plan)
        masses, distances = self.plan[rows, columns], self.distances[rows, columns]
        values = (rows, columns, masses, distances, masses * distances)
        moves = map(Move, *(column.tolist() for column in values))
        return sorted(moves, key=lambda move: move.share, reverse=True)


def explain_score(
    candidate: TokenPoints, reference: TokenPoints, score: float, signature: str
) -> Explanation:
    """The explanation of a score by the two texts' points."""
    texts = candidate, reference
    clouds = [WeightedPoints.of(text.points, text.log_weights) for text in texts]
    distances = costs(candidate.points, reference.points)
    block = np.ix_(clouds[0].indices, clouds[1].indices)
    plan = np.zeros(distances.shape)
    if candidate.tokens == reference.tokens and np.array_equal(
        candidate.log_weights, reference.log_weights
    ):  # nothing moves
        plan[block] = np.diag(clouds[0].weights)
        np.fill_diagonal(distances, 0.0)
    else:
        plan[block] = best_plan(clouds[0].weights, clouds[1].weights, distances[block])
    views = [
        TextView(text.tokens, np.bincount(cloud.indices, cloud.weights, len(text.tokens)))
        for text, cloud in zip(texts, clouds, strict=True)
    ]
    return Explanation(score, signature, views[0], views[1], plan, distances)
