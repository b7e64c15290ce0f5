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
    "e": ("entailment", "it follows (entailment)"),
    "n": ("neutral", "it is open (neutral)"),
    "c": ("contradiction", "it is denied (contradiction)"),
}
# Of pairs of unrelated sentences 11% (WebNLG) and 1% (WMT15) deny each other by more, of sentences
# with a negation or another number 83% and 81%.
CONTRADICTION = 0.8


def make() -> list[Any]:
    """Create the components that explain a score, the less important ones behind “Details”."""
    gr.Markdown(
        "### Does each text follow from the other?\n"
        "A model reads both texts and says how likely it is that one follows from the other. The "
        "score is the mean of “it follows” in both directions: 1 if each text says the other."
    )
    with gr.Row():
        components: list[Any] = [
            gr.Label(label=words, show_heading=False, min_width=280, elem_id=f"follows-{direction}")
            for direction, (_, words) in DIRECTIONS.items()
        ]
    with gr.Accordion("Details", open=False):
        gr.Markdown(
            "### How far to trust it\n"
            "The model of this demo is small, and it errs: of sentence pairs that it has not seen "
            "it names the right answer of three for 85% (SNLI) and 70% (MNLI)."
        )
        return components + make_reproduction()


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> ExplanationView:
    """Explain the score of a candidate with one reference."""
    details, updates = {}, []
    for direction, (name, _) in DIRECTIONS.items():
        options = {**settings, "direction": direction, "probabilities": True}
        columns = scorer.score([candidate], [reference], **options)["probabilities"]
        details[name] = {label: columns[letter][0] for letter, (label, _) in CLASSES.items()}
        updates.append({words: columns[letter][0] for letter, (_, words) in CLASSES.items()})
    contradiction = min(probabilities["contradiction"] for probabilities in details.values())
    verdict = "They contradict each other" if contradiction > CONTRADICTION else ""
    return ExplanationView(bound=1.0, details=details, updates=updates, verdict=verdict)
