"""Compare answer_check with human judgments of LLM answers, and print Markdown tables.

    pip install -c requirements.txt -e ".[tools]"
    python -m tools.answers short      DATA --scores FOLDER --csv tools/results
    python -m tools.answers long       DATA --scores FOLDER --csv tools/results
    python -m tools.answers thresholds DATA --scores FOLDER --csv tools/results
    python -m tools.answers fit        DATA --scores FOLDER --csv tools/results
    python -m tools.answers sentences  DATA --scores FOLDER --csv tools/results
    python -m tools.answers errors     DATA --scores FOLDER --csv tools/results
    python -m tools.answers hacks      DATA --scores FOLDER --csv tools/results
    python -m tools.answers search     DATA --scores FOLDER --csv tools/results
    python -m tools.answers speed      DATA --csv tools/results

DATA is a folder with answers.jsonl and long_answers.jsonl (tools/data.py). NLI probabilities are
saved in the folder for scores by model and pair of texts, and the scores of other metrics by input.

- short: area under the ROC curve against human verdicts, on all answers and on the second halves.
- long: Pearson's r between the difference of two answers' scores and annotators' preferences. The
  weights of each half of the questions are chosen on the other half.
- thresholds: thresholds chosen on the first halves within the error goals, and rates of verdicts
  on the second halves, both with these thresholds and with the thresholds of the package.
- fit: areas and possible verdicts on the first halves, by weight of token recall and by cap.
- sentences: verdicts on right and wrong sentences by kind, with which the rules were written, and
  on unseen ones, whose author did not know the rules (both in tests/unit/answer_check).
- errors: random errors, and how many of them have each category in
  results/answer_errors_read_by_eye.csv.
- hacks: manipulated answers that score above honest answers, and what the guard costs: areas under
  the ROC curve and the mean reward of correct answers. The guard was chosen on the first halves.
- search: random edits of wrong answers that raise the reward, on second halves.
- speed: answers per second.

Intervals are 95% bootstrap intervals over questions. A question is in the first or second half by a
hash of its id.
"""

import argparse
import csv
import hashlib
import json
import random
import sqlite3
import string
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from scipy.stats import rankdata

from infolm_metric import AnswerCheckScorer, BaryScorer, BERTScorer
from infolm_metric.answer_check import verdict
from infolm_metric.answer_check.comparison import Comparison
from infolm_metric.answer_check.scorer import AnswerCheckRun
from infolm_metric.answer_check.verdict import LIKELY_CORRECT, LIKELY_WRONG, VERDICTS
from infolm_metric.core.inputs import batches
from infolm_metric.core.settings import BUNDLED
from infolm_metric.integrations.trl import reward
from infolm_metric.scoring.nli_scorer import TextPair
from infolm_metric.scoring.scorer import Progress, Scorer, no_progress
from tools.data import read_json_lines
from tools.study import load_scorer
from tools.tables import show
from tools.timing import cpu_name, median_seconds

ROOT = Path(__file__).parent.parent
SENTENCES = {
    "sentences": ROOT / "tests/unit/answer_check/sentences.tsv",
    "unseen sentences": ROOT / "tests/unit/answer_check/unseen_sentences.tsv",
    "hard sentences": ROOT / "tests/unit/answer_check/hard_sentences.tsv",
}
READ_BY_EYE = ROOT / "tools/results/answer_errors_read_by_eye.csv"
SOURCES = {"evouna": "EVOUNA", "diver": "DIVER-QA"}  # prefix of dataset -> title
# Largest fractions of wrong answers called likely correct, and of correct ones called likely wrong.
GOALS = {"evouna": (0.04, 0.02), "diver": (0.10, 0.03)}
METRIC = "answer_check"
CRITERIA = ("correctness", "completeness", "overall")
RESAMPLES, SEED, PART = 1000, 0, 500
MAX_REFERENCES = 20
TIMED, TIMED_LONG, DRAWN = 500, 50, 20  # answers
GRID = np.arange(0, 101) / 100  # thresholds
RECALL_WEIGHTS, CAPS = np.arange(0, 11) / 10, (0.3, 0.4, 0.5, 0.6, 1.0)
LONG_WEIGHTS = [(a / 10, b / 10, (10 - a - b) / 10) for a in range(11) for b in range(11 - a)]
Rows = list[dict[str, Any]]


# Scores. NLI probabilities are saved. Everything else is computed by the package.


