"""That scores are what they were: two versions of this project, compared bit for bit on the CPU.

    python tests/benchmarks/same_scores.py --old ../old --new .

Either version is a checkout, or the Python of an environment that it is installed in. Both score
the same texts with the same models, each in a process of its own: a tiny model of every family and
the bundled one, under every measure, symmetrisation and idf, one reference and several, short,
long and empty texts. A sweep over a grid, as the meta-evaluation makes it, is compared as well, but
only to 1e-6, because how a sweep cuts its batches may change. Prints for each model how many scores
were compared, how many differ in any bit and by how much at most; exits with 1 if any differs.
Where rules changed between the versions, --corpora names those whose scores are to be the same, and
with --float32 only what differs by more than float32's rounding can explain counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TABLE = "a table counted beforehand"
SWEPT = 1e-6  # what a sweep may differ by, relative above 1
CORPORA = ("one", "several", "long", "single", "copies", "many")
SYMMETRIZATIONS = ("jeffreys", "jensen", "none", "reverse")
FORMS = (False, "references", "separate", TABLE)
PLAIN = ("kl", "l1", "l2", "linf", "fisher_rao")
# Measures that share their parameters, and are asked for in one call.
MEASURES: tuple[dict[str, Any], ...] = (
    {"information_measure": [*PLAIN, "alpha", "renyi", "beta", "ab"], "alpha": 0.3, "beta": 0.7},
    {"information_measure": ["alpha", "renyi", "beta", "ab"], "alpha": 2.0, "beta": -0.5},
    {"information_measure": ["alpha", "ab"], "alpha": -0.5, "beta": -0.5},
    {"information_measure": ["alpha", "renyi", "ab"], "alpha": 1.00001, "beta": 1e-5},
)
# What else changes a score or the batches that it comes from, each for every idf.
READINGS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("one", {"temperature": heat}) for heat in (0.05, 0.25, 1.5, 4.0)),
    ("one", {"batch_size": 3, "reuse_memory": 0}),
    ("one", {"masks_per_pass": 2, "reuse_memory": 0}),
    ("long", {"masks_per_pass": 2, "long_text": "window", "max_length": 12}),
    ("long", {"long_text": "window", "max_length": 12}),
    ("long", {"long_text": "truncate", "max_length": 12}),
    ("long", {"long_text": "window"}),
    ("long", {"long_text": "truncate"}),
    ("single", {}),
    ("copies", {}),
    ("several", {"multi_reference": "min"}),
    ("several", {"multi_reference": "mean"}),
    ("several", {"multi_reference": "mean", "masks_per_pass": 2, "reuse_memory": 0}),
)
SWEEPS: tuple[dict[str, Any], ...] = (
    {"temperatures": [0.5, 1.0, 1.5], "idfs": [*FORMS], "information_measure": [*PLAIN]},
    {
        "temperatures": [1.0, 1.5],
        "alphas": [0.25, 0.5, 2.0],
        "betas": [0.25, 0.5, 1.0],
        "idfs": ["references", False],
        "information_measure": ["alpha", "renyi", "beta", "ab"],
    },
)


def make_corpora(many: int) -> dict[str, Any]:
    """Predictions and references by name; texts are few, but of every kind."""
    from tests.model_families import SENTENCES
    from tests.random_pairs import random_pairs

    some, others = list(SENTENCES[:6]), list(SENTENCES[6:12])
    one = [*some, "", "the cat", "", "yes", "the cat sat", "猫 🙂 ½ 3rd CAFÉ"]
    references = [*others, "rain", "", "", "no", "the cat sat", "the 猫 sat"]
    groups = [[text, *others[: number % 4]] for number, text in enumerate(references)]
    rows = random_pairs(many, longest=6)
    return {
        "one": (one, references),
        "several": (one, groups),
        "long": ([" ".join(some), " ".join(others), "a boat", ""], [" ".join(others[::-1])] * 4),
        "single": (["the cat sat on the mat"], ["the cat slept on the chair"]),
        "copies": (some, some),
        "many": ([row["prediction"] for row in rows], [row["references"] for row in rows]),
        "table": some + others,
    }


def cases(family: str, chosen: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The corpus and the settings of every call on the chosen corpora."""
    yield from (case for case in every_case(family) if case[0] in chosen)


