"""Why two texts score as they do by InfoLM: what each makes the model expect, and what differs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import gradio as gr
import pandas as pd
import torch

from infolm_metric import IDF, InfoLMScorer, measures
from infolm_metric.core.idf import tokenizer_fingerprint

from .appearance import (
    CANDIDATE,
    NEUTRAL,
    REFERENCE,
    Why,
    bar_plot,
    bars,
    make_reproduction,
    number,
    table,
)

WORDS = 8  # vocabulary entries shown of a distribution
DRIVERS = 12  # shown of what drives the score
GUESSES = 4  # shown for a hidden token
Words = list[tuple[str, float]]
EIGHTHS = [step / 8 for step in range(-4, 17)]  # -0.5 to 2
SWEPT = {
    "temperature": [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0],
    "interpolation": [0.0, 0.1, 0.25, 0.5, 0.75, 0.9],
    "alpha": EIGHTHS,
    "beta": EIGHTHS,
}


def make() -> list[Any]:
    """The components that explain a score: the strongest ones, and those behind “Details”."""
    gr.Markdown(
        "### What each text makes the model expect\n"
        "Each word is hidden in turn, and the model guesses what could stand there. InfoLM "
        "compares the guesses, averaged over each text. These are the likeliest ones, function "
        "words left out; `##` marks the rest of a word."
    )
    with gr.Row():
        shown: list[Any] = [
            bar_plot("Candidate", "probability, %", CANDIDATE, elem_id="expected-candidate"),
            bar_plot("Reference", "probability, %", REFERENCE, elem_id="expected-reference"),
        ]
    gr.Markdown(
        "### What drives the score\n"
        "The guesses in which the two texts differ most. Bars that rise are likelier with the "
        "candidate, bars that hang are likelier with the reference."
    )
    shown.append(bar_plot("Share of the score", "share of the score, %", elem_id="drivers"))
    with gr.Accordion("Details", open=False):
        gr.Markdown(
            "### Token by token\n"
            "A token is a word or a piece of one. This is how much each weighs, and what the model "
            "guesses where it is hidden."
        )
        columns, widths = ["token", "weight", "guesses"], ["25%", "20%", "55%"]
        shown += [table(side, columns, widths) for side in ("Candidate", "Reference")]
        gr.Markdown("### The same texts by all nine measures")
        columns, widths = ["measure", "score", "largest"], ["58%", "21%", "21%"]
        shown.append(table("", columns, widths, elem_id="measures"))
        gr.Markdown(
            "### How the score moves with the settings\n"
            "The upright line is your choice. Where a curve is flat, the choice matters little."
        )
        with gr.Row():
            shown += [_line_plot(name) for name in SWEPT]
        return shown + make_reproduction()


def explain(scorer: Any, candidate: str, reference: str, settings: Mapping[str, Any]) -> Why:
    """What explains the score of a candidate with one reference."""
    own = InfoLMScorer(**settings).settings
    found = scorer.explain(candidate, reference, **settings)
    rarity = _rarity(scorer.tokenizer)
    texts = [found.candidate, found.reference]
    expected = [_words(each.log_distribution, found.vocabulary, WORDS, rarity) for each in texts]
    largest = (found.shares * rarity).topk(DRIVERS).indices.tolist()
    chosen = {found.vocabulary[index] for index in largest if found.shares[index] > 1e-12}
    drivers = [each for each in found.top(len(found.shares)) if each.token in chosen]
    total = found.score or 1.0
    rows = [
        (each.token, 100 * each.share / total, "candidate")
        if each.in_candidate >= each.in_reference
        else (each.token, -100 * each.share / total, "reference")
        for each in drivers
    ]
    highest = max(100 * weight for words in expected for _, weight in words)
    sweep = functools.partial(scorer.sweep, [candidate], [reference], **settings)
    return Why(
        bound=_bound(own),
        told={
            "drivers": [each._asdict() for each in drivers],
            "expected_by_candidate": dict(expected[0]),
            "expected_by_reference": dict(expected[1]),
        },
        shown=[
            *(gr.update(value=bars(words), y_lim=[0, highest]) for words in expected),
            gr.update(
                value=pd.DataFrame(rows, columns=["token", "percent", "side"]), visible=bool(rows)
            ),
            *(_token_rows(each, found.vocabulary) for each in texts),
            _measure_rows(sweep, own),
            *(_curve(sweep, name, getattr(own, name)) for name in SWEPT),
        ],
    )


def _rarity(tokenizer: Any) -> torch.Tensor:
    """How rare each entry is in English, [vocab]; 1 where that is not known.

    Squared, because a function word can be a hundred times as probable as a content word.
    """
    english = IDF.load(str(files("infolm_metric.bundled") / "idf.json"))
    if tokenizer_fingerprint(tokenizer) != english.tokenizer:
        return torch.ones(())
    weights = torch.tensor(english.weights) ** 2
    weights[tokenizer.all_special_ids] = 0  # in no corpus, and so the rarest
    return weights


def _words(log_p: torch.Tensor, vocabulary: list[str], count: int, rarity: Any = 1.0) -> Words:
    """The likeliest entries with their probabilities, rare ones preferred: log_p [vocab]."""
    p = log_p.exp()
    best = (p * rarity).topk(count).indices.tolist()
    return sorted(((vocabulary[i], float(p[i])) for i in best), key=lambda entry: -entry[1])


def _token_rows(text: Any, vocabulary: list[str]) -> list[list[str]]:
    """Each token, its weight, and what the model guesses where it is hidden."""
    rows = []
    for token, weight, log_p in zip(text.tokens, text.weights, text.log_predictions, strict=True):
        guesses = (f"{word} {p:.0%}" for word, p in _words(log_p, vocabulary, GUESSES))
        rows.append([token, f"{weight.item():.1%}", ", ".join(guesses)])
    return rows


def _measure_rows(sweep: Any, own: Any) -> list[list[str]]:
    """Every measure, with the parameters chosen where its domain has them, else with 1/2."""
    grid = {
        f"{name}s": [*{value: None for value in (getattr(own, name), 0.5) if value is not None}]
        for name in ("alpha", "beta")
    }
    rows: dict[str, list[str]] = {}
    for each, result in sweep(information_measure=list(measures.MEASURES), **grid):
        name = each.information_measure
        used = [f"{getattr(each, p.name):g}" for p in measures.MEASURES[name].parameters]
        label = f"{name} ({', '.join(used)})" if used else name
        rows.setdefault(
            name, [label, number(result["infolm"]), f"{_bound(each):.4g}".replace("inf", "∞")]
        )
    return list(rows.values())


def _bound(own: Any) -> float:
    """The largest score that is possible, or infinity."""
    chosen = {"symmetrize": own.symmetrize, "alpha": own.alpha, "beta": own.beta}
    return measures.upper_bound(own.information_measure, **chosen)


def _line_plot(name: str) -> gr.LinePlot:
    lines = {"score": NEUTRAL, "your choice": CANDIDATE}
    look: dict[str, Any] = {"color_title": " ", "height": 280, "min_width": 280, "buttons": []}
    named: dict[str, Any] = {"label": f"Score by {name}", "elem_id": f"by-{name}"}
    return gr.LinePlot(x=name, y="score", color="line", color_map=lines, **look, **named)


def _curve(sweep: Any, name: str, here: float | None) -> Any:
    """The update of a curve, with an upright line at the value chosen; hidden without a value."""
    if here is None:
        return gr.update(visible=False)
    swept = sweep(**{f"{name}s": sorted({*SWEPT[name], here})})
    scores = {getattr(each, name): result["infolm"] for each, result in swept}
    rows = [(value, score, "score") for value, score in scores.items()]
    rows += [(here, 0.0, "your choice"), (here, scores[here], "your choice")]
    return gr.update(visible=True, value=pd.DataFrame(rows, columns=[name, "score", "line"]))