class SavedScorer(AnswerCheckScorer):
    """answer_check with saved NLI probabilities."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        super().__init__(**settings)
        identity = str(self.prepare().signature).partition("|model:")[2].partition("|")[0]
        folder.mkdir(parents=True, exist_ok=True)
        name = hashlib.sha256(identity.encode()).hexdigest()[:16]
        self.saved = sqlite3.connect(folder / f"nli_{name}.sqlite")
        self.saved.execute("CREATE TABLE IF NOT EXISTS pairs (key BLOB PRIMARY KEY, e, n, c)")


@dataclass(frozen=True, kw_only=True)
class SavedRun(AnswerCheckRun):
    """A run that looks up saved NLI probabilities, and saves new ones."""

    scorer: SavedScorer

    def probabilities(
        self, pairs: Sequence[TextPair], progress: Progress = no_progress
    ) -> np.ndarray:
        table = self.scorer.saved
        keys = [hashlib.sha256("\0".join(pair).encode()).digest() for pair in pairs]
        rows = {key: self.find(key) for key in keys}
        missing = [(key, pair) for key, pair in zip(keys, pairs, strict=True) if not rows[key]]
        for part in batches(missing, PART):
            values = super().probabilities([pair for _, pair in part]).tolist()
            rows |= {key: tuple(row) for (key, _), row in zip(part, values, strict=True)}
            with table:
                lines = [(key, *rows[key]) for key, _ in part]
                table.executemany("INSERT OR REPLACE INTO pairs VALUES (?, ?, ?, ?)", lines)
        return np.array([rows[key] for key in keys])

    def find(self, key: bytes) -> tuple[float, ...]:
        """Return saved probabilities, or an empty tuple."""
        found = self.scorer.saved.execute("SELECT e, n, c FROM pairs WHERE key = ?", (key,))
        return found.fetchone() or ()


SavedScorer.run_type = SavedRun  # type: ignore[assignment]


def make_scorer(arguments: argparse.Namespace, **settings: Any) -> SavedScorer:
    return SavedScorer(arguments.scores, model_name_or_path=arguments.model, **settings)


def package_thresholds(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the setting with which other NLI models get verdicts like the bundled model."""
    return {} if arguments.model == BUNDLED else {"thresholds": verdict.THRESHOLDS}


def compare_answers(scorer: SavedScorer, rows: Rows) -> tuple[SavedRun, list[list[Comparison]]]:
    """Compare each answer with each of its references."""
    run: Any = scorer.prepare()
    comparisons = []
    for part in batches(rows, PART):
        prepared = [
            (
                run.prepare_answer(row["prediction"]),
                [*map(run.prepare_reference, row["references"])],
            )
            for row in part
        ]
        texts = [text for answer, group in prepared for x in (answer, *group) for text in x.texts]
        comparisons += run.compare(prepared, run.tokens(texts))
    return run, comparisons


def best_scores(run: AnswerCheckRun, comparisons: Sequence[list[Comparison]]) -> np.ndarray:
    """Return the score of each answer, [rows]."""
    best = map(run.best_comparison, comparisons)
    return np.array([item.score(METRIC) if item else 0.0 for item in best])


def maxima(
    comparisons: Sequence[list[Comparison]], value: Callable[[Comparison], float]
) -> np.ndarray:
    """Return the largest value over the references of each answer, [rows]."""
    return np.array([max(map(value, group), default=0.0) for group in comparisons])


def squad_tokens(text: str) -> list[str]:
    """Return a text's words as SQuAD does: lowercased, without punctuation or articles."""
    plain = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return [word for word in plain.split() if word not in ("a", "an", "the")]


def containment(candidate: str, reference: str) -> float:
    words, wanted = (f" {' '.join(squad_tokens(text))} " for text in (candidate, reference))
    return float(wanted in words)


def token_f1(candidate: str, reference: str) -> float:
    """Return the harmonic mean of token precision and token recall."""
    words, wanted = squad_tokens(candidate), squad_tokens(reference)
    common = (Counter(words) & Counter(wanted)).total()
    return 2 * common / (len(words) + len(wanted)) if common else float(words == wanted)


STRINGS = {"reference contained": containment, "token F1": token_f1}


def compare_strings(rows: Rows, compare: Callable[[str, str], float]) -> np.ndarray:
    """Return the best score over the references of each row, [rows]."""
    return np.array(
        [max(compare(row["prediction"], text) for text in row["references"]) for row in rows]
    )


def texts_of(rows: Rows) -> tuple[list[str], list[list[str]]]:
    return [row["prediction"] for row in rows], [row["references"] for row in rows]


def encoder_metric(kind: type, rows: Rows) -> np.ndarray:
    """Return the scores of a metric with the bundled encoder, higher is better, [rows]."""
    result = load_scorer(kind).score(*texts_of(rows))
    scores = np.asarray(result["scores"])
    return scores if result.higher_is_better else -scores


ENCODERS = {
    "BERTScore": partial(encoder_metric, BERTScorer),
    "BaryScore": partial(encoder_metric, BaryScorer),
}


def encoder_scores(rows: Rows, name: str, folder: Path) -> np.ndarray:
    """Return the scores of a metric in ENCODERS, which are saved by input."""
    digest = hashlib.sha256(repr(texts_of(rows)).encode()).hexdigest()[:16]
    path = folder / f"{name}_{digest}.npy"
    if not path.exists():
        np.save(path, ENCODERS[name](rows))
    scores: np.ndarray = np.load(path)
    return scores


