"""Scores of the same texts under many settings, in as few readings as the metric allows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from infolm_metric.kernel.idf.statistics import CANDIDATES
from infolm_metric.kernel.pairs import Pairs, check_pairs
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.scorer import MetricScorer, Report, silent
from infolm_metric.kernel.settings import Settings


def score_grid(
    scorer: MetricScorer,
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    settings: Sequence[Settings],
    *,
    corpus: Sequence[str] | None = None,
    report: Report = silent,
) -> list[tuple[Settings, np.ndarray]]:
    """Every setting, of one score each, with its scores, which are those of `scorer.score`.

    The metric scores all settings in one call: InfoLM's model reads each text once. On the texts of
    `corpus` is counted what a setting counts before it scores (default: on the pairs); `report` is
    told of the scores done. Returned are float64 [pairs], as the metric gives them: see `oriented`.
    """
    if corpus is not None and any(CANDIDATES in each.counted for each in settings):
        raise ValueError("idf='separate' counts the candidates too, and a corpus holds references")
    pairs = list(check_pairs(predictions, references))
    # Pairs with the same references stand together.
    first: dict[tuple[str, ...], int] = {}
    keys = [first.setdefault(tuple(group), pair) for pair, (_, group) in enumerate(pairs)]
    order = sorted(range(len(pairs)), key=keys.__getitem__)
    ordered = Pairs.of(pairs[index] for index in order)
    documents = ordered if corpus is None else Pairs.of(("", [text]) for text in corpus)
    with scorer.lock:
        alike = {_counting(each): each for each in settings}
        counts = {key: scorer.inner.count(documents, each) for key, each in alike.items()}
        statistics = [counts[_counting(each)] for each in settings]
        results = scorer.inner.score_many(ordered, settings, statistics, report)
    Remarks.most([result.remarks for result in results]).warn()
    back = np.argsort(order)
    columns = [next(iter(result.scores.values())) for result in results]
    return [(each, np.asarray(one)[back]) for each, one in zip(settings, columns, strict=True)]


def oriented(scorer: MetricScorer, settings: Settings, scores: np.ndarray) -> np.ndarray:
    """The scores, negated if under these settings lower is better."""
    return scores if scorer.inner.higher_is_better(settings) else -scores


def _counting(settings: Settings) -> tuple[object, ...]:
    """What decides what is counted: the sides, and which model cuts them into tokens and how."""
    reader = getattr(settings, "other", None) or settings
    names = ("model_name_or_path", "model_revision", "max_length", "long_text")
    return settings.counted, *(getattr(reader, name, None) for name in names)
