"""Tab "Compare": inputs, score and explanation for two texts."""

from __future__ import annotations

import shlex
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
from .components import make_reproduction
from .scoring import EXPECTED_ERRORS, VIEWS, Answer, compare
from .settings import QUIET, SCORERS, make_controls, read_settings

EXAMPLES = tomllib.loads(Path(__file__).with_name("examples.toml").read_text())["examples"]
NOTES: Any = {(pair["candidate"], pair["reference"]): pair["lesson"] for pair in EXAMPLES}
WAITING = notice("Press “Compare” to score the candidate.")
# Update that hides the explanation but keeps its space, so that the layout does not change.
HIDDEN: dict[str, Any] = {"elem_classes": ["blank"]}
FLAGS = {"model_name_or_path": "model", "information_measure": "measure"}
CODE = """\
from infolm_metric import {scorer}

scorer = {scorer}({settings})
result = scorer.score([{candidate!r}], [{references!r}])
print(result["{metric}"])
"""


def build(metric: str) -> None:
    """Build the tab, which initially shows the first example scored with the metric."""
    with gr.Row(elem_classes="examples"):
        buttons = [gr.Button(pair["name"], size="sm", min_width=140) for pair in EXAMPLES]
    with gr.Row(equal_height=False):
        with gr.Column(scale=1, min_width=300):
            boxes = _make_boxes()
            radio, controls = make_controls("Metric", metric)
            compare_button = gr.Button("Compare", variant="primary", size="lg", elem_id="compare")
        with gr.Column(scale=1, min_width=300):
            card = gr.HTML(WAITING, elem_id="score", padding=False)
    groups, components = {}, {}
    with gr.Column(elem_id="why") as why:
        for name, view in VIEWS.items():
            with gr.Column(visible=name == metric, elem_id=f"why-{name}") as groups[name]:
                components[name] = view.make()
        reproduction = make_reproduction()

    def show(answer: Answer) -> dict[Component, Any]:
        note = NOTES.get((answer.candidate, *answer.references), "")
        return {card: score_card(answer, note)}

    def explain(answer: Answer) -> dict[Component, Any]:
        return {
            why: gr.update(elem_classes=[]),
            **{group: gr.update(visible=name == answer.metric) for name, group in groups.items()},
            **dict(zip(components[answer.metric], answer.view.updates, strict=True)),
            **dict(zip(reproduction, reproduce(answer), strict=True)),
        }

    def answer(*values: Any) -> Iterator[dict[Component, Any]]:
        texts, (name, *settings) = values[: len(boxes)], values[len(boxes) :]
        candidate, *group = (text or "" for text in texts)
        references = [text for text in group if text.strip()] or group[:1]
        try:
            scored = compare(name, candidate, references, read_settings(name, settings))
            yield show(scored)
            yield explain(scored)
        except EXPECTED_ERRORS as error:
            yield {card: notice(str(error), "refused"), why: gr.update(**HIDDEN)}

    setting_edits = [control.input for control in (radio, *controls)]
    events.answer(
        answer,
        triggers=[compare_button.click, *(box.submit for box in boxes), *setting_edits],
        edits=[*(box.change for box in boxes), *setting_edits],
        inputs=[*boxes, radio, *controls],
        outputs=[card, why, *groups.values(), *chain(*components.values()), *reproduction],
        notice=WAITING,
        hidden=HIDDEN,
        show_progress_on=card,
        **limits.QUEUE,
    )
    for button, example in zip(buttons, EXAMPLES, strict=True):
        texts = [example["candidate"], example["reference"], *[""] * (len(boxes) - 2)]
        # The browser fills in the texts without a request, and then presses “Compare”.
        choice = repr(example["metric"]) if "metric" in example else "metric"
        fill = f"metric => [...{texts!r}, {choice}]"
        button.click(None, radio, [*boxes, radio], js=fill, **QUIET).then(
            None, js=events.PRESS, **QUIET
        )
    example = EXAMPLES[0]
    opening = compare(metric, example["candidate"], [example["reference"]])
    for component, update in {**show(opening), **explain(opening)}.items():
        _open_with(component, update)


def _open_with(component: Component, update: Any) -> None:
    """Set a component's initial state. A load event could run before the build is complete."""
    changes = update if isinstance(update, dict) and "__type__" in update else {"value": update}
    for name, value in changes.items():
        value = component.postprocess(value) if name == "value" else value
        setattr(component, name, value.model_dump() if isinstance(value, BaseModel) else value)


def reproduce(answer: Answer) -> list[str]:
    """Return Python code and a command that omit default settings, and the signature.

    Both name the model even if it is the default, which depends on environment variables.
    """
    defaults = vars(SCORERS[answer.metric]().settings) | {"model_name_or_path": None}
    settings = {k: v for k, v in answer.settings.items() if v != defaults[k]}
    code = CODE.format(
        scorer=SCORERS[answer.metric].__name__,
        settings=", ".join(f"{k}={v!r}" for k, v in settings.items()),
        candidate=answer.candidate,
        references=answer.references,
        metric=answer.metric,
    )
    values = {k: "none" if v is False else v for k, v in settings.items()}
    flags = [f"--{FLAGS.get(k, k).replace('_', '-')}={v}" for k, v in values.items()]
    texts = [answer.candidate, *answer.references]
    command = shlex.join(["infolm", "score", f"--metric={answer.metric}", *flags, "--", *texts])
    return [code, command, str(answer.signature)]


def _make_boxes() -> list[gr.Textbox]:
    """Create the text boxes for the candidate and its references."""
    options: dict[str, Any] = {"lines": 1, "max_lines": 8}
    pair, words = EXAMPLES[0], limits.COMPARED_WORDS
    candidate, reference = "Candidate: the text to score", "Reference: the expected text"
    boxes = [
        gr.Textbox(pair["candidate"], label=candidate, info=words, elem_id="candidate", **options),
        gr.Textbox(pair["reference"], label=reference, elem_id="reference-1", **options),
    ]
    with gr.Accordion("More references", open=False):
        numbers = range(2, limits.MAX_REFERENCES + 1)
        return boxes + [gr.Textbox(label=f"Reference {number}", **options) for number in numbers]