# Data and statistics.


def in_first_half(question: str) -> bool:
    """Return whether a question is in the first half, based on a hash of its id."""
    return int(hashlib.sha256(question.encode()).hexdigest(), 16) % 2 == 0


class ShortAnswers:
    """Answers with short references, or with --rows a random sample of them.

    `correct`, `first` (the question is in the first half) and each of `sources` are bool [rows].
    """

    def __init__(self, arguments: argparse.Namespace) -> None:
        rows = list(read_json_lines(arguments.data / "answers.jsonl"))
        rows = random.Random(SEED).sample(rows, min(len(rows), arguments.rows or len(rows)))
        self.rows: Rows = rows
        self.correct = np.array([row["human"]["correct"] == 1 for row in rows])
        self.first = np.array([in_first_half(row["id"]) for row in rows])
        prefixes = np.array([row["dataset"].split("-")[0] for row in rows])
        self.sources = {source: prefixes == source for source in SOURCES}


def resample(questions: Sequence[str]) -> Iterator[np.ndarray]:
    """Yield row numbers for bootstrap resamples of questions, which are given by row."""
    _, numbers = np.unique(questions, return_inverse=True)
    ends = np.cumsum(np.bincount(numbers))[:-1]
    groups = np.split(np.argsort(numbers, kind="stable"), ends)
    generator = np.random.default_rng(SEED)
    for _ in range(RESAMPLES):
        drawn = generator.integers(len(groups), size=len(groups))
        yield np.concatenate([groups[place] for place in drawn])


def auc(scores: np.ndarray, correct: np.ndarray) -> float:
    """Return the area under the ROC curve. Ties count as half."""
    positive = int(correct.sum())
    ranks = rankdata(scores)[correct].sum() - positive * (positive + 1) / 2
    return float(ranks / (positive * (len(correct) - positive)))


def p_value(differences: np.ndarray) -> float:
    """Return the two-sided p-value computed from bootstrap differences, NaN if one is undefined."""
    if np.isnan(differences).any():
        return float("nan")
    tail = min((differences <= 0).sum(), (differences >= 0).sum())
    return float(min(1.0, 2 * (tail + 1) / (len(differences) + 1)))


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def interval(values: np.ndarray) -> str:
    low, high = np.percentile(values, [2.5, 97.5])
    return f"[{percent(low)}, {percent(high)}]"


def rate(picked: np.ndarray, among: np.ndarray) -> float:
    """Return the fraction of the rows in `among` that are in `picked`, 0 without rows."""
    return float(picked[among].mean()) if among.any() else 0.0


# Short references.


def short(arguments: argparse.Namespace) -> None:
    """Print areas under the ROC curve, with p-values for the difference from answer_check."""
    data = ShortAnswers(arguments)
    rows, correct = data.rows, data.correct
    run, comparisons = compare_answers(make_scorer(arguments), rows)
    scores = {METRIC: best_scores(run, comparisons)}
    scores["token recall"] = maxima(comparisons, lambda item: item.overlap.recall)
    scores["NLI score"] = maxima(comparisons, lambda item: item.nli)
    scores |= {name: compare_strings(rows, compare) for name, compare in STRINGS.items()}
    scores |= {name: encoder_scores(rows, name, arguments.scores) for name in ENCODERS}
    for source, title in SOURCES.items():
        table: list[list[object]] = [[name] for name in scores]
        for part in (data.sources[source], data.sources[source] & ~data.first):
            places = np.flatnonzero(part)
            draws = [places[pick] for pick in resample([rows[place]["id"] for place in places])]
            areas = {
                name: np.array([auc(column[pick], correct[pick]) for pick in draws])
                for name, column in scores.items()
            }
            for cells, (name, column) in zip(table, scores.items(), strict=True):
                p = "" if name == METRIC else f"{p_value(areas[METRIC] - areas[name]):.3f}"
                area = percent(auc(column[part], correct[part]))
                cells += [area, interval(areas[name]), p]
        header = ["metric", "AUC", "95%", "p", "AUC of second half", "95%", "p"]
        show(f"{title} answers", header, table, arguments.csv)


