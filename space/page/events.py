"""One rule against stale answers, for both tabs.

An edit clears the answer, and an answer that comes late for other inputs is not shown: what was
asked for goes to the server and back with the answer, and the browser compares it with what the
page holds by then.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gradio as gr

from .settings import QUIET

PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
PRESS = "() => { document.getElementById('compare').click(); return []; }"
ASKED = "(...all) => [...all.slice(0, -1), JSON.stringify(all.slice(0, -1))]"


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
    cleared = json.dumps([notice, {"visible": False, "__type__": "update"}])
    asked = gr.Textbox(visible="hidden", label="asked")

    def echoed(*values: Any) -> Iterator[dict[Any, Any]]:
        for updates in function(*values[:-1]):
            yield {**updates, asked: values[-1]}

    gr.on(edits, None, None, outputs[:2], js=f"() => {cleared}", **QUIET)
    event = gr.on(
        triggers,
        echoed,
        [*inputs, asked],
        [*outputs, asked],
        js=ASKED,
        trigger_mode="always_last",
        api_visibility="private",
        **options,
    )
    event.then(
        None,
        [asked, *inputs],
        outputs[:2],
        js=f"(asked, ...now) => asked === JSON.stringify(now) ? [] : {cleared}",
        **QUIET,
    )
    return event
