"""The Space: cards, settings, limits, results of every metric, and files."""

import csv
import functools
import itertools
import json
import re
import shlex
import statistics
import sys
import threading
import time
from collections import Counter

import gradio as gr
import numpy as np
import pandas as pd
import pytest

from infolm_metric import InputError
from infolm_metric.answer_check.verdict import THRESHOLDS
from infolm_metric.answer_check.verdict import VERDICTS as answer_verdicts
from infolm_metric.commands.main import main
from infolm_metric.core.baselines import Verdict
from infolm_metric.infolm.masked_lm import MaskedLM
from infolm_metric.metrics import METRICS, similarities
from infolm_metric.models.hidden_states import Encoder
from infolm_metric.models.nli import NLIModel
from infolm_metric.scoring.scorer import Run
from space.page import (
    appearance,
    bertscore_view,
    card,
    compare_tab,
    file_tab,
    limits,
    menli_view,
    scoring,
)
from space.page import settings as space_settings
from space.page.fair_lock import FairLock
from space.page.scoring import compare
from tests.project_files import ROOT
from tests.random_pairs import write_lines

pytestmark = pytest.mark.filterwarnings("ignore:infolm")
PAGE = ROOT / "space" / "page"
PAIR = ("The cat slept on the sofa.", ["A cat was asleep on the couch."])
EXAMPLES = {row["name"]: (row["candidate"], [row["reference"]]) for row in compare_tab.EXAMPLES}
PARAPHRASE = EXAMPLES["Paraphrase"]
ROW = '<button type="button" class="metric '
ATTACK = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


@functools.cache
def scorer(metric):
    """Return a scorer from the package, separate from the scorers of the Space."""
    return METRICS[metric].scorer_type()(model_name_or_path="bundled")


# Files of the Space


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_a_card_with_the_tested_gradio_version(metric):
    header = re.match(r"---\n(.*?)\n---\n", (PAGE.parent / f"cards/{metric}.md").read_text(), re.S)
    fields = dict(re.findall(r"^(\w+): (.+)$", header[1], re.MULTILINE))
    pins = (ROOT / "requirements.txt").read_text().split()
    assert (fields["sdk"], fields["app_file"]) == ("gradio", "app.py")
    assert f"gradio=={fields['sdk_version']}" in pins


def test_no_component_renders_markup_from_visitors():
    with gr.Blocks() as page:
        compare_tab.build("infolm")
        file_tab.build("infolm")
    kinds = {type(block) for block in page.blocks.values()}
    for block in page.blocks.values():
        if isinstance(block, gr.Dataframe):
            assert {*np.atleast_1d(block.datatype)} <= {"str", "number"}
    assert gr.HTML in kinds and not {gr.Chatbot, gr.Plot} & kinds


# Settings and limits


@pytest.mark.parametrize("metric", METRICS)
def test_every_offered_value_is_valid_for_the_metric(metric):
    defaults = scorer(metric).settings
    for name, control in space_settings.CONTROLS.items():
        values = [value for value, _ in control.values if value != ""] + [*control.api]
        for value in values if metric in control.metrics else ():
            options = {"alpha": 0.5, "beta": 0.5} if name == "information_measure" else {}
            checked = space_settings.check_settings(metric, {**options, name: value})
            assert checked[name] == value
        if values and "" not in dict(control.values) and name != "model_name_or_path":
            assert metric not in control.metrics or getattr(defaults, name) in values


def test_settings_of_all_metrics_reach_the_metrics_that_have_them():
    divided = space_settings.divide_settings({"idf": False, "temperature": 2.0, "task": "summary"})
    assert divided["infolm"] == {"idf": False, "temperature": 2.0}
    assert divided["bertscore"] == {"idf": False} and divided["menli"] == {"task": "summary"}
    assert divided["answer_check"] == {}
    with pytest.raises(InputError, match="unknown setting 'device'"):
        space_settings.divide_settings({"device": "cuda"})
    start = [space_settings._component(name).value for name in space_settings.SHOWN]
    for metric, values in space_settings.divide_settings(
        space_settings.read_settings(start)
    ).items():
        checked = space_settings.check_settings(metric, values)
        settings = scorer(metric).settings.replace(**checked)
        assert settings.signature_fields() == scorer(metric).settings.signature_fields()


