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
    assert table.count("\nmean") == 6 and "\ntoy: metric:toy|" in table


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


@pytest.mark.parametrize("score", [math.nan, math.inf, "inf", "x", True])
def test_a_score_made_elsewhere_is_a_finite_number(infolm, cases, score):
    rows = [{**row, "bleu.paraphrase": 0.5, "bleu.adversary": 0.75} for row in cases]
    rows[1]["bleu.adversary"] = score
    Path("cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    code, output, errors = infolm("robustness", "cases.jsonl", "--scores", "bleu")
    assert (code, output) == (2, "")
    assert "cases.jsonl, line 2: column 'bleu.adversary'" in errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["robustness", "cases.jsonl", "--metric", "tog"], "invalid choice: 'tog'"),
        (["robustness", "cases.jsonl", "--size", "2"], "unrecognized arguments: --size 2"),
        (["robustness", "cases.jsonl", "--idf", "separate"], "idf='separate' weighs candidates"),
        (["robustness", "cases.jsonl", "--scores", "bleu"], "no column 'bleu.paraphrase'"),
        (["robustness", "cases.jsonl", "--lower-is-better", "bleu"], "bleu: no such column; add"),
        (["robustness", "cases.jsonl", "--json", "--markdown"], "not allowed with argument"),
        (["robustness", "rows.jsonl"], "rows.jsonl, line 1: no column 'attack'; `infolm attack"),
        (["attack", "missing.jsonl"], "cannot read missing.jsonl"),
        (["attack", "cases.jsonl"], "none of the columns 'references' and 'reference'"),
        (["attack", "rows.jsonl", "--attack", "nums"], "unknown attack 'nums'; did you mean 'num'"),
        (["attack", "rows.jsonl", "--per-attack", "0"], "per_attack must be at least 1, got 0"),
        (["attack", "rows.jsonl", "--seed", "-1"], "seed must be at least 0, got -1"),
        (["attack", "rows.jsonl", "--attack", "pron"], "no attack of pron applies to a text of"),
    ],
)
def test_what_is_wrong_is_refused(infolm, cases, no_model, arguments, message):
    code, output, errors = infolm(*arguments)
    assert (code, output) == (2, "") and message in errors
