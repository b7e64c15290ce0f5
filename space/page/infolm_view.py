"""Explanation of an InfoLM score by the predictions for each text and their differences."""

from __future__ import annotations

import dataclasses
import functools
from importlib.resources import files
from typing import Any

import torch

from infolm_metric import IDF
from infolm_metric.core.document_counts import tokenizer_fingerprint

from .appearance import View, bars, details, section, side_by_side, table

SHOWN_WORDS = 8  # predicted words shown per text
DRIVERS = 12  # largest contributions shown
GUESSES = 4  # predicted words shown per masked token
FUNCTION_WORDS = 2.0  # IDF in English texts below which words are not shown: "an", "as", "on"
Words = list[tuple[str, float]]


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> View:
    """Explain the score of a candidate against a single reference, as data and as HTML."""
    explanation = scorer.explain(candidate, reference, **settings)
    vocabulary, shares = explanation.vocabulary, explanation.shares
    rarity = _rarity(scorer)
    texts = {"Candidate": explanation.candidate, "Reference": explanation.reference}
    guesses = {
        side: _words(text.log_distribution, vocabulary, SHOWN_WORDS, rarity)
        for side, text in texts.items()
    }
    indices = (shares * rarity).topk(DRIVERS).indices
    largest = torch.zeros_like(shares).index_copy(0, indices, shares[indices])
    top = dataclasses.replace(explanation, shares=largest).top(DRIVERS)
    drivers = [driver for driver in top if driver.share > 1e-12]
    sides = ["candidate" if x.in_candidate >= x.in_reference else "reference" for x in drivers]
    shown = [(x.token, x.share / explanation.score) for x in drivers]
    rows = [(*row, side) for row, side in zip(shown, sides, strict=True)]
    highest = max(p for words in guesses.values() for _, p in words)
    predicted = [
        bars(side, [(word, p, side.lower()) for word, p in words], highest)
        for side, words in guesses.items()
    ]
    columns = ["token", "weight", "predictions"]
    by_token = [table(columns, _token_rows(text, vocabulary), side) for side, text in texts.items()]
    contributions = section("infolm", "contributions", bars("Contribution to the score", rows))
    page = [
        section("infolm", "predictions", side_by_side(*predicted)),
        contributions if rows else "",
        details("Details", section("infolm", "tokens", side_by_side(*by_token))),
    ]
    why = {
        "drivers": [driver._asdict() for driver in drivers],
        "expected_by_candidate": dict(guesses["Candidate"]),
        "expected_by_reference": dict(guesses["Reference"]),
    }
    return why, "".join(page)


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
    weights[weights < FUNCTION_WORDS**2] = 0
    names = tokenizer.convert_ids_to_tokens(list(range(len(weights))))
    weights[[not name.strip("#").isalnum() for name in names]] = 0  # punctuation
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
