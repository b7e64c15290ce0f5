"""Coverage and width of the intervals of `infolm estimate`, on whole data sets.

    pip install -c requirements.txt -e ".[tools]"
    python -m tools.estimate DATA --scores FOLDER [--sets wmt15 ...] [--csv tools/results]

DATA is the folder of tools/data.py with answers.jsonl in addition: answers to questions, and
whether each is correct. Each text is scored once by each metric (bundled models; FOLDER keeps the
scores). Then each of 2,000 resamples draws the rows of a data set with replacement, all systems
together, treats the first 20, 40 or 100 as rated, and compares the 95% intervals with the mean
human score of the data set. A resample without an interval, because all ratings are equal, counts
as a miss. The first table has the means over criteria and metrics, the range over them, and the
width relative to intervals from the ratings alone. The second table has every criterion and metric,
and the fraction of ratings saved for intervals of equal width.

The form of the interval was chosen on these data, with other metrics in part: least squares,
jackknife and HC3 variances, with and without the correction for skewness. No number was fitted.
"""

import argparse
from pathlib import Path

import numpy as np

from infolm_metric import MENLIScorer
from infolm_metric.meta_evaluation import estimate_mean, read_ratings
from tools.data import READERS, DataSet
from tools.study import ENTRIES, Entry, Scores, Texts, complete, load_texts, score_by, score_path
from tools.tables import show

RATED = (20, 40, 100)
TASK = "MENLI, task answer"


def answers(folder: Path) -> DataSet:
    """Read answers of ten systems to questions, each correct (1) or not (0)."""
    return DataSet("answers", "LLM answers", {"": read_ratings(folder / "answers.jsonl")})


def answer_task(texts: Texts) -> Scores:
    """Return the scores of MENLI with the defaults for answers, by name."""
    return {TASK: score_by(MENLIScorer, texts, "max", task="answer")}


SETS = {name: READERS[name] for name in ("webnlg", "summeval", "sfres", "wmt15")}
SETS["answers"] = answers
METRICS = (
    *(entry for entry in ENTRIES if entry.names[0] in ("BaryScore", "chrF")),
    Entry((TASK,), answer_task),
)


def human_scores(data: DataSet) -> dict[str, np.ndarray]:
    """Return the human scores by criterion, float64 [rows] in the order of the texts."""
    parts = data.parts.values()
    criteria = next(iter(parts)).human
    return {
        name: np.concatenate(
            [np.atleast_2d(part.human[name])[tuple(part.indices.T)] for part in parts]
        )
        for name in criteria
    }


def measure(human: np.ndarray, metric: np.ndarray, resamples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return coverage and mean width of ratings alone and estimates, float64 [sizes, 2] each."""
    random, mean = np.random.default_rng(0), human.mean()
    hits = np.zeros((resamples, len(RATED), 2))
    widths = np.zeros((resamples, len(RATED), 2))
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
    """Return a fraction in percent."""
    return f"{100 * value:.1f}"


def main() -> None:
    """Score what is missing, resample, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the five files")
    parser.add_argument("--scores", type=Path, default=Path("scores"), help="keeps the scores")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--csv", type=Path, help="folder for the tables' rows")
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
