"""Metrics on the cases of a suite: every different pair of texts is scored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infolm_metric.kernel.idf.statistics import CANDIDATES
from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.rescaling import score_whole
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.kernel.wording import spelled
from infolm_metric.robustness.report import CaseScores, MetricResult, Robustness, summarise
from infolm_metric.robustness.triples import Triple


@dataclass(frozen=True)
class Column:
    """Scores made elsewhere, against the anchor of each case.

    Attributes:
        name: that of the metric.
        scores: of every case, in order: those of the paraphrase, the adversary and the paraphrase's
            adversary; None where there is none.
        higher_is_better: False for a metric of which lower is.
    """

    name: str
    scores: Sequence[tuple[float | None, float | None, float | None]]
    higher_is_better: bool = True


def measure(
    triples: Sequence[Triple],
    scorers: Mapping[str, MetricScorer],
    columns: Sequence[Column] = (),
) -> Robustness:
    """How the metrics, and the scores made elsewhere, do on the cases.

    Every metric scores each different pair of a text and an anchor once, in one call. What it
    counts before, as idf="references" does, it counts on the anchors, each once, as it would if
    they were scored by themselves.

    Args:
        triples: the cases.
        scorers: metrics by name.
        columns: scores made elsewhere.

    Returns:
        The result of each metric, then of each column, by name. A metric that gives several scores
        has an entry for each, whose name is the metric's and the score's.

    Raises:
        ValueError: there are no cases, a name comes twice, a metric counts candidates, or a column
            has more or fewer scores than there are cases.
        OSError: a model cannot be found.

    >>> from infolm_metric import InfoLMScorer
    >>> from infolm_metric.robustness.items import Item
    >>> from infolm_metric.robustness.triples import make_triples
    >>> cases = make_triples([Item("1", ("It has 12 rooms.",))], ["num"])
    >>> scorer = InfoLMScorer(model_name_or_path="bundled", idf=False)
    >>> found = measure(cases, {"infolm": scorer})
    >>> found.metrics["infolm"].attacks["num"].n
    1
    """
    if not triples:
        raise ValueError("there are no cases; no attack applied to the texts")
    found: dict[str, MetricResult] = {}
    for name, scorer in scorers.items():
        for label, result in _measured(name, scorer, triples).items():
            _add(found, label, result)
    for column in columns:
        sign = 1 if column.higher_is_better else -1
        scores = [
            CaseScores(*(None if value is None else sign * value for value in row))
            for row in column.scores
        ]
        _add(found, column.name, MetricResult(None, summarise(triples, scores)))
    return Robustness(found)


def _add(found: dict[str, MetricResult], name: str, result: MetricResult) -> None:
    if name in found:
        raise ValueError(f"two metrics are called {name!r}; rename the column of scores")
    found[name] = result


def _measured(
    name: str, scorer: MetricScorer, triples: Sequence[Triple]
) -> dict[str, MetricResult]:
    """The results of a metric by label, one for each score that it gives."""
    settings = scorer.settings.replace(rescale_with_baseline=False)
    if CANDIDATES in settings.counted:
        raise ValueError(
            f"{spelled('idf', 'separate')} weighs candidates by a corpus of attacked texts; use "
            "'references', False or a table"
        )
    couples = [_texts(triple) for triple in triples]
    distinct = list(dict.fromkeys(couple for group in couples for couple in group if couple))
    pairs = Pairs.of((candidate, [anchor]) for candidate, anchor in distinct)
    anchors = Pairs.of(("", [text]) for text in dict.fromkeys(each.anchor for each in triples))
    with scorer.lock:
        statistics = scorer.inner.count(anchors, settings)
        result: Result = score_whole(scorer.inner, pairs, settings, statistics)
    result.remarks.warn()
    sign = 1 if result.higher_is_better else -1
    made = {}
    for kind, column in result.scores.items():
        table = {couple: sign * score for couple, score in zip(distinct, column, strict=True)}
        scores = [CaseScores(*(each and table[each] for each in group)) for group in couples]
        label = name if len(result.scores) == 1 else f"{name} {settings.label(kind)}"
        made[label] = MetricResult(result.signature, summarise(triples, scores))
    return made


def _texts(triple: Triple) -> list[tuple[str, str] | None]:
    """The pairs of texts that a case needs, in the order of `CaseScores`."""
    copy = triple.anchor if triple.paraphrase_adversary is None else None
    candidates = (triple.paraphrase, triple.adversary, triple.paraphrase_adversary, copy)
    return [None if text is None else (text, triple.anchor) for text in candidates]
