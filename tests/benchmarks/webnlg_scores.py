"""Scores of WebNLG 2020's outputs by InfoLM under many settings and by the usual metrics.

What the other files here share: the rows that the paper's Table 2 rests on, and a score of each row
by each metric, with sentence scores averaged over a row's references. In every array of scores
higher is better: InfoLM and TER are negated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from score_grid import score_grid
from tqdm import tqdm

from infolm_metric import InfoLMScorer
from infolm_metric.infolm.settings import Settings
from infolm_metric.meta_evaluation import Ratings, read_ratings

INCOMPLETE = "1124"  # one system has no rating for it; left out of the paper's figures too
DEVELOPMENT, SEED = 100, 0
TEMPERATURES = (0.25, 0.5, 1.0, 1.5, 2.0, 4.0)
MAP = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
ONE_HALF = {"alpha": (0.5,), "beta": (0.5,)}  # fixed before any score was seen
PLAIN = ("fisher_rao_distance", "l1_distance", "kl_divergence")
DIVERGENCES = ("alpha_divergence", "renyi_divergence", "beta_divergence", "ab_divergence")

Grid = Mapping[str, Sequence[Any]]
GRIDS: tuple[Grid, ...] = (
    {"information_measure": PLAIN, "temperature": TEMPERATURES},
    {"information_measure": ("l2_distance", "l_infinity_distance")},
    {"information_measure": DIVERGENCES, **ONE_HALF},
    {"information_measure": ("fisher_rao_distance",), "multi_reference": ("min",)},
)
SYMMETRIZATIONS: tuple[Grid, ...] = (
    {
        "information_measure": ("kl_divergence", "ab_divergence"),
        "symmetrize": ("jensen", "none", "reverse"),
        **ONE_HALF,
    },
)
# With "jeffreys" the AB divergence of (a, b) is that of (b, a).
AB_MAP: tuple[Grid, ...] = tuple(
    {
        "information_measure": ("ab_divergence",),
        "alpha": (alpha,),
        "beta": [beta for beta in MAP if beta >= alpha],
    }
    for alpha in MAP
)
UNWEIGHTED: tuple[Grid, ...] = (
    {"information_measure": PLAIN, "temperature": (0.5, 1.0, 1.5), "idf": (False,)},
    {"information_measure": ("ab_divergence",), "idf": (False,), **ONE_HALF},
)

Scores = dict[str, np.ndarray]  # name -> [rows], NaN where a row was not scored


def read(path: Path) -> Ratings:
    """The 16 systems and 177 samples of the paper's Table 2."""
    return read_ratings(path, exclude_ids=(INCOMPLETE,))


def halves(ratings: Ratings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The samples that settings are chosen on, drawn at random, and those held out."""
    drawn = np.random.default_rng(SEED).permutation(sorted(ratings.samples))[:DEVELOPMENT]
    chosen = set(drawn.tolist())
    return (
        tuple(name for name in ratings.samples if name in chosen),
        tuple(name for name in ratings.samples if name not in chosen),
    )


def key(settings: Settings) -> str:
    """A name for scores by these settings, with all that the sweeps here vary."""
    parameters = [f"{v:g}" for v in (settings.alpha, settings.beta) if v is not None]
    return "|".join(
        [
            settings.names[0] + (f"({','.join(parameters)})" if parameters else ""),
            f"T{settings.temperature:g}",
            settings.symmetrize,
            settings.multi_reference,
            "uniform" if settings.idf is False else str(settings.idf),
        ]
    )


def infolm_passes(ratings: Ratings, model: str, seen: Scores) -> Iterator[Scores]:
    """InfoLM's scores, whole, after each split that is still missing in `seen`.

    The model reads each text once.
    """
    chosen, held_out = halves(ratings)
    passes: tuple[tuple[str, Sequence[str], Sequence[Grid]], ...] = (
        ("development split", chosen, GRIDS + SYMMETRIZATIONS + AB_MAP + UNWEIGHTED),
        ("held-out split", held_out, GRIDS),
    )
    corpus = [text for group in ratings.references for text in group]
    scorer = InfoLMScorer(model_name_or_path=model, multi_reference="mean")
    for title, samples, grids in passes:
        if f"done: {title}" in seen:
            continue
        part = ratings.select(samples)
        wanted = set(samples)
        there = np.asarray([ratings.samples[sample] in wanted for _, sample in ratings.places])
        tried = list(dict.fromkeys(each for grid in grids for each in scorer.settings.grid(grid)))
        total = len(tried) * len(part.predictions)
        with tqdm(total=total, unit="score", desc=title) as bar:
            found = score_grid(
                scorer, part.predictions, part.references, tried, corpus=corpus, report=bar.update
            )
        for settings, values in found:
            seen.setdefault(key(settings), np.full(len(ratings.predictions), np.nan))[
                there
            ] = -values
        seen[f"done: {title}"] = np.ones(1)
        yield seen


def averaged(ratings: Ratings, score: Callable[[str, str], float], title: str) -> np.ndarray:
    """The mean over a row's references of score(prediction, reference), [rows]."""
    pairs = zip(ratings.predictions, ratings.references, strict=True)
    rows = tqdm(pairs, desc=title, total=len(ratings.predictions), leave=False)
    return np.asarray([np.mean([score(text, other) for other in group]) for text, group in rows])


def sentence_bleu(ratings: Ratings) -> np.ndarray:
    """sacrebleu's sentence BLEU, [rows]."""
    from sacrebleu.metrics import BLEU

    bleu = BLEU(effective_order=True)
    return averaged(ratings, lambda text, other: bleu.sentence_score(text, [other]).score, "BLEU")


def surface_metrics(ratings: Ratings) -> Scores:
    """BLEU, chrF, TER (negated) and ROUGE by sacrebleu and rouge-score with their defaults."""
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics import CHRF, TER

    chrf, ter = CHRF(), TER()
    kinds = ("rouge1", "rouge2", "rougeL")
    rouge = RougeScorer(list(kinds), use_stemmer=True)
    return {
        "BLEU": sentence_bleu(ratings),
        "chrF": averaged(ratings, lambda a, b: chrf.sentence_score(a, [b]).score, "chrF"),
        "TER": averaged(ratings, lambda a, b: -ter.sentence_score(a, [b]).score, "TER"),
        **{
            f"ROUGE-{kind[5:]}": averaged(
                ratings, lambda a, b, k=kind: rouge.score(b, a)[k].fmeasure, kind
            )
            for kind in kinds
        },
    }


def bert_score(ratings: Ratings, model: str, layers: int) -> Scores:
    """BERTScore F1 with the encoder of a masked language model, its last layer, no rescaling."""
    from bert_score import BERTScorer

    from infolm_metric import bundled

    path = str(Path(bundled.__file__).parent) if model == "bundled" else model
    counts = [len(group) for group in ratings.references]
    candidates = np.repeat(np.asarray(ratings.predictions, dtype=object), counts).tolist()
    references = [text for group in ratings.references for text in group]
    scorer = BERTScorer(model_type=path, num_layers=layers, device="cpu")
    # bert-score 0.3.13 cannot encode an empty text with transformers 5; it means 0 for one.
    empty = np.asarray([not text.strip() for text in candidates])
    texts = [text if text.strip() else "." for text in candidates]
    _, _, f1 = scorer.score(texts, references)
    values = np.where(empty, 0.0, f1.double().numpy())
    sums = np.add.reduceat(values, np.cumsum(counts) - counts)
    return {"BERTScore": sums / counts}
