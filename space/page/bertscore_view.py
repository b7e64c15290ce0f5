"""Explanation of a BERTScore by the best match of each token in the other text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from infolm_metric.bertscore.explanation import Match

from .appearance import TEXTS, WEIGHT_COLOURS, ExplanationView
from .components import table

LISTED_MATCHES = 20
SIDES = ("candidate", "reference")


def make() -> list[Any]:
    """Create the components that explain a score. Less important ones are under “Details”."""
    words = TEXTS["bertscore"]
    gr.Markdown(words["matches"])
    with gr.Row():
        texts = [
            gr.HighlightedText(
                label=side.capitalize(),
                color_map=WEIGHT_COLOURS,
                show_inline_category=False,
                min_width=280,
                elem_classes="tokens",
                elem_id=f"match-{side}",
            )
            for side in SIDES
        ]
    with gr.Accordion("Details", open=False):
        gr.Markdown(words["weakest"])
        widths = ["21%", "29%", "29%", "21%"]
        return [*texts, table("", ["of", "token", "best match", "similarity"], widths)]


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> ExplanationView:
    """Explain the score of a candidate against a single reference."""
    explanation = scorer.explain(candidate, reference, **settings)
    groups = (explanation.candidate, explanation.reference)
    matches = [
        {"of": side, "token": x.token, "match": x.match, "similarity": x.similarity}
        for side, group in zip(SIDES, groups, strict=True)
        for x in group
    ]
    weakest = sorted(matches, key=lambda match: match["similarity"])[:LISTED_MATCHES]
    return ExplanationView(
        details={"matches": matches},
        updates=[
            *map(_colour, groups),
            [[*list(match.values())[:3], f"{match['similarity']:.2f}"] for match in weakest],
        ],
    )


def _colour(matches: Sequence[Match]) -> list[tuple[str, str]]:
    """Return each token with a level that shows how far its best match is, from 0 to 1."""
    levels = list(WEIGHT_COLOURS)
    ranks = (round((len(levels) - 1) * min(1.0, 1 - x.similarity)) for x in matches)
    return [(x.token, levels[rank]) for x, rank in zip(matches, ranks, strict=True)]
