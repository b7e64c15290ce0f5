"""The tab that compares two texts: what goes in, and what happens at which event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr
from gradio.components import Component

from . import charts, limits
from .answer_view import SIDES, Predictions, make_answer_view, shown
from .choices import CORPUS, OFF, Choices
from .comparison import Answer, compare
from .controls import QUIET, chosen, make_controls
from .examples import EXAMPLES, PARAPHRASE, Example
from .messages import on_the_page


def build(page: gr.Blocks, limit: dict[str, Any]) -> None:
    """Builds the tab in the page; `limit` holds the concurrency settings of its events."""
    with gr.Row(equal_height=False):
        with gr.Column(scale=6, min_width=300):
            texts, add, lesson, buttons = _make_texts()
        with gr.Column(scale=4, min_width=300):
            controls = make_controls([OFF, CORPUS])
            run = gr.Button("Compare", variant="primary", size="lg", elem_id="compare")
    view = make_answer_view()

    def updates(answer: Answer) -> dict[Component, Any]:
        return {view[name]: update for name, update in shown(answer).items()}

    def answer(*values: Any) -> dict[Component, Any]:
        with on_the_page():
            written = list(values[: len(texts)])
            choices = chosen(*values[len(texts) :])
            candidate, first, *others = (text or "" for text in written)
            more = [text for text in others if text.strip()]
            references = [first, *more] if first.strip() or not more else more
            return updates(compare(candidate, references, choices))

    event = {
        "fn": answer,
        "inputs": [*texts, *controls.values()],
        "outputs": [*view.values()],
        "api_visibility": "private",
        "show_progress_on": [view["card"]],
        **limit,
    }
    gr.on([run.click, *(text.submit for text in texts)], **event)
    _answer_at_once(controls, event)
    for button, example in zip(buttons, EXAMPLES, strict=True):
        button.click(_filler(example), None, [*texts, add, lesson], **QUIET).then(**event)
    add.click(_one_more, texts, [*texts, add], **QUIET)
    _wire_tokens(view)
    first = compare(PARAPHRASE.candidate, [PARAPHRASE.reference], Choices())
    page.load(lambda: updates(first), None, [*view.values()], **QUIET)


def _make_texts() -> tuple[list[gr.Textbox], gr.Button, gr.Markdown, list[gr.Button]]:
    """The boxes of candidate and references, and the examples."""
    texts = [
        gr.Textbox(
            PARAPHRASE.candidate,
            label="Candidate: the text to judge",
            lines=2,
            max_lines=8,
            elem_id="candidate",
        )
    ]
    for index in range(limits.REFERENCES):
        texts.append(
            gr.Textbox(
                "" if index else PARAPHRASE.reference,
                label=f"Reference {index + 1}" if index else "Reference: what it should say",
                lines=2,
                max_lines=8,
                visible=index == 0,
                elem_id=f"reference-{index + 1}",
            )
        )
    add = gr.Button("Add a reference", size="sm")
    gr.Markdown(limits.TEXT_LIMITS, elem_classes="fine")
    gr.Markdown("**Examples that teach**")
    with gr.Row(elem_classes="examples"):
        buttons = [gr.Button(example.name, size="sm", min_width=140) for example in EXAMPLES]
    lesson = gr.Markdown(PARAPHRASE.lesson, elem_classes="lesson")
    return texts, add, lesson, buttons


def _answer_at_once(controls: dict[str, Any], event: dict[str, Any]) -> None:
    """Another choice is answered without a click; typing a number, once it is finished."""
    for name, control in controls.items():
        if isinstance(control, gr.Number):
            gr.on([control.submit, control.blur], **event, trigger_mode="always_last")
        elif name not in ("idf", "corpus", "corpus_file"):
            control.input(**event, trigger_mode="always_last")


def _filler(example: Example) -> Callable[[], list[Any]]:
    """A function that puts an example into the boxes, and hides those it does not need."""
    spare = [gr.update(value="", visible=False)] * (limits.REFERENCES - 1)
    lesson = example.lesson
    return lambda: [example.candidate, example.reference, *spare, gr.update(visible=True), lesson]


def _one_more(candidate: str, first: str, *others: str) -> list[Any]:
    """Updates that show one box for a reference more than hold a text."""
    filled = max([index for index, text in enumerate(others, 1) if text.strip()], default=0)
    shown = min(filled + 1, len(others))
    updates = [gr.update(visible=index <= shown) for index in range(1, len(others) + 1)]
    return [gr.skip(), gr.skip(), *updates, gr.update(visible=shown < len(others))]


def _wire_tokens(view: dict[str, Any]) -> None:
    """A token is chosen in the list, or by a click on it."""

    def predicted(label: str, predictions: Predictions) -> Any:
        return charts.bars(predictions[label]) if label in predictions else gr.skip()

    token, predictions = view["token"], view["predictions"]
    token.change(predicted, [token, predictions], view["token_bars"], **QUIET)
    for side in SIDES:
        view[f"{side.lower()}_tokens"].select(_picker(side), predictions, token, **QUIET)


def _picker(side: str) -> Callable[..., Any]:
    def picked(predictions: Predictions, event: gr.SelectData) -> Any:
        start = f"{side} {event.index + 1}: "
        return next((label for label in predictions if label.startswith(start)), gr.skip())

    return picked
