"""The Space: cards, settings, limits, results of every metric, and files."""

import csv
import functools
import itertools
import json
import re
import shlex
import sys
import threading

import gradio as gr
import numpy as np
import pytest

from infolm_metric import InputError
from infolm_metric.answer_check.verdict import THRESHOLDS
from infolm_metric.answer_check.verdict import VERDICTS as answer_verdicts
from infolm_metric.commands.main import main
from infolm_metric.core.baselines import Verdict
from infolm_metric.core.results import WARNING_KINDS
from infolm_metric.infolm.masked_lm import MaskedLM
from infolm_metric.infolm.measure_table import MEASURES
from infolm_metric.metrics import METRICS, similarities
from infolm_metric.models.hidden_states import Encoder
from infolm_metric.models.nli import NLIModel
from space.page import appearance, card, compare_tab, file_tab, reproduction, scoring
from space.page import settings as space_settings
from space.page.scoring import compare
from space.page.workers import LONG, SHORT, Worker
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


def test_demo_has_words_for_all_warnings_measures_and_metrics():
    assert {*WARNING_KINDS} < {*appearance.TEXTS["warnings"]}
    assert {*MEASURES} == {*appearance.TEXTS["measures"]}
    assert {*METRICS} <= {*appearance.TEXTS["names"]}


def test_no_component_renders_markup_from_visitors():
    with gr.Blocks() as page:
        compare_tab.build(page, "infolm")
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
    start = [space_settings._component(name, "infolm").value for name in space_settings.SHOWN]
    divided = space_settings.divide_settings(space_settings.read_settings(start))
    for metric, values in divided.items():
        checked = space_settings.check_settings(metric, values)
        settings = scorer(metric).settings.replace(**checked)
        assert settings.signature_fields() == scorer(metric).settings.signature_fields()


