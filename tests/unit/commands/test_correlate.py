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
from infolm_metric.commands.main import main
from infolm_metric.meta_evaluation import (
    calibrated_accuracy,
    correlation,
    partial_correlation,
    read_ratings,
    soft_pairwise_accuracy,
)
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
            made.append(
                {
                    "system": system,
                    "id": sample,
                    "prediction": " ".join(words),
                    "references": group,
                    "human": {
                        "fluency": 90 - 10 * rank + int(random.integers(9)),
                        "coverage": 70 - 5 * rank + int(random.integers(30)),
                    },
                    "metrics": {"bleu": 50 - 8 * rank + float(random.normal()), "ter": 3.0 * rank},
                }
            )
    made[-1]["metrics"]["ter"] = 11.5
    return made


ROWS = make_rows()


@pytest.fixture(autouse=True)
def rows(folder) -> None:
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))


@pytest.fixture(scope="module")
def scorer(tiny_bert):
    return InfoLMScorer(model_name_or_path=str(tiny_bert), reuse_memory=0)


# infolm correlate


def test_correlate_reports_what_python_computes(infolm, scorer):
    code, output, errors = infolm("correlate", "rows.jsonl", "--json", "--resamples", "50")
    assert code == 0, errors
    cells = json.loads(output)["agreement"]
    ratings = read_ratings(ROWS)
    scores = scorer.score(ratings.predictions, [list(group) for group in ratings.references])
    grid = -ratings.grid(scores.scores["fisher_rao_distance"])
    found = {
        (cell["level"], cell["statistic"]): cell["value"]
        for cell in cells
        if (cell["metric"], cell["criterion"]) == ("fisher_rao_distance", "coverage")
    }
    for level, statistic in found:
        if statistic not in ("accuracy", "soft_accuracy", "partial"):
            expected = correlation(ratings.human["coverage"], grid, statistic, level)
            assert found[level, statistic] == pytest.approx(expected, abs=1e-6)
    assert {cell["metric"] for cell in cells} == {"fisher_rao_distance", "bleu", "ter", "length"}


def unnamed_rows() -> list[dict]:
    """Texts with people's scores, without the systems that wrote them."""
    return [
        {
            "prediction": row["prediction"],
            "reference": row["references"][0],
            "score": row["human"]["fluency"],
            "bleu": row["metrics"]["bleu"],
        }
        for row in ROWS
    ]


def write_unnamed(file: str, rows: list[dict]) -> None:
    table = pd.DataFrame(rows)
    if file.endswith(".csv"):
        table.to_csv(file, index=False)
    else:
        table.to_json(file, orient="records", lines=True)


@pytest.mark.parametrize("file", ["unnamed.csv", "unnamed.jsonl"])
@pytest.mark.parametrize("given", [(), ("--level", "text"), ("--criterion", "score")])
def test_rows_without_systems_are_correlated_all_together(infolm, scorer, file, given):
    rows = unnamed_rows()
    write_unnamed(file, rows)
    code, output, errors = infolm("correlate", file, "--json", "--resamples", "50", *given)
    assert code == 0, errors
    table = json.loads(output)
    cells = [cell for cell in table["agreement"] if cell["metric"] == "fisher_rao_distance"]
    found = {(cell["level"], cell["statistic"]): cell["value"] for cell in cells}
    ours = scorer.score([row["prediction"] for row in rows], [row["reference"] for row in rows])
    people, scores = [row["score"] for row in rows], [-score for score in ours["scores"]]
    for name in ("pearsonr", "spearmanr", "kendalltau"):
        expected = getattr(stats, name)(people, scores).statistic
        assert found["text", name.rstrip("r").removesuffix("tau")] == pytest.approx(expected)
    assert {level for level, _ in found} == {"text"} and table["samples"] == {"score": len(rows)}
    assert all(cell["low"] < cell["value"] < cell["high"] for cell in cells)


def test_rows_without_systems_that_lack_a_score_are_left_out(infolm):
    rows = unnamed_rows()
    rows[3]["score"] = rows[5]["bleu"] = None
    write_unnamed("unnamed.csv", rows)
    code, output, errors = infolm(
        "correlate", "unnamed.csv", "--no-metric", "--scores", "bleu", "--resamples", "50"
    )
    assert code == 0, errors
    rest = [row for at, row in enumerate(rows) if at not in (3, 5)]
    expected = stats.pearsonr(*([row[name] for row in rest] for name in ("score", "bleu")))
    assert re.search(rf"score +bleu +{expected.statistic:.3f} ", output)
    assert "18 texts;" in output and "score: 2 texts left out" in output
    assert "Text level, all texts together" in output and "System level" not in output


