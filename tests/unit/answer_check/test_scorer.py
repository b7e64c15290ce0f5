"""AnswerCheckScorer: rules for answers and references, windows, verdicts, explanations."""

import csv
import functools
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infolm_metric import AnswerCheckScorer, InputError
from infolm_metric.answer_check.comparison import Comparison
from infolm_metric.answer_check.final_answer import final_answer
from infolm_metric.answer_check.statements import split_statements
from infolm_metric.answer_check.tokens import answer_tokens, compare, reference_tokens
from infolm_metric.answer_check.verdict import (
    CAP,
    LIKELY_CORRECT,
    LIKELY_WRONG,
    LONG_WEIGHTS,
    RECALL_WEIGHT,
    UNCLEAR,
)
from infolm_metric.models.nli import NLIModel
from tests.model_families import SENTENCES
from tests.reference_menli import ReferenceMENLI

pytestmark = pytest.mark.filterwarnings("ignore:infolm")

ALWAYS = (0.0, 0.0)  # thresholds with which an answer is likely correct unless a rule forbids it
LONG = "The cat sat on the mat. It was cold in the garden. Rain fell."
TABLE = (Path(__file__).parent / "sentences.tsv").read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def folder(tiny_nli):
    return tiny_nli()


@pytest.fixture(scope="module")
def tiny(folder):
    """Scorer with a tiny NLI model with random weights."""
    return AnswerCheckScorer(model_name_or_path=folder)


@pytest.fixture(scope="module")
def bundled():
    return AnswerCheckScorer()


def score_one(scorer, answer, references, **options):
    """Return the score and the verdict of one answer."""
    result = scorer.score([answer], [references], **options)
    return result["scores"][0], result["verdicts"][0]


# Values


class Literal:
    """Literal implementation of the score of one pair, from its specification."""

    def __init__(self, folder):
        self.probabilities = functools.cache(ReferenceMENLI(folder, 40).probabilities)

    def n(self, premise, hypothesis):
        e, _, c = self.probabilities(premise, hypothesis)
        return (e - c + 1) / 2

    def support(self, tokens, text, statement):
        wanted = reference_tokens(statement)
        recall = len(compare(tokens, wanted).matched) / len(wanted)
        return (recall + (self.n(text, statement) if recall else 0.5)) / 2

    def short(self, answer, reference):
        wanted = reference_tokens(reference)
        recall = compare(answer_tokens(answer), wanted).recall
        statements = split_statements(answer)
        recalls = [compare(answer_tokens(text), wanted).recall for text in statements]
        mentions = [
            text
            for text, value in zip(statements, recalls, strict=True)
            if value == max(recalls) > 0
        ]
        nli = self.n(answer, reference)
        if mentions:
            nli = (nli + max(self.n(text, reference) for text in mentions)) / 2
        return RECALL_WEIGHT * recall + (1 - RECALL_WEIGHT) * nli

    def long(self, answer, reference):
        known = reference_tokens(reference), answer_tokens(answer)
        sides = ((known[1], answer, reference), (known[0], reference, answer))
        parts = [
            np.mean([self.support(tokens, text, x) for x in split_statements(other)])
            for tokens, text, other in sides
        ]
        overlap = compare(known[1], known[0])
        size = len(known[0]) + len(known[1])
        parts.append(2 * len(overlap.matched) / size)
        return [float(np.dot(LONG_WEIGHTS, parts)), *parts[:2]]


def test_short_scores_match_the_literal_implementation(tiny, folder):
    literal = Literal(folder)
    answers = ["The cat sat.", "A dog ran. The cat sat on a mat.", "Rain fell.", SENTENCES[0]]
    references = ["the cat", "a small boat", "mat", "Rain"]
    for answer in answers:
        for reference in references:
            explanation = tiny.explain(answer, reference)
            if "contradicts" in explanation.reason and not explanation.missing:
                continue  # a veto, tested below
            assert explanation.score == pytest.approx(literal.short(answer, reference), abs=1e-5)