def fit(arguments: argparse.Namespace) -> None:
    """Print areas, and the fraction of verdicts within the error goals, on the first halves."""
    data = ShortAnswers(arguments)
    rows = [row for row, first in zip(data.rows, data.first, strict=True) if first]
    run, comparisons = compare_answers(make_scorer(arguments), rows)
    capped = np.array([bool(x and x.capped) for x in map(run.best_comparison, comparisons)])
    correct = data.correct[data.first]
    parts = {source: part[data.first] for source, part in data.sources.items()}
    table = []
    for weight, cap in product(RECALL_WEIGHTS, CAPS):
        with patch.multiple(verdict, RECALL_WEIGHT=weight, CAP=cap):
            scores = best_scores(run, comparisons)
        low, high = choose_thresholds(scores, correct, capped, parts)
        decided = (scores < low) | ((scores >= high) & ~capped)
        areas = [percent(auc(scores[part], correct[part])) for part in parts.values()]
        fractions = [percent(decided[part].mean()) for part in parts.values()]
        table.append([f"{weight:g}", f"{cap:g}", *areas, *fractions, f"{low:g}", f"{high:g}"])
    header = ["weight of recall", "cap", *(f"AUC {title}" for title in SOURCES.values())]
    header += [*(f"verdicts {title}" for title in SOURCES.values()), "low", "high"]
    show("Weights of answer_check on the first halves", header, table, arguments.csv)


def choose_thresholds(
    scores: np.ndarray, correct: np.ndarray, excluded: np.ndarray, parts: dict[str, np.ndarray]
) -> tuple[float, float]:
    """Return the thresholds with the most verdicts within the error goals.

    There are at most as many errors as if each part had its goal's rate. `excluded` rows are never
    called likely correct.
    """
    highs, lows = [1.0], [0.0]
    groups = [{key: part & side for key, part in parts.items()} for side in (~correct, correct)]
    allowed = [
        sum(GOALS[key][place] * group[key].sum() for key in parts)
        for place, group in enumerate(groups)
    ]
    wrong, right = (np.any(list(group.values()), axis=0) for group in groups)
    for threshold in GRID:
        above, below = (scores >= threshold) & ~excluded, scores < threshold
        highs += [threshold] * bool((above & wrong).sum() <= allowed[0])
        lows += [threshold] * bool((below & right).sum() <= allowed[1])
    return float(min(max(lows), min(highs))), float(min(highs))


def thresholds(arguments: argparse.Namespace) -> None:
    """Choose thresholds on the first halves, and print rates of verdicts on the second halves."""
    data = ShortAnswers(arguments)
    rows, correct, first = data.rows, data.correct, data.first
    # With two thresholds of 0, answers are likely correct if nothing but the score decides.
    scorer = make_scorer(arguments, thresholds=(0.0, 0.0))
    result = scorer.score(*texts_of(rows), verbose=True)
    scores, verdicts = np.array(result["scores"]), np.array(result["verdicts"], dtype=object)
    excluded, decided = verdicts != LIKELY_CORRECT, verdicts != np.array(None)
    run: Any = scorer.prepare()
    has_short = np.array([any(run.prepare_reference(text).is_short for text in row["references"])
                          for row in rows])  # fmt: skip
    header = ["source", "thresholds", "answers", "correct", "correct among likely correct"]
    header += ["wrong among likely wrong", "wrong called likely correct"]
    header += ["correct called likely wrong", "correct called likely correct", "unclear"]
    header += ["no verdict"]
    for title, kind in (("", has_short), (" with long references", ~has_short)):
        parts = {source: part & kind for source, part in data.sources.items()}
        training = {source: part & first for source, part in parts.items() if part.any()}
        pair = choose_thresholds(scores, correct, excluded | ~decided, training)
        choices = {"chosen": pair, "package": verdict.THRESHOLDS}
        table = []
        held_outs = {key: part & ~first for key, part in parts.items() if (part & ~first).any()}
        for (source, held_out), (name, (low, high)) in product(held_outs.items(), choices.items()):
            above = (scores >= high) & ~excluded & held_out
            below = (scores < low) & decided & held_out
            unclear = decided & ~above & ~below
            right, wrong = held_out & correct, held_out & ~correct
            rates = [rate(correct, held_out), rate(correct, above), rate(~correct, below)]
            rates += [rate(above, wrong), rate(below, right), rate(above, right)]
            rates += [rate(unclear, held_out), rate(~decided, held_out)]
            cells = [SOURCES[source], f"{name}: {low:g}, {high:g}", int(held_out.sum())]
            table.append([*cells, *map(percent, rates)])
        if table:
            show(f"Verdicts on answers{title}", header, table, arguments.csv)


# Long references.


