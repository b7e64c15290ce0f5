"""What InfoLM, its settings and other metrics are worth on three data sets; prints Markdown tables.

    python tests/benchmarks/study.py DATA --scores FOLDER [--samples 25] [--kept]

DATA is a folder of webnlg2020.en.jsonl, summeval.jsonl and sfres.jsonl. Scores are made and kept by
study_scores.py; with --kept nothing is scored, and what is not kept is no row. Document frequencies
are counted on the references of the whole data set. Several references: the one closest by the
metric, unless "mean" is said. Figures are x 100 and averaged over the criteria of the data set,
intervals are 95% by the bootstrap over systems and samples. Needs:
pip install -c requirements.txt -e ".[tools]".
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import study_data
import study_scores
from study_judged import Interval, Judged

from infolm_metric.commands.output import markdown
from infolm_metric.infolm.settings import Settings
from infolm_metric.meta_evaluation.agreement import format_p_value

DEFAULT = study_scores.default_key()
OURS = {
    "InfoLM": DEFAULT,
    "InfoLM, interpolation 0.5": study_scores.default_key(interpolation=0.5),
    "InfoLM, masks_per_pass 0": study_scores.default_key(masks_per_pass=0),
    "InfoLM, masks_per_pass 2": study_scores.default_key(masks_per_pass=2),
    "InfoLM, masks_per_pass 4": study_scores.default_key(masks_per_pass=4),
    "InfoLM, mean of the references": study_scores.default_key(multi_reference="mean"),
}
RIVALS = ("BERTScore", "BERTScore idf", "chrF", "TER", "ROUGE-L", "BLEU", "length")
FURTHER = (
    "BaryScore", "BaryScore uniform", "BaryScore layers 1", "BaryScore layers all",
    "BaryScore NLI encoder", "MENLI",
)  # fmt: skip
LEVELS = {"system": "systems", "text": "texts"}
# Question -> data set and criteria that answer it.
QUESTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "data to text: is the content right?": (
        "webnlg",
        ("correctness", "data_coverage", "relevance"),
    ),
    "data to text: is the language good?": ("webnlg", ("fluency", "text_structure")),
    "summaries: is the content right?": ("summeval", ("consistency", "relevance")),
    "summaries: is the language good?": ("summeval", ("coherence", "fluency")),
    "dialogue: is the content right?": ("sfres", ("informativeness",)),
    "dialogue: is the language good?": ("sfres", ("naturalness", "quality")),
}


def percent(value: float, sign: str = "") -> str:
    """x 100 with one decimal; a dash where there is none."""
    return "-" if math.isnan(value) else f"{100 * value:{sign}.1f}"


def bracketed(interval: Interval, sign: str = "") -> str:
    """x 100, with its interval."""
    value, low, high = interval
    if math.isnan(value):
        return "-"
    interval = "" if math.isnan(low) else f" [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{percent(value, sign)}{interval}"


def named(judged: Judged) -> dict[str, str]:
    """Title -> name of the scores, of the metrics that the first tables hold."""
    rows = {**OURS, **{name: name for name in (*FURTHER, *RIVALS)}}
    return {title: name for title, name in rows.items() if name in judged.grids}


def metric_rows(judged: Judged) -> Iterator[str]:
    """Every metric at the levels there are, with intervals."""
    header, rows = ["metric"], []
    for level in judged.levels:
        what = LEVELS[level]
        header += [f"{what}: r", f"{what}: tau", f"{what}: accuracy", f"{what}: r given length"]
    for title, name in named(judged).items():
        cells = []
        for level in judged.levels:
            cells += [
                bracketed(judged.interval(name, level)),
                percent(judged.value(name, level, "kendall")),
                bracketed(judged.interval(name, level, "accuracy")),
                bracketed(judged.interval(name, level, "partial")),
            ]
        rows.append([title, *cells])
    yield from markdown(header, rows)


def williams_rows(judged: Judged) -> Iterator[str]:
    """InfoLM's default less each other metric: the difference in r with Williams' p-value."""
    rows = []
    level = judged.levels[0]
    for title, name in named(judged).items():
        if DEFAULT not in judged.grids or name == DEFAULT:
            continue
        cells = []
        for each in judged.criteria:
            ours, other = (judged.value(n, level, criteria=[each]) for n in (DEFAULT, name))
            test = judged.williams(DEFAULT, name, each)
            cells.append(f"{percent(ours - other, '+')} (p {format_p_value(test.p_value)})")
        rows.append([title, *cells])
    criteria = [name.replace("_", " ") for name in judged.criteria]
    yield from markdown([f"InfoLM less ({LEVELS[level]})", *criteria], rows)


def setting_rows(judged: Judged) -> Iterator[str]:
    """Every setting of InfoLM that was scored, with what it gains on the default."""
    rows = []
    for name in judged.grids:
        if name.startswith("InfoLM"):
            cells = []
            for level in judged.levels:
                value = judged.value(name, level)
                default = judged.value(DEFAULT, level) if DEFAULT in judged.grids else math.nan
                cells += [percent(value), percent(value - default, "+")]
            rows.append([name.removeprefix("InfoLM "), *cells])
    header = ["InfoLM with"]
    for level in judged.levels:
        header += [f"{LEVELS[level]}: r", "against the default"]
    yield from markdown(header, rows)


def choices(sets: Sequence[Judged], masks: Sequence[int]) -> list[str]:
    """The settings that every data set has, among which one may be chosen."""
    tried = Settings().grid(study_scores.CHOSEN_AMONG)
    names = [
        study_scores.key(each.replace(masks_per_pass=count)) for count in masks for each in tried
    ]
    return [name for name in names if all(name in judged.grids for judged in sets)]


def left_out_rows(sets: Sequence[Judged], level: str, masks: Sequence[int]) -> Iterator[str]:
    """The setting that gains most on all sets but one, and what it gains on that one.

    Gains are those on the settings that are the default but for the first of `masks`.
    """
    rows = []
    among, base = choices(sets, masks), study_scores.default_key(masks_per_pass=masks[0])

    def gain(judged: Judged, name: str) -> float:
        at = _level(judged, level)
        return judged.value(name, at) - judged.value(base, at)

    for out in sets:
        others = [judged for judged in sets if judged is not out]
        gained = {name: float(np.mean([gain(other, name) for other in others])) for name in among}
        best = max(gained, key=gained.__getitem__)
        rows.append(
            [
                out.data.title,
                best.removeprefix("InfoLM "),
                percent(gained[best], "+"),
                bracketed(out.gain(best, base, _level(out, level)), "+"),
            ]
        )
    header = ["reported on", f"chosen on the others among {len(among)}", "gain there", "gain here"]
    yield from markdown(header, rows, left=2)


def _level(judged: Judged, level: str) -> str:
    return level if level in judged.levels else judged.levels[0]


def question_rows(sets: Mapping[str, Judged]) -> Iterator[str]:
    """Which metric answers which question best, and which may be as good."""
    rows = []
    for question, (name, criteria) in QUESTIONS.items():
        judged = sets.get(name)
        for level in judged.levels if judged else ():
            titles = {scores: title for title, scores in named(judged).items()}
            best, near = judged.best(titles, level, criteria)
            ours = "-"
            if DEFAULT in judged.grids:
                ours = bracketed(judged.interval(DEFAULT, level, criteria=criteria))
            far = [titles[each] for each in titles if each not in (best, *near)]
            rows.append(
                [
                    question,
                    LEVELS[level],
                    f"{titles[best]}: {bracketed(judged.interval(best, level, criteria=criteria))}",
                    ours,
                    "; ".join(far) or "none",
                ]
            )
    header = ["question", "of", "largest r", "InfoLM by default", "behind it by more than chance"]
    yield from markdown(header, rows, left=5)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the three files")
    parser.add_argument("--scores", type=Path, required=True, help="folder that keeps the scores")
    parser.add_argument("--samples", nargs="+", default=["25"], metavar="[NAME=]N")
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--kept", action="store_true", help="score nothing")
    parser.add_argument("--resamples", type=int, default=500)
    parser.add_argument("--set", nargs="+", default=list(study_data.READERS), dest="sets")
    args = parser.parse_args()
    samples = study_data.samples_of(args.samples)
    sets = {}
    for name in args.sets:
        data = study_data.read(args.data, name, samples[name])
        run = study_scores.Run(data, args.model, args.scores)
        scores = (
            study_scores.kept(args.scores, data)
            if args.kept
            else study_scores.complete(run, partial(print, flush=True))
        )
        if scores:
            sets[name] = Judged.of(data, scores, args.resamples)
    show = partial(print, sep="\n")
    for judged in sets.values():
        print(f"\n### {judged.data.title}: {len(judged.data.rows)} texts\n")
        show(*metric_rows(judged))
        if DEFAULT in judged.grids:
            print()
            show(*williams_rows(judged))
    three = [judged for name, judged in sets.items() if name != "summeval11"]
    for masks in ((1, 0), (0,)):
        base = study_scores.default_key(masks_per_pass=masks[0])
        if len(three) < 3 or any(base not in judged.grids for judged in three):
            continue
        for level in LEVELS:
            against = f"the default with masks_per_pass {masks[0]}"
            print(f"\n### Chosen on two sets by r over {LEVELS[level]}, against {against}\n")
            show(*left_out_rows(three, level, masks))
    print("\n### Which metric for which question\n")
    show(*question_rows(sets))
    for judged in three:
        print(f"\n### Settings of InfoLM on {judged.data.title}\n")
        show(*setting_rows(judged))


if __name__ == "__main__":
    main()
