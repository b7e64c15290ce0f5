"""The settings that agree best with people on one part of the samples, judged on the other part."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infolm_metric.kernel.checks import check_known
from infolm_metric.kernel.scorer import MetricScorer, Report, silent
from infolm_metric.kernel.settings import Settings
from infolm_metric.meta_evaluation.agreement_table import Agreement, agreement
from infolm_metric.meta_evaluation.checks import check_arguments
from infolm_metric.meta_evaluation.correlations import COEFFICIENTS, correlation
from infolm_metric.meta_evaluation.grid import check_countable, check_single, score_grid, turned
from infolm_metric.meta_evaluation.ratings import Ratings
from infolm_metric.meta_evaluation.resampling import FEW, RESAMPLES
from infolm_metric.meta_evaluation.rows import check_varies
from infolm_metric.meta_evaluation.splits import split_samples

Grids = Sequence[Mapping[str, Sequence[Any]]]
"""Lists of values by the name of a setting, of which every combination is tried."""
DEFAULTS = "the default settings"
TUNED = "the tuned settings"


@dataclass(frozen=True)
class Trial:
    """Settings, and how they agree with people on the development split."""

    settings: Settings
    development: float


@dataclass(frozen=True)
class Tuning:
    """What was found on the development split, and what it is worth on the held-out split.

    Attributes:
        trials: all settings that were tried, each with its correlation on the development split,
            averaged over the criteria; best first.
        held_out: the agreement of the best settings (TUNED) and of the scorer's own (DEFAULTS) with
            people on the held-out split, for each criterion.
        development_ids: the samples that the settings were chosen on.
        held_out_ids: the samples that they were judged on.
        criteria: those that counted.
        coefficient: "pearson", "spearman" or "kendall", by which all agreement is measured.
        level: "system" or "text", at which it is.
        signature: that of the best settings.
    """

    trials: tuple[Trial, ...]
    held_out: tuple[Agreement, ...]
    development_ids: tuple[str, ...]
    held_out_ids: tuple[str, ...]
    criteria: tuple[str, ...]
    coefficient: str
    level: str
    signature: str

    @property
    def best(self) -> Settings:
        """The settings that agree best on the development split."""
        return self.trials[0].settings

    def held_out_mean(self, metric: str) -> float:
        """The agreement on the held-out split, averaged over the criteria.

        Args:
            metric: TUNED or DEFAULTS, as the cells of `held_out` have it.

        Returns:
            The mean, from -1 to 1; NaN where a criterion has none.
        """
        return float(np.mean([cell.value for cell in self.held_out if cell.metric == metric]))


def candidates(settings: Settings, grids: Grids | None = None) -> list[Settings]:
    """The settings among which `tune` chooses: these with what the grids hold, or the metric's own.

    Raises TypeError or ValueError if the grids are no lists of values by name, hold a wrong one, or
    none.

    >>> from infolm_metric import InfoLMScorer
    >>> settings = InfoLMScorer().settings
    >>> [each.describe() for each in candidates(settings, [{"information_measure": ["l1", "l2"]}])]
    ['l1_distance', 'l2_distance']
    """
    lists = list(settings.tried() if grids is None else grids)
    if not all(isinstance(grid, Mapping) for grid in lists):
        raise TypeError(
            "grids must be a list of dictionaries, of which each holds a list of values by the "
            f"name of a setting, got {grids!r}"
        )
    found = list(dict.fromkeys(each for grid in lists for each in settings.grid(grid)))
    if not found:
        raise ValueError(
            f"grids hold nothing to try, got {grids!r}; list a value, or give None for the "
            "metric's own"
        )
    return found


def tune(
    ratings: Ratings,
    scorer: MetricScorer,
    *,
    criteria: Sequence[str] = (),
    grids: Grids | None = None,
    development: int | None = None,
    seed: int = 0,
    coefficient: str = "pearson",
    level: str = "system",
    missing: str = "drop",
    resamples: int = RESAMPLES,
    report: Report = silent,
) -> Tuning:
    """Tries all settings on a development split and reports the best one on the samples held out.

    The best are those with the largest correlation, averaged over the criteria. Tried are the
    `candidates`; what they count, they count on the references of all samples. They are scored as
    `score_grid` does it; human scores of the samples held out are not looked at before the settings
    are chosen.

    Args:
        ratings: texts of systems with human scores.
        scorer: the metric; its settings are the starting point of all, and what DEFAULTS means.
        criteria: those that count (default: all).
        grids: lists of values by a setting's name, tried in every combination (default: the
            metric's own).
        development: the number of samples that may be looked at (default: half of them).
        seed: what draws and splits begin with.
        coefficient: "pearson", "spearman" or "kendall".
        level: "system" or "text".
        missing: "drop" or "available", as in `pair`.
        resamples: how many, for intervals and p-values, at least 1.
        report: told of the scores done on the development split, as by `score_grid`.

    Returns:
        The settings tried, and how the best of them and the scorer's own do on the samples held
        out.

    Raises:
        TypeError, ValueError: an argument is wrong, people's scores are all equal in one of the
            splits, or no setting has a correlation on the development split; all but the last is
            found before a text is scored.
        OSError: the model cannot be found.
    """
    criteria = tuple(criteria or ratings.human)
    for name in criteria:
        check_known("criterion", name, tuple(ratings.human))
    check_known("coefficient", coefficient, tuple(COEFFICIENTS))
    check_arguments(levels=[level], missing=missing, resamples=resamples, seed=seed)
    tried = candidates(scorer.settings, grids)
    for check in (check_single, check_countable):
        check(scorer.settings, *tried)
    if development is None:
        development = len(ratings.samples) // 2
    chosen, held_out = split_samples(ratings.samples, development, seed)
    if min(len(chosen), len(held_out)) < FEW:
        warnings.warn(
            f"infolm: {len(chosen)} samples to choose settings on and {len(held_out)} to judge "
            f"them; with fewer than {FEW} either is largely chance: rate more samples",
            stacklevel=2,
        )
    here, there = ratings.select(chosen), ratings.select(held_out)
    for part, words in ((here, "to choose on"), (there, "held out")):  # not what they are
        for name in criteria:
            check_varies(f"column {name!r} of the samples {words}", part.human[name])
    corpus = [text for group in ratings.references for text in group]
    trials = []
    for settings, scores in score_grid(
        scorer, here.predictions, here.references, tried, corpus=corpus, report=report
    ):
        grid = here.grid(turned(scorer, settings, scores))
        values = [
            correlation(here.human[name], grid, coefficient, level, missing) for name in criteria
        ]
        trials.append(Trial(settings, float(np.mean(values))))
    trials.sort(key=lambda trial: -np.nan_to_num(trial.development, nan=-2.0))
    if np.isnan(trials[0].development):
        raise ValueError(
            "no setting has a correlation on the development split; give it more samples"
        )
    judged = [trials[0].settings, scorer.settings]
    found = score_grid(scorer, there.predictions, there.references, judged, corpus=corpus)
    table = agreement(
        {name: there.human[name] for name in criteria},
        {
            name: there.grid(turned(scorer, settings, scores))
            for name, (settings, scores) in zip((TUNED, DEFAULTS), found, strict=True)
        },
        against=[DEFAULTS],
        levels=[level],
        missing=missing,
        resamples=resamples,
        seed=seed,
    )
    cells = tuple(cell for cell in table.cells if cell.statistic == coefficient)
    with scorer.lock:
        signature = scorer.inner.signature(trials[0].settings)
    return Tuning(tuple(trials), cells, chosen, held_out, criteria, coefficient, level, signature)