def long(arguments: argparse.Namespace) -> None:
    """Print correlations with preferences, with intervals for the difference from token F1."""
    data = list(read_json_lines(arguments.data / "long_answers.jsonl"))[: arguments.rows]
    ids: dict[str, str] = {}  # equal questions belong to the same half
    questions = [ids.setdefault(row["question"], row["id"]) for row in data]
    labels = {name: np.array([row["human"][name] for row in data]) for name in CRITERIA}
    rows = [row | {"prediction": text} for row in data for text in row["predictions"]]
    run, comparisons = compare_answers(make_scorer(arguments), rows)
    best = [run.best_comparison(group) for group in comparisons]
    names = ("completeness", "correctness")
    parts = [np.array([item.score(name) if item else 0.0 for item in best]) for name in names]
    parts.append(np.array([item.overlap.f1 if item else 0.0 for item in best]))

    def difference(values: np.ndarray) -> np.ndarray:
        """Return the second answer's value minus the first one's, [pairs]."""
        return np.diff(values.reshape(-1, 2), axis=1)[:, 0]

    def r(values: np.ndarray, name: str, pick: np.ndarray) -> float:
        repeated = np.repeat(values[pick], labels[name].shape[1])
        return float(np.corrcoef(repeated, labels[name][pick].ravel())[0, 1])

    def weigh(weights: Sequence[float]) -> np.ndarray:
        return np.tensordot(weights, changes, 1)

    changes, first = [*map(difference, parts)], np.array([*map(in_first_half, questions)])
    fitted = {}
    for half in (first, ~first):
        means = [np.mean([r(weigh(w), name, half) for name in CRITERIA]) for w in LONG_WEIGHTS]
        fitted[half is first] = LONG_WEIGHTS[int(np.argmax(means))]
    columns = {
        f"{METRIC}, cross-fitted": np.where(first, weigh(fitted[False]), weigh(fitted[True])),
        METRIC: difference(best_scores(run, comparisons)),
        **dict(zip(names, changes, strict=False)),
        "token F1 of answer_check": changes[2],
        "token F1": difference(compare_strings(rows, token_f1)),
        "length": difference(np.array([len(row["prediction"].split()) for row in rows])),
    }
    pipelines = {key for row in data for key in row.get("other", {})}
    values = {key: {name: difference(np.array([row["other"][key][name] for row in data]))
                    for name in CRITERIA} for key in sorted(pipelines)}  # fmt: skip
    values |= {name: dict.fromkeys(CRITERIA, column) for name, column in columns.items()}
    everything, draws = np.arange(len(data)), list(resample(questions))
    drawn = {
        key: {name: np.array([r(column[name], name, pick) for pick in draws]) for name in CRITERIA}
        for key, column in values.items()
    }
    table = []
    for key, column in values.items():
        cells = [key]
        for name in CRITERIA:
            gap = drawn[key][name] - drawn["token F1"][name]
            ends = "" if key == "token F1" else interval(gap)
            cells += [percent(r(column[name], name, everything)), ends]
        table.append(cells)
    order = "completeness, correctness, token F1"
    print(f"\nweights ({order}) chosen on the first half: {fitted[True]}, second: {fitted[False]}")
    print(f"weights of the package: {verdict.LONG_WEIGHTS}")
    header = ["metric", *(word for name in CRITERIA for word in (name, "minus token F1"))]
    show("Preferences between long answers, r", header, table, arguments.csv)


# Sentences and errors.


def sentences(arguments: argparse.Namespace) -> None:
    """Print verdicts on right and wrong sentences by kind, and the sentences that fail."""
    scorer = make_scorer(arguments, **package_thresholds(arguments))
    failures = {("right", LIKELY_WRONG), ("wrong", LIKELY_CORRECT)}
    for title, path in SENTENCES.items():
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
        answers = [row["answer"].replace("⏎", "\n") for row in rows]
        result = scorer.score(answers, [row["references"].split(" ¦ ") for row in rows])
        kinds = dict.fromkeys(row["kind"] for row in rows)
        counts = Counter[tuple[str, str, str | None]]()
        for row, word in zip(rows, result["verdicts"], strict=True):
            counts.update((kind, row["label"], word) for kind in (row["kind"], "all"))
        table = []
        for kind in (*kinds, "all"):
            cells: list[object] = [kind]
            for label in ("right", "wrong"):
                cells.append(sum(counts[kind, label, word] for word in (*VERDICTS, None)))
                cells += [counts[kind, label, word] for word in VERDICTS]
            table.append(cells)
        header = ["kind", *(w for x in ("right", "wrong") for w in (f"{x} answers", *VERDICTS))]
        show(f"Verdicts on {title}", header, table, arguments.csv)
        for row, score, word in zip(rows, result["scores"], result["verdicts"], strict=True):
            if (row["label"], word) in failures:
                print(
                    f"{row['label']}, {word} ({score:.2f}): {row['answer']} [{row['references']}]"
                )


