"""How long the command line takes to answer, before and after a change.

    python tests/benchmarks/startup.py --old CHECKOUT --new CHECKOUT

Both checkouts run in this Python, one after the other in turn, so that a machine that is also at
other work treats them alike. Measured are the wall clock and the CPU time of the whole process,
imports and all, and printed the medians of the repetitions: one pair on the bundled model; beside
it, a script that reads this pair with this model through transformers alone; --help, an argument
that is wrong, the default model where nothing answers in the Hub's place, and a job that is
finished asked for again. What the libraries keep on the disk is warmed up by a run before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAIRS = 300
PAIR = ("The cat sat.", "A cat sat down.")
ALONE = """
import sys
from pathlib import Path
import infolm_metric
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer
folder = Path(infolm_metric.__file__).parent / "bundled"
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForMaskedLM.from_pretrained(folder).eval()
with torch.inference_mode():
    model(**tokenizer(sys.argv[1:], return_tensors="pt", padding=True))
"""
INFOLM = ("-m", "infolm_metric", "score")
JOB = (*INFOLM, "--model", "bundled", "--idf", "none", "rows.jsonl", "-o", "scores.jsonl")
ASKED: dict[str, tuple[str, ...]] = {
    "one pair, bundled model": (*INFOLM, "--model", "bundled", *PAIR),
    "that pair, transformers alone": ("-c", ALONE, *PAIR),
    "--help": (*INFOLM, "--help"),
    "an argument that is wrong": (*INFOLM, "-t", "0", "a cat", "the cat"),
    "default model, no Hub": (*INFOLM, "a cat", "the cat"),
    f"a finished job of {PAIRS} pairs": JOB,
}


def run(checkout: Path, arguments: tuple[str, ...], folder: Path) -> tuple[float, float]:
    """Seconds that Python takes with these arguments: by the clock, and of the processors."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "HF_HOME": str(folder / "home")}
    environment |= {"HF_ENDPOINT": "http://127.0.0.1:9"}  # where nothing listens
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "INFOLM_MODEL"):
        environment.pop(name, None)
    start, before = time.perf_counter(), os.times()
    subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True)
    wall, after = time.perf_counter() - start, os.times()
    used = after.children_user + after.children_system
    return wall, used - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--old", type=Path, required=True, help="checkout to compare with")
    parser.add_argument("--new", type=Path, required=True, help="checkout to measure")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="only what is asked under such a name")
    args = parser.parse_args()
    checkouts = {"old": args.old.resolve(), "new": args.new.resolve()}
    print("| | old, s | new, s | old, CPU s | new, CPU s |\n|---|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as temporary:
        folders = {name: Path(temporary, name) for name in checkouts}
        for name, folder in folders.items():
            folder.mkdir()
            row = {"prediction": "The cat sat.", "reference": "A cat sat down."}
            (folder / "rows.jsonl").write_text((json.dumps(row) + "\n") * PAIRS)
            run(checkouts[name], JOB, folder)
        for title, arguments in ASKED.items():
            if args.only not in title:
                continue
            seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in checkouts}
            for _ in range(args.repeats):
                for name, checkout in checkouts.items():
                    seconds[name].append(run(checkout, arguments, folders[name]))
            medians = [
                f"{statistics.median(each[kind] for each in found):.2f}"
                for kind in (0, 1)
                for found in seconds.values()
            ]
            print(f"| {title} | {' | '.join(medians)} |", flush=True)


if __name__ == "__main__":
    main()
