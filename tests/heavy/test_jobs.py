"""Long jobs in processes of their own: killed, out of room, two at once, interrupted."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.project_files import ROOT
from tests.random_pairs import random_pairs, write_lines

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The working folder, with pairs in a table."""
    monkeypatch.chdir(tmp_path)
    write_lines(Path("pairs.jsonl"), random_pairs(600))
    return tmp_path


def run(program, *arguments):
    """A process that runs a program, and ended well."""
    command = [sys.executable, *(["-c"] if "\n" in str(program) else []), program, *arguments]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize(
    ("kills", "options"),
    [
        (20, ["--metric", "toy", "--size", "2"]),
        (3, ["--model", "bundled", "--masks-per-pass", "0", "--idf", "none"]),
    ],
)
def test_a_job_killed_at_random_moments_writes_the_same_bytes(folder, kills, options):
    program = ROOT / "tests/heavy/kill_jobs.py"
    done = run(program, "--kills", str(kills), "--rows", "2000", folder, *options)
    results = json.loads(done.stdout)
    assert any(kill["killed"] for kill in results) and all(kill["same"] for kill in results)


FULL = """
import resource
from pathlib import Path
from infolm_metric.commands.main import main
from infolm_metric.metrics import METRICS, Metric
import infolm_metric.jobs.resume
METRICS["toy"] = Metric("toy", "tests.toy:ToySettings", "tests.toy:ToyScorer", "tests.toy:Toy")
arguments = ["score", "--metric", "toy", "pairs.jsonl", "-o"]
assert main([*arguments, "whole.jsonl"]) == 0
size = Path("whole.jsonl").stat().st_size
for name, room in (("first", size // 4), ("second", size // 2 + 9)):
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
    code = main([*arguments, f"{name}.jsonl"])
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert code == 1 and not Path(f"{name}.jsonl").exists()
    assert main([*arguments, f"{name}.jsonl"]) == 0
"""


def test_a_full_disk_is_a_clear_error_and_what_was_written_is_kept(folder):
    """A limit on the size of files stops writing in the midst of one, as a full disk does."""
    pytest.importorskip("resource", reason="this system has no limits on files")
    errors = run(FULL).stderr.splitlines()
    assert errors == [
        f"infolm score: error: cannot write {folder}/first.jsonl.part: File too large; see that it "
        "has room",
        f"infolm: warning: 256 of 600 pairs are kept in {folder}/second.jsonl.part, from where the "
        "same command goes on",
        f"infolm score: error: cannot write {folder}/second.jsonl.part: File too large; see that "
        "it has room",
        "infolm: 256 pairs were there already",
    ]
    for name in ("first", "second"):
        assert Path(f"{name}.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


LOCKED = """
import sys
from filelock import FileLock
with FileLock("scores.jsonl.lock"):
    print(1, flush=True)
    sys.stdin.read()
"""


def infolm(*arguments, **options):
    command = [sys.executable, "-m", "infolm_metric", *map(str, arguments)]
    return subprocess.Popen(command, env=ENVIRONMENT, text=True, stderr=subprocess.PIPE, **options)


def test_two_processes_do_not_work_on_one_job(tiny_bert):
    asked = ("score", "pairs.jsonl", "--model", tiny_bert, "--masks-per-pass", "0")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "-c", LOCKED]
    with subprocess.Popen(command, env=ENVIRONMENT, text=True, **pipes) as other:
        assert other.stdout.readline() == "1\n"
        with infolm(*asked, "-o", "scores.jsonl") as process:
            errors = process.stderr.read()
        assert process.returncode == 2 and "another process is at work on" in errors
        other.kill()
    with infolm(*asked, "-o", "scores.jsonl", stdout=subprocess.DEVNULL) as process:
        process.stderr.read()
    assert process.returncode == 0


def test_an_interrupted_job_says_what_is_kept_and_goes_on(tiny_bert):
    rows = [
        {"prediction": f"the cat {i} sat on the mat " * 8, "reference": "a cat"}
        for i in range(3000)
    ]
    write_lines(Path("rows.jsonl"), rows)
    asked = ("score", "--model", tiny_bert, "rows.jsonl", "-o", "s.jsonl", "--idf", "none")
    record = Path("s.jsonl.job")
    with infolm(*asked, stdout=subprocess.PIPE) as process:
        while not (record.exists() and json.loads(record.read_text())["done"]):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(2)
        errors = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in errors and errors.splitlines()[-1] == "infolm: interrupted"
    kept = int(re.search(r"(\d+) of 3000 pairs are kept in .*, from where the same", errors)[1])
    assert kept == json.loads(record.read_text())["done"] > 0
