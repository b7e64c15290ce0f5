"""Long jobs in separate processes that are killed or interrupted."""

import json
import re
import signal
import time
from pathlib import Path

import pytest

from tests.processes import printed, started
from tests.project_files import ROOT
from tests.random_pairs import write_lines


@pytest.mark.parametrize(
    ("rows", "kills", "options"),
    [
        (2000, 8, ["--metric", "toy", "--size", "2"]),
        (600, 2, ["--model", "bundled", "--masks-per-pass", "0", "--idf", "none"]),
    ],
)
def test_job_killed_at_random_moments_writes_identical_bytes(tmp_path, rows, kills, options):
    program = ROOT / "tests/heavy/kill_jobs.py"
    assert int(printed(program, tmp_path, rows, kills, *options)) > 0


def test_interrupted_job_reports_how_many_pairs_are_kept(tiny_bert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = (f"the cat {number} sat on the mat " * 8 for number in range(3000))
    write_lines(Path("rows.jsonl"), [{"prediction": text, "reference": "a cat"} for text in texts])
    arguments = ("score", "--model", tiny_bert, "rows.jsonl", "-o", "s.jsonl", "--idf", "none")
    record = Path("s.jsonl.job")
    with started("-m", "infolm_metric", *arguments) as process:
        while not (record.exists() and json.loads(record.read_text())["done"]):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
    assert process.returncode == 130
    assert "Traceback" not in errors and errors.splitlines()[-1] == "infolm: interrupted"
    count = int(re.search(r"(\d+) of 3000 pairs are saved in .*; run the same command", errors)[1])
    assert count == json.loads(record.read_text())["done"] > 0
