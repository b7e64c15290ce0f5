"""A whole metric in a few lines, to prove that nothing above the core knows the others."""

from collections import Counter
from dataclasses import dataclass

from infolm_metric.core.checks import check_at_least
from infolm_metric.core.evaluate_metric import EvaluateMetric
from infolm_metric.core.results import ChunkScores
from infolm_metric.core.scorer import Scorer
from infolm_metric.core.settings import Settings
from infolm_metric.metrics import Metric

TOY = Metric("toy", "tests.toy:ToySettings", "tests.toy:ToyScorer", "tests.toy:Toy")
"""Its entry for the table of metrics."""


@dataclass(frozen=True, kw_only=True)
class ToySettings(Settings):
    """Settings of the toy.

    Args:
        size: characters of a piece.
    """

    metric = "toy"
    size: int = 1

    def __post_init__(self):
        super().__post_init__()
        check_at_least("size", self.size, 1)


class ToyScorer(Scorer):
    """The share of pieces of so many characters that two texts have in common."""

    settings_type = ToySettings
    higher_is_better = True

    def score_chunk(self, pairs, settings, statistics, progress):
        def pieces(text):
            return {text[start : start + settings.size] for start in range(len(text))}

        def overlap(text, reference):
            return len(pieces(text) & pieces(reference)) / len(pieces(text) | pieces(reference))

        scores = [max(overlap(text, reference) for reference in group) for text, group in pairs]
        return ChunkScores({"toy": scores}, Counter(texts=sum(pairs.counts) + len(pairs)))


class Toy(EvaluateMetric):
    """The same for `evaluate`."""

    scorer_type = ToyScorer
