"""What attacks notice against what people say: MENLI combined with another metric, by nli_weight.

    infolm attack texts.jsonl -o attacks.jsonl
    python tests/benchmarks/trade_off.py DATA attacks.jsonl --scores FOLDER [--samples 25]

DATA is the folder of study.py's three data sets. For each metric to combine with and each weight of
the NLI model are printed: the macro accuracy on the attacks (a paraphrase has to score better than
the attacked text), and r with people over texts, averaged over each set's criteria, all x 100. The
weight with the largest mean of accuracy and agreement is chosen on one half of the cases and of the
samples, and reported on the other. The parts are scored once and kept in FOLDER: a combination is
(1 - nli_weight) of the other metric and nli_weight of the NLI model, each scaled to [0, 1].
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import study_data

from infolm_metric import metrics
from infolm_metric.meta_evaluation.correlations import correlation
from infolm_metric.meta_evaluation.grid import score_grid
from infolm_metric.meta_evaluation.tables import markdown
from infolm_metric.robustness.report import CaseScores, MetricResult, summarise
from infolm_metric.robustness.triples import Triple, read_triples

OTHERS = ("infolm", "baryscore")
WEIGHTS = tuple(step / 10 for step in range(11))
SETS = ("webnlg", "summeval", "sfres")


@dataclass(frozen=True)
class Parts:
    """The scores that are combined, each scaled to [0, 1], higher is better, [pairs]."""

    other: np.ndarray
    nli: np.ndarray

    def combined(self, weight: float) -> np.ndarray:
        """The scores with this weight of the NLI model."""
        return (1 - weight) * self.other + weight * self.nli


Pairs = tuple[list[str], list[list[str]]]


def score(name: str, pairs: Pairs, corpus: Sequence[str], model: str) -> Parts:
    """The two parts of MENLI combined with a metric; documents are counted on the corpus."""
    scorer = metrics.find("menli").scorer_type()(model_name_or_path=model, combine_with=name)
    ends = scorer.settings.grid({"nli_weight": [0.0, 1.0]})
    counted = corpus if scorer.settings.counted else None
    (_, other), (_, nli) = score_grid(scorer, *pairs, ends, corpus=counted)
    return Parts(other, nli)


def kept(path: Path, make: Callable[[], Parts]) -> Parts:
    """The parts that are in a file, or that are made and put there."""
    if not path.exists():
        made = make()
        np.savez(path, other=made.other, nli=made.nli)
    with np.load(path) as found:
        return Parts(found["other"], found["nli"])


@dataclass(frozen=True)
class Attacks:
    """The cases, and the pairs of texts that they need, each once."""

    triples: Sequence[Triple]

    @property
    def couples(self) -> list[tuple[str, str]]:
        """(candidate, anchor), in which the candidate is a paraphrase or an attacked anchor."""
        return list(dict.fromkeys(couple for each in self.triples for couple in _couples(each)))

    def pairs(self) -> Pairs:
        """The same as candidates and their references."""
        return [text for text, _ in self.couples], [[anchor] for _, anchor in self.couples]

    def accuracy(self, scores: np.ndarray, half: int | None = None) -> float:
        """The macro accuracy on all cases, or on those of the even or the odd places."""
        table = dict(zip(self.couples, scores.tolist(), strict=True))
        cases = [
            each for place, each in enumerate(self.triples) if half is None or place % 2 == half
        ]
        scored = [CaseScores(*(table[c] for c in _couples(each)), None) for each in cases]
        value = MetricResult(None, summarise(cases, scored)).macro()["all"]
        return float("nan") if value is None else value


def _couples(triple: Triple) -> list[tuple[str, str]]:
    return [(str(triple.paraphrase), triple.anchor), (triple.adversary, triple.anchor)]


@dataclass(frozen=True)
class Judged:
    """A data set with the scores of one of the combinations."""

    data: study_data.DataSet
    parts: Parts

    def agreement(self, weight: float, half: int | None = None) -> float:
        """r over texts, averaged over the criteria, of all samples or of every other one."""
        values = np.full(len(self.data.whole.predictions), np.nan)
        values[self.data.rows] = self.parts.combined(weight)
        grid, ratings = self.data.grid(values), self.data.ratings
        part: tuple[slice, ...] = (slice(None), slice(half, None, None if half is None else 2))
        if not self.data.systems:  # there texts, of one sample, are halved
            part = part[::-1]
        found = [
            correlation(human[part], grid[part], level="text") for human in ratings.human.values()
        ]
        return float(np.mean(found))


def rows(attacks: Attacks, cases: Parts, sets: Mapping[str, Judged]) -> Iterator[list[str]]:
    """Every weight: accuracy on the attacks, and agreement on each set."""
    for weight in WEIGHTS:
        agreed = [judged.agreement(weight) for judged in sets.values()]
        cells = [attacks.accuracy(cases.combined(weight)), *agreed]
        yield [f"{weight:g}", *(f"{100 * value:.1f}" for value in cells)]


def chosen(attacks: Attacks, cases: Parts, sets: Mapping[str, Judged], half: int) -> list[str]:
    """The weight that is best on one half, and what it gives on the other, beside weight 0."""

    def both(weight: float, part: int) -> tuple[float, float]:
        agreed = float(np.mean([judged.agreement(weight, part) for judged in sets.values()]))
        return attacks.accuracy(cases.combined(weight), part), agreed

    best = max(WEIGHTS, key=lambda weight: sum(both(weight, half)))
    cells = [*both(best, 1 - half), *both(0.0, 1 - half)]
    return [("even", "odd")[half], f"{best:g}", *(f"{100 * value:.1f}" for value in cells)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the three files")
    parser.add_argument("attacks", type=Path, help="rows that `infolm attack` wrote")
    parser.add_argument("--scores", type=Path, required=True, help="folder to keep the scores in")
    parser.add_argument("--samples", nargs="+", default=["25"], metavar="[NAME=]N")
    parser.add_argument("--model", default="bundled", help="the NLI model")
    args = parser.parse_args()
    args.scores.mkdir(parents=True, exist_ok=True)
    samples = study_data.samples_of(args.samples)
    triples = [each for _, each in read_triples(str(args.attacks)) if each.paraphrase is not None]
    attacks = Attacks(triples)
    content = hashlib.sha256(args.attacks.read_bytes()).hexdigest()[:12]
    for name in OTHERS:
        if name not in metrics.METRICS:
            continue
        anchors = list(dict.fromkeys(each.anchor for each in triples))
        cases = kept(
            args.scores / f"trade_off-{name}-attacks-{content}.npz",
            lambda name=name, anchors=anchors: score(name, attacks.pairs(), anchors, args.model),
        )
        sets = {}
        for each in SETS:
            data = study_data.read(args.data, each, samples[each])
            path = args.scores / f"trade_off-{name}-{each}-{samples[each]}.npz"
            parts = kept(
                path,
                lambda name=name, data=data: score(name, data.texts(), data.corpus, args.model),
            )
            sets[each] = Judged(data, parts)
        titles = [judged.data.title for judged in sets.values()]
        print(f"\n### MENLI with {name}: {len(triples)} attacks\n")
        print(*markdown(["nli_weight", "attacks", *titles], list(rows(attacks, cases, sets))),
              sep="\n")  # fmt: skip
        print("\nChosen on one half, reported on the other\n")
        header = ["chosen on", "nli_weight", "attacks", "people", "attacks at 0", "people at 0"]
        print(*markdown(header, [chosen(attacks, cases, sets, half) for half in (0, 1)]), sep="\n")


if __name__ == "__main__":
    main()
