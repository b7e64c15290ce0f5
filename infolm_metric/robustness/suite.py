"""The suite: references attacked, scored by metrics, and what each metric notices.

A case is an anchor, a paraphrase of it, and the anchor attacked, which has nearly every word of it:
a metric should score the paraphrase better. `infolm attack` writes cases as JSON Lines, and
`infolm robustness` reads them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

from scipy.stats import binomtest

from infolm_metric.core.files import Row, read_rows, references_of
from infolm_metric.core.inputs import Pairs, check_text, check_texts
from infolm_metric.core.results import warn
from infolm_metric.core.settings import check_known, check_whole
from infolm_metric.robustness.attacks import ATTACKS, KINDS, attack, stable_hash
from infolm_metric.robustness.grammar import in_words

if TYPE_CHECKING:
    from infolm_metric.core.scorer import Scorer

SCORED_TEXTS = ("paraphrase", "adversary", "paraphrase_adversary")
"""The texts of a case that scores made elsewhere have, in their order."""
RELATIVE_TOLERANCE, ABSOLUTE_TOLERANCE = 1e-6, 1e-9  # what float32 cannot tell apart, two scores may not either
GROUPS = ("all", *KINDS)


# Cases.


@dataclass(frozen=True)
class Item:
    """What attacks are made on: texts that say the same.

    Attributes:
        id: its name; the number of its first row where the file gives none.
        references: its references, each once.
        paraphrase: another text that says what they say, or None.

    Raises:
        TypeError, ValueError: the references are a single string, or not all of them are texts.
    """

    id: str
    references: tuple[str, ...]
    paraphrase: str | None = None

    def __post_init__(self) -> None:
        check_texts("references", self.references)


@dataclass(frozen=True)
class AttackCase:
    """A case: a text, what says the same, and both attacked.

    Attributes:
        id: that of the item.
        attack: the name of the attack.
        kind: "adequacy" or "fluency".
        anchor: the text, a reference of the item.
        paraphrase: what says the same, or None.
        adversary: the anchor attacked.
        paraphrase_adversary: the paraphrase attacked; None where there is no paraphrase, or the
            attack does not apply to it.
        seed: what the attack was made with.
    """

    id: str
    attack: str
    kind: str
    anchor: str
    paraphrase: str | None
    adversary: str
    paraphrase_adversary: str | None
    seed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The row that `infolm attack` writes."""
        return asdict(self)


def read_items(path: str, reference_columns: Sequence[str] = ()) -> list[Item]:
    """The items of a table.

    The columns `id` and `paraphrase` are read if they are there. Rows of one id, such as the
    outputs of several systems, are one item, whose references are theirs together; without an id
    rows with the same references are, in any order.

    Args:
        path: the name of a JSON Lines, CSV, TSV or Parquet file; "-" is standard input.
        reference_columns: the names of the columns of references (default: "references" or
            "reference").

    Returns:
        The items, in the order in which they first come.

    Raises:
        TypeError, ValueError: the file cannot be read or has no row, a row has no references or
            holds what is no text, or an item has two paraphrases.
    """
    items: dict[object, Item] = {}
    for index, (where, row) in enumerate(read_rows(path), 1):
        references = references_of(where, row, reference_columns)
        paraphrase = _text(where, row, "paraphrase", optional=True)
        name = "" if row.get("id") is None else str(row["id"])
        key = name or frozenset(references)
        item = items.get(key, Item(name or str(index), (), paraphrase))
        if paraphrase and item.paraphrase not in (None, paraphrase):
            raise ValueError(
                f"{where}: another paraphrase of id {item.id!r}; give each an id of its own"
            )
        texts = tuple(dict.fromkeys([*item.references, *references]))
        items[key] = Item(item.id, texts, item.paraphrase or paraphrase)
    if not items:
        raise ValueError(f"{path} has no rows; give one row for each item")
    return list(items.values())


