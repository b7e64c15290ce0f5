"""Explanation of a BaryScore by the transport cost of each word."""

from __future__ import annotations

from collections import Counter
from typing import Any

from .appearance import View, bars, details, section, side_by_side, table, tokens

PLOTTED_MOVES, LISTED_MOVES = 8, 20


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> View:
    """Explain the score of a candidate against a single reference, as data and as HTML."""
    explanation = scorer.explain(candidate, reference, **settings)
    score, costs = explanation.score, explanation.plan * explanation.distances
    sides = {
        "Candidate": (explanation.candidate.tokens, costs.sum(1).tolist()),
        "Reference": (explanation.reference.tokens, costs.sum(0).tolist()),
    }
    sources, targets = (names for names, _ in sides.values())
    moves = [
        (sources[m.candidate], targets[m.reference], m) for m in explanation.moves() if m.share > 0
    ]
    shares: Counter[str] = Counter()  # adds up the moves of repeated words
    for start, end, move in moves:
        shares[f"{start} → {end}"] += move.share / score
    largest = [(words, share, "both") for words, share in shares.most_common(PLOTTED_MOVES)]
    plot = bars("Contribution to the score", largest)
    texts = [
        tokens(side, zip(names, (cost / (max(values) or 1.0) for cost in values), strict=True))
        for side, (names, values) in sides.items()
    ]
    rows = [
        [start, end, f"{m.mass:.1%}", f"{m.distance:.2f}", f"{m.share / score:.1%}"]
        for start, end, m in moves[:LISTED_MOVES]
    ]
    columns = ["from", "to", "mass", "distance", "of score"]
    page = [
        section("baryscore", "costs", side_by_side(*texts)),
        section("baryscore", "expensive_moves", plot) if moves else "",
        details("Details", section("baryscore", "moves", table(columns, rows))),
    ]
    names = [
        {"from": start, "to": end, "mass": m.mass, "distance": m.distance, "share": m.share}
        for start, end, m in moves
    ]
    return {"moves": names}, "".join(page)
