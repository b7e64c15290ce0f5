"""That memory does not grow with the number of pairs.

    python tests/benchmarks/memory.py [--metric baryscore] [--pairs 1000 100000]

Scores so many short pairs, all different, with a tiny model, as a list and as a stream, each in a
process of its own, and prints how far the call raised the process's peak memory (Linux).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from infolm_metric import metrics

REUSE_MEMORY = 1 << 24  # bytes
SETTINGS = {"infolm": {"idf": False}, "baryscore": {"idf": False, "layers": 2}, "menli": {}}


def pairs(count: int) -> Iterator[tuple[str, str]]:
    """Short pairs, all different."""
    for number in range(count):
        yield f"the cat {number}", f"a dog {number}"


def peak_memory() -> float:
    """The largest resident size of this process, MB; getrusage counts its parent's, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def run(metric: str, folder: str, count: int, way: str) -> dict[str, float]:
    """Peak memory in megabytes before and after the call."""
    scorer_type = metrics.find(metric).scorer_type()
    scorer = scorer_type(model_name_or_path=folder, reuse_memory=REUSE_MEMORY, **SETTINGS[metric])
    scorer.score(*(list(side) for side in zip(*pairs(1000), strict=True)))
    before = peak_memory()
    if way == "stream":
        total = sum(sum(row.values()) for row in scorer.stream(pairs(count)))
    else:
        predictions, references = (list(side) for side in zip(*pairs(count), strict=True))
        (scores,) = scorer.score(predictions, references).scores.values()
        total = sum(scores)
    return {"before": before, "after": peak_memory(), "mean": total / count}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--metric", default="infolm", choices=SETTINGS)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        folder, count, way = args.one
        print(json.dumps(run(args.metric, folder, int(count), way)))
        return
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests import model_families, nli_models

    with tempfile.TemporaryDirectory() as temporary:
        made = Path(temporary)
        model = nli_models.build(made) if args.metric == "menli" else None
        folder = str(model or model_families.build("bert", made))
        this = [sys.executable, __file__, "--metric", args.metric]
        for way in ("list", "stream"):
            for count in args.pairs:
                command = [*this, "--one", folder, str(count), way]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                found = json.loads(done.stdout.splitlines()[-1])
                grown = found["after"] - found["before"]
                print(
                    f"{way:7}{count:>8} pairs: peak {found['after']:.0f} MB, grown {grown:.1f} MB"
                )


if __name__ == "__main__":
    main()
