"""Every tool runs to completion on a few rows or with a tiny model."""

import gzip
import importlib
import re
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import torch

from infolm_metric import AnswerCheckScorer, BERTScorer, MENLIScorer
from infolm_metric.answer_check import verdict
from infolm_metric.models.nli import NLIModel
from tests.model_families import SENTENCES, build
from tests.processes import printed
from tests.project_files import ROOT
from tests.random_pairs import write_lines
from tools import answers, assertions, evaluate_nli, figures, layers, memory, speed, study
from tools.data import READERS

ROWS = [
    ("snli_dev", "entailment", "A man is sleeping.", "A man sleeps."),
    ("snli_dev", "contradiction", "The cat sat.", "Nobody sat."),
    ("hans_generated", "not_entailment", "The judge saw the actor.", "The actor saw the judge."),
    ("help_and", "neutral", "Tom sang.", "Tom sang and danced."),
]
CRITERIA = ("correctness", "data_coverage", "fluency", "relevance", "text_structure")


@pytest.fixture
def run(monkeypatch, capsys):
    """Function that runs a tool, which must succeed, and returns its output."""

    def output(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        assert not importlib.import_module(f"tools.{name}").main()
        return capsys.readouterr().out

    return output


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return build("bert", tmp_path_factory.mktemp("encoder"), max_position_embeddings=80)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Folder of the five datasets with a few rows of short texts each, and an attack."""
    folder = tmp_path_factory.mktemp("data")

    def rows(count, samples, **fields):
        for number in range(count * samples):
            system, sample = divmod(number, samples)
            yield {
                "system": f"s{system}",
                "id": str(sample),
                "prediction": " ".join(SENTENCES[number % 12].split()[: 3 + system]),
                "references": [SENTENCES[sample], SENTENCES[sample + 1]],
                "human": {name: system + sample * len(name) % 3 for name in CRITERIA},
                **fields,
            }

    write_lines(folder / "webnlg2020.en.jsonl", [*rows(5, 3), {**next(rows(1, 1)), "id": "1124"}])
    write_lines(folder / "summeval.jsonl", rows(5, 2))
    write_lines(folder / "sfres.jsonl", rows(1, 6, system="-"))
    texts = [{**row, "lang": lang} for lang in ("cs-en", "de-en") for row in rows(6, 1)]
    for row in texts:
        del row["system"], row["id"]
    write_lines(folder / "wmt15.jsonl", texts)
    write_lines(folder / "answers.jsonl", rows(5, 6))
    case = {"attack": "num", "anchor": "It has 2 rooms.", "paraphrase": "It has two rooms."}
    write_lines(folder / "attacks.jsonl", [{**case, "adversary": "It has 3 rooms."}])
    return folder


def test_masked_language_model_is_evaluated(run, tmp_path):
    with gzip.open(tmp_path / "a.valid.txt.gz", "wt") as file:
        file.writelines(f"{text} {text}\n" for text in SENTENCES)
    assert "| pooled | 16 |" in run("evaluate_masked_lm", tmp_path, "--texts", 2)


def test_nli_model_is_evaluated(run, tmp_path):
    file = tmp_path / "rows.tsv.gz"
    with gzip.open(file, "wt") as out:
        out.write("source\tlabel\tpremise\thypothesis\n")
        out.writelines("\t".join(row) + "\n" for row in ROWS)
    table = run("evaluate_nli", file)
    assert "| all, three-way | 3 |" in table and "| hans_generated | 1 |" in table
    assert "| snli_dev | 2 | 100.0 |" in table


def test_calibration_error_is_small_for_the_true_temperature():
    """Draw the labels from softmax(logits / 2), so that the best temperature is 2."""
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(20_000, 3, generator=generator, dtype=torch.float64)
    labels = torch.multinomial(torch.softmax(logits / 2, -1), 1, generator=generator)[:, 0].numpy()
    error = evaluate_nli.expected_calibration_error(logits, labels)
    assert evaluate_nli.expected_calibration_error(logits / 2, labels) < 0.02 < error


def test_study_scores_resumes_and_prints_its_tables(run, data, tmp_path, monkeypatch):
    sets = ("--sets", "webnlg", "wmt15")
    paths = ("--scores", tmp_path / "scores", "--csv", tmp_path / "results", *sets)
    names = ("BLEU", "chrF", "BERTScore", "BaryScore", "BaryScore uniform", "MENLI e avg")
    for share in (0.5, 1):
        run("study", "score", data, *paths, "--share", share, "--metrics", *names)
    assert run("study", "score", data, *paths, "--metrics", *names) == ""
    tables = run("study", "agree", data, *paths, "--resamples", 20)
    for title in ("WebNLG 2020: system-level r", "WebNLG 2020: segment-level tau", "WMT 2015"):
        assert title in tables
    assert "| BaryScore |" in tables and "de-en correctness" in tables
    assert "Chosen: MENLI with BERTScore" in run("study", "choose", data, *paths)
    entries = [entry for entry in study.ENTRIES if {*entry.names} & {*names}]
    monkeypatch.setattr(study, "ENTRIES", entries)
    attacks = ("--attacks", data / "attacks.jsonl")
    assert "| MENLI with BaryScore uniform 0.5 |" in run("study", "trade", data, *paths, *attacks)
    (table,) = (tmp_path / "results").glob("detected*.csv")
    run("figures", tmp_path / "trade_off.svg", "--csv", table)
    assert (tmp_path / "trade_off.svg").stat().st_size > 10_000


def test_the_trade_off_figure_names_its_lines_outside_of_the_panels():
    path = ROOT / "tools/results/detected_attacks_and_segment_level_tau.csv"
    table = pd.read_csv(path, index_col="metric")
    weights = table.index.str.startswith("MENLI with BERTScore").sum() + 2
    figure = figures.trade(table)
    (legend,) = figure.legends
    names = {text.get_text() for text in legend.get_texts()}
    assert {"BERTScore", "BaryScore, uniform weights"} < names
    for axes in figure.axes:
        assert axes.get_legend() is None
        for line in axes.get_lines():
            assert line.get_label() in names
            assert len(line.get_xdata()) in (1, weights)  # weights 0 to 1


@pytest.mark.filterwarnings("ignore:infolm")
def test_the_study_combines_metrics_as_combine_with_does():
    references = [["It has 3.", "It has two rooms."], ["It has 3."], ["It has 3."]]
    texts = study.Texts(["It has 2 rooms.", "A cat sat.", ""], references, (), False)
    scores = {}
    for entry in study.ENTRIES:
        if entry.names[0] in (study.NLI, *study.COMBINABLE):
            scores |= entry.score(texts)
    combined = study.combine_with(scores, "bundled")
    for title, metric in (("BERTScore", "bertscore"), (study.UNIFORM, "baryscore")):
        options = {"model_name_or_path": "bundled", "combine_with": metric, "nli_weight": 0.2}
        expected = MENLIScorer(**options).score(texts.predictions, texts.references)["scores"]
        column = combined[study.COMBINATION.format(title, 0.2)]
        assert column == pytest.approx(expected, abs=1e-6)


def test_scores_are_saved_by_model(run, data, encoder, tmp_path, monkeypatch):
    layers = {"BERTScore": {"layer": 1}, study.UNIFORM: {"layers": "1-2"}}
    monkeypatch.setitem(study.ENCODERS, encoder.name, layers)
    paths = ("--scores", tmp_path, "--sets", "webnlg", "--model", encoder)
    names = [f"{title}, {encoder.name}" for title in study.COMBINABLE]
    run("study", "score", data, *paths, "--metrics", *names, "chrF", "BERTScore", "MENLI e avg")
    files = {path.name for path in (tmp_path / "webnlg").iterdir()}
    assert {"chrF.npz"} < files and len(files) == 5
    assert sum("@sha256:" in name for name in files) == 4
    tables = run("study", "agree", data, *paths, "--resamples", 20)
    assert f"| MENLI with BERTScore, {encoder.name} 0.2 |" in tables


def test_layers_of_an_encoder_are_compared(run, data, encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "WIDTHS", (1, 2))
    options = ("--model", encoder, "--scores", tmp_path, "--attacks", data / "attacks.jsonl")
    tables = run("layers", data, *options, "--sets", "webnlg", "wmt15", "--resamples", 20)
    assert "| BERTScore layer 2 |" in tables and "| BaryScore uniform layers 0-1 |" in tables
    assert "Chosen layers of encoder" in tables and " on WMT 2015: segment-level tau" in tables
    (file,) = (tmp_path / encoder.name / "wmt15").glob("BERTScore*.npz")
    scores, texts = np.load(file), study.load_texts(READERS["wmt15"](data))
    scorer = BERTScorer(model_name_or_path=encoder, layer=1)
    expected = scorer.score(texts.predictions, texts.references)["scores"]
    assert np.allclose(scores["BERTScore layer 1"], expected, atol=1e-6)


def test_the_coverage_of_estimates_is_measured(run, data, tmp_path):
    options = ("--scores", tmp_path, "--sets", "wmt15", "answers", "--resamples", 5)
    tables = run("estimate", data, *options)
    assert "| LLM answers | 20 |" in tables and "| WMT 2015 | 100 |" in tables
    assert "| LLM answers | correctness | answer_check |" in tables


def test_failures_of_assertions_are_measured(run, data, tmp_path):
    table = run("assertions", data, "--scores", tmp_path, "--resamples", 1)
    (row,) = re.findall(r"^\| WebNLG 2020 \| bundled Bary.*", table, re.MULTILINE)
    assert row.count("%") == 8


def test_shifted_systems_fail_as_often_as_the_level_of_the_test():
    random = np.random.default_rng(0)
    grid = random.gumbel(size=(4, 50)) + random.gumbel(size=50) + np.arange(4)[:, None]
    equal, worse = (assertions.failures(grid, 40, 100, difference) for difference in (0, 1))
    assert equal < 0.05 and worse > 0.9


CITIES = ["Paris", "Rome", "Oslo", "Lima", "Bern", "Kyiv", "Riga", "Cairo", "Tokyo", "Delhi"]
CITIES += ["Quito", "Accra", "Sofia"]


@pytest.fixture(scope="module")
def answers_folder(tmp_path_factory):
    """Folder with right and wrong answers, and pairs of long answers with preferences."""
    folder = tmp_path_factory.mktemp("answers")
    rows = [
        {"dataset": dataset, "system": "s", "id": reference, "question": f"Which one, {other}?"}
        | {"prediction": text, "references": [reference], "human": {"correct": correct}}
        for dataset in ("evouna-nq", "diver-triviaqa")
        for reference, other in pairwise(CITIES)
        for text, correct in ((f"It is {reference}.", 1), (f"It is {other}. " * 15, 0))
    ]
    write_lines(folder / "answers.jsonl", rows)
    long = "We walked from {0} to {1}. The road was long, and it rained the whole day. " * 8
    triples = zip(CITIES, CITIES[1:], CITIES[2:], strict=False)
    pairs = [
        {"id": first, "question": first, "references": [long.format(first, second)]}
        | {"predictions": [long.format(second, third), long.format(first, third)]}
        | {"human": {name: [1, number % 3] for name in answers.CRITERIA}}
        | {"other": {"pipeline": {name: [0.1 * number, 0.5] for name in answers.CRITERIA}}}
        for number, (first, second, third) in enumerate(triples)
    ]
    write_lines(folder / "long_answers.jsonl", pairs)
    return folder


@pytest.fixture
def run_answers(run, answers_folder, tmp_path, monkeypatch):
    """Function that runs a command of tools.answers."""
    monkeypatch.setattr(verdict, "WEIGHTS", {**verdict.WEIGHTS})  # `fit` changes them
    for name in ("EDITS", "RESAMPLES", "TIMED_LONG"):
        monkeypatch.setattr(answers, name, 3)
    for name in ("HACKED", "SEARCHED"):
        monkeypatch.setattr(answers, name, dict.fromkeys(answers.SOURCES, 3))
    return lambda name: run(
        "answers", name, answers_folder, "--scores", tmp_path, "--part", "first+second+reserve"
    )


ANSWER_TABLES = [
    ("goals", ["EVOUNA", "DIVER-QA"]),
    ("patterns", ["all"]),
    ("long", ["pipeline", "answer_check, cross-fitted", "completeness", "token F1", "length"]),
    ("hacks", ["EVOUNA", "empty" + 5 * " | 0.0 / 0.0"]),
    ("search", ["answer_check without guard"]),
    ("speed", ["80 words, one reference of 100 words | 3"]),
]


@pytest.mark.filterwarnings("ignore:infolm")
def test_commands_about_answers_print_their_tables(run_answers):
    tables = {command: run_answers(command) for command in (*dict(ANSWER_TABLES), "fit")}
    for command, rows in ANSWER_TABLES:
        for row in rows:
            assert f"| {row} |" in tables[command]
    assert "Confirmed by tenth of the score" in tables["goals"] and "'recall'" not in tables["fit"]


@pytest.mark.filterwarnings("ignore:infolm")
def test_saved_probabilities_give_the_scores_of_the_package(tmp_path, monkeypatch):
    texts = ["It is Rome.", "It isn't Rome. It is Oslo.", ""]
    sides = texts, [["Rome", "Roma"], ["Oslo"], ["Lima"]]
    scorers = [answers.SavedScorer(tmp_path, model_name_or_path="bundled") for _ in range(2)]
    results = [scorers[0].score(*sides)]
    monkeypatch.setattr(NLIModel, "probabilities", None)  # the second scorer needs no model
    results.append(scorers[1].score(*sides))
    monkeypatch.undo()
    expected = AnswerCheckScorer(model_name_or_path="bundled").score(*sides)
    for result in results:
        assert result["scores"] == pytest.approx(expected["scores"], abs=1e-6)
        assert result["verdicts"] == expected["verdicts"]


def test_published_correlations_are_not_reproduced_on_other_data(data, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["study", "published", str(data)])
    assert study.main() == 1
    assert "NOT all reproduced" in capsys.readouterr().out


def test_speed_is_measured(run, data, monkeypatch):
    monkeypatch.setattr(speed, "in_process", lambda _, job, **threads: speed.time_metric(**job))
    ours = ("infolm, one pass", "bertscore", "menli with bertscore")
    monkeypatch.setattr(speed, "OURS", ours)
    monkeypatch.setattr(speed, "GEMM_SIZES", (64,))
    names = ("infolm", *ours, "torchmetrics InfoLM", "bert-score")
    monkeypatch.setattr(speed, "RUNNERS", {name: speed.RUNNERS[name] for name in names})
    monkeypatch.setattr(speed, "systems_sharing_references", lambda path, _: [("a", "b")])
    file, limits = data / "webnlg2020.en.jsonl", ("--pairs", 2, "--repeats", 1)
    rates = run("speed", "rates", file, *limits, "--only", "bundled, 10 tokens")
    assert "| bundled, 10 tokens," in rates
    assert "| bert-score |" in run("speed", "peers", file, *limits)
    for command in ("sweep", "dtypes"):
        assert "| ---: |" in run("speed", command, file, *limits)
    shares = re.findall(r"(\d+)%", run("speed", "profile", file, *limits, "--metrics", "bertscore"))
    assert len(shares) == 5 and sum(map(int, shares)) == pytest.approx(100, abs=3)


def test_memory_is_measured(run, monkeypatch):
    monkeypatch.setattr(memory, "in_process", lambda _, job: memory.score(**job))
    assert "| stream | 5 |" in run("memory", "--pairs", 5)


def test_out_of_domain_texts_are_counted(run, data):
    assert "sfres.jsonl: 0 of 13, 0.0%" in run("out_of_domain", data / "sfres.jsonl")


def test_unusual_inputs_are_scored_or_rejected(run, monkeypatch):
    monkeypatch.setenv("INFOLM_MODEL", "")
    assert "| menli |" in run("fuzz", "--inputs", 10)


def test_checkout_has_the_same_scores_as_itself(run, tmp_path):
    (tmp_path / "infolm_metric").symlink_to(ROOT / "infolm_metric")
    options = ("--metrics", "baryscore", "--families", "bert", "--inputs", 20)
    totals = re.search(r"\| all \| (\d+) \| 0 \|", run("fuzz", "--against", tmp_path, *options))
    assert int(totals[1]) > 10


def test_mutant_gets_a_verdict():
    program = "from tools import mutants; mutants.LIBRARIES = (); mutants.main()"
    options = ("--components", "baryscore", "--tests", "tests/unit/baryscore/test_settings.py")
    output = printed("-c", program, "--drawn", 1, *options, cwd=ROOT)
    assert re.search(r"^(killed|survived): infolm_metric/baryscore/", output, re.MULTILINE)
    assert re.search(r"\| all \| 1 \| [01] \|", output)
