"""Appearance of the demo: theme, texts and HTML parts, which escape user input."""

from __future__ import annotations

import html
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gradio as gr

from infolm_metric.core.inputs import counted

SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica", "Arial", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]
THEME = gr.themes.Soft(
    primary_hue="indigo", neutral_hue="slate", font=SANS, font_mono=MONO, radius_size="md"
)


def read_toml(name: str) -> dict[str, Any]:
    """Read a TOML file in this folder."""
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


TEXTS = read_toml("texts.toml")
METRIC_NAMES = TEXTS["names"]
INTRODUCTION = TEXTS["compare"]["introduction"]
if SPACE := os.environ.get("SPACE_ID"):  # set on the Hub, where visitors can read the Space's files
    INTRODUCTION += TEXTS["compare"]["hub"].format(space=SPACE)

LOWER = "lower is closer, 0 for identical texts"
HIGHER = "higher is better, at most 1"
STYLE = Path(__file__).with_name("style.css")
NOUNS = ("text", "pair", "reference", "blank reference")  # that warnings count


def number(value: float) -> str:
    """Format a score with four decimals, or four significant digits if small, large or negative.

    >>> number(0.40684), number(0.00012345), number(1234567.0), number(0.0)
    ('0.4068', '0.0001234', '1.235e+06', '0.0000')
    """
    return f"{value:.4f}" if value == 0 or 1e-3 <= value < 1e5 else f"{value:.4g}"


def shorten(message: str) -> str:
    """Truncate a message, which may quote a long text."""
    return message[:600]


def notes(warnings: Mapping[str, int]) -> list[str]:
    """Return one sentence per warning about the scored texts.

    >>> notes({"few_documents": 1, "empty": 2})
    ['2 texts without any tokens.', 'With a single reference, all words have the same weight.']
    """
    counts = dict(warnings)
    if counts.get("few_documents") == 1:
        counts["one_document"] = counts.pop("few_documents")
    return [
        words.format(**{f"{noun}s": counted(counts[kind], noun) for noun in NOUNS})
        for kind, words in TEXTS["warnings"].items()
        if kind in counts
    ]


# HTML parts. Strings in `items` and `rows` are escaped.


def escape(text: object) -> str:
    """Escape markup, and the characters that start an expression in Gradio's templates.

    >>> escape("<b>${1 + 1} {{value}}")
    '&lt;b&gt;&#36;&#123;1 + 1} &#123;&#123;value}}'
    """
    return html.escape(str(text)).replace("{", "&#123;").replace("$", "&#36;")


def notice(text: str) -> str:
    """Return an HTML card with an error."""
    return f'<div class="card refused" role="alert"><p>{escape(shorten(text))}</p></div>'


def section(metric: str, name: str, *parts: str) -> str:
    """Return a titled part of an explanation."""
    words = TEXTS[metric][name]
    body = f"<p>{words['text']}</p>" if "text" in words else ""
    return f"<section><h3>{words['title']}</h3>{body}{''.join(parts)}</section>"


def side_by_side(*parts: str) -> str:
    """Return parts that are next to each other if the window is wide enough."""
    return f'<div class="side-by-side">{"".join(parts)}</div>'


def items(values: Iterable[str]) -> str:
    """Return a list of sentences."""
    return f"<ul>{''.join(f'<li>{escape(value)}</li>' for value in values)}</ul>"


def code(label: str, text: str) -> str:
    """Return code with a button that copies it."""
    button = f'<button type="button" class="copy" aria-label="Copy: {label}">Copy</button>'
    return f'<div class="code"><b>{label}</b>{button}<pre>{escape(text)}</pre></div>'


def table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "", marked: int = -1
) -> str:
    """Return a table of texts and numbers, with the row `marked` highlighted.

    On a phone, each cell in the table of a file shows its own header.
    """
    names = [escape(header) for header in headers]
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = ""
    for index, row in enumerate(rows):
        cells = zip(names, map(escape, row), strict=True)
        columns = (f'<td data-name="{name}">{cell}</td>' for name, cell in cells)
        body += f"<tr{' class=marked' * (index == marked)}>{''.join(columns)}</tr>"
    return (
        f'<div class="table" tabindex="0" role="region" aria-label="{caption or "Table"}">'
        f"<table>{caption and f'<caption>{caption}</caption>'}"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def bars(title: str, rows: Sequence[tuple[str, float, str]], most: float = 0.0) -> str:
    """Return a bar per row (word, fraction, CSS class). `most` or a larger fraction fills it."""
    most = max([most, 1e-12, *(value for _, value, _ in rows)])
    body = "".join(
        f'<tr><th scope="row">{escape(word)}</th><td class="track"><i class="{color}" '
        f'style="width:{100 * value / most:.1f}%"></i></td><td>{value:.1%}</td></tr>'
        for word, value, color in rows
    )
    return f'<table class="bars"><caption>{title}</caption><tbody>{body}</tbody></table>'
