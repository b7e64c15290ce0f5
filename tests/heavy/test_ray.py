"""Scoring on Ray: a local cluster of two workers agrees with one process."""

import os
from pathlib import Path

import pytest
from pyarrow import Table, parquet

from infolm_metric import InfoLMScorer, InputError, MENLIScorer
from infolm_metric.commands.main import main
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.metrics import METRICS
from tests import typed_rows
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
RAY = ["score", "--engine", "ray"]


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
    monkeypatch.setitem(METRICS, "toy", TOY)
    return tmp_path


def score_alone(kind, **settings):
    """Return the result of one process."""
    pairs = [row["prediction"] for row in ROWS], [row["references"] for row in ROWS]
    return kind(**settings).score(*pairs)


def test_sources_are_scored_with_a_baseline_and_one_warning(cluster, capsys):
    rows = [{"prediction": "\u6771\u4eac \U0001f642", "article": ["\U0001f680", "A cat."]}] * 300
    parquet.write_table(Table.from_pylist(rows), "pairs.parquet")
    arguments = [*RAY, "--metric", "menli", "--model", "bundled", "pairs.parquet"]
    arguments += ["--reference-column", "article", "--task", "source", "--rescale-with-baseline"]
    arguments += ["--formula", "e", "--direction", "avg"]
    assert main([*arguments, "-o", "scores.parquet"]) == 0
    streams = capsys.readouterr()
    assert streams.err.count("of the tokens are unknown to the model") == 1
    signature = streams.out.splitlines()[-1]
    assert "|against:source|" in signature and "|baseline:package-" in signature
    scorer = MENLIScorer(model_name_or_path="bundled")
    result = scorer.score([rows[0]["prediction"]], [rows[0]["article"]], rescale_with_baseline=True)
    scored = parquet.read_table("scores.parquet")
    for name, column in result.renamed(scorer.settings.column).columns().items():
        assert scored[name].to_pylist() == pytest.approx(column * 300, abs=1e-6)


def test_worker_with_different_settings_is_rejected():
    from infolm_metric.jobs.ray_jobs import Plan, _Worker

    fields = {**ToyScorer().signature().fields, "size": "9"}
    worker = _Worker(Plan(ToyScorer(), None, (None, ()), dict, None), fields, CorpusStatistics())
    with pytest.raises(InputError, match="the driver: size is 1 instead of 9. Make them equal"):
        worker(Table.from_pylist(ROWS))


def test_command_writes_the_scores_of_one_process_in_order(cluster, tiny_bert, capsys, monkeypatch):
    monkeypatch.setattr("infolm_metric.jobs.resume.JOB_CHUNK", 40)
    blank = [{**row, "references": ["", *row["references"]]} for row in ROWS]
    parquet.write_table(Table.from_pylist(blank), "pairs.parquet")
    arguments = [*RAY, "--model", str(tiny_bert), "pairs.parquet"]
    assert main([*arguments, "-o", "scores.parquet"]) == 0
    expected = score_alone(InfoLMScorer, model_name_or_path=str(tiny_bert))
    shown, errors = capsys.readouterr()
    summary, signature = shown.splitlines()
    assert f"({len(ROWS)} in total)" in errors
    shown = f"infolm: {expected.mean(FISHER_RAO):.6g} (mean of {len(ROWS)} pairs"
    assert_text_nearly_equal(summary.partition(" pairs")[0] + " pairs", shown)
    assert signature == f"signature: {expected.signature}"
    rows = parquet.read_table("scores.parquet").to_pylist()
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    scores = [row["infolm"] for row in rows]
    assert scores == pytest.approx(expected["scores"], abs=1e-6, rel=1e-6)
    assert main([*arguments, "-o", "scores.parquet"]) == 2
    assert "scores.parquet already exists. Choose a new folder" in capsys.readouterr().err


INPUTS = [("--data", "text.tsv.gz"), ("--data", "nested.jsonl"), ("--dataset", "uniform.parquet")]


@pytest.mark.parametrize(("option", "name"), INPUTS)
def test_texts_and_columns_come_out_as_they_went_in(cluster, capsys, option, name):
    rows = typed_rows.TABLES[name]
    Path("folder").mkdir()
    typed_rows.write_table(Path("folder", name), rows)
    path = "folder" if option == "--dataset" else f"folder/{name}"
    assert main(["score", "--metric", "toy", option, path]) == 0
    alone = capsys.readouterr().out
    assert main([*RAY, "--metric", "toy", option, path, "-o", "scores.parquet"]) == 0
    assert_text_nearly_equal(capsys.readouterr().out, alone)
    table = parquet.read_table("scores.parquet")
    columns = {column: None for row in rows for column in row}
    assert table.column_names == [*columns, "toy"]
    for column in columns:
        assert table[column].to_pylist() == [row.get(column) for row in rows]


INVALID = [
    (["pairs.parquet", "-o", "scores.jsonl"], "with --engine ray: its name must end in .parquet"),
    (["mixed.jsonl", "-o", "scores.parquet"], "score it without --engine ray"),
    (["surrogate.jsonl", "-o", "scores.parquet"], "score it without --engine ray"),
    (["a", "b", "-o", "scores.parquet"], "tables and data sets, not arguments"),
    (["no.parquet", "-o", "scores.parquet"], "cannot read no.parquet"),
    (["wrong.parquet", "-o", "scores.parquet"], "'prediction' must be a string"),
    (["old.parquet", "-o", "scores.parquet"], "column 'toy' already exists"),
    (["empty.parquet", "-o", "scores.parquet"], "empty.parquet has no rows. Add one row"),
]


@pytest.mark.parametrize(("arguments", "message"), INVALID)
def test_invalid_inputs_and_outputs_are_rejected(cluster, capsys, arguments, message):
    write_lines(Path("mixed.jsonl"), [{**x, "x": [x["id"], "a"][x["id"] % 2]} for x in ROWS])
    write_lines(Path("surrogate.jsonl"), [{**row, "x": "\ud800"} for row in ROWS])
    tables = {"pairs": ROWS, "old": [{**row, "toy": 0.5} for row in ROWS]}
    tables["wrong"] = [{**ROWS[0], "prediction": 5}]
    for name, rows in tables.items():
        parquet.write_table(Table.from_pylist(rows), f"{name}.parquet")
    parquet.write_table(Table.from_pylist(ROWS).slice(0, 0), "empty.parquet")
    assert main([*RAY, "--metric", "toy", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not list(Path().glob("scores.parquet/*"))
