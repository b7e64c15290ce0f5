"""Does a metric notice a wrong number, a negation, another name? Attacks on texts, and a report.

`read_items` reads references, `make_triples` attacks them, `measure` says which attacks the metrics
notice.
"""

from infolm_metric.robustness.attacks import ATTACKS as ATTACKS
from infolm_metric.robustness.attacks import Attack as Attack
from infolm_metric.robustness.attacks import attack as attack
from infolm_metric.robustness.suite import AttackResult as AttackResult
from infolm_metric.robustness.suite import Column as Column
from infolm_metric.robustness.suite import Item as Item
from infolm_metric.robustness.suite import MetricResult as MetricResult
from infolm_metric.robustness.suite import Robustness as Robustness
from infolm_metric.robustness.suite import Triple as Triple
from infolm_metric.robustness.suite import make_triples as make_triples
from infolm_metric.robustness.suite import measure as measure
from infolm_metric.robustness.suite import read_column as read_column
from infolm_metric.robustness.suite import read_items as read_items
from infolm_metric.robustness.suite import read_triples as read_triples
from infolm_metric.robustness.suite import wilson_interval as wilson_interval
