"""Explanation of a score of answer_check: words, statements, and the reason for the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from infolm_metric.answer_check.judge import Comparison, Statement
from infolm_metric.answer_check.values import Agreement
from infolm_metric.core.results import Result


@dataclass(frozen=True)
class Explanation:
    """Explanation of the score of an answer against one reference.

    Attributes:
        answer: the final answer, without Markdown and LaTeX.
        score: the score, from 0 to 1.
        verdict: "likely correct", "unclear" or "likely wrong". None if there is no verdict.
        reason: the main reason for the score, in one sentence.
        matched: words of the reference in the answer.
        missing: other words of the reference.
        complete: statements of the reference, with the answer as the premise.
        correct: statements of the answer, with a long reference as the premise.
    """

    answer: str
    score: float
    verdict: str | None
    reason: str
    matched: Sequence[str]
    missing: Sequence[str]
    complete: Sequence[Statement]
    correct: Sequence[Statement]

    @classmethod
    def of(cls, comparison: Comparison, result: Result) -> Explanation:
        """Explain the result of a pair by its comparison."""
        words, found = comparison.reference.words, set(comparison.answer.words)
        withheld = f"There is no verdict ({result.reasons[0]})."
        return cls(
            comparison.answer.plain,
            next(iter(result.scores.values()))[0],
            result.verdicts[0],
            withheld if result.reasons[0] else _reason(comparison),
            [word for word in words if word in found],
            [word for word in words if word not in found],
            comparison.complete,
            comparison.correct,
        )

    def lines(self) -> Iterator[str]:
        """Yield the explanation as text."""
        yield f"answer: {self.answer}"
        yield f"verdict: {self.verdict or 'none'} (score {self.score:.3f}). {self.reason}"
        yield f"words of the reference in the answer: {' '.join(self.matched) or 'none'}"
        yield f"missing words: {' '.join(self.missing) or 'none'}"
        for side, statements in (("reference", self.complete), ("answer", self.correct)):
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