def make_cases(
    items: Iterable[Item],
    attacks: Sequence[str] = (),
    seed: int = 0,
    per_attack: int | None = None,
) -> list[AttackCase]:
    """The cases of some attacks on every reference of the items.

    The paraphrase of a reference is the item's own, else the other reference of it that has fewest
    words in common, else, for "num", the reference with its numbers in words.

    Args:
        items: what is attacked.
        attacks: names of `ATTACKS` (default: all).
        seed: a whole number, at least 0; the same gives the same cases.
        per_attack: the largest number of cases of each attack, at least 1, drawn by a hash of their
            texts (default: no limit).

    Returns:
        The cases, attack by attack in the order of `ATTACKS`. An attack that does not apply to a
        reference makes no case of it.

    Raises:
        TypeError, ValueError: an attack is unknown, a text is no string, or a number is no whole
            one or too small.

    >>> (case,) = make_cases([Item("1", ("It has 12 rooms.",))], ["num"])
    >>> case.paraphrase, case.paraphrase_adversary
    ('It has twelve rooms.', None)
    """
    for name in attacks:
        check_known("attack", name, list(ATTACKS))
    if per_attack is not None:
        check_whole("per_attack", per_attack)
    anchors = [(item, anchor) for item in items for anchor in item.references]
    triples: list[AttackCase] = []
    for name in ATTACKS:
        if not attacks or name in attacks:
            cases = [case for pair in anchors if (case := _triple(*pair, name, seed)) is not None]
            if per_attack is not None:
                cases.sort(key=lambda case: stable_hash(seed, case.attack, case.anchor))
            triples += cases[:per_attack]
    return triples


def _triple(item: Item, anchor: str, name: str, seed: int) -> AttackCase | None:
    """The case that an attack makes of a reference."""
    adversary = attack(anchor, name, seed)
    if adversary is None:
        return None
    words = anchor.split()
    references = sorted(
        (text for text in item.references if text.strip()),
        key=lambda text: SequenceMatcher(None, words, text.split()).ratio(),
    )
    spelling = in_words(anchor) if name == "num" else None
    texts = [item.paraphrase, *references, spelling]
    paraphrase = next((text for text in texts if text not in (None, anchor, adversary)), None)
    paraphrase_adversary = None if paraphrase is None else attack(paraphrase, name, seed)
    kind = ATTACKS[name].kind
    return AttackCase(item.id, name, kind, anchor, paraphrase, adversary, paraphrase_adversary, seed)


def read_cases(path: str) -> list[tuple[Row, AttackCase]]:
    """The rows that `infolm attack` wrote.

    Args:
        path: the name of a JSON Lines, CSV, TSV or Parquet file; "-" is standard input.

    Returns:
        Each row, with the words that tell where it stands, and the case that it holds.

    Raises:
        TypeError, ValueError: the file cannot be read or has no row, or a row is none of these.
    """
    triples = [(row, _triple_of(*row)) for row in read_rows(path)]
    if not triples:
        raise ValueError(f"{path} has no rows; make them with `infolm attack FILE -o {path}`")
    return triples


def _triple_of(where: str, row: Mapping[str, Any]) -> AttackCase:
    """The case in a row; `where` it stands is for messages."""
    if "attack" not in row:
        raise ValueError(f"{where}: no column 'attack'; `infolm attack FILE` makes such rows")
    check_known(f"attack of {where}:", row["attack"], list(ATTACKS))
    return AttackCase(
        id=str(row.get("id") or where),
        attack=row["attack"],
        kind=ATTACKS[row["attack"]].kind,
        anchor=str(_text(where, row, "anchor")),
        paraphrase=_text(where, row, "paraphrase", optional=True),
        adversary=str(_text(where, row, "adversary")),
        paraphrase_adversary=_text(where, row, "paraphrase_adversary", optional=True),
        seed=int(row.get("seed") or 0),
    )


def _text(where: str, row: Mapping[str, Any], column: str, optional: bool = False) -> str | None:
    """The text of a column; None where it may be missing and is, or holds nothing but blanks."""
    text = row.get(column)
    if optional and (text is None or not str(text).strip()):
        return None
    check_text(f"{where}: {column!r}", text)
    return str(text)


# Scores.


class CaseScores(NamedTuple):
    """The scores of a case against its anchor, higher is better; NaN where there is no such text.

    `copy` is the score of the anchor itself, where the paraphrase cannot be attacked.
    """

    paraphrase: float
    adversary: float
    paraphrase_adversary: float
    copy: float = math.nan


