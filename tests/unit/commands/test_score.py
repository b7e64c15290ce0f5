"""`infolm score`: inputs, output formats, interpretation of scores and invalid input."""

import csv
import io
import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest

from infolm_metric import InfoLMScorer
from infolm_metric.core.inputs import Pairs, counted
from tests import typed_rows
from tests.nearly_equal import assert_nearly_equal, assert_text_nearly_equal
from tests.random_pairs import write_lines
from tests.toy import ToyScorer
from tests.unit.commands.conftest import TEXTS

CANDIDATES, REFERENCES, SECOND = TEXTS.values()
GROUPS = [list(group) for group in zip(REFERENCES, SECOND, strict=True)]
FILES = ("-c", "sys.txt", "-r", "ref.txt")
FISHER_RAO = "fisher_rao_distance"


@pytest.fixture(scope="module")
def scorer(tiny_bert):
    """Scorer without a cache, for the expected results."""
    return InfoLMScorer(model_name_or_path=str(tiny_bert), reuse_memory=0)


@pytest.fixture
def score(infolm_output):
    """Function that runs `infolm score --json` and returns the parsed output."""
    return lambda *arguments: json.loads(infolm_output("score", "--json", *arguments))


@pytest.fixture
def toy(score):
    """Function that runs `infolm score` with the toy metric and returns the scores."""
    return lambda *arguments: score("--metric", "toy", *arguments)["scores"]


def toy_scores(candidates, references):
    return ToyScorer().score(candidates, references).scores["toy"]


def summary_lines(output):
    """Return the lines of a summary, except for the signature."""
    return [line for line in output.splitlines() if not line.startswith("signature")]


# Input


def test_texts_and_files_get_the_scores_of_the_python_api(score, scorer):
    expected = scorer.score([CANDIDATES[0]], [[REFERENCES[0], SECOND[0]]]).as_dict()
    assert_nearly_equal(score(CANDIDATES[0], REFERENCES[0], SECOND[0]), expected)
    expected = scorer.score(CANDIDATES, GROUPS, multi_reference="mean").as_dict()
    result = score(*FILES, "-r", "ref2.txt", "--multi-reference", "mean")
    assert_nearly_equal(result, expected)


def test_texts_can_follow_options_and_start_with_a_dash_after_a_double_dash(toy):
    expected = toy_scores(["a cat"], ["the cat"])
    assert toy("a cat", "--size", "1", "the cat") == expected
    assert toy("--", "- the cat", "--dog") == toy_scores(["- the cat"], ["--dog"])


NAMES = ["sys.txt", "no.txt", "NO.TSV.gz", "no.json", "no.jsonl", "no.parquet", "folder/no.csv"]


@pytest.mark.parametrize("name", [*NAMES, "a_file", os.devnull])
def test_file_names_are_scored_as_texts_only_after_a_double_dash(infolm_error, toy, name):
    Path("a_file").touch()
    for texts in ((name, "a cat"), ("a cat", "the cat", name), (name, "no.txt"), (name, "--", "a")):
        errors = infolm_error("score", *texts)
        assert repr(name) in errors and "-c" in errors and "--data" in errors
    assert toy("--", name, "a cat") == toy_scores([name], ["a cat"])
    assert toy("a cat", "--", name) == toy_scores(["a cat"], [name])


@pytest.mark.parametrize("text", ["See no.txt", "folder", "cat.", "no.en", ".txt", "x" * 5000, ""])
def test_other_texts_are_not_mistaken_for_file_names(toy, text):
    Path("folder").mkdir()
    assert toy(text, "a cat") == toy_scores([text], ["a cat"])


