"""Why two texts score as they do by MENLI: does each follow from the other, or deny it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gradio as gr

from .appearance import Why, make_reproduction

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
    """The components that explain a score: the strongest ones, and those behind “Details”."""
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
            "The model of this page is small, and it errs: of sentence pairs that it has not seen "
            "it names the right answer of three for 85% (SNLI) and 70% (MNLI)."
        )
        return components + make_reproduction()


def explain(scorer: Any, candidate: str, reference: str, settings: Mapping[str, Any]) -> Why:
    """What explains the score of a candidate with one reference."""
    facts, updates = {}, []
    for direction, (name, _) in DIRECTIONS.items():
        options = {**settings, "direction": direction, "probabilities": True}
        columns = scorer.score([candidate], [reference], **options)["probabilities"]
        facts[name] = {label: columns[letter][0] for letter, (label, _) in CLASSES.items()}
        updates.append({words: columns[letter][0] for letter, (_, words) in CLASSES.items()})
    contradiction = min(probabilities["contradiction"] for probabilities in facts.values())
    verdict = "They contradict each other" if contradiction > CONTRADICTION else ""
    return Why(bound=1.0, facts=facts, updates=updates, verdict=verdict)
