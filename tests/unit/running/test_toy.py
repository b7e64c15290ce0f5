"""A metric that nothing here was written for: its jobs survive as those of InfoLM do."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from infolm_metric.running.files import from_table
from infolm_metric.running.resume import run_job
from tests.job_files import job_files
from tests.project_files import ROOT
from tests.random_pairs import random_pairs, write_lines
from tests.toy import ToyScorer

ROWS = random_pairs(100)
PROGRAM = """
import sys, time
from infolm_metric.running.files import PairSource, from_table
from infolm_metric.running.resume import run_job
from tests.toy import ToyScorer

table = from_table("pairs.jsonl")

def read():
    for number, pair in enumerate(table.read()):
        if number == int(sys.argv[1]):
            print("here", flush=True)
            time.sleep(600)
        yield pair

run_job(ToyScorer(size=2), PairSource("pairs", read, 100), "scores.jsonl", chunk=8, progress=False)
"""


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


@pytest.mark.parametrize("stop", [3, 50])
def test_a_job_that_was_killed_in_the_midst_goes_on_to_the_same_bytes(stop):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(stop)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"here\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert Path("scores.jsonl.shards/job.json").exists() and not Path("scores.jsonl").exists()
    assert job(size=2).resumed == stop // 8 * 8
    job("whole.jsonl", size=2)
    assert job_files("scores.jsonl") == job_files("whole.jsonl")


def test_a_job_of_other_settings_is_refused_with_what_is_different():
    job(size=1)
    with pytest.raises(ValueError, match="begun otherwise: size was 1 and is 2 now; give the same"):
        job(size=2)