def every_case(family: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The corpus and the settings of every call."""
    for idf in FORMS:
        for measures in MEASURES:
            for form in SYMMETRIZATIONS:
                yield "one", {"idf": idf, "symmetrize": form, **measures}
        for name in PLAIN:  # alone, by its name
            yield "one", {"idf": idf, "information_measure": name}
        for corpus, settings in READINGS:
            yield corpus, {"idf": idf, **MEASURES[0], **settings}
    if family != "bundled":  # more texts than are held at once
        for idf in FORMS:
            yield "many", {"idf": idf, "information_measure": ["fisher_rao", "kl"]}


def rounding(settings: dict[str, Any]) -> float:
    """How far rounding in float32 may carry a score, relative above 1."""
    powers = 1.0 + sum(abs(settings.get(name, 0.0)) for name in ("alpha", "beta"))
    return 1e-6 * max(1.0, 1.0 / settings.get("temperature", 1.0)) * powers


def work(
    corpora: dict[str, Any], models: dict[str, str], chosen: Sequence[str], only: str
) -> dict[str, Any]:
    """All scores of one model by the version that this process imports."""
    import infolm_metric
    from infolm_metric import IDF, InfoLMScorer

    scorer = InfoLMScorer(model_name_or_path=models[only], device="cpu", dtype="float32")
    table = IDF.from_corpus(corpora["table"], scorer.tokenizer)

    def with_table(value: Any) -> Any:
        if isinstance(value, list):
            return [with_table(each) for each in value]
        return table if value == TABLE else value

    def real(settings: dict[str, Any]) -> dict[str, Any]:
        return {name: with_table(value) for name, value in settings.items()}

    scored = {}
    for number, (corpus, settings) in enumerate(cases(only, chosen)):
        found = scorer.score(*corpora[corpus], **real(settings)).scores
        scored[f"{number}: {corpus}, {settings}"] = found
    swept = {}
    for number, lists in enumerate(SWEEPS):
        rows = scorer.sweep(*corpora["several"], multi_reference="mean", **real(lists))
        for place, (_, result) in enumerate(rows):
            swept[f"sweep {number}, row {place}"] = result.scores
    return {"from": infolm_metric.__file__, "scored": scored, "swept": swept}


def run(version: Path, folder: Path, family: str) -> dict[str, Any]:
    """What `work` gives in a process of its own, where `version` is what is imported."""
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")}
    environment.pop("PYTHONPATH", None)
    checkout = version.is_dir()
    if checkout:
        environment["PYTHONPATH"] = str(version)
    python = sys.executable if checkout else str(version)
    command = [python, __file__, "--worker", str(folder), "--only", family]
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    if checkout and not Path(found["from"]).is_relative_to(version):
        raise RuntimeError(f"{version} was asked for, and {found['from']} was imported")
    return found


def compare(old: dict[str, Any], new: dict[str, Any]) -> Iterator[list[tuple[str, float, float]]]:
    """The scores of each call as (what it is, the old one, the new one)."""
    assert list(old) == list(new), "the versions do not score the same things"
    for case, by_name in old.items():
        assert list(by_name) == list(new[case]), case
        yield [
            (f"{name} of pair {pair} in {case}", *values)
            for name, column in by_name.items()
            for pair, values in enumerate(zip(column, new[case][name], strict=True))
        ]


def far(one: float, other: float) -> float:
    """How far two scores are apart, relative above 1."""
    return 0.0 if one.hex() == other.hex() else abs(one - other) / max(1.0, abs(one))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--old", type=Path, help="a checkout, or an environment's python")
    parser.add_argument("--new", type=Path, help="a checkout, or an environment's python")
    parser.add_argument("--families", nargs="+", help="default: all of them, and bundled")
    parser.add_argument("--many", type=int, default=1200, help="pairs of the largest corpus")
    parser.add_argument("--corpora", nargs="+", default=CORPORA, choices=CORPORA)
    parser.add_argument("--float32", action="store_true", help="count what is beyond its rounding")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        warnings.simplefilter("ignore")
        inputs = json.loads((given.worker / "inputs.json").read_text())
        print(json.dumps(work(*inputs, given.only)))
        return 0
    if not (given.old and given.new):
        parser.error("--old and --new are needed")
    sys.path.insert(0, str(ROOT))
    from tests.model_families import FAMILIES, build

    families = given.families or [*FAMILIES, "bundled"]
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        models = {name: str(build(name, folder / name)) for name in families if name != "bundled"}
        models |= {"bundled": "bundled"}
        inputs = [make_corpora(given.many), models, given.corpora]
        (folder / "inputs.json").write_text(json.dumps(inputs))
        differ = "beyond rounding" if given.float32 else "differ in a bit"
        print(f"| model | scores | {differ} | largest | swept | beyond 1e-6 | largest |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for family in families:
            # Not resolved: an environment's python is a link, and knows it by its name.
            paths = (Path(os.path.abspath(path)) for path in (given.old, given.new))
            old, new = (run(path, folder, family) for path in paths)
            if old["from"] == new["from"]:
                parser.error(f"both are {old['from']}")
            cells: list[Any] = [family]
            allowed = {
                "scored": [
                    rounding(settings) if given.float32 else 0.0
                    for _, settings in cases(family, given.corpora)
                ],
                "swept": [SWEPT] * len(old["swept"]),
            }
            for kind, bounds in allowed.items():
                apart, bad = [], []
                for bound, compared in zip(bounds, compare(old[kind], new[kind]), strict=True):
                    here = [(far(one, other), what) for what, one, other in compared]
                    apart += here
                    bad += [entry for entry in here if not entry[0] <= bound]
                cells += [len(apart), len(bad), f"{max(apart)[0]:.1e}"]
                wrong += len(bad)
                for distance, what in sorted(bad, reverse=True)[:3]:
                    print(f"{family}: {what}: {distance:.1e}", file=sys.stderr)
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
    print(f"old: {old['from']}\nnew: {new['from']}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
