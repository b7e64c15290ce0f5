"""That memory does not grow with the number of pairs.

    python tests/benchmarks/memory.py [--pairs 1000 100000]

Scores so many short pairs, all different, with a tiny model, as a list and as a stream, each in a
process of its own, and prints how far the call raised the process's peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

REUSE_MEMORY = 1 << 24  # bytes


def pairs(count: int) -> Iterator[tuple[str, str]]:
    """Short pairs, all different."""
    for number in range(count):
        yield f"the cat {number}", f"a dog {number}"


def run(folder: str, count: int, way: str) -> dict[str, float]:
    """Peak memory in megabytes before and after the call."""
    from infolm_metric import InfoLMScorer

    scorer = InfoLMScorer(model_name_or_path=folder, reuse_memory=REUSE_MEMORY, idf=False)
    scorer.score(*(list(side) for side in zip(*pairs(1000), strict=True)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if way == "stream":
        total = sum(row["fisher_rao_distance"] for row in scorer.stream(pairs(count)))
    else:
        predictions, references = (list(side) for side in zip(*pairs(count), strict=True))
        total = sum(scorer.score(predictions, references).scores["fisher_rao_distance"])
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"before": before, "after": after, "mean": total / count}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 100_000])
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        folder, count, way = args.one
        print(json.dumps(run(folder, int(count), way)))
        return
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.model_families import build

    with tempfile.TemporaryDirectory() as temporary:
        folder = str(build("bert", Path(temporary)))
        for way in ("list", "stream"):
            for count in args.pairs:
                command = [sys.executable, __file__, "--one", folder, str(count), way]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                found = json.loads(done.stdout.splitlines()[-1])
                grown = found["after"] - found["before"]
                print(
                    f"{way:7}{count:>8} pairs: peak {found['after']:.0f} MB, grown {grown:.1f} MB"
                )


if __name__ == "__main__":
    main()
