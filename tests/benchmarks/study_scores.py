"""Scores of people's texts by InfoLM under many settings and by other metrics, kept on disk.

    python tests/benchmarks/study_scores.py DATA --scores FOLDER [--samples 25] [--set webnlg ...]

Two things are kept in FOLDER: every score by row (NAME.npz), and what InfoLM's model says of a text
(said/, at most 8 GB), so that an interrupted run goes on where it was, more samples need only the
new texts, and another setting needs no pass of the model. In every array higher is better. An
entry of ENTRIES is what scores one or more rows of the study's tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import study_data
from score_grid import oriented, score_grid
from study_store import KeptDistributions

from infolm_metric import InfoLMScorer, bundled, metrics
from infolm_metric.infolm.settings import Settings

Scores = dict[str, np.ndarray]  # name -> [rows], higher is better
CHUNK = 80  # rows that are scored between two savings
LAYER = 5  # of 6, of which BERTScore takes the states
NLI_ENCODER = Path(bundled.__file__).parent / "nli"  # that of the NLI model, as in BaryScore+

MEASURES = (
    "fisher_rao_distance", "l1_distance", "l2_distance", "l_infinity_distance", "kl_divergence",
    "alpha_divergence", "renyi_divergence", "beta_divergence", "ab_divergence",
)  # fmt: skip
HALF = {"alpha": (0.5,), "beta": (0.5,)}  # fixed before any score was seen
CHOSEN_AMONG = {
    "information_measure": ("fisher_rao_distance", "l1_distance"),
    "temperature": (1.0, 2.0),
    "idf": ("references", False),
    "interpolation": (0.0, 0.25, 0.5),
}
PLAIN = {"information_measure": ("fisher_rao_distance",)}
GRIDS: tuple[Mapping[str, Sequence[Any]], ...] = (
    {"information_measure": MEASURES, **HALF},
    CHOSEN_AMONG,
    {**PLAIN, "temperature": (0.5, 1.5)},
    {**PLAIN, "interpolation": (0.1, 1.0)},
    {**PLAIN, "interpolation": (0.0, 0.5), "multi_reference": ("mean",)},
)
FEW: tuple[Mapping[str, Sequence[Any]], ...] = (
    {"information_measure": ("fisher_rao_distance", "l1_distance")},
    {**PLAIN, "multi_reference": ("mean",)},
)


def key(settings: Settings) -> str:
    """A name for InfoLM's scores by these settings, with all that the grids vary.

    >>> key(Settings.of(information_measure="l1", temperature=2, idf=False, interpolation=0.25))
    'InfoLM l1_distance T2 uniform lambda0.25 masks1 min'
    """
    return (
        f"InfoLM {settings.label(*settings.names)} T{settings.temperature:g} "
        f"{'uniform' if settings.idf is False else settings.idf} "
        f"lambda{settings.interpolation:g} masks{settings.masks_per_pass} "
        f"{settings.multi_reference}"
    )


@dataclass(frozen=True)
class Run:
    """What the entries score with, and where what the model says is kept."""

    data: study_data.DataSet
    model: str
    folder: Path


@dataclass(frozen=True)
class Entry:
    """One or more rows of the tables: their names, and what gives their scores of some rows."""

    names: tuple[str, ...]
    score: Callable[[Run, Sequence[int], Sequence[str]], Scores]
    """The run, the rows to score, and the names that are asked for -> name -> [rows]."""


# InfoLM


def infolm_entry(masks: int, grids: Sequence[Mapping[str, Sequence[Any]]]) -> Entry:
    """InfoLM with so many masks in a pass, by every combination of the grids."""
    base = InfoLMScorer(masks_per_pass=masks).settings
    tried = {key(each): each for grid in grids for each in base.grid(grid) if _allowed(each)}

    def score(run: Run, rows: Sequence[int], names: Sequence[str]) -> Scores:
        scorer = InfoLMScorer(model_name_or_path=run.model, masks_per_pass=masks)
        scorer.inner.distributions = KeptDistributions(run.folder / "said", scorer.signature())
        asked = [tried[name].replace(model_name_or_path=run.model) for name in names]
        found = score_grid(scorer, *run.data.texts(rows), asked, corpus=run.data.corpus)
        return {key(each): oriented(scorer, each, scores) for each, scores in found}

    return Entry(tuple(tried), score)


def _allowed(settings: Settings) -> bool:
    """False for what repeats another entry: with idf and lambda as they are."""
    return settings.interpolation < 1 or settings.names == ("fisher_rao_distance",)


def default_key(**changes: Any) -> str:
    """The name of InfoLM's default settings with some changes."""
    return key(Settings.of(**changes))


# Any metric of ours


def metric_entry(title: str, metric: str, **settings: Any) -> tuple[Entry, ...]:
    """A metric of the package by its name; nothing where the package has no metric of that name."""
    if metric not in metrics.METRICS:
        return ()

    def score(run: Run, rows: Sequence[int], names: Sequence[str]) -> Scores:
        given = {"model_name_or_path": "bundled", **settings}
        scorer = metrics.find(metric).scorer_type()(**given)
        corpus = run.data.corpus if scorer.settings.counted else None
        ((each, found),) = score_grid(
            scorer, *run.data.texts(rows), [scorer.settings], corpus=corpus
        )
        return {title: oriented(scorer, each, found)}

    return (Entry((title,), score),)


# Metrics of others: each reference alone, the best of them, and their mean


