"""What a report tells: the scores of every metric on people's texts, and how they agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from infolm_metric.kernel.scorer import MetricScorer, Report, silent
from infolm_metric.kernel.settings import Drawn, Settings
from infolm_metric.meta_evaluation.agreement_table import AgreementTable, agreement
from infolm_metric.meta_evaluation.checks import LENGTH, check_arguments, check_grids, rivals
from infolm_metric.meta_evaluation.correlations import correlation
from infolm_metric.meta_evaluation.grid import score_grid, turned
from infolm_metric.meta_evaluation.ratings import Ratings
from infolm_metric.meta_evaluation.resampling import RESAMPLES


@dataclass(frozen=True)
class Study:
    """What the page tells: the scores of every metric and how they agree with people."""

    ratings: Ratings
    metrics: Mapping[str, np.ndarray]
    """Name -> grid, higher is better."""
    ours: str
    """The metric of ours that was scored, as infolm, which has one or more of the names."""
    main: str
    """The name whose disagreements are shown: the first of ours."""
    negated: bool
    """True if lower is better by ours."""
    table: AgreementTable
    drawn: Sequence[Drawn]
    pearson: Mapping[Settings, Mapping[str, float]]
    """Of everything drawn: criterion -> Pearson at the system level."""
    signature: str


def own(settings: Settings) -> list[Settings]:
    """The settings whose scores are put beside other metrics': those drawn at these own values.

    Where no curve is drawn they are these settings themselves.

    >>> from infolm_metric import InfoLMScorer
    >>> [each.describe() for each in own(InfoLMScorer(temperature=1.5).settings)]
    ['fisher_rao_distance', 'l1_distance', 'kl_divergence']
    """
    found = [
        each
        for curve in settings.drawn()
        for each in curve.settings
        if len(curve.over) == 1 and getattr(each, curve.over[0]) == getattr(settings, curve.over[0])
    ]
    return list(dict.fromkeys(found)) or settings.grid({})


def scored(settings: Settings) -> list[Settings]:
    """Everything that a report scores: `own` settings, and what is drawn of them."""
    drawn = (each for figure in settings.drawn() for each in figure.settings)
    return list(dict.fromkeys([*own(settings), *drawn]))


def make_study(
    ratings: Ratings,
    scorer: MetricScorer,
    columns: Mapping[str, np.ndarray],
    against: Sequence[str] = (),
    missing: str = "drop",
    resamples: int = RESAMPLES,
    seed: int = 0,
    report: Report = silent,
) -> Study:
    """Scores the texts and correlates; arguments as for `report.write_report`."""
    settings = scorer.settings
    check_arguments(missing=missing, resamples=resamples, seed=seed)
    check_grids([*ratings.human.items(), *columns.items()], ratings.lengths)
    rivals(against, [*(each.describe() for each in own(settings)), *columns], ratings.lengths)
    found = score_grid(
        scorer, ratings.predictions, ratings.references, scored(settings), report=report
    )
    grids = {each: ratings.grid(turned(scorer, each, scores)) for each, scores in found}
    ours = {each.describe(): grids[each] for each in own(settings)}
    metrics = {**ours, **columns}
    table = agreement(
        ratings.human,
        metrics,
        against=against,
        length=ratings.lengths,
        missing=missing,
        resamples=resamples,
        seed=seed,
    )
    if LENGTH in table.names("metric"):
        metrics.setdefault(LENGTH, ratings.lengths)
    pearson = {
        each: {
            criterion: correlation(human, grid, missing=missing)
            for criterion, human in ratings.human.items()
        }
        for each, grid in grids.items()
    }
    return Study(
        ratings,
        metrics,
        settings.metric,
        next(iter(ours)),
        not scorer.inner.higher_is_better(settings),
        table,
        settings.drawn(),
        pearson,
        scorer.signature(),
    )