RENYI = {"information_measure": "renyi_divergence", "alpha": -1}
INVALID = [
    (("bleu", *PAIR), "unknown metric 'bleu'"),
    (("infolm", *PAIR, "l1_distance"), "settings must be a dictionary"),
    (("infolm", *PAIR, {"device": "cuda"}), "unknown setting of infolm: 'device'"),
    (("infolm", *PAIR, {"model_name_or_path": "someone/else"}), "must be one of bundled, "),
    (("baryscore", *PAIR, {"idf": "/etc/passwd"}), "must be one of"),
    (("infolm", *PAIR, {"temperature": 101.0}), "temperature must be between"),
    (("infolm", *PAIR, {"interpolation": 1.0}), "interpolation must be between"),
    (("infolm", *PAIR, RENYI), "any number > 0"),
    (("menli", "a", ["  "]), "the reference is empty"),
    (("menli", "a", "abc"), "references must be a list"),
    (("menli", "x" * 3_001, ["a"]), "a text in the input has 3,001 characters"),
    (("infolm", "a " * 192, ["a"]), "the candidate has 194 tokens, but at most 192"),
    (("infolm", "a", ["b " * 130] * 3), "396 tokens together, but at most 384"),
    (("menli", "a " * 480, ["a"]), "the candidate has 482 tokens, but at most 480"),
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
    ("infolm", {"temperature": 2.0, "interpolation": 0.25, "idf": "bundled"}),
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
    code, command = reproduction.python_of(answer), reproduction.command_of([answer])
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
    assert answer.closest == 1 and answer.as_dict()["explained_reference"] == 1
    if metric == "menli":
        (first, second) = answer.explain()[0]
        assert first.startswith("Does the candidate follow") and "entailment) 9" in second
    else:
        explained = scorer(metric).explain(PAIR[0], references[1], **answer.options)
        assert answer.explain()[0] == list(explained.lines())
    assert f"number 2: “{PAIR[1][0]}”" in card.explanation(answer)
    assert "explained reference" not in card.explanation(compare(metric, *PAIR))


ALL = {"alpha": 0.5, "beta": 0.5}


ALL_MEASURES = [
    (ALL, []),
    ({**ALL, "temperature": 2.0, "interpolation": 0.25, "symmetrize": "jensen"}, []),
    ({**ALL, "alpha": 1.0, "idf": "bundled"}, ["alpha_divergence", "renyi_divergence"]),
]


@pytest.mark.parametrize(("options", "invalid"), ALL_MEASURES, ids=str)
def test_table_of_all_measures_and_its_code_show_the_scores_of_the_package(
    options, invalid, capsys
):
    answer = compare("infolm", PAIR[0], [*PAIR[1], "A dog ran."], options)
    _, html = answer.explain()
    valid = [name for name in MEASURES if name not in invalid]
    settings = {**options, "information_measure": valid}
    expected = scorer("infolm").score([PAIR[0]], [[*PAIR[1], "A dog ran."]], **settings).scores
    for name in MEASURES:
        (cells,) = re.findall(rf"\({name}\)</td>(.*?)</tr>", html)
        if name in invalid:
            assert "requires alpha (any number" in cells
            continue
        value, worst = re.findall(r">([^<>]+)</td>", cells)[:2]
        assert value == appearance.number(expected[name][0])
        bound = scorer("infolm").settings.replace(**options).upper_bound(name)
        assert worst == ("∞" if bound == float("inf") else f"{bound:.4g}")
    exec(reproduction.python_of(answer, valid), {})
    printed = [eval(capsys.readouterr().out)]
    _, *arguments = shlex.split(reproduction.command_of([answer], valid))
    assert main([*arguments[:1], "--json", *arguments[1:]]) == 0
    printed.append(json.loads(capsys.readouterr().out)["scores"])
    for scores in printed:
        assert [*scores.values()] == [pytest.approx(x, abs=1e-6) for x in expected.values()]


def test_each_masked_token_is_shown_with_its_weight_and_five_words():
    answer = compare("infolm", *PARAPHRASE, {"idf": "bundled"})
    _, html = answer.explain()
    view = scorer("infolm").explain(PARAPHRASE[0], PARAPHRASE[1][0], **answer.options).candidate
    for token, weight in zip(view.tokens, view.weights.tolist(), strict=True):
        assert re.search(rf"\[{re.escape(token)}\].{{0,40}}</td><td[^>]*>{weight:.1%}<", html)
    words = re.findall(r"most probable words\">([^<]+)<", html)
    assert {text.count("%") for text in words} == {5} and len({*view.weights.tolist()}) > 3


def test_settings_change_the_scores_without_the_encoder_or_a_file(monkeypatch):
    encoded, opened = [], None

    def audit(event, arguments):  # an audit hook cannot be removed
        if event == "open" and opened is not None:
            opened.append(arguments[0])

    def record(owner, name):
        plain = getattr(owner, name)

        def recording(self, rows, *arguments):
            encoded.extend([owner] * len(rows))
            return plain(self, rows, *arguments)

        monkeypatch.setattr(owner, name, recording)

    for owner, name in ((MaskedLM, "logits"), (Encoder, "states"), (NLIModel, "probabilities")):
        record(owner, name)

    def click(**options):
        by_metric = scoring.settings_of_page(*texts, {**ALL, **options})
        answers = dict(scoring.compare_by_all(*texts, by_metric))
        assert {*answers} == {*METRICS}
        assert all(card.explanation(answer) for answer in answers.values())
        return answers["infolm"].score

    texts = "The cat saw nineteen mice.", ["A cat, nineteen mice.", "Nineteen mice ran."]
    first = click()
    assert len({*encoded}) == 3
    sys.addaudithook(audit)
    encoded.clear()
    opened = []
    changes = [{"temperature": 2.0}, {"interpolation": 0.5}, {"symmetrize": "none"}]
    changes = [{"information_measure": "kl_divergence", **each} for each in changes]
    scores = [click(**each) for each in [*changes, {"information_measure": "l1_distance"}]]
    files, opened = opened, None
    assert len({first, *scores}) == 5 and (encoded, files) == ([], [])


def test_metrics_of_a_checkpoint_share_its_model():
    for model, *others in (("baryscore", "bertscore"), ("menli", "answer_check")):
        for other in others:
            pair = [SHORT.scorer(metric, "bundled").models for metric in (model, other)]
            assert pair[0] is pair[1]


MEETINGS = ["The meeting is on Monday.", "The meeting is on Tuesday."]
BLIND_SPOTS = [texts for name, texts in EXAMPLES.items() if name.startswith("Blind spot")]
NONSENSE = "asdf qwer zxcv uiop", ["lkjh gfds mnbv rewq"]
VERDICTS = [
    ("infolm", *PARAPHRASE, "Far closer than unrelated texts"),
    ("infolm", *EXAMPLES["Unrelated texts"], "About as far apart as unrelated texts"),
    ("infolm", PAIR[0], [PAIR[0]], "Same score as an identical text"),
    ("infolm", "yes", ["no"], "This score is not meaningful"),
    ("infolm", "\U0001f600\U0001f389", ["\U0001f600\U0001f389"], "This score is not meaningful"),
    ("infolm", PAIR[0], [*PAIR[1], *["A dog ran."] * 4], "No verdict"),
    ("infolm", "The meeting is on Friday.", MEETINGS, "This score is not meaningful"),
    ("baryscore", "The meeting is on Friday.", MEETINGS, "No verdict"),
    ("menli", "A man sleeps.", ["A man sleeps in bed."], "Only one text follows from the other"),
    *(("menli", *texts, "The texts contradict each other") for texts in BLIND_SPOTS),
    *((metric, *NONSENSE, "This score is not meaningful") for metric in METRICS),
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
    for word in (*answer_verdicts, *appearance.TEXTS["follows"]):
        assert word.capitalize() in card.TONES or word in card.TONES


CLOSE = dict.fromkeys(similarities(), "good")
APART = dict.fromkeys(similarities(), "weak")
SENTENCES = [
    ({}, {}, "not meaningful"),
    ({}, {"identical": True}, "not meaningful"),
    (CLOSE, {"identical": True}, "identical"),
    (CLOSE | {"menli": "bad"}, {}, "Similar texts, but the facts differ"),
    (CLOSE | {"menli": "doubt"}, {}, "Similar texts, but they may contradict"),
    (CLOSE | {"menli": "good"}, {}, "Similar texts, with no difference in meaning found"),
    (CLOSE | {"menli": "part"}, {}, "one says more"),
    (CLOSE | {"menli": "weak"}, {}, "neither follows"),
    (CLOSE, {}, "Similar texts."),
    (APART | {"infolm": "good", "baryscore": "good", "menli": "bad"}, {}, "facts differ"),
    (APART | {"infolm": "good", "menli": "bad"}, {}, "The texts contradict each other"),
    (APART | {"menli": "doubt"}, {}, "The texts may contradict"),
    (APART | {"menli": "good"}, {}, "Different in wording, but close in meaning"),
    (APART | {"menli": "part"}, {}, "one text says more"),
    (APART | {"menli": "weak"}, {}, "little in common"),
    (APART | {"answer_check": "good"}, {"mentioned": True}, "The answer agrees"),
    (APART | {"answer_check": "weak"}, {"mentioned": True}, "does not clearly"),
    ({"answer_check": "weak"}, {}, "unclear"),
    ({"answer_check": "bad"}, {}, "does not agree"),
]


@pytest.mark.parametrize(("tones", "facts", "words"), SENTENCES)
def test_sentence_about_all_verdicts_follows_fixed_rules(tones, facts, words):
    assert words in appearance.TEXTS["summary"][card.summarize(tones, **facts)]


EXPECTED_SENTENCES = {
    "Paraphrase": "Similar texts, with no difference in meaning found.",
    "Blind spot: wrong number": "Similar texts, but the facts differ.",
    "Blind spot: negation": "Similar texts, but the facts differ.",
    "Same words, different order": "Similar texts, with no difference in meaning found",
    "Unrelated texts": "The texts have little in common.",
    "LLM answer": "The answer agrees with the reference.",
    "LLM answer: denial": "The answer contains the reference, but",
}


def last_card(*arguments, opened="infolm", keep=False):
    """Return the last card, and the metric whose explanation is shown."""
    *_, last = compare_tab.compare_step_by_step(*arguments, opened, keep)
    return last


@pytest.mark.parametrize(("name", "words"), EXPECTED_SENTENCES.items())
def test_examples_get_a_telling_sentence_and_rows_appear_one_by_one(name, words):
    steps = compare_tab.compare_step_by_step(*EXAMPLES[name], {}, "infolm", False)
    cards = [html for html, _ in steps]
    rows = [html.count(ROW) for html in cards]
    assert sorted({*rows}) == [0, 1, 2, 3, 4, 5] or sorted({*rows}) == [1, 2, 3, 4, 5]
    assert rows == sorted(rows) and words in cards[-1] and "Reproduce" in cards[-1]
    assert all(f'data-metric="{metric}"' in cards[-1] for metric in METRICS)


def test_answer_check_is_folded_unless_a_short_reference_has_a_longer_candidate():
    html, opened = last_card(*PARAPHRASE, {})
    assert '<details class="folded" >' in html and "rows dim" not in html and opened == "infolm"
    for name in ("LLM answer", "LLM answer: denial"):
        html, opened = last_card(*EXAMPLES[name], {})
        assert "folded" not in html and "rows dim" in html and opened == "answer_check"
        assert last_card(*EXAMPLES[name], {}, keep=True)[1] == "infolm"  # after a changed setting
    assert last_card(*PARAPHRASE, {}, opened="answer_check")[1] == "infolm"
    assert last_card(*PARAPHRASE, {}, opened="menli")[1] == "menli"


LONG_TEXT = " ".join(f"The river rose by {number} metres in the night." for number in range(30))


def test_very_long_texts_use_one_pass_of_infolm_which_is_labeled_as_another_metric():
    html, _ = last_card(LONG_TEXT, ["The river rose in the night."], {})
    assert html.count(ROW) == 5 and "InfoLM, one pass" in html and "masking=none" in html
    by_metric = scoring.settings_of_page(LONG_TEXT, ["The river rose in the night."], {})
    answer = compare("infolm", LONG_TEXT, ["The river rose in the night."], by_metric["infolm"])
    expected = scorer("infolm").score([LONG_TEXT], ["The river rose in the night."], masking="none")
    assert answer.score == pytest.approx(expected["infolm"], abs=1e-6)
    assert answer.verdict == "No verdict" and "another metric" in card.explanation(answer)
    with pytest.raises(InputError, match="masking='none', which computes another metric"):
        compare("infolm", LONG_TEXT, ["The river rose in the night."])
    with pytest.raises(InputError, match="at most 480"):
        last_card("It rose. " * 200, ["It rose."], {})


def test_invalid_setting_of_a_metric_leaves_the_other_rows():
    settings = {"information_measure": "renyi_divergence", "alpha": -1.0}
    html, opened = last_card(*PAIR, settings, keep=True)
    assert html.count(ROW) == 4 and "any number &gt; 0 except 1" in html and opened == "infolm"


def test_all_metrics_are_listed_with_answers_or_errors():
    texts = (LONG_TEXT, PAIR[1])
    answers = scoring.score_by_all(*texts)
    assert [answer["metric"] for answer in answers] == [*METRICS]
    assert "at most 192" in answers[0]["error"]
    for answer in answers[1:]:
        assert answer == compare(answer["metric"], *texts).as_dict()


@pytest.mark.parametrize("options", [{}, {"temperature": 2.0, "idf": False, "task": "summary"}])
def test_command_of_the_card_prints_all_scores(options, capsys):
    texts = PAIR[0], [*PAIR[1], "It's a \\ cat."]
    by_metric = scoring.settings_of_page(*texts, options)
    answers = dict(scoring.compare_by_all(*texts, by_metric))
    _, _, *arguments = shlex.split(reproduction.command_of(answers.values()))
    assert main(["score", "--json", *arguments]) == 0
    result = json.loads(capsys.readouterr().out)["metrics"]
    assert [*result] == [*METRICS]
    for metric, answer in answers.items():
        (score,) = result[metric]["scores"]
        assert score == pytest.approx(answer.score, abs=1e-6)
        assert result[metric]["signature"] == answer.result["signature"]


ANSWERS = [
    ("She was born in **Vienna**, Austria.", ["Vienna"], "likely correct", "Vienna"),
    ("<think>Vienna? No", ["Vienna"], "likely wrong", "empty"),
    (*NONSENSE, None, ""),
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
    assert verdict is None or reason in why and reason in " ".join(response["why"])
    assert response["unrelated"] is None


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
        assert 0 < at <= stop and start < stop
    at, band = places("answer_check", EXAMPLES["LLM answer"])
    assert band == pytest.approx([100 * x for x in THRESHOLDS], abs=0.1) and at > band[1]
    answer = compare("menli", *EXAMPLES["Blind spot: negation"], {"task": "summary"})
    (at,) = places("menli", EXAMPLES["Blind spot: negation"], task="summary")  # no baseline
    assert answer.score < 0 and at == pytest.approx(50 * (answer.score + 1), abs=0.01)


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


def score_file(path, metric):
    """Return the result of a file, and the rows of the download, which exists only meanwhile."""
    with file_tab.scored_file(str(path), metric) as (result, table, download):
        html = file_tab.show(metric, result, table)
        with open(download, encoding="utf-8", newline="") as file:
            return result, list(csv.DictReader(file)), html


@pytest.mark.parametrize("metric", METRICS)
def test_file_gets_the_scores_of_the_package(metric, tmp_path):
    texts = ["A cat slept.", "It rained all day.", "", "The sofa was red."]
    rows = [{"prediction": text, "references": [PAIR[0], text + " Yes."]} for text in texts]
    path = write_lines(tmp_path / "pairs.jsonl", rows)
    result, table, html = score_file(path, metric)
    expected = scorer(metric).score(texts, [row["references"] for row in rows])
    assert result["scores"] == pytest.approx(expected["scores"], abs=3e-6, rel=3e-6)
    assert result[metric] == pytest.approx(expected[metric], abs=3e-6, rel=3e-6)
    assert result["signature"] == expected["signature"]
    assert [float(row[metric]) for row in table] == result["scores"]
    assert result.get("verdicts", ()) == expected.as_dict().get("verdicts", ())
    # A missing verdict is an empty cell.
    written = [row.get("verdict") or None for row in table]
    assert written == (result.get("verdicts") or [None] * 4)
    assert ("Verdicts: " in html) == ("verdicts" in result)
    assert [row["prediction"] for row in table] == texts
    assert [json.loads(row["references"]) for row in table] == [row["references"] for row in rows]


def test_blank_cells_of_a_file_are_left_out_and_reported(tmp_path):
    rows = [{"prediction": text, "references": [text, " "]} for text in PAIR[1] * 2]
    _, table, html = score_file(write_lines(tmp_path / "a.jsonl", rows), "baryscore")
    assert "2 blank references left out" in html
    assert [json.loads(row["references"]) for row in table] == [row["references"] for row in rows]


def test_download_keeps_the_columns_of_the_visitor(tmp_path):
    row = {"id": "007", "rank": 5, "prediction": "It is\rRome.", "references": ["Rome", "Roma"]}
    row["note"] = None
    other = {"id": 8, "prediction": "x y", "references": "Rome"}
    path = write_lines(tmp_path / "a.jsonl", [row, other])
    result, (first, second), _ = score_file(path, "answer_check")
    scores = result["scores"]
    assert list(first) == ["pair", *row, "answer_check", "verdict"]
    assert [float(each["answer_check"]) for each in (first, second)] == scores
    assert [each["verdict"] for each in (first, second)] == result["verdicts"]
    cells = {"id": "007", "rank": "5", "references": '["Rome", "Roma"]', "note": ""}
    assert first == first | cells
    assert second == second | {"id": "8", "rank": "", "references": "Rome"}


def test_table_of_a_file_shows_the_worst_pairs_first_and_escapes_its_columns(tmp_path):
    rows = [
        {"prediction": text, "reference": PAIR[0], "<b>id</b>": ATTACK}
        for text in (PAIR[0], "It rained all day.", "A cat slept on the sofa.")
    ]
    path = write_lines(tmp_path / "a.jsonl", rows)
    for metric in ("baryscore", "bertscore"):
        _, _, html = score_file(path, metric)
        assert re.findall(r"<tr><td[^>]*>(\d)</td>", html) == ["2", "3", "1"]
        assert "&lt;b&gt;id&lt;/b&gt;" in html and not re.search("<(script|img|b>id)", html)


INVALID_FILES = [
    ("a.txt", "a\n", "must end in"),
    ("a.csv", "prediction,reference\n", "the file has no rows"),
    ("a.jsonl", json.dumps({"prediction": "a", "reference": ["b"] * 6}), "6 references"),
    ("a.csv", "prediction,other\na,b\n", "found none of the columns 'references'"),
    ("a.csv", "prediction,reference,infolm\na,b,1\n", "column 'infolm' already exists"),
    ("a.csv", "prediction,reference\n" + "a,b\n" * 101, "101 rows or more, but at most 100"),
    ("a.csv", f"prediction,reference\na,{'b ' * 1600}\n", "a.csv, line 2 has 3,200 characters"),
    ("a.csv", "prediction,reference\na," + "b " * 80 + "\n", "a.csv, line 2 has 82 tokens"),
]


@pytest.mark.parametrize(("name", "content", "words"), INVALID_FILES)
def test_invalid_files_are_rejected_without_revealing_their_path(name, content, words, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=re.escape(words)) as error:
        score_file(tmp_path / name, "infolm")
    assert str(tmp_path) not in str(error.value)


# Workers


@pytest.mark.timeout(120)
def test_short_requests_run_while_a_long_text_is_encoded(monkeypatch):
    started, released, plain = threading.Event(), threading.Event(), MaskedLM.logits

    def wait_in_long_worker(self, *arguments):
        if getattr(getattr(self, "report", None), "__self__", None) is LONG:
            started.set()
            assert released.wait(60)
        return plain(self, *arguments)

    monkeypatch.setattr(MaskedLM, "logits", wait_in_long_worker)
    long_text = " ".join(["The old mill by the river was sold."] * 12)
    by_metric = scoring.settings_of_page(long_text, PAIR[1], {})
    updates = scoring.compare_by_all(long_text, PAIR[1], by_metric)
    assert next(update for update in updates if update == ("infolm", 0.0))
    assert started.wait(60)
    answers = dict(scoring.compare_by_all("A mill was sold.", PAIR[1], by_metric))
    assert all(isinstance(answer, scoring.Answer) for answer in answers.values())
    released.set()
    *fractions, (_, answer) = updates
    expected = scorer("infolm").score([long_text], PAIR[1])["infolm"]
    assert answer.score == pytest.approx(expected, abs=1e-6)
    assert all(0 <= fraction <= 1 for _, fraction in fractions)


@pytest.mark.timeout(120)
def test_progress_of_a_job_rises_and_a_job_without_its_visitor_stops():
    worker, text = Worker(), " ".join(["The old mill by the river was sold."] * 16)
    job = 260, scoring.score_pair, "infolm", text, (text.replace("mill", "farm"),)
    updates = worker.follow(*job, (("model_name_or_path", "bundled"),))
    fractions = list(itertools.islice(updates, 3))
    assert fractions == sorted(fractions)
    updates.close()
    worker.call(lambda worker: None)  # returns when the job has stopped
    assert worker.job.positions == 0
    assert scoring.score_pair.cache_info().currsize <= scoring.KEPT_ANSWERS
    logits = [name for name in worker.scorer("infolm", "bundled").models.cache.tensors]
    assert not logits


def test_jobs_run_in_the_order_of_submission_and_errors_reach_the_caller():
    worker, order = Worker(), []

    def fail(worker):
        raise ZeroDivisionError

    threads = [
        threading.Thread(target=worker.call, args=[lambda _, n=n: order.append(n)])
        for n in range(5)
    ]
    for thread in threads:
        thread.start()
        thread.join(60)
    with pytest.raises(ZeroDivisionError):
        worker.call(fail)
    worker.call(lambda worker: order.append("last"))
    assert order == [*range(5), "last"]
