"""Scores of the same texts under many settings, in as few readings as the metric allows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from infolm_metric.kernel.idf.statistics import CANDIDATES
from infolm_metric.kernel.pairs import Pairs, check_pairs
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.rescaling import score_part
from infolm_metric.kernel.scorer import MetricScorer, Report, silent
from infolm_metric.kernel.settings import Settings


@dataclass(frozen=True)
class Columns:
    """Scores by label, each [pairs], and the signature of a `score` call that gives them.

    `rescaled` holds them rescaled, too, if the settings ask for it.
    """

    scores: dict[str, np.ndarray]
    signature: str
    higher_is_better: bool
    rescaled: dict[str, np.ndarray] = field(default_factory=dict)


def score_grid(
    scorer: MetricScorer,
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    settings: Sequence[Settings],
    *,
    corpus: Sequence[str] | None = None,
    report: Report = silent,
) -> list[tuple[Settings, np.ndarray]]:
    """Every setting with its scores, which are those that `scorer.score` gives for the whole list.

    The metric scores all settings in one call: InfoLM's model reads each text once. Where a setting
    asks for rescaled scores too, each has a call of its own.

    Args:
        scorer: the metric.
        predictions: the candidates, [pairs].
        references: for each a list of its references.
        settings: of one score each.
        corpus: the texts on which is counted what a setting counts before it scores, as
            idf="references" does (default: the pairs).
        report: told of the scores done, as they are done, unless a setting asks for rescaled ones.

    Returns:
        Each of the settings, in order, with its scores, float64 [pairs], not rescaled, and as the
        metric gives them: see `turned`.

    Raises:
        TypeError, ValueError: a text is wrong, a setting gives several scores, or counts candidates
            beside a `corpus`.
        OSError: the model cannot be found.

    >>> from infolm_metric import InfoLMScorer
    >>> scorer = InfoLMScorer(model_name_or_path="bundled")
    >>> grid = scorer.settings.grid({"temperature": [1, 2]})
    >>> found = score_grid(scorer, ["A cat."], [["A cat."]], grid)
    >>> [(settings.temperature, scores) for settings, scores in found]
    [(1.0, array([0.])), (2.0, array([0.]))]
    """
    check_single(*settings)
    found = _columns(scorer, predictions, references, settings, corpus, report)
    return [
        (each, scores)
        for each, one in zip(settings, found, strict=True)
        for scores in one.scores.values()
    ]


def score_measures(
    scorer: MetricScorer,
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    corpus: Sequence[str] | None = None,
) -> Columns:
    """All scores that the scorer's own settings give, otherwise as `score_grid`.

    >>> from infolm_metric import InfoLMScorer
    >>> scorer = InfoLMScorer(model_name_or_path="bundled", information_measure=["l1", "l2"])
    >>> list(score_measures(scorer, ["A cat."], [["A cat."]]).scores)
    ['l1_distance', 'l2_distance']
    """
    return _columns(scorer, predictions, references, [scorer.settings], corpus, silent)[0]


def turned(scorer: MetricScorer, settings: Settings, scores: np.ndarray) -> np.ndarray:
    """The scores such that higher is better.

    Args:
        scorer: the metric.
        settings: those under which it gave the scores.
        scores: of any shape.

    Returns:
        The scores, negated if under these settings lower is better.
    """
    return scores if scorer.inner.higher_is_better(settings) else -scores


def check_single(*settings: Settings) -> None:
    """Raise ValueError unless each of the settings gives one score of a pair.

    >>> from infolm_metric import InfoLMScorer
    >>> check_single(InfoLMScorer(information_measure=["l1", "l2"]).settings)
    Traceback (most recent call last):
    ValueError: settings of one score are needed here, got ('l1_distance', 'l2_distance')
    """
    for each in settings:
        if len(each.names) != 1:
            raise ValueError(f"settings of one score are needed here, got {each.names}")


def check_countable(*settings: Settings) -> None:
    """Raise ValueError if any of the settings counts candidates, of which a corpus has none."""
    if any(CANDIDATES in each.counted for each in settings):
        raise ValueError(
            "idf='separate' counts the candidates too, and a corpus holds "
            "references only; use 'references', False or a table"
        )


def _columns(
    scorer: MetricScorer,
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    settings: Sequence[Settings],
    corpus: Sequence[str] | None,
    report: Report,
) -> list[Columns]:
    """The scores of every setting, from one call of the metric."""
    if corpus is not None:
        check_countable(*settings)
    given = list(check_pairs(predictions, references))
    order = _neighbours([group for _, group in given])
    pairs = Pairs.of(given[index] for index in order)
    documents = pairs if corpus is None else Pairs.of(("", [text]) for text in corpus)
    with scorer.lock:
        alike = {_counting(each): each for each in settings}
        counted = {key: scorer.inner.count(documents, each) for key, each in alike.items()}
        statistics = [counted[_counting(each)] for each in settings]
        if any(each.rescale_with_baseline for each in settings):
            both = zip(settings, statistics, strict=True)
            results = [score_part(scorer.inner, pairs, *each) for each in both]
        else:
            results = scorer.inner.score_many(pairs, settings, statistics, report)
    _warn([result.remarks for result in results])
    back = np.argsort(order)
    return [
        Columns(
            {each.label(name): np.asarray(one)[back] for name, one in result.scores.items()},
            result.signature,
            result.higher_is_better,
            {each.label(name): np.asarray(one)[back] for name, one in result.rescaled.items()},
        )
        for each, result in zip(settings, results, strict=True)
    ]


def _counting(settings: Settings) -> tuple[object, ...]:
    """What decides what is counted: the sides, and which model cuts them into tokens and how."""
    reader = getattr(settings, "other", None) or settings
    names = ("model_name_or_path", "model_revision", "max_length", "long_text")
    return settings.counted, *(getattr(reader, name, None) for name in names)


def _neighbours(references: Sequence[Sequence[str]]) -> list[int]:
    """The pairs in an order in which those with the same references stand together."""
    first: dict[tuple[str, ...], int] = {}
    keys = [first.setdefault(tuple(group), pair) for pair, group in enumerate(references)]
    return sorted(range(len(references)), key=keys.__getitem__)


def _warn(remarks: Sequence[Remarks]) -> None:
    """Warn of most that is remarked on the same texts, where the meta-evaluation was called."""
    level = 1
    while sys._getframe(level).f_globals.get("__name__", "").startswith(str(__package__)):
        level += 1
    Remarks.most(remarks).warn(level)
