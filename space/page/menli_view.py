"""Explanation of a MENLI score by entailment and contradiction in both directions."""

from __future__ import annotations

from typing import Any

import gradio as gr

from infolm_metric.core.inputs import Pairs

from .appearance import TEXTS, ExplanationView

DIRECTIONS = {
    "rh": ("candidate_follows", "Does the candidate follow from the reference?"),
    "hr": ("reference_follows", "Does the reference follow from the candidate?"),
}
CLASSES = {
    "entailment": "yes (entailment)",
    "neutral": "undetermined (neutral)",
    "contradiction": "no (contradiction)",
}
# This probability is exceeded by 11% (WebNLG) and 1% (WMT15) of unrelated sentence pairs, by 83% of
# the pairs that differ in a negation, and by 81% of the pairs that differ in a number.
CONTRADICTION = 0.8


def make() -> list[Any]:
    """Create the components that explain a score. Less important ones are under “Details”."""
    words = TEXTS["menli"]
    gr.Markdown(words["directions"])
    with gr.Row():
        components: list[Any] = [
            gr.Label(label=words, show_heading=False, min_width=280, elem_id=f"follows-{direction}")
            for direction, (_, words) in DIRECTIONS.items()
        ]
    with gr.Accordion("Details", open=False):
        gr.Markdown(words["accuracy"])
        return components


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> ExplanationView:
    """Explain the score of a candidate against a single reference."""
    pairs = Pairs([candidate], [[reference]])
    run = scorer.prepare(scorer.settings.replace(**settings))
    rows = {
        name: run.pair_probabilities(pairs, direction)[0].tolist()
        for direction, (name, _) in DIRECTIONS.items()
    }
    return ExplanationView(
        details={name: dict(zip(CLASSES, row, strict=True)) for name, row in rows.items()},
        updates=[dict(zip(CLASSES.values(), row, strict=True)) for row in rows.values()],
    )


def verdict(answer: Any) -> tuple[str, str]:
    """Return the verdict on a contradiction, or an empty string, and no reason."""
    contradiction = min(row["contradiction"] for row in answer.view.details.values())
    return "The texts contradict each other" if contradiction > CONTRADICTION else "", ""