def over_references(title: str, score: Callable[[list[str], list[str]], np.ndarray]) -> Entry:
    """A metric of candidates with one reference each, [single pairs]."""

    def combined(run: Run, rows: Sequence[int], names: Sequence[str]) -> Scores:
        predictions, references = run.data.texts(rows)
        counts = np.asarray([len(group) for group in references])
        values = score(
            np.repeat(np.asarray(predictions, dtype=object), counts).tolist(),
            [text for group in references for text in group],
        )
        starts = np.cumsum(counts) - counts
        mean = np.add.reduceat(values, starts) / counts
        return {title: np.maximum.reduceat(values, starts), f"{title} mean": mean}

    return Entry((title, f"{title} mean"), combined)


def sacrebleu_scores(name: str, candidates: list[str], references: list[str]) -> np.ndarray:
    """sacrebleu's sentence scores with its defaults; TER is negated."""
    from sacrebleu import metrics as sacrebleu

    made = {"BLEU": {"effective_order": True}}.get(name, {})
    metric = getattr(sacrebleu, name.upper())(**made)
    sign = -1.0 if name == "TER" else 1.0
    pairs = zip(candidates, references, strict=True)
    return np.asarray([sign * metric.sentence_score(one, [other]).score for one, other in pairs])


def rouge_l(candidates: list[str], references: list[str]) -> np.ndarray:
    """F1 of ROUGE-L, with stemming."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    pairs = zip(candidates, references, strict=True)
    return np.asarray([scorer.score(other, one)["rougeL"].fmeasure for one, other in pairs])


def bert_score_entry(title: str, idf: bool) -> Entry:
    """BERTScore F1 with InfoLM's encoder, not rescaled."""

    def score(run: Run, rows: Sequence[int], names: Sequence[str]) -> Scores:
        scorer = _bert_scorer(run.model, tuple(run.data.corpus) if idf else None)

        def f1(candidates: list[str], references: list[str]) -> np.ndarray:
            # bert-score 0.3.13 cannot encode an empty text with transformers 5; it means 0 for one.
            empty = np.asarray([not text.strip() for text in candidates])
            texts = [text if text.strip() else "." for text in candidates]
            return np.where(empty, 0.0, scorer.score(texts, references)[2].double().numpy())

        return over_references(title, f1).score(run, rows, names)

    return Entry((title, f"{title} mean"), score)


@cache
def _bert_scorer(model: str, corpus: tuple[str, ...] | None) -> Any:
    from bert_score import BERTScorer
    from transformers.utils import logging

    logging.set_verbosity_error()  # heads that an encoder does not need are no news
    path = str(Path(bundled.__file__).parent) if model == "bundled" else model
    return BERTScorer(
        model_type=path,
        num_layers=LAYER,
        device="cpu",
        idf=corpus is not None,
        idf_sents=None if corpus is None else list(corpus),
    )


def length_scores(run: Run, rows: Sequence[int], names: Sequence[str]) -> Scores:
    """The candidate's characters."""
    return {"length": np.asarray([float(len(text)) for text in run.data.texts(rows)[0]])}


ENTRIES: tuple[Entry, ...] = (
    Entry(("length",), length_scores),
    *(over_references(name, partial(sacrebleu_scores, name)) for name in ("BLEU", "chrF", "TER")),
    over_references("ROUGE-L", rouge_l),
    bert_score_entry("BERTScore", idf=False),
    bert_score_entry("BERTScore idf", idf=True),
    *metric_entry("MENLI", "menli"),
    *metric_entry("BaryScore", "baryscore"),
    *metric_entry("BaryScore uniform", "baryscore", idf=False),
    *metric_entry("BaryScore layers 1", "baryscore", layers=1),
    *metric_entry("BaryScore layers all", "baryscore", layers="all"),
    *metric_entry("BaryScore NLI encoder", "baryscore", model_name_or_path=NLI_ENCODER),
    infolm_entry(0, GRIDS),
    infolm_entry(1, GRIDS),
    infolm_entry(4, FEW),
    infolm_entry(2, FEW),
)


# Keeping


def kept(folder: Path, data: study_data.DataSet) -> Scores:
    """The scores of a data set that are on disk: name -> [rows of the whole data set], NaN."""
    path = folder / f"{data.name}.npz"
    return dict(np.load(path)) if path.exists() else {}


def complete(run: Run, say: Callable[[str], object] = print) -> Scores:
    """Score what is missing, chunk by chunk, and save after each."""
    folder, data = run.folder, run.data
    folder.mkdir(parents=True, exist_ok=True)
    scores = kept(folder, data)
    for entry in ENTRIES:
        empty = np.full(len(data.whole.predictions), np.nan)
        columns = {name: scores.get(name, empty) for name in entry.names}
        names = [name for name in entry.names if np.isnan(columns[name][data.rows]).any()]
        missing = [row for row in data.rows if any(np.isnan(columns[name][row]) for name in names)]
        start = time.perf_counter()
        for first in range(0, len(missing), CHUNK):
            rows = missing[first : first + CHUNK]
            for name, values in entry.score(run, rows, names).items():
                scores.setdefault(name, empty.copy())[rows] = values
            part = folder / f"{data.name}.part.npz"
            np.savez(part, **scores)
            part.replace(folder / f"{data.name}.npz")
        if missing:
            seconds = time.perf_counter() - start
            say(f"{data.name}: {entry.names[0]}: {len(missing)} rows, {seconds:.0f} s")
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of the three files")
    parser.add_argument("--scores", type=Path, required=True, help="folder to keep the scores in")
    parser.add_argument("--samples", nargs="+", default=["25"], metavar="[NAME=]N")
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--set", nargs="+", default=list(study_data.READERS), dest="sets")
    args = parser.parse_args()
    samples = study_data.samples_of(args.samples)
    for name in args.sets:
        data = study_data.read(args.data, name, samples[name])
        complete(Run(data, args.model, args.scores), partial(print, flush=True))


if __name__ == "__main__":
    main()
