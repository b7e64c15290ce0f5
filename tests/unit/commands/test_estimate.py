"""`infolm estimate`: agreement with the Python function, plans and rejected input."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from infolm_metric.commands.estimate import _cell
from infolm_metric.meta_evaluation import Interval, estimate_mean
from tests.random_pairs import write_lines
from tests.toy import ToyScorer

SAMPLES = 120
RATED = {*range(0, SAMPLES, 3)}  # 40


def make_rows(systems=("good", "weak"), rated=RATED) -> list[dict]:
    """Return truncated references, with human and metric scores that depend on their lengths."""
    random = np.random.default_rng(0)
    rows = []
    for rank, system in enumerate(systems):
        for sample in range(SAMPLES):
            reference = "".join(random.choice([*"abcdefghijklmnop"], 12))
            kept = int(random.integers(4, 12 - 2 * rank))
            row = {"system": system, "id": sample, "prediction": reference[:kept]}
            row |= {"reference": reference, "metrics": {"bleu": kept + float(random.normal())}}
            if sample in rated:
                row["human"] = {"fluency": 10 * kept + float(random.normal(0, 8))}
            rows.append(row)
    return rows


def column(rows, system, group, name) -> np.ndarray:
    """Return the scores of a system, with NaN for rows without a score."""
    scores = [row.get(group, {}).get(name, np.nan) for row in rows if row["system"] == system]
    return np.array(scores, dtype=float)


ROWS = make_rows()
HUMAN = {name: column(ROWS, name, "human", "fluency") for name in ("good", "weak")}
BLEU = {name: column(ROWS, name, "metrics", "bleu") for name in ("good", "weak")}


@pytest.fixture(autouse=True)
def rows(folder) -> None:
    write_lines(Path("rows.jsonl"), ROWS)


@pytest.fixture
def report(infolm_output):
    """Function that returns the JSON output of `infolm estimate`."""
    return lambda *arguments: json.loads(infolm_output("estimate", *arguments, "--json"))


def ends(interval) -> dict:
    return pytest.approx(vars(interval))


def test_estimate_reports_the_results_of_estimate_mean(report, no_model):
    result = report("rows.jsonl", "--scores", "bleu")
    assert result["metrics"] == {}
    assert [*result["systems"]] == ["good", "weak"]
    for name, criteria in result["systems"].items():
        expected = estimate_mean(HUMAN[name], BLEU[name])
        cell = criteria["fluency"]["bleu"]
        assert (cell["rated"], cell["rows"]) == (40, SAMPLES)
        assert cell["ratings"] == ends(expected.ratings)
        assert cell["estimate"] == ends(expected.estimate)
        assert cell["lambda"] == pytest.approx(expected.metric_weight)
        assert cell["equivalent_ratings"] == pytest.approx(expected.equivalent_ratings)
    (pair,) = result["differences"]
    assert (pair["systems"], pair["criterion"]) == (["good", "weak"], "fluency")
    differences = HUMAN["good"] - HUMAN["weak"], BLEU["good"] - BLEU["weak"]
    assert pair["estimate"] == ends(estimate_mean(*differences).estimate)


def test_texts_are_scored_with_the_selected_metric(report):
    result = report("rows.jsonl", "--metric", "toy", "--size", "2")
    scorer, weak = ToyScorer(size=2), [row for row in ROWS if row["system"] == "weak"]
    scores = scorer.score(*([row[name] for row in weak] for name in ("prediction", "reference")))
    expected = estimate_mean(HUMAN["weak"], np.array(scores["scores"]))
    assert result["systems"]["weak"]["fluency"]["toy"]["estimate"] == ends(expected.estimate)
    assert result["metrics"]["toy"]["signature"] == scorer.signature()


def test_each_metric_has_its_own_estimate(report):
    write_lines(Path("rows.jsonl"), [row for row in ROWS if row["id"] < 60])
    both = ("--metric", "toy", "--metric", "infolm", "--idf", "none")
    result = report("rows.jsonl", *both)
    alone = report("rows.jsonl", "--metric", "toy")
    cells = result["systems"]["good"]["fluency"]
    assert [*cells] == [*result["metrics"]] == ["toy", "infolm"]
    assert cells["toy"] == alone["systems"]["good"]["fluency"]["toy"]
    assert cells["toy"]["ratings"] == cells["infolm"]["ratings"]
    assert [pair["metric"] for pair in result["differences"]] == ["toy", "infolm"]


def test_rows_without_systems_and_texts_are_one_system(report, no_model):
    lines = (f"{HUMAN['good'][at]},{BLEU['good'][at]}\n" for at in range(SAMPLES))
    Path("rows.csv").write_text("score,mine\n" + "".join(lines).replace("nan", ""))
    result = report("rows.csv", "--scores", "mine")
    expected = estimate_mean(HUMAN["good"], BLEU["good"])
    assert result["systems"]["all texts"]["score"]["mine"]["estimate"] == ends(expected.estimate)
    assert result["differences"] == []


def test_a_system_without_some_samples_is_estimated_from_its_own_rows(report):
    write_lines(Path("rows.jsonl"), ROWS[: SAMPLES + 100])
    result = report("rows.jsonl", "--scores", "bleu")
    expected = estimate_mean(HUMAN["weak"][:100], BLEU["weak"][:100])
    assert result["systems"]["weak"]["fluency"]["bleu"]["rows"] == 100
    assert result["systems"]["weak"]["fluency"]["bleu"]["estimate"] == ends(expected.estimate)


@pytest.mark.parametrize(("rated", "warns"), [(29, True), (30, False)])
def test_fewer_than_30_ratings_trigger_a_warning(infolm, rated, warns):
    write_lines(Path("rows.jsonl"), make_rows(rated=range(rated)))
    code, _, errors = infolm("estimate", "rows.jsonl", "--scores", "bleu")
    assert code == 0 and ("fewer than 30 ratings" in errors) == warns
    assert errors.count("warning") == warns


def test_equal_ratings_have_no_interval(infolm_output, report):
    rows = [{**row, "human": {"fluency": 5}} if "human" in row else row for row in ROWS]
    write_lines(Path("rows.jsonl"), rows)
    arguments = ("rows.jsonl", "--scores", "bleu")
    cell = report(*arguments)["systems"]["good"]["fluency"]["bleu"]
    nothing = {"mean": 5.0, "low": None, "high": None}
    assert cell["ratings"] == cell["estimate"] == nothing
    assert cell["equivalent_ratings"] is None
    assert "5.000 [-]" in infolm_output("estimate", *arguments)
    assert _cell(Interval(math.nan)) == "-"


BY_TOY = ["--metric", "toy"]
REJECTED = [
    (ROWS, ["--scores", "ter"], "--scores must be scores in 'metrics' or columns"),
    (ROWS, ["--candidate-column", "text", *BY_TOY], "no column 'text'"),
    ([{**ROWS[0], "metrics": {}}, *ROWS[1:]], ["--scores", "bleu"], "1 of 240 rows have no score"),
    ([{**row, "human": {}} for row in ROWS], ["--scores", "bleu"], "no human scores"),
    ([{**ROWS[0], "prediction": None}, *ROWS[1:]], [], "rows.jsonl, line 1"),
]


@pytest.mark.parametrize(("rows", "arguments", "message"), REJECTED)
def test_invalid_input_is_rejected_before_loading(infolm_error, no_model, rows, arguments, message):
    write_lines(Path("rows.jsonl"), rows)
    assert message in infolm_error("estimate", "rows.jsonl", *arguments)
