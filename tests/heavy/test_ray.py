"""Scoring on Ray: a local cluster of two workers agrees with one process."""

import os
from pathlib import Path

import pytest
from pyarrow import Table, parquet

from infolm_metric import InfoLMScorer, MENLIScorer
from infolm_metric.commands.main import main
from infolm_metric.core.signature import Signature
from infolm_metric.core.tables import Source
from infolm_metric.metrics import METRICS
from tests.nearly_equal import assert_text_nearly_equal
from tests.paraphrases import PARAPHRASES
from tests.random_pairs import write_lines
from tests.toy import TOY, ToyScorer

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
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def toy(monkeypatch):
    """Metric of tests/toy.py, registered in this process only."""
    monkeypatch.setitem(METRICS, "toy", TOY)


def score_alone(kind, **settings):
    """Return the result of one process."""
    pairs = [row["prediction"] for row in ROWS], [row["references"] for row in ROWS]
    return kind(**settings).score(*pairs)


def score_rows(rows, scorer):
    """Score the rows into a folder, as `infolm score --engine ray` does."""
    from datasets import Dataset

    from infolm_metric.jobs.ray_jobs import score_source

    source = Source("rows", lambda: iter(()), load=lambda: Dataset.from_list(rows))
    return score_source(scorer, source, "scores.parquet", workers=1)


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


def test_sources_are_read_from_a_dataset_column(cluster, tiny_nli, capsys):
    rows = [{"prediction": "A cat sat.", "article": ["A dog ran.", "A cat."], "id": 1}]
    parquet.write_table(Table.from_pylist(rows), "pairs.parquet")
    arguments = [*ONE_WORKER, "--metric", "menli", "--model", str(tiny_nli())]
    arguments += ["pairs.parquet", "--source-column", "article", "-o", "scores.parquet"]
    assert main(arguments) == 0
    assert "|against:source|" in capsys.readouterr().out
    scorer = MENLIScorer(model_name_or_path=str(tiny_nli()))
    expected = scorer.score(["A cat sat."], sources=[["A dog ran.", "A cat."]])["scores"]
    scores = [row["e"] for row in parquet.read_table("scores.parquet").to_pylist()]
    assert scores == pytest.approx(expected, abs=1e-6)


def test_worker_with_different_settings_is_rejected(cluster, toy, monkeypatch):
    signature = Signature({**ToyScorer().signature().fields, "size": "9"})
    monkeypatch.setattr(ToyScorer, "signature", lambda *_: signature)  # in this process only
    with pytest.raises(ValueError, match="driver's: size is 1 instead of 9; install"):
        score_rows(ROWS, ToyScorer())


def test_existing_column_is_not_overwritten(cluster):
    with pytest.raises(ValueError, match="column 'toy' already exists"):
        score_rows([{**row, "toy": 0.5} for row in ROWS], ToyScorer())


def test_command_writes_the_scores_of_one_process_in_order(cluster, tiny_bert, capsys):
    write_lines(Path("pairs.jsonl"), ROWS)
    arguments = ["score", "--engine", "ray", "--model", str(tiny_bert), "pairs.jsonl"]
    assert main([*arguments, "-o", "scores.parquet"]) == 0
    expected = score_alone(InfoLMScorer, model_name_or_path=str(tiny_bert))
    summary, signature = capsys.readouterr().out.splitlines()
    shown = f"{FISHER_RAO}: {expected.mean(FISHER_RAO):.6g} (mean of {len(ROWS)} pairs"
    assert_text_nearly_equal(summary.partition(" pairs")[0] + " pairs", shown)
    assert signature == f"signature: {expected.signature}"
    rows = parquet.read_table("scores.parquet").to_pylist()
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    scores = [row[FISHER_RAO] for row in rows]
    assert scores == pytest.approx(expected["scores"], abs=1e-6, rel=1e-6)
    assert main([*arguments, "-o", "scores.parquet"]) == 2
    assert "scores.parquet already exists; choose a new folder" in capsys.readouterr().err


def test_command_warns_once_and_reports_the_baseline(cluster, capsys):
    rows = [{"prediction": "\u6771\u4eac \U0001f642", "reference": "a dog \U0001f680"}] * 300
    write_lines(Path("pairs.jsonl"), rows)
    options = ["--model", "bundled", "--idf", "none", "--rescale-with-baseline"]
    assert main([*ONE_WORKER, "pairs.jsonl", *options, "-o", "scores.parquet"]) == 0
    streams = capsys.readouterr()
    assert streams.err.count("of the tokens are unknown to the model") == 1
    first, verdict, rescaled, signature = streams.out.splitlines()
    assert verdict.startswith("unrelated texts: ") and "no verdict" in verdict
    assert rescaled.startswith(f"{FISHER_RAO} rescaled: ") and "|baseline:package-" in signature
    columns = parquet.read_table("scores.parquet").column_names
    assert {f"{FISHER_RAO}_rescaled", FISHER_RAO} <= {*columns}


def test_error_names_the_invalid_row(cluster, toy, capsys):
    rows = [{"prediction": "a", "reference": "b"}, {"prediction": None, "reference": "b"}]
    write_lines(Path("wrong.jsonl"), rows)
    assert main([*ONE_WORKER, "--metric", "toy", "wrong.jsonl", "-o", "none.parquet"]) == 2
    errors = capsys.readouterr().err
    assert "row 2 of a batch of 2: 'prediction' must be a string, got None" in errors


INVALID = [
    (["pairs.jsonl", "-o", "scores.jsonl"], "the output must be a folder whose name ends in .parq"),
    (["pairs.csv", "-o", "scores.parquet"], "a table must be a .parquet or .jsonl file"),
    (["--data", "pipe.jsonl", "-o", "scores.parquet"], "pipe.jsonl can be read only once"),
]


@pytest.mark.parametrize(("arguments", "message"), INVALID)
def test_unsupported_inputs_and_outputs_are_rejected(cluster, capsys, arguments, message):
    write_lines(Path("pairs.jsonl"), ROWS)
    Path("pairs.csv").write_text("candidate,reference\na,b\n")
    os.mkfifo("pipe.jsonl")
    assert main(["score", "--engine", "ray", "--idf", "none", *arguments]) == 2
    assert message in capsys.readouterr().err