RENYI = {"information_measure": "renyi_divergence", "alpha": -1}
INVALID = [
    (("bleu", *PAIR), "metric must be one of"),
    ((["infolm"], *PAIR), "metric must be one of"),
    (("infolm", *PAIR, "l1_distance"), "settings must be a dictionary"),
    (("infolm", *PAIR, {"device": "cuda"}), "unknown setting 'device'"),
    (("infolm", *PAIR, {"model_name_or_path": "someone/else"}), "must be one of bundled, "),
    (("baryscore", *PAIR, {"idf": "/etc/passwd"}), "must be one of"),
    (("infolm", *PAIR, {"symmetrize": ["none"]}), "must be one of"),
    (("infolm", *PAIR, {"temperature": 0.0}), "temperature must be > 0"),
    (("infolm", *PAIR, {"temperature": 101.0}), "temperature must be between"),
    (("infolm", *PAIR, {"temperature": "hot"}), "temperature must be a number"),
    (("infolm", *PAIR, {"interpolation": 1.0}), "interpolation must be between"),
    (("infolm", *PAIR, RENYI), "any number > 0"),
    (("answer_check", *PAIR, {"idf": False}), "unknown setting 'idf' for answer_check"),
    (("menli", *PAIR, {"task": "answer"}), "task must be one of summary, translation"),
    (("menli", "", ["a"]), "the candidate is empty"),
    (("menli", "a", ["  "]), "the reference is empty"),
    (("menli", "a", "abc"), "references must be a list"),
    (("menli", "a", [None]), "must be a string"),
    (("menli", "a\ud800", ["a"]), "surrogate"),
    (("menli", "x" * 3_001, ["a"]), "the candidate in the input has 3,001 characters"),
    (("menli", "a", ["x" * 3_001]), "the reference in the input has 3,001 characters"),
    (("menli", "a", ["a", "x" * 3_001]), "the reference 2 in the input has 3,001 characters"),
    (("infolm", "a " * 64, ["a"]), "the candidate has 66 tokens, but at most 64"),
    (("infolm", "a", ["b " * 60] * 3), "186 tokens together, but at most 128"),
    (("menli", "a " * 480, ["a"]), "the candidate has 482 tokens, but at most 480"),
    (("menli", "a", ["b", "c " * 480]), "the reference 2 has 482 tokens"),
    (("menli", "a", []), "at least one"),
    (("menli", "a", ["b"] * 6), "6 references, but at most 5"),
]


@pytest.mark.parametrize(("arguments", "words"), INVALID)
def test_invalid_settings_and_texts_are_rejected_with_a_reason(arguments, words):
    with pytest.raises(InputError, match=re.escape(words)):
        compare(*arguments)


# Results


SETTINGS = [
    *((metric, {}) for metric in METRICS),
    ("infolm", {"information_measure": "ab_divergence", "alpha": 0.5, "beta": 0.5}),
    ("infolm", {"temperature": 2.0, "interpolation": 0.25, "idf": False}),
    ("baryscore", {"multi_reference": "mean", "idf": False}),
    *(("menli", {"task": task}) for task in ("translation", "summary")),
]


@pytest.mark.parametrize(("metric", "options"), SETTINGS, ids=str)
def test_space_and_package_give_the_same_score(metric, options):
    for references in (PAIR[1], [*PAIR[1], "A dog ran home."]):
        answer = compare(metric, PAIR[0], references, options)
        expected = scorer(metric).score([PAIR[0]], [references], **options)
        assert answer.score == pytest.approx(expected[metric], abs=1e-6)
        assert answer.result["signature"] == expected["signature"]
        assert json.loads(json.dumps(answer.as_dict()))["score"] == answer.score


SHOWN_SETTINGS = [
    ("infolm", {"information_measure": "renyi_divergence", "alpha": 2.0, "beta": 7.0}),
    ("baryscore", {"idf": False}),
    ("menli", {"multi_reference": "mean", "task": "summary"}),
    ("answer_check", {}),
]


