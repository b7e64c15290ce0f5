"""Explanation of answer_check by the words of the reference and the statements of both texts."""

from __future__ import annotations

from typing import Any

from .appearance import TEXTS, View, bars, escape, section, side_by_side, table, tokens

CLASSES = ("entailment", "neutral", "contradiction")


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> View:
    """Explain the score and the verdict of an answer against a reference, as data and as HTML."""
    explanation = scorer.explain(candidate, reference, **settings)
    statements = [
        {"of": side, "text": each.text, **dict(zip(CLASSES, each.probabilities, strict=True))}
        for side, group in (("reference", explanation.complete), ("answer", explanation.correct))
        for each in group
    ]
    names = ("reason", "answer", "matched", "missing")
    found, missing = explanation.matched, explanation.missing
    parts = []
    if found or missing:
        parts.append(("Words of the reference found", len(found) / len(found + missing), "both"))
    if explanation.complete:
        entailed = [each.probabilities[0] for each in explanation.complete]
        parts.append(("Reference entailed by the answer", sum(entailed) / len(entailed), "both"))
    marked = [(token, "found") for token in found] + [(token, "missing") for token in missing]
    rows = [
        [side, text, *(f"{value:.0%}" for value in probabilities)]
        for side, text, *probabilities in map(dict.values, statements)
    ]
    page = [
        section("answer_check", "parts", bars("Parts of the score", parts, 1.0)) if parts else "",
        section(
            "answer_check",
            "tokens",
            side_by_side(
                f'<div class="tokens"><b>Answer as compared</b><p class="plain">'
                f"{escape(explanation.answer)}</p></div>",
                tokens("Words of the reference: found, <u>missing</u>", marked),
            ),
        ),
        section("answer_check", "statements", table(["of", "statement", "e", "n", "c"], rows)),
    ]
    return {name: getattr(explanation, name) for name in names} | {"statements": statements}, (
        "".join(page)
    )


def verdict(answer: Any) -> tuple[str, str]:
    """Return the verdict on the answer, and its reason."""
    (word,), reason = answer.result.verdicts, answer.view[0]["reason"]
    return (word.capitalize(), reason) if word else ("No verdict", TEXTS["notes"]["withheld"])
