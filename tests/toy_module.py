"""The toy metric for `evaluate`. It has its own module, because importing `evaluate` is slow."""

from infolm_metric.scoring.evaluate_metric import EvaluateMetric
from tests.toy import ToyScorer


class Toy(EvaluateMetric):
    """Toy metric for `evaluate`."""

    scorer_type = ToyScorer
