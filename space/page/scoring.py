"""Texts scored by any of the three metrics: a pair with all that explains it, or many in parts."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from infolm_metric.core.baselines import BaselineStats, most_frequent
from infolm_metric.core.inputs import Pairs, check_pairs
from infolm_metric.core.results import add_counts, is_judged, occurring

from . import baryscore_view, infolm_view, limits, menli_view
from .appearance import Why, shorten
from .settings import LABELS, SCORERS, check_settings, default

VIEWS: dict[str, Any] = {"infolm": infolm_view, "baryscore": baryscore_view, "menli": menli_view}
"""What explains each metric's scores."""
LOCK = threading.RLock()
"""Held while a model is loaded or reads: a tokenizer serves one at a time."""
REUSE_BYTES = 1 << 28  # of texts that come again, by scorer
EXPECTED_ERRORS = (ValueError, TypeError, OSError)  # of checks; anything else is a bug of ours


def refusal(error: BaseException) -> gr.Error:
    """What a program is told that asked for something that is refused."""
    return gr.Error(shorten(str(error)), print_exception=False)


@dataclass(frozen=True)
class Answer:
    """A candidate compared with its references, and why it scores as it does."""

    metric: str
    settings: dict[str, Any]
    candidate: str
    references: list[str]
    score: float
    higher_is_better: bool
    baseline: BaselineStats | None  # what unrelated texts score, where that is known
    readable: bool  # False if the model cannot read the texts, so that the score says nothing
    warnings: Mapping[str, int]
    signature: str
    closest: int  # which reference is explained
    why: Why

    @property
    def name(self) -> str:
        """The metric, and by which measure."""
        title = LABELS[self.metric].partition(":")[0]
        measure = self.settings.get("information_measure", default("infolm", "information_measure"))
        return f"{title} ({measure})" if self.metric == "infolm" else title

    @property
    def best(self) -> float:
        """What a copy scores."""
        return self.why.bound if self.higher_is_better else 0.0

    @property
    def verdict(self) -> str:
        """How close the texts are, in words."""
        if not self.readable:
            return "The model cannot read this"
        if self.score == self.best:
            return "The same as a copy"
        if self.why.verdict or self.baseline is None:
            return self.why.verdict or "No verdict"
        words = self.baseline.verdict(self.score, self.best)
        return f"{words.capitalize()} unrelated texts"

    def as_dict(self) -> dict[str, Any]:
        """What a program is told."""
        names = ("metric", "score", "higher_is_better", "verdict", "warnings", "signature")
        unrelated = self.baseline and vars(self.baseline)
        facts = {"explained_reference": self.closest, "unrelated": unrelated, "why": self.why.facts}
        return {name: getattr(self, name) for name in names} | facts


@functools.cache
def scorer_of(metric: str, model: str) -> Any:
    """The scorer that all visitors share; whoever calls holds the LOCK."""
    return SCORERS[metric](model_name_or_path=model, reuse_memory=REUSE_BYTES)


def token_counts(texts: Sequence[str], model: str) -> list[int]:
    """The number of tokens of each text, special ones included."""
    with LOCK:
        tokenizer = scorer_of("infolm", model).tokenizer
        return [len(ids) for ids in tokenizer(list(texts), verbose=False)["input_ids"]]


def compare(
    metric: str, candidate: Any, references: Any, settings: Mapping[str, Any] | None = None
) -> Answer:
    """The score of a candidate with its explanation.

    Raises:
        TypeError, ValueError: a text or a setting is refused.
        OSError: the model cannot be loaded.
    """
    settings = check_settings(metric, settings)
    if not isinstance(references, list):
        raise TypeError("references must be a list of texts")
    pairs = check_pairs([candidate], [references])
    limits.check_group("the candidate", candidate, references)
    if not all(text.strip() for text in (candidate, *references)):
        raise ValueError(f"the {'reference' if candidate.strip() else 'candidate'} is empty")
    model = settings["model_name_or_path"]
    limits.check_compared(token_counts([candidate, *references], model), model)
    with LOCK:
        scorer = scorer_of(metric, model)
        metric_settings = scorer.settings.replace(**settings)
        statistics = scorer.count(pairs.texts_by_side, metric_settings)
        result = scorer.score_part(pairs, metric_settings, statistics)
        scores = scorer.score([candidate] * len(references), references, **settings)["scores"]
        closest = scores.index((max if result["higher_is_better"] else min)(scores))
        options = settings
        if "idf" in vars(scorer.settings):  # explained with the weights that all references give
            options = {**settings, "idf": statistics.weighting(metric_settings)[1]}
        return Answer(
            metric=metric,
            settings=settings,
            candidate=candidate,
            references=references,
            score=result[metric],
            higher_is_better=result["higher_is_better"],
            baseline=unrelated(scorer, pairs, metric_settings, statistics),
            readable=is_judged(result.counts),
            warnings=result["warnings"],
            signature=result["signature"],
            closest=closest,
            why=VIEWS[metric].explain(scorer, candidate, references[closest], options),
        )


def score_in_parts(
    metric: str, pairs: Pairs, counts: Sequence[Sequence[int]], settings: Mapping[str, Any]
) -> Iterator[int | dict[str, Any]]:
    """The number of pairs done, again and again, and at last the whole.

    Between two parts others get their turn, and a visitor who has left is noticed. The weights come
    from all pairs, so that the scores are those of one call of `compute`.

    Args:
        metric: its name.
        pairs: checked.
        counts: the tokens of each text of each pair.
        settings: checked.
    """
    with LOCK:
        scorer = scorer_of(metric, settings["model_name_or_path"])
        metric_settings = scorer.settings.replace(**settings)
        statistics = scorer.count(pairs.texts_by_side, metric_settings)
    scores: list[float] = []
    warnings: Counter[str] = Counter()
    work = sum(count**2 for row in counts for count in row)
    size = max(1, limits.PART_WORK * len(pairs) // work)
    for start in range(0, len(pairs), size):
        with LOCK:
            part = pairs.part(start, start + size)
            result = scorer.score_part(part, metric_settings, statistics)
        scores += result["scores"]
        warnings = add_counts([warnings, result.counts])
        yield len(scores)
    with LOCK:
        baseline = unrelated(scorer, pairs, metric_settings, statistics)
    yield {
        "metric": metric,
        "mean": sum(scores) / len(scores),
        "scores": scores,
        "higher_is_better": result["higher_is_better"],
        "unrelated": baseline,
        "warnings": occurring(warnings),
        "signature": result["signature"],
    }


def unrelated(scorer: Any, pairs: Pairs, settings: Any, statistics: Any) -> BaselineStats | None:
    """Return the statistics of unrelated texts by the package's baseline, if it fits."""
    counts = Counter(pairs.counts)
    stats = most_frequent(scorer.baseline_stats(settings, statistics, None, counts), counts)
    return stats and stats[settings.names[0]]