@pytest.mark.parametrize("server", ["bundled", ""])
@pytest.mark.parametrize(("metric", "options"), SHOWN_SETTINGS)
def test_displayed_code_and_command_print_the_displayed_score(
    metric, options, server, capsys, monkeypatch
):
    monkeypatch.setenv("INFOLM_MODEL", server)  # unset on the visitor's machine
    answer = compare(metric, PAIR[0], [*PAIR[1], "It's a \\ cat."], options)
    code, command, signature = card.reproduce(answer)
    assert signature == answer.result["signature"]
    monkeypatch.delenv("INFOLM_MODEL")
    exec(code, {})
    assert float(capsys.readouterr().out) == pytest.approx(answer.score, abs=1e-6)
    program, *arguments = shlex.split(command)
    assert (program, main([*arguments[:1], "--json", *arguments[1:]])) == ("infolm", 0)
    (score,) = json.loads(capsys.readouterr().out)["scores"]
    assert score == pytest.approx(answer.score, abs=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_explanation_is_for_the_closest_reference(metric):
    references = ["Rain fell all day.", *PAIR[1], "She painted the old fence green."]
    answer = compare(metric, PAIR[0], references)
    assert answer.closest == 1
    why = answer.as_dict()["why"]
    if metric == "infolm":
        assert 0 < sum(entry["share"] for entry in why["drivers"]) <= answer.score
        assert not {"the", ".", "[MASK]"} & {*why["expected_by_candidate"]}
    elif metric == "baryscore":
        assert sum(move["share"] for move in why["moves"]) == pytest.approx(answer.score, abs=1e-9)
        assert sum(move["mass"] for move in why["moves"]) <= 1 + 1e-9
    elif metric == "bertscore":
        sides = {
            side: [x for x in why["matches"] if x["of"] == side] for side in bertscore_view.SIDES
        }
        precision, recall = (
            statistics.fmean(match["similarity"] for match in side) for side in sides.values()
        )
        assert 2 * precision * recall / (precision + recall) == pytest.approx(answer.score)
    elif metric == "answer_check":
        assert {*why["matched"]} == {"cat", "on"} and "couch" in why["missing"]
        (statement,) = why["statements"]
        assert (statement["of"], statement["text"]) == ("reference", PAIR[1][0])
        classes = ("entailment", "neutral", "contradiction")
        assert sum(statement[name] for name in classes) == pytest.approx(1, abs=1e-6)
    else:
        follows = [why[name]["entailment"] for name in ("candidate_follows", "reference_follows")]
        assert sum(follows) / 2 == pytest.approx(answer.score)
        assert all(sum(verdict.values()) == pytest.approx(1, abs=1e-6) for verdict in why.values())


OPTIONS = {"information_measure": "ab_divergence", "alpha": 0.5, "beta": 0.5}


@pytest.mark.parametrize("options", [{}, {**OPTIONS, "task": "summary"}], ids=str)
def test_a_click_encodes_no_context_twice_and_reads_no_file(options, monkeypatch):
    encoded, opened = [], None

    def audit(event, arguments):  # an audit hook cannot be removed
        if event == "open" and opened is not None:
            opened.append(arguments[0])

    def record(owner, name):
        plain = getattr(owner, name)

        def recording(self, rows, *rest):
            tensors = [getattr(row, "tolist", lambda row=row: row)() for row in rows]
            if name == "states":  # groups of texts of equal length
                tensors = [text for group in tensors for text in group]
            encoded.extend((name, repr(text)) for text in tensors)
            return plain(self, rows, *rest)

        monkeypatch.setattr(owner, name, recording)

    def click(*texts):
        results = dict(scoring.compare_by_all(*texts, options))
        assert {*results} == {*METRICS}
        return results.values()

    for answer in click("The first click loads the model.", PAIR[1]):
        answer.as_dict()
    record(MaskedLM, "logits")
    record(Encoder, "states")
    record(NLIModel, "probabilities")
    sys.addaudithook(audit)
    number = f"{len(options)} options"  # not in any cache
    opened = []
    texts = f"The cat saw {number}.", [f"A cat, {number}.", f"{number} ran."]
    answers = click(*texts)
    before = len(encoded)
    assert {name for name, _ in encoded} == {"logits", "states", "probabilities"}
    assert len(encoded) == len({*encoded})
    for answer in answers:
        assert card.explanation(answer) and answer.as_dict()["why"]
    for metric, settings in space_settings.divide_settings(options).items():  # as a click on a row
        assert card.explanation(compare(metric, *texts, settings))
    files, opened = opened, None
    assert files == []
    # The explanation of answer_check is for one reference.
    assert len(encoded) == len({*encoded}) and len(encoded) == before


def test_metrics_of_a_checkpoint_share_its_model():
    for model, *others in (("baryscore", "bertscore"), ("menli", "answer_check")):
        for other in others:
            pair = [scoring.load_scorer(metric, "bundled").models for metric in (model, other)]
            assert pair[0] is pair[1]


MEETINGS = ["The meeting is on Monday.", "The meeting is on Tuesday."]
VERDICTS = [
    ("infolm", *PARAPHRASE, "Far closer than unrelated texts"),
    ("infolm", *EXAMPLES["Unrelated texts"], "About as far apart as unrelated texts"),
    ("baryscore", *EXAMPLES["Unrelated texts"], "About as far apart as unrelated texts"),
    ("bertscore", *EXAMPLES["Unrelated texts"], "About as far apart as unrelated texts"),
    ("infolm", PAIR[0], [PAIR[0]], "Same score as an identical text"),
    ("infolm", "yes", ["no"], "This score is not meaningful"),
    ("infolm", PAIR[0], [*PAIR[1], *["A dog ran."] * 4], "No verdict"),
    ("infolm", PAIR[0], [PAIR[0].lower(), ""], "Same score as an identical text"),
    ("infolm", "The meeting is on Friday.", MEETINGS, "This score is not meaningful"),
    ("baryscore", "The meeting is on Friday.", MEETINGS, "No verdict"),
    ("baryscore", *PARAPHRASE, "Far closer than unrelated texts"),
    (
        "menli",
        "A man is sleeping in a bed.",
        ["A man is asleep in a bed."],
        "Each text follows from the other",
    ),
    (
        "menli",
        "A man is sleeping.",
        ["A man is sleeping in a large bed at home."],
        "Only one text follows from the other",
    ),
    *(
        ("menli", *EXAMPLES[name], "The texts contradict each other")
        for name in EXAMPLES
        if name.startswith("Blind spot")
    ),
    *((metric, "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", ["ᚠᚢᚦ ᚨᚱᚲ"], "This score is not meaningful") for metric in METRICS),
    *(
        (metric, "asdf qwer zxcv uiop", ["lkjh gfds mnbv rewq"], "This score is not meaningful")
        for metric in METRICS
    ),
]


@pytest.mark.parametrize(("metric", "candidate", "references", "verdict"), VERDICTS)
def test_verdict_depends_on_the_baseline_and_needs_readable_texts(
    metric, candidate, references, verdict
):
    answer = compare(metric, candidate, references)
    row, why = card.card("", {metric: answer}), card.explanation(answer)
    assert answer.verdict == verdict and verdict in row and verdict in why
    tone = card.TONES.get(verdict, "none")
    assert f'class="metric {tone}" data-metric="{metric}"' in row
    higher = metric in ("bertscore", "menli", "answer_check")
    assert (appearance.HIGHER in why) == higher and (appearance.LOWER in why) != higher
    assert ("so there is no verdict" in why) == (verdict == "No verdict")


def test_every_verdict_of_a_baseline_has_a_tone():
    for word in Verdict:
        if word != Verdict.COPY:
            assert f"{word.capitalize()} unrelated texts" in card.TONES
    for word in (*answer_verdicts, *menli_view.FOLLOWS):
        assert word.capitalize() in card.TONES or word in card.TONES


CLOSE = dict.fromkeys(similarities(), "good")
APART = dict.fromkeys(similarities(), "weak")
SENTENCES = [
    ({}, {}, "not meaningful"),
    (CLOSE, {"identical": True}, "identical"),
    (
        CLOSE | {"menli": "bad", "answer_check": "weak"},
        {},
        "Close in wording, but the facts differ",
    ),
    (CLOSE | {"menli": "good", "answer_check": "weak"}, {}, "Close in wording and in meaning"),
    (CLOSE | {"menli": "part"}, {}, "one text says more"),
    (CLOSE | {"menli": "weak"}, {}, "neither text follows"),
    (CLOSE, {}, "Close in wording."),
    (APART | {"infolm": "good", "baryscore": "good", "menli": "bad"}, {}, "facts differ"),
    (APART | {"infolm": "good", "menli": "bad"}, {}, "The texts contradict each other"),
    (APART | {"menli": "bad", "answer_check": "good"}, {}, "The metrics disagree"),
    (APART | {"menli": "good"}, {}, "Different in wording, but close in meaning"),
    (APART | {"menli": "part"}, {}, "one text says more"),
    (APART | {"menli": "weak", "answer_check": "bad"}, {}, "little in common"),
    (APART | {"menli": "part", "answer_check": "good"}, {}, "the answer agrees"),
    (APART | {"menli": "weak", "answer_check": "weak"}, {"mentioned": True}, "does not clearly"),
    (APART | {"menli": "good", "answer_check": "weak"}, {"mentioned": True}, "does not clearly"),
    (CLOSE | {"menli": "good", "answer_check": "weak"}, {"mentioned": True}, "answer_check doubts"),
    (CLOSE | {"menli": "good", "answer_check": "good"}, {"mentioned": True}, "and in meaning"),
    (CLOSE | {"menli": "bad", "answer_check": "weak"}, {"mentioned": True}, "facts differ"),
    ({"answer_check": "good"}, {}, "The answer agrees"),
    ({"answer_check": "weak"}, {}, "unclear"),
    ({"answer_check": "bad"}, {}, "does not agree"),
]


@pytest.mark.parametrize(("tones", "facts", "words"), SENTENCES)
def test_sentence_about_all_verdicts_follows_fixed_rules(tones, facts, words):
    assert words in appearance.TEXTS["summary"][card.summarize(tones, **facts)]


def test_every_combination_of_tones_has_a_sentence():
    tones = ("good", "part", "weak", "bad", "")
    for combination in itertools.product(tones, repeat=len(METRICS)):
        given = {name: tone for name, tone in zip(METRICS, combination, strict=True) if tone}
        for flags in ((False, False), (False, True), (True, False)):
            assert card.summarize(given, *flags) in appearance.TEXTS["summary"]


EXPECTED_SENTENCES = {
    "Paraphrase": "Close in wording and in meaning.",
    "Blind spot: wrong number": "Close in wording, but the facts differ.",
    "Blind spot: negation": "Close in wording, but the facts differ.",
    "Same words, different order": "Close in wording and in meaning.",
    "Unrelated texts": "The texts have little in common.",
    "LLM answer": "The answer agrees with the reference.",
    "LLM answer: denial": "The answer contains the reference, but",
}


@pytest.mark.parametrize(("name", "words"), EXPECTED_SENTENCES.items())
def test_examples_get_a_telling_sentence_and_rows_appear_one_by_one(name, words):
    cards = list(compare_tab.compare_step_by_step(*EXAMPLES[name], {}))
    rows = [html.count(ROW) for html in cards]
    assert rows == [1, 2, 3, 4, 5] and cards[0].count("pending") == 4
    assert words in cards[-1] and "Reproduce" in cards[-1]
    assert all(f'data-metric="{metric}"' in cards[-1] for metric in METRICS)


def test_long_texts_are_scored_by_all_metrics_except_infolm():
    answer = " ".join(f"The river rose by {number} metres in the night." for number in range(30))
    cards = list(compare_tab.compare_step_by_step(answer, ["The river rose in the night."], {}))
    assert cards[-1].count(ROW) == 4
    assert "Not computed: the candidate has" in cards[-1]
    assert "--metric=infolm" not in cards[-1] and "--metric=menli" in cards[-1]
    with pytest.raises(InputError, match="at most 480"):
        list(compare_tab.compare_step_by_step("It rose. " * 200, ["It rose."], {}))


def test_invalid_setting_of_a_metric_leaves_the_other_rows():
    settings = {"information_measure": "renyi_divergence", "alpha": -1.0}
    *_, html = compare_tab.compare_step_by_step(PAIR[0], PAIR[1], settings)
    assert html.count(ROW) == 4 and "any number &gt; 0 except 1" in html


def test_all_metrics_are_listed_with_answers_or_errors():
    texts = ("The cat slept. " * 20, PAIR[1])
    answers = scoring.score_by_all(*texts)
    assert [answer["metric"] for answer in answers] == [*METRICS]
    assert "at most 64" in answers[0]["error"]
    for answer in answers[1:]:
        assert answer == compare(answer["metric"], *texts).as_dict()


@pytest.mark.parametrize("options", [{}, {"temperature": 2.0, "idf": False, "task": "summary"}])
def test_command_of_the_card_prints_all_scores(options, capsys):
    answers = dict(scoring.compare_by_all(PAIR[0], [*PAIR[1], "It's a \\ cat."], options))
    _, _, *arguments = shlex.split(card.command_of(answers.values()))
    assert main(["score", "--json", *arguments]) == 0
    result = json.loads(capsys.readouterr().out)["metrics"]
    assert [*result] == [*METRICS]
    for metric, answer in answers.items():
        (score,) = result[metric]["scores"]
        assert score == pytest.approx(answer.score, abs=1e-6)
        assert result[metric]["signature"] == answer.result["signature"]


ANSWERS = [
    ("She was born in **Vienna**, Austria.", ["Vienna"], "likely correct", "entails"),
    ("She was born in Paris.", ["Vienna"], "likely wrong", "0%"),
    ("Vienna", ["Vienna"], "likely correct", "equals"),
    ("<think>Vienna? No", ["Vienna"], "likely wrong", "empty"),
    ("It is not Vienna. It is Bonn.", ["Vienna", "Vienna, Austria"], "unclear", "denies"),
    ("It is not New York. It is Boston.", ["New York", "York"], "unclear", "denies"),
    ("asdf qwer zxcv uiop", ["lkjh gfds mnbv rewq"], None, ""),
]


@pytest.mark.parametrize(("candidate", "references", "verdict", "reason"), ANSWERS)
def test_answers_get_the_verdict_of_the_package_and_its_reason(
    candidate, references, verdict, reason
):
    answer = compare("answer_check", candidate, references)
    row, why = card.card("", {"answer_check": answer}), card.explanation(answer)
    response = answer.as_dict()
    assert response["verdict"] == verdict
    assert [verdict] == scorer("answer_check").score([candidate], [references]).verdicts
    assert (verdict or "not meaningful") in row.lower() and "unrelated texts" not in row
    assert verdict is None or reason in why and reason in response["why"]["reason"]
    assert response["unrelated"] is None


def test_examples_of_answers_are_accepted_and_denied():
    verdicts = {
        name: compare("answer_check", *EXAMPLES[name]).as_dict()["verdict"]
        for name in ("LLM answer", "LLM answer: denial")
    }
    assert verdicts["LLM answer"] == "likely correct"
    assert verdicts["LLM answer: denial"] in ("unclear", "likely wrong")


def test_marker_and_bands_are_on_a_scale_from_worse_to_better():
    def places(metric, texts, **options):
        row = card.card("", {metric: compare(metric, *texts, options)})
        (at,) = re.findall(r'marker" style="left:([\d.]+)%', row)
        bands = re.findall(r'band" style="left:([\d.]+)%;width:([\d.]+)%', row)
        return float(at), *((float(x), float(x) + float(width)) for x, width in bands)

    for metric in ("infolm", "baryscore", "bertscore"):
        assert places(metric, (PAIR[0], [PAIR[0]]))[0] == pytest.approx(100, abs=0.01)
        at, (_, stop) = places(metric, PARAPHRASE)
        assert stop < at < 100
        at, (start, stop) = places(metric, EXAMPLES["Unrelated texts"])
        assert start <= at <= stop
    at, band = places("answer_check", EXAMPLES["LLM answer"])
    assert band == pytest.approx([100 * x for x in THRESHOLDS], abs=0.1) and at > band[1]
    answer = compare("menli", *EXAMPLES["Blind spot: negation"], {"task": "summary"})
    (at,) = places("menli", EXAMPLES["Blind spot: negation"], task="summary")  # no baseline
    assert answer.score < 0 and at == pytest.approx(50 * (answer.score + 1), abs=0.01)


def test_examples_show_the_described_behaviour():
    pairs = {name: texts for name, texts in EXAMPLES.items() if not name.startswith("LLM")}
    scores = {name: compare("infolm", *texts).score for name, texts in pairs.items()}
    assert max(scores, key=scores.get) == "Unrelated texts"
    low = [name for name in scores if name.startswith(("Blind spot", "Same words"))]
    worst = max(scores[name] for name in low)
    assert 0 < worst < scores["Paraphrase"]
    swapped = EXAMPLES["Same words, different order"]
    assert compare("menli", *swapped).verdict == "Each text follows from the other"
    candidate, (reference,) = PARAPHRASE
    assert {*candidate.split()} & {*reference.split()} == {"on", "the"}


@pytest.mark.parametrize("metric", METRICS)
def test_explanation_names_the_explained_one_of_several_references(metric):
    answer = compare(metric, PAIR[0], ["Rain fell all day.", *PAIR[1]])
    assert f"number 2: “{PAIR[1][0]}”" in card.explanation(answer)
    assert "explained reference" not in card.explanation(compare(metric, *PAIR))


@pytest.mark.parametrize("metric", METRICS)
def test_card_and_explanation_contain_no_markup_or_templates_of_the_visitor(metric):
    for candidate, reference in ((ATTACK, ATTACK + "cat"), (f"It is not <b>{ATTACK}</b>.", ATTACK)):
        answer = compare(metric, f"{candidate} ${{1 + 1}} {{{{value}}}}", [reference])
        html = card.card("", {metric: answer}, kind="done") + card.explanation(answer)
        assert not re.search("<(script|img)|<b>It|<b>&lt;", html)
        assert "{" not in html and "$" not in html
    for message in (ATTACK, "${1} {{value}}"):
        html = card.card(message, {"infolm": InputError(message)}, kind="refused")
        assert "<script" not in html and "{" not in html and "$" not in html


# Uploaded files


def read_download(result):
    """Return the rows of the download, which only the last step has, and only until the next."""
    if not result:
        return []
    with open(result["download"], encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


FILE_SETTINGS = [
    ("infolm", {"information_measure": "renyi_divergence", "alpha": 2.0}),
    ("infolm", {"idf": False}),
    ("baryscore", {}),
    ("menli", {"multi_reference": "mean"}),
    ("answer_check", {}),
]


@pytest.mark.parametrize(("metric", "options"), FILE_SETTINGS)
def test_file_scored_in_parts_gets_the_scores_of_one_call(metric, options, tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "PART_WORK", 1)
    texts = ["A cat slept.", "It rained all day.", "", "The sofa was red."]
    rows = [{"prediction": text, "references": [PAIR[0], text + " Yes."]} for text in texts]
    path = write_lines(tmp_path / "pairs.jsonl", rows)
    shares, results = [], file_tab.iter_scores(str(path), metric, None, None, options)
    for share, result in results:
        shares.append(share)
        table = read_download(result)
    assert shares == [0.25, 0.5, 0.75, 1.0, 1.0]
    expected = scorer(metric).score(texts, [row["references"] for row in rows], **options)
    assert result["scores"] == pytest.approx(expected["scores"], abs=3e-6, rel=3e-6)
    assert result["mean"] == pytest.approx(expected[metric], abs=3e-6, rel=3e-6)
    assert result["signature"] == expected["signature"]
    settings = scorer(metric).settings.replace(**options)
    column = settings.column(*settings.names)
    assert [float(row[column]) for row in table] == result["scores"]
    assert result.get("verdicts", ()) == expected.as_dict().get("verdicts", ())
    # A missing verdict is an empty cell.
    written = [row.get("verdict") or None for row in table]
    assert written == (result.get("verdicts") or [None] * 4)
    assert [row["prediction"] for row in table] == texts
    assert [json.loads(row["references"]) for row in table] == [row["references"] for row in rows]


def test_file_from_a_template_gets_no_verdict_and_blank_cells_are_left_out(tmp_path):
    prices = [f"The price is {number} dollars." for number in ("two", "five", "six", "ten")]
    rows = [
        {"prediction": text, "references": [reference, " "]}
        for text, reference in zip(prices, [*prices[1:], prices[0]], strict=True)
    ]
    path = write_lines(tmp_path / "prices.jsonl", rows)
    for options, words in ((None, "No verdict, because of"), ({"idf": False}, "Unrelated texts")):
        *_, (_, result) = file_tab.iter_scores(str(path), "infolm", None, None, options)
        summary = " ".join(file_tab.summarize(result))
        assert words in summary and ("No verdict" in summary) == (options is None)
        assert "4 blank references left out" in summary
        cells = [json.loads(cell) for cell in result["table"]["references"]]
        assert cells == [row["references"] for row in rows]


def test_file_of_scores_preserves_carriage_returns(tmp_path):
    rows = [{"prediction": "A cat\rsat.", "reference": "A\rcat."}]
    path = write_lines(tmp_path / "a.jsonl", rows)
    for _, result in file_tab.iter_scores(str(path), "baryscore", None, None, None):
        if result:
            table = pd.read_csv(result["download"])
    assert table[["prediction", "reference"]].to_numpy().tolist() == [["A cat\rsat.", "A\rcat."]]


def test_download_keeps_the_columns_of_the_visitor(tmp_path):
    row = {
        "id": "007",
        "answer_check": 5,
        "answer": "It is Rome.",
        "gold": ["Rome", "Roma"],
        "note": None,
    }
    path = write_lines(tmp_path / "a.jsonl", [row, {"id": 8, "answer": "x y", "gold": "Rome"}])
    steps = file_tab.iter_scores(str(path), "answer_check", "answer", ["gold"], None)
    result, (first, second) = next((r, read_download(r)) for _, r in steps if r)
    scores = result["scores"]
    assert list(first) == ["row", "new_answer_check", "verdict", *row]
    assert [float(each["new_answer_check"]) for each in (first, second)] == scores
    assert [each["verdict"] for each in (first, second)] == result["verdicts"]
    assert first == first | {
        "id": "007",
        "answer_check": "5",
        "gold": '["Rome", "Roma"]',
        "note": "",
    }
    assert second == second | {"id": "8", "answer_check": "", "gold": "Rome"}


def test_summary_and_table_of_a_file_show_each_verdict(tmp_path):
    answers = ["It was Rome.", "Paris", "It is not Rome.", "qwer zxcv uiop asdf"]
    rows = [{"prediction": text, "reference": "Rome"} for text in answers]
    path = write_lines(tmp_path / "a.jsonl", rows)
    *_, (_, result) = file_tab.iter_scores(str(path), "answer_check", None, None, None)
    html = file_tab.show(result)
    counts = Counter(word or "without a verdict" for word in result["verdicts"])
    assert counts["without a verdict"] == 1
    assert all(f"{number} {word}" in html for word, number in counts.items())
    rows = re.findall(r"<tr><td[^>]*>(\d+)</td><td[^>]*>[\d.]+</td><td[^>]*>([\w ]*)</td>", html)
    assert {int(row): verdict or None for row, verdict in rows} == dict(
        enumerate(result["verdicts"], 1)
    )
    *_, (_, result) = file_tab.iter_scores(str(path), "menli", None, None, None)
    html = file_tab.show(result)
    assert "Verdicts" not in html and ">verdict<" not in html


def test_histogram_of_a_file_ends_at_the_bound_of_the_scores(tmp_path):
    texts = [PAIR[0], "A cat was asleep on a couch.", "It rained all day."]
    rows = [{"prediction": text, "reference": PAIR[0]} for text in texts]
    path = write_lines(tmp_path / "a.jsonl", rows)
    for metric, bound in (("answer_check", 1.0), ("bertscore", 1.0), ("infolm", 0.0)):
        *_, (_, result) = file_tab.iter_scores(str(path), metric, None, None, None)
        bins = re.findall(r'row">(\S+) to (\S+)</th>.*?([\d.]+)%</td>', file_tab.show(result))
        edges = [float(edge) for low, high, _ in bins for edge in (low, high)]
        assert bound == pytest.approx(max(edges) if bound else min(edges), abs=1e-9)
        assert sum(float(percent) for *_, percent in bins) == pytest.approx(100, abs=0.2)
        assert min(edges) <= min(result["scores"]) and max(result["scores"]) <= max(edges) + 1e-6


def test_weakest_matches_of_bertscore_have_the_most_color():
    html = compare("bertscore", *EXAMPLES["Blind spot: wrong number"]).view[1]
    colors = dict(reversed(pair) for pair in re.findall(r'token level-(\d)">(\w+)<', html))
    assert {token for token, level in colors.items() if level == "4"} == {"900", "300"}
    assert colors["company"] == "0"
    html = compare("bertscore", PAIR[0], [PAIR[0]]).view[1]
    assert {*re.findall(r"token level-(\d)", html)} == {"0"}


def test_table_of_a_file_shows_the_worst_pairs_first_and_escapes_its_columns(tmp_path):
    rows = [
        {"prediction": text, "reference": PAIR[0], "<b>id</b>": ATTACK}
        for text in (PAIR[0], "It rained all day.", "A cat slept on the sofa.")
    ]
    path = write_lines(tmp_path / "a.jsonl", rows)
    for metric in ("baryscore", "bertscore"):
        *_, (_, result) = file_tab.iter_scores(str(path), metric, None, None, None)
        html = file_tab.show(result)
        assert re.findall(r"<tr><td[^>]*>(\d)</td>", html) == ["2", "3", "1"]
        assert "&lt;b&gt;id&lt;/b&gt;" in html and not re.search("<(script|img|b>id)", html)


def test_messages_show_names_unchanged():
    for message in ("x13.csv, line 2: not valid CSV", "idf must be one of True"):
        assert message in appearance.notice(message)
        assert str(scoring.refusal(InputError(message)).message) == message


def test_file_cells_can_contain_lists_and_columns_are_detected_by_name(tmp_path):
    (tmp_path / "a.csv").write_text("hypothesis,references\na,\"['b', 'c']\"\n")
    path = str(tmp_path / "a.csv")
    columns = ["hypothesis", "references"]
    assert file_tab.find_columns(path) == (columns, "hypothesis", ["references"])
    assert file_tab.read_pairs(path, None, [])[1].references == [["b", "c"]]


INVALID_FILES = [
    ("a.txt", "a\n", "must end in"),
    ("a.csv.gz", "a\n", "must end in"),
    ("a.csv", "", "The file has no rows"),
    ("a.csv", "prediction,reference\n", "The file has no rows"),
    ("a.csv", 'prediction,reference\n"x,y\n', "a.csv, line 2: not valid CSV"),
    ("a.jsonl", '{"prediction": 1, "reference": "a"}\n', "'prediction' must be a string"),
    ("a.jsonl", json.dumps({"prediction": "a", "reference": ["b"] * 6}), "6 references"),
    ("a.csv", "prediction,other\na,b\n", "cannot identify the reference column"),
    ("a.csv", "prediction,output,target\na,b,c\n", "cannot identify the candidate column"),
    ("a.csv", "output,reference,target\na,b,c\n", "cannot identify the reference column"),
    ("a.csv", "prediction,reference\n" + "a,b\n" * 501, "501 rows or more, but at most 500"),
    ("a.csv", "prediction,reference\na," + "b " * 1600 + "\n", "row 1 has 3,200 characters"),
    ("a.csv", "prediction,reference\na," + "b " * 200 + "\n", "row 1 has 202 tokens"),
    ("a.csv", "prediction,reference\n" + ("b " * 90 + ",a\n") * 300, "% of its rows"),
]


@pytest.mark.parametrize(("name", "content", "words"), INVALID_FILES)
def test_invalid_files_are_rejected_without_revealing_their_path(name, content, words, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=re.escape(words)) as error:
        list(file_tab.iter_scores(str(tmp_path / name), "infolm", None, None, None))
    assert str(tmp_path) not in str(error.value)


@pytest.mark.parametrize("scores", [[0.5, 0.5], [0.0, 5e-324], [0.1, 0.9], [0.0], [-1.0, 12_345.0]])
def test_histogram_has_few_bars_of_round_width(scores):
    step = file_tab.round_step(min(scores), max(scores))
    assert f"{step:.0e}"[0] in "125" and float(f"{step:.0e}") == step
    assert (max(scores) - min(scores)) / step <= file_tab.BARS + 0.1


@pytest.mark.timeout(120)
def test_visitors_do_not_wait_for_each_other():
    one, other = (
        compare("baryscore", text, ["A cat sat."], {}) for text in ("A dog sat.", "Rain.")
    )
    with scoring.LOCK:  # as while another explanation is computed
        thread = threading.Thread(target=one.as_dict, daemon=True)
        thread.start()
        thread.join(0.5)
        assert other.closest == 0
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.timeout(120)
@pytest.mark.parametrize("metric", METRICS)
def test_a_pair_waits_for_at_most_two_parts_of_a_file(metric, monkeypatch, tmp_path):
    """Count the parts during which the pair waits.

    From the tenth part on, a part lasts until the pair waits or has been answered, so the count
    does not depend on the speed.
    """
    rows = [{"prediction": PAIR[0], "references": PAIR[1]}] * 40
    path, parts, waits = write_lines(tmp_path / "pairs.jsonl", rows), 0, 0
    compare(metric, *PAIR).as_dict()  # loads the model
    pair = threading.Thread(target=lambda: compare(metric, *PAIR).as_dict())
    score_part = Run.score

    def score_until_the_pair_waits(*arguments):
        nonlocal parts, waits
        if threading.current_thread() is not pair:
            parts += 1
            if parts == 10:
                pair.start()
            while pair.is_alive() and len(scoring.LOCK._queue) == 1:
                time.sleep(1e-3)
            waits += len(scoring.LOCK._queue) > 1
        return score_part(*arguments)

    monkeypatch.setattr(limits, "PART_WORK", 1)
    monkeypatch.setattr(Run, "score", score_until_the_pair_waits)
    steps = list(file_tab.iter_scores(str(path), metric, None, None, None))
    pair.join(60)
    assert not pair.is_alive() and len(steps) == 40 + 1 and 1 <= waits <= 2


def test_threads_obtain_the_lock_in_the_order_of_their_requests():
    lock, order = FairLock(), []

    def visit(name):
        with lock, lock:  # reentrant
            order.append(name)

    threads = [threading.Thread(target=visit, args=[name], daemon=True) for name in range(5)]
    with pytest.raises(ZeroDivisionError), lock, lock:
        for number, thread in enumerate(threads, 1):
            thread.start()
            while len(lock._queue) <= number:
                time.sleep(1e-3)
        raise ZeroDivisionError  # which must release the lock
    visit("last")
    for thread in threads:
        thread.join(60)
    assert order == [*range(5), "last"]
