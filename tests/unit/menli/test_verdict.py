"""Verdicts on answers, and the output line of the command that shows them."""

import csv
import json

import pytest

from infolm_metric import MENLIScorer
from infolm_metric.commands.main import main
from infolm_metric.menli.verdict import CORRECT, HIGH, LOW, WRONG, describe_verdicts, verdict
from tests.project_files import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:infolm")

WORDS = ["score", "--metric", "menli", "--model", "bundled"]
ANSWERS = [  # with a reference
    ("The first was Neil Armstrong.", "Neil Armstrong"),
    ("Neil Armstrong", "Neil Armstrong"),
    ("It was Buzz Aldrin.", "Neil Armstrong"),
]


def verdict_line(capsys, *words):
    """Return the line with the verdict, or None."""
    assert main([*WORDS, *words]) == 0
    *lines, signature = capsys.readouterr().out.splitlines()
    assert signature.removeprefix("# ").startswith("signature: ")
    return next((line for line in lines if "verdict" in line), None)


def test_thresholds_divide_the_scores():
    assert 0 < LOW < HIGH < 1
    scores = [0, LOW - 1e-9, LOW, HIGH - 1e-9, HIGH, 1]
    verdicts = ["likely wrong"] * 2 + ["unclear"] * 2 + ["likely correct"] * 2
    assert [*map(verdict, scores)] == verdicts


def test_accuracies_are_those_in_the_table_of_results():
    with open(ROOT / "tools/results/verdicts_on_answers.csv") as file:
        rows = list(csv.DictReader(file))
    for accuracies, word in ((CORRECT, "correct"), (WRONG, "wrong")):
        column = f"{word} among likely {word}"
        assert accuracies == tuple(round(float(row[column])) for row in rows)


def test_a_verdict_on_one_answer_names_thresholds_and_accuracy(capsys):
    line = verdict_line(capsys, "--task", "answer", *ANSWERS[0])
    assert line.startswith("verdict: likely correct (")
    assert f">= {HIGH}" in line and f"< {LOW}" in line and "98%" in line
    assert verdict_line(capsys, "--task=answer", *ANSWERS[2]).startswith("verdict: likely wrong")
    assert verdict_line(capsys, "--task=answer", "", "Paris").startswith("verdict: likely wrong")


@pytest.mark.parametrize("output", [[], ["--per-pair"], ["-o", "scores.csv"], ["-o", "s.jsonl"]])
def test_several_answers_get_the_number_of_each_verdict(capsys, tmp_path, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    rows = [{"prediction": answer, "references": [reference]} for answer, reference in ANSWERS]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    line = verdict_line(capsys, "--task", "answer", *output, "--data", "answers.jsonl")
    assert "verdicts: 2 likely correct, 0 unclear, 1 likely wrong (" in line


OTHERS = {"direction": "avg", "formula": "e", "nli_weight": 0.4, "multi_reference": "mean"}
OTHERS |= {"combine_with": "none", "max_length": 100, "dtype": "bfloat16"}


@pytest.mark.parametrize("name", OTHERS)
def test_other_settings_have_no_thresholds(name, no_model):
    scorer = MENLIScorer(model_name_or_path="bundled", task="answer", **{name: OTHERS[name]})
    line = describe_verdicts(scorer, scorer.signature(), {"texts": 2}, [0.9])
    assert line.startswith("verdict: none") and "bundled" in line


def test_explicit_settings_equal_to_the_defaults_keep_the_thresholds(capsys):
    words = ["--direction", "hr", "--nli-weight", "0.5", "--batch-size", "1"]
    line = verdict_line(capsys, "--task", "answer", *words, *ANSWERS[0])
    assert line.startswith("verdict: likely correct")


def test_other_tasks_get_no_verdict(capsys):
    assert verdict_line(capsys, *ANSWERS[0]) is None
    assert verdict_line(capsys, "--task", "summary", *ANSWERS[0]) is None


def test_other_models_sources_and_out_of_domain_texts_get_no_verdict(tiny_nli):
    pair = {"predictions": [ANSWERS[0][0]], "references": [ANSWERS[0][1]]}
    code = ["def f(x): return [y for y in x if y != 'a' and self.z[y] == {}]"]
    bundled = MENLIScorer(model_name_or_path="bundled", task="answer")
    other = MENLIScorer(model_name_or_path=tiny_nli(), task="answer")
    against = {"formula": "e-c", "direction": "hr", "combine_with": "recall"}
    results = [
        (other, other.score(**pair)),
        (bundled, bundled.score(**pair, task="source", **against)),
        (bundled, bundled.score(code, code)),
    ]
    for scorer, result in results:
        line = describe_verdicts(scorer, result.signature, result.counts, result["scores"])
        assert line.startswith("verdict: none")
