"""Events that prevent stale answers in both tabs.

Editing an input clears the answer. The server returns each answer with a snapshot of its inputs,
and the browser discards the answer if the inputs have changed in the meantime.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import gradio as gr

from .settings import QUIET

PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
PRESS = "() => { document.getElementById('compare').click(); return []; }"
WITH_SNAPSHOT = "(...all) => [...all.slice(0, -1), JSON.stringify(all.slice(0, -1))]"


def answer(
    function: Callable[..., Iterator[dict[Any, Any]]],
    triggers: Sequence[Any],
    edits: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    notice: str,
    hidden: Mapping[str, Any] = {"visible": False},
    **options: Any,
) -> Any:
    """Connect a function to the events that trigger it and the edits that clear its answer.

    `function` takes the values of `inputs`, and yields updates by component. The last updates are
    the answer. `outputs` are the card, the column that the update `hidden` hides if there is no
    answer, and the column's components. The card shows the HTML `notice` if there is no answer.
    """
    blank = json.dumps([notice, gr.update(**hidden)])
    snapshot = gr.Textbox(visible="hidden", label="asked")

    def answer_with_snapshot(*values: Any) -> Iterator[dict[Any, Any]]:
        for updates in function(*values[:-1]):
            yield {**updates, snapshot: values[-1]}

    gr.on(edits, None, None, outputs[:2], js=f"() => {blank}", **QUIET)
    event = gr.on(
        triggers,
        answer_with_snapshot,
        [*inputs, snapshot],
        [*outputs, snapshot],
        js=WITH_SNAPSHOT,
        trigger_mode="always_last",
        api_visibility="private",
        **options,
    )
    event.then(
        None,
        [snapshot, *inputs],
        outputs[:2],
        js=f"(snapshot, ...inputs) => snapshot === JSON.stringify(inputs) ? [] : {blank}",
        **QUIET,
    )
    return event
