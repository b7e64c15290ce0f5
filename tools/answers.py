"""Compare metrics with human judgments of LLM answers, and print Markdown tables.

    pip install -c requirements.txt -e ".[tools]"
    python -m tools.answers score   answers.jsonl --scores FOLDER
    python -m tools.answers report  answers.jsonl --scores FOLDER --csv tools/results
    python -m tools.answers explore answers.jsonl --scores FOLDER --csv tools/results
    python -m tools.answers errors  answers.jsonl --scores FOLDER --csv tools/results
    python -m tools.answers hacks   answers.jsonl --csv tools/results
    python -m tools.answers speed   answers.jsonl

The JSON Lines file has the fields dataset, system, id (of the question), question, prediction,
references and human.correct. `score` saves scores, which `report`, `explore` and `errors` use, and
skips metrics with saved scores.

`report` prints areas under the ROC curve and balanced accuracies. Intervals are 95% bootstrap
intervals over questions; p-values compare a metric's area with the area of the task "answer".
Thresholds are chosen on one half of the questions; accuracies are measured on the other half.
`errors` prints random errors, and counts the manually assigned categories in
results/answer_errors_read_by_eye.csv. `speed` requires Linux.
"""

import argparse
import csv
import hashlib
import random
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import compress, islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import rankdata

from infolm_metric import BaryScorer, MENLIScorer
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.scorer import Scorer
from infolm_metric.integrations.trl import reward
from infolm_metric.menli import verdict
from infolm_metric.menli.recall import normalized_tokens, token_recall
from infolm_metric.menli.scorer import formula_values
from infolm_metric.menli.settings import NLI_FORMULAS
from tools.data import read_json_lines
from tools.study import bert_score
from tools.tables import show
from tools.timing import cpu_name, median_seconds

SOURCES = {"evouna": "EVOUNA", "diver": "DIVER-QA"}  # prefix of dataset -> title
RESAMPLES, SEED, CHUNK = 1000, 0, 200
TASK = "MENLI, task answer"
READ_BY_EYE = Path(__file__).parent / "results" / "answer_errors_read_by_eye.csv"
LONG_ANSWER, MAX_REFERENCES = 40, 5  # words, references
TIMED = 500  # answers
WEIGHTS = tuple(step / 10 for step in range(11))
Rows = list[dict[str, Any]]


# Comparisons of strings.


def squad_tokens(text: str) -> list[str]:
    """Return a text's words as SQuAD does: lowercased, without punctuation or articles."""
    plain = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return [word for word in plain.split() if word not in ("a", "an", "the")]


def exact_match(candidate: str, reference: str) -> float:
    return float(squad_tokens(candidate) == squad_tokens(reference))


def containment(candidate: str, reference: str) -> float:
    words, wanted = (f" {' '.join(squad_tokens(text))} " for text in (candidate, reference))
    return float(wanted in words)


def token_f1(candidate: str, reference: str) -> float:
    """Return the harmonic mean of token precision and token recall."""
    words, wanted = squad_tokens(candidate), squad_tokens(reference)
    common = (Counter(words) & Counter(wanted)).total()
    return 2 * common / (len(words) + len(wanted)) if common else float(words == wanted)


STRINGS = {
    "exact match": exact_match,
    "reference contained": containment,
    "token F1": token_f1,
    "token recall": token_recall,
}


# Scores.


def best_of(rows: Rows, values: np.ndarray) -> np.ndarray:
    """Return the best value over the references of each row, [references] -> [rows]."""
    counts = np.array([len(row["references"]) for row in rows])
    best: np.ndarray = np.maximum.reduceat(values, np.cumsum(counts) - counts)
    return best


def compare_strings(rows: Rows, compare: Callable[[str, str], float]) -> np.ndarray:
    """Return the best score over the references of each row, [rows]."""
    return np.array(
        [max(compare(row["prediction"], text) for text in row["references"]) for row in rows]
    )


def texts_of(rows: Rows) -> tuple[list[str], list[list[str]]]:
    return [row["prediction"] for row in rows], [row["references"] for row in rows]


