"""Check that two checkouts return bitwise identical scores on the CPU.

    python -m tools.same_scores ../other                  # compare with this checkout
    python -m tools.same_scores ../other --metrics menli --families bert bundled

Both checkouts, each in its own single-threaded process, score the same texts with the bundled model
and a tiny model of each family. The calls cover BaryScore, MENLI, and InfoLM with all measures,
symmetrizations, IDF weights and encodings. For each metric and model, the table shows the number of
scores, the number that are not bitwise identical, and the largest difference (relative if the score
is above 1) with its settings. Calls that raise an error are printed and not compared. The exit code
is 1 if any score differs.
"""

import argparse
import random
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from tools.tables import show
from tools.timing import in_process, run_worker

ROOT = Path(__file__).resolve().parents[1]
SCORERS = {"infolm": "InfoLMScorer", "baryscore": "BaryScorer", "menli": "MENLIScorer"}
IDFS = (False, "references", "separate", "an IDF table")
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
LONG_TEXTS: list[tuple[str, dict[str, Any]]] = [
    ("long", {"long_text": rule, **limit})
    for limit, rule in product(({"max_length": 12}, {}), ("window", "truncate"))
]
ENCODINGS: tuple[tuple[str, dict[str, Any]], ...] = (  # for InfoLM, each with all IDF weights
    *(("one", {"temperature": value}) for value in (0.05, 0.25, 1.5, 4.0)),
    *(("one", {"interpolation": value}) for value in (0.1, 0.5)),
    ("one", {"masking": "none", "interpolation": 0.2}),
    ("one", {"batch_size": 3, "reuse_memory": 0}),
    *LONG_TEXTS,
    ("single", {}),
    ("copies", {}),
    ("several", {"multi_reference": "min"}),
    ("several", {"multi_reference": "mean"}),
)
SWEEPS: tuple[dict[str, Any], ...] = (
    {"temperatures": [0.5, 1.0, 1.5], "information_measure": [*BASIC_MEASURES]},
    {
        "temperatures": [1.0, 1.5],
        "alphas": [0.25, 0.5, 2.0],
        "betas": [0.25, 0.5, 1.0],
        "information_measure": ["alpha", "renyi", "beta", "ab"],
    },
)
FORMULAS = ["e", "-c", "e-n", "e-c", "e-n-2c"]

Case = tuple[str, dict[str, Any]]  # name of a corpus, settings of a call
Scores = dict[str, list[float]] | str  # scores by name, or an error message


def infolm_cases(model: str, idfs: Sequence[Any]) -> Iterator[Case]:
    """Yield every call of InfoLM. A call with the setting "sweep" is a call of `sweep`."""
    for idf in idfs:
        for measures, form in product(MEASURES, ("jeffreys", "jensen", "none", "reverse")):
            yield "one", {"idf": idf, "symmetrize": form, **measures}
        for name in BASIC_MEASURES:  # a single measure
            yield "one", {"idf": idf, "information_measure": name}
        for corpus, settings in ENCODINGS:
            yield corpus, {"idf": idf, **MEASURES[0], **settings}
        if model != "bundled":
            yield "many", {"idf": idf, "information_measure": ["fisher_rao", "kl"]}
    for settings in SWEEPS:
        yield "several", {"sweep": True, "multi_reference": "mean", "idfs": [*idfs], **settings}


def baryscore_cases(model: str, idfs: Sequence[Any]) -> Iterator[Case]:
    for idf, layers in product(idfs, (1, 2, "all", [0, 2])):
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


def menli_cases(model: str, _: Sequence[Any]) -> Iterator[Case]:
    """Yield every call of MENLI. Only the bundled model is combined with other metrics."""
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
    """Return small corpora by name: (predictions, references), with edge cases."""
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
        "IDF": texts + references,
    }


def build_model(metric: str, family: str, folder: Path) -> str:
    """Build a tiny model of a family in a folder, and return its path."""
    from tests import model_families, nli_models

    if family == "bundled":
        return family
    if metric == "menli":
        return str(nli_models.build(folder, family))
    return str(model_families.build(family, folder))


