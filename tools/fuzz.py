"""Score random texts with random settings to find failures, or differences between checkouts.

    python -m tools.fuzz --inputs 100000
    python -m tools.fuzz --inputs 3000 --against ../other [--metrics menli] [--families bert]

Scores random texts of 0 to 10,000 characters in any script, with tiny models. Some inputs and
settings have a wrong type or are out of range. Within TIMEOUT seconds, each call must return finite
scores, or raise an InputError that names an argument. Any other outcome is a failure, which is
printed with the number of the input and sets the exit code to 1. To reproduce it, pass --metrics
METRIC --first NUMBER --inputs 1.

With --against, both checkouts, each in its own single-threaded process, score the same inputs with
the bundled model and a tiny model of each family. For each metric and model, the table shows the
number of scores, the number that are not bitwise identical, and the largest difference (relative if
the score is above 1) with its settings. Inputs that only one checkout scores are printed and not
compared. The exit code is 1 if any score differs.
"""

import argparse
import collections
import json
import math
import os
import random
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from tools.tables import show
from tools.timing import in_process, run_worker

# The package is imported late, because a worker imports it from another checkout.
ROOT = Path(__file__).resolve().parents[1]
SCORERS = {
    "infolm": "InfoLMScorer",
    "baryscore": "BaryScorer",
    "bertscore": "BERTScorer",
    "menli": "MENLIScorer",
    "answer_check": "AnswerCheckScorer",
}
TIMEOUT = 120
OUTCOMES = ("scored", "rejected", "failed")
WORDS = "the a cat dog sat on mat river rose by 3.5 metres in rain, and nobody knows why ."
ORDINARY = WORDS.split()
ODD = (
    *("", " ", "\n", "\x00", "\u2028", "\ufeff", "\u200d", "e\u0301", "\u05d0\u05d1"),
    *("<think>", "</think>", "**", "$x^2$", "12.5 km", "wait, no", "not", "or", "A)", "| a |", "?"),
    *("[MASK]", "[SEP]", "[CLS]", "[PAD]", "<mask>", "\x1b[31m", "\u6771\u4eac", "a" * 300),
)
# Sampling weights of text lengths in characters.
LENGTHS = {0: 2, 1: 2, 2: 2, 5: 4, 12: 6, 30: 20, 100: 2, 1000: 1, 10_000: 0.2}
INVALID_TEXTS: tuple[Any, ...] = (
    None,
    5,
    float("nan"),
    b"bytes",
    ["list"],
    {"a": 1},
    object,
    True,
    "\udfff",
    [],
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, "", "no", "nan", b"x", [], [1.0], {}, object(), np.float32(0.5)),
    *(0, 1, -1, 2, 10**30, -0.0, 0.5, 1e-300, 1e300, math.nan, math.inf, -math.inf, 1 + 1e-9),
)
COMMON: dict[str, list[Any]] = {  # valid values that cover the code paths
    "max_length": [3, 8, 40, 41],
    "batch_size": ["auto", 1, 7],
    "device": ["cpu", None],
    "dtype": [*["float32"] * 8, "bfloat16", "float16"],  # a change reloads the model
    "reuse_memory": [0, 1000, 1 << 20],
}
TEXTS: dict[str, list[Any]] = {
    "idf": [False, True, "references", "separate"],
    "multi_reference": ["min", "mean"],
    "long_text": ["truncate", "window", "error"],
    "rescale_with_baseline": [True, False],
}
SETTINGS: dict[str, dict[str, list[Any]]] = {
    "infolm": {
        **COMMON,
        **TEXTS,
        "information_measure": ["kl", "alpha", "renyi", "beta", "ab", ["l1", "l2"], "fisher_rao"],
        "alpha": [-3.0, -0.5, 1e-6, 0.3, 1.00001, 2.0, 30.0],
        "beta": [-3.0, -0.5, 1e-6, 0.7, 5.0],
        "temperature": [0.01, 0.25, 1.0, 100.0],
        "symmetrize": ["jeffreys", "jensen", "none", "reverse"],
        "interpolation": [0.0, 0.3, 1.0],
        "masking": ["token", "none"],
    },
    "baryscore": {**COMMON, **TEXTS, "layers": [1, 3, "all", [0, 2], "1,3"]},
    "bertscore": {
        **COMMON,
        **TEXTS,
        "multi_reference": ["max", "mean"],
        "layer": [1, 2, 3],
        "score": ["f1", "precision", ["recall", "f1"]],
    },
    "menli": {
        **COMMON,
        "multi_reference": ["max", "mean"],
        "long_text": ["truncate", "error"],
        "formula": ["e", "-c", "e-n", "e-c", "e-n-2c", ["e", "e-c"]],
        "direction": ["avg", "rh", "hr"],
        "task": [None, "translation", "summary", "source"],
        "combine_with": [None, "infolm", "baryscore", "none"],
        "nli_weight": [0.0, 0.2, 1.0],
        "labels": [None, "contradiction,neutral,entailment"],
    },
    "answer_check": {
        **COMMON,
        "long_text": ["truncate", "error"],
        "score": ["answer_check", "completeness", ["correctness", "completeness"]],
        "strip_thinking": [True, False],
        "thresholds": [None, (0.3, 0.6), (0.0, 0.0), (0.6, 0.3)],
    },
}


