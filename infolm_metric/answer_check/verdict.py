"""Probabilities and verdicts of answer_check.

WEIGHTS are the coefficients of a logistic regression on answers with human verdicts, in which each
data set has the same weight (`python -m tools.answers fit`). Scores for short references therefore
estimate the probability that annotators confirm an answer. LONG_WEIGHTS are not fitted to verdicts.
"""

from __future__ import annotations

import math
from itertools import pairwise

from infolm_metric.answer_check.judge import Comparison, mean_support
from infolm_metric.answer_check.statements import fraction, trigrams
from infolm_metric.answer_check.values import Agreement

LIKELY_CORRECT, UNCLEAR, LIKELY_WRONG = VERDICTS = ("likely correct", "unclear", "likely wrong")
# Scores below the first number are likely wrong, and scores from the second on likely correct.
THRESHOLDS = (0.2, 0.7)
# Weights of the features of an answer, if the reference is short and if it is long.
WEIGHTS = {
    "constant": -1.58, "answer": 0.32, "mention": 0.27, "letters": 2.24, "pairs": 0.87,
    "match": 0.4, "contained": 0.9, "mismatch": -0.69, "veto": -0.32,
}  # fmt: skip
LONG_WEIGHTS = {"constant": -4.0, "completeness": 2.4, "correctness": 2.4, "f1": 3.2}
CLIP = 0.02  # smallest NLI score, and distance of the largest one from 1
CAP = 0.5  # largest score of an answer with a veto


def features(comparison: Comparison) -> dict[str, float]:
    """Return the features of a comparison, with the names in WEIGHTS or LONG_WEIGHTS."""
    if comparison.reference.is_long:
        return {
            "constant": 1.0,
            "completeness": mean_support(comparison.complete),
            "correctness": mean_support(comparison.correct),
            "f1": comparison.f1,
        }
    answer, reference = comparison.answer.words, comparison.reference.words
    same = comparison.agreement == Agreement.MATCH  # whatever the spelling
    letters = 1.0 if same else fraction(trigrams(answer), trigrams(reference))
    pairs = fraction(list(pairwise(answer)), list(pairwise(reference)))
    mentions = comparison.mentions or comparison.complete
    # NLI models read values in other spellings as contradictions.
    lowest = 0.5 if same and comparison.recall < 1 else 0.0
    return {
        "constant": 1.0,
        "answer": _log_odds(max(comparison.complete[0].nli, lowest)),
        "mention": letters * _log_odds(max(lowest, *(each.nli for each in mentions))),
        "letters": letters,
        "pairs": 1.0 if same else pairs if len(reference) > 1 else comparison.recall,
        "match": float(same),
        "contained": float(comparison.agreement == Agreement.CONTAINED),
        "mismatch": float(comparison.agreement == Agreement.MISMATCH),
        "veto": float(bool(comparison.veto) and comparison.agreement != Agreement.MISMATCH),
    }


def _log_odds(probability: float) -> float:
    clipped = min(max(probability, CLIP), 1 - CLIP)
    return math.log(clipped / (1 - clipped))


def score(comparison: Comparison, name: str = "answer_check") -> float:
    """Return a score by name, from 0 to 1, of an answer compared with a reference."""
    if comparison.copy or not comparison.complete:
        return float(comparison.copy)  # without statements, a text is empty
    if comparison.reference.is_long and name != "answer_check":
        return mean_support(comparison.complete if name == "completeness" else comparison.correct)
    weights = LONG_WEIGHTS if comparison.reference.is_long else WEIGHTS
    log_odds = sum(weights[key] * value for key, value in features(comparison).items())
    probability = 1 / (1 + math.exp(-log_odds))
    return min(probability, CAP) if comparison.veto else probability


def verdict(score: float, thresholds: tuple[float, ...], vetoed: bool = False) -> str:
    """Return the verdict on a score. An answer with a veto is at most unclear.

    >>> verdict(0.95, (0.25, 0.5)), verdict(0.95, (0.25, 0.5), vetoed=True)
    ('likely correct', 'unclear')
    """
    low, high = thresholds
    if score < low:
        return LIKELY_WRONG
    return LIKELY_CORRECT if score >= high and not vetoed else UNCLEAR
