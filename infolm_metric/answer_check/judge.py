"""The judge: an NLI model that reads an answer and a reference, and what it compares.

A short reference is one statement. It is judged with the whole answer and with the statements of
the answer that contain most of its words. A long reference is judged statement by statement, in
both directions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from infolm_metric.answer_check.final_answer import Text
from infolm_metric.answer_check.patterns import find_denial
from infolm_metric.answer_check.statements import fraction, split_words, trigrams
from infolm_metric.answer_check.values import Agreement, compare_values
from infolm_metric.scoring.nli_scorer import TextPair

Probabilities = tuple[float, float, float]  # of entailment, neutral and contradiction
MARGIN = 0.2  # by which a contradiction must exceed entailment and neutrality for a veto


@dataclass(frozen=True)
class Statement:
    """A statement with the probabilities of its entailment by the other text.

    Attributes:
        text: the statement.
        probabilities: e, n and c, with the other text as the premise.
        recall: fraction of the statement's words in the other text.
    """

    text: str
    probabilities: Probabilities
    recall: float

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
        mentions: a short reference, with each statement of the answer that contains most of its
            words as the premise.
        correct: statements of the answer, with a long reference as the premise.
        copy: True if both texts are equal. Then no statements are compared.
        spread: veto against a longer reference of the same answer, or "".
    """

    answer: Text
    reference: Text
    complete: Sequence[Statement] = ()
    mentions: Sequence[Statement] = ()
    correct: Sequence[Statement] = ()
    copy: bool = False
    spread: str = ""

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

    @property
    def letters(self) -> float:
        """Fraction of the trigrams of the reference's words in the answer."""
        return fraction(trigrams(self.answer.words), trigrams(self.reference.words))

    @property
    def pairs(self) -> float:
        """Fraction of the reference's pairs of neighbouring words in the answer."""
        pairs = list(pairwise(self.reference.words))
        return fraction(list(pairwise(self.answer.words)), pairs) if pairs else self.recall

    @property
    def mention(self) -> float:
        """Best NLI score of a short reference with a statement that mentions it, or the answer."""
        return max((each.nli for each in self.mentions), default=self.complete[0].nli)

    @property
    def completeness(self) -> float:
        """Mean support of the reference's statements."""
        return mean_support(self.complete)

    @property
    def correctness(self) -> float:
        """Mean support of the answer's statements, by a long reference."""
        return mean_support(self.correct)

    @property
    def contradicted(self) -> str:
        """The first statement that mentions a short reference if all of them contradict it."""
        contradict = self.mentions and all(mention.contradicted for mention in self.mentions)
        return self.mentions[0].text if contradict else ""

    @cached_property
    def veto(self) -> str:
        """Reason why the answer is at most unclear, or ""."""
        if self.copy:
            return ""
        if self.agreement == Agreement.MISMATCH:
            return f"a value differs from {self.reference.plain!r}"
        if denial := find_denial(self.answer, self.reference):
            return f"{denial!r} denies {self.reference.plain!r}, or offers it with others"
        if self.agreement == Agreement.NONE and self.contradicted and self.recall == 1:
            return f"{self.contradicted!r} contradicts {self.reference.plain!r}"
        return self.spread


def mean_support(statements: Sequence[Statement]) -> float:
    """Return the mean support of statements, 0 without statements."""
    return sum(statement.support for statement in statements) / max(1, len(statements))


def spread_vetoes(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Apply what speaks against a longer reference to the shorter ones that it contains.

    With the references "Neil Armstrong" and "Armstrong", "Louis Armstrong" is not correct.
    """
    words = [frozenset(item.reference.words) for item in comparisons]
    pairs = list(zip(words, comparisons, strict=True))

    def find(names: frozenset[str], item: Comparison) -> str:
        longer = (other for more, other in pairs if names < more)
        reasons = (other.veto or other_name(item, other.reference) for other in longer)
        return next(filter(None, reasons), "")

    return [replace(item, spread=find(names, item)) for names, item in pairs]


def other_name(comparison: Comparison, longer: Text) -> str:
    """Return a reason if the answer has another name before a reference than a longer reference.

    Other mentions of the reference, without a name before it, assert it.
    """
    name = comparison.reference.plain
    if not name[:1].isupper() or not longer.plain.endswith(f" {name}"):
        return ""
    before = re.findall(rf"(?:(\w+) )?\b{re.escape(name)}\b", comparison.answer.plain)
    known = longer.plain.split()
    if before and all(word[:1].isupper() and word not in known for word in before):
        return f"'{before[0]} {name}' is not {longer.plain!r}"
    return ""


def find_mentions(answer: Text, reference: Text) -> list[str]:
    """Return the statements of an answer that contain the most words of a reference."""
    counts = {text: fraction(split_words(text), reference.words) for text in answer.statements}
    most = max(counts.values(), default=0)
    return [text for text, count in counts.items() if count == most] if most else []


def queries(
    answer: Text, reference: Text, windows: Callable[[Text, str], list[str]]
) -> Iterator[TextPair]:
    """Yield the premises and hypotheses that a comparison needs.

    `windows` returns the parts of a text that fit into the model together with a hypothesis.
    """
    for statement in reference.statements:
        yield from ((text, statement) for text in windows(answer, statement))
    if reference.is_long:
        for statement in answer.statements:
            yield from ((text, statement) for text in windows(reference, statement))
    else:
        for text in find_mentions(answer, reference):
            yield text, reference.statements[0]


def compare(
    answer: Text,
    reference: Text,
    windows: Callable[[Text, str], list[str]],
    table: Mapping[TextPair, Probabilities],
) -> Comparison:
    """Compare an answer with a reference, whose queries are answered in the table."""

    def judge(premise: Text, statement: str, texts: Sequence[str]) -> Statement:
        words = split_words(statement)
        rows = (table[text, statement] for text in texts)
        best = max(rows, key=lambda row: row[0] - row[2])
        return Statement(statement, best, fraction(premise.words, words))

    def judge_all(premise: Text, statements: Sequence[str]) -> list[Statement]:
        return [judge(premise, text, windows(premise, text)) for text in statements]

    return Comparison(
        answer,
        reference,
        judge_all(answer, reference.statements),
        [] if reference.is_long else [
            replace(judge(answer, reference.statements[0], [text]), text=text)
            for text in find_mentions(answer, reference)
        ],
        judge_all(reference, answer.statements) if reference.is_long else [],
    )  # fmt: skip
