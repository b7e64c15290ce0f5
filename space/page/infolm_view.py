"""Explanation of an InfoLM score by the predictions for each text and their differences."""

from __future__ import annotations

import dataclasses
import functools
from importlib.resources import files
from typing import Any

import gradio as gr
import pandas as pd
import torch

from infolm_metric import IDF, measures
from infolm_metric.core.tokenization import tokenizer_fingerprint

from .appearance import CANDIDATE, NEUTRAL, REFERENCE, TEXTS, ExplanationView, number
from .components import bar_plot, bars, table

SHOWN_WORDS = 8  # predicted words shown per text
DRIVERS = 12  # largest contributions shown
GUESSES = 4  # predicted words shown per masked token
Words = list[tuple[str, float]]
EIGHTHS = [step / 8 for step in range(-4, 17)]  # -0.5 to 2
SWEEP_GRIDS = {
    "temperature": [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0],
    "interpolation": [0.0, 0.1, 0.25, 0.5, 0.75, 0.9],
    "alpha": EIGHTHS,
    "beta": EIGHTHS,
}


def make() -> list[Any]:
    """Create the components that explain a score. Less important ones are under “Details”."""
    words = TEXTS["infolm"]
    gr.Markdown(words["predictions"])
    with gr.Row():
        components: list[Any] = [
            bar_plot("Candidate", "probability, %", CANDIDATE, elem_id="expected-candidate"),
            bar_plot("Reference", "probability, %", REFERENCE, elem_id="expected-reference"),
        ]
    gr.Markdown(words["contributions"])
    components.append(bar_plot("Contribution to the score", "% of the score", elem_id="drivers"))
    with gr.Accordion("Details", open=False):
        gr.Markdown(words["tokens"])
        columns, widths = ["token", "weight", "predictions"], ["25%", "20%", "55%"]
        components += [table(side, columns, widths) for side in ("Candidate", "Reference")]
        gr.Markdown(words["measures"])
        columns, widths = ["measure", "score", "maximum"], ["58%", "21%", "21%"]
        components.append(table("", columns, widths, elem_id="measures"))
        gr.Markdown(words["settings"])
        with gr.Row():
            components += [_line_plot(name) for name in SWEEP_GRIDS]
        return components


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> ExplanationView:
    """Explain the score of a candidate against a single reference."""
    metric_settings = scorer.settings.replace(**settings)
    explanation = scorer.explain(candidate, reference, **settings)
    vocabulary, shares = explanation.vocabulary, explanation.shares
    rarity = _rarity(scorer)
    texts = [explanation.candidate, explanation.reference]
    guesses = [_words(text.log_distribution, vocabulary, SHOWN_WORDS, rarity) for text in texts]
    indices = (shares * rarity).topk(DRIVERS).indices
    largest = torch.zeros_like(shares).index_copy(0, indices, shares[indices])
    top = dataclasses.replace(explanation, shares=largest).top(DRIVERS)
    drivers = [driver for driver in top if driver.share > 1e-12]
    total = explanation.score or 1.0
    rows = []
    for driver in drivers:
        rises = driver.in_candidate >= driver.in_reference
        side, percent = ("candidate", 100) if rises else ("reference", -100)
        rows.append((driver.token, percent * driver.share / total, side))
    frame = pd.DataFrame(rows, columns=["token", "percent", "side"])
    highest = max(100 * probability for words in guesses for _, probability in words)
    sweep = functools.partial(scorer.sweep, [candidate], [reference], **settings)
    return ExplanationView(
        details={
            "drivers": [driver._asdict() for driver in drivers],
            "expected_by_candidate": dict(guesses[0]),
            "expected_by_reference": dict(guesses[1]),
        },
        updates=[
            *(gr.update(value=bars(words), y_lim=[0, highest]) for words in guesses),
            gr.update(value=frame, visible=bool(rows)),
            *(_token_rows(text, vocabulary) for text in texts),
            _measure_rows(sweep, metric_settings),
            *(_curve(sweep, name, getattr(metric_settings, name)) for name in SWEEP_GRIDS),
        ],
    )


@functools.cache
def _rarity(scorer: Any) -> torch.Tensor:
    """Return each vocabulary entry's squared IDF in English texts, [vocab], or 1 if unavailable.

    It is squared because a function word can be a hundred times as probable as a content word.
    """
    tokenizer = scorer.tokenizer
    english = IDF.load(str(files("infolm_metric.bundled") / "idf.json"))
    if tokenizer_fingerprint(tokenizer) != english.tokenizer:
        return torch.ones(())
    weights = torch.tensor(english.weights) ** 2
    weights[tokenizer.all_special_ids] = 0  # no corpus contains them, so their IDF is the highest
    return weights


def _words(log_p: torch.Tensor, vocabulary: list[str], count: int, rarity: Any = 1.0) -> Words:
    """Return the words with the highest p * `rarity`, both [vocab], and their probabilities p."""
    p = log_p.exp()
    indices = (p * rarity).topk(count).indices.tolist()
    return sorted(((vocabulary[i], float(p[i])) for i in indices), key=lambda entry: -entry[1])


def _token_rows(text: Any, vocabulary: list[str]) -> list[list[str]]:
    """Return each token with its weight and the words that are predicted at its position."""
    rows = []
    for token, weight, log_p in zip(text.tokens, text.weights, text.log_predictions, strict=True):
        guesses = (f"{word} {p:.0%}" for word, p in _words(log_p, vocabulary, GUESSES))
        rows.append([token, f"{weight.item():.1%}", ", ".join(guesses)])
    return rows


def _measure_rows(sweep: Any, settings: Any) -> list[list[str]]:
    """Return the score with each measure. Replace parameters that a measure rejects with 1/2."""
    parameters = {"alphas": settings.alpha, "betas": settings.beta}
    grid = {
        name: [0.5] if value in (None, 0.5) else [value, 0.5] for name, value in parameters.items()
    }
    rows: dict[str, list[str]] = {}
    for setting, result in sweep(information_measure=list(measures.MEASURES), **grid):
        name = setting.information_measure
        values = [f"{getattr(setting, p.name):g}" for p in measures.MEASURES[name].parameters]
        label = f"{name} ({', '.join(values)})" if values else name
        bound = f"{setting.upper_bound(name):.4g}".replace("inf", "∞")
        rows.setdefault(name, [label, number(result["infolm"]), bound])
    return list(rows.values())


def _line_plot(name: str) -> gr.LinePlot:
    colors = {"score": NEUTRAL, "current value": CANDIDATE}
    names: dict[str, Any] = {"label": f"Score by {name}", "elem_id": f"by-{name}"}
    options: dict[str, Any] = {"color_title": " ", "height": 280, "min_width": 280, "buttons": []}
    return gr.LinePlot(x=name, y="score", color="line", color_map=colors, **names, **options)


def _curve(sweep: Any, name: str, choice: float | None) -> Any:
    """Return an update that plots the score against a setting, or hides the plot if it is unset."""
    if choice is None:
        return gr.update(visible=False)
    results = sweep(**{f"{name}s": sorted({*SWEEP_GRIDS[name], choice})})
    scores = {getattr(settings, name): result["infolm"] for settings, result in results}
    rows = [(value, score, "score") for value, score in scores.items()]
    rows += [(choice, 0.0, "current value"), (choice, scores[choice], "current value")]
    return gr.update(visible=True, value=pd.DataFrame(rows, columns=[name, "score", "line"]))
