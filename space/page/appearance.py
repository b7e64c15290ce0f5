"""Appearance of the demo: theme, texts and HTML cards, which escape user input."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

SANS = ["system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica", "Arial", "sans-serif"]
MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace"]
QUIET_TEXT = ("body_text_color_subdued", "block_info_text_color", "input_placeholder_color")
PRIMARY_BUTTONS = [
    f"button_primary_background_fill{state}" for state in ("", "_hover", "_dark", "_hover_dark")
]
SELECTED_LABELS = [f"checkbox_label_background_fill_selected{state}" for state in ("", "_dark")]
THEME = gr.themes.Soft(
    primary_hue="indigo", neutral_hue="slate", font=SANS, font_mono=MONO, radius_size="md"
).set(
    **dict.fromkeys(QUIET_TEXT, "*neutral_600"),
    **dict.fromkeys([f"{name}_dark" for name in QUIET_TEXT], "*neutral_300"),
    **dict.fromkeys(["block_label_text_color", "block_title_text_color"], "*primary_700"),
    **dict.fromkeys([*PRIMARY_BUTTONS, *SELECTED_LABELS], "*primary_600"),
    link_text_color_dark="*primary_300",
    background_fill_primary="*neutral_50",  # the theme's default, which `set` discards
)
CANDIDATE, REFERENCE, NEUTRAL = "#e07a3f", "#2a9d8f", "#6366f1"  # colors
WEIGHT_COLOURS = {"none": "#e2e8f0", "little": "#c7d2fe", "some": "#a5b4fc"}
WEIGHT_COLOURS |= {"much": "#818cf8", "most": "#6366f1"}
TEXTS = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))
INTRODUCTION = TEXTS["compare"]["introduction"]
if SPACE := os.environ.get("SPACE_ID"):  # set on the Hub, where visitors can read the Space's code
    INTRODUCTION += f" · [Code](https://huggingface.co/spaces/{SPACE}/tree/main)"

LOWER = "lower is closer, 0 for identical texts"
HIGHER = "higher is better, at most 1"
NO_VERDICT = "No verdict"
STYLE = Path(__file__).with_name("style.css")


@dataclass(frozen=True, kw_only=True)
class ExplanationView:
    """Explanation of a score."""

    details: dict[str, Any]  # "why" in the API's response
    updates: list[Any]  # an update for each component that `make` returns


def number(value: float) -> str:
    """Format a score with four decimals, or with four significant digits if very small or large.

    >>> number(0.40684), number(0.00012345), number(1234567.0), number(0.0)
    ('0.4068', '0.0001234', '1.235e+06', '0.0000')
    """
    return f"{value:.4f}" if value == 0 or 1e-3 <= value < 1e5 else f"{value:.4g}"


def count(amount: int, noun: str) -> str:
    """Format a number with a noun in the singular or plural.

    >>> count(1, "pair"), count(1234, "pair")
    ('1 pair', '1,234 pairs')
    """
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"


def notice(text: str, kind: str = "waiting") -> str:
    """Return an HTML card with a message instead of a score."""
    role = "alert" if kind == "refused" else "status"
    return f'<div class="card {kind}" role="{role}"><p>{escape(shorten(text))}</p></div>'


def shorten(message: str) -> str:
    """Truncate a message, which may quote a long text."""
    return message[:600]


def unrelated_words(baseline: Any) -> str:
    """Return a sentence about the scores of unrelated texts."""
    low, high = baseline.deciles[0], baseline.deciles[-1]
    return (
        f"Unrelated texts score {baseline.mean:.2g} on average. 80% of the pairs score between "
        f"{low:.2g} and {high:.2g}."
    )


def notes(warnings: Mapping[str, int]) -> list[str]:
    """Return one sentence per warning about the scored texts.

    >>> notes({"few_documents": 1, "empty": 2})
    ['2 texts without any tokens.', 'With a single reference, all words have the same weight.']
    """
    lines = [
        words.format(
            texts=count(warnings[kind], "text"),
            pairs=count(warnings[kind], "pair"),
            references=count(warnings[kind], "blank reference"),
        )
        for kind, words in TEXTS["warnings"].items()
        if kind in warnings
    ]
    if documents := warnings.get("few_documents"):
        words = TEXTS["notes"]["one_document" if documents == 1 else "few_documents"]
        lines.append(words.format(documents=documents))
    return lines


def score_card(answer: Any, note: str = "") -> str:
    """Return an HTML card with the verdict, the score on a scale, and notes."""
    baseline, readable = answer.baseline, answer.readable
    words = TEXTS["notes"]
    reason = answer.special[1]
    lines = [escape(reason)] if readable and reason else []
    if readable:
        lines.append(words["higher" if answer.higher_is_better else "lower"])
    if answer.verdict == NO_VERDICT and not reason:
        lines.append(words["unknown"])
    elif readable and baseline:
        lines.append(unrelated_words(baseline))
    items = "".join(f"<li>{line}</li>" for line in lines + notes(answer.warnings))
    sense = "not meaningful" if not readable else HIGHER if answer.higher_is_better else LOWER
    return (
        f'<div class="card"><p class="verdict">{answer.verdict}</p>'
        f'<div class="score-line"><span class="score">{number(answer.score)}</span>'
        f'<span class="fine">{answer.name}: {sense}</span></div>'
        f'{_gauge(answer) if readable else ""}<ul class="fine">{items}</ul>'
        f"{note and f'<p class=lesson>{note}</p>'}</div>"
    )


def _gauge(answer: Any) -> str:
    """Return an HTML bar that shows the score on a scale.

    A band marks the range of unrelated texts or of unclear answers.
    """
    baseline, (origin, end) = answer.baseline, answer.bounds
    low, high = (baseline.deciles[0], baseline.deciles[-1]) if baseline else (0.0, 0.0)
    low, high = answer.thresholds or (low, high)
    first = f"{origin:.4g}: {'minimum' if answer.higher_is_better else 'identical'}"
    last = f"{end:.4g}: maximum"
    # BaryScore's upper bound, 4, is too far from typical scores to be shown.
    if math.isinf(end) or answer.metric == "baryscore":
        end, last = 1.25 * max(answer.score, high, 1e-9), "less similar"
    values = (low, high, answer.score)
    start, stop, position = (100 * min(1.0, (v - origin) / (end - origin)) for v in values)
    name = "unclear" if answer.thresholds else "unrelated texts"
    band = (
        f'<div class="band" style="left:{start:.1f}%;width:{stop - start:.1f}%"></div>'
        f'<span class="band-name" style="left:{start:.1f}%">{name}</span>'
    )
    return (
        f'<div class="gauge" role="img" aria-label="{number(answer.score)} on a scale from '
        f'{origin:.4g} to {end:.4g}"><div class="bar">'
        f'<div class="fill" style="width:{position:.2f}%"></div>'
        f'{band if high else ""}</div></div><div class="ends"><span>{first}</span>'
        f"<span>{last}</span></div>"
    )