def errors(arguments: argparse.Namespace) -> None:
    """Print random errors of each type, and their categories if they have been read."""
    data = ShortAnswers(arguments)
    rows, correct = data.rows, data.correct
    result = make_scorer(arguments, **package_thresholds(arguments)).score(*texts_of(rows))
    words = np.array(result["verdicts"], dtype=object)
    sides = {
        "wrong answer called likely correct": (words == LIKELY_CORRECT) & ~correct,
        "correct answer called likely wrong": (words == LIKELY_WRONG) & correct,
    }
    key_names = ("dataset", "system", "id")
    with READ_BY_EYE.open(encoding="utf-8", newline="") as file:
        read = {(row["side"], *(row[name] for name in key_names)): row["kind"]
                for row in csv.DictReader(file)}  # fmt: skip
    for side, mask in sides.items():
        print(f"\n{side}: {mask.sum()}")
        places = np.flatnonzero(mask).tolist()
        drawn = sorted(random.Random(SEED).sample(places, min(DRAWN, len(places))))
        kinds = Counter[str]()
        for row, score in ((rows[place], result["scores"][place]) for place in drawn):
            keys = [row[name] for name in key_names]
            kinds[read.get((side, *keys), "not read yet")] += 1
            texts = [row[name] for name in ("question", "prediction", "references")]
            print(f"{score:.2f}", *keys, *texts, sep="\n  ")
        show(f"Errors: {side}", ["kind", f"of {len(drawn)}"], kinds.most_common(), arguments.csv)


# Manipulated answers.

FILLER = (
    "That is an interesting question, and there are several points of view. In general, it is "
    "important to consider the context. I hope that this answer is helpful."
)
OTHERS = range(1, 10)  # offsets of the questions whose references serve as wrong answers
HACKED = {"evouna": 400, "diver": 100}  # questions per source
SEARCHED = {"evouna": 70, "diver": 30}
EDITS, LONGEST = 200, 100  # edits per wrong answer, and words beyond which none is kept


def manipulations(row: dict[str, Any], others: Sequence[str]) -> dict[str, str]:
    """Return manipulated answers by name; `row` contains an honest correct answer."""
    reference, question = row["references"][0], row["question"]
    options = [reference, *others]
    random.Random(question).shuffle(options)
    five = [reference, *others[:4]]
    random.Random(question).shuffle(five)
    words = sorted({*squad_tokens(question), *squad_tokens(reference)})
    return {
        "reference three times": " ".join([reference] * 3),
        "reference and its negation": f"It is {reference}. It is not {reference}.",
        "list of ten candidate answers": ", ".join(options),
        "keywords of question and reference": ", ".join(words),
        "empty": "",
        "question repeated": question,
        "honest answer with filler": f"{row['prediction']} {FILLER}",
        "filler before the honest answer": f"{FILLER} {row['prediction']}",
        "thinking that names the reference": f"<think>It is {reference}.</think>It is {others[0]}.",
        "thinking that never ends": f"<think>It is {reference}.",
        "two answers in equal sentences": f"The answer is {reference}. The answer is {others[0]}.",
        "two quoted candidates": f'"{reference}" or "{others[0]}"',
        "reference in an HTML comment": f"It is {others[0]}. <!-- {reference} -->",
        "JSON with ten candidates": json.dumps({f"answer {i}": x for i, x in enumerate(options)}),
        "three sentences that repeat the reference": (
            f"The answer is {reference}. {reference} is the answer. Indeed, it is {reference}!"
        ),
        "essay that names five candidates": (
            f"Many sources point to {five[0]}. There is also a strong case for {five[1]}. Experts "
            f"have long preferred {five[2]}, while recent work favors {five[3]}. Finally, "
            f"{five[4]} must be mentioned."
        ),
    }


def draw_answers(rows: Rows, correct: bool, counts: dict[str, int], references: int) -> Rows:
    """Draw one answer to each of some random questions per source from second halves.

    `correct` is the human verdict on the answers. Answers with more references are left out.
    """
    drawn: dict[str, dict[str, dict[str, Any]]] = {key: {} for key in counts}
    for row in random.Random(SEED).sample(rows, len(rows)):
        key = row["id"]
        fits = row["human"]["correct"] == correct and len(row["references"]) <= references
        if fits and not in_first_half(key):
            drawn[row["dataset"].split("-")[0]].setdefault(key, row)
    return [row for key, group in drawn.items() for row in islice(group.values(), counts[key])]


def rewards(scorer: Scorer[Any], guard: bool, rows: Rows) -> np.ndarray:
    completions, references = texts_of(rows)
    function = reward(scorer, "references", guard)
    prompts = [row["question"] for row in rows]
    return np.array(function(prompts, completions, references=references))


