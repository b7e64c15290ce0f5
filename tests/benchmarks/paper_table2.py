"""Checks the machinery against published correlations on WebNLG 2020.

    python tests/benchmarks/paper_table2.py webnlg2020.en.jsonl

Prints the correlations over 16 systems between the five human criteria, and of sentence BLEU with
each criterion, x 100, beside those that Colombo et al. 2022 (arXiv 2112.01589) print in Table 2.
Exits with 1 if a published figure is missed by more than 0.1 between criteria or 0.3 for BLEU, at
the one decimal that the paper prints.

Figures that the authors of this file did not have at hand are marked with a dash; ours stand there
all the same. The paper's rounding is sometimes a cut (61.67 is printed as 61.6).
"""

from __future__ import annotations

import argparse
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import webnlg_scores

from infolm_metric.commands.output import markdown
from infolm_metric.meta_evaluation.correlations import COEFFICIENTS, correlation

# Pearson, Spearman, Kendall
BETWEEN_CRITERIA = {
    ("correctness", "data_coverage"): (97.6, 85.2, 73.3),
    ("correctness", "fluency"): (80.0, 81.1, 61.6),
    ("correctness", "relevance"): (99.1, 89.7, 75.0),
    ("data_coverage", "relevance"): (96.0, 93.8, 81.6),
    ("fluency", "text_structure"): (99.5, 99.7, 98.3),
}
BLEU = {
    "data_coverage": (55.7, 50.2, 36.6),
    "fluency": (89.4, 90.5, 78.3),
    "relevance": (63.0, 65.2, 51.6),
}
ALLOWED_BETWEEN_CRITERIA, ALLOWED_FOR_BLEU = 0.1, 0.3


def ours(human: np.ndarray, metric: np.ndarray) -> list[float]:
    """Pearson, Spearman and Kendall at the system level, x 100, with one decimal."""
    return [round(100 * correlation(human, metric, name), 1) for name in COEFFICIENTS]


def row(
    name: str, found: list[float], published: tuple[float, ...] | None, allowed: float
) -> tuple[list[str], bool]:
    """A row of the table, and whether every figure is near enough to the published one."""
    missed = [
        abs(value - other) > allowed + 1e-9
        for value, other in zip(found, published or found, strict=True)
    ]
    shown = " / ".join(map(str, published)) if published else "-"
    verdict = ("missed" if any(missed) else "agrees") if published else ""
    return [name, shown, " / ".join(map(str, found)), verdict], not any(missed)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    ratings = webnlg_scores.read(parser.parse_args().data)
    bleu = ratings.grid(webnlg_scores.sentence_bleu(ratings))
    results = [
        row(
            f"{one} - {other}",
            ours(ratings.human[one], ratings.human[other]),
            BETWEEN_CRITERIA.get((one, other)),
            ALLOWED_BETWEEN_CRITERIA,
        )
        for one, other in combinations(ratings.human, 2)
    ]
    results += [
        row(f"BLEU - {name}", ours(grid, bleu), BLEU.get(name), ALLOWED_FOR_BLEU)
        for name, grid in ratings.human.items()
    ]
    header = ["pair", "published r / rho / tau", "here", ""]
    print(*markdown(header, [cells for cells, _ in results]), sep="\n")
    figures = 3 * (len(BETWEEN_CRITERIA) + len(BLEU))
    agreed = all(near for _, near in results)
    print(f"\n{figures} published figures: {'all agree' if agreed else 'NOT all agree'}")
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