def score_all(
    checkout: str, models: Iterable[tuple[str, str, str]], corpora: Mapping[str, Any]
) -> dict[str, list[list[Scores]]]:
    """Return the scores that a checkout computes for each metric, family and model."""
    warnings.simplefilter("ignore")
    sys.path.insert(0, checkout)
    import infolm_metric

    imported = Path(infolm_metric.__file__).parents[1]
    if imported != Path(checkout):
        raise SystemExit(f"imported the package in {imported} instead of {checkout}")
    scores = []
    for metric, family, model in models:
        scorer_type = getattr(infolm_metric, SCORERS[metric])
        scorer = scorer_type(model_name_or_path=model, device="cpu", dtype="float32")
        table = infolm_metric.IDF.from_corpus(corpora["IDF"], scorer.tokenizer)
        cases = CASES[metric](family, (*IDFS[:-1], table))
        scores.append([call(scorer, corpora[corpus], settings) for corpus, settings in cases])
    return {"scores": scores}


def call(scorer: Any, texts: Sequence[Any], settings: dict[str, Any]) -> Scores:
    try:
        if not settings.pop("sweep", False):
            return dict(scorer.score(*texts, **settings).scores)
        return {
            f"row {number} {name}": column
            for number, (*_, result) in enumerate(scorer.sweep(*texts, **settings))
            for name, column in result.scores.items()
        }
    except (TypeError, ValueError) as error:
        return str(error)


def compare(
    cases: Iterable[Case], old: Sequence[Scores], new: Sequence[Scores]
) -> Iterator[tuple[float | None, str]]:
    """Yield the difference in each score, with its settings. Print calls that raise an error.

    Differences are relative if the old score is above 1, and None if scores are bitwise identical.
    """
    for (corpus, settings), before, after in zip(cases, old, new, strict=True):
        if isinstance(before, str) or isinstance(after, str):
            errors = [scores for scores in (before, after) if isinstance(scores, str)]
            print(f"{len(errors)} of 2 failed: {corpus}, {settings}: {errors}", file=sys.stderr)
            continue
        if list(before) != list(after):
            raise SystemExit(f"{corpus}, {settings}: score names {[*before]} and {[*after]} differ")
        for name, column in before.items():
            for x, y in zip(column, after[name], strict=True):
                difference = abs(x - y) / max(1.0, abs(x))
                yield difference if x.hex() != y.hex() else None, f"{name} {corpus} {settings}"


def row(label: str, comparisons: Sequence[tuple[float | None, str]]) -> list[str]:
    """Return a table row: the counts, and the largest difference with its settings."""
    unequal = [comparison for comparison in comparisons if comparison[0] is not None]
    worst, settings = max(unequal, default=(0, ""))
    return [label, str(len(comparisons)), str(len(unequal)), f"{worst:.1e}", settings]


def main() -> int:
    if run_worker(score_all):
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, help="checkout to compare with")
    parser.add_argument("--metrics", nargs="+", choices=SCORERS, default=list(SCORERS))
    parser.add_argument("--families", nargs="+", help="default: all families, and bundled")
    parser.add_argument("--many", type=int, default=600, help="pairs in the largest corpus")
    arguments = parser.parse_args()
    checkouts = [path.resolve() for path in (arguments.other, ROOT)]
    if checkouts[0] == checkouts[1]:
        parser.error(f"{checkouts[0]} is this checkout. Pass the path to another checkout.")
    from tests.model_families import FAMILIES

    pairs = product(arguments.metrics, arguments.families or ["bundled", *FAMILIES])
    with tempfile.TemporaryDirectory() as temporary:
        models = [(*pair, build_model(*pair, Path(temporary, *pair))) for pair in pairs]
        job = {"models": models, "corpora": make_corpora(arguments.many)}

        def run(checkout: Path) -> dict[str, Any]:
            environment = {"HF_HOME": f"{temporary}/{checkout.name}", "HF_HUB_OFFLINE": "1"}
            inputs = {"checkout": str(checkout), **job}
            return in_process("tools.same_scores", inputs, OMP_NUM_THREADS="1", **environment)

        with ThreadPoolExecutor(2) as pool:
            results = [result["scores"] for result in pool.map(run, checkouts)]
    comparisons, rows = [], []
    for (metric, family, _), old, new in zip(models, *results, strict=True):
        part = list(compare(CASES[metric](family, IDFS), old, new))
        comparisons += part
        rows.append(row(f"{metric}, {family}", part))
    total = row("all", comparisons)
    header = ["metric, model", "scores", "not identical", "largest difference", "settings"]
    show("Scores of two checkouts", header, [*rows, total])
    print(f"\n{checkouts[0]} and {checkouts[1]}: {total[2]} of {total[1]} scores differ")
    return int(total[2] != "0")


if __name__ == "__main__":
    sys.exit(main())
