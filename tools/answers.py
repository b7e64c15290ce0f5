"""Compare answer_check with human judgments of LLM answers, and print Markdown tables.

    pip install -c requirements.txt -e ".[tools,math]"
    python -m tools.answers goals     DATA --scores FOLDER --part reserve --csv tools/results
    python -m tools.answers fit       DATA --scores FOLDER
    python -m tools.answers patterns  DATA --scores FOLDER
    python -m tools.answers sentences DATA --scores FOLDER --csv tools/results
    python -m tools.answers long      DATA --scores FOLDER --csv tools/results
    python -m tools.answers hacks     DATA --scores FOLDER --csv tools/results
    python -m tools.answers search    DATA --scores FOLDER --csv tools/results
    python -m tools.answers speed     DATA --csv tools/results

DATA is a folder with JSON Lines files of answers (tools/data.py): answers (EVOUNA, DIVER-QA),
answers_more (EfficientQA), hardverify, answers_modern (MMLU-Pro, GPQA) and long_answers
(RAGChecker). NLI probabilities are saved in the folder for scores by model and pair of texts.

- goals: areas under the ROC curve, rates of verdicts, agreement with annotators and calibration of
  each data set, and the annotators' verdicts by tenth of the score.
- fit: weights of the features, fitted on the first halves, and rates by pair of thresholds on the
  second halves.
- patterns: right and wrong sentences, and answers of EVOUNA and DIVER-QA, that each pattern denies.
- sentences: verdicts on right and wrong sentences by kind (tests/unit/answer_check), by an author
  who knew the rules of version 0.5.0 and by two authors who did not.
- long: Pearson's r between the difference of two answers' scores and annotators' preferences. The
  weights of each half of the questions are chosen on the other half.
- hacks: manipulated answers that score above honest answers, and what the guard costs.
- search: random edits of wrong answers that raise the reward.
- speed: answers per second.

A quarter of the questions is the reserve, chosen by a hash of the question. It was not used to
choose anything. The other questions are in the first or second half by a hash of their id.
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
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.stats import rankdata

from infolm_metric import AnswerCheckScorer, BERTScorer
from infolm_metric.answer_check import patterns as patterns_module
from infolm_metric.answer_check import verdict
from infolm_metric.answer_check.judge import Comparison, mean_support
from infolm_metric.answer_check.patterns import PATTERNS, find_denial
from infolm_metric.answer_check.scorer import AnswerCheckRun
from infolm_metric.answer_check.verdict import LIKELY_CORRECT, LIKELY_WRONG, VERDICTS
from infolm_metric.core.inputs import Pairs, batches
from infolm_metric.core.settings import BUNDLED
from infolm_metric.integrations.trl import reward
from infolm_metric.scoring.nli_scorer import TextPair
from infolm_metric.scoring.scorer import Scorer
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
SOURCES = {"evouna": "EVOUNA", "diver": "DIVER-QA"}  # prefix of dataset -> title
# Title of a data set -> file, prefix of dataset, and split.
SETS = {
    "EVOUNA": ("answers.jsonl", "evouna", None),
    "DIVER-QA": ("answers.jsonl", "diver", None),
    "EfficientQA": ("answers_more.jsonl", "efficientqa", "dev"),
    "EfficientQA, training part": ("answers_more.jsonl", "efficientqa", "train"),
    "HardVerify-Math": ("hardverify.jsonl", "hardverify", None),
    "MMLU-Pro": ("answers_modern.jsonl", "mmlu", None),
    "GPQA": ("answers_modern.jsonl", "gpqa", None),
}
FITTED = ("EVOUNA", "DIVER-QA", "EfficientQA, training part", "HardVerify-Math")
METRIC = "answer_check"
CRITERIA = ("correctness", "completeness", "overall")
RESAMPLES, SEED, PART = 1000, 0, 500
THRESHOLDS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)
MAX_REFERENCES = 20
TIMED, TIMED_LONG, DRAWN = 500, 50, 20  # answers
RIDGE = 1e-3  # penalty on the squares of fitted weights
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

    def probabilities(self, pairs: Sequence[TextPair]) -> np.ndarray:
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


def compare_answers(scorer: SavedScorer, rows: Rows) -> tuple[SavedRun, list[list[Comparison]]]:
    """Compare each answer with each of its references."""
    run: Any = scorer.prepare()
    comparisons = []
    for part in batches(rows, PART):
        prepared = run.prepare_rows(Pairs(*texts_of(part)))
        comparisons += run.compare(prepared, run.token_table(prepared))
    return run, comparisons


def best_scores(comparisons: Sequence[list[Comparison]]) -> np.ndarray:
    """Return the score of each answer, [rows]."""
    return np.array([max(map(verdict.score, group)) for group in comparisons])


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


def bertscore(rows: Rows) -> np.ndarray:
    return np.asarray(load_scorer(BERTScorer).score(*texts_of(rows))["scores"])


# Data and statistics.


def in_first_half(question: str) -> bool:
    """Return whether a question is in the first half, based on a hash of its id."""
    return int(hashlib.sha256(question.encode()).hexdigest(), 16) % 2 == 0


def part_of(row: dict[str, Any]) -> str:
    """Return "reserve", "first" or "second", based on hashes of the question and its id."""
    digest = hashlib.sha256(f"reserve:{row['question']}".encode()).hexdigest()
    if int(digest, 16) % 4 == 0:
        return "reserve"
    return "first" if in_first_half(row["id"]) else "second"


def read_answers(arguments: argparse.Namespace, title: str, *parts: str) -> Rows:
    """Read the rows of a data set with a human verdict that are in the given parts."""
    name, prefix, split = SETS[title]
    path = arguments.data / name
    return [
        row
        for row in (read_json_lines(path) if path.exists() else ())
        if row["dataset"].startswith(prefix)
        and (split is None or row.get("split") == split)
        and row["human"].get("correct") is not None
        and part_of(row) in parts
    ][: arguments.rows]


def is_correct(rows: Rows) -> np.ndarray:
    return np.array([row["human"]["correct"] == 1 for row in rows])


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


def kappa(first: np.ndarray, second: np.ndarray) -> float:
    """Return Cohen's kappa of two bool columns."""
    same = (first == second).mean()
    chance = first.mean() * second.mean() + (1 - first.mean()) * (1 - second.mean())
    return float((same - chance) / (1 - chance))


