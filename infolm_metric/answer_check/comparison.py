"""An answer compared with a reference answer: tokens, NLI scores, and the resulting scores."""

from __future__ import annotations

from dataclasses import dataclass

from infolm_metric.answer_check.statements import SHORT
from infolm_metric.answer_check.tokens import Overlap, Token
from infolm_metric.answer_check.verdict import Statement, long_score, mean_support, short_score


@dataclass(frozen=True)
class PreparedText:
    """An answer or a reference without marks, with its statements and tokens."""

    text: str
    statements: tuple[str, ...]
    tokens: tuple[Token, ...]
    marked: str = ""  # the words that an answer marks as its result, or ""
    boxed: bool = False  # in a box

    @property
    def texts(self) -> tuple[str, ...]:
        """The text and its statements, which `AnswerCheckRun.compare` needs as tokens."""
        return self.text, *self.statements

    @property
    def is_short(self) -> bool:
        """True for a single statement of a few tokens."""
        return len(self.statements) <= 1 and len(self.tokens) <= SHORT


@dataclass(frozen=True)
class Comparison:
    """An answer compared with one reference.

    Attributes:
        reference: the prepared reference.
        overlap: matched and missing tokens of the reference.
        nli: NLI score of a short reference from 0 to 1: the mean of the scores with the answer
            and with the best of its statements that contain the reference as the premise.
        complete: statements of the reference, with the answer as the premise.
        correct: statements of the answer, with the reference as the premise, if it is long.
        veto: reason why the answer does not assert a short reference, or "".
        lacks: number, letter, symbol or unit of a short reference that the answer lacks, or "".
        copy: True if both have equal tokens.
    """

    reference: PreparedText
    overlap: Overlap
    nli: float
    complete: tuple[Statement, ...]
    correct: tuple[Statement, ...] = ()
    veto: str = ""
    lacks: str = ""
    copy: bool = False

    @property
    def capped(self) -> bool:
        """True if the answer is at most unclear."""
        return bool(self.veto or self.lacks)

    def score(self, name: str) -> float:
        """Return a score by name, from 0 to 1."""
        if self.copy:
            return 1.0
        if self.reference.is_short:
            return short_score(self.overlap.recall, self.nli, self.capped)
        completeness, correctness = mean_support(self.complete), mean_support(self.correct)
        parts = {"completeness": completeness, "correctness": correctness}
        parts["answer_check"] = long_score(completeness, correctness, self.overlap.f1)
        return parts[name]
