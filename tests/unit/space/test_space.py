"""The Space's rooms: limits, choices, answers, files; and the folder as it is deployed."""

import csv
import doctest
import importlib
import json
import math
import re
import shutil

import evaluate
import gradio as gr
import pytest

from infolm_metric import BaryScorer, InfoLM, MENLIScorer
from infolm_metric.commands.register import module_script
from infolm_metric.infolm.measures import MEASURES
from infolm_metric.metrics import METRICS
from space.page import allowed_models, charts, file_scores, limits, site
from space.page.appearance import INTRODUCTION
from space.page.choices import REFERENCES, Choices
from space.page.compare_tab import ANSWERS_OF, CLOSEST_BY, COMPARED_BY, SETTINGS_OF
from space.page.compare_tab import BARYSCORE as BY_TRANSPORT
from space.page.compare_tab import INFOLM as BY_INFOLM
from space.page.compare_tab import MENLI as BY_INFERENCE
from space.page.comparison import compare, score_pair
from space.page.controls import VALUES, chosen, visibility
from space.page.examples import EXAMPLES, PARAPHRASE, UNRELATED
from space.page.inference import infer
from space.page.inference_view import shown_inference
from space.page.reproduction import code_for
from space.page.transport import move_texts
from space.page.transport_view import shown_plan
from tests.project_files import ROOT

SPACE = ROOT / "space"
MODULES = sorted(path.stem for path in (SPACE / "page").glob("*.py") if path.stem != "__init__")
PAIR = ("The cat slept on the sofa.", ["A cat was asleep on the couch."])
ATTACK = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"


# The folder.


def test_the_module_script_is_the_one_that_register_writes():
    assert (SPACE / "infolm.py").read_text() == module_script(METRICS["infolm"])


def test_evaluate_loads_the_metric_from_the_folder(tmp_path, monkeypatch):
    shutil.copytree(SPACE, tmp_path / "infolm")
    monkeypatch.chdir(tmp_path)
    metric = evaluate.load("infolm", model_name_or_path="bundled")
    assert metric.compute(predictions=["A dog."], references=["A dog."])["infolm"] == 0


def test_the_folder_says_what_it_needs():
    header = re.match(r"---\n(.*?)\n---\n", (SPACE / "README.md").read_text(), re.DOTALL)
    fields = dict(re.findall(r"^(\w+): (.+)$", header[1], re.MULTILINE))
    pins = (ROOT / "requirements.txt").read_text().split()
    assert fields["sdk"] == "gradio"
    assert f"gradio=={fields['sdk_version']}" in pins
    assert (SPACE / fields["app_file"]).is_file()


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_hold(name):
    assert doctest.testmod(importlib.import_module(f"space.page.{name}")).failed == 0


# Choices and limits.


def test_only_the_models_of_the_list_are_loaded():
    with pytest.raises(ValueError, match="model must be one of bundled, "):
        Choices(model="someone/else")
    with pytest.raises(ValueError, match="model must be one of bundled, "):
        allowed_models.model_named("../../etc")


@pytest.mark.parametrize("temperature", [0.0, -1.0, 0.009, 101.0, math.nan, math.inf])
def test_a_temperature_outside_the_limits_is_refused(temperature):
    with pytest.raises(ValueError, match="temperature"):
        Choices(temperature=temperature)


@pytest.mark.parametrize(
    ("measure", "given", "message"),
    [
        ("alpha_divergence", {"alpha": 1.0}, "any number but 0 and 1"),
        ("renyi_divergence", {"alpha": -0.5}, "any number > 0 but 1"),
        ("beta_divergence", {"beta": -1.0}, "any number but 0 and -1"),
        ("ab_divergence", {"alpha": 1.0, "beta": -1.0}, "alpha \\+ beta other than 0"),
        ("ab_divergence", {"alpha": 1.0}, "needs beta"),
    ],
)
def test_a_parameter_outside_its_domain_is_refused_in_words(measure, given, message):
    with pytest.raises(ValueError, match=message):
        Choices(measure, **given)


