"""Explanation of a MENLI score by entailment and contradiction in both directions."""

from __future__ import annotations

from typing import Any

from infolm_metric.core.inputs import Pairs

from .appearance import TEXTS, View, bars, section, side_by_side

DIRECTIONS = {
    "rh": ("candidate_follows", "Does the candidate follow from the reference?"),
    "hr": ("reference_follows", "Does the reference follow from the candidate?"),
}
CLASSES, FOLLOWS = TEXTS["menli"]["classes"], TEXTS["menli"]["follows"]
# This probability is exceeded by 11% (WebNLG) and 1% (WMT15) of unrelated sentence pairs, by 83% of
# the pairs that differ in a negation, and by 81% of the pairs that differ in a number.
CONTRADICTION = 0.8


def explain(scorer: Any, candidate: str, reference: str, settings: Any) -> View:
    """Explain the score of a candidate against a single reference, as data and as HTML."""
    pairs = Pairs([candidate], [[reference]])
    run = scorer.prepare(scorer.settings.replace(**settings))
    rows = {
        name: dict(zip(CLASSES, run.pair_probabilities(pairs, way)[0].tolist(), strict=True))
        for way, (name, _) in DIRECTIONS.items()
    }
    panels = [
        bars(question, [(CLASSES[x], p, "both") for x, p in rows[name].items()], 1.0)
        for name, question in DIRECTIONS.values()
    ]
    return rows, section("menli", "directions", side_by_side(*panels))


def verdict(answer: Any) -> tuple[str, str]:
    """Return the verdict on the relation of the texts, and no reason."""
    rows = answer.view[0].values()
    if min(row["contradiction"] for row in rows) > CONTRADICTION:
        return "The texts contradict each other", ""
    return FOLLOWS[sum(row["entailment"] > 0.5 for row in rows)], ""
