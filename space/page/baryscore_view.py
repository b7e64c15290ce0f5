"""Explanation of a BaryScore by the transport cost of each word."""

from __future__ import annotations

from collections import Counter
from typing import Any

import gradio as gr

from .appearance import NEUTRAL, TEXTS, WEIGHT_COLOURS, ExplanationView
from .components import bar_plot, bars, table

PLOTTED_MOVES, LISTED_MOVES = 8, 20


def make() -> list[Any]:
    """Create the components that explain a score. Less important ones are under “Details”."""
    words = TEXTS["baryscore"]
    gr.Markdown(words["costs"])
    with gr.Row():
        texts = [
            gr.HighlightedText(
                label=side,
                color_map=WEIGHT_COLOURS,
                show_inline_category=False,
                min_width=280,
                elem_classes="tokens",
                elem_id=f"cost-{side.lower()}",
            )
            for side in ("Candidate", "Reference")
        ]
    gr.Markdown(words["expensive_moves"])
    plot = bar_plot("Contribution to the score", "% of the score", NEUTRAL, elem_id="moves")
    with gr.Accordion("Details", open=False):
        gr.Markdown(words["moves"])
        columns = ["from", "to", "mass", "distance", "of score"]
        moves = table("", columns, ["25%", "24%", "16%", "18%", "17%"])
        return [*texts, plot, moves]


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> ExplanationView:
    """Explain the score of a candidate against a single reference."""
    explanation = scorer.explain(candidate, reference, **settings)
    score, costs = explanation.score, explanation.plan * explanation.distances
    sources, targets = explanation.candidate.tokens, explanation.reference.tokens
    moves = [
        (sources[m.candidate], targets[m.reference], m) for m in explanation.moves() if m.share > 0
    ]
    shares: Counter[str] = Counter()  # adds up the moves of repeated words
    for start, end, move in moves:
        shares[f"{start} → {end}"] += move.share / score
    return ExplanationView(
        details={
            "moves": [
                {"from": start, "to": end, "mass": m.mass, "distance": m.distance, "share": m.share}
                for start, end, m in moves
            ]
        },
        updates=[
            _colour(sources, costs.sum(1).tolist()),
            _colour(targets, costs.sum(0).tolist()),
            gr.update(value=bars(shares.most_common(PLOTTED_MOVES)), visible=bool(moves)),
            [
                [start, end, f"{m.mass:.1%}", f"{m.distance:.2f}", f"{m.share / score:.1%}"]
                for start, end, m in moves[:LISTED_MOVES]
            ],
        ],
    )


def _colour(tokens: list[str], costs: list[float]) -> list[tuple[str, str]]:
    """Return each token of a text with a level that shows its cost relative to the maximum."""
    levels, highest = list(WEIGHT_COLOURS), max(costs) or 1.0
    ranks = (round((len(levels) - 1) * cost / highest) for cost in costs)
    return [(token, levels[rank]) for token, rank in zip(tokens, ranks, strict=True)]