SWEEP: dict[str, list[Any]] = {  # settings of one InfoLM call in SWEEP_EVERY
    "temperatures": [0.5, 1.0, 1.5],
    "alphas": [0.25, 0.5, 2.0],
    "betas": [0.25, 0.5, 1.0],
    "information_measure": ["alpha", "renyi", "beta", "ab", "l1", "fisher_rao"],
    "idfs": [False, "references"],
}
SWEEP_EVERY = 20
Difference = tuple[float | None, str]  # None if two scores are bitwise identical, and the settings


class TimedOut(BaseException):
    """Timeout of a call. Derived from BaseException, so that the tested code does not catch it."""


def stop(*_: object) -> None:
    raise TimedOut(f"took longer than {TIMEOUT} s")


def draw_text(draw: random.Random) -> str:
    """Draw a text of 0 to 10,000 characters. Most texts are short."""
    (length,) = draw.choices(list(LENGTHS), list(LENGTHS.values()))
    if draw.random() < 0.25:  # any Unicode except surrogates
        codes = (draw.randrange(0x11_0000) for _ in range(length))
        return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)
    parts = ORDINARY if draw.random() < 2 / 3 else [*ORDINARY, *ODD]
    return " ".join(draw.choices(parts, k=length // 3 + 1))[:length]


def draw_inputs(draw: random.Random) -> tuple[Any, Any]:
    """Draw predictions and references. One input in five is invalid."""
    count = draw.choice((1, 1, 2, 3, 5, 40))
    pool = [draw_text(draw) for _ in range(draw.randint(1, 3))]

    def texts(count: int) -> list[Any]:
        return [draw.choice(pool) if draw.random() < 0.3 else draw_text(draw) for _ in range(count)]

    predictions, references = texts(count), texts(count)
    if draw.random() < 0.4:
        references = [texts(draw.choice((1, 1, 2, 4))) for _ in range(count)]
    if draw.random() < 0.2:
        side, invalid = draw.choice((predictions, references)), draw.choice(INVALID_TEXTS)
        change = draw.randrange(4)
        if change == 0:
            side[draw.randrange(count)] = invalid
        elif change == 1:
            side.append(invalid)
        elif change == 2:
            return draw.choice(((invalid, references), (predictions, invalid)))
        else:
            side.clear()
    shape = draw.choice((list, list, tuple, lambda side: np.asarray(side, dtype=object)))
    return shape(predictions), references


def draw_settings(draw: random.Random, values: dict[str, list[Any]]) -> dict[str, Any]:
    """Draw settings. One third of all draws may contain invalid values."""
    names = draw.sample(list(values), k=draw.choice((0, 1, 2, 4, 5)))
    odd = draw.random() < 1 / 3
    return {
        name: draw.choice(ODD_VALUES if odd and draw.random() < 0.5 else values[name])
        for name in names
    }


def inputs(name: str, number: int, seed: int) -> tuple[Any, dict[str, Any]]:
    """Draw the texts and the settings with a number."""
    draw = random.Random(f"{seed} {name} {number}")
    return draw_inputs(draw), draw_settings(draw, SETTINGS[name])


def call(scorer: Any, name: str, number: int, seed: int) -> dict[str, Any] | BaseException:
    """Score an input, and return the result or the error."""
    texts, options = inputs(name, number, seed)
    signal.alarm(TIMEOUT)
    try:
        if name == "infolm" and number % SWEEP_EVERY == 0:
            rows = enumerate(scorer.sweep(*texts, **SWEEP))
            return {"scores": {str(row): result.scores for row, (*_, result) in rows}}
        return dict(scorer.score(*texts, **options))
    except (Exception, TimedOut) as error:
        return error
    finally:
        signal.alarm(0)


def make_scorer(name: str, model: str, **settings: Any) -> Any:
    import infolm_metric

    required = {"layer": 1} if name == "bertscore" and model != "bundled" else {}
    scorer_type = getattr(infolm_metric, SCORERS[name])
    return scorer_type(model_name_or_path=model, **required, **settings)


def outcome(result: dict[str, Any] | BaseException, names: Sequence[str]) -> str:
    """Return "scored" or "rejected", or raise an error that a user should not see."""
    from infolm_metric import InputError

    if isinstance(result, dict):
        json.dumps(result, allow_nan=False)  # raises an error if a score is not finite
        return "scored"
    if isinstance(result, InputError) and any(name in str(result) for name in names):
        return "rejected"
    raise AssertionError(f"not an InputError that names an argument: {result!r}") from result


def find_failures(name: str, model: str, numbers: range, seed: int) -> collections.Counter[str]:
    """Score the inputs with the given numbers, print failures, and count the outcomes."""
    scorer = make_scorer(name, model)
    names = [*SETTINGS[name], "predictions", "references", "text"]
    counts = collections.Counter[str]()
    for number in numbers:
        try:
            counts[outcome(call(scorer, name, number, seed), names)] += 1
        except (AssertionError, ValueError) as error:
            counts["failed"] += 1
            options = inputs(name, number, seed)[1]
            print(f"FAILED {name} {number}: {options}: {type(error).__name__}: {error!s:.300}")
    return counts


# Two checkouts.


def flat(scores: Any, title: str) -> dict[str, list[float]]:
    """Return lists of scores by title, from a list or nested dictionaries."""
    if not isinstance(scores, Mapping):
        return {title: list(scores)}
    parts = (flat(part, f"{title} {name}") for name, part in scores.items())
    return {name: column for part in parts for name, column in part.items()}


def score_all(
    checkout: str, models: Sequence[tuple[str, str, str]], first: int, count: int, seed: int
) -> dict[str, Any]:
    """Return the scores of a checkout, or None for an error, for each model and input."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    sys.path.insert(0, checkout)
    import infolm_metric

    imported = Path(infolm_metric.__file__).parents[1]
    if imported != Path(checkout):
        raise SystemExit(f"imported the package in {imported} instead of {checkout}")
    results: list[list[Any]] = []
    for name, _, model in models:
        scorer = make_scorer(name, model, device="cpu")
        calls = (call(scorer, name, number, seed) for number in range(first, first + count))
        results.append(
            [flat(result["scores"], name) if isinstance(result, dict) else None for result in calls]
        )
    return {"results": results}


def compare(name: str, first: int, seed: int, old: Any, new: Any) -> Iterator[Difference]:
    """Yield the difference in each score, relative if the old score is above 1."""
    for number, (before, after) in enumerate(zip(old, new, strict=True), first):
        options = inputs(name, number, seed)[1]
        if before is None or after is None:
            if before != after:
                print(f"only one checkout scores {name} {number}: {options}", file=sys.stderr)
            continue
        for title in before.keys() | after.keys():
            for x, y in zip(before[title], after[title], strict=True):
                same = x == y or (math.isnan(x) and math.isnan(y))
                yield None if same else abs(x - y) / max(1.0, abs(x)), f"{title} {options}"


def row(label: str, differences: Sequence[Difference]) -> list[str]:
    """Return a table row: the counts, and the largest difference with its settings."""
    unequal = [(number, words) for number, words in differences if number is not None]
    worst, settings = max(unequal, default=(0, ""))
    return [label, str(len(differences)), str(len(unequal)), f"{worst:.1e}", settings]


def build_model(name: str, family: str, folder: Path) -> str:
    """Build a tiny model of a family in a folder, and return its path."""
    from tests import model_families, nli_models

    if family == "bundled":
        return family
    if name in ("menli", "answer_check"):
        return str(nli_models.build(folder, family))
    layers = {"num_hidden_layers": 5} if family == "bert" else {}
    return str(model_families.build(family, folder, **layers))


def show_differences(arguments: argparse.Namespace, count: int, folder: Path) -> bool:
    """Print the differences between this and another checkout. Return True if there are any."""
    from tests.model_families import FAMILIES

    checkouts = [path.resolve() for path in (arguments.against, ROOT)]
    pairs = product(arguments.metrics, arguments.families or ["bundled", *FAMILIES])
    models = [(*pair, build_model(*pair, Path(folder, *pair))) for pair in pairs]
    count = -(-count * len(arguments.metrics) // len(models))
    job = {"models": models, "first": arguments.first, "count": count, "seed": arguments.seed}

    def run(checkout: Path) -> dict[str, Any]:
        environment = {"HF_HOME": f"{folder}/{checkout.name}", "HF_HUB_OFFLINE": "1"}
        inputs = {"checkout": str(checkout), **job}
        return in_process("tools.fuzz", inputs, OMP_NUM_THREADS="1", **environment)

    with ThreadPoolExecutor(2) as pool:
        results = [result["results"] for result in pool.map(run, checkouts)]
    everything, rows = [], []
    for (name, family, _), old, new in zip(models, *results, strict=True):
        part = list(compare(name, arguments.first, arguments.seed, old, new))
        everything += part
        rows.append(row(f"{name}, {family}", part))
    total = row("all", everything)
    header = ["metric, model", "scores", "not identical", "largest difference", "settings"]
    show("Scores of two checkouts", header, [*rows, total])
    return total[2] != "0"


def show_failures(arguments: argparse.Namespace, count: int, folder: Path) -> bool:
    """Print the number of inputs with each outcome. Return True if there are failures."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    masked_lm = build_model("infolm", "bert", folder / "bert")
    os.environ["INFOLM_MODEL"] = masked_lm  # default of the metrics combined with MENLI
    models = dict.fromkeys(("menli", "answer_check"), build_model("menli", "bert", folder / "nli"))
    numbers, rows = range(arguments.first, arguments.first + count), []
    for name in arguments.metrics:
        counts = find_failures(name, models.get(name, masked_lm), numbers, arguments.seed)
        rows.append([name, *(counts[word] for word in OUTCOMES)])
    show("Inputs", ["metric", *OUTCOMES], rows)
    return any(failures for *_, failures in rows)


def main() -> int:
    if run_worker(score_all):
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1000, help="total over all metrics")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--metrics", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--against", type=Path, help="checkout to compare with")
    parser.add_argument("--families", nargs="+", help="for --against (default: all, and bundled)")
    arguments = parser.parse_args()
    count = -(-arguments.inputs // len(arguments.metrics))
    show_results = show_differences if arguments.against else show_failures
    with tempfile.TemporaryDirectory() as folder:
        return int(show_results(arguments, count, Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
