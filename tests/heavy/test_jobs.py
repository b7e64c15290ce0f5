"""Long jobs in separate processes that are killed or interrupted."""

import json
import re
import signal
import time
from pathlib import Path

from tests.processes import started
from tests.random_pairs import write_lines


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
