"""Check that two checkouts return bitwise identical scores on the CPU.

    python -m tools.same_scores ../other                  # compare with this checkout
    python -m tools.same_scores ../other --metrics menli --families bert bundled

Both checkouts score the same texts with the same models (a tiny model of each family and the
bundled model), in separate processes with one thread each. The calls cover InfoLM with all
measures, symmetrizations, IDF weights and encodings, BaryScore, and MENLI. For each metric and
model, prints the number of scores, the number that are not bitwise identical, and the largest
difference (relative if the score is above 1) with its settings. Calls that raise an error in a
checkout are printed and not compared. The exit code is 1 if any score differs.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SCORERS = {"infolm": "InfoLMScorer", "baryscore": "BaryScorer", "menli": "MENLIScorer"}
TABLE = "a table counted beforehand"
IDFS = (False, "references", "separate", TABLE)
BASIC_MEASURES = ("kl", "l1", "l2", "linf", "fisher_rao")
MEASURES: tuple[dict[str, Any], ...] = (  # measures with the same parameters share a call
    {
        "information_measure": [*BASIC_MEASURES, "alpha", "renyi", "beta", "ab"],
        "alpha": 0.3,
        "beta": 0.7,
    },
    {"information_measure": ["alpha", "renyi", "beta", "ab"], "alpha": 2.0, "beta": -0.5},
    {"information_measure": ["alpha", "ab"], "alpha": -0.5, "beta": -0.5},
    {"information_measure": ["alpha", "renyi", "ab"], "alpha": 1.00001, "beta": 1e-5},
)
LONG_TEXTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("long", {"long_text": "window", "max_length": 12}),
    ("long", {"long_text": "truncate", "max_length": 12}),
    ("long", {"long_text": "window"}),
    ("long", {"long_text": "truncate"}),
)
READINGS: tuple[tuple[str, dict[str, Any]], ...] = (  # encodings of InfoLM, each with every idf
    *(("one", {"temperature": value}) for value in (0.05, 0.25, 1.5, 4.0)),
    *(("one", {"interpolation": value}) for value in (0.1, 0.5)),
    ("one", {"masks_per_pass": 0, "interpolation": 0.2}),
    ("one", {"batch_size": 3, "reuse_memory": 0}),
    ("one", {"masks_per_pass": 2, "reuse_memory": 0}),
    ("long", {"masks_per_pass": 2, "long_text": "window", "max_length": 12}),
    *LONG_TEXTS,
    ("single", {}),
    ("copies", {}),
    ("several", {"multi_reference": "min"}),
    ("several", {"multi_reference": "mean"}),
    ("several", {"multi_reference": "mean", "masks_per_pass": 2, "reuse_memory": 0}),
)
SWEEPS: tuple[dict[str, Any], ...] = (
    {"temperatures": [0.5, 1.0, 1.5], "idfs": [*IDFS], "information_measure": [*BASIC_MEASURES]},
    {
        "temperatures": [1.0, 1.5],
        "alphas": [0.25, 0.5, 2.0],
        "betas": [0.25, 0.5, 1.0],
        "idfs": ["references", False],
        "information_measure": ["alpha", "renyi", "beta", "ab"],
    },
)
FORMULAS = ["e", "-c", "e-n", "e-c", "e-n-2c"]

Case = tuple[str, dict[str, Any]]  # name of a corpus, settings of a call
Scores = Mapping[str, Any]  # score name -> [pairs], or {"refused": message}


def infolm_cases(model: str) -> Iterator[Case]:
    """Yield every call of InfoLM; settings with "sweep" are calls of `sweep`."""
    for idf in IDFS:
        for measures, form in product(MEASURES, ("jeffreys", "jensen", "none", "reverse")):
            yield "one", {"idf": idf, "symmetrize": form, **measures}
        for name in BASIC_MEASURES:  # a single measure
            yield "one", {"idf": idf, "information_measure": name}
        for corpus, settings in READINGS:
            yield corpus, {"idf": idf, **MEASURES[0], **settings}
        if model != "bundled":
            yield "many", {"idf": idf, "information_measure": ["fisher_rao", "kl"]}
    for grid in SWEEPS:
        yield "several", {"sweep": True, "multi_reference": "mean", **grid}


def baryscore_cases(model: str) -> Iterator[Case]:
    """Yield every call of BaryScore."""
    for idf, layers in product(IDFS, (1, 2, "all", [0, 2])):
        yield "one", {"idf": idf, "layers": layers}
        for corpus, settings in (*LONG_TEXTS, ("single", {}), ("copies", {})):
            yield corpus, {"idf": idf, "layers": layers, **settings}
        for references in ("min", "mean"):
            yield "several", {"idf": idf, "layers": layers, "multi_reference": references}
        yield "one", {"idf": idf, "layers": layers, "batch_size": 3, "reuse_memory": 0}
    if model == "bundled":
        yield "one", {}
    else:
        yield "many", {"idf": "references", "layers": 2}


def menli_cases(model: str) -> Iterator[Case]:
    """Yield every call of MENLI; the bundled model is also combined with other metrics."""
    for direction in ("avg", "rh", "hr"):
        base = {"formula": FORMULAS, "direction": direction}
        for corpus in ("one", "single", "copies"):
            yield corpus, base
        for references in ("max", "mean"):
            yield "several", {**base, "multi_reference": references}
        yield "long", {**base, "long_text": "truncate"}
        yield "one", {**base, "batch_size": 3, "reuse_memory": 0}
    if model != "bundled":
        yield "many", {"formula": "e-c"}
        return
    for other, weight in product(("infolm", "baryscore"), (0.0, 0.2, 0.7)):
        yield "one", {"combine_with": other, "nli_weight": weight}
        yield "several", {"combine_with": other, "nli_weight": weight, "formula": ["e", "e-c"]}


CASES = {"infolm": infolm_cases, "baryscore": baryscore_cases, "menli": menli_cases}


def make_corpora(count: int) -> dict[str, Any]:
    """Return small corpora of predictions and references by name, with edge cases."""
    from tests.model_families import SENTENCES

    texts, references = list(SENTENCES[:6]), list(SENTENCES[6:12])
    candidates = [*texts, "", "the cat", "", "yes", "the cat sat", "猫 🙂 ½ 3rd CAFÉ"]
    groups = [*references, "rain", "", "", "no", "the cat sat", "the 猫 sat"]
    draw, words = random.Random(0), " ".join(SENTENCES).split()

    def text() -> str:
        return " ".join(draw.choices(words, k=draw.randint(1, 6)))

    long_reference = " ".join(references[::-1])
    return {
        "one": (candidates, groups),
        "several": (candidates, [[g, *references[: n % 4]] for n, g in enumerate(groups)]),
        "long": ([" ".join(texts), " ".join(references), "a boat", ""], [long_reference] * 4),
        "single": (["the cat sat on the mat"], ["the cat slept on the chair"]),
        "copies": (texts, texts),
        "many": ([text() for _ in range(count)], [[text(), text()] for _ in range(count)]),
        "table": texts + references,
    }


def score_all(job: Mapping[str, Any]) -> dict[str, Any]:
    """Compute the scores of a metric with every model, using the imported checkout."""
    from transformers import AutoTokenizer

    import infolm_metric

    bundled = Path(infolm_metric.__file__).parent / "bundled"
    scores: dict[str, list[Scores]] = {}
    for name, model in job["models"].items():
        tokenizer = AutoTokenizer.from_pretrained(bundled if model == "bundled" else model)
        table = infolm_metric.IDF.from_corpus(job["corpora"]["table"], tokenizer)
        scorer = getattr(infolm_metric, SCORERS[job["metric"]])(
            model_name_or_path=model, device="cpu", dtype="float32"
        )
        scores[name] = []
        for corpus, settings in CASES[job["metric"]](name):
            try:
                scores[name].append(call(scorer, job["corpora"][corpus], settings, table))
            except (TypeError, ValueError) as error:
                scores[name].append({"refused": str(error)})
    return {"from": infolm_metric.__file__, "scores": scores}


def call(scorer: Any, texts: Sequence[Any], settings: Mapping[str, Any], table: Any) -> Scores:
    """Run a call and return its scores by name."""

    def with_table(value: Any) -> Any:
        if isinstance(value, list):
            return [with_table(entry) for entry in value]
        return table if value == TABLE else value

    options = {name: with_table(value) for name, value in settings.items() if name != "sweep"}
    if "sweep" not in settings:
        return by_name(scorer.score(*texts, **options)["scores"])
    return {
        f"row {number} {name}": column
        for number, (*_, result) in enumerate(scorer.sweep(*texts, **options))
        for name, column in by_name(result["scores"]).items()
    }


def by_name(scores: Any) -> Scores:
    """Return scores by name; a single score has the name ""."""
    return scores if isinstance(scores, Mapping) else {"": list(scores)}


def run(checkout: Path, folder: Path, metric: str) -> dict[str, Any]:
    """Run `score_all` in a process that imports the given checkout."""
    environment = {
        **os.environ,
        "HF_HOME": str(folder / checkout.name),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(checkout),
    }
    # -P: do not import modules from the folder of this file.
    command = [sys.executable, "-P", __file__, "--worker", str(folder / f"{metric}.json")]
    output = subprocess.check_output(command, cwd=folder, env=environment)
    answer = json.loads(output.splitlines()[-1])
    if not Path(answer["from"]).is_relative_to(checkout):
        raise SystemExit(f"imported {answer['from']} instead of {checkout}")
    return answer["scores"]


def compare(
    cases: Iterable[Case], old: Sequence[Scores], new: Sequence[Scores]
) -> Iterator[tuple[float | None, str]]:
    """Yield a difference per score of the calls that succeed in both checkouts, with the settings.

    Differences are relative if the old score is above 1, and None if the scores are bitwise
    identical. Other calls are printed.
    """
    for (corpus, settings), before, after in zip(cases, old, new, strict=True):
        refusals = [scores.get("refused") for scores in (before, after)]
        if any(refusals):
            by = "both checkouts" if all(refusals) else "one checkout"
            print(f"error in {by}: {corpus}, {settings}: {refusals}", file=sys.stderr)
            continue
        if list(before) != list(after):
            names = f"{list(before)} and {list(after)}"
            raise SystemExit(f"{corpus}, {settings}: the score names differ: {names}")
        for name, column in before.items():
            for x, y in zip(column, after[name], strict=True):
                difference = abs(x - y) / max(1.0, abs(x))
                yield difference if x.hex() != y.hex() else None, f"{name} {corpus} {settings}"


def row(label: str, comparisons: Sequence[tuple[float | None, str]]) -> list[str]:
    """Return a row of the table: counts, and the largest difference with its settings."""
    unequal = [comparison for comparison in comparisons if comparison[0] is not None]
    worst, settings = max(unequal, default=(0, ""))
    return [label, str(len(comparisons)), str(len(unequal)), f"{worst:.1e}", settings]


def main() -> int:
    """Compare two checkouts, or run as a worker process."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="checkout to compare with")
    parser.add_argument("--metrics", nargs="+", choices=SCORERS, default=list(SCORERS))
    parser.add_argument("--families", nargs="+", help="default: all families, and bundled")
    parser.add_argument("--many", type=int, default=600, help="pairs in the largest corpus")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.worker:
        print(json.dumps(score_all(json.loads(arguments.worker.read_text()))))
        return 0
    if arguments.other is None:
        parser.error("the checkout to compare with is missing; pass its path")
    checkouts = [path.resolve() for path in (arguments.other, ROOT)]
    if checkouts[0] == checkouts[1]:
        parser.error(f"both checkouts are {checkouts[0]}; pass the path of another one")
    from tests import model_families, nli_models
    from tools.tables import show

    families = arguments.families or [*model_families.FAMILIES, "bundled"]
    comparisons, rows = [], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for metric in arguments.metrics:
            models = {"bundled": "bundled"} if "bundled" in families else {}
            for family in families:
                place = folder / metric / family
                if family != "bundled" and metric == "menli":
                    models[family] = str(nli_models.build(place, family))
                elif family != "bundled":
                    models[family] = str(model_families.build(family, place))
            job = {"metric": metric, "models": models, "corpora": make_corpora(arguments.many)}
            (folder / f"{metric}.json").write_text(json.dumps(job))
            with ThreadPoolExecutor(2) as pool:
                old, new = pool.map(lambda path, name=metric: run(path, folder, name), checkouts)
            for model in models:
                part = list(compare(CASES[metric](model), old[model], new[model]))
                comparisons += part
                rows.append(row(f"{metric}, {model}", part))
                print(rows[-1], file=sys.stderr, flush=True)
    header = ["metric, model", "scores", "not identical", "largest difference", "settings"]
    show("Scores of two checkouts", header, [*rows, row("all", comparisons)])
    _, total, count, *_ = row("all", comparisons)
    print(f"\n{checkouts[0]} and {checkouts[1]}: {count} of {total} scores differ")
    return int(count != "0")


if __name__ == "__main__":
    sys.exit(main())
