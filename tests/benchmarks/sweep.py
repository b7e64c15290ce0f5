"""What a sweep costs beside one score: 9 measures x 8 temperatures x 4 interpolations, one pass.

    python tests/benchmarks/sweep.py webnlg2020.en.jsonl [--pairs 64] [--repeats 3]

The pairs are the first of the data whose texts are all distinct. Prints the median seconds of a
`score` call and of the `sweep`, on the same pairs in turn, and their ratio.
"""

import argparse
import statistics
import time
from pathlib import Path

from speed import WARM_UP, distinct_pairs

from infolm_metric import InfoLMScorer
from infolm_metric.infolm.measures import MEASURES

TEMPERATURES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
INTERPOLATIONS = (0.0, 0.1, 0.25, 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="JSON Lines: prediction, references")
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    columns = [list(side) for side in zip(*distinct_pairs(args.data, args.pairs), strict=True)]
    scorer = InfoLMScorer(model_name_or_path="bundled", idf=False, reuse_memory=0)
    scorer.score(WARM_UP, WARM_UP[::-1])
    every = {"information_measure": [*MEASURES], "alpha": 0.5, "beta": 0.5}
    spent: dict[str, list[float]] = {"score": [], "sweep": []}
    count = 0
    for _ in range(args.repeats):
        start = time.perf_counter()
        scorer.score(*columns)
        spent["score"].append(time.perf_counter() - start)
        start = time.perf_counter()
        results = scorer.sweep(
            *columns, temperatures=TEMPERATURES, interpolations=INTERPOLATIONS, **every
        )
        spent["sweep"].append(time.perf_counter() - start)
        count = sum(len(result.scores) for _, result in results)
    one, many = (statistics.median(seconds) for seconds in spent.values())
    print(
        f"{args.pairs} pairs: a score {one:.1f} s, a sweep of {count} settings {many:.1f} s, "
        f"{many / one:.2f} times as long"
    )


if __name__ == "__main__":
    main()
