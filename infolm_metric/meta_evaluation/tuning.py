"""The settings that agree best with people on one part of the samples, judged on the other part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from infolm_metric.infolm.scorer import InfoLMScorer
from infolm_metric.infolm.settings import Settings
from infolm_metric.meta_evaluation.agreement_table import Agreement, agreement
from infolm_metric.meta_evaluation.correlations import correlation
from infolm_metric.meta_evaluation.grid import Sweep, describe, score_grid
from infolm_metric.meta_evaluation.names import check_known
from infolm_metric.meta_evaluation.resampling import RESAMPLES
from infolm_metric.meta_evaluation.rows import Ratings
from infolm_metric.meta_evaluation.splits import split_samples

TEMPERATURES = (0.5, 1.0, 1.5, 2.0)
SWEEPS = (
    Sweep(
        ("fisher_rao_distance", "l1_distance", "l2_distance", "l_infinity_distance")
        + ("kl_divergence",),
        TEMPERATURES,
    ),
    # alpha = 1/2 is left out: there alpha and Renyi order texts as Fisher-Rao does.
    Sweep(("alpha_divergence", "renyi_divergence"), (1.0, 1.5), alphas=(0.25,)),
    *(
        Sweep(("ab_divergence",), (1.0, 1.5), alphas=(value,), betas=(value,))
        for value in (0.25, 0.5, 1.0)
    ),
)
"""What is tried if nothing else is asked for."""
IDF_FORMS = ("references", False)
DEFAULTS = "the default settings"
TUNED = "the tuned settings"


@dataclass(frozen=True)
class Trial:
    """Settings, and how they agree with people on the development split."""

    settings: Settings
    development: float


@dataclass(frozen=True)
class Tuning:
    """What was found on the development split, and what it is worth on the held-out split."""

    trials: tuple[Trial, ...]
    """Best first."""
    held_out: tuple[Agreement, ...]
    """Of the best settings and of the default settings, on each criterion."""
    development_ids: tuple[str, ...]
    held_out_ids: tuple[str, ...]
    criteria: tuple[str, ...]
    coefficient: str
    level: str

    @property
    def best(self) -> Settings:
        """The settings that agree best on the development split."""
        return self.trials[0].settings

    def held_out_mean(self, metric: str) -> float:
        """The mean over the criteria of TUNED or of DEFAULTS on the held-out split."""
        return float(np.mean([cell.value for cell in self.held_out if cell.metric == metric]))


def tune(
    ratings: Ratings,
    scorer: InfoLMScorer,
    *,
    criteria: Sequence[str] = (),
    sweeps: Sequence[Sweep] = SWEEPS,
    idf: Sequence[Any] = IDF_FORMS,
    development: int | None = None,
    seed: int = 0,
    coefficient: str = "pearson",
    level: str = "system",
    missing: str = "drop",
    resamples: int = RESAMPLES,
    report: Callable[[int], object] = lambda scores: None,
) -> Tuning:
    """Tries all settings on a development split and reports the best one on the samples held out.

    The best are those with the largest correlation, averaged over `criteria` (default: all).
    Every sweep is tried with every form of `idf`, where "references" of all samples are the corpus.
    `development` is the number of samples that may be looked at (default: half of them). The model
    reads each text once; human scores of the samples held out are not looked at before the settings
    are chosen. The settings of `scorer` are the starting point of all, and what DEFAULTS means.

    Raises:
        ValueError: a criterion, a setting or the size of a split is wrong.
    """
    criteria = tuple(criteria or ratings.human)
    for name in criteria:
        check_known("criterion", name, tuple(ratings.human))
    if development is None:
        development = len(ratings.samples) // 2
    chosen, held_out = split_samples(ratings.samples, development, seed)
    here, there = ratings.select(chosen), ratings.select(held_out)
    corpus = [text for group in ratings.references for text in group]
    weighed = [
        replace(sweep, settings={**(sweep.settings or {}), "idf": form})
        for form in dict.fromkeys(idf)
        for sweep in sweeps
    ]
    trials = []
    for settings, scores in score_grid(
        scorer, here.predictions, here.references, weighed, corpus=corpus, report=report
    ):
        grid = here.grid(-scores)
        values = [
            correlation(here.human[name], grid, coefficient, level, missing) for name in criteria
        ]
        trials.append(Trial(settings, float(np.mean(values))))
    trials.sort(key=lambda trial: -np.nan_to_num(trial.development, nan=-2.0))
    if np.isnan(trials[0].development):
        raise ValueError(
            "no setting has a correlation on the development split; give it more samples"
        )
    judged = {TUNED: as_sweep(trials[0].settings), DEFAULTS: as_sweep(scorer.settings)}
    found = score_grid(
        scorer, there.predictions, there.references, list(judged.values()), corpus=corpus
    )
    metrics = {name: there.grid(-scores) for name, (_, scores) in zip(judged, found, strict=True)}
    table = agreement(
        {name: there.human[name] for name in criteria},
        metrics,
        baselines=[DEFAULTS],
        levels=[level],
        missing=missing,
        resamples=resamples,
        seed=seed,
    )
    cells = tuple(cell for cell in table.cells if cell.statistic == coefficient)
    return Tuning(tuple(trials), cells, chosen, held_out, criteria, coefficient, level)


def as_sweep(settings: Settings) -> Sweep:
    """The sweep that stands for one measure with its settings alone.

    >>> as_sweep(Settings()).size
    1
    """
    if len(settings.measures) != 1:
        raise ValueError(f"one information_measure is needed here, got {settings.measures}")
    return Sweep(
        settings.measures,
        (settings.temperature,),
        None if settings.alpha is None else (settings.alpha,),
        None if settings.beta is None else (settings.beta,),
        {name: getattr(settings, name) for name in ("symmetrize", "multi_reference", "idf")},
    )


def choices(settings: Settings) -> dict[str, Any]:
    """The settings that `tune` can choose, as keywords for `InfoLMScorer` or `compute`.

    >>> choices(Settings.of(information_measure="ab", alpha=0.5, beta=2.0, temperature=1.5))
    {'information_measure': 'ab_divergence', 'alpha': 0.5, 'beta': 2.0, 'temperature': 1.5}
    """
    plain = Settings()
    names = ("information_measure", "alpha", "beta", "temperature", "idf", "symmetrize")
    return {
        name: getattr(settings, name)
        for name in (*names, "multi_reference")
        if name == "information_measure" or getattr(settings, name) != getattr(plain, name)
    }


__all__ = ["DEFAULTS", "SWEEPS", "TUNED", "Trial", "Tuning", "choices", "describe", "tune"]
