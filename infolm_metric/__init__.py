"""InfoLM, BaryScore, BERTScore, MENLI and answer_check: metrics based on language models."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from infolm_metric.metrics import METRICS

if TYPE_CHECKING:
    from infolm_metric import meta_evaluation as meta_evaluation
    from infolm_metric import robustness as robustness
    from infolm_metric.answer_check.answer_check import AnswerCheck as AnswerCheck
    from infolm_metric.answer_check.scorer import AnswerCheckScorer as AnswerCheckScorer
    from infolm_metric.answer_check.settings import AnswerCheckSettings as AnswerCheckSettings
    from infolm_metric.baryscore.baryscore import BaryScore as BaryScore
    from infolm_metric.baryscore.scorer import BaryScorer as BaryScorer
    from infolm_metric.baryscore.settings import BaryScoreSettings as BaryScoreSettings
    from infolm_metric.bertscore.bertscore import BERTScore as BERTScore
    from infolm_metric.bertscore.scorer import BERTScorer as BERTScorer
    from infolm_metric.bertscore.settings import BERTScoreSettings as BERTScoreSettings
    from infolm_metric.core import __version__ as __version__
    from infolm_metric.core.checks import InputError as InputError
    from infolm_metric.core.idf import IDF as IDF
    from infolm_metric.infolm import measures as measures
    from infolm_metric.infolm.scorer import InfoLMScorer as InfoLMScorer
    from infolm_metric.infolm.settings import InfoLMSettings as InfoLMSettings
    from infolm_metric.infolm_metric import InfoLM as InfoLM
    from infolm_metric.menli.combination import combine as combine
    from infolm_metric.menli.menli import MENLI as MENLI
    from infolm_metric.menli.scorer import MENLIScorer as MENLIScorer
    from infolm_metric.menli.settings import MENLISettings as MENLISettings
    from infolm_metric.metrics import score as score

_HOMES = {  # module and attribute of each public name, without attribute for a module
    "__version__": "infolm_metric.core:__version__",
    "IDF": "infolm_metric.core.idf:IDF",
    "InputError": "infolm_metric.core.checks:InputError",
    "combine": "infolm_metric.menli.combination:combine",
    "measures": "infolm_metric.infolm.measures:",
    "meta_evaluation": "infolm_metric.meta_evaluation:",
    "robustness": "infolm_metric.robustness:",
    "score": "infolm_metric.metrics:score",
}
for _metric in METRICS.values():
    for _home in (_metric.settings, _metric.scorer, _metric.evaluate):
        _HOMES[_home.rpartition(":")[2]] = _home
__all__ = sorted(_HOMES)


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    # Imported on demand, so that the command line answers --help without loading torch.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(_HOMES[name])