@pytest.mark.parametrize(
    ("candidate", "references", "message"),
    [
        ("", ["a"], "The candidate is empty"),
        ("a", ["  "], "The reference is empty"),
        ("x" * (limits.CHARACTERS + 1), ["a"], "1,001 characters"),
        ("a " * limits.TOKENS, ["a"], "130 tokens, and at most 64"),
        ("a", ["b " * 60] * 3, "the text of all references has 186 tokens, and at most 128"),
        ("a", ["b", "c " * limits.TOKENS], "Reference 2 has 130 tokens"),
        ("a", [], "at least one reference"),
        ("a", ["b"] * (limits.REFERENCES + 1), "at most 5"),
    ],
)
def test_a_text_beyond_the_limits_is_refused_in_words(candidate, references, message):
    with pytest.raises(ValueError, match=message):
        score_pair(candidate, references, Choices())


def test_texts_that_would_take_too_long_together_are_refused():
    limits.check_work([limits.TYPICAL_TOKENS] * (2 * limits.ROWS))
    with pytest.raises(ValueError, match="give about 75% fewer rows"):
        limits.check_work([2 * limits.TYPICAL_TOKENS] * (2 * limits.ROWS))


# The answer.


def test_an_answer_explains_the_score_that_it_gives():
    answer = compare(PARAPHRASE.candidate, [PARAPHRASE.reference], Choices())
    (own,) = (row for row in answer.all_measures if row.name == "fisher_rao_distance")
    assert answer.score == own.score == score_pair(*_texts(PARAPHRASE), Choices())[0]
    assert dict(answer.curves["temperature"])[1.0] == answer.score
    assert {row.name for row in answer.all_measures} == set(MEASURES)
    assert sum(token.weight for token in answer.candidate) == pytest.approx(1)
    assert sum(driver.share for driver in answer.entries[True].drivers) <= answer.score
    for driver in answer.entries[True].drivers:
        assert (driver.signed_share > 0) == (driver.in_candidate >= driver.in_reference)


def test_the_unrelated_example_scores_worst_and_the_others_as_their_lessons_say():
    scores = {example.name: score_pair(*_texts(example), Choices())[0] for example in EXAMPLES}
    assert max(scores, key=scores.get) == UNRELATED.name
    low = [name for name in scores if name.startswith(("Blind spot", "The same words"))]
    assert 0 < max(scores[name] for name in low) < scores[PARAPHRASE.name] / 2


def test_the_closest_reference_is_the_one_explained():
    references = [UNRELATED.candidate, PARAPHRASE.candidate, PARAPHRASE.reference]
    answer = compare(PARAPHRASE.reference, references, Choices())
    assert (answer.explained, answer.score, answer.entries[True].drivers) == (2, 0.0, [])


def test_a_parameter_is_swept_only_by_measures_that_have_it():
    answer = compare(*PAIR, Choices("ab_divergence", alpha=1.0, beta=-0.5))
    assert set(answer.curves) == {"temperature", "interpolation", "alpha", "beta"}
    alphas = [alpha for alpha, _ in answer.curves["alpha"]]
    assert 1.0 in alphas and 0.0 not in alphas and 0.5 not in alphas  # alpha + beta is not 0
    assert set(compare(*PAIR, Choices("l1_distance")).curves) == {"temperature", "interpolation"}


def test_the_curve_of_interpolation_goes_as_far_as_the_measure_has_a_largest_value():
    answer = compare(*PAIR, Choices("kl_divergence", interpolation=0.3))
    curve = dict(answer.curves["interpolation"])
    assert (min(curve), max(curve)) == (0.0, 0.9)
    assert curve[0.3] == answer.score == score_pair(*PAIR, answer.choices)[0]
    assert curve[0.0] == score_pair(*PAIR, Choices("kl_divergence"))[0]


