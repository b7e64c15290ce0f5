"""Explanation of a score of answer_check: words, statements, and the reason for the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from infolm_metric.answer_check.judge import Comparison
from infolm_metric.answer_check.values import Agreement
from infolm_metric.core.results import Result


@dataclass(frozen=True)
class Explanation:
    """Explanation of the score of an answer against one reference.

    Attributes:
        score: the first requested score, from 0 to 1. The verdict depends on answer_check.
        verdict: "likely correct", "unclear" or "likely wrong". None if there is no verdict.
        reason: the main reason for the score, or why there is no verdict, in one sentence.
        comparison: the final answer and the reference, and their statements with probabilities.
    """

    score: float
    verdict: str | None
    reason: str
    comparison: Comparison

    @classmethod
    def of(cls, comparison: Comparison, result: Result) -> Explanation:
        """Explain the result of a pair by its comparison."""
        score, withheld = next(iter(result.scores.values()))[0], result.reasons[0]
        reason = f"There is no verdict ({withheld})." if withheld else _reason(comparison)
        return cls(score, result.verdicts[0], reason, comparison)

    def lines(self) -> Iterator[str]:
        """Yield the explanation as text."""
        pair = self.comparison
        missing = [word for word in pair.reference.words if word not in pair.answer.words]
        yield f"answer: {pair.answer.plain}"
        yield f"verdict: {self.verdict or 'none'} (score {self.score:.3f}). {self.reason}"
        yield f"words of the reference that are not in the answer: {' '.join(missing) or 'none'}"
        for side, statements in (("reference", pair.complete), ("answer", pair.correct)):
            for statement in statements:
                e, n, c = statement.probabilities
                values = f"e {e:.2f}, n {n:.2f}, c {c:.2f}"
                yield f"statement of the {side}: {statement.text!r} ({values})"


def _reason(comparison: Comparison) -> str:
    """Return the main reason for a score."""
    if comparison.copy:
        return "The answer equals the reference."
    if comparison.veto:
        return f"{comparison.veto[:1].upper()}{comparison.veto[1:]}."
    if comparison.agreement in (Agreement.MATCH, Agreement.CONTAINED):
        return "The answer contains the values of the reference."
    if comparison.correct:
        statements = (*comparison.complete, *comparison.correct)
        weakest = min(statements, key=lambda each: each.support)
        return f"The least supported statement is {weakest.text!r}."
    e, n, c = comparison.complete[0].probabilities
    relation = {e: "entails", n: "neither entails nor contradicts", c: "contradicts"}[max(e, n, c)]
    found = f"{comparison.recall:.0%} of the reference's words are in the answer"
    return f"{found}, and the NLI model says that the answer {relation} it."
