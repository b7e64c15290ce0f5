"""Scorer of answer_check, which compares an LLM's answer with reference answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from infolm_metric.answer_check.explanation import Explanation
from infolm_metric.answer_check.final_answer import Text, final_answer, plain_text
from infolm_metric.answer_check.formulas import MATH_VERSION
from infolm_metric.answer_check.judge import Comparison, Probabilities, compare, spread_vetoes
from infolm_metric.answer_check.settings import AnswerCheckSettings
from infolm_metric.answer_check.values import Agreement
from infolm_metric.answer_check.verdict import THRESHOLDS, VERDICTS, score, verdict
from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs, check_text
from infolm_metric.core.results import ChunkScores, warn
from infolm_metric.models.out_of_domain import count_out_of_domain
from infolm_metric.scoring.nli_scorer import NLIRun, NLIScorer, TextPair

Rows = Sequence[tuple[Text, Sequence[Text]]]
Tokens = Mapping[str, np.ndarray]
FOREIGN = "out of domain"
LONGEST_TERM = 3  # words. A short phrase may be a name or a technical term
VERDICT, WITHHELD = "verdict: ", "withheld: "  # prefixes of counts
# Settings for which the thresholds were measured.
MEASURED = ("model_name_or_path", "max_length", "labels", "dtype", "strip_thinking")
MARKS = ".,;:!?()\"'“”’"


@dataclass(frozen=True, kw_only=True)
class AnswerCheckRun(NLIRun[AnswerCheckSettings]):
    """A call of answer_check."""

    def __post_init__(self) -> None:
        if not self.labels.three_way:
            raise InputError(
                "answer_check needs an NLI model with three labels, but "
                f"{self.settings.model_name_or_path!r} has two labels, entailment and "
                "not_entailment. Choose another model."
            )

    def model_fields(self) -> dict[str, object]:
        """Return the signature fields of the NLI model and of math-verify."""
        return super().model_fields() | {"math_verify": MATH_VERSION or "no"}

    @cached_property
    def thresholds(self) -> tuple[float, ...] | None:
        """Thresholds of the verdicts, or None if they were not measured for these settings."""
        settings, default = self.settings, AnswerCheckSettings()
        if settings.thresholds is not None:
            assert not isinstance(settings.thresholds, str)  # parsed by the settings
            return settings.thresholds
        same = all(getattr(settings, name) == getattr(default, name) for name in MEASURED)
        return THRESHOLDS if same else None

    def prepare_rows(self, pairs: Pairs) -> Rows:
        """Find the final answers, and remove the Markdown of references."""
        strip = self.settings.strip_thinking
        answers = {text: final_answer(text, strip) for text in dict.fromkeys(pairs.predictions)}
        references = {text: plain_text(text) for text in dict.fromkeys(pairs.flat_references)}
        return [(answers[text], [references[x] for x in group]) for text, group in pairs]

    def score_chunk(self, pairs: Pairs) -> ChunkScores:
        """Score answers against their references, and return the verdicts."""
        rows = self.prepare_rows(pairs)
        tokens = self.token_table(rows)
        best = [max(group, key=score) for group in self.compare(rows, tokens)]
        scores = {name: [score(item, name) for item in best] for name in self.settings.names}
        decided = [self.decide(item, tokens) for item in best]
        verdicts, reasons = map(list, zip(*decided, strict=True))
        counts = self.count_warnings(_plain_pairs(rows), tokens)
        counts["out_of_domain"] = reasons.count(FOREIGN)
        counts.update(f"{VERDICT}{word}" for word in verdicts if word)
        counts.update(f"{WITHHELD}{reason}" for reason in reasons if reason)
        return ChunkScores(scores, counts, verdicts, reasons)

    def token_table(self, rows: Rows) -> Tokens:
        """Return the tokens of all texts and statements."""
        texts = (text for answer, group in rows for text in (answer, *group))
        return self.tokens(x for text in texts for x in (text.plain, *text.statements))

    def compare(self, rows: Rows, tokens: Tokens) -> list[list[Comparison]]:
        """Compare each answer with its references."""
        premises = partial(self.premises, tokens=tokens)
        table: dict[TextPair, Probabilities] = {}
        groups = [
            [compare(answer, reference, premises, table) for reference in group]
            for answer, group in rows
        ]
        asked = dict.fromkeys(x for group in groups for item in group for x in item.queries)
        if asked:
            values = self.probabilities(list(asked)).tolist()
            table.update(zip(asked, map(tuple, values), strict=True))
        return list(map(spread_vetoes, groups))

    def premises(self, text: Text, hypothesis: str, tokens: Tokens) -> list[str]:
        """Return the text, or its statements if the pair would be truncated."""
        size = len(tokens[text.plain]) + len(tokens[hypothesis]) + self.overhead
        return [text.plain] if self.limit is None or size <= self.limit else text.statements

    def too_long(self, pairs: Pairs, tokens: Tokens) -> Iterator[tuple[str, str, int]]:
        """Yield pairs whose longest statements together exceed the limit, with their length."""
        for answer, reference, _ in super().too_long(pairs, tokens):
            groups = [Text(text).statements for text in (answer, reference)]
            size = self.overhead + sum(max(self.lengths(x), default=0) for x in groups)
            if self.limit is not None and size > self.limit:
                yield answer, reference, size

    def check(self, pairs: Pairs) -> None:
        """Check the lengths of the prepared statements if long_text is "error"."""
        if self.settings.long_text == "error":
            super().check(_plain_pairs(self.prepare_rows(pairs)))

    def decide(self, comparison: Comparison, tokens: Tokens) -> tuple[str | None, str]:
        """Return the verdict on an answer, or None and the reason why it is withheld."""
        answer, reference = comparison.answer, comparison.reference
        if self.thresholds is None:
            return None, "settings"
        if answer.plain and not comparison.copy:
            if not reference.plain:
                return None, "empty reference"
            if any(self.too_long(Pairs([answer.plain], [[reference.plain]]), tokens)):
                return None, "truncated"
            if comparison.agreement == Agreement.NONE and self.is_foreign(answer, reference):
                return None, FOREIGN
        return verdict(score(comparison), self.thresholds, bool(comparison.veto)), ""

    def is_foreign(self, answer: Text, reference: Text) -> bool:
        """Return True if the lower-case words of the answer or the reference are not English prose.

        Names, terms, formulas, numbers and, in the answer, words of the reference are ignored.
        """
        known = set(reference.plain.split())
        answer_words = [word for word in answer.plain.split() if word not in known]
        texts = [
            " ".join(word for word in words if word.strip(MARKS).isalpha() and word == word.lower())
            for words in (answer_words, reference.plain.split())
        ]
        texts = [text for text in texts if len(text.split()) > LONGEST_TERM]
        return count_out_of_domain(self.tokens(texts).values(), self.checkpoint.english) > 0


def _plain_pairs(rows: Rows) -> Pairs:
    return Pairs([x.plain for x, _ in rows], [[text.plain for text in group] for _, group in rows])


class AnswerCheckScorer(NLIScorer[AnswerCheckSettings]):
    """Scorer of answer_check. The model is loaded on first use and kept.

    `settings` is an `AnswerCheckSettings` object, or None for the defaults. Keyword arguments
    override single settings, here and in the methods that score.

    >>> scorer = AnswerCheckScorer()
    >>> result = scorer.score(["It was Neil Armstrong.", "Nobody knows."], ["Neil Armstrong"] * 2)
    >>> result["verdicts"]
    ['likely correct', 'likely wrong']
    """

    settings_type = AnswerCheckSettings
    run_type = AnswerCheckRun
    perfect_score_label = "an identical text"

    def bounds(self, settings: AnswerCheckSettings, name: str) -> tuple[float, float]:
        """Return the bounds of all scores, 0 and 1."""
        return 0.0, 1.0

    def describe_verdicts(self, counts: Mapping[str, int]) -> list[str]:
        """Describe the number of each verdict."""
        numbers = {word: counts.get(f"{VERDICT}{word}", 0) for word in VERDICTS}
        reasons = {key.removeprefix(WITHHELD): n for key, n in counts.items() if WITHHELD in key}
        lines, decided, withheld = [], sum(numbers.values()), sum(reasons.values())
        if decided == 1 and not withheld:
            lines.append("verdict: " + max(numbers, key=numbers.__getitem__))
        elif decided:
            lines.append("verdicts: " + ", ".join(f"{number} {x}" for x, number in numbers.items()))
        if withheld:
            words = ", ".join(f"{number} {reason}" for reason, number in reasons.items())
            lines.append(
                f"no verdict for {withheld} ({words}), whose scores are part of the mean. See the "
                "column reason of --per-pair or -o FILE.csv"
            )
        return lines

    def explain(self, answer: str, reference: str, **changed: Any) -> Explanation:
        """Explain the score and the verdict of `answer` against a single `reference`.

        `changed` overrides settings for this call.

        >>> explanation = AnswerCheckScorer().explain("It is not Rome.", "Rome")
        >>> explanation.verdict != "likely correct", explanation.reason
        (True, "'It is not Rome.' denies 'Rome', or offers it with others.")
        """
        check_text("answer", answer)
        check_text("reference", reference)
        run = self.prepare(self.settings.replace(**changed))
        assert isinstance(run, AnswerCheckRun)
        pairs = Pairs([answer], [[reference]])
        with self.lock:
            result, rows = run.score(pairs), run.prepare_rows(pairs)
            ((comparison,),) = run.compare(rows, run.token_table(rows))
        warn(result.counts)
        return Explanation.of(comparison, result)
