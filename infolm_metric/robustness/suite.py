"""Robustness suite: how often metrics prefer a paraphrase to an attacked reference."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.stats import binomtest

from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import warn
from infolm_metric.core.signature import Signature
from infolm_metric.robustness.attacks import ATTACK_KINDS, ATTACKS
from infolm_metric.robustness.cases import AttackCase

if TYPE_CHECKING:
    from infolm_metric.scoring.scorer import Scorer

# Texts of a case for which external scores are read, in this order.
SCORED_TEXTS = ("paraphrase", "adversary", "paraphrase_adversary")
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-6, 1e-9  # closer scores count as ties
MACRO_GROUPS = ("all", *ATTACK_KINDS)


class CaseScores(NamedTuple):
    """Scores of a case's texts against the anchor (higher is better). NaN for missing texts.

    `anchor` is the anchor's score against itself, used if there is no attacked paraphrase.
    """

    paraphrase: float
    adversary: float
    paraphrase_adversary: float
    anchor: float = math.nan


@dataclass(frozen=True)
class ExternalScores:
    """Scores of another metric for each case, computed against the case's anchor.

    Attributes:
        name: the name of the metric.
        scores: scores of each case's paraphrase, adversary and paraphrase_adversary, [cases, 3],
            with NaN for missing texts.
        higher_is_better: False if lower scores are better.
    """

    name: str
    scores: Sequence[Sequence[float]]
    higher_is_better: bool = True


@dataclass(frozen=True)
class AttackResult:
    """A metric's results for one attack. Fractions are from 0 to 1, or None if there are no cases.

    Attributes:
        attack: the name of the attack.
        kind: "adequacy" or "fluency".
        cases: the number of cases with a paraphrase. The accuracy refers to these cases.
        texts: the number of attacked texts. The sensitivity refers to these texts.
        accuracy: the fraction of cases in which the paraphrase scores better than the attacked
            anchor. Ties count as misses.
        low: the lower bound of the 95% Wilson interval for the accuracy.
        high: the upper bound of the interval.
        ties: the fraction of cases in which the paraphrase and the attacked anchor score the same.
        sensitivity: the fraction of cases in which a text scores better than the same text after
            the attack. The text is the paraphrase if it could be attacked, otherwise the anchor.
    """

    attack: str
    kind: str
    cases: int
    texts: int
    accuracy: float | None
    low: float | None
    high: float | None
    ties: float | None
    sensitivity: float | None

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers that `infolm robustness --json` writes."""
        names = ("accuracy", "low", "high", "ties", "sensitivity")
        return {"n": self.cases, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class MetricResult:
    """A metric's results for all attacks.

    Attributes:
        signature: the signature of the scores. None for external scores.
        attacks: attack -> result, for attacks with cases, in the order of `ATTACKS`.
    """

    signature: Signature | None
    attacks: Mapping[str, AttackResult]

    def macro(self, statistic: str = "accuracy") -> dict[str, float | None]:
        """Average a statistic over the "all", "adequacy" and "fluency" attacks, with equal weights.

        `statistic` is "accuracy", "sensitivity" or "ties". A mean without cases is None.
        """
        means: dict[str, float | None] = {}
        for group in MACRO_GROUPS:
            results = [result for result in self.attacks.values() if group in ("all", result.kind)]
            values = [getattr(result, statistic) for result in results]
            values = [value for value in values if value is not None]
            means[group] = sum(values) / len(values) if values else None
        return means

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers that `infolm robustness --json` writes."""
        return {
            "signature": self.signature,
            "attacks": {name: result.as_dict() for name, result in self.attacks.items()},
            "macro": self.macro(),
            "macro_sensitivity": self.macro("sensitivity"),
        }


def wilson_interval(hits: int, n: int) -> tuple[float, float]:
    """Return the 95% score interval for a proportion, within [0, 1] (Wilson 1927).

    `hits` is the number of successes in `n` trials. Raises InputError if `n` is 0 or smaller than
    `hits`.

    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    interval = binomtest(hits, n).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def summarise(cases: Sequence[AttackCase], scores: Sequence[CaseScores]) -> dict[str, AttackResult]:
    """Return attack -> result, for attacks with cases, in the order of `ATTACKS`."""
    scores_by_attack: dict[str, list[CaseScores]] = {name: [] for name in ATTACKS}
    for case, case_scores in zip(cases, scores, strict=True):
        scores_by_attack[case.attack].append(case_scores)
    return {name: _summarise(name, rows) for name, rows in scores_by_attack.items() if rows}


def _summarise(name: str, scores: Sequence[CaseScores]) -> AttackResult:
    preferences = _compare((row.paraphrase, row.adversary) for row in scores)
    differences = _compare(
        (row.anchor, row.adversary)
        if math.isnan(row.paraphrase) or math.isnan(row.paraphrase_adversary)
        else (row.paraphrase, row.paraphrase_adversary)
        for row in scores
    )
    n, hits = len(preferences), preferences.count(1)
    low, high = wilson_interval(hits, n) if n else (None, None)
    return AttackResult(
        attack=name,
        kind=ATTACKS[name].kind,
        cases=n,
        texts=len(differences),
        accuracy=hits / n if n else None,
        low=low,
        high=high,
        ties=preferences.count(0) / n if n else None,
        sensitivity=differences.count(1) / len(differences) if differences else None,
    )


def _compare(pairs: Iterable[tuple[float, float]]) -> list[int]:
    """Return 1 if the first score is better, 0 for a tie, -1 if it is worse. Skip NaN."""
    return [
        0
        if math.isclose(x, y, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)
        else (x > y) * 2 - 1
        for x, y in pairs
        if not (math.isnan(x) or math.isnan(y))
    ]


def evaluate_robustness(
    cases: Sequence[AttackCase],
    scorers: Mapping[str, Scorer],
    columns: Sequence[ExternalScores] = (),
) -> dict[str, MetricResult]:
    """Evaluate metrics (`scorers`, by name) and external scores (`columns`) on attack `cases`.

    Return the results by name: first the metrics, then the columns. If a metric has several scores,
    each score has an entry, such as "infolm" and "infolm_kl_divergence". Corpus statistics, such as
    document frequencies, are collected from the distinct anchors.

    The arguments are checked before any text is scored. Raises InputError if there are
    no cases, two metrics have the same name, a metric uses document frequencies of candidates, or a
    column has infinite scores or the wrong length. Raises OSError if a model cannot be found.

    >>> from infolm_metric import InfoLMScorer
    >>> from infolm_metric.robustness import Item, make_cases
    >>> cases = make_cases([Item("1", ("It has 12 rooms.",))], ["num"])
    >>> scorer = InfoLMScorer(model_name_or_path="bundled", idf=False)
    >>> evaluate_robustness(cases, {"infolm": scorer})["infolm"].attacks["num"].cases
    1
    """
    if not cases:
        raise InputError("no attack applies to these texts. Pass different texts or attacks.")
    names = [*scorers, *(column.name for column in columns)]
    for name in {name for name in names if names.count(name) > 1}:
        raise InputError(f"two metrics are named {name!r}. Rename the column of scores.")
    for column in columns:
        if len(column.scores) != len(cases):
            raise InputError(
                f"column {column.name!r} must have one row of scores per case, {len(cases)} in "
                f"total, got {len(column.scores)}"
            )
        if any(math.isinf(score) for row in column.scores for score in row):
            raise InputError(f"column {column.name!r} has infinite scores. Replace them with NaN.")
    for scorer in scorers.values():
        if "candidates" in scorer.settings.idf_sides:
            raise InputError(
                "idf='separate' would compute the token weights of candidates from attacked texts. "
                "Use idf='references', idf=False or a table."
            )
    results: dict[str, MetricResult] = {}
    for name, scorer in scorers.items():
        results |= _evaluate(name, scorer, cases)
    for column in columns:
        rows = [_orient(row, column.higher_is_better) for row in column.scores]
        results[column.name] = MetricResult(None, summarise(cases, rows))
    return results


def _orient(scores: Iterable[float], higher_is_better: bool) -> CaseScores:
    """Negate scores if lower is better."""
    return CaseScores(*(score if higher_is_better else -score for score in scores))


def _evaluate(name: str, scorer: Scorer, cases: Sequence[AttackCase]) -> dict[str, MetricResult]:
    """Score all cases with a metric, and return the results for each of its scores."""
    texts = [
        (case.paraphrase, case.adversary, case.paraphrase_adversary, case.anchor) for case in cases
    ]
    pairs = dict.fromkeys(
        (text, row[3])
        for row in texts
        for text in (row if row[2] is None else row[:3])
        if text is not None
    )
    anchors = list(dict.fromkeys(case.anchor for case in cases))
    run = scorer.prepare(corpus={"candidates": anchors, "references": anchors})
    result = run.score(Pairs.of((text, [anchor]) for text, anchor in pairs))
    warn(result.counts, scorer.warning_messages)
    results = {}
    for score_name, column in result.scores.items():
        table: dict[tuple[str | None, str], float] = dict(zip(pairs, column, strict=True))
        scores = [
            _orient((table.get((text, row[3]), math.nan) for text in row), result.higher_is_better)
            for row in texts
        ]
        column = scorer.settings.column(score_name).removeprefix(scorer.settings.metric)
        title = f"{name}{column}" if result.several else name
        results[title] = MetricResult(result.signature, summarise(cases, scores))
    return results
