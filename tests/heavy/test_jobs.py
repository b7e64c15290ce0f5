"""Long jobs in processes of their own: killed, out of room, two at once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.job_files import job_files
from tests.project_files import ROOT
from tests.random_pairs import random_pairs, write_lines
from tests.unit.running.test_toy import ROWS, job

OUTPUT = "scores.jsonl"
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


@pytest.mark.parametrize(("metric", "rows"), [("infolm", 400), ("toy", 2_000)])
def test_a_job_killed_at_random_moments_writes_the_same_bytes(tiny_bert, folder, metric, rows):
    model = ["--model", tiny_bert] if metric == "infolm" else []
    command = [sys.executable, ROOT / "tests/heavy/kill_jobs.py", "--kills", "3"]
    result = subprocess.run(
        [*command, "--rows", str(rows), folder, "--metric", metric, *model],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    kills = json.loads(result.stdout)
    assert any(kill["killed"] for kill in kills) and all(kill["same"] for kill in kills)


FULL = """
import resource
from pathlib import Path
from infolm_metric.commands.main import main
from infolm_metric.metrics import METRICS, Metric
import infolm_metric.running.resume
METRICS["toy"] = Metric("toy", "tests.toy:ToySettings", "tests.toy:ToyScorer", "tests.toy:Toy")
arguments = ["score", "--metric", "toy", "many.jsonl", "-o"]
assert main([*arguments, "whole.jsonl"]) == 0
shards = sorted(Path("whole.jsonl.shards").glob("*.rows"))
sizes = [file.stat().st_size for file in shards]
rooms = {"second.jsonl": sizes[1] - 1, "output.jsonl": sum(sizes) // 2}
assert sizes[0] < min(rooms.values())
for output, room in rooms.items():
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    code = main([*arguments, output])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert code == 1 and not Path(output).exists()
    assert main([*arguments, output]) == 0
"""


def test_a_full_disk_is_a_clear_error_and_what_was_written_is_kept():
    """A limit on the size of files stops writing in the midst of one, as a full disk does."""
    pytest.importorskip("resource", reason="this system has no limits on files")
    write_lines(Path("many.jsonl"), random_pairs(600))
    result = subprocess.run(
        [sys.executable, "-c", FULL],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    expected = []
    for name, file, kept in (
        ("second", "second.jsonl.shards/000000000257.rows", 256),
        ("output", "output.jsonl", 600),
    ):
        expected += [
            f"infolm score: error: cannot write {file}: File too large; see that it has room; "
            f"{kept} pairs are kept in {name}.jsonl.shards, from where the same command goes on",
            f"infolm: {kept} pairs were there already",
        ]
        assert job_files(f"{name}.jsonl") == job_files("whole.jsonl")
    assert result.stderr.splitlines() == expected


def test_two_processes_do_not_work_on_one_job():
    program = "import sys; from infolm_metric.running.shards import lock; from pathlib import Path"
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"{program}\nwith lock(Path(sys.argv[1])): print(1, flush=True); input()",
            f"{OUTPUT}.shards",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout.readline() == "1\n"
        with pytest.raises(ValueError, match="another process is at work in scores.jsonl.shards"):
            job()
        other.kill()
    assert job().pairs == len(ROWS)
