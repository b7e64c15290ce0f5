"""What several masks in one pass cost in agreement, and what they save in time.

    python tests/benchmarks/masks_per_pass.py webnlg2020.en.jsonl [--masks 1 2 4 8 16]

The data and the agreement with people are those of human_agreement.py. For each number of masks are
printed the speed, the Spearman correlation with the exact scores (over all texts, and over the
systems' means), and the agreement with people. The first number is what the others are compared
with.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import webnlg_scores
from human_agreement import agreement
from scipy import stats

from infolm_metric import InfoLMScorer


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--measure", default="fisher_rao_distance")
    parser.add_argument("--temperature", type=float, default=1.5)
    parser.add_argument("--masks", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--samples", type=int, help="only so many samples of each system")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    ratings = webnlg_scores.read(args.data)
    if args.samples:
        ratings = ratings.select(ratings.samples[: args.samples])
    scorer = InfoLMScorer(
        model_name_or_path=args.model,
        information_measure=args.measure,
        temperature=args.temperature,
        multi_reference="mean",
        reuse_memory=0,
        verbose=args.verbose,
    )
    predictions = list(ratings.predictions)
    references = [list(group) for group in ratings.references]
    scorer.score(predictions[:4], references[:4])  # warmed up
    print("| masks a pass | speed | Spearman with exact, texts | systems | agreement with people |")
    print("|---:|---:|---:|---:|---:|")
    exact, first = [], 0.0
    for masks in args.masks:
        start = time.perf_counter()
        result = scorer.score(predictions, references, masks_per_pass=masks)
        seconds = time.perf_counter() - start
        scores = result.scores[args.measure]
        exact, first = exact or scores, first or seconds
        texts = stats.spearmanr(exact, scores)[0]
        means = [ratings.grid(values).mean(axis=1) for values in (exact, scores)]
        systems = stats.spearmanr(*means)[0]
        print(
            f"| {masks} | {first / seconds:.2f} | {texts:.3f} | {systems:.3f} "
            f"| {agreement(ratings, scores).mean():.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
