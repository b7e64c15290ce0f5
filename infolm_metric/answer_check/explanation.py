"""Explanation of a score of answer_check: tokens, statements, and the reason for the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infolm_metric.answer_check.comparison import Comparison
from infolm_metric.answer_check.verdict import LIKELY_CORRECT, Statement
from infolm_metric.core.results import Result


@dataclass(frozen=True)
class Explanation:
    """Explanation of the score of an answer against one reference.

    Attributes:
        answer: the answer without thinking, Markdown and LaTeX.
        reference: the reference without Markdown and LaTeX.
        score: the score, from 0 to 1.
        verdict: "likely correct", "unclear" or "likely wrong". None if there is no verdict.
        reason: the main reason for the score, in one sentence.
        matched: tokens of the reference in the answer.
        missing: other tokens of the reference, without optional ones such as a middle name.
        complete: statements of the reference, with the answer as the premise.
        correct: statements of the answer, with a long reference as the premise.
    """

    answer: str
    reference: str
    score: float
    verdict: str | None
    reason: str
    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    complete: tuple[Statement, ...] = ()
    correct: tuple[Statement, ...] = ()

    @classmethod
    def of(
        cls, answer: str, reference: str, comparisons: Sequence[Comparison], result: Result
    ) -> Explanation:
        """Explain the result of a pair by its comparison, if the answer is not empty."""
        score = next(iter(result.scores.values()))[0]
        verdict = result.verdicts[0]
        if not comparisons:
            return cls(answer, reference, score, verdict, "The answer is empty.")
        (comparison,) = comparisons
        return cls(
            answer,
            reference,
            score,
            verdict,
            _withheld(comparison, result) if verdict is None else _reason(comparison, verdict),
            tuple(token.text for token in comparison.overlap.matched),
            tuple(token.text for token in comparison.overlap.missing),
            comparison.complete,
            comparison.correct,
        )

    def lines(self) -> Iterator[str]:
        """Yield the explanation as text."""
        yield f"answer: {self.answer}"
        yield f"verdict: {self.verdict or 'none'} (score {self.score:.3f}). {self.reason}"
        yield f"tokens of the reference in the answer: {' '.join(self.matched) or 'none'}"
        yield f"missing tokens: {' '.join(self.missing) or 'none'}"
        parts = {"reference": self.complete, "answer": self.correct}
        for side, statements in parts.items():
            for statement in statements:
                e, n, c = statement.probabilities
                values = f"e {e:.2f}, n {n:.2f}, c {c:.2f}"
                yield f"statement of the {side}: {statement.text!r} ({values})"


def _withheld(comparison: Comparison, result: Result) -> str:
    """Return the reason why there is no verdict."""
    if not comparison.reference.tokens:
        return "There is no verdict, because the reference has no words or numbers."
    if result.counts["out_of_domain"]:
        return "There is no verdict, because the model was not trained on such texts."
    if result.counts["too_long_pairs"]:
        return "There is no verdict, because a text was truncated."
    if not comparison.reference.is_short:
        return (
            "There is no verdict against a long reference. The least supported statement is "
            f"{_weakest(comparison)[1]!r}."
        )
    return "There is no verdict with these settings."


def _weakest(comparison: Comparison) -> tuple[str, str]:
    """Return the side and the text of the least supported statement."""
    weakest = min(comparison.complete + comparison.correct, key=lambda each: each.support)
    return "reference" if weakest in comparison.complete else "answer", weakest.text


def _reason(comparison: Comparison, verdict: str) -> str:
    if comparison.copy:
        return "The answer equals the reference."
    if comparison.veto:
        return f"{comparison.veto[:1].upper()}{comparison.veto[1:]}."
    if comparison.lacks:
        return f"The answer lacks {comparison.lacks!r} of the reference."
    if not comparison.reference.is_short:
        side, text = _weakest(comparison)
        return f"The least supported statement of the {side} is {text!r}."
    found = f"{comparison.overlap.recall:.0%} of the reference's tokens are in the answer"
    e, n, c = comparison.complete[0].probabilities
    relation = {e: "entails", n: "neither entails nor contradicts", c: "contradicts"}[max(e, n, c)]
    joint = "and" if (verdict == LIKELY_CORRECT) == (e == max(e, n, c)) else "but"
    return f"{found}, {joint} the NLI model says that the answer {relation} it."