def test_tables_can_be_files_standard_input_or_datasets(toy, monkeypatch):
    pairs = zip(CANDIDATES, GROUPS, strict=True)
    rows = [{"candidate": text, "reference": group} for text, group in pairs]
    expected = toy_scores(CANDIDATES, GROUPS)
    Path("data").mkdir()
    text = "".join(json.dumps(row) + "\n" for row in rows)
    for name in ("data.jsonl", "data/train.jsonl"):
        Path(name).write_text(text)
    pd.DataFrame(rows).to_csv("data.csv", index=False)
    pd.DataFrame(rows).to_parquet("data.parquet")
    for name in ("data.jsonl", "data.csv", "data.parquet"):
        assert toy(name) == toy("--data", name) == expected
    assert toy("--dataset", "data") == expected
    for arguments in (["-"], ["--data", "-"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        assert toy(*arguments) == expected
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\n".join([b"a cat"] * 3))))
    assert toy("-c", "-", "-r", "ref.txt") == toy_scores(["a cat"] * 3, REFERENCES)
    Path("data.tsv").write_text("out\ta\tb\nthe cat\ta cat\tthe dog\n")
    columns = ("--candidate-column", "out", "--reference-column", "a", "--reference-column", "b")
    assert toy("data.tsv", *columns) == toy_scores(["the cat"], [["a cat", "the dog"]])


@pytest.mark.parametrize("name", typed_rows.TABLES)
def test_texts_and_other_columns_come_out_as_they_went_in(infolm_output, name):
    rows = typed_rows.TABLES[name]
    typed_rows.write_table(Path(name), rows)
    infolm_output("score", "--metric", "toy", name, "-o", "scores.jsonl")
    output = [json.loads(line) for line in Path("scores.jsonl").read_text().splitlines()]
    for row in output:
        del row["pair"], row["toy"]
    assert output == rows
    types = [[list(map(type, row.values())) for row in part] for part in (output, rows)]
    assert types[0] == types[1]


OPTIONS = [
    (["-m", "alpha", "--alpha", "-2"], {"information_measure": "alpha", "alpha": -2}),
    (["-m", "beta", "--beta", "1e-3"], {"information_measure": "beta", "beta": 1e-3}),
    (["-m", "kl", "--symmetrize", "none"], {"information_measure": "kl", "symmetrize": "none"}),
    (["--idf", "none", "--batch-size", "auto"], {"idf": False, "batch_size": "auto"}),
]


@pytest.mark.parametrize(("arguments", "settings"), OPTIONS)
def test_options_have_the_effect_of_their_settings(score, scorer, arguments, settings):
    result = scorer.score(CANDIDATES, REFERENCES, **settings)
    expected = result.renamed(scorer.settings.replace(**settings).column).as_dict()
    assert_nearly_equal(score(*FILES, *arguments), expected)


# Output


def test_summary_shows_pairs_direction_and_bounds(infolm, scorer):
    _, output, _ = infolm("score", *FILES, "-m", "l2", "-m", "kl")
    result = scorer.score(CANDIDATES, REFERENCES, information_measure=["l2", "kl"])
    lines = [
        f"infolm_l2_distance: {result.mean('l2_distance'):.6g} "
        "(mean of 3 pairs; lower is better; 0 = the same distribution, maximum 1.41421)",
        f"infolm_kl_divergence: {result.mean('kl_divergence'):.6g} "
        "(mean of 3 pairs; lower is better; 0 = the same distribution, no maximum)",
        f"signature: {result.signature}",
    ]
    assert_text_nearly_equal(output, "".join(f"{line}\n" for line in lines))


def test_per_pair_prints_a_table_followed_by_the_summary(infolm):
    arguments = ("score", "--metric", "toy", *FILES)
    summary, output = infolm(*arguments)[1], infolm(*arguments, "--per-pair")[1]
    scores = enumerate(toy_scores(CANDIDATES, REFERENCES), 1)
    table = "".join(f"{number}\t{score:.6g}\n" for number, score in scores)
    commented = "".join(f"# {line}\n" for line in summary.splitlines())
    assert output == "pair\ttoy\n" + table + commented


@pytest.mark.parametrize("name", ["scores.csv", "scores.tsv", "scores.jsonl"])
def test_output_keeps_input_columns_and_can_be_scored_again(infolm_output, toy, name):
    rows = [{"id": "x,1", "prediction": "a cat", "references": ["the cat", 'a "cat"'], "n": 5}]
    text = "A dog\r\nran\tto\rit.\n"
    rows.append({"id": "y", "prediction": text, "references": ["b"], "more": None})
    write_lines(Path("data.jsonl"), rows)
    output = infolm_output("score", "--metric", "toy", "data.jsonl", "-o", name)
    assert output.startswith("toy: ")
    if name.endswith("jsonl"):
        table = pd.read_json(name, lines=True, dtype=object)
    else:
        table = pd.read_csv(name, sep="\t" if name.endswith("tsv") else ",")
    assert {*table} == {"pair", "id", "prediction", "references", "n", "toy", "more"}
    assert list(table["id"]) == ["x,1", "y"] and list(table["pair"]) == [1, 2]
    assert list(table["prediction"]) == ["a cat", text]
    assert list(table["toy"]) == toy("data.jsonl") == toy(name)


RESCALED = ["--model", "bundled", "--idf", "none", "--rescale-with-baseline"]
NEW_COLUMNS = [
    ("pair", ["--metric", "toy"]),
    ("toy", ["--metric", "toy"]),
    ("infolm_rescaled", RESCALED),
    ("menli_e-c", ["--metric", "menli", "--model", "bundled", "--task", "summary"]),
    ("verdict", ["--metric", "answer_check"]),
]


@pytest.mark.parametrize("output", ["new.csv", "new.jsonl"])
@pytest.mark.parametrize(("column", "options"), NEW_COLUMNS)
def test_input_with_a_result_column_is_rejected(infolm_error, no_model, output, column, options):
    row = {"prediction": "a cat", "reference": "a dog"}
    write_lines(Path("old.jsonl"), [row, {**row, column: "keep me"}])
    errors = infolm_error("score", "old.jsonl", "-o", output, *options)
    assert f"old.jsonl, line 2: column {column!r} already exists" in errors
    assert not Path(output).exists()


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl"])
def test_nested_nan_and_infinity_become_null(infolm_output, name):
    values = {"human": {"f": float("nan"), "g": [1.5, float("inf")]}, "n": float("nan")}
    write_lines(Path("data.jsonl"), [{"prediction": "a", "reference": "b", **values}])
    infolm_output("score", "--metric", "toy", "data.jsonl", "-o", name)
    if name.endswith("csv"):
        (row,) = csv.DictReader(io.StringIO(Path(name).read_text()))
        assert (json.loads(row["human"]), row["n"]) == ({"f": None, "g": [1.5, None]}, "")
    else:
        row = json.loads(Path(name).read_text(), parse_constant=pytest.fail)
        assert (row["human"], row["n"]) == ({"f": None, "g": [1.5, None]}, None)


def test_job_resumes_and_rejects_changed_settings(infolm, infolm_error):
    arguments = ("score", "--metric", "toy", *FILES, "-o", "scores.jsonl")
    code, output, errors = infolm(*arguments)
    assert (code, errors) == (0, "")
    assert infolm(*arguments) == (0, output, "infolm: 3 pairs had already been scored\n")
    errors = infolm_error(*arguments, "--size", "2")
    assert "size is 2 instead of 1" in errors and "--restart" in errors
    assert infolm(*arguments, "--size", "2", "--restart")[0] == 0


def test_warnings_go_to_standard_error(infolm):
    code, output, errors = infolm("score", "the cat " * 50, "the cat", "--json")
    assert code == 0 and json.loads(output)["warnings"]["too_long"] == 1
    assert errors.startswith("infolm: warning: 1 of 2 texts") and "window" in errors
    assert "--long-text" in errors and "long_text" not in errors


# Several metrics


BOTH = ("--metric", "toy", "--metric", "infolm")


@pytest.fixture
def both(scorer):
    """Scores of the toy metric and of InfoLM, by column."""
    result = scorer.score(CANDIDATES, REFERENCES, idf=False)
    return {"toy": toy_scores(CANDIDATES, REFERENCES), "infolm": result.scores[FISHER_RAO]}


def test_summary_of_several_metrics_is_a_table_with_the_scores_of_single_calls(infolm_output, both):
    header, *rows = infolm_output("score", *FILES, *BOTH, "--idf", "none").splitlines()
    assert header.split() == ["metric", "mean", "better", "unrelated", "verdict"]
    for row, (name, scores) in zip(rows, both.items(), strict=False):
        assert row.split()[0] == name
        assert float(row.split()[1]) == pytest.approx(sum(scores) / 3, rel=1e-5)
    assert rows[0].split()[2] == "higher" and rows[1].split()[2] == "lower"
    assert [line[:21] for line in rows[2:]] == ["signature: metric:toy", "signature: metric:inf"]


@pytest.mark.parametrize("name", ["scores.csv", "scores.tsv", "pairs.txt"])
def test_tables_have_a_column_per_metric(infolm_output, both, name):
    infolm_output("score", *FILES, *BOTH, "--idf", "none", "--per-pair", "-o", name)
    table = pd.read_csv(name, sep="," if name.endswith("csv") else "\t", comment="#")
    assert [*table][-2:] == ["toy", "infolm"]
    for column, scores in both.items():
        assert list(table[column]) == pytest.approx(scores, rel=1e-5)


def test_json_of_several_metrics_contains_the_result_of_each(score):
    report = score(*FILES, *BOTH, "--idf", "none", "--size", 2)["metrics"]
    assert report["toy"] == score(*FILES, "--metric", "toy", "--size", 2)
    assert_nearly_equal(report["infolm"], score(*FILES, "--idf", "none"))


def test_scores_are_named_after_the_metric_and_a_combination_after_both(infolm_output):
    options = ("--model", "bundled", "--metric", "menli", "--per-pair")
    several = ("--metric", "infolm", "-m", "fisher_rao", "-m", "kl", "--idf", "none")
    names = {
        (): "menli",
        ("--formula", "e"): "menli",
        ("--formula", "e-c"): "menli_e-c",
        ("--combine-with", "baryscore"): "menli+baryscore",
        ("--task", "summary", "--combine-with", "infolm"): "menli_e-c+infolm",
        several: "menli\tinfolm\tinfolm_kl_divergence",
    }
    for words, name in names.items():
        output = infolm_output("score", *options, *words, "A cat sat.", "The cat slept.")
        assert output.splitlines()[0] == f"pair\t{name}"


def test_score_only_prints_one_number_also_beside_a_file(infolm_output, infolm_error):
    number = f"{sum(toy_scores(CANDIDATES, REFERENCES)) / 3:.6g}\n"
    for output in ((), ("-o", "scores.csv"), ("-o", "scores.jsonl")):
        assert infolm_output("score", *FILES, "--metric", "toy", "-b", *output) == number
    assert len(pd.read_csv("scores.csv")) == 3
    for options in (BOTH, ("-m", "l1", "-m", "l2"), ("--rescale-with-baseline",)):
        errors = infolm_error("score", *FILES, "-b", "--model", "bundled", *options)
        assert "-b prints a single number" in errors


@pytest.mark.parametrize("metric", ["infolm", "baryscore", "bertscore", "answer_check"])
def test_a_score_is_explained_in_lines(infolm_output, infolm_error, metric):
    options = ["--metric", metric, "--model", "bundled", "--explain"]
    lines = infolm_output("score", *options, "A cat sat on it.", "A dog sat.").splitlines()
    assert len(lines) > 3 and all(lines)
    error = infolm_error("score", *options, "A cat sat on it.", "A dog sat.", "A cat.")
    assert "got pairs: 1, references: 2" in error
    infolm_output("score", *options, "A cat sat on it.", "A dog sat.", "-o", "why.txt")
    assert Path("why.txt").read_text().splitlines() == lines


def test_short_signature_is_printed_on_request(infolm_output, score):
    arguments = ("a cat", "the cat", "--model", "bundled", "--idf", "none")
    signature = score(*arguments, "--short-signature")["signature"]
    assert f"signature: {signature}" in infolm_output("score", *arguments)
    short = infolm_output("score", *arguments, "--short-signature").splitlines()[-1]
    assert re.fullmatch(r"signature: metric:infolm\|idf:no\|model:\S+@\S+\|infolm:[\d.]+", short)


# Interpretation of a score


CAT = "The cat sat on the mat."
VERDICTS = [
    ((CAT, CAT), "identical"),
    (
        (CAT, "The cat sat on a mat."),
        "far closer than unrelated texts (close does not mean correct)",
    ),
    (("Heavy rain is expected.", "Two plus two is four."), "about as far apart as unrelated texts"),
    (("yes", "no"), "fully masked texts, different texts with the best score"),
    (("東京は雨 🙂 🚀", "a dog"), "out-of-domain texts, unknown tokens"),
]


@pytest.mark.parametrize(("texts", "verdict"), VERDICTS)
def test_summary_interprets_the_score_in_words(infolm_output, texts, verdict):
    run = InfoLMScorer(model_name_or_path="bundled", idf=False).prepare()
    (tokens,) = run.pair_tokens(Pairs([texts[0]], [[texts[1]]]))
    stats = run.unrelated([1])[1][FISHER_RAO].at(tokens)
    low, high = stats.percentiles[2], stats.percentiles[-1]
    words = f"unrelated texts of {counted(tokens, 'token')}: mean {stats.mean:.3g}, "
    words += f"80% between {low:.3g} and {high:.3g} ("
    for options in ((), ("--idf", "none", "-o", "scores.jsonl", "--restart")):
        _, sentence = summary_lines(infolm_output("score", "--model", "bundled", *texts, *options))
        assert sentence.startswith(words)
        start = "no verdict, because of" if "texts," in verdict else "this pair is"
        assert f"; {start} " in sentence and sentence.endswith(f" {verdict}")


def test_a_template_gets_a_verdict_only_with_other_weights_or_its_own_baseline(infolm_output):
    corpus = [f"The price is {number} dollars.\n" for number in range(10, 50)]
    Path("truth.txt").write_text("".join(corpus))
    Path("system.txt").write_text("".join(corpus[1:] + corpus[:1]))
    model = ("--metric", "baryscore", "--model", "bundled")
    arguments = ("score", *model, "-c", "system.txt", "-r", "truth.txt")
    assert "no verdict, because of texts with few weighted tokens" in infolm_output(*arguments)
    for idf in ("none", "bundled"):
        assert "no verdict" not in infolm_output(*arguments, "--idf", idf)
    infolm_output("baseline", "truth.txt", *model, "--references", "1", "-o", "own.json")
    output = infolm_output(*arguments, "--rescale-with-baseline", "own.json")
    assert "no verdict" not in output and "on average, the pairs are" in output


def test_rescaled_scores_are_shown_on_request(infolm, infolm_error):
    texts = ("the cat sat", "the cat sat")
    arguments = ("score", *texts, "--model", "bundled", "--rescale-with-baseline")
    lines = summary_lines(infolm(*arguments)[1])
    assert lines[-1].startswith("infolm_rescaled: 1 (1 = best possible score, ")
    assert infolm(*arguments, "--per-pair")[1].splitlines()[1] == "1\t0\t1"
    assert "temperature is 2.0 instead of 1.0" in infolm_error(*arguments, "-t", 2)


# Invalid input


INVALID = [
    ([], "nothing to score. Pass texts as arguments, -c FILE and -r FILE"),
    (["a cat"], "the candidate has no references"),
    (["missing"], "got only 'missing'. Add a reference. To score a table, check its name"),
    (["folder"], "Pass a folder of tables with --dataset"),
    (["--data", "folder"], "folder: a table must end in .jsonl"),
    (["-c", "folder", "-r", "ref.txt"], "folder must be a file, but it is a folder"),
    (["--dataset", "data.csv"], "but data.csv is a file. Pass tables with --data"),
    (["--dataset", "folder"], "doesn't contain any data files"),
    (["a cat", "a dog", *FILES], "more than one input. Pass texts"),
    (["-c", "sys.txt"], "Pass -c CANDIDATES and -r REFERENCES"),
    (["-c", "no.txt", "-r", "ref.txt"], "cannot read no.txt: there is no such file"),
    (["--data", "-", "-o", "s.jsonl"], "standard input can be read only once"),
    (["-c", "empty.txt", "-r", "empty.txt"], "empty.txt has no rows"),
    ([*FILES, "-o", "no/scores"], "cannot write no/scores: no folder 'no'"),
    (["a", "b", "--candidate-column", "x"], "--candidate-column and --reference-column require"),
    (["a", "b", "--split", "test"], "--split requires --dataset NAME"),
    ([*FILES, "--restart"], "--restart requires a job"),
    (["--rescale-with-baseline", "a cat", "a", "b"], "there is no file 'a cat'"),
    (["data.csv", *BOTH, "-o", "new.jsonl"], "-o FILE.jsonl takes one metric, got toy, infolm"),
    (["data.csv", *BOTH, "--rescale-with-baseline", "data.csv"], "FILE takes one metric"),
]


@pytest.mark.parametrize(("arguments", "words"), INVALID)
def test_invalid_input_is_rejected_with_exit_code_2(infolm_error, no_model, arguments, words):
    Path("empty.txt").touch()
    Path("folder").mkdir()
    Path("data.csv").write_text("candidate,reference\na,b\n")
    errors = infolm_error("score", *arguments)
    assert errors.startswith("infolm score: error: ")
    assert words in errors and "Traceback" not in errors
