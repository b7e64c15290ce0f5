"""Robustness suite: how often metrics prefer a paraphrase to an attacked reference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from infolm_metric.core.checks import InputError
from infolm_metric.core.inputs import Pairs
from infolm_metric.core.results import warn
from infolm_metric.core.settings import Settings
from infolm_metric.core.signature import Signature
from infolm_metric.robustness.attacks import ATTACK_KINDS, ATTACKS
from infolm_metric.robustness.cases import AttackCase

if TYPE_CHECKING:
    from infolm_metric.scoring.scorer import Scorer

# Texts of a case that are scored against its anchor. External scores are read for the first three.
TEXTS = ("paraphrase", "adversary", "paraphrase_adversary", "anchor")
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-6, 1e-9  # closer scores count as ties


@dataclass(frozen=True)
class AttackResult:
    """A metric's results for one attack. Fractions are from 0 to 1, or None if there are no cases.

    Attributes:
        kind: "adequacy" or "fluency".
        texts: the number of attacked texts. The sensitivity refers to these texts.
        n: the number of cases with a paraphrase. The accuracy refers to these cases.
        accuracy: the fraction of cases in which the paraphrase scores better than the attacked
            anchor. Ties count as misses.
        low: the lower bound of the 95% Wilson interval for the accuracy.
        high: the upper bound of the interval.
        ties: the fraction of cases in which the paraphrase and the attacked anchor score the same.
        sensitivity: the fraction of cases in which a text scores better than the same text after
            the attack. The text is the paraphrase if it could be attacked, otherwise the anchor.
            For external scores, only attacked paraphrases are compared.
    """

    kind: str
    texts: int
    n: int
    accuracy: float | None
    low: float | None
    high: float | None
    ties: float | None
    sensitivity: float | None


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
        for group in ("all", *ATTACK_KINDS):
            results = (result for result in self.attacks.values() if group in ("all", result.kind))
            values = [getattr(result, statistic) for result in results]
            means[group] = _mean([value for value in values if value is not None])
        return means

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers that `infolm robustness --json` writes."""
        return {
            "signature": self.signature,
            "attacks": {name: vars(result) for name, result in self.attacks.items()},
            "macro": self.macro(),
            "macro_sensitivity": self.macro("sensitivity"),
        }


def summarise(cases: Sequence[AttackCase], scores: npt.ArrayLike) -> dict[str, AttackResult]:
    """Summarize the scores of each attack that has cases, in the order of `ATTACKS`.

    `scores` of TEXTS, [cases, texts], are higher for better texts, and NaN for missing texts.
    """
    table, names = np.asarray(scores, dtype=float), np.array([case.attack for case in cases])
    return {name: _summarise(name, table[names == name].T) for name in ATTACKS if name in names}


def _summarise(name: str, scores: np.ndarray) -> AttackResult:
    """Summarize the scores of an attack's cases, float64 [texts, cases]."""
    paraphrase, adversary, attacked_paraphrase, anchor = scores
    preferences = _compare(paraphrase, adversary)
    pairs = np.array([[paraphrase, attacked_paraphrase], [anchor, adversary]])
    differences = _compare(*np.where(np.isnan(pairs[0]).any(0), pairs[1], pairs[0]))
    n, hits = len(preferences), preferences > 0
    # Wilson 1927
    low, high = binomtest(hits.sum(), n).proportion_ci(method="wilson") if n else (None, None)
    return AttackResult(
        kind=ATTACKS[name].kind,
        texts=len(differences),
        n=n,
        accuracy=_mean(hits),
        low=low,
        high=high,
        ties=_mean(preferences == 0),
        sensitivity=_mean(differences > 0),
    )


def _mean(values: np.ndarray | list[float]) -> float | None:
    """Return the mean, or None without values."""
    return float(np.mean(values)) if len(values) else None


