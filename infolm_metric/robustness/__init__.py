"""Does a metric notice a wrong number, a negation, another name? Attacks on texts, and a report.

`read_items` reads references, `make_cases` attacks them, `measure` says which attacks the metrics
notice.
"""

from .attacks import ATTACKS, Attack, attack
from .suite import (
    AttackResult,
    ExternalScores,
    Item,
    MetricResult,
    Robustness,
    AttackCase,
    make_cases,
    evaluate_robustness,
    read_items,
    read_cases,
    wilson_interval,
)

__all__ = [
    "ATTACKS",
    "Attack",
    "AttackResult",
    "ExternalScores",
    "Item",
    "MetricResult",
    "Robustness",
    "AttackCase",
    "attack",
    "make_cases",
    "measure",
    "read_items",
    "read_cases",
    "wilson_interval",
]
