"""Measure the coverage and width of the intervals that `infolm estimate` reports.

    pip install -c requirements.txt -e ".[tools]"
    python -m tools.estimate DATA --scores FOLDER [--sets wmt15 ...] [--csv tools/results]

DATA is the folder described in tools/data.py, with an additional file answers.jsonl: answers to
questions, and whether each is correct. Scores of the bundled models are saved in FOLDER. Then the
rows of each data set, from all systems, are resampled with replacement 2,000 times. In each
resample, the first 20, 40 or 100 rows are treated as rated, and the 95% intervals are compared with
the data set's mean human score. If all ratings are equal, the resample counts as a miss.

The first table shows the mean and range of the coverage over criteria and metrics, and the width
relative to intervals from the ratings alone. The second table shows every criterion and metric, and
the fraction of ratings saved for intervals of equal width.

The formula for the interval was selected from least squares, jackknife and HC3 variances, with and
without a skewness correction, on these data, partly with other metrics. It contains no fitted
constants.
"""

import argparse
from pathlib import Path

import numpy as np

from infolm_metric import AnswerCheckScorer
from infolm_metric.meta_evaluation import estimate_mean, read_ratings
from tools.data import READERS, DataSet
from tools.study import ENTRIES, complete, load_texts, package_entry, score_path
from tools.tables import show

RATED = (20, 40, 100)


def answers(folder: Path) -> DataSet:
    """Read the answers of ten systems to questions, rated as correct (1) or wrong (0)."""
    return DataSet("answers", "LLM answers", {"": read_ratings(folder / "answers.jsonl")})


SETS = {name: READERS[name] for name in ("webnlg", "summeval", "sfres", "wmt15")}
SETS["answers"] = answers
METRICS = (
    *(entry for entry in ENTRIES if entry.names[0] in ("BaryScore", "chrF")),
    package_entry("answer_check", AnswerCheckScorer),
)


def human_scores(data: DataSet) -> dict[str, np.ndarray]:
    """Return the human scores by criterion, float64 [rows] each, in the order of the texts."""
    parts = list(data.parts.values())
    return {
        name: np.concatenate(
            [np.atleast_2d(part.human[name])[tuple(part.indices.T)] for part in parts]
        )
        for name in parts[0].human
    }


def measure(human: np.ndarray, metric: np.ndarray, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return coverage and mean width without and with the metric, float64 [len(RATED), 2] each."""
    random, mean = np.random.default_rng(0), human.mean()
    hits, widths = np.zeros((2, resamples, len(RATED), 2))
    for resample in range(resamples):
        rows = random.integers(len(human), size=len(human))
        scores = metric[rows]
        for size, rated in enumerate(RATED):
            ratings = np.full(len(human), np.nan)
            ratings[:rated] = human[rows[:rated]]
            result = estimate_mean(ratings, scores)
            for place, interval in enumerate((result.ratings, result.estimate)):
                hits[resample, size, place] = interval.low <= mean <= interval.high
                widths[resample, size, place] = interval.high - interval.low
    return hits.mean(0), np.nanmean(widths, axis=0)


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with the data sets")
    parser.add_argument("--scores", type=Path, default=Path("scores"), help="folder for scores")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--csv", type=Path, help="folder to save the tables in")
    arguments = parser.parse_args()
    by_set: list[list[object]] = []
    by_cell: list[list[object]] = []
    for title in arguments.sets:
        data = SETS[title](arguments.data)
        texts = load_texts(data)
        complete(arguments.scores, title, texts, range(len(texts.predictions)), METRICS)
        coverages, widths = [], []
        for criterion, human in human_scores(data).items():
            for entry in METRICS:
                (name,) = entry.names
                metric = np.load(score_path(arguments.scores, title, entry))[name]
                coverage, width = measure(human, metric, arguments.resamples)
                saved = 1 - (width[:, 1] / width[:, 0]) ** 2
                r = np.corrcoef(human, metric)[0, 1]
                row = [data.title, criterion.replace("_", " "), name, f"{r:.2f}"]
                by_cell.append(row + [percent(x) for x in (*coverage[:, 1], *saved)])
                coverages.append(coverage)
                widths.append(width)
        for size, rated in enumerate(RATED):
            alone, combined = np.array(coverages)[:, size].T
            ratio = np.mean([width[size, 1] / width[size, 0] for width in widths])
            ends = f"{percent(combined.min())} to {percent(combined.max())}"
            means = (percent(alone.mean()), percent(combined.mean()))
            by_set.append([data.title, rated, *means, ends, f"{ratio:.3f}"])
    header = ["data set", "rated", "ratings alone", "estimate", "range", "width"]
    show("Coverage of estimates", header, by_set, arguments.csv)
    header = ["data set", "criterion", "metric", "r"]
    header += [f"{word} at {rated}" for word in ("coverage", "saved") for rated in RATED]
    show("Coverage and savings of estimates by criterion", header, by_cell, arguments.csv)


if __name__ == "__main__":
    main()
