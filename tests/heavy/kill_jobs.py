"""Kills a job again and again, each time at a random moment, takes it up, and compares the bytes.

    python kill_jobs.py --rows 2000 --kills 20 FOLDER --model bundled --masks-per-pass 0
    python kill_jobs.py --rows 20000 FOLDER --metric toy --size 2

What follows FOLDER is for `infolm score`, which knows the metric of tests/toy.py here. Prints how
far each job was when it was killed, as JSON; fails if a file differs from that of a job that was
left alone. The processes are forked, so that they need not import everything again.
"""

import argparse
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import infolm_metric.jobs.resume  # noqa: F401 (so that the forked processes have it)
from infolm_metric.commands.main import main as infolm
from infolm_metric.metrics import METRICS, Metric
from tests.random_pairs import random_pairs, write_lines


def start(arguments: list[str]) -> int:
    """The number of a process that runs `infolm` with the arguments."""
    process = os.fork()
    if process:
        return process
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        os._exit(infolm([*arguments, "--quiet"]))


def finish(process: int) -> float:
    """Wait for the process, and exit unless it ended well; how many seconds that took."""
    begun = time.monotonic()
    _, status = os.waitpid(process, 0)
    if status:
        raise SystemExit(f"a job ended with status {status}")
    return time.monotonic() - begun


def rows_kept(output: Path) -> int:
    """How many rows a job has recorded."""
    record = Path(f"{output}.job")
    return json.loads(record.read_text())["done"] if record.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("options", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    METRICS["toy"] = Metric("toy", "tests.toy:ToySettings", "tests.toy:ToyScorer", "tests.toy:Toy")
    table = write_lines(given.folder / "pairs.jsonl", random_pairs(given.rows))
    command = ["score", *given.options, str(table), "-o"]
    draw = random.Random(given.seed)

    whole = given.folder / "whole.jsonl"
    seconds = finish(start([*command, str(whole)]))

    kills = []
    for number in range(given.kills):
        output = given.folder / f"killed-{number}.jsonl"
        after = draw.uniform(0, seconds)
        process = start([*command, str(output)])
        time.sleep(after)
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        kept = rows_kept(output)
        finish(start([*command, str(output)]))
        same = output.read_bytes() == whole.read_bytes()
        same = same and rows_kept(output) == given.rows == rows_kept(whole)
        kills.append(
            {
                "after": round(after, 3),
                "killed": os.WIFSIGNALED(status),
                "rows": kept,
                "same": same,
            }
        )
    print(json.dumps(kills))
    if not all(kill["same"] for kill in kills):
        raise SystemExit("a job that was taken up wrote other bytes than one that was left alone")


if __name__ == "__main__":
    main()
