"""The metrics in lm-evaluation-harness: importing this module registers them.

As of its BLEU, a document leaves a reference and an output, and the corpus is scored once, at the
end: with the idf, and in the batches, of `compute`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

from infolm_metric.core.scorer import Scorer
from infolm_metric.integrations import check_one_score, needed
from infolm_metric.metrics import METRICS, find

with needed("lm-eval"):
    from lm_eval.api.registry import register_aggregation, register_metric

Item: TypeAlias = tuple[str | list[str], str, dict[str, Any]]
"""The reference or references of a document, the output, and the settings."""


@cache
def scorer_of(name: str) -> Scorer:
    """The scorer of a metric, whose model is kept from one task to the next."""
    return find(name).scorer_type()()


def pass_through(references: Sequence[Any], predictions: Sequence[str], **settings: Any) -> Item:
    """What a document leaves for the score of the corpus.

    Args:
        references: of one document: its reference, or a list of its references.
        predictions: the output for it.
        **settings: of the metric; those of a task's first document hold for all.

    Returns:
        An entry of what the aggregation gets.

    >>> pass_through([["A cat.", "The cat."]], ["Cats."], idf=False)
    (['A cat.', 'The cat.'], 'Cats.', {'idf': False})
    """
    (reference,), (prediction,) = references, predictions
    return reference, prediction, settings


def aggregation(name: str) -> Callable[[Sequence[Any]], float]:
    """The function that scores the documents of a task by a metric."""

    def score(items: Sequence[Any]) -> float:
        if isinstance(items[0], int | float):
            raise ValueError(
                f"{name} got {items[0]!r} in place of texts, as where doc_to_target gives lists; "
                "give references in process_results, through pass_through"
            )
        references, predictions, settings = zip(*items, strict=True)
        scorer = scorer_of(name)
        check_one_score(scorer.settings.replace(**settings[0]))
        result = scorer.score(list(predictions), list(references), **settings[0])
        return float(result[name])

    return score


for name in METRICS:
    register_aggregation(name)(aggregation(name))
    register_metric(
        metric=name,
        higher_is_better=find(name).scorer_type().higher_is_better,
        output_type="generate_until",
        aggregation=name,
    )(pass_through)
