"""The components that show a comparison by MENLI, and how they show one."""

from __future__ import annotations

from typing import Any

import gradio as gr

from .inference import InferenceAnswer
from .reproduction import make_reproduction, shown_reproduction

QUESTIONS = {
    "rh": "The reference says so: does the candidate follow?",
    "hr": "The candidate says so: does the reference follow?",
}
CLASSES = {"e": "follows", "n": "open", "c": "denied"}


def make_inference_view() -> dict[str, Any]:
    """The components that show an answer, by name, from the top to the end."""
    view: dict[str, Any] = {}
    gr.Markdown(
        "### Does each text follow from the other?\n"
        "A model of natural language inference reads both texts together, in either order. The "
        "score is the mean of the two probabilities that one follows from the other: 1 says that "
        "they mean the same. The model of this page is small, and errs: on held-out pairs it names "
        "the right class of three in 85% (SNLI) and 70% (MNLI)."
    )
    view["reference"] = gr.Markdown(elem_classes="fine")
    view["said"] = gr.Dataframe(
        headers=["question", *CLASSES.values()],
        interactive=False,
        show_label=False,
        wrap=True,
        elem_id="said",
        column_widths=["36%", "23%", "19%", "22%"],  # which fit a phone
        buttons=[],
    )
    return view | make_reproduction("inference-")


def shown_inference(answer: InferenceAnswer) -> dict[str, Any]:
    """What the components, by name, show of an answer."""
    words = f"These are of reference {answer.explained + 1}, the one with the highest score."
    rows = [
        [question, *(f"{answer.said[direction][letter]:.1%}" for letter in CLASSES)]
        for direction, question in QUESTIONS.items()
    ]
    return {
        "reference": gr.update(value=words, visible=len(answer.reference_texts) > 1),
        "said": gr.update(value=rows),
        **shown_reproduction(answer),
    }
