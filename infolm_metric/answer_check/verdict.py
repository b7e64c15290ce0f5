"""Scores and verdicts of answer_check, from tokens and NLI probabilities.

The weight of recall, the cap and the thresholds were chosen on the first half of the questions of
EVOUNA and DIVER-QA, and tested on the other half. The weights for long references lie between the
weights chosen on the two halves of RAGChecker (`python -m tools.answers`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LIKELY_CORRECT, UNCLEAR, LIKELY_WRONG = VERDICTS = ("likely correct", "unclear", "likely wrong")
# Scores below the first number are likely wrong, and scores from the second on likely correct.
THRESHOLDS = (0.25, 0.73)
# Weight of token recall in the score against a short reference. The rest is the NLI score.
RECALL_WEIGHT = 0.5
# Largest score against a short reference that the answer denies or contradicts, that it lists with
# others, or of which it lacks a number, letter, symbol or unit.
CAP = 0.5
# Weights of completeness, correctness and token F1 in the score against a long reference.
LONG_WEIGHTS = (0.3, 0.3, 0.4)


# Fractions of verdicts that annotators confirmed in the second halves of EVOUNA and DIVER-QA, and
# of correct answers among all answers.
CONFIRMED = {LIKELY_CORRECT: (0.98, 0.97), LIKELY_WRONG: (0.93, 0.85)}
CORRECT = (0.77, 0.72)
VERDICT = "verdict: "  # prefix of the counts of verdicts


def describe_verdicts(counts: Mapping[str, int], measured: bool) -> list[str]:
    """Describe the verdicts from their counts. `measured` is True for the default thresholds.

    >>> describe_verdicts({"verdict: unclear": 2, "verdict: likely wrong": 1}, measured=False)
    ['verdicts: 0 likely correct, 2 unclear, 1 likely wrong']
    """
    numbers = {word: counts.get(f"{VERDICT}{word}", 0) for word in (*VERDICTS, None)}
    total, withheld = sum(numbers.values()), numbers.pop(None)
    if total == withheld:
        return [
            "verdict: none. Verdicts need the bundled model in float32 with default settings and a "
            "short reference, or your own thresholds (thresholds=0.3,0.6), and English texts that "
            "are not truncated"
        ]
    if total == 1:
        words = next(f"verdict: {word}" for word, number in numbers.items() if number)
    else:
        words = "verdicts: " + ", ".join(f"{number} {word}" for word, number in numbers.items())
        words += (
            f", {withheld} withheld (long or empty reference, out of domain or truncated)"
            if withheld
            else ""
        )
    if not measured:
        return [words]
    rates = [
        f"{word} {' and '.join(f'{rate:.0%}' for rate in CONFIRMED[word])}"
        for word in (LIKELY_CORRECT, LIKELY_WRONG)
    ]
    base = " and ".join(f"{rate:.0%}" for rate in CORRECT)
    return [
        words,
        f"confirmed by annotators of EVOUNA and DIVER-QA: {', '.join(rates)} "
        f"({base} of all answers are correct)",
    ]


def nli_score(probabilities: np.ndarray) -> np.ndarray:
    """Return (e - c + 1) / 2 for probabilities of e, n and c, [..., 3] -> [...].

    >>> nli_score(np.array([0.75, 0.125, 0.125])).tolist()
    0.8125
    """
    value: np.ndarray = (probabilities[..., 0] - probabilities[..., 2] + 1) / 2
    return value


@dataclass(frozen=True)
class Statement:
    """A statement with the probabilities of its entailment, and the fraction of its known tokens.

    Attributes:
        text: the statement.
        probabilities: e, n and c, with the other text as the premise.
        recall: fraction of the statement's tokens in the other text.
    """

    text: str
    probabilities: tuple[float, float, float]
    recall: float

    @property
    def support(self) -> float:
        """Mean of the NLI score and the recall, from 0 to 1. N is 0.5 without common tokens."""
        nli = float(nli_score(np.array(self.probabilities))) if self.recall else 0.5
        return (nli + self.recall) / 2


def short_score(recall: float, nli: float, vetoed: bool) -> float:
    """Return the score against a short reference, from 0 to 1.

    >>> short_score(1.0, 0.9, vetoed=False), short_score(1.0, 0.9, vetoed=True)
    (0.95, 0.5)
    """
    score = RECALL_WEIGHT * recall + (1 - RECALL_WEIGHT) * nli
    return min(score, CAP) if vetoed else score


def long_score(completeness: float, correctness: float, f1: float) -> float:
    """Return the score against a long reference, from 0 to 1."""
    parts = (completeness, correctness, f1)
    return sum(weight * part for weight, part in zip(LONG_WEIGHTS, parts, strict=True))


def mean_support(statements: Sequence[Statement]) -> float:
    """Return the mean support of statements, 0 without statements."""
    return sum(statement.support for statement in statements) / max(1, len(statements))


def verdict(score: float, thresholds: tuple[float, float], vetoed: bool = False) -> str:
    """Return the verdict on a score. An answer with a veto is at most unclear.

    >>> verdict(0.95, (0.25, 0.5)), verdict(0.95, (0.25, 0.5), vetoed=True)
    ('likely correct', 'unclear')
    """
    low, high = thresholds
    if score < low:
        return LIKELY_WRONG
    return LIKELY_CORRECT if score >= high and not vetoed else UNCLEAR
