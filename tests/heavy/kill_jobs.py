"""Kills a job again and again, each time at a random moment, takes it up, and compares the bytes.

    python kill_jobs.py --rows 2000 --kills 20 FOLDER --model MODEL
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

import infolm_metric.running.resume  # noqa: F401 (so that the forked processes have it)
from infolm_metric.commands.main import main as infolm
from infolm_metric.metrics import METRICS, Metric
from infolm_metric.running.shards import Shard
from tests.random_pairs import random_pairs, write_lines


def start(arguments: list[str]) -> int:
    """The number of a process that runs `infolm` with the arguments."""
    process = os.fork()
    if process:
        return process
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        os._exit(infolm(arguments))


def finish(process: int) -> None:
    """Wait for the process, and exit unless it ended well."""
    _, status = os.waitpid(process, 0)
    if status:
        raise SystemExit(f"a job ended with status {status}")


def shards_of(output: Path) -> list[Path]:
    """The shards that a job has written."""
    return list(Path(f"{output}.shards").glob("*.rows"))


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
    finish(start([*command, str(whole)]))
    last = len(shards_of(whole))

    kills = []
    for number in range(given.kills):
        output = given.folder / f"killed-{number}.jsonl"
        written = draw.randrange(last)
        process = start([*command, str(output)])
        ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
        while len(shards_of(output)) < written and not os.waitid(os.P_PID, process, ended):
            time.sleep(0.001)
        time.sleep(draw.uniform(0, 0.05))  # and then anywhere in the next shard
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        kept = sum(len(Shard.read(file) or ()) for file in shards_of(output))
        finish(start([*command, str(output)]))
        same = output.read_bytes() == whole.read_bytes()
        kills.append(
            {"after": written, "killed": os.WIFSIGNALED(status), "rows": kept, "same": same}
        )
    print(json.dumps(kills))
    if not all(kill["same"] for kill in kills):
        raise SystemExit("a job that was taken up wrote other bytes than one that was left alone")


if __name__ == "__main__":
    main()
