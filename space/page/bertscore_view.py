"""Explanation of a BERTScore by the best match of each token in the other text."""

from __future__ import annotations

from typing import Any

from .appearance import View, details, section, side_by_side, table, tokens

LISTED_MATCHES = 20
FULL_COLOR = 0.1  # distance from 1 of the weakest match, from which on it has the full color
SIDES = ("candidate", "reference")


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> View:
    """Explain the score of a candidate against a single reference, as data and as HTML."""
    explanation = scorer.explain(candidate, reference, **settings)
    groups = dict(zip(SIDES, (explanation.candidate, explanation.reference), strict=True))
    matches = [
        {"of": side, "token": x.token, "match": x.match, "similarity": x.similarity}
        for side, group in groups.items()
        for x in group
    ]
    weakest = sorted(matches, key=lambda match: match["similarity"])[:LISTED_MATCHES]
    full = max(FULL_COLOR, 1 - weakest[0]["similarity"])
    rows = [[*list(match.values())[:3], f"{match['similarity']:.2f}"] for match in weakest]
    texts = [
        tokens(side.capitalize(), [(x.token, (1 - x.similarity) / full) for x in group])
        for side, group in groups.items()
    ]
    listed = table(["of", "token", "best match", "similarity"], rows)
    page = section("bertscore", "matches", side_by_side(*texts))
    return {"matches": matches}, page + details("Details", section("bertscore", "weakest", listed))
