"""Scoring on Ray: a local cluster of two workers agrees with one process."""

import os
from pathlib import Path

import pytest
from pyarrow import Table, parquet

from infolm_metric import InfoLMScorer, InfoLMSettings, InputError, MENLIScorer
from infolm_metric.commands.main import main
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.metrics import METRICS
from infolm_metric.tables import Source, TableFiles, read_rows
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
    expected = score_alone(InfoLMScorer, **settings).renamed(InfoLMSettings(**settings).column)
    assert list(expected.columns()) == ["infolm_l1_distance", "infolm"]
    for name, column in expected.columns().items():
        assert [row[name] for row in rows] == pytest.approx(column, abs=1e-6, rel=1e-6)


def test_sources_are_scored_with_a_baseline_and_one_warning(cluster, capsys):
    rows = [{"prediction": "\u6771\u4eac \U0001f642", "article": ["\U0001f680", "A cat."]}] * 300
    parquet.write_table(Table.from_pylist(rows), "pairs.parquet")
    arguments = [*ONE_WORKER, "--metric", "menli", "--model", "bundled", "pairs.parquet"]
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
    worker = _Worker(Plan(ToyScorer(), None, (None, ())), fields, CorpusStatistics())
    with pytest.raises(InputError, match="the driver: size is 1 instead of 9. Install"):
        worker(Table.from_pylist(ROWS))


def test_command_writes_the_scores_of_one_process_in_order(cluster, tiny_bert, capsys, monkeypatch):
    monkeypatch.setattr("infolm_metric.jobs.ray_jobs.RAY_BATCH", 40)
    blank = [{**row, "references": ["", *row["references"]]} for row in ROWS]
    write_lines(Path("pairs.jsonl"), blank)
    arguments = ["score", "--engine", "ray", "--model", str(tiny_bert), "pairs.jsonl"]
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


INPUTS = [
    ("--data", "text.tsv.gz", "file"),
    ("--data", "names.jsonl.gz", "file"),
    ("--data", "nested.jsonl", "file"),
    ("--data", "uniform.parquet", "file"),
    ("--dataset", "uniform.csv.gz", "folder"),
    ("--dataset", "uniform.jsonl", "folder"),
]


@pytest.mark.parametrize(("option", "name", "form"), INPUTS)
def test_texts_and_columns_come_out_as_they_went_in(cluster, monkeypatch, option, name, form):
    monkeypatch.setitem(METRICS, "toy", TOY)
    rows, folder = typed_rows.TABLES[name], Path("folder")
    folder.mkdir()
    typed_rows.write_table(folder / name, rows)
    path = str(folder if form == "folder" else folder / name)
    assert main([*ONE_WORKER, "--metric", "toy", option, path, "-o", "scores.parquet"]) == 0
    table = parquet.read_table("scores.parquet")
    columns = {column: None for row in rows for column in row}
    assert table.column_names == [*columns, "toy"]
    for column in columns:
        assert table[column].to_pylist() == [row.get(column) for row in rows]


def test_scores_and_means_do_not_depend_on_the_engine(cluster, monkeypatch, capsys):
    monkeypatch.setitem(METRICS, "toy", TOY)
    write_lines(Path("a.jsonl"), [*typed_rows.NESTED_ROWS, *typed_rows.OTHER_NAMES])
    assert main(["score", "--metric", "toy", "a.jsonl"]) == 0
    alone = capsys.readouterr().out
    assert main([*ONE_WORKER, "--metric", "toy", "a.jsonl", "-o", "a.parquet"]) == 0
    assert_text_nearly_equal(capsys.readouterr().out, alone)
    assert main(["score", "--metric", "toy", "--dataset", "a.parquet"]) == 2  # column exists


class AddProcess:
    """Actor that adds the number of its process to each row."""

    def __call__(self, rows):
        return {**rows, "worker": [os.getpid()] * len(rows["id"])}


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
def test_rows_of_one_file_are_shared_in_small_blocks(cluster, name):
    from infolm_metric.jobs.ray_jobs import _open_source, start

    start()
    rows = [{"id": str(i), "prediction": "a" * 100, "reference": "b"} for i in range(5000)]
    typed_rows.write_table(Path(name), rows)
    files = TableFiles((name,), read_rows)
    dataset, _ = _open_source(Source(name, files.rows, load=lambda: files))
    pool = ray.data.ActorPoolStrategy(size=1)
    output = dataset.map_batches(AddProcess, compute=pool, num_cpus=1).materialize()
    assert [row["id"] for row in output.take_all()] == [row["id"] for row in rows]
    assert output.num_blocks() >= 4  # with scoring fused into reading, there would be one


INVALID = [
    (["pairs.jsonl", "-o", "scores.jsonl"], "with --engine ray: its name must end in .parquet"),
    (["--data", "pairs.txt", "-o", "scores.parquet"], "pairs.txt is plain text, not a table"),
    (["--data", "pipe.jsonl", "-o", "scores.parquet"], "pipe.jsonl can be read only once"),
    (["--data", "damaged.jsonl", "-o", "scores.parquet"], "damaged.jsonl, line 1: not valid JSON"),
    (["wrong.jsonl", "-o", "scores.parquet"], "line 2: 'prediction' must be a string, got None"),
    (["old.jsonl", "-o", "scores.parquet"], "column 'infolm' already exists"),
    (["--data", "empty.jsonl", "-o", "scores.parquet"], "empty.jsonl has no rows. Add one row"),
    (["--data", "mark.jsonl", "-o", "scores.parquet"], "score it without --engine ray"),
    *(
        (["--data", f"{kind}.jsonl", "-o", "scores.parquet"], "score it without --engine ray")
        for kind in ("list", "type", "large", "empty_object", "surrogate")
    ),
]
# Values that no column of Parquet can hold together with "a" or alone.
ODD = {"list": [["a"], "a"], "type": [1, "a"], "large": [1 << 70], "empty_object": [{}]}
ODD |= {"surrogate": ["\ud800"]}


@pytest.mark.parametrize(("arguments", "message"), INVALID)
def test_invalid_inputs_and_outputs_are_rejected(cluster, capsys, arguments, message):
    write_lines(Path("pairs.jsonl"), ROWS)
    write_lines(Path("old.jsonl"), [{**row, "infolm": 0.5} for row in ROWS])
    write_lines(Path("wrong.jsonl"), [ROWS[0], {**ROWS[1], "prediction": None}])
    Path("pairs.txt").write_text("a\n")
    Path("empty.jsonl").touch()
    Path("damaged.jsonl").write_text("text")
    Path("mark.jsonl").write_text('\ufeff{"prediction": "a", "reference": "b"}\n')
    for name, values in ODD.items():
        rows = [{"prediction": "a", "reference": "a", "x": value} for value in values]
        write_lines(Path(f"{name}.jsonl"), rows)
    os.mkfifo("pipe.jsonl")
    assert (
        main(["score", "--engine", "ray", "--model", "bundled", "--idf", "none", *arguments]) == 2
    )
    assert message in capsys.readouterr().err
    assert not Path("scores.parquet").exists()
