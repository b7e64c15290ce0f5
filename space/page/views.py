"""Explanations: the lines of the package's explanations, and verdicts of the NLI metrics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from infolm_metric.core.checks import InputError
from infolm_metric.core.idf import IDF
from infolm_metric.core.inputs import Pairs, counted
from infolm_metric.core.settings import BUNDLED_FOLDER
from infolm_metric.infolm.measure_table import MEASURES

from .appearance import TEXTS, bars, code, items, number, section, side_by_side, table
from .reproduction import command_of, python_of

DIRECTIONS = {
    "rh": "Does the candidate follow from the reference?",
    "hr": "Does the reference follow from the candidate?",
}
# This probability is exceeded in both directions by 11% (WebNLG) and 1% (WMT15) of unrelated
# sentence pairs, by 83% of the pairs that differ in a negation, and by 81% of the pairs that differ
# in a number.
CONTRADICTION = 0.8
# IDF of the vocabulary of the bundled models.
ENGLISH = IDF.load(BUNDLED_FOLDER / "idf.json").weights
FUNCTION_WORDS = 2.0  # IDF in English texts up to which words are not shown: "an", "as", "on"
SHOWN_WORDS = 8  # predicted words shown per text
GUESSES = 5  # predicted words shown per masked token
SHOWN_TOKENS = 6  # masked tokens shown per text. The others are shown on request
CONTEXT = 2  # tokens shown on each side of a masked token


def draw(_: Any, answer: Any) -> tuple[list[str], str]:
    """Explain the score of a pair against its closest reference, as lines of text and as HTML."""
    metric, run = answer.metric, answer.run
    texts = answer.candidate, answer.references[answer.closest]
    if metric == "menli":
        lines, panels = [], []
        for question, row in zip(DIRECTIONS.values(), relations(run, *texts), strict=True):
            classes = list(zip(TEXTS["classes"], row, strict=True))
            lines.append(f"{question} {', '.join(f'{name} {p:.0%}' for name, p in classes)}")
            panels.append(bars(question, [(name, p, "both") for name, p in classes], 1.0))
        return lines, section(metric, "view", side_by_side(*panels))
    explanation = run.scorer.explain(*texts, **answer.options)
    lines = list(explanation.lines())
    if metric == "infolm":
        return lines, _draw_infolm(answer, explanation)
    return lines, section(metric, "view", items(lines))


def _draw_infolm(answer: Any, explanation: Any) -> str:
    """Explain an InfoLM score: all measures, predictions, contributions and masked tokens."""
    texts = {"Candidate": explanation.candidate, "Reference": explanation.reference}
    paths = [_draw_path(side, text, explanation.vocabulary) for side, text in texts.items()]
    predictions = _draw_predictions(texts, explanation.vocabulary)
    charts = section("infolm", "predictions", predictions)
    charts += section("infolm", "view", items(explanation.lines()))
    parts = _draw_measures(answer), f"<div>{charts}</div>"
    return side_by_side(*parts) + section("infolm", "path", side_by_side(*paths))


def _draw_measures(answer: Any) -> str:
    """Return a table of all measures with these settings, and code that prints the values."""
    settings, bounds, problems = answer.run.settings, {}, {}
    for name in MEASURES:
        try:
            bounds[name] = settings.replace(information_measure=name).upper_bound(name)
        except InputError as error:
            problems[name] = ["", "", str(error)]
    run = replace(answer.run, settings=settings.replace(information_measure=[*bounds]))
    scores = run.score(Pairs([answer.candidate], [[*answer.references]])).scores
    rows = []
    for name, measure in MEASURES.items():
        cells = problems.get(name) or [
            number(scores[name][0]),
            f"{bounds[name]:.4g}".replace("inf", "∞"),
            ", ".join(f"{x.name} = {getattr(settings, x.name):g}" for x in measure.parameters),
        ]
        rows.append([f"{TEXTS['measures'].get(name, name)} ({name})", *cells])
    columns = ["measure", "value", "worst", "parameters"]
    return section(
        "infolm",
        "measures",
        table(columns, rows, marked=[*MEASURES].index(settings.names[0])),
        code("All measures in Python", python_of(answer, [*bounds])),
        code("All measures on the command line", command_of([answer], [*bounds])),
    )


def _draw_predictions(texts: Any, vocabulary: list[str]) -> str:
    """Return two charts of the most probable content words of both texts."""
    is_word = torch.tensor([word.strip("#").isalnum() for word in vocabulary])
    words, shown = {}, is_word & torch.from_numpy(ENGLISH > FUNCTION_WORDS)
    for side, text in texts.items():
        top = (text.log_distribution.exp() * shown).topk(SHOWN_WORDS)
        pairs = zip(top.indices.tolist(), top.values.tolist(), strict=True)
        words[side] = [(vocabulary[index], p, side.lower()) for index, p in pairs]
    highest = max(p for rows in words.values() for _, p, _ in rows)
    return side_by_side(*(bars(side, rows, highest) for side, rows in words.items()))


def _draw_path(side: str, text: Any, vocabulary: list[str]) -> str:
    """Return a table of the masked tokens with their weights and the model's predictions."""
    top = text.log_predictions.topk(GUESSES)
    rows = []
    for i, (token, weight) in enumerate(zip(text.tokens, text.weights.tolist(), strict=True)):
        before, after = text.tokens[max(0, i - CONTEXT) : i], text.tokens[i + 1 : i + 1 + CONTEXT]
        guesses = zip(top.indices[i].tolist(), top.values[i].exp().tolist(), strict=True)
        words = ", ".join(f"{vocabulary[index]} {p:.1%}" for index, p in guesses)
        rows.append([" ".join([*before, f"[{token}]", *after]), f"{weight:.1%}", words])
    columns = ["masked token", "weight", "most probable words"]
    head, rest = rows[:SHOWN_TOKENS], rows[SHOWN_TOKENS:]
    tokens = f"<summary>{counted(len(rest), 'more token')}</summary>{table(columns, rest, side)}"
    more = f"<details>{tokens}</details>" if rest else ""
    return f"<div>{table(columns, head, side)}{more}</div>"


def relations(run: Any, candidate: str, reference: str) -> list[list[float]]:
    """Return probabilities of entailment, neutrality and contradiction by direction."""
    pairs = Pairs([candidate], [[reference]])
    return [run.pair_probabilities(pairs, way)[0].tolist() for way in DIRECTIONS]


def find_verdict(run: Any, candidate: str, reference: str, result: Any) -> str:
    """Return the verdict of an NLI metric, or "" for other metrics."""
    if result.verdicts:
        return (result.verdicts[0] or "no verdict").capitalize()
    if result.metric != "menli":
        return ""
    entailed, _, contradicted = zip(*relations(run, candidate, reference), strict=True)
    if max(contradicted) > CONTRADICTION:
        sure = min(contradicted) > CONTRADICTION
        return f"The texts {'' if sure else 'may '}contradict each other"
    return str(TEXTS["follows"][sum(p > 0.5 for p in entailed)])
