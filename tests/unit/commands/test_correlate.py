"""`infolm correlate`: real use on a tiny model, and what it refuses."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from infolm_metric import InfoLMScorer
from infolm_metric.meta_evaluation import agreement, read_ratings
from tests.toy import ToyScorer

WORDS = ["the cat", "a dog", "rain", "the river", "a small house", "cold wind"]
REFERENCES = [["the cat sat", "a cat sat down"], ["a dog ran"], ["rain fell"], ["the river rose"]]
SYSTEMS = ("good", "fair", "weak", "poor", "odd")


def make_rows() -> list[dict]:
    """Five systems that stray from the references more and more, and people who see it."""
    random = np.random.default_rng(0)
    made = []
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
            made.append(row)
    made[-1]["metrics"]["ter"] = 11.5
    return made


ROWS = make_rows()
UNNAMED = [
    {
        "prediction": row["prediction"],
        "reference": row["references"][0],
        "score": row["human"]["fluency"],
        "bleu": row["metrics"]["bleu"],
    }
    for row in ROWS
]


def write(rows: list[dict], name: str = "rows.jsonl") -> None:
    Path(name).write_text("\n".join(map(json.dumps, rows)))


@pytest.fixture(autouse=True)
def rows(folder) -> None:
    write(ROWS)


@pytest.fixture
def correlate(infolm):
    """A function that gives what `infolm correlate` prints, with few resamples."""

    def run(*arguments: object) -> str:
        code, output, errors = infolm("correlate", *arguments, "--resamples", "50")
        assert code == 0, errors
        return output

    return run


def test_correlate_reports_what_python_computes(correlate, tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert), reuse_memory=0)
    ratings = read_ratings(ROWS)
    result = scorer.score(ratings.predictions, [list(group) for group in ratings.references])
    metrics = {"fisher_rao_distance": -ratings.grid(result["scores"]), **ratings.metrics}
    metrics["ter"] = -metrics["ter"]
    expected = agreement(
        ratings.human, metrics, against=["bleu"], length=ratings.lengths, resamples=50
    )
    found = json.loads(
        correlate("rows.jsonl", "--json", "--against", "bleu", "--lower-is-better", "ter")
    )
    assert found.pop("signature") == result["signature"]
    for cell, other in zip(found.pop("agreement"), expected.as_dict()["agreement"], strict=True):
        p_values, others = cell.pop("p_values"), other.pop("p_values")
        assert cell == pytest.approx(other, abs=1e-6)
        assert p_values == pytest.approx(others, abs=1e-6)
    assert found.items() <= json.loads(json.dumps(expected.as_dict())).items()


def test_a_higher_score_is_a_better_one_where_the_metric_says_so(correlate):
    output = correlate("rows.jsonl", "--metric", "toy", "--size", "2")
    assert "toy: higher is better." in output.splitlines()
    assert f"signature: {ToyScorer(size=2).signature()}" in output
    lower = "fisher_rao_distance: lower is better: negated, so that higher is better everywhere."
    assert lower in correlate("rows.jsonl", "--scores", "bleu").splitlines()


@pytest.mark.parametrize("file", ["unnamed.csv", "unnamed.jsonl"])
def test_rows_without_systems_are_correlated_all_together(correlate, file):
    rows = [dict(row) for row in UNNAMED]
    rows[3]["score"] = rows[5]["bleu"] = None
    table = pd.DataFrame(rows)
    if file.endswith(".csv"):
        table.to_csv(file, index=False)
    else:
        table.to_json(file, orient="records", lines=True)
    output = correlate(file, "--no-metric", "--scores", "bleu")
    rest = [row for at, row in enumerate(rows) if at not in (3, 5)]
    expected = stats.pearsonr(*([row[name] for row in rest] for name in ("score", "bleu")))
    assert re.search(rf"score +bleu +{expected.statistic:.3f} ", output)
    assert "18 texts;" in output and "score: 2 texts left out" in output
    assert "Text level, all texts together" in output and "System level" not in output


def test_correlate_writes_tables_with_tests_against_a_rival(correlate):
    output = correlate("rows.jsonl", "--no-metric", "--against", "bleu", "--markdown")
    header = "| criterion | metric | Pearson | Spearman | Kendall | accuracy | soft accuracy "
    assert header + "| given length | p vs bleu | p vs length |" in output
    row = next(line for line in output.splitlines() if line.startswith("| coverage | ter"))
    interval, p = r"-?\d\.\d{3} \[-?\d\.\d\d, -?\d\.\d\d\]", r"(<0.001|\d\.\d{3})"
    assert re.search(rf"{interval} \|.* {p} \| {p} \|$", row)
    assert "Williams' test" in output


def test_correlate_draws_a_figure_beside_the_table(correlate):
    assert "System level" in correlate("rows.jsonl", "--no-metric", "--plot", "figure.png")
    assert Path("figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_without_matplotlib_says_what_to_install(infolm, no_model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    code, _, errors = infolm("correlate", "rows.jsonl", "--plot", "figure.png")
    assert code == 1 and "pip install 'matplotlib" in errors


def test_correlate_says_what_it_left_out(correlate):
    gap = [dict(row) for row in ROWS]
    gap[3] = {**gap[3], "human": {"fluency": None, "coverage": 50}}
    write([*gap, {**gap[0], "system": "person", "prediction": None, "is_human": True}])
    output = correlate("rows.jsonl", "--no-metric", "--level", "system")
    assert "fluency: 1 samples left out" in output and "Text level" not in output
    assert "1 rows of human texts were passed over." in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--criterion", "clarity"], "rows.jsonl, line 1: no human score 'clarity'"),
        (["--exclude-system", "good", "--exclude-id", "0", "--scores", "x"], "no metrics score"),
        (["--exclude-system", "god"], "unknown system to exclude 'god'; did you mean 'good'?"),
        (["--exclude-id", "9"], "unknown id to exclude '9'; known: '0', '1', '2', '3'"),
        (["--lower-is-better", "wer"], "--lower-is-better wer: no such metric column"),
        (["--resamples", "0"], "resamples must be at least 1"),
        (["--seed", "-1"], "seed must be at least 0"),
        (["--measure", "fischer"], "unknown information_measure 'fischer'"),
        (["--metric", "bleu"], "invalid choice: 'bleu'"),
        (["--against", "x"], "unknown metric to test against 'x'; known: 'fisher_rao_distance'"),
        (["--no-metric", "--against", "x"], "known: 'bleu', 'ter', 'length'"),
        (["--plot", "figure.pgn"], "unknown format of a plot 'pgn'; did you mean 'png'"),
        (["--plot", "nowhere/figure.png"], "cannot write nowhere/figure.png: no folder"),
        (["--rescale-with-baseline"], "unrecognized arguments: --rescale-with-baseline"),
    ],
)
def test_wrong_arguments_are_refused_before_a_model_is_loaded(infolm, no_model, arguments, message):
    code, output, errors = infolm("correlate", "rows.jsonl", *arguments)
    assert (code, output) == (2, "") and message in errors


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        (ROWS, {"id": 0}, "rows.jsonl, line 20: system 'odd' has a text for id '0' already, in"),
        (ROWS, {"human": {"fluency": "high", "coverage": 1}}, "line 20: column 'fluency' must"),
        (ROWS, {"metrics": {"length": 1, "bleu": 2}}, "a metric is named 'length'"),
        (ROWS, {"metrics": {"fisher_rao_distance": 1}}, "two metrics are named 'fisher_rao"),
        (UNNAMED, ["--level", "system"], "the system level needs the system of each row"),
        (UNNAMED, ["--exclude-system", "A"], "line 1: no column 'system'"),
        (UNNAMED, ["--no-metric"], "--no-metric leaves no metric"),
    ],
)
def test_wrong_rows_are_refused_before_a_model_is_loaded(
    infolm, no_model, rows, arguments, message
):
    changes = arguments if isinstance(arguments, dict) else {}
    if "metrics" in changes:  # a column of its own
        ((name, _), *_) = changes["metrics"].items()
        rows = [{**row, "metrics": {name: row["metrics"]["ter"]}} for row in rows]
    else:
        rows = [*rows[:-1], {**rows[-1], **changes}]
    write(rows)
    more = [] if changes else arguments
    code, output, errors = infolm("correlate", "rows.jsonl", *more)
    assert (code, output) == (2, "") and message in errors
