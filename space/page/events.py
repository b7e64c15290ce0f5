"""One rule against stale answers, for both tabs.

An edit clears the answer, and an answer that comes late for other inputs is not shown: a snapshot
of the inputs goes to the server and back with the answer, and the browser compares it with what
the demo holds by then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
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
    **options: Any,
) -> Any:
    """Wire an answer to its triggers, and to the edits that clear it.

    Args:
        function: takes the inputs, and yields updates by component, the last being the answer.
        triggers: events that ask.
        edits: events after which the answer no longer belongs to the inputs.
        inputs: components.
        outputs: the card, the column that is hidden without an answer, and what the column shows.
        notice: what the card says without an answer.
        **options: of the event.
    """
    blank = json.dumps([notice, {"visible": False, "__type__": "update"}])
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
