"""The components that show the plan of a comparison by BaryScore, and how they show one."""

from __future__ import annotations

from typing import Any

import gradio as gr

from . import plan_picture
from .reproduction import make_reproduction, shown_reproduction
from .transport import TransportAnswer


def make_transport_view() -> dict[str, Any]:
    """The components that show an answer, by name, from the top to the end."""
    view: dict[str, Any] = {}
    gr.Markdown(
        "### Which token goes where\n"
        "The model reads each text once, and every token gets a place. The score is what it costs "
        "to move the candidate's tokens onto the reference's: how much moves (the thickness) times "
        "how far (the colour). Rare tokens weigh more where weights are known."
    )
    view["reference"] = gr.Markdown(elem_classes="fine")
    view["plan"] = gr.HTML(elem_id="plan", padding=False)
    gr.Markdown("### The costliest moves")
    view["moves"] = gr.Dataframe(
        headers=["from", "to", "of score"],
        interactive=False,
        show_label=False,
        elem_id="moves",
        column_widths=["37%", "36%", "27%"],  # which fit a phone
        max_height=520,
        buttons=[],
    )
    return view | make_reproduction("transport-")


def shown_plan(answer: TransportAnswer) -> dict[str, Any]:
    """What the components, by name, show of an answer."""
    words = f"The plan is the one to reference {answer.explained + 1}, the closest."
    return {
        "reference": gr.update(value=words, visible=len(answer.reference_texts) > 1),
        "plan": plan_picture.picture(answer.explanation),
        "moves": gr.update(value=plan_picture.move_table(answer.explanation)),
        **shown_reproduction(answer),
    }
