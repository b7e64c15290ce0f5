"""The toy metric for `evaluate`, separate because `evaluate` takes long to import."""

from infolm_metric.scoring.evaluate_metric import EvaluateMetric
from tests.toy import ToyScorer


class Toy(EvaluateMetric):
    """Toy metric for `evaluate`."""

    scorer_type = ToyScorer
