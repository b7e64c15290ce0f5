"""Throws made-up inputs at every metric, and damaged files at every reader.

    python tests/benchmarks/fuzz.py --inputs 100000 --files 100000

Texts are of any Unicode and of 0 to 10,000 characters, references and settings as odd as callers
make them; models are tiny. Each input must give finite scores, or a ValueError or TypeError that
names one of the arguments; each file what it holds, or a ValueError or TypeError that names it.
Nothing may take longer than PATIENCE seconds, and no file, thread or process may be left behind.
What is found is printed with its number: `--first NUMBER --inputs 1` makes it again.
"""

import argparse
import collections
import gzip
import json
import math
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from infolm_metric import IDF
from infolm_metric.kernel import text_files
from infolm_metric.kernel.baselines import Baseline, Spread
from infolm_metric.meta_evaluation.ratings import read_ratings
from infolm_metric.metrics import METRICS
from infolm_metric.running.shards import Shard
from tests import nli_models
from tests.model_families import build

PATIENCE = 120
WORDS = "the a cat dog sat on mat river rose by 3.5 metres in rain, and nobody knows why ."
ORDINARY = WORDS.split()
ODD = (
    *("", " ", "\n", "\x00", "\u2028", "\ufeff", "\u200d", "e\u0301", "\u05d0\u05d1", "\U0001f642"),
    *(
        "[MASK]",
        "[SEP]",
        "[CLS]",
        "[PAD]",
        "<mask>",
        "\ud800",
        "\x1b[31m",
        "\u6771\u4eac",
        "a" * 300,
    ),
)
NO_TEXTS = (None, 5, float("nan"), b"bytes", ["list"], {"a": 1}, object, True)
ODD_VALUES = (
    *(None, True, False, "", "no", "nan", b"x", [], [1.0], {}, object(), np.float32(0.5)),
    *(0, 1, -1, 2, 10**30, -0.0, 0.5, 1e-300, 1e300, math.nan, math.inf, -math.inf, 1 + 1e-9),
)
USUAL = {  # what goes through all that a setting can do
    "information_measure": ["kl", "alpha", "renyi", "beta", "ab", "l1", "l2", "linf", "fisher_rao"],
    "alpha": [-3.0, -0.5, 1e-6, 0.3, 1.00001, 2.0, 30.0],
    "beta": [-3.0, -0.5, 1e-6, 0.7, 5.0],
    "temperature": [0.01, 0.25, 1.0, 100.0],
    "symmetrize": ["jeffreys", "jensen", "none", "reverse"],
    "interpolation": [0.0, 0.3, 1.0],
    "masks_per_pass": [0, 1, 3],
    "idf": [False, True, "references", "separate"],
    "multi_reference": ["min", "mean"],
    "long_text": ["truncate", "window", "error"],
    "max_length": [3, 8, 40, 41],
    "batch_size": ["auto", 1, 7],
    "device": ["cpu", None],
    "dtype": ["float32", "bfloat16", "float16"],
    "rescale_with_baseline": [True, False],
    "reuse_memory": [0, 1000, 1 << 20],
    "layers": [1, 3, "all", [0, 2], "1,3"],
    "formula": ["e", "-c", "e-n", "e-c", "e-n-2c", ["e", "e-c"]],
    "direction": ["avg", "rh", "hr"],
    "nli_weight": [0.0, 0.2, 1.0],
    "labels": [None, "contradiction,neutral,entailment"],
    "probabilities": [True, False],
    "return_scores": [True, False],
}
OWN_USUAL = {"menli": {"multi_reference": ["max", "mean"], "long_text": ["truncate", "error"]}}
LEFT_ALONE = {  # which model, on what, and with how many processes: not what is tried here
    *("model_name_or_path", "model_revision", "tokenize_processes", "verbose"),
}


OTHERS = ("infolm", "baryscore")  # that MENLI is combined with


class TooLong(BaseException):
    """An input took more than PATIENCE seconds."""


