"""Kill a job at random moments, resume it, and compare the output files.

    python kill_jobs.py FOLDER ROWS KILLS

The jobs score with the metric of tests/toy.py. Prints the number of jobs that were killed before
they finished. Fails if an output differs from the output of an uninterrupted job. The processes are
forked to avoid repeated imports.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import infolm_metric.jobs.resume  # noqa: F401 (imported before forking)
from infolm_metric.commands.main import main as infolm
from infolm_metric.metrics import METRICS
from tests.random_pairs import random_pairs, write_lines
from tests.toy import TOY


def start(arguments: list[str]) -> int:
    """Start a process that runs `infolm` with the arguments and return its id."""
    if process := os.fork():
        return process
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        os._exit(infolm([*arguments, "--quiet"]))


def rows_kept(output: Path) -> int:
    """Return the number of rows that a job has recorded."""
    record = Path(f"{output}.job")
    return json.loads(record.read_text())["done"] if record.exists() else 0


def main(folder: Path, rows: int, kills: int) -> None:
    METRICS["toy"] = TOY
    table = write_lines(folder / "pairs.jsonl", random_pairs(rows))
    command = ["score", "--metric", "toy", "--size", "2", str(table), "-o"]
    draw = random.Random(0)
    expected, deaths = folder / "whole.jsonl", 0
    assert os.waitpid(start([*command, str(expected)]), 0)[1] == 0
    for number in range(kills):
        output = folder / f"killed-{number}.jsonl"
        threshold = draw.randrange(rows)
        process = start([*command, str(output)])
        ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while rows_kept(output) < threshold and not os.waitid(os.P_PID, process, ended):
            time.sleep(0.0005)
        time.sleep(draw.uniform(0, 0.02))  # hits any point of the next chunks
        os.kill(process, signal.SIGKILL)
        deaths += os.WIFSIGNALED(os.waitpid(process, 0)[1])
        assert os.waitpid(start([*command, str(output)]), 0)[1] == 0
        assert output.read_bytes() == expected.read_bytes(), f"killed at {threshold} rows"
        assert rows_kept(output) == rows == rows_kept(expected)
    print(deaths)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
