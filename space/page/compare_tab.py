"""The tab that compares two texts: what goes in, and what happens at which event."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import gradio as gr
from gradio.components import Component

from . import charts, limits
from .answer_view import SIDES, STATE_SECONDS, Predictions, make_answer_view, shown, shown_entries
from .choices import Choices
from .comparison import Answer, compare
from .controls import QUIET, VALUES, chosen, make_controls, visibility
from .examples import EXAMPLES, PARAPHRASE, Example
from .inference import RULES, infer
from .inference_view import make_inference_view, shown_inference
from .messages import EXPECTED, sentence
from .transport import move_texts
from .transport_view import make_transport_view, shown_plan

INFOLM, BARYSCORE, MENLI = "infolm", "baryscore", "menli"
COMPARED_BY = [
    (f"InfoLM: what the model expects in each word's place; {charts.LOWER}", INFOLM),
    (f"BaryScore: how far the words lie apart in the model; {charts.LOWER}", BARYSCORE),
    (f"MENLI: how surely each text follows from the other; {charts.HIGHER}", MENLI),
]
SETTINGS_OF = {  # what each metric's score depends on
    INFOLM: VALUES,
    BARYSCORE: ("multi_reference", "idf", "model"),
    MENLI: ("multi_reference",),
}
CLOSEST_BY = {INFOLM: "min", BARYSCORE: "min", MENLI: RULES["min"]}
"""What each metric calls the rule that the closest reference counts."""
ANSWERS_OF: dict[str, tuple[Callable[..., Any], ...]] = {
    INFOLM: (compare, make_answer_view, shown),
    BARYSCORE: (move_texts, make_transport_view, shown_plan),
    MENLI: (infer, make_inference_view, shown_inference),
}
"""What finds an answer, makes the components that show one, and gives what they show."""
WAITING = "Press “Compare” to see how close the two texts are."


def build(page: gr.Blocks, limit: dict[str, Any]) -> None:
    """Builds the tab in the page; `limit` holds the concurrency settings of its events."""
    gr.Markdown("**Try an example:**")
    with gr.Row(elem_classes="examples"):
        buttons = [gr.Button(example.name, size="sm", min_width=140) for example in EXAMPLES]
    with gr.Row(equal_height=False):
        with gr.Column(scale=1, min_width=300):
            texts, add, run = _make_texts()
        with gr.Column(scale=1, min_width=300):
            card = gr.HTML(elem_id="score", padding=False)
            lesson = gr.Markdown(PARAPHRASE.lesson, elem_classes="lesson", elem_id="lesson")
    by = gr.Radio(COMPARED_BY, value=INFOLM, label="Compared by", elem_id="compared-by")
    controls = make_controls()
    given = [*texts, by, *controls.values()]
    held = _held(box.value for box in given)
    asked = gr.State(held, time_to_live=STATE_SECONDS)  # what they held when they were answered
    pages, views = {}, {}
    for name, elem_id in {INFOLM: "why", BARYSCORE: "moved", MENLI: "inferred"}.items():
        _, make_view, _ = ANSWERS_OF[name]
        with gr.Column(elem_id=elem_id, visible=name == INFOLM) as pages[name]:
            views[name] = make_view()
    view = views[INFOLM]

    def only(metric: str) -> dict[Component, Any]:
        """Of what explains an answer, that of one metric, or nothing."""
        return {page: gr.update(visible=name == metric) for name, page in pages.items()}

    def updates(metric: str, answer: Any, everything: bool = False) -> dict[Component, Any]:
        _, _, show = ANSWERS_OF[metric]
        values = show(answer)
        # The lessons are InfoLM's, and so is what is kept of an answer.
        others = {lesson: gr.update(visible=False), view["answer"]: None}
        if metric == INFOLM:
            values |= shown_entries(answer, everything)
            others = {}
        own = {views[metric][name]: update for name, update in values.items()}
        return {card: charts.score_card(answer), **only(metric), **others, **own}

    def cleared(notice: str) -> dict[Component, Any]:
        return {card: notice, **only(""), lesson: gr.update(visible=False)}

    def answer(everything: bool, *values: Any) -> Iterator[dict[Component, Any]]:
        # Told again at the end: an answer that comes late must not pass for the one asked for last.
        held: dict[Component, Any] = {asked: _held(values)}
        yield {card: charts.notice("Comparing …"), **held}
        own, (compared_by, *settings) = values[: len(texts)], values[len(texts) :]
        try:
            choices = chosen(*settings, used=SETTINGS_OF[compared_by])
            candidate, first, *others = (text or "" for text in own)
            more = [text for text in others if text.strip()]
            references = [first, *more] if first.strip() or not more else more
            find, _, _ = ANSWERS_OF[compared_by]
            found = updates(compared_by, find(candidate, references, choices), everything)
        except EXPECTED as error:
            found = cleared(charts.notice(sentence(error), "refused"))
        yield found | held

    def checked(answered: list[Any], *now: Any) -> dict[Component, Any]:
        """The answer as it is, or cleared if the page no longer holds what it was given for."""
        return {card: gr.skip()} if answered == _held(now) else cleared(charts.notice(WAITING))

    check = {"fn": checked, "inputs": [asked, *given], "outputs": [card, *pages.values(), lesson]}
    event = {
        "fn": answer,
        "inputs": [view["everything"], *given],
        "outputs": [
            *(card, *pages.values(), lesson, asked),
            *(component for each in views.values() for component in each.values()),
        ],
        "api_visibility": "private",
        "show_progress": "hidden",
        **limit,
    }
    gr.on([run.click, *(text.submit for text in texts)], **event).then(**check, **QUIET)
    by.input(
        lambda metric, measure: visibility(SETTINGS_OF[metric], measure, CLOSEST_BY[metric]),
        [by, controls["information_measure"]],
        list(controls.values()),
        **QUIET,
    )
    for finished in _answer_at_once({"by": by, **controls}, event):
        finished.then(**check, **QUIET)
    for button, example in zip(buttons, EXAMPLES, strict=True):
        filled = button.click(
            _filler(example), given[len(texts) :], [*texts, add, lesson, asked], **QUIET
        )
        answered = filled.then(**event).then(**check, **QUIET)
        # Once more: what reaches a page that is still being built can be lost.
        answered.then(_lesson_of(example), [view["answer"], *texts], lesson, **QUIET)
    gr.on([box.change for box in texts], **check, **QUIET, trigger_mode="always_last")
    add.click(_one_more, texts, [*texts, add], **QUIET)
    _wire_tokens(view)
    plots = ["candidate_bars", "reference_bars", "drivers"]
    view["everything"].input(
        lambda answer, everything: [shown_entries(answer, everything)[name] for name in plots],
        [view["answer"], view["everything"]],
        [view[name] for name in plots],
        **QUIET,
    )
    first = compare(PARAPHRASE.candidate, [PARAPHRASE.reference], Choices())
    page.load(
        lambda: updates(INFOLM, first), None, [card, *pages.values(), *view.values()], **QUIET
    )


def _make_texts() -> tuple[list[gr.Textbox], gr.Button, gr.Button]:
    """The boxes of candidate and references, and the buttons below them."""
    boxes = [
        ("candidate", "The text to judge (candidate)", PARAPHRASE.candidate),
        ("reference-1", "What it should say (reference)", PARAPHRASE.reference),
        *((f"reference-{i}", f"Reference {i}", "") for i in range(2, limits.REFERENCES + 1)),
    ]
    texts = [
        gr.Textbox(
            text,
            label=label,
            info=limits.TEXT_LIMITS if elem_id == "candidate" else None,
            lines=2,
            max_lines=8,
            visible=bool(text),
            elem_id=elem_id,
        )
        for elem_id, label, text in boxes
    ]
    add = gr.Button("Add a reference", size="sm")
    run = gr.Button("Compare", variant="primary", size="lg", elem_id="compare")
    return texts, add, run


def _held(values: Iterable[Any]) -> list[Any]:
    """What components hold, nothing written and nothing chosen being alike."""
    return ["" if value is None else value for value in values]


def _answer_at_once(controls: dict[str, Any], event: dict[str, Any]) -> list[Any]:
    """The events by which another choice is answered without a click; a number, once finished."""
    triggers = []
    for control in controls.values():
        if isinstance(control, gr.Number):
            triggers += [control.submit, control.blur]
        else:
            triggers.append(control.input)
    return [gr.on([trigger], **event, trigger_mode="always_last") for trigger in triggers]


def _filler(example: Example) -> Callable[..., list[Any]]:
    """A function that puts an example into the boxes, and hides those it does not need."""
    blank = [""] * (limits.REFERENCES - 1)
    spare = [gr.update(value=text, visible=False) for text in blank]
    lesson = gr.update(value=example.lesson, visible=True)
    own = [example.candidate, example.reference]
    return lambda *others: [
        *own,
        *spare,
        gr.update(visible=True),
        lesson,
        _held([*own, *blank, *others]),
    ]


def _lesson_of(example: Example) -> Callable[..., Any]:
    """A function that shows an example's lesson if it is what was answered, and is written."""

    def shown(answer: Answer | None, *written: str) -> Any:
        own = (example.candidate, example.reference)
        answered = (answer.candidate_text, *answer.reference_texts) if answer else ()
        told = answered == own == written[:2]
        return gr.update(value=example.lesson, visible=True) if told else gr.skip()

    return shown


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
