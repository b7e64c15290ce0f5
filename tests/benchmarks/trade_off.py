"""What attacks notice against what people say: MENLI combined with another metric, by nli_weight.

    infolm attack texts.jsonl -o attacks.jsonl
    python tests/benchmarks/trade_off.py DATA attacks.jsonl --scores FOLDER [--samples 25]

DATA is the folder of study.py's three data sets. For each metric to combine with and each weight of
the NLI model are printed: the macro accuracy on the attacks (a paraphrase has to score better than
the attacked text), and r with people over texts and over systems, averaged over each set's
criteria, all x 100. "alone" is the other metric as it is; a combination is (1 - nli_weight) of it,
brought to [0, 1] and cut off there, and nli_weight of the NLI model. Intervals are 95%, by the
bootstrap over anchors, and over systems and samples. One half of the anchors and of the samples
chooses a weight: that of the largest accuracy among those that lose nothing on any set, where the
interval of the loss holds 0; the other half reports it. The parts are scored once and kept in
FOLDER; --figure FILE draws the curves. Needs: pip install -c requirements.txt -e ".[tools]".
"""

from __future__ import annotations

import argparse
import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import study_data
import study_scores
from attack_accuracy import GROUPS, Attacks
from matplotlib import rc_context
from matplotlib.figure import Figure
from study_judged import Interval, Judged
from study_store import KeptDistributions

from infolm_metric import BaryScorer, InfoLMScorer, metrics
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.meta_evaluation.grid import score_grid
from infolm_metric.meta_evaluation.tables import markdown
from infolm_metric.robustness import read_triples

OTHERS: Mapping[str, MetricScorer] = {
    "InfoLM": InfoLMScorer(model_name_or_path="bundled"),
    "InfoLM, interpolation 0.5": InfoLMScorer(model_name_or_path="bundled", interpolation=0.5),
    "BaryScore": BaryScorer(model_name_or_path="bundled"),
}
RIVALS = ("chrF", "BERTScore")
COLOURS = ("#0072B2", "#E69F00", "#009E73")  # Okabe and Ito 2008
LOOK = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.titlesize": 9,
    "legend.frameon": False,
}
ALONE = "alone"
WEIGHTS = tuple(step / 10 for step in range(11))
SETS = ("webnlg", "sfres", "summeval")

Pairs = tuple[list[str], list[list[str]]]
Combined = dict[str, np.ndarray]  # weight -> [pairs], higher is better


@dataclass(frozen=True)
class Scorers:
    """What scores pairs, and keeps what it scored."""

    folder: Path
    nli: str

    def combinations(self, title: str, name: str, pairs: Pairs, corpus: Sequence[str]) -> Combined:
        """The other metric alone, and its combinations; documents are counted on the corpus."""
        path = self.folder / f"trade_off-{title.replace(' ', '_')}-{name}.npz"
        if not path.exists():
            np.savez(path, **self._parts(OTHERS[title], pairs, corpus))
        with np.load(path) as found:
            nli, other = found["nli"], found["other"]
            combined = {f"{each:g}": each * nli + (1 - each) * other for each in WEIGHTS}
            return {ALONE: found[ALONE], **combined}

    def _parts(self, other: MetricScorer, pairs: Pairs, corpus: Sequence[str]) -> Combined:
        scorer = menli(self.nli, self.folder)
        base = scorer.settings.replace(combine_with=other.settings)
        asked = [base.replace(nli_weight=0.0), base.replace(nli_weight=1.0)]
        ((_, scores),) = score_grid(other, *pairs, [other.settings], corpus=corpus)
        found = score_grid(scorer, *pairs, asked, corpus=corpus)
        # Of the other metrics lower is better.
        return {ALONE: -scores, "other": found[0][1], "nli": found[1][1]}

    def rival(self, name: str, attacks: Attacks, content: str) -> np.ndarray:
        """A metric of others on the attacks, [single pairs]."""
        path = self.folder / f"trade_off-{name}-attacks-{content}.npz"
        if not path.exists():
            predictions, references = attacks.pairs()
            entry = next(each for each in study_scores.ENTRIES if name in each.names)
            data = _Texts(predictions, references)
            run = study_scores.Run(data, "bundled", self.folder)  # type: ignore[arg-type]
            np.savez(path, scores=entry.score(run, range(len(predictions)), (name,))[name])
        with np.load(path) as found:
            return found["scores"]