def test_texts_compared_by_their_words_alone_are_judged_by_bounded_measures():
    choices = Choices("alpha_divergence", alpha=0.5, interpolation=1.0)
    answer = compare("yes", ["no"], choices)
    assert answer.score == pytest.approx(answer.largest) == 4.0
    bounded = {"alpha_divergence", "fisher_rao_distance", "l1_distance", "l2_distance"}
    assert {row.name for row in answer.all_measures} == bounded | {"l_infinity_distance"}
    alphas = [alpha for alpha, _ in answer.curves["alpha"]]
    assert min(alphas) > 0 and max(alphas) < 1
    assert dict(answer.curves["interpolation"])[0.0] == 0.0  # a lone mask, whatever the token
    with pytest.raises(ValueError, match="needs a measure with a largest value"):
        Choices("kl_divergence", interpolation=1.0)


@pytest.mark.parametrize("name", ["temperature", "interpolation"])
def test_an_empty_number_is_asked_for(name):
    with pytest.raises(ValueError, match=f"{name} is empty; write a number such as"):
        Choices(**{name: None})


@pytest.mark.parametrize(
    "choices",
    [
        *(Choices(name, alpha=0.5, beta=0.5) for name in MEASURES),
        Choices("kl_divergence", temperature=2.0, symmetrize="none"),
        Choices(idf="off"),
        Choices(multi_reference="mean"),
        Choices(interpolation=0.25),
    ],
    ids=str,
)
def test_the_code_shown_prints_the_score_shown(choices, capsys):
    references = [*PAIR[1], "It's a \\ cat."]
    answer = compare(PAIR[0], references, choices)
    exec(code_for(PAIR[0], references, answer.settings), {})
    assert charts.shown(float(capsys.readouterr().out)) == charts.shown(answer.score)


@pytest.mark.parametrize(
    ("candidate", "references", "verdict"),
    [
        (PARAPHRASE.candidate, [PARAPHRASE.reference], "Far closer than unrelated texts"),
        (UNRELATED.candidate, [UNRELATED.reference], "Hardly closer than unrelated texts"),
        (PAIR[0], [PAIR[0]], "The same as a copy"),
        ("yes", ["no"], "These texts cannot be judged"),
        ("yes", ["yes"], "These texts cannot be judged"),
        ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", ["ᚠᚢᚦ ᚨᚱᚲ"], "These texts cannot be judged"),
        (PAIR[0], [*PAIR[1], "A dog ran."], ""),
    ],
)
def test_a_verdict_is_graded_by_the_baseline_and_given_to_what_can_be_judged(
    candidate, references, verdict
):
    answer = compare(candidate, references, Choices())
    assert answer.verdict == verdict
    card = charts.score_card(answer)
    assert (verdict or "No verdict") in card
    assert ("unrelated texts score with these settings is not known" in card) == (not verdict)


@pytest.mark.parametrize("compared", [compare, move_texts, infer])
def test_what_a_model_cannot_read_has_no_verdict_by_any_metric(compared):
    answer = compared("asdf qwer zxcv uiop", ["lkjh gfds mnbv rewq"], Choices())
    assert answer.verdict == "These texts cannot be judged"
    card = charts.score_card(answer)
    assert "says nothing here" in card and "2 of 2 texts seem to be another language" in card


@pytest.mark.parametrize("references", [PAIR[1], [*PAIR[1], "A dog ran home."]])
def test_by_default_a_pair_scores_on_the_page_as_anywhere_else(references):
    own = InfoLM(model_name_or_path="bundled").scorer.score([PAIR[0]], [references])
    score, signature = score_pair(PAIR[0], references, Choices())
    answer = compare(PAIR[0], references, Choices())
    assert (score, signature) == (own["infolm"], own.signature)
    assert (charts.shown(answer.score), answer.signature) == (charts.shown(score), signature)
    weighs_alike = "With one reference all words weigh alike." in charts.score_card(answer)
    assert weighs_alike == (len(references) == 1)


def test_content_words_come_before_function_words():
    entries = compare(PARAPHRASE.candidate, [PARAPHRASE.reference], Choices()).entries
    content, everything = ({word for word, _ in entries[all_].candidate} for all_ in (False, True))
    assert {"the", "."} & everything and not {"the", ".", "[MASK]"} & content