@dataclass(frozen=True)
class ExternalScores:
    """Scores made elsewhere, against the anchor of each case.

    Attributes:
        name: that of the metric.
        scores: of every case, in order: those of the paraphrase, the adversary and the paraphrase's
            adversary; NaN where there is none.
        higher_is_better: False for a metric of which lower is.
    """

    name: str
    scores: Sequence[Sequence[float]]
    higher_is_better: bool = True


# Results.


@dataclass(frozen=True)
class AttackResult:
    """How a metric does on one attack; shares are from 0 to 1, and None where there is no case.

    Attributes:
        attack: its name.
        kind: "adequacy" or "fluency".
        cases: how many have the scores of a text and of the same text attacked.
        n: how many have the scores of a paraphrase and of the attacked anchor.
        accuracy: the share of the `n` in which the paraphrase scores better.
        low: the lower end of its 95% interval after Wilson.
        high: the upper end.
        ties: the share of the `n` with equal scores, which are misses.
        sensitivity: the share of the `cases` in which the text scores better than the same text
            attacked: the paraphrase, or else the anchor.
    """

    attack: str
    kind: str
    cases: int
    n: int
    accuracy: float | None
    low: float | None
    high: float | None
    ties: float | None
    sensitivity: float | None

    def as_dict(self) -> dict[str, Any]:
        """The numbers as `infolm robustness --json` gives them."""
        names = ("n", "accuracy", "low", "high", "ties", "sensitivity")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class MetricResult:
    """How a metric does on every attack.

    Attributes:
        signature: that of the metric's scores; None for scores made elsewhere.
        attacks: attack -> result, for those that the cases have, in the order of `ATTACKS`.
    """

    signature: str | None
    attacks: Mapping[str, AttackResult]

    def macro(self, what: str = "accuracy") -> dict[str, float | None]:
        """The means over the attacks, of which each counts alike.

        Args:
            what: "accuracy", "sensitivity" or "ties".

        Returns:
            The mean over "all", over those of "adequacy" and over those of "fluency"; None where
            none has a case.
        """
        means: dict[str, float | None] = {}
        for group in GROUPS:
            results = [result for result in self.attacks.values() if group in ("all", result.kind)]
            values = [value for result in results if (value := getattr(result, what)) is not None]
            means[group] = sum(values) / len(values) if values else None
        return means

    def as_dict(self) -> dict[str, Any]:
        """The numbers as `infolm robustness --json` gives them."""
        return {
            "signature": self.signature,
            "attacks": {name: result.as_dict() for name, result in self.attacks.items()},
            "macro": self.macro(),
            "macro_sensitivity": self.macro("sensitivity"),
        }


@dataclass(frozen=True)
class Robustness:
    """How several metrics do on the same cases.

    Attributes:
        metrics: metric -> result.
    """

    metrics: Mapping[str, MetricResult]

    def as_dict(self) -> dict[str, Any]:
        """What `infolm robustness --json` gives."""
        return {"metrics": {name: result.as_dict() for name, result in self.metrics.items()}}


