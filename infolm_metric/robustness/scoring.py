"""Metrics on the cases of a suite: every different pair of texts is scored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from infolm_metric.kernel.checks import number
from infolm_metric.kernel.idf.statistics import CANDIDATES, Statistics
from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.kernel.settings import Settings
from infolm_metric.robustness.report import CaseScores, MetricResult, Robustness, summarise
from infolm_metric.robustness.triples import Triple, check_kinds

SIDES = tuple(each.name for each in fields(CaseScores))[:3]
"""The texts of a case that scores made elsewhere have, in their order."""


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
        TypeError, ValueError: there are no cases, one is of another kind than its attack, a name
            comes twice, a metric counts candidates, or a column does not have finite numbers for
            each case. All that is found before anything is scored.
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
    check_kinds(triples)
    checked = [(column, _checked(column, len(triples))) for column in columns]
    plans = [_planned(name, scorer, triples) for name, scorer in scorers.items()]
    labels = [label for plan in plans for label in plan.labels.values()]
    for name in _repeated([*labels, *(column.name for column in columns)]):
        raise ValueError(f"two metrics are called {name!r}; rename the column of scores")
    found: dict[str, MetricResult] = {}
    for plan in plans:
        found |= _measured(plan, triples)
    for column, rows in checked:
        sign = 1 if column.higher_is_better else -1
        scores = [
            CaseScores(*(None if each is None else sign * each for each in row)) for row in rows
        ]
        found[column.name] = MetricResult(None, summarise(triples, scores))
    return Robustness(found)


@dataclass(frozen=True)
class _Plan:
    """A metric with what it counted on the anchors, and the name of each of its scores."""

    scorer: MetricScorer
    settings: Settings
    statistics: Statistics
    labels: Mapping[str, str]


def _planned(name: str, scorer: MetricScorer, triples: Sequence[Triple]) -> _Plan:
    """What can be refused of a metric is refused here, before any is scored."""
    settings = scorer.settings.replace(rescale_with_baseline=False)
    if CANDIDATES in settings.counted:
        raise ValueError(
            "idf='separate' weighs candidates by a corpus of attacked texts; use "
            "'references', False or a table"
        )
    anchors = Pairs.of(("", [text]) for text in dict.fromkeys(each.anchor for each in triples))
    with scorer.lock:
        statistics = scorer.inner.count(anchors, settings)
    kinds = settings.names
    labels = {kind: f"{name} {settings.label(kind)}" for kind in kinds}
    return _Plan(scorer, settings, statistics, labels if len(kinds) > 1 else {kinds[0]: name})


def _checked(column: Column, cases: int) -> list[list[float | None]]:
    """The scores of a column; ValueError or TypeError unless they are numbers, of each case."""
    if len(column.scores) != cases:
        raise ValueError(
            f"column {column.name!r} has {len(column.scores)} rows of scores for {cases} cases"
        )
    where = f"column {column.name!r}: scores"
    for place, row in enumerate(column.scores):
        if len(row) != len(SIDES):
            raise ValueError(f"{where}[{place}] must be {', '.join(SIDES)}, got {row!r}")
    return [
        [
            None if score is None else number(f"{where}[{place}], that of the {side},", score)
            for side, score in zip(SIDES, row, strict=True)
        ]
        for place, row in enumerate(column.scores)
    ]


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for place, name in enumerate(names) if name in names[:place]]


def _measured(plan: _Plan, triples: Sequence[Triple]) -> dict[str, MetricResult]:
    """The results of a metric by label, one for each score that it gives."""
    couples = [_texts(triple) for triple in triples]
    distinct = list(dict.fromkeys(couple for group in couples for couple in group if couple))
    pairs = Pairs.of((candidate, [anchor]) for candidate, anchor in distinct)
    with plan.scorer.lock:
        result: Result = plan.scorer.inner.score(pairs, plan.settings, plan.statistics)
    result.remarks.warn()
    sign = 1 if result.higher_is_better else -1
    made = {}
    for kind, column in result.scores.items():
        table = {couple: sign * score for couple, score in zip(distinct, column, strict=True)}
        scores = [CaseScores(*(each and table[each] for each in group)) for group in couples]
        made[plan.labels[kind]] = MetricResult(result.signature, summarise(triples, scores))
    return made


def _texts(triple: Triple) -> list[tuple[str, str] | None]:
    """The pairs of texts that a case needs, in the order of `CaseScores`."""
    copy = triple.anchor if triple.paraphrase_adversary is None else None
    candidates = (triple.paraphrase, triple.adversary, triple.paraphrase_adversary, copy)
    return [None if text is None else (text, triple.anchor) for text in candidates]
