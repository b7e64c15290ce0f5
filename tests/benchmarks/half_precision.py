"""What half precision does to scores.

    python tests/benchmarks/half_precision.py webnlg2020.en.jsonl [--pairs 64]

Scores the first pairs of the data (JSON Lines with prediction and references) whose texts are all
distinct, and prints the largest difference from the float32 scores and the Spearman correlation
with them. How fast it is depends on the processor: speed.py times bfloat16 where it is native.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from scipy import stats
from speed import distinct_pairs

from infolm_metric import InfoLMScorer


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--pairs", type=int, default=64)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--dtypes", nargs="+", default=["bfloat16"])
    args = parser.parse_args()
    columns = [list(side) for side in zip(*distinct_pairs(args.data, args.pairs), strict=True)]
    scorer = InfoLMScorer(model_name_or_path=args.model, idf=False, reuse_memory=0)
    measures = ["fisher_rao_distance", "l1_distance", "kl_divergence"]
    exact = scorer.score(*columns, information_measure=measures).scores
    print("| dtype | measure | largest difference | largest score | Spearman with float32 |")
    print("|---|---|---:|---:|---:|")
    for dtype in args.dtypes:
        found = scorer.score(*columns, information_measure=measures, dtype=dtype).scores
        for name in measures:
            one, other = np.asarray(exact[name]), np.asarray(found[name])
            print(
                f"| {dtype} | {name} | {np.abs(one - other).max():.5f} | {one.max():.3f} "
                f"| {stats.spearmanr(one, other)[0]:.4f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
