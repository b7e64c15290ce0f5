"""Tab "Compare": two texts, a card with the scores by all metrics, and the explanation of one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from . import limits
from .appearance import TEXTS, notice, read_toml
from .card import Results, card, choose_metric, explanation, sentence
from .scoring import EXPECTED_ERRORS, Answer, compare, compare_by_all, is_answer, settings_of_page
from .settings import QUIET, SHOWN, make_controls, read_settings, show_controls

EXAMPLES = read_toml("examples.toml")["examples"]
NOTES: Any = {(pair["candidate"], pair["reference"]): pair["lesson"] for pair in EXAMPLES}
WAITING = card("Press “Compare” to score the candidate.")
# Update that hides the explanation but keeps its space, so that the layout does not change.
HIDDEN: dict[str, Any] = gr.update(elem_classes=["blank"])
SCRIPT = Path(__file__).with_name("card.js").read_text(encoding="utf-8")
NAMES = ["candidate", *(f"reference-{n + 1}" for n in range(limits.MAX_REFERENCES)), *SHOWN]
# Functions of card.js. The address keeps the texts and the settings, which are not sent with it.
PRESS, SCROLL = "() => infolm.press()", "() => infolm.scroll()"
SEND = "(...all) => infolm.send(all)"
KEEP = f"infolm.keep({json.dumps(NAMES)}, all); infolm.explain()"
RESTORE = f"(...all) => infolm.restore({json.dumps(NAMES)}, all)"


def build(demo: gr.Blocks, metric: str) -> None:
    """Build the tab, which initially shows the first example and the explanation of `metric`."""
    with gr.Row(elem_classes="examples"):
        buttons = [gr.Button(pair["name"], size="sm", min_width=140) for pair in EXAMPLES]
    with gr.Row(equal_height=False, elem_classes="inputs"):
        with gr.Column(scale=4, min_width=300):
            boxes = _make_boxes()
            compare_button = gr.Button("Compare", variant="primary", size="lg", elem_id="compare")
        with gr.Column(scale=5, min_width=300, elem_classes="sticky"):
            shown = gr.HTML(WAITING, elem_id="score", js_on_load=SCRIPT)
    opened = gr.Textbox(metric, visible="hidden", label="metric")
    controls = make_controls(metric)
    why = gr.HTML(elem_id="why", js_on_load="element.onclick = event => infolm.copy(event)")
    inputs = [*boxes, *controls]

    def answer(keep: bool, metric: str, *values: Any) -> Iterator[dict[Any, Any]]:
        try:
            for html, _ in compare_step_by_step(*_read(values), metric, keep):
                yield {shown: html}
        except EXPECTED_ERRORS as error:
            yield {shown: card(f"Not compared: {error}", kind="refused"), why: HIDDEN}

    def explain(metric: str, *values: Any) -> dict[Any, Any]:
        candidate, references, settings = _read(values)
        try:
            own = settings_of_page(candidate, references, settings)
            html = explanation(compare(metric, candidate, references, own.get(metric)))
        except EXPECTED_ERRORS as error:  # for example, an invalid setting
            html = notice(str(error))
        visible = dict(zip(controls, show_controls(metric), strict=True))
        return {opened: metric, why: gr.update(value=html, elem_classes=[]), **visible}

    # Editing a text clears the answer. The server returns an answer with a snapshot of its texts,
    # and the browser discards the answer if the texts have changed in the meantime.
    cleared, snapshot = json.dumps([WAITING, HIDDEN]), gr.Textbox(visible="hidden", label="asked")

    def connect(function: Any, triggers: Any, after: str = "") -> None:
        def answer_with_snapshot(*values: Any) -> Iterator[dict[Any, Any]]:
            for updates in function(*values[:-1]):
                yield {**updates, snapshot: values[-1]}

        sent, changed = [opened, *inputs, snapshot], [shown, why, opened, *controls, snapshot]
        options = QUIET | {"js": SEND, "queue": True, "trigger_mode": "always_last"}
        event = gr.on(triggers, answer_with_snapshot, sent, changed, **options)
        js = f"if (snapshot !== infolm.texts(all)) return {cleared}; {after}; return [];"
        js = f"(snapshot, ...all) => {{ {js} }}"
        event.then(None, [snapshot, *inputs], [shown, why], js=js, **QUIET)

    submits = [compare_button.click, *(box.submit for box in boxes)]
    changes = gr.Textbox(visible="hidden", label="changes")
    each = QUIET | {"js": "(...all) => infolm.changes(all)", "trigger_mode": "multiple"}
    gr.on([control.input for control in controls], None, controls, changes, **each)
    connect(partial(answer, False), submits, KEEP)
    connect(partial(answer, True), [changes.change], KEEP)
    connect(lambda *values: iter([explain(*values)]), [shown.click])
    gr.on([box.change for box in boxes], None, None, [shown, why], js=f"() => {cleared}", **QUIET)
    gr.on(submits, None, js=SCROLL, **QUIET)
    _restore(demo, inputs)
    for button, example in zip(buttons, EXAMPLES, strict=True):
        texts = [example["candidate"], example["reference"], *[""] * (len(boxes) - 2)]
        # The browser fills in the texts without a request, and then presses “Compare”.
        filled = button.click(None, None, boxes, js=f"() => {json.dumps(texts)}", **QUIET)
        filled.then(None, js=PRESS, **QUIET)
    # Set directly, because a load event could run before the build is complete.
    initial = [metric, *(component.value for component in inputs)]
    *_, last = answer(True, *initial)
    shown.value, why.value = last[shown], explain(*initial)[why]["value"]


def _restore(demo: gr.Blocks, inputs: list[Any]) -> None:
    """Restore the texts and settings in the address when the page is loaded."""
    kept = gr.Textbox(visible="hidden", label="kept")
    demo.load(None, inputs, kept, js="(...all) => infolm.load(all)", **QUIET)
    restored = kept.change(None, inputs, inputs, js=RESTORE, **QUIET)
    restored.then(None, js=PRESS, **QUIET)


def compare_step_by_step(
    candidate: str, references: list[str], settings: dict[str, Any], opened: str, keep: bool
) -> Iterator[tuple[str, str]]:
    """Yield the card and the explained metric after each step. The last card sums up the verdicts.

    `opened` is the metric that was explained before. If not `keep`, it may change.
    """
    note = NOTES.get((candidate, *references), "")
    by_metric = settings_of_page(candidate, references, settings)
    judged = is_answer(candidate, references)
    results: Results = {}
    for metric, result in compare_by_all(candidate, references, by_metric):
        results = {**results, metric: result}
        yield card("Comparing the texts", results, note, "running", opened, judged), opened
    if not keep:
        opened = choose_metric(results, judged, opened)
    answers = [result for result in results.values() if isinstance(result, Answer)]
    words = sentence(answers, candidate, references)
    yield card(words, results, note, "done", opened, judged), opened


def _read(values: Any) -> tuple[str, list[str], dict[str, Any]]:
    """Return the candidate, its references and the settings in the inputs of the tab."""
    boxes = 1 + limits.MAX_REFERENCES
    candidate, *group = (text or "" for text in values[:boxes])
    references = [text for text in group if text.strip()] or group[:1]
    return candidate, references, read_settings(values[boxes:])


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