def test_long_scores_match_the_literal_implementation(tiny, folder):
    literal = Literal(folder)
    names = ("answer_check", "completeness", "correctness")
    answers = ["The cat sat. A dog ran in the rain.", "It was cold.", SENTENCES[0]]
    for answer in answers:
        result = tiny.score([answer], [LONG], score=names)
        scores = [result.scores[name][0] for name in names]
        assert scores == pytest.approx(literal.long(answer, LONG), abs=1e-5)


def test_all_scores_are_equal_for_short_references(tiny):
    names = ["answer_check", "completeness", "correctness"]
    answers = ["The cat sat.", "A dog.", "", "the dog"]
    scores = tiny.score(answers, ["the dog"] * 4, score=names).scores
    assert scores["answer_check"] == scores["completeness"] == scores["correctness"]


def test_the_best_reference_counts(tiny):
    answers, groups = ["The cat sat.", "A dog ran."], [["a mat", "the cat"], [LONG, "the rain"]]
    scores = tiny.score(answers, groups)["scores"]
    for answer, group, score in zip(answers, groups, scores, strict=True):
        alone = tiny.score([answer] * 2, group)["scores"]
        assert score == pytest.approx(max(alone), abs=1e-6)


def test_a_reference_is_short_up_to_twelve_tokens_of_one_statement(tiny):
    run = tiny.prepare()
    words = ["cat"] * 12
    for text, short in (
        (" ".join(words), True),
        (" ".join([*words, "again"]), False),
        ("It rained. The match was off.", False),
        ("Paris\nLyon", False),
        ("the " + " ".join(words), True),  # articles do not count
        ("", True),
    ):
        assert run.prepare_reference(text).is_short == short, text


# Empty answers, copies, thinking and Markdown

EMPTY = ["", " \n", "...", "**", "<think>It is Paris.</think>", "<think>It is Paris.", "```\n```"]


@pytest.mark.parametrize("answer", EMPTY)
@pytest.mark.parametrize("reference", ["Paris", LONG])
def test_an_empty_answer_is_likely_wrong(bundled, answer, reference):
    assert score_one(bundled, answer, [reference]) == (0, LIKELY_WRONG)
    assert bundled.explain(answer, reference).reason == "The answer is empty."


def test_the_bounds_are_zero_and_one(tiny):
    assert tiny.bounds(tiny.settings, "answer_check") == (0, 1)


def test_two_empty_texts_score_1(tiny):
    result = tiny.score(["", "<think>no</think>", " "], ["", " ", ""])
    assert result["scores"] == [1, 1, 1] and result["warnings"]["empty"] == 6


def test_an_empty_reference_gives_no_verdict(bundled):
    assert score_one(bundled, "Paris", [" "])[1] is None
    assert "the reference has no words" in bundled.explain("Paris", "").reason


def test_blank_references_are_left_out(tiny):
    assert score_one(tiny, "", ["", "Paris"])[0] == 0
    answers = ["The cat sat."] * 2
    first, second = tiny.score(answers, [["the cat", " "], ["the cat"]])["scores"]
    assert first == pytest.approx(second)


COPIES = [
    ("Paris", "Paris"),
    ("**Paris**", "paris."),
    ("The U.S.", "the US"),
    ("12,500.0", "12500"),
    ("<think>Lyon?</think>Paris", "Paris"),
    ("Beyonce\u0301", "Beyonc\u00e9"),
    (LONG, LONG.replace(". ", ".\n- ")),
    ("+", "+"),
    ("東京", "東京"),
]


@pytest.mark.parametrize(("answer", "reference"), COPIES)
def test_copies_score_1_without_the_model(tiny, answer, reference, monkeypatch):
    monkeypatch.setattr(NLIModel, "probabilities", None)
    tiny.prepare()
    names = ["answer_check", "completeness", "correctness"]
    result = tiny.score([answer], [reference], score=names, reuse_memory=0, thresholds=(1, 1))
    assert [column[0] for column in result.scores.values()] == [1, 1, 1]
    assert result["verdicts"] == [LIKELY_CORRECT]


