"""The tab that compares two texts: what goes in, the answer beside it, and what explains it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components import Component
from pydantic import BaseModel

from . import events, limits
from .appearance import notice, score_card
from .scoring import REFUSED, VIEWS, Answer, compare
from .settings import QUIET, SCORERS, chosen, make_controls

EXAMPLES = tomllib.loads(Path(__file__).with_name("examples.toml").read_text())["examples"]
LESSONS: Any = {(each["candidate"], each["reference"]): each["lesson"] for each in EXAMPLES}
WAITING = notice("Press “Compare” to see how close the two texts are.")
CODE = """\
from infolm_metric import {scorer}

scorer = {scorer}({settings})
result = scorer.score([{candidate!r}], [{references!r}])
print(result["{metric}"])
"""


def build(metric: str) -> None:
    """Builds the tab; it opens with the first example, answered by the metric named."""
    with gr.Row(elem_classes="examples"):
        examples = [gr.Button(each["name"], size="sm", min_width=140) for each in EXAMPLES]
    with gr.Row(equal_height=False):
        with gr.Column(scale=1, min_width=300):
            texts = _make_texts()
            by, controls = make_controls("Compared by", metric)
            run = gr.Button("Compare", variant="primary", size="lg", elem_id="compare")
        with gr.Column(scale=1, min_width=300):
            card = gr.HTML(WAITING, elem_id="score", padding=False)
    groups, shown = {}, {}
    with gr.Column(elem_id="why") as why:
        for name, view in VIEWS.items():
            with gr.Column(visible=name == metric, elem_id=f"why-{name}") as groups[name]:
                shown[name] = view.make()

    def show(answer: Answer) -> dict[Component, Any]:
        lesson = LESSONS.get((answer.candidate, *answer.references), "")
        updates = [*answer.why.shown, answer.signature, code_for(answer)]
        return {
            card: score_card(answer, lesson),
            why: gr.update(visible=True),
            **{group: gr.update(visible=name == answer.metric) for name, group in groups.items()},
            **dict(zip(shown[answer.metric], updates, strict=True)),
        }

    def answer(*values: Any) -> Iterator[dict[Component, Any]]:
        written, (named, *settings) = values[: len(texts)], values[len(texts) :]
        candidate, reference, *others = (text or "" for text in written)
        more = [text for text in others if text.strip()]
        references = [reference, *more] if reference.strip() or not more else more
        try:
            yield show(compare(named, candidate, references, chosen(named, settings)))
        except REFUSED as error:
            yield {card: notice(str(error), "refused"), why: gr.update(visible=False)}

    settings_changed = [control.input for control in (by, *controls)]
    events.answer(
        answer,
        triggers=[run.click, *(text.submit for text in texts), *settings_changed],
        edits=[*(text.change for text in texts), *settings_changed],
        inputs=[*texts, by, *controls],
        outputs=[card, why, *groups.values(), *chain(*shown.values())],
        notice=WAITING,
        **limits.QUEUE,
    )
    for button, example in zip(examples, EXAMPLES, strict=True):
        filled = [example["candidate"], example["reference"], *[""] * (len(texts) - 2)]
        # Written in the browser, at once; then it is as if “Compare” had been pressed.
        button.click(None, None, texts, js=f"() => {filled!r}", **QUIET).then(
            None, js=events.PRESS, **QUIET
        )
    first = EXAMPLES[0]
    opening = show(compare(metric, first["candidate"], [first["reference"]]))
    for component, update in opening.items():
        _open_with(component, update)


def _open_with(component: Component, update: Any) -> None:
    """Let a component show something from the start; an event could reach a page half built."""
    changes = update if isinstance(update, dict) and "__type__" in update else {"value": update}
    for name, value in changes.items():
        if name == "value":
            value = component.postprocess(value)
            value = value.model_dump() if isinstance(value, BaseModel) else value
        setattr(component, name, value)


def code_for(answer: Answer) -> str:
    """Code that prints the score; settings at their defaults are left out."""
    plain = SCORERS[answer.metric]().settings
    changed = {k: v for k, v in answer.settings.items() if v != getattr(plain, k)}
    return CODE.format(
        scorer=SCORERS[answer.metric].__name__,
        settings=", ".join(f"{name}={value!r}" for name, value in changed.items()),
        candidate=answer.candidate,
        references=answer.references,
        metric=answer.metric,
    )


def _make_texts() -> list[gr.Textbox]:
    """The boxes of the candidate and of its references; Enter in one of them compares."""
    enter: dict[str, Any] = {"lines": 1, "max_lines": 8}
    first, words = EXAMPLES[0], limits.COMPARED_WORDS
    candidate, reference = "The text to judge (candidate)", "What it should say (reference)"
    boxes = [
        gr.Textbox(first["candidate"], label=candidate, info=words, elem_id="candidate", **enter),
        gr.Textbox(first["reference"], label=reference, elem_id="reference-1", **enter),
    ]
    with gr.Accordion("More references", open=False):
        for number in range(2, limits.REFERENCES + 1):
            boxes.append(gr.Textbox(label=f"Reference {number}", **enter))
    return boxes
