"""correlate, tune, compare and report: real use on a tiny model, and what they refuse."""

import base64
import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from infolm_metric import InfoLMScorer
from infolm_metric.commands.main import main
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.meta_evaluation import (
    calibrated_accuracy,
    correlation,
    partial_correlation,
    read_ratings,
    score_grid,
    tune,
    write_report,
)
from infolm_metric.meta_evaluation.grid import score_measures
from infolm_metric.meta_evaluation.splits import split_samples
from infolm_metric.meta_evaluation.tuning import DEFAULTS, TUNED
from tests.counted_contexts import counted_contexts

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
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    for system in SYSTEMS[:3]:
        texts = [row["prediction"] for row in ROWS if row["system"] == system]
        Path(f"{system}.txt").write_text("".join(f"{text}\n" for text in texts))
    Path("ref.txt").write_text("".join(f"{group[0]}\n" for group in REFERENCES))
    return tmp_path


@pytest.fixture
def infolm(capsys, tiny_bert):
    """A function that runs `infolm` with the tiny model: (exit code, output, errors)."""

    def run(command: str, *arguments: object) -> tuple[int, str, str]:
        code = main([command, *map(str, arguments), "--model", str(tiny_bert)])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def scorer(tiny_bert):
    return InfoLMScorer(model_name_or_path=str(tiny_bert), reuse_memory=0)


# Many settings from one pass


@pytest.mark.parametrize("room", [1 << 30, 1])
@pytest.mark.parametrize("idf", ["references", False])
def test_a_grid_holds_what_scoring_one_by_one_gives(tiny_bert, monkeypatch, room, idf):
    monkeypatch.setattr("infolm_metric.infolm.scorer.SWEEP_BYTES", room)
    predictions = [row["prediction"] for row in ROWS]
    references = [row["references"] for row in ROWS]
    base = InfoLMScorer(model_name_or_path=str(tiny_bert), idf=idf)
    names = {"information_measure": ["fisher_rao", "ab"]}
    swept = base.settings.grid(
        {**names, "temperature": [0.5, 1.0], "alpha": [0.5], "beta": [1.0, 2.0]}
    )
    kl = {"information_measure": "kl", "symmetrize": "jensen", "multi_reference": "mean"}
    asked = [*swept, base.settings.replace(**kl)]
    seen = []
    found = score_grid(base, predictions, references, asked, report=seen.append)
    assert [settings for settings, _ in found] == asked
    assert len(found) == 7
    assert sum(seen) == 7 * len(ROWS)
    for settings, scores in found:
        plain = InfoLMScorer(**vars(settings)).score(predictions, references)
        (expected,) = plain.scores.values()
        parameters = 1 + (settings.alpha or 0) + (settings.beta or 0)
        bound = 1e-6 * max(1, 1 / settings.temperature) * parameters
        assert scores == pytest.approx(expected, abs=bound, rel=bound)


def test_idf_separate_is_refused_beside_a_corpus_but_scored_whole(tiny_bert):
    base = InfoLMScorer(model_name_or_path=str(tiny_bert), idf="separate")
    with pytest.raises(ValueError, match="separate"):
        score_grid(base, ["a cat"], [["a cat"]], [base.settings], corpus=["a cat"])
    found = score_measures(base, ["a cat", "rain"], [["a cat"], ["a dog"]])
    assert "idf:separate" in found.signature


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
        if statistic not in ("accuracy", "partial"):
            expected = correlation(ratings.human["coverage"], grid, statistic, level)
            assert found[level, statistic] == pytest.approx(expected, abs=1e-6)
    assert {cell["metric"] for cell in cells} == {"fisher_rao_distance", "bleu", "ter", "length"}


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
    accuracy = found["text", "bleu", "accuracy"]
    assert accuracy["value"] == calibrated_accuracy(human, ratings.metrics["bleu"]).value
    assert 0 <= accuracy["low"] <= accuracy["high"] <= 1


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


