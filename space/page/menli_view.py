"""Explanation of a MENLI score: entailment and contradiction in both directions."""

from __future__ import annotations

from typing import Any

import gradio as gr

from .appearance import ExplanationView
from .components import make_reproduction

DIRECTIONS = {
    "rh": ("candidate_follows", "Does the candidate follow from the reference?"),
    "hr": ("reference_follows", "Does the reference follow from the candidate?"),
}
CLASSES = {
    "e": ("entailment", "yes (entailment)"),
    "n": ("neutral", "undetermined (neutral)"),
    "c": ("contradiction", "no (contradiction)"),
}
# Exceeded by 11% (WebNLG) and 1% (WMT15) of the pairs of unrelated sentences, and by 83% and 81% of
# the pairs that differ in a negation or a number.
CONTRADICTION = 0.8


def make() -> list[Any]:
    """Create the components that explain a score; the secondary ones are under “Details”."""
    gr.Markdown(
        "### Entailment in both directions\n"
        "A natural language inference (NLI) model predicts whether one text follows from the "
        "other. The score is the probability of entailment, averaged over both directions."
    )
    with gr.Row():
        components: list[Any] = [
            gr.Label(label=words, show_heading=False, min_width=280, elem_id=f"follows-{direction}")
            for direction, (_, words) in DIRECTIONS.items()
        ]
    with gr.Accordion("Details", open=False):
        gr.Markdown(
            "### Accuracy of the model\n"
            "The model of this demo is small. It assigns the correct label of the three to 85% of "
            "held-out SNLI pairs and 70% of held-out MNLI pairs."
        )
        return components + make_reproduction()


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> ExplanationView:
    """Explain the score of a candidate against one reference."""
    details, updates = {}, []
    for direction, (name, _) in DIRECTIONS.items():
        options = {**settings, "direction": direction, "probabilities": True}
        columns = scorer.score([candidate], [reference], **options)["probabilities"]
        details[name] = {label: columns[letter][0] for letter, (label, _) in CLASSES.items()}
        updates.append({words: columns[letter][0] for letter, (_, words) in CLASSES.items()})
    contradiction = min(probabilities["contradiction"] for probabilities in details.values())
    verdict = "The texts contradict each other" if contradiction > CONTRADICTION else ""
    return ExplanationView(bound=1.0, details=details, updates=updates, verdict=verdict)
