"""InfoLM: compares texts by what a masked language model predicts for them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infolm_metric.infolm import measures
    from infolm_metric.infolm.scorer import InfoLMScorer
    from infolm_metric.infolm_metric import InfoLM
    from infolm_metric.kernel.idf.table import IDF

__all__ = ["IDF", "InfoLM", "InfoLMScorer", "measures"]

_HOMES = {
    "IDF": "kernel.idf.table",
    "InfoLM": "infolm_metric",
    "InfoLMScorer": "infolm.scorer",
}
_MODULES = {"measures": "infolm.measures"}


def __getattr__(name: str) -> Any:
    # On demand: the command line answers --help without waiting for torch.
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
