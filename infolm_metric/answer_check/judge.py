"""The judge: an NLI model that reads an answer and a reference, and what it compares.

A short reference is one statement. It is judged with the whole answer, and with the statements of
the answer that contain the largest number of its words. A long reference is judged statement by
statement, in both directions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from infolm_metric.answer_check.final_answer import Text
from infolm_metric.answer_check.patterns import find_denial
from infolm_metric.answer_check.statements import fraction, split_words
from infolm_metric.answer_check.values import Agreement, compare_values, is_copy
from infolm_metric.scoring.nli_scorer import TextPair

Probabilities = tuple[float, float, float]  # of entailment, neutral and contradiction
MARGIN = 0.2  # by which a contradiction must exceed entailment and neutrality for a veto


@dataclass(frozen=True)
class Statement:
    """A statement that another text may entail.

    Attributes:
        text: the statement.
        premises: the other text, or its statements if it does not fit into the model.
        recall: fraction of the statement's words in the other text.
        table: NLI probabilities by premise and statement.
    """

    text: str
    premises: Sequence[str]
    recall: float
    table: Mapping[TextPair, Probabilities]

    @cached_property
    def probabilities(self) -> Probabilities:
        """Entailment (e), neutral (n) and contradiction (c) for the most supportive premise."""
        rows = (self.table[premise, self.text] for premise in self.premises)
        return max(rows, key=lambda row: row[0] - row[2])

    @property
    def nli(self) -> float:
        """NLI score (e - c + 1) / 2, from 0 to 1."""
        return (self.probabilities[0] - self.probabilities[2] + 1) / 2

    @property
    def support(self) -> float:
        """Mean of NLI score and recall. The NLI score is 0.5 without common words."""
        return ((self.nli if self.recall else 0.5) + self.recall) / 2

    @property
    def contradicted(self) -> bool:
        """True if a contradiction is far more likely than the rest."""
        e, n, c = self.probabilities
        return c > max(e, n) + MARGIN


@dataclass(frozen=True)
class Comparison:
    """An answer compared with one reference.

    Attributes:
        answer: the final answer.
        reference: the reference.
        complete: statements of the reference, with the answer as the premise.
        mentions: a short reference, with each statement of the answer that contains the largest
            number of its words as the premise.
        correct: statements of the answer, with a long reference as the premise.
        copy: True if `is_copy` accepts both texts. Copies and empty answers have no statements.
        spread: veto against a longer reference that contains this one, or "".
    """

    answer: Text
    reference: Text
    complete: Sequence[Statement] = ()
    mentions: Sequence[Statement] = ()
    correct: Sequence[Statement] = ()
    copy: bool = False
    spread: str = ""

    @property
    def queries(self) -> Iterator[TextPair]:
        """Premises and hypotheses whose probabilities are needed."""
        for statement in (*self.complete, *self.mentions, *self.correct):
            yield from ((premise, statement.text) for premise in statement.premises)

    @cached_property
    def agreement(self) -> Agreement:
        """Comparison of numbers, dates, choices and formulas."""
        return compare_values(self.answer.source, self.reference.source)

    @cached_property
    def recall(self) -> float:
        """Fraction of the reference's words in the answer."""
        return fraction(self.answer.words, self.reference.words)

    @property
    def f1(self) -> float:
        """Harmonic mean of the precision and recall of words."""
        length = len(self.reference.words)
        return 2 * self.recall * length / max(1, len(self.answer.words) + length)

    @cached_property
    def veto(self) -> str:
        """Reason why the answer is at most unclear, or ""."""
        if self.copy:
            return ""
        if not self.answer.plain:
            return "the answer is empty"
        if self.agreement == Agreement.MISMATCH:
            return f"a value differs from {self.reference.plain!r}"
        if denial := find_denial(self.answer, self.reference):
            return f"{denial!r} denies {self.reference.plain!r}, or offers it with others"
        contradicted = self.mentions and all(each.contradicted for each in self.mentions)
        if contradicted and self.agreement == Agreement.NONE and self.recall == 1:
            return f"{self.mentions[0].premises[0]!r} contradicts {self.reference.plain!r}"
        return self.spread


def mean_support(statements: Sequence[Statement]) -> float:
    """Return the mean support of statements, 0 without statements."""
    return sum(statement.support for statement in statements) / max(1, len(statements))


def spread_vetoes(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Apply vetoes against a longer reference to the shorter references that it contains.

    With the references "Neil Armstrong" and "Armstrong", "Louis Armstrong" is not correct.
    """

    def find(item: Comparison) -> str:
        words = set(item.reference.words)
        longer = (other for other in comparisons if words < set(other.reference.words))
        reasons = (other.veto or other_name(item, other.reference) for other in longer)
        return next(filter(None, reasons), "")

    return [replace(item, spread=find(item)) for item in comparisons]


def other_name(comparison: Comparison, longer: Text) -> str:
    """Return a veto if each mention of a name follows a first name that the longer name lacks.

    A mention without a first name asserts the reference.
    """
    name = comparison.reference.plain
    if not name[:1].isupper() or not longer.plain.endswith(f" {name}"):
        return ""
    before = re.findall(rf"(?<!\w)(?:(\w+) )?\b{re.escape(name)}\b", comparison.answer.plain)
    known = longer.plain.split()
    if before and all(word[:1].isupper() and word not in known for word in before):
        return f"'{before[0]} {name}' is not {longer.plain!r}"
    return ""


def find_mentions(answer: Text, reference: Text) -> list[str]:
    """Return the statements of an answer that contain the most words of a reference."""
    counts = {text: fraction(split_words(text), reference.words) for text in answer.statements}
    most = max(counts.values(), default=0)
    return [text for text, count in counts.items() if count == most] if most else []


def compare(
    answer: Text,
    reference: Text,
    premises: Callable[[Text, str], list[str]],
    table: Mapping[TextPair, Probabilities],
) -> Comparison:
    """Compare an answer with a reference. The table may be filled later.

    `premises` returns a text, or its statements if it does not fit together with the hypothesis.
    """
    copy = is_copy(answer.source, reference.source)
    if copy or not answer.plain:
        return Comparison(answer, reference, copy=copy)

    def read(premise: Text, statements: Sequence[str]) -> list[Statement]:
        return [
            Statement(x, premises(premise, x), fraction(premise.words, split_words(x)), table)
            for x in statements
        ]

    complete = read(answer, reference.statements)
    if reference.is_long:
        correct = read(reference, answer.statements)
        return Comparison(answer, reference, complete, correct=correct)
    mentions = [replace(complete[0], premises=[text]) for text in find_mentions(answer, reference)]
    return Comparison(answer, reference, complete, mentions)