@pytest.mark.parametrize("arguments", [["correlate", "--no-metric"], ["correlate"], ["report"]])
def test_a_column_named_length_is_asked_for_another_name_before_a_model_is_loaded(
    capsys, arguments
):
    named = [{**row, "metrics": {"length": row["metrics"]["ter"]}} for row in ROWS]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, named)))
    assert main([*arguments, "rows.jsonl", "-o", "out", "--model", "no/such/model"]) == 2
    errors = capsys.readouterr().err
    assert "a metric is named 'length'" in errors and "rename it" in errors


@pytest.mark.parametrize("command", ["correlate", "report"])
def test_a_column_may_not_have_the_name_of_a_score_of_ours(capsys, command):
    named = [{**row, "metrics": {"fisher_rao_distance": row["metrics"]["ter"]}} for row in ROWS]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, named)))
    assert main([command, "rows.jsonl", "-o", "out", "--model", "no/such/model"]) == 2
    assert "two metrics are named 'fisher_rao_distance'" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["correlate", "report"])
def test_length_may_be_named_among_the_rivals(infolm, command):
    output = ["-o", "out"] if command == "report" else []
    arguments = ("--scores", "bleu", "--against", "length", "--resamples", "20", *output)
    code, written, errors = infolm(command, "rows.jsonl", *arguments)
    assert code == 0, errors
    page = written if command == "correlate" else Path("out/index.html").read_text()
    assert page.count("p vs length") == 2


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
    header = "| criterion | metric | Pearson | Spearman | Kendall | accuracy | given length "
    assert header + "| p vs bleu | p vs length |" in output
    row = next(line for line in output.splitlines() if line.startswith("| coverage | ter"))
    assert re.search(
        r"-?\d\.\d{3} \[-?\d\.\d\d, -?\d\.\d\d\] \|.* (<0.001|\d\.\d{3}) \| (<0.001|\d\.\d{3}) \|$",
        row,
    )
    assert "Williams' test" in output


def test_correlate_says_what_it_left_out(infolm):
    gap = [dict(row) for row in ROWS]
    gap[3] = {**gap[3], "human": {"fluency": None, "coverage": 50}}
    person = {**gap[0], "system": "person", "prediction": None, "is_human": True}
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, [*gap, person])))
    _, output, _ = infolm("correlate", "rows.jsonl", "--no-metric")
    assert "fluency: 1 samples left out" in output
    assert "1 rows of human texts were passed over." in output


