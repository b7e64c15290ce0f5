"""The components that let a visitor report and repeat a score: its signature, and code."""

from __future__ import annotations

from typing import Any

import gradio as gr


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
    code = gr.Code(
        label="Python for this score",
        language="python",
        interactive=False,
        show_line_numbers=False,
        wrap_lines=True,
        elem_id=f"{prefix}code",
    )
    return {"signature": signature, "code": code}
