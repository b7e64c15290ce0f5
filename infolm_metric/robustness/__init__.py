"""Does a metric notice a wrong number, a negation, another name? Attacks on texts, and a report.

`read_items` reads references, `make_triples` attacks them, `measure` says which attacks the metrics
notice.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .attacks import ATTACKS as ATTACKS
    from .attacks import Attack as Attack
    from .attacks import attack as attack
    from .items import Item as Item
    from .items import read_items as read_items
    from .report import AttackResult as AttackResult
    from .report import MetricResult as MetricResult
    from .report import Robustness as Robustness
    from .report import wilson_interval as wilson_interval
    from .scoring import Column as Column
    from .scoring import measure as measure
    from .triples import Triple as Triple
    from .triples import make_triples as make_triples
    from .triples import read_triples as read_triples

_NAMES = {
    "attacks": ("ATTACKS", "Attack", "attack"),
    "items": ("Item", "read_items"),
    "report": ("AttackResult", "MetricResult", "Robustness", "wilson_interval"),
    "scoring": ("Column", "measure"),
    "triples": ("Triple", "make_triples", "read_triples"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    # On demand: the command line refuses wrong rows without waiting for torch.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
