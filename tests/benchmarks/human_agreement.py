"""How well InfoLM orders the systems of WebNLG 2020 as people do.

    python tests/benchmarks/human_agreement.py webnlg2020.en.jsonl [--model bundled]

The data is JSON Lines, a row for each system and sample: system, id, is_human, prediction,
references, human (a score for each criterion). Printed for each measure is the correlation over
the systems, x 100, of mean InfoLM with mean human score: Pearson, Spearman and Kendall, averaged
over the criteria, and the mean of the three. InfoLM is negated, since lower is better.

Sample 1124, which lacks a rating for one system, and the human reference are left out, as for the
figures of Colombo et al. 2022, Table 2. `--without SYSTEM` leaves a system out of the correlations,
to see how much of them hangs on it; it still counts for idf.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

import numpy as np
import webnlg_scores

from infolm_metric import InfoLMScorer
from infolm_metric.meta_evaluation import Ratings, correlation
from infolm_metric.meta_evaluation.correlations import COEFFICIENTS

MEASURES = (("fisher_rao_distance", None), ("l1_distance", None), ("ab_divergence", 0.25),
            ("ab_divergence", 0.5))  # fmt: skip


def agreement(ratings: Ratings, scores: list[float], without: Collection[str] = ()) -> np.ndarray:
    """Pearson, Spearman and Kendall x 100, averaged over the criteria; `without` some systems."""
    kept = [system not in without for system in ratings.systems]
    grid = -ratings.grid(scores)[kept]
    found = [
        [correlation(human[kept], grid, coefficient) for coefficient in COEFFICIENTS]
        for human in ratings.human.values()
    ]
    return 100 * np.mean(found, axis=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--temperature", type=float, default=1.5)
    parser.add_argument("--without", nargs="+", default=(), metavar="SYSTEM")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    ratings = webnlg_scores.read(args.data)
    if unknown := set(args.without) - set(ratings.systems):
        parser.error(f"--without names no system: {sorted(unknown)}; there are {ratings.systems}")
    scorer = InfoLMScorer(
        model_name_or_path=args.model,
        temperature=args.temperature,
        multi_reference="mean",
        verbose=args.verbose,
    )
    predictions = list(ratings.predictions)
    references = [list(group) for group in ratings.references]
    print(f"{'measure':28}{'Pearson':>9}{'Spearman':>10}{'Kendall':>9}{'mean':>7}")
    for name, parameter in MEASURES:
        # One pass of the model: the distributions are kept for the measures that follow.
        result = scorer.score(
            predictions,
            references,
            information_measure=name,
            alpha=parameter,
            beta=parameter,
            reuse_memory=1 << 31,
        )
        found = agreement(ratings, result.scores[name], args.without)
        label = name if parameter is None else f"{name} {parameter}, {parameter}"
        columns = "".join(
            f"{value:>{width}.1f}" for value, width in zip(found, (9, 10, 9), strict=True)
        )
        print(f"{label:28}{columns}{found.mean():>7.1f}", flush=True)
    print(result.signature)


if __name__ == "__main__":
    main()