def test_a_score_card_holds_nothing_that_a_visitor_wrote():
    answer = compare(ATTACK, [ATTACK + "cat"], Choices())
    assert "script" not in charts.score_card(answer) and "taken" not in charts.score_card(answer)


# Files.


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def jsonl(tmp_path):
    rows = [
        {"prediction": text, "references": [PAIR[0], text + " Yes."]}
        for text in ("A cat slept.", "It rained all day.", "", "The sofa was red.")
    ]
    return write_jsonl(tmp_path / "pairs.jsonl", rows)


@pytest.mark.parametrize("idf", [REFERENCES, "off"])
def test_a_file_scored_in_parts_scores_as_compute_does(idf, jsonl, monkeypatch, tmp_path):
    monkeypatch.setattr(file_scores, "PART_TOKENS_SQUARED", 1)
    choices = Choices("renyi_divergence", alpha=2.0, idf=idf)
    table = file_scores.read_table(jsonl)
    pairs = file_scores.read_pairs(table, *table.guess())
    *steps, done = file_scores.score_in_parts(pairs, table.places, choices)
    expected = InfoLM(model_name_or_path="bundled").compute(
        predictions=pairs.predictions,
        references=pairs.references,
        information_measure="renyi_divergence",
        alpha=2.0,
        idf="references" if idf == REFERENCES else False,
    )
    assert steps == [1, 2, 3, 4]
    bound = {"abs": 3e-6, "rel": 3e-6}  # of scores in other company, at alpha = 2
    assert done["scores"] == pytest.approx(expected["scores"], **bound)
    assert done["infolm"] == pytest.approx(expected["infolm"], **bound)
    assert done.signature == expected["signature"]
    file_scores.write_scores(pairs, done["scores"], tmp_path / "scores.csv")
    with open(tmp_path / "scores.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["score"]) for row in rows] == done["scores"]
    assert [row["prediction"] for row in rows] == pairs.predictions


def test_a_cell_of_a_file_may_hold_a_list_of_references(tmp_path):
    (tmp_path / "a.csv").write_text("prediction,references\na,\"['b', 'c']\"\n")
    table = file_scores.read_table(str(tmp_path / "a.csv"))
    assert file_scores.read_pairs(table, *table.guess()).references == [["b", "c"]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "a\n", "must end in"),
        ("a.csv.gz", "a\n", "must end in"),
        ("a.csv", "", "no rows"),
        ("a.csv", "prediction,reference\n", "no rows"),
        ("a.csv", 'prediction,reference\n"x,y\n', "a.csv, line 2: not valid CSV"),
        ("a.jsonl", "[1]\n", "line 1: not a JSON object"),
        ("a.jsonl", '{"prediction": 1, "reference": "a"}\n', "line 1: 'prediction' must be a str"),
        (
            "a.jsonl",
            '{"prediction": "a", "reference": []}\n',
            "line 1: 'reference' is an empty list",
        ),
        (
            "a.jsonl",
            '{"prediction": "a", "reference": ["b"]}\n\n'
            '{"prediction": "a", "reference": ["b", "b", "b", "b", "b", "b"]}\n',
            "line 3: a candidate needs at least one reference, and at most 5",
        ),
        ("a.csv", "prediction,other\na,b\n", "choose the column that holds the references"),
        ("a.csv", "prediction,reference\n" + "a,b\n" * 501, "more than 500 rows"),
        ("a.csv", "prediction,reference\na," + "b " * 600 + "\n", "line 2 has 1,200 characters"),
        ("a.csv", "prediction,reference\na," + "b " * 200 + "\n", "line 2 has 202 tokens"),
    ],
)
def test_a_file_that_cannot_be_scored_is_refused_without_its_path(name, content, message, tmp_path):
    (tmp_path / name).write_text(content)
    with pytest.raises((ValueError, TypeError), match=re.escape(message)) as caught:
        table = file_scores.read_table(str(tmp_path / name))
        pairs = file_scores.read_pairs(table, *table.guess())
        next(file_scores.score_in_parts(pairs, table.places, Choices()))
    assert str(tmp_path) not in str(caught.value)