NO_COPIES = [("Vitamin C", "Vitamin A"), ("5", "-5"), ("0.5", "5.0"), ("C", "C++"), ("+", "-")]
NO_COPIES += [("1-3", "3-1"), ("♥", "♠"), ("Arsenal beat Chelsea", "Chelsea beat Arsenal")]


@pytest.mark.parametrize(("answer", "reference"), NO_COPIES)
def test_other_tokens_or_orders_are_no_copies(tiny, answer, reference):
    assert score_one(tiny, answer, [reference])[0] < 1


THOUGHTS = ["<think>A dog?</think>{}", "A dog?</thinking>\n{}", "Hm. <answer>{}</answer>"]


@pytest.mark.parametrize("thought", THOUGHTS)
def test_thinking_is_not_scored_unless_requested(tiny, thought):
    plain, whole = "The cat sat.", thought.format("The cat sat.")
    result = tiny.score([plain, whole], ["the dog"] * 2)
    assert result["scores"][0] == pytest.approx(result["scores"][1])
    assert "thinking" not in result["warnings"]
    kept = tiny.score([plain, whole], ["the dog"] * 2, strip_thinking=False)["scores"]
    assert kept[0] == pytest.approx(result["scores"][0]) and kept[1] != pytest.approx(kept[0])


def test_thinking_in_a_reference_is_content(tiny):
    scores = tiny.score(["The cat sat."] * 2, ["<think>a dog</think>the cat", "the cat"])["scores"]
    assert scores[0] != pytest.approx(scores[1])


def test_markdown_is_neither_scored_nor_out_of_domain(bundled):
    answer = "# Answer\n\n- The capital is **Paris**.\n- `Paris` is also the largest city."
    result = bundled.score([answer], ["Paris"])
    assert result["verdicts"] == [LIKELY_CORRECT] and not result["warnings"]
    plain = bundled.score([final_answer(answer)], ["Paris"])["scores"]
    assert result["scores"] == pytest.approx(plain)


# Vetoes

CAPPED = [
    ("It isn't Canberra.", "Canberra"),
    ("No, Canberra is wrong. The capital is Sydney.", "Canberra"),
    ("Either Sydney or Canberra.", "Canberra"),
    ("Sydney, Canberra, Perth or Hobart.", "Canberra"),
    ("I don't know whether it was Canberra.", "Canberra"),
    ("It is 6 km long.", "5 km"),
    ("Vitamin A.", "vitamin D"),
    ("It costs 5 euros.", "$5"),
]


@pytest.mark.parametrize(("answer", "reference"), CAPPED)
def test_denials_lists_and_other_numbers_are_at_most_unclear(bundled, answer, reference):
    score, verdict = score_one(bundled, answer, [reference], thresholds=ALWAYS)
    assert score <= CAP and verdict == UNCLEAR


ASSERTED = [
    ("Not Sydney but Canberra.", "Canberra"),
    ("Sydney or Canberra? It is Canberra.", "Canberra"),
    ("It is five kilometres long.", "5 km"),
    ("The answer is D.", "vitamin D"),
]


@pytest.mark.parametrize(("answer", "reference"), ASSERTED)
def test_assertions_are_not_capped(bundled, answer, reference):
    assert score_one(bundled, answer, [reference], thresholds=ALWAYS)[1] == LIKELY_CORRECT


def comparison(run, text, veto="", recall="", copy=False):
    reference = run.prepare_reference(text)
    overlap = compare(answer_tokens(recall or text), reference.tokens)
    return Comparison(reference, overlap, 0.9, (), veto=veto, copy=copy)


