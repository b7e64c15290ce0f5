"""Explanation of answer_check by the tokens of the reference and the statements of both texts."""

from __future__ import annotations

from typing import Any

import gradio as gr

from .appearance import NO_VERDICT, TEXTS, ExplanationView
from .components import table

CLASSES = ("entailment", "neutral", "contradiction")
TOKEN_COLOURS = {"in the answer": "#14b8a6", "missing": "#f59e0b"}


def make() -> list[Any]:
    """Create the components that explain a score."""
    words = TEXTS["answer_check"]
    gr.Markdown(words["tokens"])
    with gr.Row():
        answer = gr.Textbox(label="Answer as compared", lines=2, max_lines=12, min_width=280)
        tokens = gr.HighlightedText(
            label="Tokens of the reference",
            color_map=TOKEN_COLOURS,
            show_legend=True,
            show_inline_category=False,
            min_width=280,
            elem_classes="tokens",
            elem_id="reference-tokens",
        )
    gr.Markdown(words["statements"])
    widths = ["27%", "31%", "14%", "14%", "14%"]
    return [answer, tokens, table("", ["of", "statement", *"enc"], widths, elem_id="statements")]


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> ExplanationView:
    """Explain the score and the verdict of an answer against a single reference."""
    explanation = scorer.explain(candidate, reference, **settings)
    statements = [
        {"of": side, "text": each.text, **dict(zip(CLASSES, each.probabilities, strict=True))}
        for side, group in (("reference", explanation.complete), ("answer", explanation.correct))
        for each in group
    ]
    names = ("reason", "answer", "matched", "missing")
    details = {name: getattr(explanation, name) for name in names} | {"statements": statements}
    parts = zip(TOKEN_COLOURS, (explanation.matched, explanation.missing), strict=True)
    return ExplanationView(
        details=details,
        updates=[
            explanation.answer,
            [(token, part) for part, tokens in parts for token in tokens],
            [
                [side, text, *(f"{value:.0%}" for value in probabilities)]
                for side, text, *probabilities in map(dict.values, statements)
            ],
        ],
    )


def verdict(answer: Any) -> tuple[str, str]:
    """Return the verdict on the answer, and its reason."""
    (word,) = answer.verdicts
    if word is None:
        return NO_VERDICT, TEXTS["notes"]["withheld"]
    return word.capitalize(), answer.view.details["reason"]
