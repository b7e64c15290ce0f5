"""The metrics in lm-evaluation-harness: importing this module registers them.

As with BLEU there, references and outputs are collected and the corpus is scored once, at the end,
with the IDF weights and batches of `compute`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias

from infolm_metric.core.inputs import check_pairs
from infolm_metric.core.scorer import Scorer
from infolm_metric.integrations import check_one_score, require
from infolm_metric.metrics import METRICS, find

with require("lm-eval"):
    from lm_eval.api.registry import register_aggregation, register_metric

Item: TypeAlias = tuple[list[str], str, dict[str, Any]]
"""The references of a document, the output, and the settings."""


@cache
def load_scorer(name: str) -> Scorer:
    """Return the scorer of a metric, which keeps its model from one task to the next."""
    return find(name).scorer_type()()


def pass_through(references: Sequence[Any], predictions: Sequence[str], **settings: Any) -> Item:
    """Return an entry for the score of the corpus.

    Args:
        references: one entry: the document's reference, or a list of its references. Several
            entries are the references of the document, as recent versions of lm-eval pass them.
        predictions: one entry, the output for the document.
        **settings: settings of the metric; the settings of a task's first document apply to all.

    Returns:
        The references, the output and the settings.

    Raises:
        TypeError, ValueError: a text is not a string, or there is no reference.

    >>> pass_through([["A cat.", "The cat."]], ["Cats."], idf=False)
    (['A cat.', 'The cat.'], 'Cats.', {'idf': False})
    """
    group = references[0] if len(references) == 1 else references
    pairs = check_pairs(predictions, [group])
    return pairs.references[0], pairs.predictions[0], settings


def document_metric(name: str) -> Callable[..., Item]:
    """Return the function that lm-eval calls for each document, which checks its arguments."""
    checked: list[dict[str, Any]] = []

    def check(references: Sequence[Any], predictions: Sequence[str], **settings: Any) -> Item:
        try:
            if settings not in checked:
                check_one_score(load_scorer(name).settings.replace(**settings))
                checked.append(settings)
            return pass_through(references, predictions, **settings)
        except TypeError as error:
            # After a TypeError lm-eval calls again, with other arguments, and hides the reason.
            raise ValueError(f"{name}: {error}") from error

    return check


def aggregation(name: str) -> Callable[[Sequence[Any]], float]:
    """Return the function that scores all documents of a task."""

    def score(items: Sequence[Any]) -> float:
        if isinstance(items[0], int | float):
            raise ValueError(
                f"{name} got {items[0]!r} in place of texts, as where doc_to_target gives lists; "
                "give references in process_results, through pass_through"
            )
        references, predictions, settings = zip(*items, strict=True)
        scorer = load_scorer(name)
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
    )(document_metric(name))
