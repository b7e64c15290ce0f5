"""The components that show the answer of a comparison, and how they show one."""

from __future__ import annotations

from typing import Any

import gradio as gr

from . import charts
from .comparison import SWEPT, Answer
from .reproduction import make_reproduction, shown_reproduction

SIDES = ("Candidate", "Reference")
ANGLE = -40  # of long labels under a plot
STATE_SECONDS = 3600

Predictions = dict[str, list[tuple[str, float]]]
"""What the model predicts in the place of a token, by the label of the token in the page."""


def make_answer_view() -> dict[str, Any]:
    """The components that show an answer, by name, from the top to the end."""
    view: dict[str, Any] = {
        "predictions": gr.State({}, time_to_live=STATE_SECONDS),  # a visitor's
        "answer": gr.State(None, time_to_live=STATE_SECONDS),  # the same
    }
    gr.Markdown(
        "### What each text makes the model expect\n"
        "Each word is hidden in turn, and the model guesses what could stand there. The guesses, "
        "averaged over the text, are what the two texts are compared by. These are the most "
        "probable ones; `##` marks a piece that continues a word."
    )
    view["everything"] = gr.Checkbox(
        False,
        label="All entries of the vocabulary, also function words and punctuation",
        elem_id="everything",
    )
    with gr.Row():
        for side, colour in zip(SIDES, (charts.CANDIDATE, charts.REFERENCE), strict=True):
            view[f"{side.lower()}_bars"] = _bar_plot(side, colour, f"expected-{side.lower()}")
    gr.Markdown(
        "### What drives the score\n"
        "The guesses that add most to the score. Above the line, the candidate makes the model "
        "expect the word more; below it, the reference does."
    )
    view["drivers"] = gr.BarPlot(
        x="token",
        y="percent",
        color="side",
        color_map={"candidate": charts.CANDIDATE, "reference": charts.REFERENCE},
        sort="-y",
        x_title=" ",
        y_title="share of the score, %",
        color_title=" ",
        x_label_angle=ANGLE,
        tooltip="all",
        height=320,
        label="Largest shares of the score",
        buttons=[],
        elem_id="drivers",
    )
    view |= _make_token_view()
    gr.Markdown("### The same texts by all nine measures")
    view["table"] = gr.Dataframe(
        headers=["measure", "score", "max"],
        interactive=False,
        show_label=False,
        elem_id="measures",
        column_widths=["60%", "21%", "19%"],
        max_height=520,
        buttons=[],
    )
    gr.Markdown(
        "### How the score moves with the settings\n"
        "The upright line is your choice. Where a curve is flat, the choice matters little."
    )
    with gr.Row():
        view |= {name: _line_plot(name) for name in SWEPT}
    return view | make_reproduction()


def shown(answer: Answer) -> dict[str, Any]:
    """What the components, by name, show of an answer, but for what `shown_entries` gives."""
    predictions: Predictions = {
        f"{side} {number}: {token.token}": token.predictions
        for side, tokens in zip(SIDES, (answer.candidate, answer.reference), strict=True)
        for number, token in enumerate(tokens, 1)
    }
    first = next(iter(predictions))
    return {
        "table": gr.update(value=charts.measure_table(answer.all_measures)),
        "answer": answer,
        "candidate_tokens": charts.coloured(answer.candidate),
        "reference_tokens": gr.update(
            value=charts.coloured(answer.reference), label=_labels(answer)[1]
        ),
        "token": gr.update(choices=list(predictions), value=first),
        "token_bars": charts.bars(predictions[first]),
        **{name: _curve(answer, name) for name in SWEPT},
        "predictions": predictions,
        **shown_reproduction(answer),
    }


def shown_entries(answer: Answer, everything: bool) -> dict[str, Any]:
    """What the plots of entries, by name, show: both texts on one scale.

    Of all entries, or of content words.
    """
    entries = answer.entries[everything]
    sides = {"candidate_bars": entries.candidate, "reference_bars": entries.reference}
    highest = max(100 * probability for side in sides.values() for _, probability in side)
    drivers = charts.driver_bars(entries.drivers, entries.score)
    return {
        **{
            name: gr.update(value=charts.bars(side), y_lim=[0, highest], label=label)
            for (name, side), label in zip(sides.items(), _labels(answer), strict=True)
        },
        "drivers": gr.update(value=drivers, visible=bool(entries.drivers)),
    }


def _make_token_view() -> dict[str, Any]:
    view: dict[str, Any] = {}
    gr.Markdown(
        "### Token by token\n"
        "A token is a word or a piece of one; the stronger its colour, the more it weighs. Choose "
        "one, here or in the list, to see what the model predicts in its place."
    )
    with gr.Row(equal_height=False):
        with gr.Column(scale=6, min_width=300):
            for side in SIDES:
                view[f"{side.lower()}_tokens"] = gr.HighlightedText(
                    label=side,
                    color_map=charts.WEIGHT_COLOURS,
                    show_inline_category=False,
                    interactive=False,
                    elem_classes="tokens",
                    elem_id=f"tokens-{side.lower()}",
                )
        with gr.Column(scale=5, min_width=300):
            view["token"] = gr.Dropdown(label="Hide this token", elem_id="token", filterable=False)
            title = "The model predicts in its place"
            view["token_bars"] = _bar_plot(title, charts.NEUTRAL, "token-bars")
    return view


def _bar_plot(label: str, colour: str, elem_id: str) -> gr.BarPlot:
    return gr.BarPlot(
        x="token",
        y="percent",
        color="text",
        color_map={"": colour},
        colors_in_legend=[],
        sort="-y",
        x_title=" ",
        y_title="probability, %",
        x_label_angle=ANGLE,
        height=280,
        label=label,
        buttons=[],
        min_width=280,
        elem_id=elem_id,
    )


def _line_plot(name: str) -> gr.LinePlot:
    return gr.LinePlot(
        x=name,
        y="score",
        color="line",
        color_map={"score": charts.NEUTRAL, "your choice": charts.CANDIDATE},
        color_title=" ",
        height=280,
        label=f"Score by {name}",
        buttons=[],
        min_width=280,
        elem_id=f"by-{name}",
    )


def _labels(answer: Answer) -> tuple[str, str]:
    """What the page calls the two texts that are explained."""
    several = len(answer.reference_texts) > 1
    return SIDES[0], f"Reference {answer.explained + 1}, the closest" if several else SIDES[1]


def _curve(answer: Answer, name: str) -> Any:
    """The update of a curve: shown where the measure has the parameter."""
    if name not in answer.curves:
        return gr.update(visible=False)
    here = getattr(answer.choices, name)
    return gr.update(visible=True, value=charts.curve_line(answer.curves[name], here, name))