def _compare(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return 1 if the first score is better, 0 for a tie, -1 if it is worse. Skip NaN."""
    x, y = (side[~(np.isnan(x) | np.isnan(y))] for side in (x, y))
    ties = np.isclose(x, y, rtol=RELATIVE_TOLERANCE, atol=ABSOLUTE_TOLERANCE)
    return np.where(ties, 0, np.where(x > y, 1, -1))


def evaluate_robustness(
    cases: Sequence[AttackCase],
    scorers: Mapping[str, Scorer],
    columns: Mapping[str, npt.ArrayLike] | None = None,
) -> dict[str, MetricResult]:
    """Evaluate metrics (`scorers`, by name) and external scores (`columns`) on attack `cases`.

    `columns` are scores of other metrics by name, higher is better: the scores of each case's
    paraphrase, adversary and paraphrase_adversary against its anchor, [cases, 3], with NaN for
    missing texts. Return the results by name: first the metrics, then the columns. If a metric has
    several scores, each score has an entry, such as "infolm" and "infolm_kl_divergence". Corpus
    statistics, such as document frequencies, are collected from the distinct anchors.

    Raises InputError before any text is scored if there are no cases, two metrics have the same
    name, a metric uses document frequencies of candidates, or a column has the wrong shape. Raises
    OSError if a model cannot be found.

    >>> from infolm_metric import InfoLMScorer
    >>> from infolm_metric.robustness import Item, make_cases
    >>> cases = make_cases([Item("1", ("It has 12 rooms.",), "There are 12 rooms.")], ["num"])
    >>> scorer = InfoLMScorer(model_name_or_path="bundled", idf=False)
    >>> evaluate_robustness(cases, {"infolm": scorer})["infolm"].attacks["num"].n
    1
    """
    if not cases:
        raise InputError("cases is empty. If no attack applies to these texts, pass others.")
    columns = columns or {}
    for name, scores in columns.items():
        if any(name in _titles(key, scorer.settings) for key, scorer in scorers.items()):
            raise InputError(f"two metrics are named {name!r}. Rename the column of scores.")
        if (shape := list(np.shape(scores))) != [len(cases), 3]:
            raise InputError(f"column {name!r} must have shape [{len(cases)}, 3], got {shape}")
    if any("candidates" in scorer.settings.idf_sides for scorer in scorers.values()):
        raise InputError(
            "idf='separate' would compute the token weights of candidates from attacked texts. "
            "Use idf='references', idf=False or a table."
        )
    results: dict[str, MetricResult] = {}
    for name, scorer in scorers.items():
        results |= _evaluate(name, scorer, cases)
    for name, scores in columns.items():
        table = np.column_stack([np.asarray(scores), np.full(len(cases), np.nan)])  # no anchor
        results[name] = MetricResult(None, summarise(cases, table))
    return results


def _titles(name: str, settings: Settings) -> list[str]:
    """Return the names of a metric's scores in the results."""
    suffixes = (settings.column(score).removeprefix(settings.metric) for score in settings.names)
    return [f"{name}{suffix}" if settings.several else name for suffix in suffixes]


def _evaluate(name: str, scorer: Scorer, cases: Sequence[AttackCase]) -> dict[str, MetricResult]:
    """Score all cases with a metric, and return the results for each of its scores."""
    pairs = dict.fromkeys(
        (text, case.anchor)
        for case in cases
        for text in (case.paraphrase, case.adversary, case.paraphrase_adversary or case.anchor)
        if text is not None
    )
    anchors = list(dict.fromkeys(case.anchor for case in cases))
    run = scorer.prepare(corpus={"candidates": anchors, "references": anchors})
    result = run.score(Pairs.of((text, [anchor]) for text, anchor in pairs))
    warn(result.counts)
    sign, results = 1 if result.higher_is_better else -1, {}
    for title, column in zip(_titles(name, scorer.settings), result.scores.values(), strict=True):
        table: dict[Any, float] = dict(zip(pairs, column, strict=True))
        scores = [
            [sign * table.get((getattr(case, text), case.anchor), math.nan) for text in TEXTS]
            for case in cases
        ]
        results[title] = MetricResult(result.signature, summarise(cases, scores))
    return results
