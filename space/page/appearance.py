"""The look of the demo: its theme, and its cards, in which input of visitors is escaped."""

from __future__ import annotations

import math
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
    background_fill_primary="*neutral_50",  # as it was: `set` loses it
)
CANDIDATE, REFERENCE, NEUTRAL = "#e07a3f", "#2a9d8f", "#6366f1"  # colours
LEVELS = ("none", "little", "some", "much", "most")
COLOURS = ("#e2e8f0", "#c7d2fe", "#a5b4fc", "#818cf8", "#6366f1")
WEIGHT_COLOURS = dict(zip(LEVELS, COLOURS, strict=True))
INTRODUCTION = """\
# How close is a text to what it should say?
A language model reads both texts, which need not share a word; three metrics say how close they
are. Try an example, or write your own.
"""
LOWER = "0 is a copy, lower is closer"
HIGHER = "1 is full agreement, higher is closer"
LOWER_NOTE = "Close does not mean correct: a wrong number or a missing “not” hardly shows."
HIGHER_NOTE = "A small model judges this, and it can be wrong."
UNKNOWN = (
    "What unrelated texts score with these settings is not known, so there is no verdict. Compare "
    "this score only with others made with the same settings."
)
WARNINGS = {
    "too_long": "{texts} longer than the model reads: the end was left out.",
    "too_long_pairs": "{pairs} longer than the model reads: the end was left out.",
    "empty": "{texts} with nothing that the model can read.",
    "one_token": "{texts} of one token. InfoLM hides it, so “yes” and “no” look the same to it.",
    "zero_weight": "{texts} of words that stand in every reference: all of them count alike.",
    "unknown_tokens": "Many of these characters are unknown to the model.",
    "out_of_domain": "{texts} that do not look like English prose, the only domain of this model.",
}
STYLE = Path(__file__).with_name("style.css")


@dataclass(frozen=True, kw_only=True)
class ExplanationView:
    """Explanation of a score by any metric."""

    bound: float  # the largest possible score, possibly infinite
    details: dict[str, Any]  # for the API
    updates: list[Any]  # of the components that the metric's module makes, in their order
    verdict: str = ""  # overrides the verdict by the baseline


def number(value: float) -> str:
    """Format a score with four decimals, or with four digits if it is very small or large.

    >>> number(0.40684), number(0.00012345), number(1234567.0), number(0.0)
    ('0.4068', '0.0001234', '1.235e+06', '0.0000')
    """
    return f"{value:.4f}" if value == 0 or 1e-3 <= value < 1e5 else f"{value:.4g}"


def count(amount: int, noun: str) -> str:
    """Return a number with its noun.

    >>> count(1, "pair"), count(1234, "pair")
    ('1 pair', '1,234 pairs')
    """
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"


def notice(text: str, kind: str = "waiting") -> str:
    """Return a card with a message in place of an answer, as HTML."""
    role = "alert" if kind == "refused" else "status"
    return f'<div class="card {kind}" role="{role}"><p>{escape(shorten(text))}</p></div>'


def shorten(message: str) -> str:
    """Truncate a message that quotes a long text."""
    return message[:600]


def unrelated_words(baseline: Any) -> str:
    """Describe the scores of unrelated texts."""
    low, high = baseline.deciles[0], baseline.deciles[-1]
    return f"Unrelated texts score about {baseline.mean:.2g}, eight in ten {low:.2g} to {high:.2g}."


def notes(warnings: Mapping[str, int]) -> list[str]:
    """Return the warnings about the scored texts.

    >>> notes({"few_documents": 1, "empty": 2})
    ['2 texts with nothing that the model can read.', 'With one reference, all words count alike.']
    """
    lines = [
        words.format(texts=count(warnings[kind], "text"), pairs=count(warnings[kind], "pair"))
        for kind, words in WARNINGS.items()
        if kind in warnings
    ]
    if documents := warnings.get("few_documents"):
        doubt = f"Which words are rare is judged from {documents} references only."
        lines.append("With one reference, all words count alike." if documents == 1 else doubt)
    return lines


def score_card(answer: Any, note: str = "") -> str:
    """Return the verdict, the score on its scale, and notes, as HTML."""
    baseline, readable = answer.baseline, answer.readable
    lines = [HIGHER_NOTE if answer.higher_is_better else LOWER_NOTE] if readable else []
    if baseline is None:
        lines.append(UNKNOWN)
    elif readable:
        lines.append(unrelated_words(baseline))
    lines += notes(answer.warnings)
    sense = HIGHER if answer.higher_is_better else LOWER
    return (
        f'<div class="card"><p class="verdict">{answer.verdict}</p>'
        f'<div class="score-line"><span class="score">{number(answer.score)}</span>'
        f'<span class="fine">{answer.name}: {sense if readable else "this says nothing here"}'
        f"</span></div>{_gauge(answer) if readable else ''}"
        f'<ul class="fine">{"".join(f"<li>{line}</li>" for line in lines)}'
        f"</ul>{note and f'<p class=lesson>{note}</p>'}</div>"
    )


def _gauge(answer: Any) -> str:
    """Return a bar of the score on a scale with the range of unrelated texts, as HTML."""
    baseline, bounded = answer.baseline, math.isfinite(answer.view.bound)
    low, high = (baseline.deciles[0], baseline.deciles[-1]) if baseline else (0.0, 0.0)
    end = answer.view.bound if bounded else 1.25 * max(answer.score, high, 1e-9)
    start, stop, position = (100 * min(1.0, value / end) for value in (low, high, answer.score))
    band = (
        f'<div class="band" style="left:{start:.1f}%;width:{stop - start:.1f}%"></div>'
        f'<span class="band-name" style="left:{start:.1f}%">unrelated texts</span>'
    )
    first, last = "0: a copy", f"{end:.4g}: the largest possible" if bounded else "further apart"
    if answer.higher_is_better:
        first, last = "0: neither follows", "1: each says the other"
    return (
        f'<div class="gauge" role="img" aria-label="{number(answer.score)} on a scale from 0 to '
        f'{end:.4g}"><div class="bar"><div class="fill" style="width:{position:.2f}%"></div>'
        f'{band if baseline else ""}</div></div><div class="ends"><span>{first}</span>'
        f"<span>{last}</span></div>"
    )