@pytest.mark.parametrize(
    ("changes", "arguments", "message"),
    [
        ({}, ("--level", "system"), "the system level needs the system of each row"),
        ({}, ("--exclude-system", "A"), "line 1: no column 'system'"),
        ({}, ("--exclude-id", "1"), "line 1: no column 'id'"),
        ({"system": "A"}, (), "line 20: there is a 'system', and the first row has none"),
    ],
)
def test_what_needs_systems_is_refused_before_a_model_is_loaded(
    capsys, changes, arguments, message
):
    rows = unnamed_rows()
    rows[-1] |= changes
    Path("unnamed.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert main(["correlate", "unnamed.jsonl", "--model", "nowhere", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_length_stands_among_the_rivals_and_what_it_predicts_is_taken_out(infolm):
    ratings = read_ratings(ROWS)
    table = json.loads(infolm("correlate", "rows.jsonl", "--no-metric", "--json")[1])
    assert table["against"] == ["length"]
    human, lengths = ratings.human["coverage"], ratings.lengths
    assert lengths[0, 0] == len(ROWS[0]["prediction"])
    found = {
        (cell["level"], cell["metric"], cell["statistic"]): cell
        for cell in table["agreement"]
        if cell["criterion"] == "coverage"
    }
    for level in ("system", "text"):
        length, bleu = (found[level, name, "pearson"] for name in ("length", "bleu"))
        assert length["value"] == pytest.approx(correlation(human, lengths, level=level))
        assert set(bleu["p_values"]) == {"length"}
        given = found[level, "bleu", "partial"]
        expected = partial_correlation(human, ratings.metrics["bleu"], lengths, level)
        assert given["value"] == pytest.approx(expected)
        assert given["low"] <= given["high"]
        assert found[level, "length", "partial"]["value"] is None
    for level, name, function in (
        ("text", "accuracy", calibrated_accuracy),
        ("system", "soft_accuracy", soft_pairwise_accuracy),
    ):
        cell = found[level, "bleu", name]
        assert cell["value"] == pytest.approx(function(human, ratings.metrics["bleu"]))
        assert cell["low"] is None and cell["p_values"] == {"length": None}


def test_texts_that_are_all_as_long_leave_length_out(infolm):
    alike = [{**row, "prediction": "word"} for row in ROWS]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, alike)))
    code, output, errors = infolm("correlate", "rows.jsonl", "--no-metric")
    assert code == 0, errors
    assert "length" not in output


def test_where_every_sample_has_one_system_the_text_level_has_no_figures(infolm):
    alone = [{**row, "id": row["system"]} for row in ROWS[:: len(REFERENCES)]]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, alone)))
    arguments = ("rows.jsonl", "--no-metric", "--missing", "available", "--resamples", "20")
    code, output, errors = infolm("correlate", *arguments, "--json")
    assert code == 0, errors
    cells = json.loads(output)["agreement"]
    assert {cell["value"] for cell in cells if cell["level"] == "text"} == {None}
    code, output, errors = infolm("correlate", *arguments)
    assert code == 0, errors
    row = output.split("Text level")[1].splitlines()[3].split()
    assert row[1] == "bleu" and set(row[2:]) == {"-"}
    assert "or too few" in output


@pytest.mark.parametrize("arguments", [["correlate", "--no-metric"], ["correlate"]])
def test_a_column_named_length_is_asked_for_another_name_before_a_model_is_loaded(
    capsys, arguments
):
    named = [{**row, "metrics": {"length": row["metrics"]["ter"]}} for row in ROWS]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, named)))
    assert main([*arguments, "rows.jsonl", "-o", "out", "--model", "no/such/model"]) == 2
    errors = capsys.readouterr().err
    assert "a metric is named 'length'" in errors and "rename it" in errors


def test_a_column_may_not_have_the_name_of_a_score_of_ours(capsys):
    named = [{**row, "metrics": {"fisher_rao_distance": row["metrics"]["ter"]}} for row in ROWS]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, named)))
    assert main(["correlate", "rows.jsonl", "--model", "no/such/model"]) == 2
    assert "two metrics are named 'fisher_rao_distance'" in capsys.readouterr().err


def test_length_may_be_named_among_the_rivals(infolm):
    arguments = ("--scores", "bleu", "--against", "length", "--resamples", "20")
    code, output, errors = infolm("correlate", "rows.jsonl", *arguments)
    assert code == 0, errors
    assert output.count("p vs length") == 2


def test_correlate_takes_the_words_for_lower_is_better(infolm):
    plain, turned = (
        json.loads(infolm("correlate", "rows.jsonl", "--no-metric", "--json", *more)[1])
        for more in ([], ["--lower-is-better", "ter"])
    )
    values = [
        next(cell["value"] for cell in table["agreement"] if cell["metric"] == "ter")
        for table in (plain, turned)
    ]
    assert values[0] == -values[1] < 0


def test_correlate_writes_tables_with_tests_against_a_rival(infolm):
    code, output, _ = infolm(
        "correlate", "rows.jsonl", "--no-metric", "--against", "bleu", "--markdown"
    )
    assert code == 0
    header = "| criterion | metric | Pearson | Spearman | Kendall | accuracy | soft accuracy "
    assert header + "| given length | p vs bleu | p vs length |" in output
    row = next(line for line in output.splitlines() if line.startswith("| coverage | ter"))
    assert re.search(
        r"-?\d\.\d{3} \[-?\d\.\d\d, -?\d\.\d\d\] \|.* (<0.001|\d\.\d{3}) \| (<0.001|\d\.\d{3}) \|$",
        row,
    )
    assert "Williams' test" in output


