"""Plots, tables and other components that all metrics share.

Plots draw labels as text, and tables have columns of type "str", so that no input is markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr
import pandas as pd

from .appearance import CANDIDATE, REFERENCE


def bar_plot(label: str, y_title: str, colour: str = "", **options: Any) -> gr.BarPlot:
    """Create a plot of words in one colour, or rising for candidate and hanging for reference."""
    colours = {"": colour} if colour else {"candidate": CANDIDATE, "reference": REFERENCE}
    return gr.BarPlot(
        x="token",
        y="percent",
        color="side",
        color_map=colours,
        colors_in_legend=[] if colour else None,
        color_title=" ",
        sort="-y",
        x_title=" ",
        y_title=y_title,
        x_label_angle=-40,
        tooltip="all",
        height=300,
        label=label,
        buttons=[],
        min_width=280,
        **options,
    )


def bars(words: Sequence[tuple[str, float]]) -> pd.DataFrame:
    """Return words with their values in percent, for a bar plot of one colour."""
    rows = [(word or "(unused)", 100 * value, "") for word, value in words]
    return pd.DataFrame(rows, columns=["token", "percent", "side"])


def table(
    label: str, headers: list[str], widths: list[Any], datatype: Any = "str", **options: Any
) -> gr.Dataframe:
    """Create a table, by default of texts, whose widths fit a phone."""
    return gr.Dataframe(
        headers=headers,
        datatype=datatype,
        interactive=False,
        label=label,
        show_label=bool(label),
        column_widths=widths,
        wrap=True,
        line_breaks=False,
        max_height=520,
        buttons=[],
        elem_classes="table",
        **options,
    )


def make_reproduction() -> list[Any]:
    """Create the components to report and reproduce a score: its signature, and code."""
    gr.Markdown(
        "### Report it, repeat it\n"
        "Report the signature with the score: it names every setting that can change it, the "
        "model and the versions."
    )
    signature = gr.Textbox(label="Signature", lines=2, buttons=["copy"], elem_classes="signature")
    options: dict[str, Any] = {"language": "python", "show_line_numbers": False, "wrap_lines": True}
    return [signature, gr.Code(label="Python for this score", elem_classes="code", **options)]
