"""AnswerCheckScorer: references, windows, verdicts and their reasons, explanations."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infolm_metric import AnswerCheckScorer, InputError
from infolm_metric.answer_check.final_answer import plain_text
from infolm_metric.answer_check.verdict import CAP, LIKELY_CORRECT, LIKELY_WRONG, UNCLEAR, VERDICTS
from infolm_metric.models.nli import NLIModel
from tests.model_families import SENTENCES

pytestmark = pytest.mark.filterwarnings("ignore:infolm")

ALWAYS = (0.0, 0.0)  # thresholds with which an answer without a veto is likely correct
LONG = "The cat sat on the mat. It was cold in the garden. Rain fell."
PARIS = "The capital of France is Paris."
FRENCH = "Ceci est une phrase que nous avons dans la ville est Paris"


@pytest.fixture(scope="module")
def tiny(tiny_nli):
    """Scorer with a tiny NLI model with random weights."""
    return AnswerCheckScorer(model_name_or_path=tiny_nli())


@pytest.fixture(scope="module")
def bundled():
    return AnswerCheckScorer()


def score_one(scorer, answer, references, **options):
    """Return the score and the verdict of one answer."""
    result = scorer.score([answer], [references], **options)
    return result["scores"][0], result["verdicts"][0]


def test_the_scores_differ_for_long_references_only(tiny):
    names = ["answer_check", "completeness", "correctness"]
    scores = tiny.score(["The cat sat.", "A dog.", ""], ["the dog"] * 3, score=names).scores
    assert scores["answer_check"] == scores["completeness"] == scores["correctness"]
    scores = tiny.score(["The cat sat."], [LONG], score=names).scores
    assert len({column[0] for column in scores.values()}) == 3
    assert tiny.bounds(tiny.settings, "correctness") == (0.0, 1.0)


def test_the_best_reference_counts(tiny):
    answers, groups = ["The cat sat.", "A dog ran."], [["a mat", "the cat"], [LONG, "the rain"]]
    scores = tiny.score(answers, groups)["scores"]
    for answer, group, score in zip(answers, groups, scores, strict=True):
        alone = tiny.score([answer] * 2, group)["scores"]
        assert score == pytest.approx(max(alone), abs=1e-6)


def test_verdicts_are_described_by_number(bundled):
    for answers, line in (
        (["Rome"], "verdict: likely correct"),
        (["Rome"] * 2, "verdicts: 2 like"),
    ):
        counts = bundled.score(answers, ["Rome"] * len(answers)).counts
        (described,) = bundled.describe_verdicts(counts)
        assert described.startswith(line)


EMPTY = ["", " \n", "<think>It is Paris.</think>", "<think>It is Paris.", "```\n```"]


@pytest.mark.parametrize("answer", EMPTY)
@pytest.mark.parametrize("reference", ["Paris", LONG])
def test_an_empty_answer_is_likely_wrong(bundled, answer, reference):
    assert score_one(bundled, answer, [reference]) == (0, LIKELY_WRONG)
    assert bundled.explain(answer, reference).reason == "The answer is empty."


COPIES = [
    ("Paris", "Paris"),
    ("**Paris**", "paris."),
    ("<think>Lyon?</think>Paris", "Paris"),
    ("Beyonce\u0301", "Beyonc\u00e9"),
    ("+", "+"),
    ("Rome or Oslo", "Rome or Oslo"),  # a choice, but a copy
    ("東京", "東京"),
    (FRENCH, FRENCH),
]


@pytest.mark.parametrize(("answer", "reference"), COPIES)
def test_copies_score_1_without_the_model(tiny, answer, reference, monkeypatch):
    monkeypatch.setattr(NLIModel, "probabilities", None)
    names = ["answer_check", "completeness", "correctness"]
    result = tiny.score([answer], [reference], score=names, reuse_memory=0, thresholds=(1, 1))
    assert [column[0] for column in result.scores.values()] == [1, 1, 1]
    assert result["verdicts"] == [LIKELY_CORRECT]


THOUGHTS = ["<think>A dog?</think>{}", "A dog?</thinking>\n{}", "Hm. <answer>{}</answer>"]


@pytest.mark.parametrize("thought", THOUGHTS)
def test_thinking_is_not_scored_unless_requested(tiny, thought):
    plain, whole = "The cat sat.", thought.format("The cat sat.")
    result = tiny.score([plain, whole], ["the dog"] * 2)
    assert result["scores"][0] == pytest.approx(result["scores"][1])
    assert "thinking" not in result["warnings"]
    kept = tiny.score([plain, whole], ["the dog"] * 2, strip_thinking=False)["scores"]
    assert kept[0] == pytest.approx(result["scores"][0]) and kept[1] != pytest.approx(kept[0])


def test_markdown_is_neither_scored_nor_out_of_domain(bundled):
    answer = "# Answer\n\n- The capital is **Paris**.\n- `Paris` is also the largest city."
    result = bundled.score([answer], ["Paris"])
    assert result["verdicts"] == [LIKELY_CORRECT] and not result["warnings"]


ACCEPTED = [
    ("The property, plant and equipment is $12,645 million.", "12645"),
    ("I am not sure, but I think it is Canberra.", "Canberra"),
    ("We need five.\nAnswer: 5 km", "5 km"),
]


@pytest.mark.parametrize(("answer", "reference"), ACCEPTED)
def test_values_and_hedged_answers_are_accepted(bundled, answer, reference):
    assert score_one(bundled, answer, [reference])[1] == LIKELY_CORRECT


REJECTED = [
    ("We need 15 kg.\nAnswer: 12 kg", ["15 kg"]),
    ("It is 5 miles away.", ["5 km"]),
    ("Louis Armstrong", ["Neil Armstrong", "Armstrong"]),
    ("The 5 kg bag costs 3 dollars.", ["3 kg"]),
    ("I do not know.", ["Canberra"]),
]


@pytest.mark.parametrize(("answer", "references"), REJECTED)
def test_denials_other_values_and_names_are_not_likely_correct(bundled, answer, references):
    assert score_one(bundled, answer, references)[1] != LIKELY_CORRECT


def test_a_veto_caps_the_score_whatever_the_thresholds(bundled):
    score, verdict = score_one(bundled, "It is 6 km long.", ["5 km"], thresholds=ALWAYS)
    assert score <= CAP and verdict == UNCLEAR


sentences = st.lists(st.sampled_from([f"{x[:-1]}." for x in SENTENCES]), min_size=1, max_size=9)


@given(sentences, st.sampled_from(SENTENCES), st.integers(24, 40))
@settings(max_examples=40)
def test_long_texts_are_divided_into_statements(tiny, texts, hypothesis, limit):
    run = tiny.prepare(tiny.settings.replace(max_length=limit))
    answer = plain_text(" ".join(texts))
    tokens = run.tokens([answer.plain, hypothesis])
    fits = len(tokens[answer.plain]) + len(tokens[hypothesis]) + run.overhead <= limit
    premises = run.premises(answer, hypothesis, tokens)
    assert premises == ([answer.plain] if fits else answer.statements)


def test_a_truncated_statement_is_reported_and_gets_no_verdict(bundled):
    endless = "it was cold and " * 30 + "it rained"
    answers = [f"It was Paris. {endless}.", f"It was Paris. {'It was cold. ' * 40}", "Paris"]
    options = {"max_length": 64}
    result = bundled.score(answers, ["Paris"] * 3, thresholds=ALWAYS, **options)
    assert result["verdicts"][0] is None and None not in result["verdicts"][1:]
    assert result.reasons == ["truncated", "", ""]
    assert result["warnings"]["too_long_pairs"] == 1
    with pytest.raises(InputError, match="tokens together, more than max_length=64"):
        bundled.score(answers, ["Paris"] * 3, long_text="error", **options)


def test_verdicts_need_the_bundled_model_in_float32_or_thresholds(tiny, bundled):
    assert score_one(tiny, PARIS, ["Paris"])[1] is None
    assert score_one(tiny, PARIS, ["Paris"], thresholds=ALWAYS)[1] == LIKELY_CORRECT
    assert score_one(bundled, PARIS, ["Paris"])[1] == LIKELY_CORRECT
    for change in ({"dtype": "bfloat16"}, {"max_length": 64}, {"strip_thinking": False}):
        assert score_one(bundled, PARIS, ["Paris"], **change)[1] is None
        assert score_one(bundled, PARIS, ["Paris"], **change, thresholds=ALWAYS)[1]
    for harmless in ({"batch_size": 1}, {"score": "completeness"}, {"reuse_memory": 0}):
        assert score_one(bundled, PARIS, ["Paris"], **harmless)[1] == LIKELY_CORRECT


IN_DOMAIN = [
    ("It was written by Chinua Achebe.", "Chimamanda Ngozi Adichie"),
    ("It was composed by Wolodymyr Ołeksandrowycz.", "Wolodymyr Ołeksandrowycz Szczepański"),
    (r"x = 3/4, so \boxed{\frac{3}{4}}", "0.75"),
    ("Bong Joon-ho (in Hangul)", "Bong Joon-ho"),
    (PARIS, LONG),
    ("7-(tert-butoxy)bicyclo[2.2.1]heptane", "norbornane"),
]


@pytest.mark.parametrize(("answer", "reference"), IN_DOMAIN)
def test_names_formulas_and_long_references_get_a_verdict(bundled, answer, reference):
    assert score_one(bundled, answer, [reference])[1] is not None


def test_a_verdict_is_withheld_for_other_languages_and_empty_references(bundled):
    foreign = "La capitale de la France est une ville que nous appelons Paris."
    result = bundled.score([PARIS, foreign, PARIS, ""], ["Paris", "Paris", " ", FRENCH])
    assert result["verdicts"] == [LIKELY_CORRECT, None, None, LIKELY_WRONG]
    assert result.reasons == ["", "out of domain", "empty reference", ""]
    assert result.all_columns()["reason"] == result.reasons
    lines = "\n".join(bundled.describe_verdicts(result.counts))
    assert "no verdict for 2" in lines and "1 out of domain" in lines


def test_every_count_and_reason_is_described(tiny):
    counts = {f"verdict: {word}": number for number, word in enumerate(VERDICTS, 2)}
    counts |= {"withheld: truncated": 7, "withheld: out of domain": 1, "texts": 99}
    line, withheld = tiny.describe_verdicts(counts)
    for number, word in enumerate(VERDICTS, 2):
        assert f"{number} {word}" in line
    for text in ("no verdict for 8", "7 truncated", "1 out of domain", "mean"):
        assert text in withheld
    (line,) = tiny.describe_verdicts({"withheld: settings": 3})
    assert "settings" in line and not any(word in line for word in VERDICTS)


def test_an_alias_out_of_domain_does_not_withhold_the_verdict(bundled):
    assert score_one(bundled, PARIS, ["Paris", FRENCH])[1] == LIKELY_CORRECT


def test_the_signature_contains_math_verify(tiny):
    assert "math_verify:" in str(tiny.signature())


def test_models_with_two_labels_are_rejected(tiny_nli, no_model):
    folder = tiny_nli(labels=("not_entailment", "entailment"))
    with pytest.raises(InputError, match="three labels"):
        AnswerCheckScorer(model_name_or_path=folder).score(["a"], ["b"])


def test_an_explanation_contains_the_score_and_its_parts(bundled):
    answer = "<think>Buzz?</think>It was **Neil Armstrong**, in 1969."
    explanation = bundled.explain(answer, "Commander Neil Armstrong")
    assert explanation.comparison.answer.plain == "It was Neil Armstrong, in 1969."
    score, verdict = score_one(bundled, answer, ["Commander Neil Armstrong"])
    assert (explanation.score, explanation.verdict) == (pytest.approx(score), verdict)
    (statement,) = explanation.comparison.complete
    assert statement.text == "Commander Neil Armstrong" and not explanation.comparison.correct
    lines = "\n".join(explanation.lines())
    for text in (f"verdict: {verdict}", explanation.reason, "not in the answer: commander", "e 0."):
        assert text in lines


REASONS = [
    ("Paris", "Paris", "equals the reference"),
    ("It isn't Rome.", "Rome", "denies"),
    ("It is 6 km.", "5 km", "value"),
    ("It is 5 km.", "5 km", "values of the reference"),
    (PARIS, "Paris", "100% of the reference's words"),
    (PARIS, LONG, "least supported"),
    (FRENCH.replace("Paris", "Rome"), "Lima", "out of domain"),
]


@pytest.mark.parametrize(("answer", "reference", "reason"), REASONS)
def test_the_reason_of_a_verdict_is_one_sentence(bundled, answer, reference, reason):
    text = bundled.explain(answer, reference).reason
    assert reason in text and not text[0].islower() and text.endswith(".")


@pytest.mark.parametrize("texts", [(None, "a"), ("a", ["b"]), ("a", 5)])
def test_explanations_need_two_texts(tiny, texts, no_model):
    with pytest.raises(InputError):
        tiny.explain(*texts)
