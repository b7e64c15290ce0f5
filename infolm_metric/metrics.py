"""The metrics there are, each imported when it is asked for.

A new metric is a folder of its own and an entry here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from infolm_metric.core.checks import nearest


@dataclass(frozen=True)
class Metric:
    """A metric as the places of its classes, each "module:Class".

    `settings` holds its choices and needs no model library; `scorer` is what scores, and
    `evaluate` what `evaluate.load` gives.
    """

    name: str
    settings: str
    scorer: str
    evaluate: str

    def settings_type(self) -> Any:
        """The class of its settings."""
        return _import(self.settings)

    def scorer_type(self) -> Any:
        """The class of its scorer, a `core.scorer.Scorer`."""
        return _import(self.scorer)


METRICS: dict[str, Metric] = {
    "infolm": Metric(
        "infolm",
        settings="infolm_metric.infolm.settings:InfoLMSettings",
        scorer="infolm_metric.infolm.scorer:InfoLMScorer",
        evaluate="infolm_metric.infolm_metric:InfoLM",
    ),
    "baryscore": Metric(
        "baryscore",
        settings="infolm_metric.baryscore.settings:BaryScoreSettings",
        scorer="infolm_metric.baryscore.scorer:BaryScorer",
        evaluate="infolm_metric.baryscore.baryscore:BaryScore",
    ),
    "menli": Metric(
        "menli",
        settings="infolm_metric.menli.settings:MENLISettings",
        scorer="infolm_metric.menli.scorer:MENLIScorer",
        evaluate="infolm_metric.menli.menli:MENLI",
    ),
}
DEFAULT = "infolm"


def find(name: str) -> Metric:
    """The metric of that name; ValueError with the nearest known one if there is none.

    >>> find("infoml")
    Traceback (most recent call last):
    ValueError: unknown metric 'infoml'; did you mean 'infolm'?
    """
    if name not in METRICS:
        raise ValueError(f"unknown metric {name!r}; {nearest(name, list(METRICS))}")
    return METRICS[name]


def _import(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