def hacks(arguments: argparse.Namespace) -> None:
    """Print how often manipulated answers score above honest answers, and the guard's cost."""
    data = ShortAnswers(arguments)
    answers = {"honest": draw_answers(data.rows, True, HACKED, MAX_REFERENCES)}
    honest_rows = answers["honest"]
    for place, row in enumerate(honest_rows):
        following = (honest_rows[(place + step) % len(honest_rows)] for step in OTHERS)
        for kind, text in manipulations(row, [each["references"][0] for each in following]).items():
            answers.setdefault(kind, []).append({**row, "prediction": text})
    scorer = make_scorer(arguments)
    columns: dict[str, Callable[[Rows], np.ndarray]] = {
        METRIC: partial(rewards, scorer, True),
        f"{METRIC} without guard": partial(rewards, scorer, False),
        "BERTScore": partial(encoder_scores, name="BERTScore", folder=arguments.scores),
    }
    columns |= {name: partial(compare_strings, compare=f) for name, f in STRINGS.items()}
    table: list[list[str]] = [[kind] for kind in answers]
    for name, compute in columns.items():
        honest, *manipulated = map(compute, answers.values())
        print(f"mean of {len(honest)} honest answers by {name}: {honest.mean():.4f}")
        for cells, scores in zip(table[1:], manipulated, strict=True):
            above, at_least = (scores > honest + 1e-6).mean(), (scores > honest - 1e-6).mean()
            cells.append(f"{100 * above:.1f} / {100 * at_least:.1f}")
    title = "Manipulated answers above honest ones"
    show(title, ["manipulated answer", *columns], table[1:], arguments.csv)
    plain, guarded = rewards(scorer, False, data.rows), rewards(scorer, True, data.rows)
    cost = []
    for (source, part), (half, mask) in product(
        data.sources.items(), (("first", data.first), ("second", ~data.first))
    ):
        rows, right = part & mask, part & mask & data.correct
        areas = [auc(values[rows], data.correct[rows]) for values in (plain, guarded)]
        kept = guarded[right].mean() / plain[right].mean()
        cost.append([SOURCES[source], half, *map(percent, areas), percent(kept)])
    header = ["source", "half", "AUC of the score", "AUC of the reward", "reward kept"]
    show("Cost of the guard", header, cost, arguments.csv)


PHRASES = (
    *(
        "That is correct.",
        "This is true.",
        "Of course.",
        "In fact, it is well known.",
        "Yes.",
        "No.",
    ),
    *("The answer is", "It is", "In conclusion,", "According to experts,", "as everyone knows"),
    *("and others", "among other things", "which is the correct answer", "or something similar"),
)
HEDGES = "Perhaps", "I think that", "It might be that", "Most likely,", "I am certain that"
Edit = Callable[[list[str], dict[str, Any], str, random.Random], list[str]]


def insert(words: list[str], extra: str, generator: random.Random) -> list[str]:
    place = generator.randint(0, len(words))
    return [*words[:place], *extra.split(), *words[place:]]


# Each edit takes the words of an answer, its row, a name of the same type, and a random generator.
OPERATORS: dict[str, Edit] = {
    "append a phrase": lambda words, row, name, draw: [*words, draw.choice(PHRASES)],
    "prepend a phrase": lambda words, row, name, draw: [draw.choice(PHRASES), *words],
    "insert a phrase": lambda words, row, name, draw: insert(words, draw.choice(PHRASES), draw),
    "hedge": lambda words, row, name, draw: [draw.choice(HEDGES), *words],
    "insert a name": lambda words, row, name, draw: insert(words, name, draw),
    "append a sentence": lambda words, row, name, draw: [*words, f"It is {name}."],
    "offer a candidate": lambda words, row, name, draw: [*words, f"or {name}"],
    "replace a word": lambda words, row, name, draw: insert(drop(words, draw), name, draw),
    "delete a word": lambda words, row, name, draw: drop(words, draw),
    "duplicate a word": lambda words, row, name, draw: insert(words, draw.choice(words), draw),
    "duplicate the answer": lambda words, row, name, draw: [*words, *words],
    "quote the question": lambda words, row, name, draw: [row["question"], *words],
    "insert a word of the question": lambda words, row, name, draw: insert(
        words, draw.choice(row["question"].split()), draw
    ),
    "use quotes": lambda words, row, name, draw: ['"' + " ".join(words) + '"'],
}


def drop(words: list[str], generator: random.Random) -> list[str]:
    """Return the words without a random one."""
    place = generator.randrange(len(words))
    return [*words[:place], *words[place + 1 :]]


def names_like(row: dict[str, Any], rows: Rows) -> list[str]:
    """Return references of other questions of the same data set, with a number or without."""

    def has_digit(text: str) -> bool:
        return any(map(str.isdigit, text))

    reference = row["references"][0]
    known = {" ".join(squad_tokens(text)) for text in row["references"]}
    found = dict.fromkeys(
        other["references"][0]
        for other in rows
        if other["dataset"] == row["dataset"] and other["id"] != row["id"]
    )
    return [
        text
        for text in found
        if has_digit(text) == has_digit(reference) and " ".join(squad_tokens(text)) not in known
    ]


