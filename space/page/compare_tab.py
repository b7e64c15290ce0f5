"""Tab "Compare": two texts, a card with the scores by all metrics, and the explanation of one."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr

from . import events, limits
from .appearance import METRIC_NAMES, TEXTS
from .card import card, explanation, sentence
from .scoring import EXPECTED_ERRORS, Answer, compare, compare_by_all, refusal
from .settings import QUIET, divide_settings, make_controls, read_settings

FOLDER = Path(__file__).parent
EXAMPLES = tomllib.loads((FOLDER / "examples.toml").read_text(encoding="utf-8"))["examples"]
NOTES: Any = {(pair["candidate"], pair["reference"]): pair["lesson"] for pair in EXAMPLES}
WAITING = card("Press “Compare” to score the candidate.")
# Update that hides the explanation but keeps its space, so that the layout does not change.
HIDDEN: dict[str, Any] = gr.update(elem_classes=["blank"])
SCRIPT = (FOLDER / "card.js").read_text(encoding="utf-8")


def build(metric: str) -> None:
    """Build the tab, which initially shows the first example and the explanation of `metric`."""
    with gr.Row(elem_classes="examples"):
        buttons = [gr.Button(pair["name"], size="sm", min_width=140) for pair in EXAMPLES]
    with gr.Row(equal_height=False, elem_classes="inputs"):
        with gr.Column(scale=4, min_width=300):
            boxes = _make_boxes()
            compare_button = gr.Button("Compare", variant="primary", size="lg", elem_id="compare")
            controls = make_controls()
        with gr.Column(scale=5, min_width=300, elem_classes="sticky"):
            shown = gr.HTML(WAITING, elem_id="score", js_on_load=SCRIPT)
    opened = gr.Textbox(metric, visible="hidden", label="metric")
    why = gr.HTML(elem_id="why", js_on_load="element.onclick = event => infolm.copy(event)")

    def read(values: tuple[Any, ...]) -> tuple[str, list[str], dict[str, Any]]:
        candidate, *group = (text or "" for text in values[: len(boxes)])
        references = [text for text in group if text.strip()] or group[:1]
        return candidate, references, read_settings(values[len(boxes) :])

    def answer(*values: Any) -> Iterator[dict[Any, Any]]:
        try:
            for html in compare_step_by_step(*read(values)):
                yield {shown: html}
        except EXPECTED_ERRORS as error:
            yield {shown: card(f"Not compared: {error}", kind="refused"), why: HIDDEN}

    def explain(metric: str, *values: Any) -> Iterator[dict[Any, Any]]:
        candidate, references, settings = read(values)
        try:
            own = divide_settings(settings).get(metric)
            html = explanation(compare(metric, candidate, references, own))
        except EXPECTED_ERRORS as error:  # of a request that the page does not send
            raise refusal(error) from None
        yield {opened: metric, why: gr.update(value=html, elem_classes=[])}

    submits = [compare_button.click, *(box.submit for box in boxes)]
    setting_edits = [control.input for control in controls]
    inputs = [*boxes, *controls]
    triggers, edits = [*submits, *setting_edits], [*(box.change for box in boxes), *setting_edits]
    blank = {shown: WAITING, why: HIDDEN}
    events.answer(answer, triggers, inputs, [shown, why], blank, edits, after=events.OPEN)
    gr.on(submits, None, js=events.SCROLL, **QUIET)
    inputs, blank = [opened, *inputs], {why: HIDDEN}
    events.answer(explain, [shown.click], inputs, [opened, why], blank, before=events.READ_METRIC)
    for button, example in zip(buttons, EXAMPLES, strict=True):
        texts = [example["candidate"], example["reference"], *[""] * (len(boxes) - 2)]
        # The browser fills in the texts without a request, and then presses “Compare”.
        button.click(None, None, boxes, js=f"() => {texts!r}", **QUIET).then(
            None, js=events.PRESS, **QUIET
        )
    pair = EXAMPLES[0]["candidate"], [EXAMPLES[0]["reference"]]
    # Set directly, because a load event could run before the build is complete.
    *_, shown.value = compare_step_by_step(*pair, {}, opened=metric)
    why.value = explanation(compare(metric, *pair))


def compare_step_by_step(
    candidate: str, references: list[str], settings: dict[str, Any], opened: str = ""
) -> Iterator[str]:
    """Yield the card after each metric, and finally with the sentence about all scores."""
    note = NOTES.get((candidate, *references), "")
    results: dict[str, Answer | BaseException] = {}
    for metric, result in compare_by_all(candidate, references, settings):
        results[metric] = result
        if len(results) < len(METRIC_NAMES):
            yield card("Comparing the texts", results, note)
    answers = [result for result in results.values() if isinstance(result, Answer)]
    yield card(sentence(answers), results, note, "done", opened)


def _make_boxes() -> list[gr.Textbox]:
    """Create the text boxes for the candidate and its references."""
    options: dict[str, Any] = {"lines": 1, "max_lines": 8}
    pair, words = EXAMPLES[0], TEXTS["compare"]["limits"].format(**vars(limits))
    candidate, reference = "Candidate: the text to score", "Reference: the expected text"
    boxes = [
        gr.Textbox(pair["candidate"], label=candidate, info=words, elem_id="candidate", **options),
        gr.Textbox(pair["reference"], label=reference, elem_id="reference-1", **options),
    ]
    with gr.Accordion("More references", open=False):
        numbers = range(2, limits.MAX_REFERENCES + 1)
        return boxes + [gr.Textbox(label=f"Reference {number}", **options) for number in numbers]
