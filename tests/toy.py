"""Minimal metric, which shows that all code above the core works for any metric."""

from collections import Counter
from dataclasses import dataclass

from infolm_metric.core.checks import check_at_least
from infolm_metric.core.results import ChunkScores
from infolm_metric.core.settings import Settings
from infolm_metric.metrics import Metric
from infolm_metric.scoring.scorer import Run, Scorer

# Entry for the table of metrics.
TOY = Metric("toy", "tests.toy:ToySettings", "tests.toy:ToyScorer", "tests.toy_module:Toy")


@dataclass(frozen=True, kw_only=True)
class ToySettings(Settings):
    """Settings of the toy metric.

    Args:
        size: number of characters per piece.
    """

    metric = "toy"
    size: int = 1

    def __post_init__(self):
        super().__post_init__()
        check_at_least("size", self.size, 1)


class ToyRun(Run[ToySettings]):
    """A call of the toy metric."""

    def score_chunk(self, pairs):
        size = self.settings.size

        def pieces(text):
            return {text[start : start + size] for start in range(len(text))}

        def overlap(text, reference):
            return len(pieces(text) & pieces(reference)) / len(pieces(text) | pieces(reference))

        scores = [max(overlap(text, reference) for reference in group) for text, group in pairs]
        return ChunkScores({"toy": scores}, Counter(texts=sum(pairs.counts) + len(pairs)))


class ToyScorer(Scorer[ToySettings]):
    """Fraction of pieces of `size` characters that two texts have in common."""

    settings_type = ToySettings
    run_type = ToyRun
    higher_is_better = True