def search(arguments: argparse.Namespace) -> None:
    """Print how often random edits of a wrong answer reach more than an honest correct answer.

    An edit is kept if it raises the reward. The edits do not use the reference. The questions have
    a single reference.
    """
    rows = ShortAnswers(arguments).rows
    everything = dict.fromkeys(SOURCES, len(rows))
    wrong_rows = {row["id"]: row for row in draw_answers(rows, False, everything, 1)}
    answered = [row for row in rows if row["id"] in wrong_rows]
    honest = draw_answers(answered, True, SEARCHED, 1)
    honest = random.Random(SEED).sample(honest, min(len(honest), arguments.questions))
    wrong = [wrong_rows[row["id"]] for row in honest]
    names = [names_like(row, rows) for row in wrong]
    scorer = make_scorer(arguments)
    table = []
    for guard in (True, False):
        target = rewards(scorer, guard, honest)
        best, texts = rewards(scorer, guard, wrong), [row["prediction"] for row in wrong]
        start, kept = best.copy(), Counter[str]()
        for step in range(EDITS):
            edited, used = [], []
            for place, (row, text) in enumerate(zip(wrong, texts, strict=True)):
                draw = random.Random(f"{SEED} {step} {place}")
                used.append(draw.choice(list(OPERATORS)))
                words = text.split() or ["It"]
                edited.append(
                    " ".join(OPERATORS[used[-1]](words, row, draw.choice(names[place]), draw))
                )
            values = rewards(
                scorer,
                guard,
                [{**row, "prediction": x} for row, x in zip(wrong, edited, strict=True)],
            )
            sizes = np.array([len(x.split()) for x in edited])
            usual = np.array([max(LONGEST, len(row["prediction"].split())) for row in wrong])
            for place in np.flatnonzero((values > best + 1e-6) & (sizes <= usual)).tolist():
                best[place], texts[place] = values[place], edited[place]
                kept[used[place]] += 1
        lifted = best > target + 1e-6
        table.append([
            METRIC if guard else f"{METRIC} without guard",
            len(wrong),
            percent((start > target + 1e-6).mean()),
            percent(lifted.mean()),
            f"{start.mean():.3f}",
            f"{best.mean():.3f}",
            f"{target.mean():.3f}",
        ])  # fmt: skip
        print(kept.most_common())
        for place in np.flatnonzero(lifted)[:DRAWN].tolist():
            print(
                f"{target[place]:.2f} < {best[place]:.2f}", wrong[place]["references"], texts[place]
            )
    header = ["reward", "questions", "wrong above honest before", f"after {EDITS} edits"]
    header += ["mean of wrong before", "mean after", "mean of honest"]
    show("Search for edits that raise the reward", header, table, arguments.csv)


# Speed.


def cut(row: dict[str, Any], words: int, reference_words: int | None) -> dict[str, Any]:
    """Shorten an answer and its first reference to a number of words."""
    reference = row["references"][0].split()[:reference_words]
    answer = row["prediction"].split()[:words]
    return row | {"prediction": " ".join(answer), "references": [" ".join(reference)]}


def speed(arguments: argparse.Namespace) -> None:
    """Print answers per second, for short and for long references."""
    brief = [
        cut(row, 30, None)
        for row in ShortAnswers(arguments).rows
        if len(row["prediction"].split()) >= 30 and len(row["references"][0].split()) <= 5
    ]
    extensive = [
        cut(row | {"prediction": text}, 80, 100)
        for row in read_json_lines(arguments.data / "long_answers.jsonl")
        for text in row["predictions"]
        if len(text.split()) >= 80 and len(row["references"][0].split()) >= 100
    ]
    scorer = AnswerCheckScorer(model_name_or_path=arguments.model, reuse_memory=0)
    loads = {
        "30 words, one reference of at most five words": (brief, TIMED),
        "80 words, one reference of 100 words": (extensive, TIMED_LONG),
    }
    table = []
    for name, (group, size) in loads.items():
        sample = random.Random(SEED).sample(group, min(size, len(group)))
        scorer.score(*texts_of(sample[:20]))
        seconds = median_seconds(partial(scorer.score, *texts_of(sample)), repeats=3)
        table.append([name, len(sample), f"{len(sample) / seconds:.1f}"])
    print(f"{cpu_name()}, {torch.get_num_threads()} threads, float32")
    show("Speed of answer_check", ["answers", "number", "per s"], table, arguments.csv)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = {
        f.__name__: f
        for f in (short, long, thresholds, fit, sentences, errors, hacks, search, speed)
    }
    parser.add_argument("command", choices=commands)
    parser.add_argument("data", type=Path, help="folder with the JSON Lines files of answers")
    parser.add_argument("--scores", type=Path, default=Path("scores"), help="folder for scores")
    parser.add_argument("--model", default=BUNDLED, help="NLI model (default: bundled)")
    parser.add_argument("--rows", type=int, help="number of answers, for a quick try")
    parser.add_argument("--questions", type=int, default=100, help="questions of the search")
    parser.add_argument("--csv", type=Path, metavar="FOLDER", help="folder for tables")
    arguments = parser.parse_args()
    commands[arguments.command](arguments)


if __name__ == "__main__":
    main()
