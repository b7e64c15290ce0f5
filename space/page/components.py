"""Plots, tables and other components that several metrics share.

User input is never rendered as markup: plots draw labels as text, and the columns of tables have
the type "str" or "number".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr
import pandas as pd

from .appearance import CANDIDATE, REFERENCE, TEXTS


def bar_plot(label: str, y_title: str, color: str = "", **options: Any) -> gr.BarPlot:
    """Create a bar plot of tokens, in one color or in the candidate's and reference's colors."""
    colors = {"": color} if color else {"candidate": CANDIDATE, "reference": REFERENCE}
    return gr.BarPlot(
        x="token",
        y="percent",
        color="side",
        color_map=colors,
        colors_in_legend=[] if color else None,
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
    """Convert words with fractions to rows with percentages, for a bar plot in one color."""
    rows = [(word or "(unused)", 100 * value, "") for word, value in words]
    return pd.DataFrame(rows, columns=["token", "percent", "side"])


def table(
    label: str, headers: list[str], column_widths: list[Any], datatype: Any = "str", **options: Any
) -> gr.Dataframe:
    """Create a read-only table. Column widths are in percent, so that the table fits on a phone."""
    return gr.Dataframe(
        headers=headers,
        datatype=datatype,
        interactive=False,
        label=label,
        show_label=bool(label),
        column_widths=column_widths,
        wrap=True,
        line_breaks=False,
        max_height=520,
        buttons=[],
        elem_classes="table",
        **options,
    )


def make_reproduction() -> list[Any]:
    """Create the components that show the signature, and code that reproduces the score."""
    options: Any = {"show_line_numbers": False, "wrap_lines": True, "buttons": ["copy"], "lines": 1}
    with gr.Accordion("Reproduce the score", open=False):
        python = gr.Code(label="Python", language="python", elem_classes="code", **options)
        shell = gr.Code(label="Command line", language="shell", elem_classes="command", **options)
        gr.Markdown(TEXTS["compare"]["signature"])
        copyable: dict[str, Any] = {"buttons": ["copy"], "elem_classes": "signature"}
        return [python, shell, gr.Textbox(label="Signature", lines=2, **copyable)]
