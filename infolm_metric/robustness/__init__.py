"""Does a metric notice a wrong number, a negation, another name? Attacks on texts, and a report.

`read_items` reads references, `make_triples` attacks them, `measure` says which attacks the metrics
notice.
"""

from .attacks import ATTACKS, Attack, attack
from .suite import (
    AttackResult,
    Column,
    Item,
    MetricResult,
    Robustness,
    Triple,
    make_triples,
    measure,
    read_items,
    read_triples,
    wilson_interval,
)

__all__ = [
    "ATTACKS",
    "Attack",
    "AttackResult",
    "Column",
    "Item",
    "MetricResult",
    "Robustness",
    "Triple",
    "attack",
    "make_triples",
    "measure",
    "read_items",
    "read_triples",
    "wilson_interval",
]
