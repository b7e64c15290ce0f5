"""Explanation of a score: the best match of each token in the other text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple


class Match(NamedTuple):
    """A token and the most similar token in the other text.

    Attributes:
        token: the token.
        weight: weight of the token. The weights of a text sum to 1.
        match: the most similar token in the other text, possibly a special token.
        position: index of the match among the tokens of the other text, or None for a special
            token.
        similarity: cosine similarity of both tokens.
    """

    token: str
    weight: float
    match: str
    position: int | None
    similarity: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """Scores and the best match of each token.

    Precision is the weighted mean of the candidate's similarities, and recall is the weighted mean
    of the reference's similarities, unless a text has no tokens.

    Attributes:
        scores: scores by name, as returned by `score` for this pair alone.
        signature: signature of the scores.
        candidate: the candidate's tokens with their matches, without special tokens.
        reference: the reference's tokens with their matches, without special tokens.
    """

    scores: Mapping[str, float]
    signature: str
    candidate: list[Match]
    reference: list[Match]

    def _scores(self) -> str:
        return ", ".join(f"{name} {score:.6g}" for name, score in self.scores.items())

    def __repr__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        """Yield lines with the scores and each text's least similar tokens."""
        yield f"bertscore: {self._scores()}. Least similar tokens and their best matches:"
        for side in ("candidate", "reference"):
            matches: list[Match] = sorted(getattr(self, side), key=lambda match: match.similarity)
            for one in matches[:5]:
                yield f"{side}: {one.token} -> {one.match}: {one.similarity:.4f}"