def test_no_component_renders_markdown_or_html_that_a_visitor_can_fill():
    page = site.build()
    kinds = {type(block) for block in page.blocks.values()}
    assert gr.HTML in kinds  # the score card, of which there is a test above
    for block in page.blocks.values():
        if isinstance(block, gr.Dataframe):
            assert {"str", "number"} >= set(
                [block.datatype] if isinstance(block.datatype, str) else block.datatype
            )
    assert not {gr.Chatbot, gr.JSON, gr.Plot} & kinds


def _texts(example):
    return example.candidate, [example.reference]


# By transport.


def test_the_plan_is_that_of_the_score_and_its_code_gives_it():
    candidate, references = PAIR
    answer = move_texts(candidate, references, Choices(idf="off"))
    expected = BaryScorer(model_name_or_path="bundled").score([candidate], references, idf=False)
    assert (answer.score, answer.signature) == (expected["baryscore"], expected.signature)
    assert answer.verdict.endswith("than unrelated texts")
    assert sum(move.share for move in answer.explanation.moves()) == pytest.approx(answer.score)
    shown = shown_plan(answer)
    tokens = answer.explanation.candidate.tokens
    assert len(shown["moves"]["value"]) <= 12 and shown["moves"]["value"][0][0] in tokens
    assert shown["plan"].count("<path") == sum(m.mass > 1e-4 for m in answer.explanation.moves())
    printed = {}
    code = code_for(candidate, references, answer.settings)
    exec(code.replace("print(", "printed.update(score="), {"printed": printed})
    assert printed["score"] == answer.score


def test_the_plan_is_that_of_the_closest_reference_with_the_weights_of_all():
    references = ["Rain fell all day.", "A cat was asleep on the couch."]
    answer = move_texts(PAIR[0], references, Choices())
    expected = BaryScorer(model_name_or_path="bundled").score([PAIR[0]], [references])
    assert (answer.explained, answer.score) == (1, expected["baryscore"])
    assert answer.explanation.score == pytest.approx(answer.score, abs=1e-12)
    assert "reference 2, the closest" in shown_plan(answer)["reference"]["value"]


def test_nothing_moves_in_a_copy_and_what_a_visitor_writes_is_no_markup():
    copied = move_texts("A cat.", ["A cat."], Choices())
    assert (copied.verdict, shown_plan(copied)["moves"]["value"]) == ("The same as a copy", [])
    drawn = shown_plan(move_texts(ATTACK, [ATTACK[::-1]], Choices()))["plan"]
    assert "<script" not in drawn and "<img" not in drawn


# By inference.


def test_the_probabilities_are_those_of_the_score_and_its_code_gives_it():
    candidate, references = PAIR
    answer = infer(candidate, references, Choices())
    expected = MENLIScorer(model_name_or_path="bundled").score([candidate], references)
    assert (answer.score, answer.signature) == (expected["menli"], expected.signature)
    both = [answer.said[direction]["e"] for direction in ("rh", "hr")]
    assert sum(both) / 2 == pytest.approx(answer.score)
    assert answer.verdict.endswith("than unrelated texts")
    assert "higher is closer" in charts.score_card(answer)
    assert "0: neither follows" in charts.score_card(answer)
    rows = shown_inference(answer)["said"]["value"]
    assert [row[1] for row in rows] == [f"{value:.1%}" for value in both]
    printed = {}
    code = code_for(candidate, references, answer.settings)
    exec(code.replace("print(", "printed.update(score="), {"printed": printed})
    assert printed["score"] == answer.score


def test_of_several_references_the_one_with_the_highest_score_is_shown():
    references = ["Rain fell all day.", PAIR[0]]
    answer = infer(PAIR[0], references, Choices())
    assert answer.explained == 1
    assert answer.score == infer(PAIR[0], [PAIR[0]], Choices()).score
    mean = infer(PAIR[0], references, Choices(multi_reference="mean"))
    assert mean.score < answer.score
    assert "multi_reference='mean'" in code_for(PAIR[0], references, mean.settings)


