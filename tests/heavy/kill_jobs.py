"""Kills a job again and again, each time at a random moment, takes it up, and compares the bytes.

    python kill_jobs.py FOLDER ROWS KILLS OPTION...

The options are for `infolm score`, which knows the metric of tests/toy.py here. Prints how many
jobs were killed in time; fails if a file differs from that of a job that was left alone. The
processes are forked, so that they need not import everything again.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import transformers  # noqa: F401 (as the next, so that the forked processes have it)

import infolm_metric.jobs.resume  # noqa: F401
from infolm_metric.commands.main import main as infolm
from infolm_metric.metrics import METRICS
from tests.random_pairs import random_pairs, write_lines
from tests.toy import TOY


def start(arguments: list[str]) -> int:
    """The number of a process that runs `infolm` with the arguments."""
    if process := os.fork():
        return process
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        os._exit(infolm([*arguments, "--quiet"]))


def rows_kept(output: Path) -> int:
    """How many rows a job has recorded."""
    record = Path(f"{output}.job")
    return json.loads(record.read_text())["done"] if record.exists() else 0


def main(folder: Path, rows: int, kills: int, options: list[str]) -> None:
    METRICS["toy"] = TOY
    table = write_lines(folder / "pairs.jsonl", random_pairs(rows))
    command = ["score", *options, str(table), "-o"]
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
        time.sleep(draw.uniform(0, 0.02))  # and then anywhere in the next chunks
        os.kill(process, signal.SIGKILL)
        deaths += os.WIFSIGNALED(os.waitpid(process, 0)[1])
        assert os.waitpid(start([*command, str(output)]), 0)[1] == 0
        assert output.read_bytes() == expected.read_bytes(), f"killed at {threshold} rows"
        assert rows_kept(output) == rows == rows_kept(expected)
    print(deaths)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:4]), sys.argv[4:])