@dataclass(frozen=True)
class _Texts:
    """Pairs in the place of a data set."""

    predictions: Sequence[str]
    references: Sequence[Sequence[str]]

    def texts(self, rows: Sequence[int]) -> Pairs:
        return [self.predictions[row] for row in rows], [list(self.references[r]) for r in rows]


@functools.cache
def menli(nli: str, folder: Path) -> Any:
    """The scorer of the combinations, which keeps what InfoLM's model says, as study.py does."""
    scorer = metrics.find("menli").scorer_type()(model_name_or_path=nli)
    infolm = OTHERS["InfoLM"]
    kept = KeptDistributions(folder / "said", infolm.signature())
    for inner in (
        scorer.inner.companions.inner(infolm.settings),
        *(OTHERS[title].inner for title in list(OTHERS)[:2]),
    ):
        inner.distributions = kept
    return scorer


def percent(interval: Interval, sign: str = "") -> str:
    """x 100, with the interval."""
    value, low, high = (100 * each for each in interval)
    return f"{value:{sign}.1f} [{low:.0f}, {high:.0f}]"


@dataclass(frozen=True)
class Cases:
    """Attacks, and the score of each of their single pairs by weight."""

    attacks: Attacks
    scores: Mapping[str, Mapping[tuple[str, str], float]]

    def halves(self) -> list[Cases]:
        """The cases of every other anchor, and the rest."""
        return [Cases(half, self.scores) for half in self.attacks.halves()]


@dataclass(frozen=True)
class Study:
    """One metric's combinations, on the attacks and on the sets."""

    attacks: Attacks
    preferred: Mapping[str, np.ndarray]
    """Weight -> whether the paraphrase is preferred, [cases]."""
    sets: Mapping[str, Judged]

    @classmethod
    def of(
        cls,
        cases: Cases,
        data: Mapping[str, study_data.DataSet],
        scores: Mapping[str, Combined],
        resamples: int,
    ) -> Study:
        """`scores` are those of the rows of each whole data set, by weight."""
        preferred = {name: cases.attacks.preferred(each) for name, each in cases.scores.items()}
        sets = {name: Judged.of(own, scores[name], resamples) for name, own in data.items()}
        return cls(cases.attacks, preferred, sets)

    @property
    def levels(self) -> list[tuple[Judged, str]]:
        """Each set at each level that it has."""
        return [(judged, level) for judged in self.sets.values() for level in judged.levels]

    @property
    def header(self) -> list[str]:
        return [f"{judged.data.title}, {level}s" for judged, level in self.levels]

    def rows(self) -> Iterator[list[str]]:
        """Every weight: accuracy on the attacks, and agreement on each set, with intervals."""
        for name, preferred in self.preferred.items():
            cells = [self.attacks.accuracy(preferred)]
            cells += [judged.interval(name, level) for judged, level in self.levels]
            yield [name, *map(percent, cells)]

    def gains(self, name: str) -> list[Interval]:
        """What a weight gains on the other metric alone: on the attacks, then on each set."""
        found = [self.attacks.gain(self.preferred[name], self.preferred[ALONE])]
        return found + [judged.gain(name, ALONE, level) for judged, level in self.levels]

    def chosen(self) -> str:
        """The weight of the largest accuracy among those that lose nothing, within intervals."""
        safe = [
            name
            for name in self.preferred
            if name != ALONE and all(high >= 0 for _, _, high in self.gains(name)[1:])
        ]
        if not safe:
            return ALONE
        return max(safe, key=lambda name: self.attacks.accuracy(self.preferred[name])[0])


def halves(data: study_data.DataSet) -> tuple[study_data.DataSet, study_data.DataSet]:
    """Every other sample of a data set, and the rest; texts where it has no systems."""
    owners = data.whole.places[data.rows, 1] if data.systems else np.arange(len(data.rows))
    places = np.unique(owners, return_inverse=True)[1]
    first, second = (replace(data, rows=data.rows[places % 2 == half]) for half in (0, 1))
    return first, second


def spread(data: study_data.DataSet, combined: Combined) -> dict[str, np.ndarray]:
    """The scores by row of the whole data set, NaN where a row does not take part."""
    lengths = np.asarray([float(len(text)) for text in data.texts()[0]])
    found = {}
    for name, scores in {**combined, "length": lengths}.items():
        found[name] = np.full(len(data.whole.predictions), np.nan)
        found[name][data.rows] = scores
    return found