@pytest.mark.parametrize("command", ["correlate", "tune", "report"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--criterion", "clarity"], "rows.jsonl, line 1: no human score 'clarity'"),
        (["--exclude-system", "good", "--exclude-id", "0", "--scores", "x"], "no metrics score"),
        (["--exclude-system", "god"], "unknown system to exclude 'god'; did you mean 'good'?"),
        (["--exclude-id", "9"], "unknown id to exclude '9'; known: '0', '1', '2', '3'"),
        (["--lower-is-better", "wer"], "--lower-is-better wer: no such metric column"),
        (["--resamples", "0"], "--resamples must be at least 1"),
        (["--seed", "-1"], "--seed must be at least 0"),
        (["--measure", "fischer"], "unknown --measure 'fischer'"),
    ],
)
def test_wrong_arguments_are_refused_before_a_model_is_loaded(capsys, command, arguments, message):
    output = ["-o", "out"] if command == "report" else []
    code = main([command, "rows.jsonl", *arguments, *output, "--model", "no/such/model"])
    captured = capsys.readouterr()
    assert code == 2, captured.err
    assert message in captured.err


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        ("correlate", ["--metric", "bleu"], "a column of scores is named with --scores bleu"),
        ("tune", ["--metric=ter"], "a column of scores is named with --scores ter"),
        ("report", ["--metric", "bleu"], "a column of scores is named with --scores bleu"),
        ("correlate", ["--baseline", "bleu"], "--baseline is now --against NAME"),
        ("report", ["--baseline", "bleu"], "--baseline is now --against NAME"),
        ("correlate", ["--no-infolm"], "--no-infolm is now --no-metric"),
        ("correlate", ["--confidence", "95"], "--confidence must be above 0 and below 1, got 95"),
        (
            "correlate",
            ["--against", "x"],
            "unknown rival 'x'; known: 'fisher_rao_distance'",
        ),
        ("correlate", ["--no-metric", "--against", "x"], "known: 'bleu', 'ter', 'length'"),
        (
            "report",
            ["-o", "out", "--against", "x"],
            "rival 'x'; known: 'fisher_rao_distance'",
        ),
    ],
)
def test_old_flags_and_wrong_values_are_answered_with_what_to_give(
    capsys, command, arguments, message
):
    assert main([command, "rows.jsonl", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out and not Path("out").exists()


def test_a_measure_can_be_the_rival_of_what_rides_along(infolm):
    code, output, errors = infolm(
        "correlate", "rows.jsonl", "--scores", "bleu", "--against", "fisher_rao_distance"
    )
    assert code == 0, errors
    assert "p vs fisher_rao_distance" in output
    assert "ter" not in {line.split()[1] for line in output.splitlines() if line.count("[") > 3}
    assert "infolm: lower is better: negated, so that higher is better everywhere." in output


@pytest.mark.parametrize(
    ("arguments", "tried"),
    [
        ([], 2 * (5 * 4 + 2 * 2 + 3 * 2)),
        (["--idf", "none"], 5 * 4 + 2 * 2 + 3 * 2),
        (["--symmetrize", "jensen", "--symmetrize", "none", "--idf", "none"], 2 * 30),
        (["-t", "1.5", "--idf", "none"], 5 + 2 * 2 + 4),
        (["-m", "kl", "-m", "renyi", "--idf", "none"], 4 * (1 + 2)),
        (["--alpha", "0.5", "--idf", "none"], 4 * 2),
        (["-m", "ab", "--beta", "1", "-t", "1", "-t", "2"], 2 * 2 * 2),
    ],
)
def test_tune_tries_all_combinations_of_what_is_listed(infolm, arguments, tried):
    code, output, errors = infolm(
        "tune", "rows.jsonl", *arguments, "--resamples", "20", "--json", "--criterion", "fluency"
    )
    assert code == 0, errors
    assert len(json.loads(output)["trials"]) == tried


def people_tell_apart_in_the_first_sample_alone(others):
    """The seed of a split that does not hold it out; `others` gives their scores elsewhere."""
    rows = [
        {**row, "human": {"fluency": row["human"]["fluency"] if row["id"] == 0 else others(row)}}
        for row in ROWS
    ]
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    samples = [str(sample) for sample in range(len(REFERENCES))]
    return next(str(seed) for seed in range(9) if "0" in split_samples(samples, 2, seed)[0])


def test_what_tune_cannot_tell_is_null_in_json(infolm):
    seed = people_tell_apart_in_the_first_sample_alone(lambda row: 10 * row["id"])
    given = ["-m", "l1", "-t", "1", "--level", "text", "--resamples", "20", "--seed", seed]
    code, output, errors = infolm("tune", "rows.jsonl", *given, "--json")
    assert code == 0, errors
    cells = json.loads(output, parse_constant=pytest.fail)["held_out"]
    assert [cell["value"] for cell in cells] == [None, None]


def test_tune_needs_scores_that_differ_in_both_splits_before_a_model_is_loaded(capsys):
    seed = people_tell_apart_in_the_first_sample_alone(lambda row: 50)
    assert main(["tune", "rows.jsonl", "--seed", seed, "--model", "no/such/model"]) == 2
    message = "column 'fluency' of the samples held out: all 10 values are 50"
    assert message in capsys.readouterr().err


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


# infolm tune


def test_tune_chooses_on_one_split_and_reports_on_the_other(scorer):
    ratings = read_ratings(ROWS)
    lists = {"information_measure": ["fisher_rao", "l1"], "temperature": [0.5, 1.0, 2.0]}
    grids = [{**lists, "idf": ["references", False]}]
    result = tune(ratings, scorer, grids=grids, criteria=["fluency"], development=2, seed=1)
    here, there = (ratings.select(ids) for ids in (result.development_ids, result.held_out_ids))
    values = {}
    for idf in ("references", False):
        alone = InfoLMScorer(model_name_or_path=scorer.settings.model_name_or_path, idf=idf)
        grid = alone.settings.grid(lists)
        for settings, scores in score_grid(alone, ratings.predictions, ratings.references, grid):
            part = np.isin(ratings.places[:, 1], [ratings.samples.index(s) for s in here.samples])
            development = correlation(here.human["fluency"], here.grid(-scores[part]))
            values[settings.information_measure, settings.temperature, idf] = (
                development,
                correlation(there.human["fluency"], there.grid(-scores[~part])),
            )
    best = result.best.information_measure, result.best.temperature, result.best.idf
    assert best == max(values, key=lambda key: values[key][0])
    assert len(result.trials) == len(values) == 12
    assert result.trials[0].development == pytest.approx(values[best][0], abs=1e-6)
    assert result.held_out_mean(TUNED) == pytest.approx(values[best][1], abs=1e-6)
    default = values["fisher_rao_distance", 1.0, "references"][1]
    assert result.held_out_mean(DEFAULTS) == pytest.approx(default, abs=1e-6)


def test_tune_reads_each_text_once_for_everything_it_tries(scorer, monkeypatch):
    ratings = read_ratings(ROWS)
    fresh = InfoLMScorer(model_name_or_path=scorer.settings.model_name_or_path)
    with counted_contexts(monkeypatch) as tried:
        tune(ratings, fresh, development=2)
    texts = [*ratings.predictions, *(text for group in ratings.references for text in group)]
    with counted_contexts(monkeypatch) as needed:
        fresh.distributions(texts, idf=False, reuse_memory=0)
    assert 0 < len(tried) == len(needed)


def test_tune_does_not_look_at_the_scores_held_out(scorer):
    ratings = read_ratings(ROWS)
    lists = {"information_measure": ["fisher_rao", "l2"], "temperature": [0.5, 2.0]}
    grids = [{**lists, "idf": ["references", False]}]
    before = tune(ratings, scorer, grids=grids, development=2)
    held_out = {ratings.samples.index(name) for name in before.held_out_ids}
    changed = [
        {**row, "human": {"fluency": 100 - row["human"]["fluency"], "coverage": index}}
        if row["id"] in held_out
        else row
        for index, row in enumerate(ROWS)
    ]
    after = tune(read_ratings(changed), scorer, grids=grids, development=2)
    assert after.trials == before.trials
    assert after.held_out_mean(TUNED) != before.held_out_mean(TUNED)


def test_the_settings_that_tune_prints_can_be_pasted(infolm, tiny_bert):
    code, output, errors = infolm(
        "tune", "rows.jsonl", "-m", "ab", "-t", "1.5", "--alpha", "0.5", "--beta", "1",
        "--idf", "none", "--development", "2", "--resamples", "50",
        "--max-length", "9", "--masks-per-pass", "0",
    )  # fmt: skip
    assert code == 0, errors
    flags = re.search(r"^infolm score (.*) \.\.\.$", output, re.MULTILINE)[1].split()
    keywords = re.search(r"^InfoLM\((.*)\)$", output, re.MULTILINE)[1]
    scorer = InfoLMScorer(**eval(f"dict({keywords})"))
    assert (scorer.settings.alpha, scorer.settings.idf) == (0.5, False)
    assert re.search(r"^signature: (.*)$", output, re.MULTILINE)[1] == scorer.signature()
    assert Path(scorer.settings.model_name_or_path) == tiny_bert
    _, scored, _ = infolm("score", *flags, "the cat", "a dog", "--json")
    assert json.loads(scored)["scores"] == scorer.score(["the cat"], ["a dog"])["scores"]


@pytest.mark.parametrize("development", ["1", "3", "40"])
def test_a_split_too_small_is_refused_before_a_model_is_loaded(capsys, development):
    code = main(["tune", "rows.jsonl", "--development", development, "--model", "no/such/model"])
    assert code == 2
    assert "development must leave both splits at least 2" in capsys.readouterr().err


# infolm compare


@pytest.mark.parametrize("test", ["bootstrap", "randomization"])
def test_compare_shows_the_means_that_score_gives(infolm, test):
    files = [f"{system}.txt" for system in SYSTEMS[:3]]
    code, output, errors = infolm(
        "compare", *files, "-r", "ref.txt", "--json", "--test", test, "--resamples", 200
    )
    assert code == 0, errors
    result = json.loads(output)
    rows = result["systems"]["fisher_rao_distance"]
    assert [row["system"] for row in rows] == files
    for row, name in zip(rows, files, strict=True):
        alone = json.loads(infolm("score", "-c", name, "-r", "ref.txt", "--json")[1])
        assert row["mean"] == pytest.approx(alone["infolm"], abs=1e-6)
        assert result["signature"] == alone["signature"]
        assert row["low"] <= row["mean"] <= row["high"]
    assert [row["p_value"] is None for row in rows] == [True, False, False]


def test_compare_prints_a_table(infolm):
    code, output, _ = infolm("compare", "good.txt", "weak.txt", "-r", "ref.txt")
    assert code == 0
    lines = output.splitlines()
    assert lines[0].split() == [
        "system",
        "fisher_rao_distance",
        "95%",
        "interval",
        "difference",
        "p",
    ]
    assert "the first" in lines[1]
    assert "paired bootstrap against good.txt" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good.txt"], "give at least two files of candidates"),
        (["good.txt", "good.txt"], "good.txt is given twice"),
        (["good.txt", "short.txt"], "good.txt has 4, short.txt has 1"),
        (["good.txt", "no.txt"], "cannot read no.txt: there is no such file"),
        (["good.txt", "weak.txt", "--resamples", "0"], "--resamples must be at least 1, got 0"),
        (["good.txt", "weak.txt", "--seed", "-1"], "--seed must be at least 0, got -1"),
        (["good.txt", "weak.txt", "--idf", "separate"], "--idf separate weighs each system by"),
    ],
)
def test_compare_refuses_what_cannot_be_compared(infolm, arguments, message):
    Path("short.txt").write_text("a\n")
    code, _, errors = infolm("compare", *arguments, "-r", "ref.txt")
    assert code == 2
    assert message in errors


