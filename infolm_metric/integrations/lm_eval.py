"""Metrics for lm-evaluation-harness; importing this module registers them.

As with BLEU, references and outputs are collected, and the whole corpus is scored at the end. IDF
is therefore estimated from all documents.
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

# A document's references, the model's output, and the settings.
Item: TypeAlias = tuple[list[str], str, dict[str, Any]]


@cache
def load_scorer(name: str) -> Scorer:
    """Return a metric's scorer, which all tasks share, so that the model is loaded only once."""
    return find(name).scorer_type()()


def pass_through(references: Sequence[Any], predictions: Sequence[str], **settings: Any) -> Item:
    """Return a document's references, output and settings, to be scored with the whole corpus.

    `references` contains the document's references, or a single entry with the list of references.
    `predictions` is a list whose only entry is the output. `settings` are settings of the metric; a
    task uses the settings of its first document. Raises TypeError or ValueError if a text is not a
    string, or there is no reference.

    >>> pass_through([["A cat.", "The cat."]], ["Cats."], idf=False)
    (['A cat.', 'The cat.'], 'Cats.', {'idf': False})
    """
    group = references[0] if len(references) == 1 else references
    pairs = check_pairs(predictions, [group])
    return pairs.all_references[0], pairs.predictions[0], settings


def document_metric(name: str) -> Callable[..., Item]:
    """Return the function that lm-eval calls for each document; it checks the arguments."""
    checked: list[dict[str, Any]] = []

    def check(references: Sequence[Any], predictions: Sequence[str], **settings: Any) -> Item:
        try:
            if settings not in checked:
                check_one_score(load_scorer(name).settings.replace(**settings))
                checked.append(settings)
            return pass_through(references, predictions, **settings)
        except TypeError as error:
            # After a TypeError, lm-eval retries with other arguments and hides the message.
            raise ValueError(f"{name}: {error}") from error

    return check


def aggregation(name: str) -> Callable[[Sequence[Any]], float]:
    """Return the function that scores all documents in a task."""

    def score(items: Sequence[Any]) -> float:
        if isinstance(items[0], int | float):
            raise ValueError(
                f"{name} requires texts, got the number {items[0]!r}; if doc_to_target returns "
                "lists, pass the references with pass_through in process_results instead"
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
