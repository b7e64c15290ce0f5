"""Metrics for lm-evaluation-harness. Importing this module registers them.

As with BLEU, references and outputs are collected, and the whole corpus is scored at the end. IDF
can therefore be estimated from all documents. Documents without a reference are left out. BERTScore
is registered as infolm_bertscore, as in `evaluate`. answer_check scores each document immediately,
and also reports the fraction of each verdict.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from infolm_metric.answer_check.verdict import LIKELY_WRONG, VERDICTS
from infolm_metric.core.checks import InputError, warn_user
from infolm_metric.core.inputs import check_texts, counted
from infolm_metric.integrations import check_one_score, load_scorer, present_references, require
from infolm_metric.metrics import METRICS

with require("lm-eval"):
    from lm_eval.api.registry import register_aggregation, register_metric

# A document's references, the model's output, and the settings.
Item: TypeAlias = tuple[list[str], str, dict[str, object]]
# Verdicts by the name of the metric that reports their fraction.
FRACTIONS = {f"answer_check_{word.replace(' ', '_')}": word for word in VERDICTS}


def pass_through(references: Sequence[Any], predictions: Sequence[str], **settings: object) -> Item:
    """Return a document's references, output and settings, to be scored with the whole corpus.

    `references` contains the document's references, or a single entry with the list of references.
    `predictions` is a list whose only entry is the output. `settings` are settings of the metric. A
    task uses the settings of its first document. Blank and missing references are left out. Raises
    InputError if a text is not a string, or `predictions` is not a single text.

    >>> pass_through([["A cat.", "The cat."]], ["Cats."], idf=False)
    (['A cat.', 'The cat.'], 'Cats.', {'idf': False})
    """
    single = isinstance(references, list | tuple) and len(references) == 1
    group = present_references("references", references[0] if single else references)
    outputs = check_texts("predictions", predictions)
    if len(outputs) != 1:
        raise InputError(f"predictions must contain one output, got {len(outputs)}")
    return group, outputs[0], settings


def check_answer(
    references: Sequence[Any], predictions: Sequence[str], **settings: Any
) -> dict[str, float]:
    """Return a document's score, and 1 for its verdict and 0 for other verdicts, by metric.

    The arguments are as in `pass_through`. The result is empty without a reference, which leaves
    the document out. All verdicts are 0 if the verdict is withheld.

    >>> [name for name, value in check_answer(["Rome"], ["Oslo"]).items() if value == 1]
    ['answer_check_likely_wrong']
    """
    item = pass_through(references, predictions)
    _warn_about_missing([item[0]])
    scorer = load_scorer("answer_check")
    check_one_score(scorer.settings.replace(**settings))
    if not item[0]:
        return {}
    result = scorer.score([item[1]], [item[0]], **settings)
    verdicts = {name: float(word == result.verdicts[0]) for name, word in FRACTIONS.items()}
    return {"answer_check": float(result["answer_check"]), **verdicts}


def aggregation(name: str) -> Callable[[Sequence[Any]], float]:
    """Return the function that scores all documents in a task."""

    def score(items: Sequence[Any]) -> float:
        if isinstance(items[0], int | float):
            raise InputError(
                f"{name} requires texts, got the number {items[0]!r}. If doc_to_target returns "
                "lists, pass the references with pass_through in process_results instead."
            )
        _warn_about_missing([item[0] for item in items])
        documents = [item for item in items if item[0]]
        if not documents:
            return math.nan
        references, predictions, settings = zip(*documents, strict=True)
        scorer = load_scorer(name)
        check_one_score(scorer.settings.replace(**settings[0]))
        result = scorer.score(list(predictions), list(references), **settings[0])
        return float(result[name])

    return score


def _warn_about_missing(groups: Sequence[object]) -> None:
    """Warn about documents without a reference, or with a missing one that became a text."""
    if n := sum(group in ([], ["None"]) for group in groups):
        warn_user(f"{counted(n, 'document')} without a reference (omitted) or with 'None'. Add it.")


_register = partial(register_metric, output_type="generate_until")
for name, metric in METRICS.items():
    if name != "answer_check":
        label, better = metric.registered_name, metric.scorer_type().higher_is_better
        register_aggregation(label)(aggregation(name))
        _register(metric=label, aggregation=label, higher_is_better=better)(pass_through)
for name in ("answer_check", *FRACTIONS):
    better = FRACTIONS.get(name) != LIKELY_WRONG
    _register(metric=name, aggregation="mean", higher_is_better=better)(check_answer)
