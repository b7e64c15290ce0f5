"""`infolm attack` and `infolm robustness` with the toy metric and a tiny model."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from infolm_metric.robustness import evaluate_robustness, make_cases, read_cases, read_items
from tests.random_pairs import write_lines
from tests.toy import ToyScorer

ROWS = [
    {"id": 1, "references": ["The city has 12 rooms.", "There are twelve rooms in the city."]},
    {"id": 2, "references": ["Ann was born in a small town."]},
]


@pytest.fixture(autouse=True)
def rows(folder) -> None:
    write_lines(Path("rows.jsonl"), ROWS)


@pytest.fixture
def cases(infolm_output) -> list[dict]:
    """Rows that `infolm attack` wrote to cases.jsonl."""
    output = infolm_output("attack", "rows.jsonl", "-o", "cases.jsonl")
    assert "3 references of 2 items" in output
    rows = [json.loads(line) for line in Path("cases.jsonl").read_text().splitlines()]
    assert rows == [asdict(case) for case in make_cases(read_items("rows.jsonl"))]
    return rows


def test_attack_accepts_names_a_seed_and_a_limit_and_prints_cases(infolm_output, cases):
    arguments = ("--attack", "typo", "--attack", "neg", "--seed", "5", "--per-attack", "2")
    output = infolm_output("attack", "rows.jsonl", *arguments)
    rows = [json.loads(line) for line in output.splitlines()]
    assert [(row["attack"], row["seed"]) for row in rows] == [("neg", 5)] * 2 + [("typo", 5)] * 2


def test_robustness_reports_the_results_of_evaluate_robustness(infolm_output, cases):
    arguments = ("robustness", "cases.jsonl", "--metric", "toy", "--size", "2")
    result = json.loads(infolm_output(*arguments, "--json"))
    attacked = [case for _, case in read_cases("cases.jsonl")]
    expected = evaluate_robustness(attacked, {"toy": ToyScorer(size=2)})
    assert result == {"metrics": {name: entry.as_dict() for name, entry in expected.items()}}
    assert result["metrics"]["toy"]["signature"].startswith("metric:toy|size:2|")
    table = infolm_output(*arguments)
    assert "\nnum " in table and "Sensitivity" in table
    assert f" {expected['toy'].macro()['all']:.1%} " in table


def test_settings_apply_to_the_metrics_that_have_them_and_name_their_scores(
    infolm_output, cases, tiny_bert
):
    arguments = ("--metric", "toy", "--metric", "infolm", "--model", tiny_bert, "--idf", "none")
    arguments += ("-m", "fisher_rao", "-m", "l1")
    output = infolm_output("robustness", "cases.jsonl", *arguments, "--size", "3", "--json")
    metrics = json.loads(output)["metrics"]
    assert list(metrics) == ["toy", "infolm", "infolm_l1_distance"]
    assert "|size:3|" in metrics["toy"]["signature"]
    assert "|idf:no|" in metrics["infolm"]["signature"]
    table = infolm_output("robustness", "cases.jsonl", *arguments)
    assert table.count("\nmean") == 9 and "\ntoy: metric:toy|" in table


def test_external_scores_need_no_metric(infolm_output, infolm_error, cases):
    for row in cases:
        row["bleu.paraphrase"] = None if row["paraphrase"] is None else 0.5
        row["bleu.adversary"] = 0.75
    write_lines(Path("cases.jsonl"), cases)
    for options, accuracy in (((), 0), (("--lower-is-better", "bleu"), 1)):
        arguments = ("robustness", "cases.jsonl", "--scores", "bleu", *options)
        metrics = json.loads(infolm_output(*arguments, "--json"))["metrics"]
        assert list(metrics) == ["bleu"]
        assert (metrics["bleu"]["macro"]["all"], metrics["bleu"]["signature"]) == (accuracy, None)
        assert metrics["bleu"]["macro_sensitivity"]["all"] is None
    write_lines(Path("cases.jsonl"), [cases[0], {**cases[1], "bleu.adversary": "inf"}])
    assert "line 2: column 'bleu.adversary'" in infolm_error(*arguments)


INVALID = [
    (["robustness", "cases.jsonl", "--size", "2"], "--size is a setting of toy, not of infolm"),
    (["robustness", "cases.jsonl", "--idf", "separate"], "--idf='separate' would compute"),
    (["robustness", "cases.jsonl", "--scores", "bleu"], "no column 'bleu.paraphrase'"),
    (["robustness", "cases.jsonl", "--lower-is-better", "bleu"], "bleu requires --scores"),
    (["attack", "missing.jsonl"], "cannot read missing.jsonl"),
    (["attack", "rows.jsonl", "--attack", "pron"], "can be attacked with pron. Add"),
]


@pytest.mark.parametrize(("arguments", "message"), INVALID)
def test_invalid_input_is_rejected(infolm_error, cases, no_model, arguments, message):
    assert message in infolm_error(*arguments)
