"""Coverage and width of the intervals of `infolm estimate`, on whole data sets.

    pip install -c requirements.txt -e ".[tools]"
    python -m tools.estimate DATA --scores FOLDER [--sets wmt15 ...] [--csv tools/results]

DATA is the folder of tools/data.py with answers.jsonl in addition: answers to questions, and
whether each is correct. Each text is scored once by each metric (bundled models; FOLDER keeps the
scores). Then each of 2,000 resamples draws the rows of a data set with replacement, all systems
together, treats the first 20, 40 or 100 as rated, and compares the 95% intervals with the mean
human score of the data set. A resample without an interval, because all ratings are equal, counts
as a miss. Nothing was chosen on these data but the type of interval: without the correction for
skewness, coverage on WebNLG and SummEval was one point lower.
"""

import argparse
import re
import string
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from infolm_metric import MENLIScorer
from infolm_metric.meta_evaluation import estimate_mean, read_ratings
from tools.data import READERS, DataSet
from tools.study import ENTRIES, complete, over_references, path_of, scorer_of, texts_of
from tools.tables import show

RATED = (20, 40, 100)


def answers(folder: Path) -> DataSet:
    """Answers of ten systems to questions, each correct (1) or not (0)."""
    return DataSet("answers", "LLM answers", {"": read_ratings(folder / "answers.jsonl")})


def words(text: str) -> Counter[str]:
    """Return the words of a text, normalized as in SQuAD."""
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return Counter(re.sub(r"\b(a|an|the)\b", " ", text).split())


def answer_scores(candidates: list[str], references: list[str]) -> np.ndarray:
    """Return the mean of NLI and token recall, float64 [pairs]."""
    result = scorer_of(MENLIScorer).score(candidates, references, formula="e-c", direction="hr")
    recalls = []
    for pair in zip(candidates, references, strict=True):
        candidate, reference = map(words, pair)
        recalls.append((candidate & reference).total() / max(1, reference.total()))
    return (np.asarray(result["scores"]) + 1) / 4 + np.asarray(recalls) / 2


SETS = {name: READERS[name] for name in ("webnlg", "summeval", "sfres", "wmt15")}
SETS["answers"] = answers
METRICS = (
    *(entry for entry in ENTRIES if entry.names[0] in ("BaryScore", "chrF")),
    over_references("MENLI answers", answer_scores),
)


def human_scores(data: DataSet) -> dict[str, np.ndarray]:
    """Return the human scores by criterion, float64 [rows] in the order of the texts."""
    parts = data.parts.values()
    criteria = next(iter(parts)).human
    return {
        name: np.concatenate(
            [np.atleast_2d(part.human[name])[tuple(part.places.T)] for part in parts]
        )
        for name in criteria
    }


def measure(
    human: np.ndarray, metric: np.ndarray, rated: int, resamples: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coverage and the mean width of ratings alone and estimate, float64 [2] each."""
    random, mean = np.random.default_rng(0), human.mean()
    hits, widths = np.zeros(2), np.zeros((resamples, 2))
    for resample in range(resamples):
        rows = random.integers(len(human), size=len(human))
        ratings = human[rows]
        ratings[rated:] = np.nan
        result = estimate_mean(ratings, metric[rows])
        intervals = (result.ratings, result.estimate)
        hits += [interval.low <= mean <= interval.high for interval in intervals]
        widths[resample] = [interval.high - interval.low for interval in intervals]
    return hits / resamples, np.nanmean(widths, axis=0)


def cells(
    data: DataSet, scores: dict[str, np.ndarray], resamples: int
) -> Iterator[tuple[list[str], int, np.ndarray, np.ndarray]]:
    """Yield (data set, criterion, metric, r), number of ratings, coverage and widths."""
    for criterion, human in human_scores(data).items():
        for name, metric in scores.items():
            correlation = np.corrcoef(human, metric)[0, 1]
            names = [data.title, criterion.replace("_", " "), name, f"{correlation:.2f}"]
            for rated in RATED:
                yield names, rated, *measure(human, metric, rated, resamples)


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
    by_cell: dict[tuple[str, ...], list[str]] = {}
    by_set = []
    for title in arguments.sets:
        data = SETS[title](arguments.data)
        texts = texts_of(data)
        complete(arguments.scores, title, texts, range(len(texts.predictions)), METRICS)
        scores = {
            entry.names[0]: np.load(path_of(arguments.scores, title, entry))[entry.names[0]]
            for entry in METRICS
        }
        results = list(cells(data, scores, arguments.resamples))
        for names, _, coverage, (alone, width) in results:
            row = by_cell.setdefault(tuple(names), [])
            row += [percent(coverage[1]), percent(1 - (width / alone) ** 2)]
        for rated in RATED:
            coverages = np.array([coverage for _, count, coverage, _ in results if count == rated])
            widths = np.array([widths for _, count, _, widths in results if count == rated])
            means = map(percent, coverages.mean(0))
            ends = f"{percent(coverages[:, 1].min())} to {percent(coverages[:, 1].max())}"
            ratio = (widths[:, 1] / widths[:, 0]).mean()
            by_set.append([data.title, rated, *means, ends, f"{ratio:.3f}"])
    header = ["data set", "rated", "coverage of ratings alone", "coverage", "cells", "width"]
    show("Coverage of estimates", header, by_set, arguments.csv)
    header = ["data set", "criterion", "metric", "r"]
    header += [f"{word} at {rated}" for rated in RATED for word in ("coverage", "fewer ratings")]
    rows = [[*names, *row] for names, row in by_cell.items()]
    show("Coverage and savings of estimates by criterion", header, rows, arguments.csv)


if __name__ == "__main__":
    main()
