"""Registry of metrics, whose modules are imported on demand.

To add a metric, create its folder and add an entry here. CONTRIBUTING.md lists the places that have
to name it as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from infolm_metric.core.checks import InputError, nearest

if TYPE_CHECKING:
    from infolm_metric.core.results import Result


@dataclass(frozen=True)
class Metric:
    """Name and classes of a metric. A class is written as "module:Class"."""

    name: str
    settings: str  # in a module that does not import torch
    scorer: str
    evaluate: str  # for `evaluate.load`
    alias: str = ""  # name in the registries of other frameworks, if they use `name` themselves

    @property
    def registered_name(self) -> str:
        """Name in the registries of `evaluate` and lm-evaluation-harness."""
        return self.alias or self.name

    def settings_type(self) -> Any:
        """Import the settings class."""
        return resolve_name(self.settings)

    def scorer_type(self) -> Any:
        """Import the scorer class, a subclass of `scoring.scorer.Scorer`."""
        return resolve_name(self.scorer)


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
    "bertscore": Metric(
        "bertscore",
        settings="infolm_metric.bertscore.settings:BERTScoreSettings",
        scorer="infolm_metric.bertscore.scorer:BERTScorer",
        evaluate="infolm_metric.bertscore.bertscore:BERTScore",
        alias="infolm_bertscore",
    ),
    "menli": Metric(
        "menli",
        settings="infolm_metric.menli.settings:MENLISettings",
        scorer="infolm_metric.menli.scorer:MENLIScorer",
        evaluate="infolm_metric.menli.menli:MENLI",
    ),
    "answer_check": Metric(
        "answer_check",
        settings="infolm_metric.answer_check.settings:AnswerCheckSettings",
        scorer="infolm_metric.answer_check.scorer:AnswerCheckScorer",
        evaluate="infolm_metric.answer_check.answer_check:AnswerCheck",
    ),
}
DEFAULT = "infolm"


def find(name: str) -> Metric:
    """Return a metric by name. Raise InputError with a suggestion if the name is unknown.

    >>> find("infoml")
    Traceback (most recent call last):
    infolm_metric.InputError: unknown metric 'infoml'. Did you mean 'infolm'?
    """
    if not isinstance(name, str):
        raise InputError(
            f"metric must be a string, got {name!r:.80} ({type(name).__name__}). Pass one name."
        )
    if name not in METRICS:
        raise InputError(f"unknown metric {name!r}. {nearest(name, list(METRICS))}")
    return METRICS[name]


def score(
    predictions: object, references: object, metric: str = DEFAULT, **settings: object
) -> Result:
    """Score each prediction against its reference or references.

    The model is loaded in every call. To score repeatedly, keep a scorer, such as `InfoLMScorer`.

    Args:
        predictions: the candidates, a list of strings.
        references: one reference per candidate, or a list of references per candidate.
        metric: name of the metric.
        **settings: settings of the metric, and the options of `Scorer.score`.

    Returns:
        The result of `Scorer.score`.

    Raises:
        InputError: an argument is invalid (checked before loading the model).
        OSError: the model cannot be found.

    >>> settings = {"model_name_or_path": "bundled", "idf": False}
    >>> score(["The cat sat."], ["The cat sat."], metric="baryscore", **settings)["scores"]
    [0.0]
    """
    return find(metric).scorer_type()().score(predictions, references, **settings)