def test_a_veto_holds_for_references_that_contain_or_are_contained(tiny):
    run, veto = tiny.prepare(), "the answer denies it"
    denied = comparison(run, "Rome", veto)
    for text, caught in (
        ("Rome in Italy", True),
        ("the Rome", True),
        ("Italy", False),
        ("Milan", False),
    ):
        best = run.best_comparison([denied, comparison(run, text)])
        assert bool(best.veto) == caught, text
        best = run.best_comparison([replace(denied, veto=""), comparison(run, text, veto)])
        assert bool(best.veto) == caught, text
    # The tokens are counted: "Duran" is contained in "Duran Duran", but not the other way round.
    twice = comparison(run, "Duran Duran", veto)
    assert run.best_comparison([twice, comparison(run, "Duran")]).veto
    assert not run.best_comparison([twice, comparison(run, "Rome", copy=True)]).veto


def test_a_copy_of_one_reference_is_not_vetoed(bundled):
    answer = "Not Rome"
    assert score_one(bundled, answer, ["Rome", "not Rome"]) == (1, LIKELY_CORRECT)


# Long texts

sentences = st.lists(st.sampled_from([f"{x[:-1]}." for x in SENTENCES]), min_size=1, max_size=9)


@given(sentences, st.sampled_from(SENTENCES), st.integers(24, 40))
@settings(max_examples=60)
def test_windows_cover_every_statement_and_fit_into_the_limit(tiny, texts, hypothesis, limit):
    run = tiny.prepare(tiny.settings.replace(max_length=limit))
    answer = run.prepare_answer(" ".join(texts))
    tokens = run.tokens([*answer.texts, hypothesis])
    windows = run._premises(answer, hypothesis, tokens)
    assert split_statements(" ".join(windows)) == list(answer.statements)
    sizes = run.tokens(windows)
    longest = max(len(tokens[text]) for text in answer.statements)
    room = limit - run.overhead - len(tokens[hypothesis])
    assert all(len(sizes[window]) <= max(room, longest) for window in windows)


def test_the_end_of_a_long_answer_counts(bundled):
    filler = " ".join(f"In {year}, the club played in the second division." for year in range(60))
    filler = filler.replace("In ", "In 19")
    answers = [f"{filler} Its home was Anfield.", f"Its home was Anfield. {filler}", filler]
    result = bundled.score(answers, ["Its home was Anfield"] * 3, max_length=128)
    at_end, at_start, absent = result["scores"]
    assert min(at_end, at_start) > absent + 0.3
    assert at_end == pytest.approx(at_start, abs=0.2)
    assert "too_long_pairs" not in result["warnings"]


def test_an_nli_model_that_reads_another_number_counts_as_neutral(bundled):
    explanation = bundled.explain("There are 1,000 seats in the hall.", "1000")
    assert explanation.complete[0].probabilities[2] > 0.5
    assert explanation.score == pytest.approx(0.75)


def test_a_truncated_statement_is_reported_and_gets_no_verdict(bundled):
    endless = "it was cold and " * 30 + "it rained"
    answers = [f"It was Paris. {endless}.", f"It was Paris. {'It was cold. ' * 40}", "Paris"]
    options = {"max_length": 64}
    result = bundled.score(answers, ["Paris"] * 3, thresholds=ALWAYS, **options)
    assert result["verdicts"][0] is None and None not in result["verdicts"][1:]
    assert result["warnings"]["too_long_pairs"] == 1
    with pytest.raises(InputError, match="tokens together, more than max_length=64"):
        bundled.score(answers, ["Paris"] * 3, long_text="error", **options)


def test_thinking_does_not_count_towards_the_limit(tiny):
    thought = f"<think>{'it was cold and ' * 30}</think>The cat sat."
    result = tiny.score([thought], ["the cat"], long_text="error")
    assert result["scores"] == pytest.approx(tiny.score(["The cat sat."], ["the cat"])["scores"])


# Verdicts

CODE = "def f(x): return [x + 1 for x in range(10)]; print(f(3)); import os, sys"
FRENCH = "Ceci est une phrase que nous avons dans la ville est Paris"
PARIS = "The capital of France is Paris."