def wilson_interval(hits: int, n: int) -> tuple[float, float]:
    """The 95% score interval of a share (Wilson 1927), within [0, 1] for few cases, too.

    Args:
        hits: how many of the cases count, from 0 to `n`.
        n: the number of cases, at least 1.

    Returns:
        The lower and the upper end, from 0 to 1.

    Raises:
        ValueError: there are no cases, or more hits than cases.

    >>> low, high = wilson_interval(8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    interval = binomtest(hits, n).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def summarise(triples: Sequence[AttackCase], scores: Sequence[CaseScores]) -> dict[str, AttackResult]:
    """The result for each attack that the cases have, in the order of `ATTACKS`."""
    scores_of: dict[str, list[CaseScores]] = {name: [] for name in ATTACKS}
    for triple, score in zip(triples, scores, strict=True):
        scores_of[triple.attack].append(score)
    return {name: _attack_result(name, cases) for name, cases in scores_of.items() if cases}


def _attack_result(name: str, scores: Sequence[CaseScores]) -> AttackResult:
    preferences = _comparisons((score.paraphrase, score.adversary) for score in scores)
    differences = _comparisons(
        (score.copy, score.adversary)
        if math.isnan(score.paraphrase) or math.isnan(score.paraphrase_adversary)
        else (score.paraphrase, score.paraphrase_adversary)
        for score in scores
    )
    n, hits = len(preferences), preferences.count(1)
    low, high = wilson_interval(hits, n) if n else (None, None)
    return AttackResult(
        attack=name,
        kind=ATTACKS[name].kind,
        cases=len(differences),
        n=n,
        accuracy=hits / n if n else None,
        low=low,
        high=high,
        ties=preferences.count(0) / n if n else None,
        sensitivity=differences.count(1) / len(differences) if differences else None,
    )


def _comparisons(pairs: Iterable[tuple[float, float]]) -> list[int]:
    """1 where the first scores better, 0 for a tie, -1 where it scores worse."""
    return [
        0 if math.isclose(x, y, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE) else (x > y) * 2 - 1
        for x, y in pairs
        if not (math.isnan(x) or math.isnan(y))
    ]


def evaluate_robustness(
    triples: Sequence[AttackCase],
    scorers: Mapping[str, Scorer],
    columns: Sequence[ExternalScores] = (),
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
        TypeError, ValueError: there are no cases, a name comes twice, a metric counts candidates,
            or a column does not have finite scores of each case. All that is found before
            anything is scored.
        OSError: a model cannot be found.

    >>> from infolm_metric import InfoLMScorer
    >>> cases = make_cases([Item("1", ("It has 12 rooms.",))], ["num"])
    >>> scorer = InfoLMScorer(model_name_or_path="bundled", idf=False)
    >>> evaluate_robustness(cases, {"infolm": scorer})["infolm"].attacks["num"].n
    1
    """
    if not triples:
        raise ValueError("there are no cases; no attack applied to the texts")
    names = [*scorers, *(column.name for column in columns)]
    for name in {name for name in names if names.count(name) > 1}:
        raise ValueError(f"two metrics are called {name!r}; rename the column of scores")
    for column in columns:
        if len(column.scores) != len(triples):
            raise ValueError(
                f"column {column.name!r} must have scores of {len(triples)} cases, got "
                f"{len(column.scores)}"
            )
        if any(math.isinf(score) for row in column.scores for score in row):
            raise ValueError(f"column {column.name!r} has infinite scores; leave those out (NaN)")
    for scorer in scorers.values():
        if "candidates" in scorer.settings.counted:
            raise ValueError(
                "idf='separate' weighs candidates by a corpus of attacked texts; use 'references', "
                "False or a table"
            )
    results: dict[str, MetricResult] = {}
    for name, scorer in scorers.items():
        results |= _measured(name, scorer, triples)
    for column in columns:
        rows = [_oriented(row, column.higher_is_better) for row in column.scores]
        results[column.name] = MetricResult(None, summarise(triples, rows))
    return Robustness(results)


def _oriented(scores: Iterable[float], higher_is_better: bool) -> CaseScores:
    return CaseScores(*(score if higher_is_better else -score for score in scores))


def _measured(name: str, scorer: Scorer, triples: Sequence[AttackCase]) -> dict[str, MetricResult]:
    """The results of a metric, one for each score that it gives."""
    cases = [
        (case.paraphrase, case.adversary, case.paraphrase_adversary, case.anchor)
        for case in triples
    ]
    pairs = dict.fromkeys(
        (text, case.anchor)
        for case, texts in zip(triples, cases, strict=True)
        for text in (texts if case.paraphrase_adversary is None else texts[:3])
        if text is not None
    )
    with scorer.lock:
        anchors = list(dict.fromkeys(case.anchor for case in triples))
        corpus = {"candidates": anchors, "references": anchors}
        statistics = scorer.count(corpus, scorer.settings)
        checked = Pairs.of((text, [anchor]) for text, anchor in pairs)
        result = scorer.score_part(checked, scorer.settings, statistics)
    warn(result.counts, scorer.warning_messages)
    results, higher = {}, result.higher_is_better
    for kind, column in result.scores.items():
        table: dict[tuple[str | None, str], float] = dict(zip(pairs, column, strict=True))
        rows = [
            _oriented((table.get((text, texts[3]), math.nan) for text in texts), higher)
            for texts in cases
        ]
        title = f"{name} {kind}" if result.several else name
        results[title] = MetricResult(result.signature, summarise(triples, rows))
    return results
