"""Scorer of answer_check, which compares an LLM's answer with reference answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar

import numpy as np

from infolm_metric.answer_check.comparison import Comparison, PreparedText
from infolm_metric.answer_check.contrasts import (
    exchanges_names,
    exchanges_roles,
    fails,
    find_lack,
    is_determiner,
    longer_name,
    polarity,
)
from infolm_metric.answer_check.denials import (
    find_denial,
    is_about_another,
    is_corrected_to,
    marks_another,
    offers_candidates,
)
from infolm_metric.answer_check.explanation import Explanation
from infolm_metric.answer_check.final_answer import final_answer, marked_answer, plain_reference
from infolm_metric.answer_check.settings import AnswerCheckSettings
from infolm_metric.answer_check.statements import split_statements
from infolm_metric.answer_check.tokens import (
    UNIT_WORDS,
    Overlap,
    answer_tokens,
    compare,
    compare_name,
    is_copy,
    reference_tokens,
)
from infolm_metric.answer_check.verdict import (
    LIKELY_WRONG,
    THRESHOLDS,
    VERDICT,
    Statement,
    describe_verdicts,
    mean_support,
    nli_score,
    verdict,
)
from infolm_metric.core.baselines import Baseline
from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs, check_text
from infolm_metric.core.results import ChunkScores, warn
from infolm_metric.core.settings import BUNDLED
from infolm_metric.models.out_of_domain import count_out_of_domain
from infolm_metric.scoring.nli_scorer import NLIRun, NLIScorer, TextPair
from infolm_metric.scoring.scorer import Progress, no_progress

Probabilities = Mapping[TextPair, tuple[float, float, float]]
UNDECIDED = 0.6  # NLI score of an answer without yes or no, which is then unclear
# How much more likely a contradiction must be than entailment or neutrality for a veto.
MARGIN = 0.2
COPY = "the answer equals the reference"


@dataclass(frozen=True, kw_only=True)
class AnswerCheckRun(NLIRun[AnswerCheckSettings]):
    """A call of answer_check."""

    scorer: AnswerCheckScorer
    compared: ClassVar[str] = "the longest sentences of two texts"

    @property
    def strips_thinking(self) -> bool:
        return self.settings.strip_thinking

    @cached_property
    def thresholds(self) -> tuple[float, float] | None:
        """Thresholds of the verdicts, or None if they were not measured for these settings."""
        if self.settings.thresholds is not None:
            assert not isinstance(self.settings.thresholds, str)  # parsed by the settings
            low, high = self.settings.thresholds
            return low, high
        default = AnswerCheckSettings(score=self.settings.score)
        same = self.settings.signature_fields() == default.signature_fields()
        bundled = self.settings.model_name_or_path == BUNDLED
        model = (self.settings.dtype, self.settings.max_length, self.settings.labels)
        return THRESHOLDS if same and bundled and model == ("float32", None, None) else None

    def prepare_answer(self, text: str) -> PreparedText:
        """Remove thinking and marks from an answer, and split it."""
        prepared = final_answer(text, self.settings.strip_thinking)
        statements = tuple(split_statements(prepared))
        marked, boxed = marked_answer(text, self.settings.strip_thinking)
        return PreparedText(prepared, statements, tuple(answer_tokens(prepared)), marked, boxed)

    def prepare_reference(self, text: str) -> PreparedText:
        """Remove marks from a reference, and split it."""
        prepared = plain_reference(text)
        statements = tuple(split_statements(prepared))
        return PreparedText(prepared, statements, tuple(reference_tokens(prepared)))

    def score_chunk(self, pairs: Pairs, progress: Progress) -> ChunkScores:
        """Score answers against their references, and return the verdicts."""
        answers = {text: self.prepare_answer(text) for text in dict.fromkeys(pairs.predictions)}
        references = {
            text: self.prepare_reference(text) for text in dict.fromkeys(pairs.flat_references)
        }
        rows = [(answers[text], [references[x] for x in group]) for text, group in pairs]
        prepared = Pairs(
            [answer.text for answer, _ in rows], [[x.text for x in group] for _, group in rows]
        )
        texts = (text for answer, group in rows for part in (answer, *group) for text in part.texts)
        tokens = self.tokens(texts)
        comparisons = self.compare(rows, tokens, progress)
        names, scores = self.settings.names, dict[str, list[float]]()
        best = [self.best_comparison(group) for group in comparisons]
        for name in names:
            scores[name] = [
                0.0 if comparison is None else comparison.score(name) for comparison in best
            ]
        compared = [(answer, item) for (answer, _), item in zip(rows, best, strict=True)]
        foreign = [item is not None and self._is_foreign(x, item, tokens) for x, item in compared]
        verdicts = [
            None if is_foreign else self._verdict(answer, item, tokens)
            for (answer, item), is_foreign in zip(compared, foreign, strict=True)
        ]
        counts = self.count_warnings(prepared, tokens)
        counts["out_of_domain"] = len({*compress(prepared.predictions, foreign)})
        counts.update(f"{VERDICT}{word}" for word in verdicts)
        return ChunkScores(scores, counts, verdicts)

    def compare(
        self,
        rows: Sequence[tuple[PreparedText, Sequence[PreparedText]]],
        tokens: Mapping[str, np.ndarray],
        progress: Progress = no_progress,
    ) -> list[list[Comparison]]:
        """Compare each answer with its references. Empty answers have no comparisons."""
        groups = [
            [] if not answer.statements and not _both_empty(answer, group) else group
            for answer, group in rows
        ]
        queries = dict.fromkeys(
            query
            for (answer, _), group in zip(rows, groups, strict=True)
            for reference in group
            for query in self._queries(answer, reference, tokens)
        )
        values = self.probabilities(list(queries), progress) if queries else np.zeros((0, 3))
        table = dict(zip(queries, map(tuple, values.tolist()), strict=True))
        return [
            [self._compare(answer, reference, tokens, table) for reference in group]
            for (answer, _), group in zip(rows, groups, strict=True)
        ]

    def _queries(
        self, answer: PreparedText, reference: PreparedText, tokens: Mapping[str, np.ndarray]
    ) -> Iterator[TextPair]:
        """Yield the premises and hypotheses that a comparison needs."""
        if _is_copy(answer, reference):
            return
        for statement in reference.statements or (reference.text,):
            yield from ((text, statement) for text in self._premises(answer, statement, tokens))
        if reference.is_short:
            yield from ((text, reference.text) for text in _mentions(answer, reference))
        else:
            for statement in answer.statements:
                premises = self._premises(reference, statement, tokens)
                yield from ((text, statement) for text in premises)

    def _premises(
        self, text: PreparedText, hypothesis: str, tokens: Mapping[str, np.ndarray]
    ) -> list[str]:
        """Return the text, or windows of whole statements if the pair would be truncated."""
        if self.limit is None:
            return [text.text]
        room = self.limit - self.overhead - len(tokens[hypothesis])
        if len(tokens[text.text]) <= room:
            return [text.text]
        windows, size = list[list[str]](), room + 1
        for statement in text.statements:
            length = len(tokens[statement]) + 1  # joining may add a token
            if size + length > room:
                windows.append([])
                size = 0
            windows[-1].append(statement)
            size += length
        return [" ".join(window) for window in windows] or [text.text]

    def too_long(
        self, pairs: Pairs, tokens: Mapping[str, np.ndarray]
    ) -> Iterator[tuple[str, str, int]]:
        """Yield pairs whose longest statements together exceed the limit, with their length."""
        for answer, reference, _ in super().too_long(pairs, tokens):
            size = self.overhead
            for text in (answer, reference):
                statements = self.tokens(split_statements(text) or [text])
                size += max(map(len, statements.values()))
            if self.limit is not None and size > self.limit:
                yield answer, reference, size

    def check(self, pairs: Pairs) -> None:
        """Check the lengths of the prepared statements if long_text is "error"."""
        if self.settings.long_text == "error":
            answers = [self.prepare_answer(text).text for text in pairs.predictions]
            groups = [[self.prepare_reference(x).text for x in group] for _, group in pairs]
            super().check(Pairs(answers, groups))

    def _compare(
        self,
        answer: PreparedText,
        reference: PreparedText,
        tokens: Mapping[str, np.ndarray],
        table: Probabilities,
    ) -> Comparison:
        overlap = compare(answer.tokens, reference.tokens)
        if _is_copy(answer, reference):
            return Comparison(reference, overlap, 1.0, (), copy=True)

        def statement(text: str, premise: PreparedText, known: Overlap) -> Statement:
            rows = [table[window, text] for window in self._premises(premise, text, tokens)]
            best = max(rows, key=lambda row: row[0] - row[2])
            return Statement(text, best, known.recall)

        if reference.is_short and overlap.missing:
            overlap = compare_name(answer.tokens, reference.text, reference.tokens, overlap)
        complete = tuple(
            statement(text, answer, compare(answer.tokens, reference_tokens(text)))
            for text in reference.statements or (reference.text,)
        )
        if reference.is_short:
            rows = [table[text, reference.text] for text in _mentions(answer, reference)]
            return _compare_short(answer, reference, overlap, complete, rows)
        correct = tuple(
            statement(text, reference, compare(reference.tokens, reference_tokens(text)))
            for text in answer.statements
        )
        return Comparison(reference, overlap, mean_support(complete), complete, correct)

    def best_comparison(self, comparisons: Sequence[Comparison]) -> Comparison | None:
        """Return the comparison with the best score, or None for an empty answer.

        A veto against one reference also holds for the references whose tokens contain its tokens,
        or are contained in them.
        """
        vetoed = [(_keys(item), item.veto) for item in comparisons if item.veto]
        spread = []
        for item in comparisons:
            reasons = [
                reason for keys, reason in vetoed if keys <= _keys(item) or _keys(item) <= keys
            ]
            applies = reasons and not item.copy and item.reference.is_short
            spread.append(replace(item, veto=reasons[0]) if applies else item)
        return max(spread, key=lambda item: item.score("answer_check"), default=None)

    def _verdict(
        self, answer: PreparedText, comparison: Comparison | None, tokens: Mapping[str, np.ndarray]
    ) -> str | None:
        """Return the verdict on an answer in domain, or None if it is withheld."""
        if self.thresholds is None:
            return None
        if comparison is None:
            return LIKELY_WRONG
        if self.settings.thresholds is None and not (
            comparison.copy or comparison.reference.is_short
        ):
            return None  # too few answers with human verdicts have long references
        if comparison.copy:  # no model decides
            return verdict(1.0, self.thresholds)
        if not comparison.reference.tokens:
            return None
        if any(self.too_long(Pairs([answer.text], [[comparison.reference.text]]), tokens)):
            return None
        return verdict(comparison.score("answer_check"), self.thresholds, comparison.capped)

    def _is_foreign(
        self, answer: PreparedText, comparison: Comparison, tokens: Mapping[str, np.ndarray]
    ) -> bool:
        """Return True if an answer or its reference is out of domain.

        If the answer contains the reference, the rest must be out of domain, because a rare name in
        an English answer is not foreign.
        """
        texts = [tokens[answer.text], tokens[comparison.reference.text]]
        english = self.checkpoint.english
        if comparison.copy or not count_out_of_domain(texts, english):
            return False
        rest = texts[0][~np.isin(texts[0], texts[1])]
        return bool(comparison.overlap.missing) or count_out_of_domain([rest], english) > 0


class AnswerCheckScorer(NLIScorer[AnswerCheckSettings]):
    """Scorer of answer_check. The model is loaded on first use and kept.

    `settings` is an `AnswerCheckSettings` object, or None for the defaults. Settings can also be
    passed as keyword arguments, which every method accepts for a single call.

    >>> scorer = AnswerCheckScorer()
    >>> result = scorer.score(["It was Neil Armstrong.", "Nobody knows."], ["Neil Armstrong"] * 2)
    >>> result["verdicts"]
    ['likely correct', 'likely wrong']
    """

    settings_type = AnswerCheckSettings
    run_type = AnswerCheckRun
    perfect_score_label = "a copy of the reference"

    def make_run(
        self, settings: AnswerCheckSettings, baseline: Baseline | None, **fields: Any
    ) -> NLIRun[AnswerCheckSettings]:
        if baseline is not None:
            raise InputError(
                "rescale_with_baseline must be False for answer_check, whose scores have a scale "
                "of their own. Use the verdicts."
            )
        run = super().make_run(settings, baseline, **fields)
        if not run.labels.three_way:
            raise InputError(
                "answer_check needs an NLI model with three labels, but "
                f"{settings.model_name_or_path!r} has two labels, entailment and not_entailment. "
                "Choose another model."
            )
        return run

    def bounds(self, settings: AnswerCheckSettings, name: str) -> tuple[float, float]:
        """Return the bounds of all scores, 0 and 1."""
        return 0.0, 1.0

    def describe_verdicts(
        self, settings: AnswerCheckSettings, counts: Mapping[str, int]
    ) -> list[str]:
        """Describe the number of each verdict, and how often annotators confirmed them."""
        return describe_verdicts(counts, measured=settings.thresholds is None)

    def explain(self, answer: str, reference: str, **changed: Any) -> Explanation:
        """Explain the score and the verdict of `answer` against a single `reference`.

        `changed` overrides settings for this call.

        >>> explanation = AnswerCheckScorer().explain("Not Rome, but Paris.", "Rome")
        >>> explanation.verdict != "likely correct", explanation.missing
        (True, ())
        """
        check_text("answer", answer)
        check_text("reference", reference)
        run = self.prepare(self.settings.replace(**changed))
        assert isinstance(run, AnswerCheckRun)
        with self.lock:
            result = run.score(Pairs([answer], [[reference]]))
            prepared, expected = run.prepare_answer(answer), run.prepare_reference(reference)
            tokens = run.tokens([*prepared.texts, *expected.texts])
            (comparisons,) = run.compare([(prepared, [expected])], tokens)
        warn(result.counts, self.warning_messages)
        return Explanation.of(prepared.text, expected.text, comparisons, result)


def _compare_short(
    answer: PreparedText,
    reference: PreparedText,
    overlap: Overlap,
    complete: tuple[Statement, ...],
    rows: Sequence[tuple[float, float, float]],
) -> Comparison:
    """Compare with a short reference. `rows` are e, n and c of the statements that contain it."""
    (whole,) = complete
    values = nli_score(np.array([whole.probabilities, *rows]))
    nli = float(values[0] + values[1:].max(initial=0)) / 2 if rows else float(values[0])
    corrected = is_corrected_to(answer.statements, reference.text)
    if overlap.missing and [token.key for token in reference.tokens] in (["yes"], ["no"]):
        said = polarity(answer.statements)
        if said == reference.tokens[0].key:
            overlap, nli = replace(overlap, matched=overlap.missing, missing=()), 0.5
        elif not said:
            nli = max(nli, UNDECIDED)
    elif not overlap.missing and (corrected or not _same_spelling(answer, reference)):
        nli = max(nli, 0.5)  # NLI models take 1,000 and 1000 for different numbers
    veto = _veto(answer, reference, overlap, rows, corrected)
    lacks = find_lack(answer.tokens, reference.tokens, overlap)
    return Comparison(reference, overlap, nli, complete, veto=veto, lacks=lacks)


def _is_copy(answer: PreparedText, reference: PreparedText) -> bool:
    return is_copy(answer.text, reference.text)


def _both_empty(answer: PreparedText, group: Sequence[PreparedText]) -> bool:
    return any(_is_copy(answer, reference) for reference in group)


def _keys(comparison: Comparison) -> Counter[str]:
    return Counter(token.key for token in comparison.reference.tokens)


def _mentions(answer: PreparedText, reference: PreparedText) -> list[str]:
    """Return the statements of an answer that contain the most tokens of a reference."""
    recalls = {
        text: compare(answer_tokens(text), reference.tokens).recall for text in answer.statements
    }
    most = max(recalls.values(), default=0.0)
    return [text for text, recall in recalls.items() if recall == most] if most else []


def _veto(
    answer: PreparedText,
    reference: PreparedText,
    overlap: Overlap,
    rows: Sequence[tuple[float, float, float]],
    corrected: bool,
) -> str:
    """Return the reason why an answer that contains a short reference does not assert it, or "".

    `rows` are e, n and c of the statements that contain it. Their contradiction counts only if all
    tokens match in the same spelling, because an answer often differs from one of several aliases.
    """
    if not overlap.matched:
        return ""
    if denial := find_denial(answer.statements, reference.text):
        return f"{denial!r} denies or doubts the reference"
    if not corrected and offers_candidates(answer.statements, [reference.text]):
        return "the answer lists several candidates"
    if marks_another(answer.marked, answer.boxed, answer.statements, reference.text):
        return f"the answer marks {answer.marked!r}"
    if is_about_another(answer.statements, reference.text):
        return "the answer mentions the reference only in an addition to another name"
    if is_determiner(answer.tokens, reference.tokens):
        return '"no" belongs to a noun in the answer'
    if word := longer_name(answer.tokens, reference.tokens):
        return f"the reference is part of another name with {word!r}"
    mentions = _mentions(answer, reference)
    exchanged = (exchanges_names, exchanges_roles)
    if mentions and all(any(f(text, reference.tokens) for f in exchanged) for text in mentions):
        return f"{mentions[0]!r} exchanges words of the reference"
    if mentions and all(fails(text, reference.tokens) for text in mentions):
        return f"{mentions[0]!r} denies the reference"
    contradicted = bool(rows) and not corrected and all(c > max(e, n) + MARGIN for e, n, c in rows)
    if contradicted and not overlap.missing and _same_spelling(answer, reference):
        return f"{mentions[0]!r} contradicts the reference"
    return ""


def _same_spelling(answer: PreparedText, reference: PreparedText) -> bool:
    """Return False if numbers, units, abbreviations or accents are written in another way."""
    if not reference.text.isascii() and reference.text.casefold() not in answer.text.casefold():
        return False
    spelled = {token.text.casefold() for token in answer.tokens}
    inflected = spelled | {token.other for token in answer.tokens if token.text.islower()}
    return all(
        token.text.casefold() in spelled
        or (
            token.key == token.text
            and token.key.isalpha()
            and UNIT_WORDS.isdisjoint((token.key, token.other))
            and not inflected.isdisjoint((token.key, token.other))
        )
        for token in reference.tokens
    )