def test_compare_refuses_one_text_and_warns_of_few(infolm):
    for count in (1, 2, 19, 20):
        for name in ("one", "two", "three"):
            Path(f"{name}.txt").write_text(f"the cat {name}\n" * count)
        code, output, errors = infolm("compare", "one.txt", "two.txt", "-r", "three.txt")
        assert code == (2 if count == 1 else 0), errors
        assert ("one.txt must have at least two texts" in errors) == (count == 1)
        assert (f"{count} texts; with fewer than 20" in errors) == (1 < count < 20)


# infolm report


@pytest.mark.parametrize("format", ["png", "svg"])
def test_a_report_holds_its_figures_and_escapes_its_texts(scorer, folder, format):
    evil = [dict(row) for row in ROWS]
    evil[0] = {**evil[0], "prediction": "<script>alert(1)</script>", "references": ["<b>&"]}
    evil[0]["human"] = {"fluency": 100, "coverage": 100}  # of which no metric can know
    page = write_report(read_ratings(evil), scorer, folder / "out", format=format, resamples=50)
    html = page.read_text()
    assert "<script" not in html and "<b>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    files = sorted(path for path in (folder / "out").iterdir() if path.suffix == f".{format}")
    embedded = re.findall(r'src="data:image/[a-z+]+;base64,([^"]+)"', html)
    assert len(files) == len(embedded) == 6
    assert {path.read_bytes() for path in files} == {base64.b64decode(code) for code in embedded}
    assert not re.search(r'(src|href)="(?!data:)', html)
    assert "signature" in html and "Figure 6." in html


