"""Registry of metrics, which are imported on demand.

A new metric needs a folder and an entry here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from infolm_metric.core.checks import nearest


@dataclass(frozen=True)
class Metric:
    """Locations ("module:Class") of the classes of a metric.

    `settings` is importable without torch, `scorer` computes scores, and `evaluate` is the class
    for `evaluate.load`.
    """

    name: str
    settings: str
    scorer: str
    evaluate: str

    def settings_type(self) -> Any:
        """Import the class of the settings."""
        return _import(self.settings)

    def scorer_type(self) -> Any:
        """Import the class of the scorer, a `core.scorer.Scorer`."""
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
    """Return a metric by name; raise ValueError with a suggestion for an unknown name.

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
