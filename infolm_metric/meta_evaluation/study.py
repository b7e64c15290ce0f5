"""What a report tells: the scores of every metric on people's texts, and how they agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from infolm_metric.infolm.scorer import InfoLMScorer
from infolm_metric.infolm.settings import Settings
from infolm_metric.meta_evaluation.agreement_table import AgreementTable, agreement
from infolm_metric.meta_evaluation.correlations import correlation
from infolm_metric.meta_evaluation.grid import Sweep, describe, score_grid
from infolm_metric.meta_evaluation.resampling import RESAMPLES
from infolm_metric.meta_evaluation.rows import Ratings
from infolm_metric.meta_evaluation.tuning import TEMPERATURES

MEASURES = ("fisher_rao_distance", "l1_distance", "kl_divergence")
MAP = (0.25, 0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Study:
    """What the page tells: the scores of every metric and how they agree with people."""

    ratings: Ratings
    metrics: Mapping[str, np.ndarray]
    main: str
    """The metric whose disagreements are shown: InfoLM's first measure."""
    table: AgreementTable
    curves: Mapping[str, Mapping[str, Sequence[float]]]
    """criterion -> measure -> Pearson at the system level for each temperature."""
    temperatures: tuple[float, ...]
    alpha_beta: np.ndarray
    """Pearson at the system level, mean over criteria, [len(MAP), len(MAP)]."""
    signature: str
    missing: str


def measures_of(settings: Settings) -> tuple[str, ...]:
    """The measures of a report: those chosen, if any were, else MEASURES."""
    chosen = settings.measures
    return MEASURES if chosen == Settings().measures else chosen


def sweeps_of(settings: Settings) -> list[Sweep]:
    """What a report scores: its measures at every temperature, and the AB divergence's map."""
    heats = tuple(sorted({*TEMPERATURES, settings.temperature}))
    alphas = None if settings.alpha is None else (settings.alpha,)
    betas = None if settings.beta is None else (settings.beta,)
    curve = Sweep(measures_of(settings), heats, alphas, betas)
    if settings.symmetrize != "jeffreys":
        return [curve, Sweep(("ab_divergence",), (settings.temperature,), MAP, MAP)]
    # With "jeffreys" the AB divergence of (a, b) is that of (b, a).
    return [curve] + [
        Sweep(("ab_divergence",), (settings.temperature,), (one,), MAP[index:])
        for index, one in enumerate(MAP)
    ]


def make_study(
    ratings: Ratings,
    scorer: InfoLMScorer,
    columns: Mapping[str, np.ndarray],
    baselines: Sequence[str] = (),
    missing: str = "drop",
    resamples: int = RESAMPLES,
    seed: int = 0,
    report: Callable[[int], object] = lambda scores: None,
) -> Study:
    """Scores the texts and correlates; arguments as for `report.write_report`."""
    settings = scorer.settings
    curve, *maps = sweeps_of(settings)
    found = score_grid(
        scorer, ratings.predictions, ratings.references, [curve, *maps], report=report
    )
    grids = [(chosen, -ratings.grid(scores)) for chosen, scores in found]
    of_curve, of_map = grids[: curve.size], grids[curve.size :]
    metrics = {
        describe(chosen): grid
        for chosen, grid in of_curve
        if chosen.temperature == settings.temperature
    }
    main = next(iter(metrics))
    metrics |= columns

    def pearson(criterion: str, grid: np.ndarray) -> float:
        return correlation(ratings.human[criterion], grid, missing=missing)

    curves: dict[str, dict[str, list[float]]] = {}
    for criterion in ratings.human:
        lines = curves.setdefault(criterion, {})
        for chosen, grid in of_curve:
            lines.setdefault(describe(chosen), []).append(pearson(criterion, grid))
    alpha_beta = np.full((len(MAP), len(MAP)), np.nan)
    for chosen, grid in of_map:
        place = MAP.index(chosen.alpha or 0), MAP.index(chosen.beta or 0)
        alpha_beta[place] = np.mean([pearson(criterion, grid) for criterion in ratings.human])
        if settings.symmetrize == "jeffreys":
            alpha_beta[place[::-1]] = alpha_beta[place]
    table = agreement(
        ratings.human,
        metrics,
        baselines=baselines,
        missing=missing,
        resamples=resamples,
        seed=seed,
    )
    return Study(
        ratings,
        metrics,
        main,
        table,
        curves,
        curve.temperatures,
        alpha_beta,
        scorer.signature(),
        missing,
    )
