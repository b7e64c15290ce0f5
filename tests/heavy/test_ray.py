"""Scoring on Ray: a local cluster of two workers gives what one process gives."""

import json
import os
from datetime import datetime
from pathlib import Path

import pytest

from infolm_metric import InfoLMScorer, MENLIScorer, metrics
from infolm_metric.commands.main import main
from infolm_metric.infolm.settings import Settings
from tests.paraphrases import PARAPHRASES
from tests.random_pairs import write_lines
from tests.toy import Overlap, ToyScorer, ToySettings

os.environ.update(RAY_USAGE_STATS_ENABLED="0")
os.environ.update(RAY_worker_niceness="0")  # else its workers starve beside anything else
ray = pytest.importorskip("ray", reason="Ray is an extra, and has no release for every Python")

ROWS = [
    {"id": number, "prediction": candidate, "references": [reference]}
    for number, (candidate, reference) in enumerate(PARAPHRASES)
]
MEASURE = "fisher_rao_distance"


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two workers on this machine."""
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        address="local",
        log_to_driver=False,
        object_store_memory=200 << 20,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def toy(monkeypatch):
    """The metric of tests/toy.py, which this process alone knows by name."""
    places = ("tests.toy:ToySettings", "tests.toy:ToyScorer", "tests.toy:Toy")
    monkeypatch.setitem(metrics.METRICS, "toy", metrics.Metric("toy", *places))


def alone(model, **settings):
    """The scores of one process, by measure."""
    scorer = InfoLMScorer(model_name_or_path=str(model), **settings)
    return scorer.score([row["prediction"] for row in ROWS], [row["references"] for row in ROWS])


def score_files(rows, **options):
    """Scores the rows into a folder, as `infolm score --engine ray` does."""
    from infolm_metric.running import ray as engine

    engine.start()
    dataset = ray.data.from_items(rows, override_num_blocks=1)
    return engine.score_files(dataset, "scores.jsonl", workers=1, **options)


def test_a_data_set_gets_the_scores_of_one_process(cluster, tiny_bert):
    from infolm_metric.running.ray import score_dataset

    settings = {"information_measure": ["l1", MEASURE], "idf": "separate"}
    dataset = ray.data.from_items(ROWS, override_num_blocks=2)
    scored = score_dataset(dataset, batch=16, model_name_or_path=str(tiny_bert), **settings)
    rows = sorted(scored.take_all(), key=lambda row: row["id"])
    expected = alone(tiny_bert, **settings)
    assert [row["prediction"] for row in rows] == [row["prediction"] for row in ROWS]
    for name, column in expected.columns().items():
        assert [row[name] for row in rows] == pytest.approx(column, abs=1e-6, rel=1e-6)


def test_any_metric_scores_as_in_one_process(cluster, toy):
    from infolm_metric.running.ray import score_dataset

    dataset = ray.data.from_items(ROWS, override_num_blocks=2)
    scored = score_dataset(dataset, metric="toy", size=2, batch=16)
    rows = sorted(scored.take_all(), key=lambda row: row["id"])
    pairs = [row["prediction"] for row in ROWS], [row["references"] for row in ROWS]
    assert [row["toy"] for row in rows] == ToyScorer(size=2).score(*pairs).scores["toy"]


def test_menli_combined_with_infolm_scores_as_in_one_process(cluster, tiny_bert, tiny_nli):
    from infolm_metric.running.ray import score_dataset

    other = Settings(model_name_or_path=str(tiny_bert))
    settings = {"model_name_or_path": str(tiny_nli()), "combine_with": other}
    dataset = ray.data.from_items(ROWS, override_num_blocks=1)
    scored = score_dataset(dataset, metric="menli", batch=16, **settings)
    rows = sorted(scored.take_all(), key=lambda row: row["id"])
    pairs = [row["prediction"] for row in ROWS], [row["references"] for row in ROWS]
    ((name, expected),) = MENLIScorer(**settings).score(*pairs).columns().items()
    assert [row[name] for row in rows] == pytest.approx(expected, abs=1e-6)


def test_a_worker_that_would_score_otherwise_is_refused_with_the_difference(
    cluster, toy, monkeypatch
):
    elsewhere = ToyScorer().signature().replace("size:1", "size:9")
    monkeypatch.setattr(Overlap, "signature", lambda *given: elsewhere)  # of this process alone
    with pytest.raises(ValueError, match="than the driver: size was 9 and is 1 now; give all"):
        score_files(ROWS, metric="toy", settings=ToySettings())


def test_an_error_of_ours_is_told_and_not_what_caused_it():
    from infolm_metric.running import ray as engine

    ours = OSError("cannot load the model")
    ours.__cause__ = ValueError("why")
    wrapped = ray.exceptions.RayError()
    wrapped.cause = ours
    told = engine._own_error(wrapped)
    assert (type(told), str(told)) == (OSError, "cannot load the model")


def test_a_column_that_is_there_already_is_not_overwritten(cluster, tiny_bert):
    settings = Settings(model_name_or_path=str(tiny_bert), idf=False)
    rows = [{**row, MEASURE: 0.5} for row in ROWS]
    with pytest.raises(ValueError, match=f"a column '{MEASURE}' already; rename or drop it"):
        score_files(rows, metric="infolm", settings=settings)


def test_the_command_writes_the_scores_of_one_process_in_order(cluster, tiny_bert, capsys):
    write_lines(Path("pairs.jsonl"), ROWS)
    arguments = ["score", "--engine", "ray", "--model", str(tiny_bert), "pairs.jsonl"]
    assert main([*arguments, "-o", "scores.jsonl"]) == 0
    expected = alone(tiny_bert)
    assert capsys.readouterr().out.splitlines() == [
        f"{MEASURE}: {expected.mean(MEASURE):.6g} "
        f"(mean of {len(ROWS)} pairs; lower is better; 0 = the same distribution, largest 1)",
        f"signature: {expected.signature}",
    ]
    lines = [
        json.loads(line)
        for path in sorted(Path("scores.jsonl").iterdir())
        for line in path.read_text().splitlines()
    ]
    assert [row["id"] for row in lines] == [row["id"] for row in ROWS]
    assert [row[MEASURE] for row in lines] == pytest.approx(
        expected.scores[MEASURE], abs=1e-6, rel=1e-6
    )
    assert main([*arguments, "-o", "scores.jsonl"]) == 2
    assert "scores.jsonl exists; name a folder" in capsys.readouterr().err


def test_numbers_are_written_with_all_digits(cluster, toy):
    numbers = [0.12345678901234567, 1e-12, 1.5e308, 1.6e308, None, float("inf")]
    rows = [
        {"prediction": f"a {i}", "reference": "a", "own": number, "when": datetime(2020, 1, 2)}
        for i, number in enumerate(numbers)
    ]
    score_files(rows, metric="toy", settings=ToySettings())
    written = [
        json.loads(line)
        for path in sorted(Path("scores.jsonl").iterdir())
        for line in path.read_text().splitlines()
    ]
    assert [row["own"] for row in written] == [*numbers[:4], None, None]
    assert {row["when"] for row in written} == {"2020-01-02 00:00:00"}


@pytest.mark.parametrize(
    ("texts", "verdict", "warned"),
    [
        (("a cat sat on the mat", "a cat sat on a mat"), "unrelated texts; close does not mean", 0),
        (("\u6771\u4eac \U0001f642", "a dog \U0001f680"), "not to be judged: the model had too", 1),
    ],
)
def test_the_command_warns_once_and_says_what_unrelated_texts_score(
    cluster, capsys, texts, verdict, warned
):
    write_lines(Path("pairs.jsonl"), [{"prediction": texts[0], "reference": texts[1]}] * 300)
    options = ["--engine", "ray", "--model", "bundled", "--idf", "none", "--workers", "1"]
    assert main(["score", *options, "pairs.jsonl", "-o", "scores.jsonl"]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("of the tokens are unknown to the model") == warned
    assert printed.out.splitlines()[1].startswith("unrelated texts: ")
    assert verdict in printed.out.splitlines()[1]


def test_parquet_is_read_and_written_and_a_wrong_row_is_named(cluster, tiny_bert, capsys):
    from pyarrow import Table, parquet

    parquet.write_table(Table.from_pylist(ROWS), "pairs.parquet")
    options = ["--engine", "ray", "--model", str(tiny_bert), "--idf", "none", "--workers", "2"]
    assert main(["score", *options, "pairs.parquet", "-o", "scores.parquet"]) == 0
    written = parquet.read_table("scores.parquet").sort_by("id").to_pydict()
    expected = alone(tiny_bert, idf=False).scores[MEASURE]
    assert written[MEASURE] == pytest.approx(expected, abs=1e-6, rel=1e-6)
    wrong = [{"prediction": "a", "reference": "b"}, {"prediction": None, "reference": "b"}]
    parquet.write_table(Table.from_pylist(wrong), "wrong.parquet")
    capsys.readouterr()
    assert main(["score", *options, "wrong.parquet", "-o", "none.parquet"]) == 2
    assert "row 2 of a batch of 2: 'prediction' must be a string, got None" in (
        capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pairs.jsonl", "-o", "scores.txt"], "the output is a folder whose name ends in .parquet"),
        (["pairs.csv", "-o", "scores.parquet"], "with --engine ray tables are .parquet, .jsonl"),
        (["--data", "pipe.jsonl", "-o", "scores.jsonl"], "pipe.jsonl is a pipe, which workers"),
        (["a", "b", "-o", "scores.parquet"], "--engine ray needs --data PATH or --dataset NAME"),
    ],
)
def test_what_ray_cannot_score_is_refused(cluster, capsys, arguments, message):
    write_lines(Path("pairs.jsonl"), ROWS)
    Path("pairs.csv").write_text("candidate,reference\na,b\n")
    os.mkfifo("pipe.jsonl")
    assert main(["score", "--engine", "ray", "--idf", "none", *arguments]) == 2
    assert message in capsys.readouterr().err
