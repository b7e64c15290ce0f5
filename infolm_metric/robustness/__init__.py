"""Robustness of metrics to attacks on texts, such as wrong numbers, negations and changed names.

`read_items` reads references, `make_cases` attacks them, and `evaluate_robustness` reports how
often metrics detect the attacks.
"""

from .attacks import ATTACKS as ATTACKS
from .attacks import Attack as Attack
from .attacks import attack as attack
from .cases import AttackCase as AttackCase
from .cases import Item as Item
from .cases import make_cases as make_cases
from .cases import read_cases as read_cases
from .cases import read_items as read_items
from .suite import AttackResult as AttackResult
from .suite import MetricResult as MetricResult
from .suite import evaluate_robustness as evaluate_robustness
