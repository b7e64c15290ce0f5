"""A metric that nothing here was written for: its jobs survive as those of InfoLM do."""

import json
from pathlib import Path

import pytest

from infolm_metric.running.files import from_table
from infolm_metric.running.resume import run_job
from tests.random_pairs import random_pairs, write_lines
from tests.toy import ToyScorer

ROWS = random_pairs(100)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The working folder, with the pairs in a table."""
    monkeypatch.chdir(tmp_path)
    write_lines(Path("pairs.jsonl"), ROWS)
    return tmp_path


def job(output="scores.jsonl", **settings):
    """What a job of the toy writes, in small chunks."""
    scorer = ToyScorer(**settings)
    return run_job(scorer, from_table("pairs.jsonl"), output, chunk=8, progress=False)


def test_a_job_writes_what_one_call_gives(folder):
    found = job(size=2)
    sides = [row["prediction"] for row in ROWS], [row["references"] for row in ROWS]
    expected = ToyScorer(size=2).score(*sides)
    rows = [json.loads(line) for line in Path("scores.jsonl").read_text().splitlines()]
    pairs = enumerate(expected.scores["toy"], 1)
    assert rows == [{"pair": number, "toy": score} for number, score in pairs]
    assert found.means == pytest.approx({"toy": expected["toy"]}, rel=1e-12)
    assert (found.pairs, found.resumed, found.signature) == (100, 0, expected["signature"])
    assert found.signature.startswith("metric:toy|size:2|")
    kept = {path.name for path in folder.glob("scores.jsonl.shards/*")}
    assert kept == {"lock", "job.json", *(f"{first:012}.rows" for first in range(1, 100, 8))}


def test_a_job_of_other_settings_is_refused_with_what_is_different():
    job(size=1)
    with pytest.raises(ValueError, match="begun otherwise: size was 1 and is 2 now; give the same"):
        job(size=2)