def test_correlate_draws_a_figure_beside_the_table(infolm):
    code, output, errors = infolm(
        "correlate", "rows.jsonl", "--no-metric", "--resamples", 20, "--plot", "figure.png"
    )
    assert code == 0, errors
    assert "System level" in output
    assert Path("figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("figure.pgn", "unknown format of a plot 'pgn'; did you mean 'png'"),
        ("nowhere/figure.png", "cannot write nowhere/figure.png: no folder 'nowhere'"),
        ("rows.jsonl", "rows.jsonl"),
    ],
)
def test_a_figure_that_cannot_be_drawn_is_refused_before_a_model_is_loaded(capsys, file, message):
    asked = ["correlate", "rows.jsonl", "--model", "no/such/model", "--plot", file]
    assert main(asked) == 2
    captured = capsys.readouterr()
    assert message in captured.err and not captured.out
    assert Path("rows.jsonl").read_text().count("\n") == len(ROWS) - 1


def test_a_figure_without_matplotlib_says_what_to_install(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    asked = ["correlate", "rows.jsonl", "--model", "no/such/model", "--plot", "figure.png"]
    assert main(asked) == 1
    assert "pip install 'matplotlib" in capsys.readouterr().err


def test_correlate_says_what_it_left_out(infolm):
    gap = [dict(row) for row in ROWS]
    gap[3] = {**gap[3], "human": {"fluency": None, "coverage": 50}}
    person = {**gap[0], "system": "person", "prediction": None, "is_human": True}
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, [*gap, person])))
    _, output, _ = infolm("correlate", "rows.jsonl", "--no-metric")
    assert "fluency: 1 samples left out" in output
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
    ],
)
def test_wrong_arguments_are_refused_before_a_model_is_loaded(capsys, arguments, message):
    code = main(["correlate", "rows.jsonl", *arguments, "--model", "no/such/model"])
    captured = capsys.readouterr()
    assert code == 2, captured.err
    assert message in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "bleu"], "a column of scores is named with --scores bleu"),
        (["--metric=ter"], "a column of scores is named with --scores ter"),
        (["--confidence", "95"], "confidence must be above 0 and below 1, got 95"),
        (["--against", "x"], "unknown metric to test against 'x'; known: 'fisher_rao_distance'"),
        (["--no-metric", "--against", "x"], "known: 'bleu', 'ter', 'length'"),
    ],
)
def test_wrong_values_are_answered_with_what_to_give(capsys, arguments, message):
    assert main(["correlate", "rows.jsonl", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out


def test_a_measure_can_be_the_rival_of_what_rides_along(infolm):
    code, output, errors = infolm(
        "correlate", "rows.jsonl", "--scores", "bleu", "--against", "fisher_rao_distance"
    )
    assert code == 0, errors
    assert "p vs fisher_rao_distance" in output
    assert "ter" not in {line.split()[1] for line in output.splitlines() if line.count("[") > 3}
    assert (
        "fisher_rao_distance: lower is better: negated, so that higher is better everywhere."
        in output
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"id": 0}, "rows.jsonl, line 20: system 'odd' has a text for id '0' already, in rows"),
        ({"human": {"fluency": float("nan"), "coverage": 1}}, "line 20: column 'fluency' is nan"),
        ({"human": {"fluency": "high", "coverage": 1}}, "line 20: column 'fluency' must hold"),
    ],
)
def test_a_wrong_row_is_named_before_a_model_is_loaded(capsys, changes, message):
    made = [*ROWS[:-1], {**ROWS[-1], **changes}]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, made)))
    assert main(["correlate", "rows.jsonl", "--model", "no/such/model"]) == 2
    assert message in capsys.readouterr().err


def test_correlate_takes_a_higher_score_for_a_better_one(infolm):
    asked = ("correlate", "rows.jsonl", "--metric", "toy", "--size", "2", "--resamples", "50")
    code, output, errors = infolm(*asked, "--json", "--against", "ter", "--lower-is-better", "ter")
    assert code == 0, errors
    values = {
        (cell["metric"], cell["criterion"]): cell["value"]
        for cell in json.loads(output)["agreement"]
        if (cell["level"], cell["statistic"]) == ("system", "pearson")
    }
    assert values["toy", "fluency"] > 0.5 and values["ter", "fluency"] > 0.5
    assert json.loads(output)["signature"] == ToyScorer(size=2).signature()
    assert "toy: higher is better." in infolm(*asked)[1].splitlines()


def test_rescaling_is_no_option_where_it_changes_nothing(infolm):
    code, _, errors = infolm("correlate", "rows.jsonl", "-o", "out", "--rescale-with-baseline")
    assert code == 2
    assert "unrecognized arguments: --rescale-with-baseline" in errors
