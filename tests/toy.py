"""A whole metric in a few lines, to prove that nothing above the kernel knows the others."""

from dataclasses import dataclass

from infolm_metric.kernel import checks, evaluate_metric
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.scorer import HIGHER, MetricScorer, Scorer
from infolm_metric.kernel.settings import Settings, choice


@dataclass(frozen=True)
class ToySettings(Settings):
    metric = "toy"
    size: int = choice(1, checks.whole_number, "characters", "--size", signed=True)


class Overlap(Scorer):
    settings_type = ToySettings

    def direction(self, settings):
        return HIGHER

    def score(self, pairs, settings, statistics):
        def pieces(text):
            return {text[start : start + settings.size] for start in range(len(text))}

        def overlap(one, other):
            return len(pieces(one) & pieces(other)) / len(pieces(one) | pieces(other))

        scores = {"toy": [max(overlap(one, text) for text in group) for one, group in pairs]}
        return Result("toy", scores, self.signature(settings), higher_is_better=True)


class ToyScorer(MetricScorer):
    inner_type = Overlap


class Toy(evaluate_metric.EvaluateMetric):
    scorer_type = ToyScorer
