"""Registry of metrics, whose modules are imported on demand.

To add a metric, create its folder and add an entry here. CONTRIBUTING.md lists the places that have
to name it as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from infolm_metric.core.checks import check_known

if TYPE_CHECKING:
    from infolm_metric.core.results import Result


@dataclass(frozen=True)
class Metric:
    """Everything that other modules know about a metric. A class is written as "module:Class".

    Attributes:
        name: name in commands, results and files.
        settings: class of the settings, in a module that does not import torch.
        scorer: class of the scorer.
        evaluate: class for `evaluate.load`, whose name is the metric's title.
        question: question that its scores answer, at most five words.
        speed: position among the metrics with the bundled models. 1 is the fastest.
        similarity: True if the metric compares encodings of the texts. MENLI can be combined with
            such a metric.
        layers: name of the setting that selects layers of the encoder, if there is one.
        shares: name of an earlier metric whose model it can use.
        alias: name in the registries of other frameworks, if they use `name` themselves.
    """

    name: str
    settings: str
    scorer: str
    evaluate: str
    question: str = ""
    speed: int = 99
    similarity: bool = False
    layers: str = ""
    shares: str = ""
    alias: str = ""

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


_ROWS = (
    Metric(
        name="infolm",
        settings="infolm_metric.infolm.settings:InfoLMSettings",
        scorer="infolm_metric.infolm.scorer:InfoLMScorer",
        evaluate="infolm_metric.infolm_metric:InfoLM",
        question="Would the same words fit?",
        speed=5,
        similarity=True,
    ),
    Metric(
        name="baryscore",
        settings="infolm_metric.baryscore.settings:BaryScoreSettings",
        scorer="infolm_metric.baryscore.scorer:BaryScorer",
        evaluate="infolm_metric.baryscore.baryscore:BaryScore",
        question="How far must words move?",
        speed=1,
        similarity=True,
        layers="layers",
    ),
    Metric(
        name="bertscore",
        settings="infolm_metric.bertscore.settings:BERTScoreSettings",
        scorer="infolm_metric.bertscore.scorer:BERTScorer",
        evaluate="infolm_metric.bertscore.bertscore:BERTScore",
        question="Has every word a match?",
        speed=2,
        similarity=True,
        layers="layer",
        shares="baryscore",
        alias="infolm_bertscore",
    ),
    Metric(
        name="menli",
        settings="infolm_metric.menli.settings:MENLISettings",
        scorer="infolm_metric.menli.scorer:MENLIScorer",
        evaluate="infolm_metric.menli.menli:MENLI",
        question="Does one imply the other?",
        speed=3,
    ),
    Metric(
        name="answer_check",
        settings="infolm_metric.answer_check.settings:AnswerCheckSettings",
        scorer="infolm_metric.answer_check.scorer:AnswerCheckScorer",
        evaluate="infolm_metric.answer_check.answer_check:AnswerCheck",
        question="Is the LLM’s answer right?",
        speed=4,
        shares="menli",
    ),
)
METRICS: dict[str, Metric] = {metric.name: metric for metric in _ROWS}
DEFAULT = "infolm"


def find(name: str) -> Metric:
    """Return a metric by name. Raise InputError with a suggestion if the name is unknown.

    >>> find("infoml")
    Traceback (most recent call last):
    infolm_metric.InputError: unknown metric 'infoml'. Did you mean 'infolm'?
    """
    check_known("metric", name, list(METRICS))
    return METRICS[name]


def similarities() -> list[str]:
    """Return the names of the metrics that compare encodings of the texts."""
    return [name for name, metric in METRICS.items() if metric.similarity]


def fastest_first() -> list[str]:
    """Return the names of all metrics in the order of their speed.

    >>> fastest_first()[0]
    'baryscore'
    """
    return sorted(METRICS, key=lambda name: METRICS[name].speed)


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