def test_verdicts_need_the_bundled_model_in_float32_or_thresholds(tiny, bundled):
    assert score_one(tiny, PARIS, ["Paris"])[1] is None
    assert score_one(tiny, PARIS, ["Paris"], thresholds=ALWAYS)[1] == LIKELY_CORRECT
    assert score_one(bundled, PARIS, ["Paris"])[1] == LIKELY_CORRECT
    for change in ({"dtype": "bfloat16"}, {"max_length": 64}, {"strip_thinking": False}):
        assert score_one(bundled, PARIS, ["Paris"], **change)[1] is None
        assert score_one(bundled, PARIS, ["Paris"], **change, thresholds=ALWAYS)[1]
    for harmless in ({"batch_size": 1}, {"score": "completeness"}, {"reuse_memory": 0}):
        assert score_one(bundled, PARIS, ["Paris"], **harmless)[1] == LIKELY_CORRECT


def test_thresholds_decide_the_verdict(tiny):
    score, _ = score_one(tiny, "The cat sat.", ["the dog"])
    expected = {(0, score): LIKELY_CORRECT, (0, score + 0.01): UNCLEAR, (score, 1): UNCLEAR}
    expected[score + 0.01, 1] = LIKELY_WRONG
    for thresholds, word in expected.items():
        assert score_one(tiny, "The cat sat.", ["the dog"], thresholds=thresholds)[1] == word


def test_a_verdict_is_withheld_for_texts_out_of_domain_alone(bundled):
    result = bundled.score([PARIS, CODE, PARIS, ""], ["Paris", "Paris", FRENCH, CODE])
    assert result["verdicts"] == [LIKELY_CORRECT, None, None, LIKELY_WRONG]


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        (FRENCH, FRENCH),
        ("The song was composed by Wolodymyr Ołeksandrowycz Szczepański.",
         "Wolodymyr Ołeksandrowycz Szczepański"),
    ],
)  # fmt: skip
def test_copies_and_rare_names_in_english_answers_get_a_verdict(bundled, answer, reference):
    assert score_one(bundled, answer, [reference])[1] == LIKELY_CORRECT


@pytest.mark.parametrize(
    ("answer", "reference", "is_foreign"),
    [
        ("Vitamin C (ascorbic acid)", "vitamin C", False),
        ("Mitochondria produce ATP.", "mitochondria", False),
        ("def capital(x): return {'Paris': 1}[x]", "Paris", True),
    ],
)
def test_an_answer_is_foreign_with_and_without_the_reference(
    bundled, answer, reference, is_foreign
):
    result = bundled.score([answer], [reference])
    assert (result["verdicts"] == [None]) is is_foreign
    assert ("out_of_domain" in result["warnings"]) is is_foreign


def test_a_foreign_sentence_with_an_english_name_gets_no_verdict(bundled):
    answer = "La capitale de la France est une ville que nous appelons Paris."
    assert score_one(bundled, answer, ["Paris"])[1] is None


def test_a_word_that_is_written_over_two_statements_is_scored(bundled):
    assert score_one(bundled, "Wonder\nWoman flies.", ["Wonderwoman"])[0] > 0


def test_hostile_texts_are_scored(bundled):
    texts = ["\u202eParis\u200b\u2066 \U0001f600", "(" * 500 + "Paris" + ")" * 500, "\u0301" * 99]
    assert len(bundled.score(texts, ["Paris"] * 3)["verdicts"]) == 3


def test_an_alias_out_of_domain_does_not_withhold_the_verdict(bundled):
    assert score_one(bundled, PARIS, ["Paris", FRENCH])[1] == LIKELY_CORRECT


def test_verdicts_are_counted(bundled):
    result = bundled.score([PARIS, CODE, ""], ["Paris"] * 3)
    counts = {k: n for k, n in result.counts.items() if k.startswith("verdict: ")}
    assert counts == {f"verdict: {word}": 1 for word in (LIKELY_CORRECT, LIKELY_WRONG, None)}