def calibration_error(scores: np.ndarray, correct: np.ndarray) -> float:
    """Return the expected calibration error over tenths of the score."""
    tenths = np.minimum((10 * scores).astype(int), 9)
    gaps = [abs((scores - correct)[tenths == tenth].sum()) for tenth in range(10)]
    return float(sum(gaps) / len(scores))


# Goals, weights and patterns.


def rates(words: np.ndarray, correct: np.ndarray) -> list[float]:
    """Return the correct fraction, both precisions, and rates on correct, wrong and all answers."""
    accepted, rejected = words == LIKELY_CORRECT, words == LIKELY_WRONG
    return [
        correct.mean(),
        correct[accepted].mean() if accepted.any() else np.nan,
        (~correct)[rejected].mean() if rejected.any() else np.nan,
        accepted[correct].mean(),
        accepted[~correct].mean(),
        rejected[correct].mean(),
        (words == np.array(None)).mean(),
    ]


def goals(arguments: argparse.Namespace) -> None:
    """Print areas, rates of verdicts and calibration for each data set."""
    scorer, table, bins = make_scorer(arguments), [], []
    for title in SETS:
        rows = read_answers(arguments, title, *arguments.part.split("+"))
        if not rows:
            continue
        correct, result = is_correct(rows), scorer.score(*texts_of(rows))
        scores, words = np.array(result["scores"]), np.array(result["verdicts"], dtype=object)
        draws = list(resample([row["question"] for row in rows]))
        areas = np.array([auc(scores[pick], correct[pick]) for pick in draws])
        errors = np.array([calibration_error(scores[pick], correct[pick]) for pick in draws])
        _, comparisons = compare_answers(scorer, rows)
        recall = [max(item.recall for item in group) for group in comparisons]
        table.append([
            title, len(rows), *map(percent, rates(words, correct)),
            percent(auc(scores, correct)), interval(areas),
            percent(auc(np.array(recall), correct)),
            percent(auc(compare_strings(rows, containment), correct)),
            f"{kappa(words == LIKELY_CORRECT, correct):.2f}",
            f"{calibration_error(scores, correct):.3f}", interval(errors),
        ])  # fmt: skip
        tenths = np.minimum((10 * scores).astype(int), 9)
        cells = [(tenths == tenth) for tenth in range(10)]
        bins.append([title, *(f"{percent(correct[x].mean())} ({x.sum()})" if x.any() else ""
                              for x in cells)])  # fmt: skip
    header = ["data set", "answers", "correct", "correct among likely correct"]
    header += ["wrong among likely wrong", "correct called likely correct"]
    header += ["wrong called likely correct", "correct called likely wrong", "no verdict"]
    header += ["AUC", "95%", "AUC of word recall", "AUC of reference contained", "kappa"]
    header += ["calibration error", "95%"]
    show(f"Verdicts, {arguments.part}", header, table, arguments.csv)
    header = ["data set", *(f"{low / 10:.1f}" for low in range(10))]
    show(f"Confirmed by tenth of the score, {arguments.part}", header, bins, arguments.csv)


