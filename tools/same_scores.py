"""Whether two checkouts give the same scores, bit for bit on the CPU, by their public classes.

    python -m tools.same_scores ../other                  # against the checkout this stands in
    python -m tools.same_scores ../other --metrics menli --families bert bundled

Each checkout scores the same texts with the same models in processes of its own, one thread each: a
tiny model of every family and the bundled one, by InfoLM under every measure, symmetrisation, idf
and way to read a text, by BaryScore and by MENLI. For each metric and model it prints how many
scores there are, how many are not equal in every bit, and the largest difference (relative above 1)
with the settings that gave it. A call that a checkout refuses is printed and not compared. The exit
code is 1 if a score differs in a bit.
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
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SCORERS = {"infolm": "InfoLMScorer", "baryscore": "BaryScorer", "menli": "MENLIScorer"}
TABLE = "a table counted beforehand"
IDFS = (False, "references", "separate", TABLE)
BASIC_MEASURES = ("kl", "l1", "l2", "linf", "fisher_rao")
MEASURES: tuple[dict[str, Any], ...] = (  # those that share their parameters, in one call
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
READINGS: tuple[tuple[str, dict[str, Any]], ...] = (  # of InfoLM, each with every idf
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

Case = tuple[str, dict[str, Any]]  # a corpus and the settings of a call
Scores = Mapping[str, Any]  # what `score` gave as name -> [pairs], or {"refused": why}


def infolm_cases(model: str) -> Iterator[Case]:
    """Every call of InfoLM; with `sweep` those of the method of that name."""
    for idf in IDFS:
        for measures, form in product(MEASURES, ("jeffreys", "jensen", "none", "reverse")):
            yield "one", {"idf": idf, "symmetrize": form, **measures}
        for name in BASIC_MEASURES:  # alone, by its name
            yield "one", {"idf": idf, "information_measure": name}
        for corpus, settings in READINGS:
            yield corpus, {"idf": idf, **MEASURES[0], **settings}
        if model != "bundled":
            yield "many", {"idf": idf, "information_measure": ["fisher_rao", "kl"]}
    for grid in SWEEPS:
        yield "several", {"sweep": True, "multi_reference": "mean", **grid}


def baryscore_cases(model: str) -> Iterator[Case]:
    """Every call of BaryScore."""
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
    """Every call of MENLI, which is combined with other metrics where both are bundled."""
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
    """Predictions and references by name; texts are few, but of every kind."""
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
    """The scores of one metric with every model, by the checkout that this process imports."""
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
    """The scores of a call by the names of what was scored."""

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
    """Name -> scores; of a single score without a name."""
    return scores if isinstance(scores, Mapping) else {"": list(scores)}


def run(checkout: Path, folder: Path, metric: str) -> dict[str, Any]:
    """What `score_all` gives in a process of its own that imports that checkout."""
    environment = {
        **os.environ,
        "HF_HOME": str(folder / checkout.name),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(checkout),
    }
    # -P: modules beside this file must not stand before those of the checkout.
    command = [sys.executable, "-P", __file__, "--worker", str(folder / f"{metric}.json")]
    output = subprocess.check_output(command, cwd=folder, env=environment)
    answer = json.loads(output.splitlines()[-1])
    if not Path(answer["from"]).is_relative_to(checkout):
        raise SystemExit(f"{checkout} was asked for, and {answer['from']} was imported")
    return answer["scores"]


@dataclass(frozen=True)
class Comparison:
    """One score in both checkouts, and the call that gave it."""

    name: str
    corpus: str
    settings: Mapping[str, Any]
    old: float
    new: float

    @property
    def difference(self) -> float:
        """Relative above 1."""
        return abs(self.old - self.new) / max(1.0, abs(self.old))

    @property
    def equal(self) -> bool:
        """In every bit."""
        return self.old.hex() == self.new.hex()


def compare(
    cases: Iterable[Case], old: Sequence[Scores], new: Sequence[Scores]
) -> Iterator[Comparison]:
    """Every score of every call that both accept; the others are printed."""
    for (corpus, settings), before, after in zip(cases, old, new, strict=True):
        refusals = [scores.get("refused") for scores in (before, after)]
        if any(refusals):
            by = "both" if all(refusals) else "one"
            print(f"refused by {by}: {corpus}, {settings}: {refusals}", file=sys.stderr)
            continue
        if list(before) != list(after):
            raise SystemExit(f"{corpus}, {settings}: {list(before)} became {list(after)}")
        for name, column in before.items():
            for pair in zip(column, after[name], strict=True):
                yield Comparison(name, corpus, settings, *pair)


def row(label: str, comparisons: Sequence[Comparison]) -> list[str]:
    """A row of the table, with what gave the largest difference."""
    unequal = [comparison for comparison in comparisons if not comparison.equal]
    cells = [label, f"{len(comparisons)}", f"{len(unequal)}"]
    if not unequal:
        return [*cells, "0", ""]
    worst = max(unequal, key=lambda comparison: comparison.difference)
    return [*cells, f"{worst.difference:.1e}", f"{worst.name} {worst.corpus} {worst.settings}"]


def main() -> int:
    """Compare two checkouts, or score by one of them as the worker of such a call."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="the checkout to compare with")
    parser.add_argument("--metrics", nargs="+", choices=SCORERS, default=list(SCORERS))
    parser.add_argument("--families", nargs="+", help="default: all of them, and bundled")
    parser.add_argument("--many", type=int, default=600, help="pairs of the largest corpus")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.worker:
        print(json.dumps(score_all(json.loads(arguments.worker.read_text()))))
        return 0
    if arguments.other is None:
        parser.error("name the checkout to compare with")
    checkouts = [path.resolve() for path in (arguments.other, ROOT)]
    if checkouts[0] == checkouts[1]:
        parser.error(f"both are {checkouts[0]}")
    from tests import model_families, nli_models
    from tools.tables import show

    families = arguments.families or [*model_families.FAMILIES, "bundled"]
    comparisons: list[Comparison] = []
    rows: list[list[str]] = []
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
    header = ["metric, model", "scores", "not bit-equal", "largest difference", "by"]
    show("Scores of two checkouts", header, [*rows, row("all", comparisons)])
    count, total = sum(not comparison.equal for comparison in comparisons), len(comparisons)
    print(f"\n{checkouts[0]} against {checkouts[1]}: {count} of {total} scores differ")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