def test_report_makes_its_folder_and_names_the_page(infolm):
    code, output, errors = infolm(
        "report", "rows.jsonl", "-o", "new/report", "--against", "bleu", "--resamples", "50"
    )
    assert code == 0, errors
    assert output == str(Path("new/report/index.html")) + "\n"
    assert "p vs bleu" in Path("new/report/index.html").read_text()


def test_report_refuses_a_file_in_the_place_of_its_folder(infolm):
    code, _, errors = infolm("report", "rows.jsonl", "-o", "ref.txt")
    assert code == 2
    assert "it is a file" in errors


def test_without_matplotlib_the_error_names_what_to_install(scorer, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        write_report(read_ratings(ROWS), scorer, folder / "out")


# What the answer says


def test_tune_warns_of_few_samples_and_prints_a_signature(infolm):
    code, output, errors = infolm("tune", "rows.jsonl", "-m", "l1", "-t", 1, "-t", 2)
    assert code == 0, errors
    assert "2 samples to choose settings on and 2 to judge them; with fewer than 20" in errors
    assert "signature: metric:infolm|measure:l1_distance|" in output.splitlines()[-1]


def test_tune_names_a_table_by_its_path(infolm, scorer):
    IDF.from_corpus(["the cat", "a dog"], scorer.tokenizer).save("own.idf")
    options = ("rows.jsonl", "-m", "l1", "-t", 1, "--idf", "own.idf")
    code, output, errors = infolm("tune", *options)
    assert code == 0, errors
    assert "--idf own.idf" in output and "idf='own.idf'" in output
    code, output, errors = infolm("tune", *options, "--json")
    assert code == 0, errors
    made = json.loads(output)
    assert made["best"] == {"information_measure": "l1_distance", "idf": "own.idf"}
    assert f"|idf:{IDF.load('own.idf')}|" in made["signature"]


def test_compare_reads_one_file_from_standard_input(infolm, monkeypatch):
    expected = infolm("compare", "good.txt", "fair.txt", "-r", "ref.txt")
    content = io.TextIOWrapper(io.BytesIO(Path("ref.txt").read_bytes()))
    monkeypatch.setattr("sys.stdin", content)
    assert infolm("compare", "good.txt", "fair.txt", "-r", "-") == expected
    assert expected[0] == 0


def test_compare_shows_rescaled_means_beside_the_others(infolm, tiny_bert):
    texts = [f"the {a} {b}" for a in ("cat", "dog", "rain", "wind", "house") for b in WORDS]
    Path("corpus.txt").write_text("".join(f"{text}\n" for text in texts * 2))
    Path("more.txt").write_text("".join(f"a {text}\n" for text in texts))
    for name in ("one", "two", "refs"):
        shift = ("refs", "one", "two").index(name)
        Path(f"{name}.txt").write_text("".join(f"{t}\n" for t in texts[shift:] + texts[:shift]))
    files = ("one.txt", "two.txt", "-r", "refs.txt")
    assert "rescaled" not in infolm("compare", *files)[1]
    code, output, errors = infolm("compare", *files, "--rescale-with-baseline", "--json")
    assert code == 0, errors
    made = json.loads(output)
    assert "|baseline:call-" in made["signature"]
    (rows,) = made["systems"].values()
    # 1 - mean / baseline, of one baseline for both
    ratios = [(1 - row["rescaled"]) / row["mean"] for row in rows]
    assert ratios[0] == pytest.approx(ratios[1])
    assert rows[0]["mean"] > 0 and rows[0]["rescaled"] < 1
    code, output, errors = infolm("compare", *files, "--rescale-with-baseline")
    assert output.splitlines()[0].split()[2] == "rescaled"
    assert f"{rows[0]['rescaled']:.4f}" in output


@pytest.mark.parametrize("command", ["correlate", "tune", "report"])
def test_rescaling_is_refused_where_it_changes_nothing(infolm, command):
    code, _, errors = infolm(command, "rows.jsonl", "-o", "out", "--rescale-with-baseline")
    assert code == 2
    assert "unrecognized arguments: --rescale-with-baseline" in errors
