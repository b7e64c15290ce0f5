"""The tab that attacks references, and shows which attacks each metric notices."""

from __future__ import annotations

from typing import Any

import gradio as gr

from infolm_metric.metrics import METRICS

from . import limits
from .answer_view import STATE_SECONDS
from .attacks import EXAMPLE, attack_references
from .controls import QUIET
from .messages import on_the_page

ABOUT = """\
Does a metric notice a wrong number, a "not", another name? Write references, one per line; lines
that say the same stand together, and a blank line begins something else. Each is spoiled in up to
twelve ways. A metric notices an attack where it scores the other way of saying it better than the
spoiled reference, which has nearly all of its words.
"""


def build(limit: dict[str, Any]) -> None:
    """Builds the tab; `limit` holds the concurrency settings of its events."""
    gr.Markdown(ABOUT)
    references = gr.Textbox(
        EXAMPLE,
        label="References",
        info=limits.ATTACK_LIMITS,
        lines=6,
        max_lines=14,
        elem_id="attacked-references",
    )
    run = gr.Button("Attack", variant="primary", size="lg", elem_id="attack")
    table = gr.Dataframe(
        headers=["attack", "a reference", "attacked", *METRICS],
        interactive=False,
        label="✓: every case is noticed, ~: some, ✗: none",
        wrap=True,
        line_breaks=False,
        max_height=620,
        visible=False,
        buttons=[],
        elem_id="attacks",
    )
    answered = gr.State(EXAMPLE, time_to_live=STATE_SECONDS)  # the references that the table is of
    done = gr.on(
        [run.click],
        attack,
        references,
        [table, answered],
        api_name="attack",
        api_description="Spoils references in up to twelve ways and tells which of these each "
        "metric notices. " + limits.ATTACK_LIMITS,
        **limit,
    )
    done.then(checked, [answered, references], table, **QUIET)
    references.change(lambda: gr.update(visible=False), None, table, **QUIET)


def attack(references: str) -> tuple[dict[str, Any], str]:
    """The table of the attacks on these references, and the references."""
    with on_the_page():
        rows = attack_references(references or "")
    return gr.update(value=rows, visible=True), references


def checked(answered: str, now: str) -> dict[str, Any]:
    """The table as it is, or hidden if the page no longer holds the references that it is of."""
    return gr.skip() if answered == now else gr.update(visible=False)