def test_verdicts_on_the_table_of_sentences_meet_the_goals(bundled):
    rows = list(csv.DictReader(TABLE, delimiter="\t", quoting=csv.QUOTE_NONE))
    answers = [row["answer"].replace("⏎", "\n") for row in rows]
    groups = [row["references"].split(" ¦ ") for row in rows]
    verdicts = bundled.score(answers, groups)["verdicts"]
    counts = Counter((row["label"], word) for row, word in zip(rows, verdicts, strict=True))
    totals = Counter(row["label"] for row in rows)
    assert counts["wrong", LIKELY_CORRECT] <= 0.12 * totals["wrong"]
    assert counts["right", LIKELY_CORRECT] >= 0.7 * totals["right"]
    assert counts["right", LIKELY_WRONG] <= 0.05 * totals["right"]


# Unsuitable models and arguments


@pytest.mark.parametrize("baseline", [True, "baseline.json"])
def test_rescaling_is_rejected(tiny, baseline, no_model):
    with pytest.raises((InputError, OSError), match="baseline"):
        tiny.score(["a"], ["b"], rescale_with_baseline=baseline)


def test_models_with_two_labels_are_rejected(tiny_nli, no_model):
    folder = tiny_nli(labels=("not_entailment", "entailment"))
    with pytest.raises(InputError, match="three labels"):
        AnswerCheckScorer(model_name_or_path=folder).score(["a"], ["b"])


# Explanations


def test_an_explanation_contains_the_score_and_its_parts(bundled):
    answer = "<think>Buzz?</think>It was **Neil Armstrong**, in 1969."
    explanation = bundled.explain(answer, "Commander Neil Armstrong")
    assert explanation.answer == "It was Neil Armstrong, in 1969."
    assert (explanation.matched, explanation.missing) == (("Neil", "Armstrong"), ("Commander",))
    score, verdict = score_one(bundled, answer, ["Commander Neil Armstrong"])
    assert (explanation.score, explanation.verdict) == (pytest.approx(score), verdict)
    (statement,) = explanation.complete
    assert statement.text == "Commander Neil Armstrong" and not explanation.correct
    assert sum(statement.probabilities) == pytest.approx(1)
    lines = "\n".join(explanation.lines())
    for text in (f"verdict: {verdict}", explanation.reason, "missing tokens: Commander", "e 0."):
        assert text in lines


REASONS = [
    ("Paris", "Paris", "equals the reference"),
    ("It isn't Rome.", "Rome", "denies or doubts"),
    ("The lake contains zero salt.", "salt", "'The lake contains zero salt.' contradicts the"),
    ("Rome, Milan, Turin or Bari.", "Rome", "several candidates"),
    ("It is 6 km.", "5 km", "lacks '5'"),
    ("", "Paris", "is empty"),
    (PARIS, "Paris", "100% of the reference's tokens"),
]


@pytest.mark.parametrize(("answer", "reference", "reason"), REASONS)
def test_the_reason_of_a_verdict_is_one_sentence(bundled, answer, reference, reason):
    text = bundled.explain(answer, reference).reason
    assert reason in text and not text[0].islower() and text.endswith(".")


def test_the_explanation_of_a_long_answer_names_the_statement_that_fails(bundled):
    reference = "Water boils at 100 degrees. Ice melts at zero degrees. Steam is a gas."
    answer = "Water boils at 100 degrees. Ice melts at zero degrees. Cats eat fish every day."
    explanation = bundled.explain(answer, reference)
    assert "Cats eat fish every day." in explanation.reason or "Steam" in explanation.reason
    texts = [statement.text for statement in explanation.complete + explanation.correct]
    assert texts == split_statements(reference) + split_statements(answer)


def test_an_explanation_without_a_verdict_says_so(tiny):
    explanation = tiny.explain("The cat sat.", "the dog")
    assert explanation.verdict is None and "verdict: none" in "\n".join(explanation.lines())


@pytest.mark.parametrize("texts", [(None, "a"), ("a", ["b"]), ("a", 5)])
def test_explanations_need_two_texts(tiny, texts, no_model):
    with pytest.raises(InputError):
        tiny.explain(*texts)
