"""Explanation of a score: the transport plan between the tokens of two texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import compress
from typing import NamedTuple

import numpy as np
from torch import Tensor

from infolm_metric.baryscore.transport import WeightedPoints, best_plan, costs, silent_solver
from infolm_metric.core.document_counts import TokenizedText
from infolm_metric.scoring.encoding_scorer import EncodedText


@dataclass(frozen=True)
class TextView:
    """Tokens of a text and their masses.

    Attributes:
        tokens: tokens of the text, [tokens]. Special tokens if there are no others.
        weights: float64 [tokens], summing to 1.
    """

    tokens: list[str]
    weights: np.ndarray


class Move(NamedTuple):
    """Mass moved from a token of the candidate to a token of the reference.

    Attributes:
        candidate: index of the candidate's token.
        reference: index of the reference's token.
        mass: mass moved, > 0, as a fraction of the total mass.
        distance: squared distance between the tokens.
        share: contribution to the score, mass times distance.
    """

    candidate: int
    reference: int
    mass: float
    distance: float
    share: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """A score and its transport plan.

    Attributes:
        score: the score, as returned by `score` for this pair alone.
        signature: signature of the score.
        candidate: tokens of the candidate.
        reference: tokens of the reference.
        plan: mass moved, float64 [candidate's tokens, reference's tokens], summing to 1.
        distances: squared distances between the tokens, float64, same shape as `plan`.
    """

    score: float
    signature: str
    candidate: TextView
    reference: TextView
    plan: np.ndarray
    distances: np.ndarray

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield the score and the most expensive moves as text."""
        moves = self.moves()[:10]
        part = sum(move.share for move in moves) / self.score if self.score else 0.0
        yield (
            f"baryscore: {self.score:.6g}. Most expensive moves from candidate to reference, "
            f"{part:.0%} of the score:"
        )
        for move in moves:
            words = self.candidate.tokens[move.candidate], self.reference.tokens[move.reference]
            yield f"{words[0]} -> {words[1]}: {move.share:.4f}"

    def moves(self) -> list[Move]:
        """Return all moves of positive mass, sorted by contribution to the score, largest first."""
        rows, columns = np.nonzero(self.plan)
        masses, distances = self.plan[rows, columns], self.distances[rows, columns]
        values = (rows, columns, masses, distances, masses * distances)
        moves = map(Move, *(column.tolist() for column in values))
        return sorted(moves, key=lambda move: move.share, reverse=True)


def explain_score(
    candidate: EncodedText, reference: EncodedText, score: float, signature: str
) -> Explanation:
    """Explain a score using the optimal transport plan between two texts."""
    texts = candidate, reference
    points = [token_points(text.weighted.text, text.encoding) for text in texts]
    clouds = [
        WeightedPoints.of(rows, text.weighted.log_weights)
        for text, rows in zip(texts, points, strict=True)
    ]
    distances = costs(points[0], points[1])
    block = np.ix_(clouds[0].indices, clouds[1].indices)
    plan = np.zeros(distances.shape)
    if candidate.weighted.key == reference.weighted.key:  # identical texts: no token moves
        plan[block] = np.diag(clouds[0].weights)
        np.fill_diagonal(distances, 0.0)
    else:
        with silent_solver():
            plan[block] = best_plan(clouds[0].weights, clouds[1].weights, distances[block])
    views = []
    for text, cloud in zip(texts, clouds, strict=True):
        tokens = list(compress(text.tokens, has_point(text.weighted.text)))
        views.append(TextView(tokens, np.bincount(cloud.indices, cloud.weights, len(tokens))))
    return Explanation(score, signature, views[0], views[1], plan, distances)


def has_point(text: TokenizedText) -> np.ndarray:
    """Select the maskable tokens, or all tokens if none is maskable, bool [tokens]."""
    return text.maskable if text.maskable.any() else ~text.maskable


def token_points(text: TokenizedText, encoding: Tensor) -> np.ndarray:
    """Return the points of a text, float64 [points, hidden]."""
    rows: np.ndarray = encoding.numpy()[has_point(text)]
    return rows