def nli_probabilities(rows: Rows) -> np.ndarray:
    """Return the probabilities e, n and c for each reference of each row, [references, 3]."""
    run: Any = MENLIScorer(model_name_or_path="bundled", reuse_memory=0).prepare()
    chunks = (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
    parts = [run.pair_probabilities(Pairs(*texts_of(chunk)), "hr") for chunk in chunks]
    return np.concatenate(parts)


def bert_scores(rows: Rows) -> np.ndarray:
    """Return BERTScore F1 for each reference of each row, [references]."""
    pairs = [(row["prediction"], text) for row in rows for text in row["references"]]
    parts = []
    for start in range(0, len(pairs), 2000):
        candidates, references = zip(*pairs[start : start + 2000], strict=True)
        parts.append(bert_score(list(candidates), list(references)))
    return np.concatenate(parts)


def bary_scores(rows: Rows) -> np.ndarray:
    """Return negated BaryScore, so that higher is better, [rows]."""
    return -np.asarray(BaryScorer(model_name_or_path="bundled").score(*texts_of(rows))["scores"])


def task_scores(nli: np.ndarray, recall: np.ndarray, weight: float = 0.5) -> np.ndarray:
    """Return the score of the task "answer" from values of e-c and token recall, [rows]."""
    return weight * (nli + 1) / 2 + (1 - weight) * recall


def metric_scores(rows: Rows, stored: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the scores by metric, [rows] each, negated if lower is better."""
    scores = {name: compare_strings(rows, compare) for name, compare in STRINGS.items()}
    if "bertscore" in stored:
        scores["BERTScore"] = best_of(rows, stored["bertscore"])
    if "baryscore" in stored:
        scores["BaryScore"] = stored["baryscore"]
    scores["MENLI e-c, hr"] = best_of(rows, formula_values("e-c", stored["menli"]))
    scores[TASK] = task_scores(scores["MENLI e-c, hr"], scores["token recall"])
    return scores


def sentence_scores(rows: Rows) -> np.ndarray:
    """Return the best e-c over a long answer's sentences, and NaN for other answers, [rows]."""
    places, sentences = [], []
    for place, row in enumerate(rows):
        is_long = len(row["prediction"].split()) > LONG_ANSWER
        if is_long and len(row["references"]) <= MAX_REFERENCES:
            parts = re.split(r"(?<=[.!?])\s+|\n+", row["prediction"].strip())
            places += [place] * len(parts)
            sentences += [{**row, "prediction": part} for part in parts]
    scores = np.full(len(rows), np.nan)
    values = formula_values("e-c", nli_probabilities(sentences))
    np.fmax.at(scores, places, best_of(sentences, values))
    return scores


STORED: dict[str, Callable[[Rows], np.ndarray]] = {
    "menli": nli_probabilities,
    "baryscore": bary_scores,
    "bertscore": bert_scores,
    "sentences": sentence_scores,
}


def score(rows: Rows, arguments: argparse.Namespace) -> None:
    arguments.scores.mkdir(parents=True, exist_ok=True)
    for name, compute in STORED.items():
        path = arguments.scores / f"{name}.npy"
        if not path.exists() and name in (arguments.metrics or STORED):
            np.save(path, compute(rows))


def read_scores(folder: Path) -> dict[str, np.ndarray]:
    paths = {name: folder / f"{name}.npy" for name in STORED}
    return {name: np.load(path) for name, path in paths.items() if path.exists()}


# Statistics.


def auc(scores: np.ndarray, correct: np.ndarray) -> float:
    """Return the area under the ROC curve; ties count as half."""
    positive = int(correct.sum())
    ranks = rankdata(scores)[correct].sum() - positive * (positive + 1) / 2
    return float(ranks / (positive * (len(correct) - positive)))


def balanced_accuracy(predicted: np.ndarray, correct: np.ndarray) -> float:
    """Return the mean of the accuracies on correct answers and on wrong answers."""
    return float((predicted[correct].mean() + (~predicted[~correct]).mean()) / 2)


def best_threshold(scores: np.ndarray, correct: np.ndarray) -> float:
    """Return the score that maximizes balanced accuracy when used as the threshold."""
    values = np.unique(scores)
    hits = (np.sort(scores[correct]), np.sort(scores[~correct]))
    above = 1 - np.searchsorted(hits[0], values) / len(hits[0])
    below = np.searchsorted(hits[1], values) / len(hits[1])
    return float(values[np.argmax(above + below)])


def in_first_half(question: str) -> bool:
    """Return whether a question is in the first half, based on a hash of its id."""
    return hashlib.sha256(question.encode()).digest()[0] % 2 == 0


class Source:
    """Rows of one data set, with human judgments.

    `mask` selects these rows from the file, bool [rows of the file]. `correct`, `first` (the
    question belongs to the first half) and `question` (its number) are [rows].
    """

    def __init__(self, rows: Rows, name: str) -> None:
        self.mask = np.array([row["dataset"].split("-")[0] == name for row in rows])
        rows = list(compress(rows, self.mask))
        self.correct = np.array([row["human"]["correct"] == 1 for row in rows])
        self.first = np.array([in_first_half(row["id"]) for row in rows])
        _, self.question = np.unique([row["id"] for row in rows], return_inverse=True)

    def resamples(self) -> Iterator[np.ndarray]:
        """Yield row numbers for bootstrap resamples of questions."""
        groups = np.split(
            np.argsort(self.question, kind="stable"), np.cumsum(np.bincount(self.question))[:-1]
        )
        generator = np.random.default_rng(SEED)
        for _ in range(RESAMPLES):
            drawn = generator.integers(len(groups), size=len(groups))
            yield np.concatenate([groups[place] for place in drawn])


def p_value(differences: np.ndarray) -> float:
    """Return the two-sided p-value computed from bootstrap differences."""
    tail = min((differences <= 0).sum(), (differences >= 0).sum())
    return float(min(1.0, 2 * (tail + 1) / (len(differences) + 1)))


def interval(values: Sequence[float]) -> str:
    low, high = 100 * np.percentile(values, [2.5, 97.5])
    return f"[{low:.1f}, {high:.1f}]"


def report(rows: Rows, arguments: argparse.Namespace) -> None:
    scores = metric_scores(rows, read_scores(arguments.scores))
    for key, title in SOURCES.items():
        source = Source(rows, key)
        columns = {name: column[source.mask] for name, column in scores.items()}
        resamples = list(source.resamples())
        areas = {
            name: np.array([auc(column[pick], source.correct[pick]) for pick in resamples])
            for name, column in columns.items()
        }
        held_out, table = ~source.first, []
        for name, column in columns.items():
            predicted = column >= best_threshold(column[~held_out], source.correct[~held_out])
            accuracy, *accuracies = (
                balanced_accuracy(predicted[pick], source.correct[pick])
                for pick in (held_out, *(sample[held_out[sample]] for sample in resamples))
            )
            p = "" if name == TASK else f"{p_value(areas[TASK] - areas[name]):.3f}"
            area = auc(column, source.correct)
            table.append(
                [name, f"{100 * area:.1f}", interval(areas[name]), p]
                + [f"{100 * accuracy:.1f}", interval(accuracies)]
            )
        header = ["metric", "AUC", "95%", "p", "balanced accuracy", "95%"]
        show(f"{title} answers", header, table, arguments.csv)
    show_verdicts(rows, scores[TASK], arguments)


def show_verdicts(rows: Rows, scores: np.ndarray, arguments: argparse.Namespace) -> None:
    """Print thresholds from the first half, and the accuracy of verdicts on the second half."""
    sources = [Source(rows, key) for key in SOURCES]
    low, high = choose_thresholds([(scores[s.mask][s.first], s.correct[s.first]) for s in sources])
    print(f"\nthresholds: {low:.3f} {high:.3f}; the package uses {verdict.LOW} {verdict.HIGH}")
    table = []
    for title, source in zip(SOURCES.values(), sources, strict=True):
        held_out = ~source.first
        values, correct = scores[source.mask][held_out], source.correct[held_out]
        above, below = values >= verdict.HIGH, values < verdict.LOW
        cells = [correct[above].mean(), (~correct[below]).mean(), (~above & ~below).mean()]
        cells += [part[mask].mean() for mask in (correct, ~correct) for part in (above, below)]
        table.append([title, len(values), (~correct).sum(), *(f"{100 * c:.1f}" for c in cells)])
    header = ["source", "answers", "wrong answers", "correct among likely correct"]
    header += ["wrong among likely wrong", "unclear"]
    for kind in ("correct", "wrong"):
        header += [f"{kind} answers called likely {word}" for word in ("correct", "wrong")]
    show("Verdicts on answers", header, table, arguments.csv)


def choose_thresholds(
    halves: Sequence[tuple[np.ndarray, np.ndarray]], precision: float = 0.9
) -> tuple[float, float]:
    """Return the thresholds for the verdicts "likely wrong" and "likely correct".

    They are the highest and lowest thresholds with the given precision on the first half of each
    data set.
    """
    grid = np.arange(0.01, 1.0, 0.01)

    def precise(column: np.ndarray, correct: np.ndarray, threshold: float, above: bool) -> bool:
        picked = column >= threshold if above else column < threshold
        return bool(picked.any()) and float((correct[picked] == above).mean()) >= precision

    highs = [t for t in grid if all(precise(*half, t, True) for half in halves)]
    lows = [t for t in grid if all(precise(*half, t, False) for half in halves)]
    return round(float(max(lows, default=0.0)), 2), round(float(min(highs, default=1.0)), 2)


# Manipulated answers.

FILLER = (
    "That is an interesting question, and there are several points of view. In general, it is "
    "important to consider the context. I hope that this answer is helpful."
)
OTHERS = range(1, 10)  # offsets of the questions whose references serve as wrong answers
QUESTIONS = 100  # per data set


def manipulations(row: dict[str, Any], others: Sequence[str]) -> dict[str, str]:
    """Return manipulated answers by name; `row` contains an honest correct answer."""
    reference, question = row["references"][0], row["question"]
    options = [reference, *others]
    random.Random(question).shuffle(options)
    words = sorted({*normalized_tokens(question), *normalized_tokens(reference)})
    return {
        "reference three times": " ".join([reference] * 3),
        "reference and its negation": f"It is {reference}. It is not {reference}.",
        "list of ten candidate answers": ", ".join(options),
        "keywords of question and reference": ", ".join(words),
        "empty": "",
        "question repeated": question,
        "honest answer with filler": f"{row['prediction']} {FILLER}",
    }


def draw_honest_answers(rows: Rows) -> Rows:
    """Draw one correct answer to each of 100 random questions per data set."""
    honest: dict[str, dict[str, dict[str, Any]]] = {key: {} for key in SOURCES}
    for row in random.Random(SEED).sample(rows, len(rows)):
        if row["human"]["correct"] == 1 and len(row["references"]) <= MAX_REFERENCES:
            honest[row["dataset"].split("-")[0]][row["id"]] = row
    return [row for group in honest.values() for row in islice(group.values(), QUESTIONS)]


def rewards(scorer: Scorer, rows: Rows) -> np.ndarray:
    completions, references = texts_of(rows)
    function = reward(scorer, "references")
    return np.array(function(completions=completions, references=references))


def hacks(rows: Rows, arguments: argparse.Namespace) -> None:
    """Print how often manipulated answers score above, or at least as high as, honest answers."""
    answers = {"honest": draw_honest_answers(rows)}
    for place, row in enumerate(answers["honest"]):
        following = (answers["honest"][(place + step) % (2 * QUESTIONS)] for step in OTHERS)
        for kind, text in manipulations(row, [each["references"][0] for each in following]).items():
            answers.setdefault(kind, []).append({**row, "prediction": text})
    columns = {
        TASK: partial(rewards, MENLIScorer(model_name_or_path="bundled", task="answer")),
        "BaryScore": partial(rewards, BaryScorer(model_name_or_path="bundled", idf=False)),
        "BERTScore": lambda group: best_of(group, bert_scores(group)),
        "reference contained": partial(compare_strings, compare=containment),
    }
    table: list[list[str]] = [[kind] for kind in answers]
    for compute in columns.values():
        honest, *manipulated = map(compute, answers.values())
        for cells, scores in zip(table[1:], manipulated, strict=True):
            above, at_least = (scores > honest + 1e-6).mean(), (scores > honest - 1e-6).mean()
            cells.append(f"{100 * above:.0f} / {100 * at_least:.0f}")
    title = "Manipulated answers above honest ones"
    show(title, ["manipulated answer", *columns], table[1:], arguments.csv)


# Other settings, errors and speed.

WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
DIGITS = {word: str(number) for number, word in enumerate(WORDS, 1)}


def recall_of_numbers(candidate: str, reference: str) -> float:
    """Return token recall that treats "1,000" as "1000" and "two" as "2"."""
    texts = (re.sub(r"(?<=\d),(?=\d{3})", "", text) for text in (candidate, reference))
    return token_recall(
        *(" ".join(DIGITS.get(word, word) for word in normalized_tokens(text)) for text in texts)
    )


def recall_of_years(candidate: str, reference: str) -> float:
    """Return token recall of the first year in the reference, or of the whole reference."""
    year = re.search(r"\b(1\d|20)\d\d\b", reference)
    return token_recall(candidate, year[0] if year else reference)


def recall_of_acronyms(candidate: str, reference: str) -> float:
    """Return 1 if the candidate contains the reference's acronym, else token recall."""
    acronym = "".join(word[0] for word in normalized_tokens(reference))
    found = len(acronym) > 1 and acronym in normalized_tokens(candidate)
    return 1.0 if found else token_recall(candidate, reference)


def recall_of_surnames(candidate: str, reference: str) -> float:
    """Return token recall that counts only the last name if the reference is a two-word name."""
    words = reference.split()
    is_name = len(words) == 2 and all(word.istitle() for word in words)
    return token_recall(candidate, words[1] if is_name else reference)


def explore(rows: Rows, arguments: argparse.Namespace) -> None:
    """Print the area under the ROC curve for each variant of the task."""
    stored = read_scores(arguments.scores)
    nli = best_of(rows, formula_values("e-c", stored["menli"]))
    recall = compare_strings(rows, token_recall)
    columns = {f"weight {weight:g}": task_scores(nli, recall, weight) for weight in WEIGHTS}
    for name, values in NLI_FORMULAS.items():
        low, high = min(values), max(values)
        scaled = (best_of(rows, formula_values(name, stored["menli"])) - low) / (high - low)
        columns[f"formula {name}"] = (scaled + recall) / 2
    for compare in (recall_of_numbers, recall_of_years, recall_of_acronyms, recall_of_surnames):
        title = compare.__name__.replace("_", " ")
        columns[title] = task_scores(nli, compare_strings(rows, compare))
    short = [max(len(text.split()) for text in row["references"]) == 1 for row in rows]
    for weight in (0.3, 0.7):
        values = np.where(short, task_scores(nli, recall, weight), task_scores(nli, recall))
        columns[f"weight {weight} for references of one word"] = values
    if "sentences" in stored:
        best, title = stored["sentences"], f"of answers longer than {LONG_ANSWER} words"
        columns[f"best sentence {title}"] = task_scores(np.where(np.isnan(best), nli, best), recall)
        columns[f"whole or best sentence {title}"] = task_scores(np.fmax(nli, best), recall)
    sources = [Source(rows, key) for key in SOURCES]
    table = [
        [name, *(f"{100 * auc(column[each.mask], each.correct):.2f}" for each in sources)]
        for name, column in columns.items()
    ]
    show("Variants of the task answer, AUC", ["variant", *SOURCES.values()], table, arguments.csv)


def errors(rows: Rows, arguments: argparse.Namespace) -> None:
    """Print 20 random errors of each type, and the categories of the manually reviewed errors."""
    scores = metric_scores(rows, read_scores(arguments.scores))[TASK]
    correct = np.array([row["human"]["correct"] == 1 for row in rows])
    sides = {
        "wrong answer called likely correct": (scores >= verdict.HIGH) & ~correct,
        "correct answer called likely wrong": (scores < verdict.LOW) & correct,
    }
    with READ_BY_EYE.open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    for side, mask in sides.items():
        print(f"\n{side}: {mask.sum()}")
        for place in sorted(random.Random(SEED).sample(np.flatnonzero(mask).tolist(), 20)):
            names = ("dataset", "system", "id", "question", "prediction", "references")
            print(f"{scores[place]:.2f}", *(rows[place][name] for name in names), sep="\n  ")
        counts = Counter(row["kind"] for row in read if row["side"] == side)
        show(f"Errors: {side}", ["kind", "of 20"], counts.most_common(), arguments.csv)


def speed(rows: Rows, arguments: argparse.Namespace) -> None:
    """Print answers and pairs per second, for EVOUNA and for 30-word answers."""
    loads = {
        "30 words, one reference of at most five words": [
            row | {"prediction": " ".join(words[:30]), "references": row["references"][:1]}
            for row in rows
            if len(words := row["prediction"].split()) >= 30
            and len(row["references"][0].split()) <= 5
        ],
        "EVOUNA": [row for row in rows if row["dataset"].startswith("evouna")],
    }
    scorer = MENLIScorer(model_name_or_path="bundled", task="answer", reuse_memory=0)
    table = []
    for name, group in loads.items():
        sample = random.Random(SEED).sample(group, min(TIMED, len(group)))
        scorer.score(*texts_of(sample[:20]))
        seconds = median_seconds(partial(scorer.score, *texts_of(sample)), repeats=3)
        pairs = sum(len(row["references"]) for row in sample)
        table.append([name, f"{len(sample) / seconds:.1f}", f"{pairs / seconds:.1f}"])
    print(f"{cpu_name()}, {torch.get_num_threads()} threads, float32")
    show("Speed of the task answer", ["answers", "per s", "pairs per s"], table, arguments.csv)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = {f.__name__: f for f in (score, report, explore, errors, hacks, speed)}
    parser.add_argument("command", choices=commands)
    parser.add_argument("data", type=Path, help="JSON Lines file of answers")
    parser.add_argument("--scores", type=Path, metavar="FOLDER", help="folder for scores")
    parser.add_argument("--metrics", nargs="*", choices=STORED, help="metrics for `score`")
    parser.add_argument("--csv", type=Path, metavar="FOLDER", help="folder for tables")
    arguments = parser.parse_args()
    commands[arguments.command](list(read_json_lines(arguments.data)), arguments)


if __name__ == "__main__":
    main()
