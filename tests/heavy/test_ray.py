"""Scoring on Ray: a local cluster of two workers agrees with one process."""

import os
from pathlib import Path

import pytest
from datasets import Dataset
from pyarrow import Table, parquet

from infolm_metric import InfoLMScorer, MENLIScorer
from infolm_metric.commands.main import main
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.core.tables import Source
from tests.nearly_equal import assert_text_nearly_equal
from tests.paraphrases import PARAPHRASES
from tests.random_pairs import write_lines
from tests.toy import ToyScorer

os.environ.update(RAY_USAGE_STATS_ENABLED="0")
os.environ.update(RAY_worker_niceness="0")  # otherwise other processes starve the workers
ray = pytest.importorskip("ray", reason="Ray is optional and does not support every Python version")

ROWS = [
    {"id": number, "prediction": candidate, "references": [reference]}
    for number, (candidate, reference) in enumerate(PARAPHRASES)
]
FISHER_RAO = "fisher_rao_distance"
ONE_WORKER = ["score", "--engine", "ray", "--workers", "1"]


@pytest.fixture(scope="module")
def cluster():
    """Cluster of two workers on this machine."""
    options = {"include_dashboard": False, "log_to_driver": False}
    ray.init(num_cpus=2, address="local", object_store_memory=200 << 20, **options)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.read_op_min_num_blocks = 20  # many small blocks, whose order must be preserved
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def score_alone(kind, **settings):
    """Return the result of one process."""
    pairs = [row["prediction"] for row in ROWS], [row["references"] for row in ROWS]
    return kind(**settings).score(*pairs)


def test_dataset_gets_the_scores_of_one_process(cluster, tiny_bert):
    from infolm_metric.jobs.ray_jobs import score_dataset

    settings = {"model_name_or_path": str(tiny_bert), "idf": "separate"}
    settings["information_measure"] = ["l1", FISHER_RAO]
    dataset = ray.data.from_items(ROWS, override_num_blocks=2)
    scored = score_dataset(dataset, workers=1, batch=16, **settings)
    rows = sorted(scored.take_all(), key=lambda row: row["id"])
    assert [row["prediction"] for row in rows] == [row["prediction"] for row in ROWS]
    for name, column in score_alone(InfoLMScorer, **settings).columns().items():
        assert [row[name] for row in rows] == pytest.approx(column, abs=1e-6, rel=1e-6)


def test_sources_are_scored_with_a_baseline_and_one_warning(cluster, capsys):
    rows = [{"prediction": "\u6771\u4eac \U0001f642", "article": ["\U0001f680", "A cat."]}] * 300
    parquet.write_table(Table.from_pylist(rows), "pairs.parquet")
    arguments = [*ONE_WORKER, "--metric", "menli", "--model", "bundled", "pairs.parquet"]
    arguments += ["--source-column", "article", "--rescale-with-baseline", "-o", "scores.parquet"]
    assert main(arguments) == 0
    streams = capsys.readouterr()
    assert streams.err.count("of the tokens are unknown to the model") == 1
    first, verdict, rescaled, signature = streams.out.splitlines()
    assert verdict.startswith("unrelated texts: ") and "no verdict" in verdict
    assert rescaled.startswith("e rescaled: ")
    assert "|against:source|" in signature and "|baseline:package-" in signature
    scorer, columns = MENLIScorer(model_name_or_path="bundled"), ("e", "e_rescaled")
    result = scorer.score(
        [rows[0]["prediction"]], sources=[rows[0]["article"]], rescale_with_baseline=True
    )
    expected = [result.columns()[name][0] for name in columns]
    scored = parquet.read_table("scores.parquet")
    for name, score in zip(columns, expected, strict=True):
        assert scored[name].to_pylist() == pytest.approx([score] * 300, abs=1e-6)


def test_worker_with_different_settings_is_rejected():
    from infolm_metric.jobs.ray_jobs import Columns, _Worker

    fields = {**ToyScorer().signature().fields, "size": "9"}
    columns = Columns(None, (), against_sources=False)
    worker = _Worker(ToyScorer(), fields, CorpusStatistics(), columns, None, None)
    with pytest.raises(ValueError, match="driver's: size is 1 instead of 9; install"):
        worker(Table.from_pylist(ROWS))


def test_existing_column_is_not_overwritten(cluster):
    from infolm_metric.jobs.ray_jobs import score_source

    rows = [{**row, "toy": 0.5} for row in ROWS]
    source = Source("rows", lambda: iter(()), load=lambda: Dataset.from_list(rows))
    with pytest.raises(ValueError, match="column 'toy' already exists"):
        score_source(ToyScorer(), source, "scores.parquet")


def test_command_writes_the_scores_of_one_process_in_order(cluster, tiny_bert, capsys, monkeypatch):
    monkeypatch.setattr("infolm_metric.jobs.ray_jobs.BATCH", 40)
    blank = [{**row, "references": ["", *row["references"]]} for row in ROWS]
    write_lines(Path("pairs.jsonl"), blank)
    arguments = ["score", "--engine", "ray", "--model", str(tiny_bert), "pairs.jsonl"]
    assert main([*arguments, "-o", "scores.parquet"]) == 0
    expected = score_alone(InfoLMScorer, model_name_or_path=str(tiny_bert))
    shown, errors = capsys.readouterr()
    summary, signature = shown.splitlines()
    assert f"({len(ROWS)} in total)" in errors
    shown = f"{FISHER_RAO}: {expected.mean(FISHER_RAO):.6g} (mean of {len(ROWS)} pairs"
    assert_text_nearly_equal(summary.partition(" pairs")[0] + " pairs", shown)
    assert signature == f"signature: {expected.signature}"
    rows = parquet.read_table("scores.parquet").to_pylist()
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    scores = [row[FISHER_RAO] for row in rows]
    assert scores == pytest.approx(expected["scores"], abs=1e-6, rel=1e-6)
    assert main([*arguments, "-o", "scores.parquet"]) == 2
    assert "scores.parquet already exists; choose a new folder" in capsys.readouterr().err


def test_error_names_the_invalid_row(cluster, tiny_bert, capsys):
    rows = [{"prediction": "a", "reference": "b"}, {"prediction": None, "reference": "b"}]
    write_lines(Path("wrong.jsonl"), rows)
    assert main([*ONE_WORKER, "--model", str(tiny_bert), "wrong.jsonl", "-o", "none.parquet"]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "wrong.jsonl: row 2 of a batch of 2: 'prediction' must be a string, got None" in error


INVALID = [
    (["pairs.jsonl", "-o", "scores.jsonl"], "the output must be a folder whose name ends in .parq"),
    (["pairs.csv", "-o", "scores.parquet"], "a table must be a .parquet or .jsonl file"),
    (["--data", "pipe.jsonl", "-o", "scores.parquet"], "pipe.jsonl can be read only once"),
    (["--data", "damaged.jsonl", "-o", "scores.parquet"], "error: damaged.jsonl: Expecting value"),
    (["--data", "empty.jsonl", "-o", "scores.parquet"], "empty.jsonl has no rows; add one row"),
]


@pytest.mark.parametrize(("arguments", "message"), INVALID)
def test_unsupported_inputs_and_outputs_are_rejected(cluster, capsys, arguments, message):
    write_lines(Path("pairs.jsonl"), ROWS)
    Path("pairs.csv").write_text("candidate,reference\na,b\n")
    Path("empty.jsonl").touch()
    Path("damaged.jsonl").write_text("text")
    os.mkfifo("pipe.jsonl")
    assert main(["score", "--engine", "ray", "--idf", "none", *arguments]) == 2
    assert message in capsys.readouterr().err