def text(draw: random.Random) -> str:
    """A text of 0 to 10,000 characters, most of them short."""
    length = draw.choice((0, 1, 2, 5, 12, 30, 30, 30, 100, 1000, 10_000))
    kind = draw.randrange(4)
    if kind == 0:  # any Unicode but what is no character
        return "".join(chr(draw.randrange(0x11_0000 - 0x800)) for _ in range(length)).translate(
            {code: None for code in range(0xD800, 0xE000)}
        )
    parts = ORDINARY if kind > 1 else [*ORDINARY, *ODD]
    joined = " ".join(draw.choices(parts, k=length // 3 + 1))
    return joined[:length]


def inputs(draw: random.Random) -> tuple[object, object]:
    """Predictions and references, one time in five of the wrong kind somewhere."""
    count = draw.choice((1, 1, 2, 3, 5))
    pool = [text(draw) for _ in range(draw.randint(1, 3))]

    def one() -> str:
        return draw.choice(pool) if draw.random() < 0.3 else text(draw)

    predictions: list[object] = [one() for _ in range(count)]
    references: list[object] = [one() for _ in range(count)]
    if draw.random() < 0.4:
        references = [[one() for _ in range(draw.choice((1, 1, 2, 4)))] for _ in range(count)]
    if draw.random() < 0.2:
        side = draw.choice((predictions, references))
        wrong = draw.choice((*NO_TEXTS, "\udfff", []))
        change = draw.randrange(4)
        if change == 0:
            side[draw.randrange(count)] = wrong
        elif change == 1:
            side.append(wrong)
        elif change == 2:
            return draw.choice(((wrong, references), (predictions, wrong)))
        else:
            del side[:]
    shape = draw.choice((list, list, tuple, lambda side: np.asarray(side, dtype=object)))
    return (shape(predictions), references) if draw.random() < 0.5 else (predictions, references)


def settings(
    draw: random.Random, names: list[str], usual: Mapping[str, Sequence[object]]
) -> dict[str, object]:
    """Some settings, one time in three with odd values among them."""
    chosen = draw.sample(names, k=min(len(names), draw.choice((0, 1, 2, 4, 6))))
    odd = draw.random() < 1 / 3
    return {
        name: draw.choice(ODD_VALUES if odd and draw.random() < 0.5 else usual.get(name, [False]))
        for name in chosen
    }


@contextmanager
def watched() -> Iterator[None]:
    """Raise TooLong after PATIENCE seconds, and RuntimeError if a thread or process is left."""
    before = set(threading.enumerate())

    def stop(*_: object) -> None:
        raise TooLong(f"took longer than {PATIENCE} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
    for _ in range(100):  # transformers lets go of the threads that load a model as they end
        left = [*(set(threading.enumerate()) - before), *multiprocessing.active_children()]
        if not left:
            return
        time.sleep(0.05)
    raise RuntimeError(f"left behind: {left}")


def judged(call: Callable[[], object], names: list[str]) -> str:
    """ "scored" or "refused"; raises AssertionError, or what the call should not raise."""
    try:
        with watched(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = call()
    except (ValueError, TypeError) as error:
        if not any(name in str(error) for name in names):
            raise AssertionError(f"no argument is named in {error!r}") from error
        return "refused"
    for score in numbers(found):
        assert math.isfinite(score), f"a score is {score}"
    return "scored"


def numbers(found: object) -> Iterator[float]:
    """All scores in a result or in rows; other values are none."""
    if isinstance(found, dict):
        for value in found.values():
            yield from numbers(value)
    elif isinstance(found, list | tuple):
        for value in found:
            yield from numbers(value)
    elif isinstance(found, float):
        yield found


def models(folder: Path) -> dict[str, Path]:
    """The tiny model of each metric; BaryScore takes five states by default."""
    return {
        "infolm": build("bert", folder / "bert"),
        "baryscore": build("bert", folder / "deeper", num_hidden_layers=5),
        "menli": nli_models.build(folder / "nli"),
    }


def try_metric(
    name: str, made: Mapping[str, Path], numbers_: range, seed: int
) -> Iterator[tuple[int, str]]:
    """What became of each input of a metric."""
    metric = METRICS[name]
    beside = [
        METRICS[other].settings_type()(model_name_or_path=str(made[other])) for other in OTHERS
    ]
    usual = {**USUAL, "combine_with": [None, *beside], **OWN_USUAL.get(name, {})}
    known = [each for each in metric.settings_type().choices() if each not in LEFT_ALONE]
    scorer = metric.scorer_type()(model_name_or_path=str(made[name]))
    spoken = [*known, "predictions", "references", "text", "long_text", "idf"]
    for number in numbers_:
        draw = random.Random(f"{seed} {name} {number}")
        predictions, references = inputs(draw)
        given = settings(draw, known, usual)

        def call(p: object = predictions, r: object = references, g: dict = given) -> object:
            return scorer.score(p, r, **g).as_dict()

        yield number, tried(call, spoken, f"{name} {number}: {given}")


def tried(call: Callable[[], object], names: list[str], what: str) -> str:
    """What became of a call; a finding is printed."""
    try:
        return judged(call, names)
    except (Exception, TooLong) as error:
        print(f"FOUND {what}: {type(error).__name__}: {str(error)[:300]}", flush=True)
        return "found"


def valid_files(folder: Path, model: Path) -> dict[str, Callable[[Path], object]]:
    """A valid file of each kind below the folder, by name, and what reads it."""
    from transformers import AutoTokenizer

    row = {"prediction": "a cat", "references": ["the cat", "cats"], "human": {"fluency": 1.5}}
    rows = [
        {**row, "system": system, "id": number, "human": {"fluency": number + (system == "a")}}
        for system in "ab"
        for number in range(3)
    ]
    lines = "".join(json.dumps(each) + "\n" for each in rows).encode()
    (folder / "ratings.jsonl").write_bytes(lines)
    (folder / "pairs.jsonl").write_bytes(lines)
    (folder / "pairs.jsonl.gz").write_bytes(gzip.compress(lines, mtime=0))
    (folder / "pairs.csv").write_text('candidate,reference\n"a, cat",the cat\nb,"c ""d"""\n')
    (folder / "pairs.tsv").write_text("candidate\treference\na cat\tthe cat\n")
    (folder / "texts.txt").write_text("a cat\n\nthe cat \u2028 sat\n")
    IDF.from_corpus(["a cat", "the cat"], AutoTokenizer.from_pretrained(model)).save(
        folder / "table.idf"
    )
    spread = Spread.of([0.1 * number for number in range(20)])
    Baseline({("metric:toy", "uniform", 1): spread}).save(folder / "baseline.json")
    Shard("ab" * 32, b'{"pair": 1, "toy": 0.5}\n').write(folder / "000000000001.rows")

    def pairs(path: Path) -> object:
        return list(text_files.iterate_pairs(str(path)))

    return {
        **dict.fromkeys(("pairs.jsonl", "pairs.jsonl.gz", "pairs.csv", "pairs.tsv"), pairs),
        "texts.txt": lambda path: list(text_files.read_texts(str(path))),
        "ratings.jsonl": lambda path: read_ratings(str(path)) and None,
        "table.idf": lambda path: IDF.load(path) and None,
        "baseline.json": lambda path: [vars(each) for each in Baseline.load(path).spreads.values()],
        "000000000001.rows": lambda path: Shard.read(path) and None,
    }


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The content with something cut, turned, doubled, put in or nested."""
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        start, stop = sorted(draw.randrange(len(content) + 1) for _ in range(2))
        stop = min(stop, start + draw.choice((1, 1, 4, 100)))
        put = draw.choice(
            (
                *(
                    b"",
                    content[start:stop] * 2,
                    draw.randbytes(4),
                    b"[" * 100_000,
                    b"\xff",
                    b"\x00",
                ),
                *(
                    b'"',
                    b"{",
                    b"}",
                    b",",
                    b"null",
                    b"NaN",
                    b"-1",
                    b"1e999",
                    b"[]",
                    b'"x"',
                    b"9" * 5000,
                ),
            )
        )
        content = content[:start] + put + content[stop:]
    return content


def try_files(model: Path, numbers_: range, seed: int) -> Iterator[tuple[int, str]]:
    """What became of each damaged file."""
    with tempfile.TemporaryDirectory() as name:
        folder, made = Path(name) / "damaged", Path(name) / "valid"
        folder.mkdir(), made.mkdir()
        readers = valid_files(made, model)
        for number in numbers_:
            draw = random.Random(f"{seed} file {number}")
            file = draw.choice(list(readers))
            path = folder / file
            path.write_bytes(damaged((made / file).read_bytes(), draw))

            def call(read: Callable[[Path], object] = readers[file], path: Path = path) -> object:
                return read(path)

            yield number, tried(call, [file], f"file {number}: {file}")
            path.unlink()
            left = os.listdir(folder)
            if left:
                raise SystemExit(f"file {number}: left behind {left}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=1000, help="for each metric")
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--metric", action="append", choices=list(METRICS), help="default: all")
    parser.add_argument("--model", action="append", default=[], metavar="METRIC=FOLDER")
    given = parser.parse_args()
    found = 0
    with tempfile.TemporaryDirectory() as folder:
        named = (each.split("=", 1) for each in given.model)
        made = {**models(Path(folder)), **{name: Path(path) for name, path in named}}
        inputs_ = range(given.first, given.first + given.inputs)
        runs = {
            name: try_metric(name, made, inputs_, given.seed) for name in given.metric or METRICS
        }
        files = range(given.first, given.first + given.files)
        runs["files"] = try_files(made["infolm"], files, given.seed)
        for name, run in runs.items():
            counts = collections.Counter(became for _, became in run)
            found += counts["found"]
            print(name, json.dumps(counts), flush=True)
    sys.exit(f"{found} inputs were neither scored nor refused by name" if found else 0)


if __name__ == "__main__":
    main()