def fit_weights(groups: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Fit a logistic regression to features [rows, features] and labels of sets of equal weight."""
    shares = np.concatenate([np.full(len(y), 1 / len(y) / len(groups)) for _, y in groups])
    values, labels = (np.concatenate(parts) for parts in zip(*groups, strict=True))

    def loss(weights: np.ndarray) -> float:
        odds = values @ weights
        return float(shares @ (np.logaddexp(0, odds) - labels * odds) + RIDGE * weights @ weights)

    found: np.ndarray = minimize(loss, np.zeros(values.shape[1])).x
    return found


def fit(arguments: argparse.Namespace) -> None:
    """Print weights fitted on first halves, and rates on second halves by thresholds."""
    scorer = make_scorer(arguments)
    sets = [(title, read_answers(arguments, title, "first")) for title in FITTED]
    compared = [(compare_answers(scorer, rows)[1], is_correct(rows)) for _, rows in sets if rows]
    names = list(verdict.WEIGHTS)
    for _ in range(4):  # the weights decide which reference is the best one
        groups = []
        for comparisons, correct in compared:
            best = [max(group, key=verdict.score) for group in comparisons]
            used = [i for i, x in enumerate(best) if x.complete and not x.reference.is_long]
            features = [list(verdict.features(best[place]).values()) for place in used]
            groups.append((np.array(features), correct[used]))
        weights = fit_weights(groups)
        verdict.WEIGHTS.update(zip(names, weights.tolist(), strict=True))
    print({name: round(value, 2) for name, value in verdict.WEIGHTS.items()})
    table = []
    for title in SETS:
        rows = read_answers(arguments, title, "second")
        if rows:
            _, comparisons = compare_answers(scorer, rows)
            best = [max(group, key=verdict.score) for group in comparisons]
            scores, correct = best_scores(comparisons), is_correct(rows)
            vetoed = np.array([bool(item.veto) for item in best])
            for high in THRESHOLDS:
                accepted, low = (scores >= high) & ~vetoed, scores < 1 - high
                cells = [accepted[correct], accepted[~correct], low[correct], low[~correct]]
                table.append([title, f"{high:.2f}", *(percent(x.mean()) for x in cells)])
    header = ["data set", "threshold", "correct above", "wrong above"]
    header += ["correct below 1 - threshold", "wrong below 1 - threshold"]
    show("Rates by threshold, second halves", header, table, arguments.csv)


def read_sentences(path: Path) -> Rows:
    with path.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        line
        | {"prediction": line["answer"].replace("⏎", "\n")}
        | {"references": line["references"].split(" ¦ ")}
        | {"human": {"correct": line["label"] == "right"}}
        for line in lines
    ]  # fmt: skip


def patterns(arguments: argparse.Namespace) -> None:
    """Print how many right and wrong answers each pattern alone denies."""
    groups = {title: read_sentences(path) for title, path in SENTENCES.items()}
    groups |= {title: read_answers(arguments, title, "first", "second") for title in FITTED[:2]}
    table = [[example] for _, example in PATTERNS] + [["all"]]
    singles = [(pattern,) for pattern in PATTERNS] + [PATTERNS]
    for rows in groups.values():
        prepared = SavedRun.prepare_rows(make_scorer(arguments).prepare(), Pairs(*texts_of(rows)))
        correct = is_correct(rows)
        for cells, chosen in zip(table, singles, strict=True):
            with patch.object(patterns_module, "PATTERNS", chosen):
                denied = np.array([
                    any(find_denial(answer, reference) for reference in group)
                    for answer, group in prepared
                ])  # fmt: skip
            cells.append(f"{(denied & correct).sum()} / {(denied & ~correct).sum()}")
    show("Right / wrong answers denied", ["pattern", *groups], table, arguments.csv)


# Long references.


def long(arguments: argparse.Namespace) -> None:
    """Print correlations with preferences, with intervals for the difference from token F1."""
    data = list(read_json_lines(arguments.data / "long_answers.jsonl"))[: arguments.rows]
    ids: dict[str, str] = {}  # equal questions belong to the same half
    questions = [ids.setdefault(row["question"], row["id"]) for row in data]
    labels = {name: np.array([row["human"][name] for row in data]) for name in CRITERIA}
    rows = [row | {"prediction": text} for row in data for text in row["predictions"]]
    _, comparisons = compare_answers(make_scorer(arguments), rows)
    names, firsts = ("completeness", "correctness"), [group[0] for group in comparisons]
    parts = [
        np.array([mean_support(item.complete) for item in firsts]),
        np.array([mean_support(item.correct) for item in firsts]),
        np.array([item.f1 for item in firsts]),
    ]

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
        METRIC: difference(best_scores(comparisons)),
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
    scorer = make_scorer(arguments)
    failures = {(True, LIKELY_WRONG), (False, LIKELY_CORRECT)}
    for title, path in SENTENCES.items():
        rows = read_sentences(path)
        result = scorer.score(*texts_of(rows))
        kinds = dict.fromkeys(row["kind"] for row in rows)
        counts = Counter[tuple[str, bool, str | None]]()
        for row, word in zip(rows, result["verdicts"], strict=True):
            counts.update((kind, row["human"]["correct"], word) for kind in (row["kind"], "all"))
        table = []
        for kind in (*kinds, "all"):
            cells: list[object] = [kind]
            for label in (True, False):
                cells.append(sum(counts[kind, label, word] for word in (*VERDICTS, None)))
                cells += [counts[kind, label, word] for word in VERDICTS]
            table.append(cells)
        header = ["kind", *(w for x in ("right", "wrong") for w in (f"{x} answers", *VERDICTS))]
        show(f"Verdicts on {title}", header, table, arguments.csv)
        for row, score, word in zip(rows, result["scores"], result["verdicts"], strict=True):
            if (row["human"]["correct"], word) in failures:
                print(f"{row['label']}, {word} ({score:.2f}): {row['answer']} {row['references']}")


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
    """Return manipulated answers by name. `row` contains an honest correct answer."""
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
    """Draw one answer to each of some random questions per source.

    `correct` is the human verdict on the answers. Answers with more than `references` references
    are left out.
    """
    drawn: dict[str, dict[str, dict[str, Any]]] = {key: {} for key in counts}
    for row in random.Random(SEED).sample(rows, len(rows)):
        key = row["id"]
        fits = row["human"]["correct"] == correct and len(row["references"]) <= references
        if fits:
            drawn[row["dataset"].split("-")[0]].setdefault(key, row)
    return [row for key, group in drawn.items() for row in islice(group.values(), counts[key])]


def rewards(scorer: Scorer[Any], guard: bool, rows: Rows) -> np.ndarray:
    completions, references = texts_of(rows)
    function = reward(scorer, "references", guard)
    prompts = [row["question"] for row in rows]
    return np.array(function(prompts, completions, references=references))


def read_two(arguments: argparse.Namespace) -> Rows:
    """Read the parts of EVOUNA and DIVER-QA that --part names."""
    parts = arguments.part.split("+")
    return [row for title in SOURCES.values() for row in read_answers(arguments, title, *parts)]


def hacks(arguments: argparse.Namespace) -> None:
    """Print how often manipulated answers score above honest answers, and the guard's cost."""
    rows = read_two(arguments)
    answers = {"honest": draw_answers(rows, True, HACKED, MAX_REFERENCES)}
    honest_rows = answers["honest"]
    for place, row in enumerate(honest_rows):
        following = (honest_rows[(place + step) % len(honest_rows)] for step in OTHERS)
        for kind, text in manipulations(row, [each["references"][0] for each in following]).items():
            answers.setdefault(kind, []).append({**row, "prediction": text})
    scorer = make_scorer(arguments)
    columns: dict[str, Callable[[Rows], np.ndarray]] = {
        METRIC: partial(rewards, scorer, True),
        f"{METRIC} without guard": partial(rewards, scorer, False),
        "BERTScore": bertscore,
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
    cost = []
    for title in SOURCES.values():
        group = [row for row in rows if SOURCES[row["dataset"].split("-")[0]] == title]
        correct = is_correct(group)
        plain, guarded = (rewards(scorer, guarded, group) for guarded in (False, True))
        areas = [percent(auc(values, correct)) for values in (plain, guarded)]
        cost.append([title, *areas, percent(guarded[correct].mean() / plain[correct].mean())])
    header = ["source", "AUC of the score", "AUC of the reward", "reward kept"]
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
    """Return references of other questions of the data set, with a number if the row's has one."""

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
    rows = read_two(arguments)
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
        for row in read_two(arguments)
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
        f.__name__: f for f in (goals, fit, patterns, sentences, long, hacks, search, speed)
    }
    parser.add_argument("command", choices=commands)
    parser.add_argument("data", type=Path, help="folder with the JSON Lines files of answers")
    parser.add_argument("--scores", type=Path, default=Path("scores"), help="folder for scores")
    parser.add_argument("--model", default=BUNDLED, help="NLI model (default: bundled)")
    parser.add_argument("--rows", type=int, help="number of answers, for a quick try")
    parser.add_argument("--part", default="second", help="first, second, reserve, or first+second")
    parser.add_argument("--questions", type=int, default=100, help="questions of the search")
    parser.add_argument("--csv", type=Path, metavar="FOLDER", help="folder for tables")
    arguments = parser.parse_args()
    commands[arguments.command](arguments)


if __name__ == "__main__":
    main()