def rival_rows(scorers: Scorers, attacks: Attacks, content: str) -> Iterator[list[str]]:
    """Metrics of others on the attacks."""
    for name in RIVALS:
        scores = scorers.rival(name, attacks, content).tolist()
        preferred = attacks.preferred(dict(zip(attacks.singles, scores, strict=True)))
        yield [name, *(percent(attacks.accuracy(preferred, group)) for group in GROUPS)]


def draw_curves(studies: Mapping[str, Study], path: Path) -> None:
    """Accuracy on the attacks against agreement over texts, a panel for each data set."""
    sets = next(iter(studies.values())).sets
    with rc_context(LOOK):
        figure = Figure((2.9 * len(sets) + 0.4, 2.6), layout="constrained")
        panels = figure.subplots(1, len(sets)).flat
    for axes, (name, first) in zip(panels, sets.items(), strict=True):
        for colour, (title, study) in zip(COLOURS, studies.items(), strict=False):
            own = study.sets[name]
            points = {
                weight: (
                    100 * own.interval(weight, "text")[0],
                    100 * study.attacks.accuracy(preferred)[0],
                )
                for weight, preferred in study.preferred.items()
            }
            line = [point for weight, point in points.items() if weight != ALONE]
            axes.plot(*zip(*line, strict=True), marker="o", markersize=3, color=colour, label=title)
            axes.plot(*points[ALONE], marker="x", color=colour, linestyle="none")
            for weight in ("0", "0.5", "1"):
                axes.annotate(weight, points[weight], fontsize=7, color=colour)
        axes.set_title(first.data.title)
        axes.set_xlabel("r with people over texts, x 100")
        axes.grid(color="#dddddd", linewidth=0.6)
    panels[0].set_ylabel("attacks: accuracy, %")
    panels[0].legend(fontsize=7)
    figure.savefig(path, dpi=120, **({"metadata": {"Date": None}} if path.suffix == ".svg" else {}))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the three files")
    parser.add_argument("attacks", type=Path, help="rows that `infolm attack` wrote")
    parser.add_argument("--scores", type=Path, required=True, help="folder to keep the scores in")
    parser.add_argument("--samples", nargs="+", default=["25"], metavar="[NAME=]N")
    parser.add_argument("--model", default="bundled", help="the NLI model")
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--figure", type=Path, help="where to draw the curves")
    args = parser.parse_args()
    args.scores.mkdir(parents=True, exist_ok=True)
    scorers = Scorers(args.scores, args.model)
    samples = study_data.samples_of(args.samples)
    attacks = Attacks([each for _, each in read_triples(str(args.attacks))], args.resamples)
    content = hashlib.sha256(args.attacks.read_bytes()).hexdigest()[:12]
    print(f"\n### Metrics of others: {len(attacks.triples)} attacks\n")
    print(*markdown(["metric", *GROUPS], list(rival_rows(scorers, attacks, content))), sep="\n")
    data = {name: study_data.read(args.data, name, samples[name]) for name in SETS}
    studies = {}
    for title in OTHERS:
        scored = {
            name: scorers.combinations(title, f"{name}-{samples[name]}", own.texts(), own.corpus)
            for name, own in data.items()
        }
        anchors = list(dict.fromkeys(each.anchor for each in attacks.triples))
        cases = scorers.combinations(title, f"attacks-{content}", attacks.pairs(), anchors)
        table = [dict(zip(attacks.singles, each.tolist(), strict=True)) for each in cases.values()]
        preferred = Cases(attacks, dict(zip(cases, table, strict=True)))
        rows = {name: spread(own, scored[name]) for name, own in data.items()}
        study = Study.of(preferred, data, rows, args.resamples)
        studies[title] = study
        print(f"\n### MENLI combined with {title}\n")
        print(*markdown(["nli_weight", "attacks", *study.header], list(study.rows())), sep="\n")
        print("\nChosen on one half; gains on the metric alone, reported on the other\n")
        parts = [
            Study.of(half, dict(zip(data, owns, strict=True)), rows, args.resamples)
            for half, owns in zip(
                preferred.halves(), zip(*map(halves, data.values()), strict=True), strict=True
            )
        ]
        found = []
        for chooser, reporter in (parts, parts[::-1]):
            weight = chooser.chosen()
            found.append([weight, *(percent(each, "+") for each in reporter.gains(weight))])
        header = ["nli_weight", "attacks", *study.header]
        print(*markdown(header, found), sep="\n", flush=True)
    if args.figure:
        draw_curves(studies, args.figure)


if __name__ == "__main__":
    main()
