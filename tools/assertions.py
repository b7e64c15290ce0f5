"""Measure how often `assert_not_worse` fails for equal systems, and for a worse system.

    pip install -c requirements.txt -e ".[tools]"
    python -m tools.assertions DATA --scores FOLDER [--csv tools/results]

DATA is the folder described in tools/data.py. Scores of the bundled models are saved in FOLDER. In
each of 1,000 resamples, two random systems of a data set get equal means: all scores of one system
are shifted. Then 10, 50, 100 or 200 samples are drawn with replacement, and `assert_not_worse`
decides on the two systems' scores for these samples. For the power, the scores of the second system
are also made worse by 0.2 of their standard deviation.
"""

import argparse
from pathlib import Path

import numpy as np

from infolm_metric import BaryScorer, BERTScorer
from infolm_metric.meta_evaluation.significance import approximate_randomization, system_verdict
from tools.data import READERS
from tools.study import complete, load_texts, package_entry
from tools.tables import show

SIZES = (10, 50, 100, 200)
DIFFERENCE = 0.2
METRICS = (
    package_entry("bundled BERTScore", BERTScorer),
    package_entry("bundled BaryScore", BaryScorer, idf=True),
)


def failures(grid: np.ndarray, size: int, resamples: int, difference: float) -> float:
    """Return the fraction of resamples of scores [systems, samples] that fail, higher is better."""
    random, count = np.random.default_rng(0), 0
    for _ in range(resamples):
        old, new = grid[random.choice(len(grid), 2, replace=False)]
        new = new - new.mean() + old.mean() - difference * new.std()
        drawn = random.integers(len(old), size=size)
        loss = float(new[drawn].mean() - old[drawn].mean())
        p_value = approximate_randomization(new[drawn], old[drawn])
        count += system_verdict(loss, p_value, higher_is_better=True) == "worse"
    return count / resamples


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the data sets")
    parser.add_argument("--scores", type=Path, default=Path("scores"), help="folder for scores")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--csv", type=Path, help="folder to save the table in")
    arguments = parser.parse_args()
    rows = []
    for name in ("summeval", "webnlg"):
        data = READERS[name](arguments.data)
        texts = load_texts(data)
        columns = complete(arguments.scores, name, texts, range(len(texts.predictions)), METRICS)
        for entry in METRICS:
            (grid,) = data.grids(columns[entry.names[0]]).values()
            grid = grid[:, ~np.isnan(grid).any(0)]
            rates = [
                failures(grid, size, arguments.resamples, difference)
                for difference in (0, DIFFERENCE)
                for size in SIZES
            ]
            rows.append([data.title, *entry.names, *(f"{rate:.1%}" for rate in rates)])
    header = ["data set", "metric", *(f"equal, {size}" for size in SIZES)]
    header += [f"worse, {size}" for size in SIZES]
    show("Failures of assert_not_worse", header, rows, arguments.csv)


if __name__ == "__main__":
    main()
