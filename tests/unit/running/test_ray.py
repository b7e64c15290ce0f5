"""Scoring on Ray: a local cluster of two workers gives what one process gives."""

import json
import os
from pathlib import Path

import pytest

from infolm_metric import InfoLMScorer
from infolm_metric.commands.main import main
from tests.paraphrases import PARAPHRASES
from tests.random_pairs import write_lines

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


def alone(model, **settings):
    """The scores of one process, by measure."""
    scorer = InfoLMScorer(model_name_or_path=str(model), **settings)
    return scorer.score([row["prediction"] for row in ROWS], [row["references"] for row in ROWS])


def test_a_data_set_gets_the_scores_of_one_process(cluster, tiny_bert):
    from infolm_metric.running.ray import score_dataset

    settings = {"information_measure": ["l1", MEASURE], "idf": "separate", "similarity": True}
    dataset = ray.data.from_items(ROWS, override_num_blocks=2)
    scored = score_dataset(dataset, batch=16, model_name_or_path=str(tiny_bert), **settings)
    rows = sorted(scored.take_all(), key=lambda row: row["id"])
    expected = alone(tiny_bert, **settings)
    assert [row["prediction"] for row in rows] == [row["prediction"] for row in ROWS]
    for name, scores in expected.scores.items():
        assert [row[name] for row in rows] == pytest.approx(scores, abs=1e-6, rel=1e-6)
        similarities = expected.similarities[name]
        assert [row[f"{name}_similarity"] for row in rows] == pytest.approx(
            similarities, abs=1e-6, rel=1e-6
        )


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
        (["a", "b", "-o", "scores.parquet"], "--engine ray needs --data PATH or --dataset NAME"),
    ],
)
def test_what_ray_cannot_score_is_refused(cluster, capsys, arguments, message):
    write_lines(Path("pairs.jsonl"), ROWS)
    Path("pairs.csv").write_text("candidate,reference\na,b\n")
    assert main(["score", "--engine", "ray", "--idf", "none", *arguments]) == 2
    assert message in capsys.readouterr().err
