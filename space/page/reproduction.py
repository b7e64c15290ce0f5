"""The components that let a visitor report and repeat a score: its signature, and code."""

from __future__ import annotations

from typing import Any

import gradio as gr

from .judged import Judged
from .recipe import code_for


def make_reproduction(prefix: str = "") -> dict[str, Any]:
    """The components by name; the ids in the page begin with the prefix."""
    gr.Markdown(
        "### Reproduce it\n"
        "Report the signature with the score: it names every setting that can change it, the "
        "model and the versions."
    )
    signature = gr.Textbox(
        label="Signature",
        interactive=False,
        lines=2,
        max_lines=8,
        buttons=["copy"],
        elem_id=f"{prefix}signature",
    )
    return {"signature": signature, "code": make_code("Python for this score", f"{prefix}code")}


def make_code(label: str, elem_id: str | None = None) -> gr.Code:
    """A block of Python."""
    return gr.Code(
        label=label,
        language="python",
        interactive=False,
        show_line_numbers=False,
        wrap_lines=True,
        elem_id=elem_id,
    )


def shown_reproduction(answer: Judged, metric: str) -> dict[str, str]:
    """What the components, by name, show of an answer by a metric of `recipe`."""
    code = code_for(answer.candidate_text, answer.reference_texts, answer.choices, metric)
    return {"signature": answer.signature, "code": code}
