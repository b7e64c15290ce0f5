"""Fuzz every metric with random texts and settings.

    python -m tools.fuzz --inputs 100000

Texts have 0 to 10,000 characters of any script; some references and settings are of the wrong type
or out of range. Models are tiny. Each input must return finite scores, or raise a ValueError or
TypeError that names an argument, within HUB_TIMEOUT seconds. Anything else is a finding and is
printed with its number; `--first NUMBER --inputs 1` reproduces it. Prints the number of inputs
scored, refused and found per metric; the exit code is 1 if there are findings.
"""

import argparse
import collections
import math
import os
import random
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from infolm_metric.metrics import METRICS
from tools.tables import show

HUB_TIMEOUT = 120
OUTCOMES = ("scored", "refused", "found")
WORDS = "the a cat dog sat on mat river rose by 3.5 metres in rain, and nobody knows why ."
ORDINARY = WORDS.split()
ODD = (
    *("", " ", "\n", "\x00", "\u2028", "\ufeff", "\u200d", "e\u0301", "\u05d0\u05d1", "\ud800"),
    *("[MASK]", "[SEP]", "[CLS]", "[PAD]", "<mask>", "\x1b[31m", "\u6771\u4eac", "a" * 300),
)
LENGTHS = {0: 2, 1: 2, 2: 2, 5: 4, 12: 6, 30: 20, 100: 2, 1000: 1, 10_000: 0.2}  # to weights
NO_TEXTS = (None, 5, float("nan"), b"bytes", ["list"], {"a": 1}, object, True, "\udfff", [])
ODD_VALUES = (
    *(None, True, False, "", "no", "nan", b"x", [], [1.0], {}, object(), np.float32(0.5)),
    *(0, 1, -1, 2, 10**30, -0.0, 0.5, 1e-300, 1e300, math.nan, math.inf, -math.inf, 1 + 1e-9),
)
COMMON: dict[str, list[Any]] = {  # settings with values that cover their code paths
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
        "masks_per_pass": [0, 1, 3],
    },
    "baryscore": {**COMMON, **TEXTS, "layers": [1, 3, "all", [0, 2], "1,3"]},
    "menli": {
        **COMMON,
        "multi_reference": ["max", "mean"],
        "long_text": ["truncate", "error"],
        "formula": ["e", "-c", "e-n", "e-c", "e-n-2c", ["e", "e-c"]],
        "direction": ["avg", "rh", "hr"],
        "combine_with": [None, "infolm", "baryscore"],
        "nli_weight": [0.0, 0.2, 1.0],
        "labels": [None, "contradiction,neutral,entailment"],
        "probabilities": [True, False],
    },
}


class TooLong(BaseException):
    """Raised if an input takes more than HUB_TIMEOUT seconds."""


def stop(*_: object) -> None:
    """Handle the alarm."""
    raise TooLong(f"took longer than {HUB_TIMEOUT} s")


def text(draw: random.Random) -> str:
    """Draw a text of 0 to 10,000 characters; most texts are short."""
    (length,) = draw.choices(list(LENGTHS), list(LENGTHS.values()))
    if draw.random() < 0.25:  # any Unicode except surrogates
        codes = (draw.randrange(0x11_0000) for _ in range(length))
        return "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000)
    parts = ORDINARY if draw.random() < 2 / 3 else [*ORDINARY, *ODD]
    return " ".join(draw.choices(parts, k=length // 3 + 1))[:length]


def inputs(draw: random.Random) -> tuple[Any, Any]:
    """Draw predictions and references; one in five contains a value of a wrong type."""
    count = draw.choice((1, 1, 2, 3, 5))
    pool = [text(draw) for _ in range(draw.randint(1, 3))]

    def texts(count: int) -> list[Any]:
        return [draw.choice(pool) if draw.random() < 0.3 else text(draw) for _ in range(count)]

    predictions, references = texts(count), texts(count)
    if draw.random() < 0.4:
        references = [texts(draw.choice((1, 1, 2, 4))) for _ in range(count)]
    if draw.random() < 0.2:
        side, no_text = draw.choice((predictions, references)), draw.choice(NO_TEXTS)
        change = draw.randrange(4)
        if change == 0:
            side[draw.randrange(count)] = no_text
        elif change == 1:
            side.append(no_text)
        elif change == 2:
            return draw.choice(((no_text, references), (predictions, no_text)))
        else:
            del side[:]
    shape = draw.choice((list, list, tuple, lambda side: np.asarray(side, dtype=object)))
    return shape(predictions), references


def settings(draw: random.Random, values: dict[str, list[Any]]) -> dict[str, Any]:
    """Draw settings; one in three may contain odd values."""
    names = draw.sample(list(values), k=draw.choice((0, 1, 2, 4, 5)))
    odd = draw.random() < 1 / 3
    return {
        name: draw.choice(ODD_VALUES if odd and draw.random() < 0.5 else values[name])
        for name in names
    }


def outcome(scorer: Any, texts: tuple[Any, Any], options: dict[str, Any], names: list[str]) -> str:
    """Return "scored" or "refused"; raise any error that a user should not see."""
    signal.alarm(HUB_TIMEOUT)
    try:
        result = dict(scorer.score(*texts, **options))
    except (ValueError, TypeError) as error:
        if not any(name in str(error) for name in names):
            raise AssertionError(f"the message does not name an argument: {error!r}") from error
        return "refused"
    finally:
        signal.alarm(0)
    for score in scores_in(result):
        assert math.isfinite(score), f"scores must be finite, got {score}"
    return "scored"


def scores_in(result: Any) -> Iterator[float]:
    """Yield all scores of a result."""
    if isinstance(result, dict | list | tuple):
        for value in result.values() if isinstance(result, dict) else result:
            yield from scores_in(value)
    elif isinstance(result, float):
        yield result


def try_metric(name: str, model: Path, numbers: range, seed: int) -> collections.Counter[str]:
    """Count the outcomes of the inputs with these numbers, and print findings."""
    scorer = METRICS[name].scorer_type()(model_name_or_path=str(model))
    names = [*SETTINGS[name], "predictions", "references", "text"]
    counts = collections.Counter[str]()
    for number in numbers:
        draw = random.Random(f"{seed} {name} {number}")
        texts, options = inputs(draw), settings(draw, SETTINGS[name])
        try:
            counts[outcome(scorer, texts, options, names)] += 1
        except (Exception, TooLong) as error:
            counts["found"] += 1
            print(f"FOUND {name} {number}: {options}: {type(error).__name__}: {error!s:.300}")
    return counts


def main() -> int:
    """Fuzz the metrics, and print a table of outcomes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=1000, help="number of inputs of all metrics")
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
        os.environ["INFOLM_MODEL"] = str(masked_lm)  # for metrics combined with MENLI
        models = {"menli": nli_models.build(folder / "nli")}
        for name in arguments.metrics:
            counts = try_metric(name, models.get(name, masked_lm), numbers, arguments.seed)
            rows.append([name, *(counts[word] for word in OUTCOMES)])
    show("Inputs", ["metric", *OUTCOMES], rows)
    return int(any(findings for *_, findings in rows))


if __name__ == "__main__":
    sys.exit(main())