def test_a_contradiction_is_the_verdict():
    names = ("Blind spot: a wrong number", "Blind spot: a negation", "The same words")
    for example in EXAMPLES:
        answer = infer(*_texts(example), Choices())
        contradicts = example.name.startswith(names)
        assert answer.verdict.endswith("unrelated texts") != contradicts
        assert (answer.verdict == "Each text denies the other") == contradicts
        assert answer.verdict in charts.score_card(answer)


@pytest.mark.parametrize(
    ("compared", "metric"),
    [(compare, BY_INFOLM), (move_texts, BY_TRANSPORT), (infer, BY_INFERENCE)],
)
def test_a_metric_is_chosen_by_how_its_score_reads(compared, metric):
    (words,) = (words for words, value in COMPARED_BY if value == metric)
    answer = compared(*PAIR, Choices())
    sense, _ = re.search(r'"measure">(.+) \((.+)\)<', charts.score_card(answer)).groups()
    assert words.endswith(f"; {sense}")
    assert ("lower" in sense) == (answer.best == 0) != ("higher" in sense)
    assert "lower" not in INTRODUCTION


@pytest.mark.parametrize("metric", [BY_INFOLM, BY_TRANSPORT, BY_INFERENCE])
@pytest.mark.parametrize("rule", ["min", "mean"])
def test_the_rule_of_several_references_is_shown_as_the_metric_signs_it(metric, rule):
    updates = visibility(SETTINGS_OF[metric], "l1_distance", CLOSEST_BY[metric])
    shown = dict(zip(VALUES, updates, strict=True))["multi_reference"]["choices"]
    (words,) = (words for words, value in shown if value == rule)
    find = ANSWERS_OF[metric][0]
    answer = find(PAIR[0], [*PAIR[1], "A dog ran."], Choices(multi_reference=rule))
    signed = re.search(r"multi_reference:(\w+)", answer.signature)[1]
    assert re.match(rf"{signed}\b", words)


@pytest.mark.parametrize(
    ("metric", "hidden"),
    [
        (BY_INFERENCE, {"model": "google-bert/bert-base-uncased"}),
        (BY_INFERENCE, {"idf": "none"}),
        (BY_INFERENCE, {"information_measure": "kl_divergence", "interpolation": 1.0}),
        *((metric, {"temperature": None}) for metric in (BY_INFERENCE, BY_TRANSPORT)),
        (BY_TRANSPORT, {"information_measure": "kl_divergence", "interpolation": 1.0}),
        (BY_TRANSPORT, {"information_measure": "alpha_divergence", "alpha": None}),
    ],
)
def test_settings_that_a_metric_does_not_use_do_not_count(metric, hidden):
    plain = {name: getattr(Choices, name, None) for name in VALUES} | {"multi_reference": "mean"}
    expected = chosen(*plain.values())
    assert chosen(*(plain | hidden).values(), used=SETTINGS_OF[metric]) == expected
    if "model" not in hidden:
        with pytest.raises(ValueError):
            chosen(*(plain | hidden).values())


@pytest.mark.parametrize(
    ("used", "measure", "expected"),
    [
        (VALUES, "fisher_rao_distance", {*VALUES} - {"alpha", "beta"}),
        (VALUES, "renyi_divergence", {*VALUES} - {"beta"}),
        (VALUES, "ab_divergence", {*VALUES}),
        (("idf", "alpha"), "ab_divergence", {"idf", "alpha"}),
    ],
)
def test_only_controls_that_change_the_score_are_shown(used, measure, expected):
    updates = dict(zip(VALUES, visibility(used, measure, "min"), strict=True))
    assert {name for name, update in updates.items() if update["visible"]} == expected


@pytest.mark.parametrize("scores", [[0.5, 0.5], [0.5, 0.5 + 2**-53], [0.0, 5e-324], [0.1, 0.9]])
def test_a_histogram_counts_every_pair_however_near_the_scores(scores):
    table = charts.histogram(scores)
    assert table["pairs"].sum() == len(scores) and len(table) == charts.BINS
