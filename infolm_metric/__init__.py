"""InfoLM: compares texts by what a masked language model predicts for them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infolm_metric.idf import IDF
    from infolm_metric.infolm_metric import InfoLM
    from infolm_metric.scorer import InfoLMScorer

__all__ = ["IDF", "InfoLM", "InfoLMScorer"]

_HOMES = {"IDF": "idf", "InfoLM": "infolm_metric", "InfoLMScorer": "scorer"}


def __getattr__(name: str) -> Any:
    # On demand: the command line answers --help without waiting for torch.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
