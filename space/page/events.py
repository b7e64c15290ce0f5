"""Events that prevent stale answers in both tabs.

Editing an input clears the answer. The server returns each answer with a snapshot of its inputs,
and the browser discards the answer if the inputs have changed in the meantime.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import gradio as gr

from .limits import QUEUE
from .settings import QUIET

PRIVATE: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
# Functions of card.js.
PRESS, SCROLL = "() => infolm.press()", "() => infolm.scroll()"
READ_METRIC, OPEN = "all[0] = infolm.metric()", "infolm.open()"


def answer(
    function: Callable[..., Iterator[dict[Any, Any]]],
    triggers: Sequence[Any],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    blank: Mapping[Any, Any],
    edits: Sequence[Any] = (),
    before: str = "",
    after: str = "",
) -> Any:
    """Connect a function to the events that trigger it and the edits that clear its answer.

    `function` takes the values of `inputs`, and yields updates by component. The last updates are
    the answer. `blank` contains the updates that clear an answer. `before` and `after` are
    JavaScript: a change of the values, `all`, and an action when the answer is shown.
    """
    cleared = json.dumps([*blank.values()])
    snapshot = gr.Textbox(visible="hidden", label="asked")

    def answer_with_snapshot(*values: Any) -> Iterator[dict[Any, Any]]:
        for updates in function(*values[:-1]):
            yield {**updates, snapshot: values[-1]}

    gr.on(edits, None, None, [*blank], js=f"() => {cleared}", **QUIET)
    event = gr.on(
        triggers,
        answer_with_snapshot,
        [*inputs, snapshot],
        [*outputs, snapshot],
        js=f"(...all) => {{ {before}; all.pop(); return [...all, JSON.stringify(all)]; }}",
        trigger_mode="always_last",
        **PRIVATE,
        **QUEUE,
    )
    event.then(
        None,
        [snapshot, *inputs],
        [*blank],
        js=f"(snapshot, ...inputs) => {{ if (snapshot !== JSON.stringify(inputs)) "
        f"return {cleared}; {after}; return []; }}",
        **QUIET,
    )
    return event
