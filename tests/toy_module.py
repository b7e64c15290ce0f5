"""The toy metric for `evaluate`, whose import takes longer than that of the scorer."""

from infolm_metric.scoring.evaluate_metric import EvaluateMetric
from tests.toy import ToyScorer


class Toy(EvaluateMetric):
    """Toy metric for `evaluate`."""

    scorer_type = ToyScorer
