"""Fuzz every metric with random texts and settings, and count scored, rejected and failed inputs.

    python -m tools.fuzz --inputs 100000

Scores random texts of 0 to 10,000 characters in any script, with tiny models. Some inputs and
settings have a wrong type or are out of range. Within TIMEOUT seconds, each call must return finite
scores, or raise an InputError that names an argument. Any other outcome is a failure,
which is printed with the number of the input and sets the exit code to 1. To reproduce it, pass
--metrics METRIC --first NUMBER --inputs 1.
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
from pathlib import Path
from typing import Any

import numpy as np

from infolm_metric import InputError
from infolm_metric.metrics import METRICS
from tools.tables import show

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
    count = draw.choice((1, 1, 2, 3, 5))
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


def try_input(scorer: Any, texts: Any, options: dict[str, Any], names: list[str]) -> str:
    """Return "scored" or "rejected", or raise an error that a user should not see."""
    signal.alarm(TIMEOUT)
    try:
        result = dict(scorer.score(*texts, **options))
    except InputError as error:
        if not any(name in str(error) for name in names):
            raise AssertionError(f"the message does not name an argument: {error!r}") from error
        return "rejected"
    finally:
        signal.alarm(0)
    json.dumps(result, allow_nan=False)  # raises an error if a score is not finite
    return "scored"


def try_metric(name: str, model: Path, numbers: range, seed: int) -> collections.Counter[str]:
    """Score the inputs with the given numbers, print failures, and return counts of outcomes."""
    required = {"layer": 1} if name == "bertscore" else {}
    scorer = METRICS[name].scorer_type()(model_name_or_path=str(model), **required)
    names = [*SETTINGS[name], "predictions", "references", "text"]
    counts = collections.Counter[str]()
    for number in numbers:
        draw = random.Random(f"{seed} {name} {number}")
        texts, options = draw_inputs(draw), draw_settings(draw, SETTINGS[name])
        try:
            counts[try_input(scorer, texts, options, names)] += 1
        except (Exception, TimedOut) as error:
            counts["failed"] += 1
            print(f"FAILED {name} {number}: {options}: {type(error).__name__}: {error!s:.300}")
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=1000, help="total over all metrics")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--metrics", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    arguments = parser.parse_args()
    from tests import model_families, nli_models

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    count = -(-arguments.inputs // len(arguments.metrics))
    numbers, rows = range(arguments.first, arguments.first + count), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        masked_lm = model_families.build("bert", folder / "bert", num_hidden_layers=5)
        os.environ["INFOLM_MODEL"] = str(masked_lm)  # default of the metrics combined with MENLI
        models = dict.fromkeys(("menli", "answer_check"), nli_models.build(folder / "nli"))
        for name in arguments.metrics:
            counts = try_metric(name, models.get(name, masked_lm), numbers, arguments.seed)
            rows.append([name, *(counts[word] for word in OUTCOMES)])
    show("Inputs", ["metric", *OUTCOMES], rows)
    return int(any(failures for *_, failures in rows))


if __name__ == "__main__":
    sys.exit(main())
