"""`infolm attack` and `infolm robustness`, with the toy metric and a tiny model."""

import json
import math
from pathlib import Path

import pytest

from infolm_metric.robustness import measure, read_triples
from tests.toy import ToyScorer

ROWS = [
    {"id": 1, "references": ["The city has 12 rooms.", "There are twelve rooms in the city."]},
    {"id": 2, "references": ["Ann was born in a small town."]},
]


@pytest.fixture(autouse=True)
def rows(folder) -> None:
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))


@pytest.fixture
def cases(infolm) -> list[dict]:
    """What `infolm attack` wrote to cases.jsonl."""
    code, output, errors = infolm("attack", "rows.jsonl", "-o", "cases.jsonl")
    assert code == 0, errors
    assert "3 references of 2 items" in output
    return [json.loads(line) for line in Path("cases.jsonl").read_text().splitlines()]


def test_attack_writes_the_rows_of_the_design(cases):
    columns = "id attack kind anchor paraphrase adversary paraphrase_adversary seed"
    assert {" ".join(row) for row in cases} == {columns}
    (number,) = [row for row in cases if row["attack"] == "num"]
    assert number["anchor"] == "The city has 12 rooms."
    assert number["paraphrase"] == "There are twelve rooms in the city."


def test_attack_takes_names_a_seed_and_a_limit_and_writes_to_standard_output(infolm, cases):
    asked = ("--attack", "typo", "--attack", "neg", "--seed", "5", "--per-attack", "2")
    code, output, _ = infolm("attack", "rows.jsonl", *asked)
    made = [json.loads(line) for line in output.splitlines()]
    assert code == 0
    assert [(row["attack"], row["seed"]) for row in made] == [("neg", 5)] * 2 + [("typo", 5)] * 2


def test_robustness_gives_as_json_what_python_gives(infolm, cases):
    asked = ("robustness", "cases.jsonl", "--metric", "toy", "--size", "2")
    code, output, errors = infolm(*asked, "--json")
    assert code == 0, errors
    result = json.loads(output)
    triples = [triple for _, triple in read_triples("cases.jsonl")]
    assert result == measure(triples, {"toy": ToyScorer(size=2)}).as_dict()
    found = result["metrics"]["toy"]
    assert set(found["attacks"]["num"]) == {"n", "accuracy", "low", "high", "ties", "sensitivity"}
    assert set(found["macro"]) == {"all", "adequacy", "fluency"}
    assert found["signature"].startswith("metric:toy|size:2|")
    shown = infolm(*asked, "--markdown")[1]
    assert "| num" in shown and "Sensitivity" in shown


def test_a_setting_goes_to_the_metrics_that_have_it(infolm, cases, tiny_bert):
    asked = ("--metric", "toy", "--metric", "infolm", "--model", tiny_bert, "--idf", "none")
    code, output, errors = infolm("robustness", "cases.jsonl", *asked, "--size", "3", "--json")
    assert code == 0, errors
    found = json.loads(output)["metrics"]
    assert list(found) == ["toy", "infolm"]
    assert "|size:3|" in found["toy"]["signature"]
    assert "|idf:no|" in found["infolm"]["signature"]
    table = infolm("robustness", "cases.jsonl", *asked)[1]
    assert "mean over attacks" in table and "\ntoy: metric:toy|" in table


def test_scores_made_elsewhere_need_no_metric(infolm, cases):
    for row in cases:
        row["bleu.paraphrase"] = None if row["paraphrase"] is None else 0.5
        row["bleu.adversary"] = 0.75
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, cases)))
    for more, accuracy in (((), 0), (("--lower-is-better", "bleu"), 1)):
        asked = ("robustness", "cases.jsonl", "--scores", "bleu", *more)
        found = json.loads(infolm(*asked, "--json")[1])["metrics"]
        assert list(found) == ["bleu"]
        assert (found["bleu"]["macro"]["all"], found["bleu"]["signature"]) == (accuracy, None)


def test_a_score_made_elsewhere_that_is_no_finite_number_is_refused_where_it_stands(infolm, cases):
    for row in cases:
        row.update({"bleu.paraphrase": 0.5, "bleu.adversary": 0.75})
    cases[1]["bleu.adversary"] = math.inf
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, cases)))
    code, output, errors = infolm("robustness", "cases.jsonl", "--scores", "bleu")
    assert (code, output) == (2, "")
    assert "cases.jsonl, line 2: 'bleu.adversary' must be finite, got inf" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "tog"], "unknown metric 'tog'; did you mean 'toy'?"),
        (["--size", "2"], "unrecognized arguments: --size 2"),
        (["--metric", "toy", "-t", "2"], "unrecognized arguments: -t 2"),
        (["--metric", "toy", "--size", "0"], "size must be at least 1, got 0"),
        (["--idf", "separate", "--model", "bundled"], "idf='separate' weighs candidates"),
        (["--scores", "bleu"], "no column 'bleu.paraphrase'"),
        (["--lower-is-better", "bleu"], "--lower-is-better bleu: no such column; add --scores"),
        (["--json", "--markdown"], "give --json or --markdown, not both"),
    ],
)
def test_wrong_arguments_of_robustness_are_refused(infolm, cases, arguments, message):
    code, output, errors = infolm("robustness", "cases.jsonl", *arguments)
    assert (code, output) == (2, "")
    assert message in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.jsonl"], "cannot read missing.jsonl"),
        (["cases.jsonl"], "none of the columns 'references' and 'reference'"),
        (["rows.jsonl", "--attack", "nums"], "unknown attack 'nums'; did you mean 'num'?"),
        (["rows.jsonl", "--per-attack", "0"], "per_attack must be at least 1, got 0"),
        (["rows.jsonl", "--seed", "-1"], "seed must be at least 0, got -1"),
        (["rows.jsonl", "--attack", "pron"], "no attack of pron applies to a text of rows.jsonl"),
    ],
)
def test_wrong_arguments_of_attack_are_refused(infolm, cases, arguments, message):
    code, output, errors = infolm("attack", *arguments)
    assert (code, output) == (2, "")
    assert message in errors


def test_robustness_refuses_rows_that_are_no_cases(infolm):
    code, _, errors = infolm("robustness", "rows.jsonl", "--metric", "toy")
    assert code == 2
    assert "rows.jsonl, line 1: no column 'attack'; `infolm attack FILE -o OUT.jsonl`" in errors


def test_robustness_refuses_a_case_of_another_kind_than_its_attack(infolm, cases):
    row = next(place for place, row in enumerate(cases) if row["attack"] == "typo")
    cases[row]["kind"] = "adequacy"
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, cases)))
    code, output, errors = infolm("robustness", "cases.jsonl", "--metric", "toy")
    assert (code, output) == (2, "")
    assert f"line {row + 1}: 'kind' must be 'fluency', got 'adequacy'" in errors
