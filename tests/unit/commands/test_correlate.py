"""`infolm correlate`: reports on a tiny model, and invalid input."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from infolm_metric import InfoLMScorer
from infolm_metric.meta_evaluation import agreement, read_ratings
from tests.random_pairs import write_lines

WORDS = ["the cat", "a dog", "rain", "the river", "a small house", "cold wind"]
REFERENCES = [["the cat sat", "a cat sat down"], ["a dog ran"], ["rain fell"], ["the river rose"]]
SYSTEMS = ("good", "fair", "weak", "poor", "odd")


def make_rows() -> list[dict]:
    """Return outputs of five systems of decreasing quality, with human scores that reflect it."""
    random = np.random.default_rng(0)
    rows = []
    for rank, system in enumerate(SYSTEMS):
        for sample, group in enumerate(REFERENCES):
            words = group[0].split()
            for _ in range(rank):
                words[random.integers(len(words))] = str(random.choice(WORDS))
            fluency = 90 - 10 * rank + int(random.integers(9))
            coverage = 70 - 5 * rank + int(random.integers(30))
            row = {"system": system, "id": sample, "prediction": " ".join(words)}
            row |= {"references": group, "human": {"fluency": fluency, "coverage": coverage}}
            row["metrics"] = {"bleu": 50 - 8 * rank + float(random.normal()), "ter": 3.0 * rank}
            rows.append(row)
    rows[-1]["metrics"]["ter"] = 11.5
    return rows


ROWS = make_rows()
ROWS_WITHOUT_SYSTEMS = [
    {"prediction": row["prediction"], "references": row["references"]}
    | {"score": row["human"]["fluency"], "bleu": row["metrics"]["bleu"]}
    for row in ROWS
]


@pytest.fixture(autouse=True)
def rows(folder) -> None:
    write_lines(Path("rows.jsonl"), ROWS)


@pytest.fixture
def correlate(infolm_output):
    """Function that returns the output of `infolm correlate` with few resamples."""
    return lambda *arguments: infolm_output("correlate", *arguments, "--resamples", "50")


def test_correlate_reports_the_results_of_agreement(correlate, tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), reuse_memory=0)
    ratings = read_ratings(ROWS)
    result = scorer.score(ratings.predictions, [list(group) for group in ratings.references])
    metrics = {"infolm": -ratings.grid(result["scores"]), **ratings.metrics}
    metrics["ter"] = -metrics["ter"]
    options = {"against": ["bleu"], "length": ratings.lengths, "resamples": 50}
    expected = agreement(ratings.human, metrics, **options)
    arguments = ("--against", "bleu", "--lower-is-better", "ter")
    report = json.loads(correlate("rows.jsonl", "--json", *arguments))
    assert report.pop("metrics")["infolm"]["signature"] == result["signature"]
    cells = zip(report.pop("agreement"), expected.as_dict()["agreement"], strict=True)
    for cell, expected_cell in cells:
        assert cell.pop("p_values") == pytest.approx(expected_cell.pop("p_values"), abs=1e-6)
        assert cell == pytest.approx(expected_cell, abs=1e-6)
    assert report.items() <= json.loads(json.dumps(expected.as_dict())).items()


def test_several_metrics_are_correlated_in_one_table(correlate):
    both = ("--metric", "infolm", "--metric", "toy", "--idf", "none")
    report = json.loads(correlate("rows.jsonl", *both, "--json"))
    names = list(dict.fromkeys(cell["metric"] for cell in report["agreement"]))
    assert names == ["infolm", "toy", "bleu", "ter", "length"]
    directions = {name: entry["higher_is_better"] for name, entry in report["metrics"].items()}
    assert directions == {"infolm": False, "toy": True}
    alone = json.loads(correlate("rows.jsonl", "--metric", "toy", "--json"))
    toy = [[x for x in part["agreement"] if x["metric"] == "toy"] for part in (report, alone)]
    assert toy[0] == toy[1] and len(toy[0]) > 1
    output = correlate("rows.jsonl", *both)
    assert "infolm: lower is better, toy: higher is better" in output
    assert output.count("\nsignature: ") == 2


def test_rows_without_systems_are_pooled(correlate):
    rows = [dict(row) for row in ROWS_WITHOUT_SYSTEMS]
    rows[3]["score"] = rows[5]["bleu"] = None
    write_lines(Path("rows.jsonl"), rows)
    output = correlate("rows.jsonl", "--no-metric", "--scores", "bleu")
    scored = [row for at, row in enumerate(rows) if at not in (3, 5)]
    expected = stats.pearsonr(*([row[name] for row in scored] for name in ("score", "bleu")))
    assert re.search(rf"score +bleu +{expected.statistic:.3f} ", output)
    assert "18 texts." in output and "score: 2 texts dropped" in output
    assert "Segment level, all texts together" in output and "System level" not in output


@pytest.mark.parametrize("command", ["correlate", "estimate"])
def test_columns_of_systems_and_ids_can_be_selected(infolm_output, infolm_error, command):
    table = [dict(row) for row in ROWS]
    for row in table:
        row["Model"], row["doc"] = row.pop("system"), row.pop("id")
    write_lines(Path("named.jsonl"), table)
    options = ("--no-metric", "--criterion", "fluency", "--json")
    if command == "estimate":
        options = ("--scores", "bleu", *options[1:])
    expected = infolm_output(command, "rows.jsonl", *options)
    columns = ("--system-column", "Model", "--id-column", "doc")
    assert infolm_output(command, "named.jsonl", *options, *columns) == expected
    assert "--system-column='Model'" in infolm_error(command, "named.jsonl", *options)
    assert "--id-column" in infolm_error(command, "named.jsonl", *options, *columns[:2])
    if command == "correlate":
        output = infolm_output(command, "named.jsonl", *options, "--system-column", "none")
        assert json.loads(output)["systems"] == 0


FEW = [(ROWS[: 3 * len(REFERENCES)], "got 3 systems"), (ROWS[: 4 * len(REFERENCES)], "")]
FEW += [(ROWS_WITHOUT_SYSTEMS[:19], "got 19 texts"), (ROWS_WITHOUT_SYSTEMS, "")]


@pytest.mark.parametrize(("rows", "words"), FEW)
def test_few_systems_or_texts_trigger_a_warning(infolm, rows, words):
    write_lines(Path("rows.jsonl"), rows)
    options = ("--no-metric", "--scores", "bleu", "--resamples", "50")
    code, _, errors = infolm("correlate", "rows.jsonl", *options)
    assert code == 0 and ("warning" in errors) == bool(words) and words in errors


def test_dropped_samples_and_human_texts_are_reported(correlate):
    gap = [dict(row) for row in ROWS]
    gap[3] = {**gap[3], "human": {"fluency": None, "coverage": 50}}
    person = {**gap[0], "system": "person", "prediction": None, "is_human": True}
    write_lines(Path("rows.jsonl"), [*gap, person])
    output = correlate("rows.jsonl", "--no-metric")
    assert "fluency: 1 sample dropped" in output
    assert "Skipped 1 human-written texts." in output


def test_error_for_constant_scores_names_the_metric_and_no_column(infolm_error):
    table = [{**row, "references": [row["prediction"]], "metrics": {}} for row in ROWS]
    write_lines(Path("rows.jsonl"), table)
    error = infolm_error("correlate", "rows.jsonl", "--metric", "toy")
    assert "metric 'toy': every value is 1 (20 in total" in error and "column" not in error


SAME_NAME = [{**row, "metrics": {"infolm": 1.0 * i}} for i, row in enumerate(ROWS)]
INVALID = [
    (ROWS, ["--criterion", "clarity"], "--criterion must be scores in 'human' or columns"),
    (ROWS, ["--lower-is-better", "wer"], "--lower-is-better wer must be among the scores"),
    (ROWS, ["--against", "x"], "unknown --against 'x'. Known: 'infolm'"),
    ([*ROWS, ROWS[0]], [], "rows.jsonl, line 21: system 'good' already has a text for id '0'"),
    (SAME_NAME, [], "'infolm' is both a metric and a column"),
    (ROWS_WITHOUT_SYSTEMS, ["--no-metric"], "no metric. Omit --no-metric"),
]


@pytest.mark.parametrize(("rows", "arguments", "message"), INVALID)
def test_invalid_input_is_rejected_before_loading(infolm_error, no_model, rows, arguments, message):
    write_lines(Path("rows.jsonl"), rows)
    assert message in infolm_error("correlate", "rows.jsonl", *arguments)
