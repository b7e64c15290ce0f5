"""Robustness of metrics to attacks on texts, such as wrong numbers, negations and changed names.

`read_items` reads references, `make_cases` attacks them, and `evaluate_robustness` reports how
often metrics detect the attacks.
"""

from .attacks import ATTACKS, Attack, attack
from .cases import AttackCase, Item, make_cases, read_cases, read_items
from .suite import AttackResult, ExternalScores, MetricResult, evaluate_robustness

__all__ = [
    "ATTACKS",
    "Attack",
    "AttackCase",
    "AttackResult",
    "ExternalScores",
    "Item",
    "MetricResult",
    "attack",
    "evaluate_robustness",
    "make_cases",
    "read_cases",
    "read_items",
]
