"""Attacks on pasted references: what is made of them, and which of them each metric notices."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from infolm_metric.kernel.checks import BUNDLED
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.metrics import METRICS
from infolm_metric.robustness import (
    ATTACKS,
    AttackResult,
    Item,
    MetricResult,
    Robustness,
    Triple,
    make_triples,
    measure,
)

from . import limits
from .allowed_models import model_named

EXAMPLE = """\
The museum has 24 rooms and was opened by Alice Brown.
Alice Brown opened the museum, which has 24 rooms.

He was born in a small village and is now a famous painter.
The painter, who is famous now, comes from a small village, where he was born.
"""


@dataclass(frozen=True)
class Attacked:
    """The cases made of some references, and how the metrics do on them."""

    triples: Sequence[Triple]
    results: Robustness


def items_of(text: str) -> list[Item]:
    r"""The references in a text, one per line; a blank line begins another item.

    >>> [item.references for item in items_of("A cat.\nThe cat.\n\nA dog.\n")]
    [('A cat.', 'The cat.'), ('A dog.',)]
    """
    groups: list[dict[str, None]] = [{}]
    for line in text.split("\n"):
        if line.strip():
            groups[-1][line.strip()] = None
        elif groups[-1]:
            groups.append({})
    return [Item(str(number), tuple(each)) for number, each in enumerate(groups, 1) if each]


def attack_references(text: str) -> Attacked:
    """Attacks the references, and scores the cases by the bundled models.

    Raises ValueError that says what to do for too many or too long ones, or none to attack.
    """
    items = items_of(text)
    references = [reference for item in items for reference in item.references]
    if not references:
        raise ValueError("there is no reference yet; write one per line")
    if len(references) > limits.ATTACKED:
        raise ValueError(
            f"{len(references)} references, and at most {limits.ATTACKED} are taken here; "
            "`infolm attack` takes any number"
        )
    names = [f"line {number} of the references" for number in range(1, len(references) + 1)]
    for name, reference in zip(names, references, strict=True):
        limits.check_characters(name, reference)
    counts = model_named(BUNDLED).token_counts(references)
    limits.check_tokens(names, counts, limits.COMPARED_TOKENS[BUNDLED])
    triples = make_triples(items)
    if not triples:
        raise ValueError("no attack applies to these references; write whole sentences")
    return Attacked(triples, measure(triples, _scorers()))


def rows_of(attacked: Attacked) -> list[list[str]]:
    """A row for each attack: its name, an example, and what each metric notices of it."""
    rows = []
    for name in ATTACKS:
        own = [triple for triple in attacked.triples if triple.attack == name]
        if own:
            noticed = [_noticed(result.attacks[name]) for result in _results(attacked)]
            rows.append([name, own[0].anchor, own[0].adversary, *noticed])
    return rows


def metric_names() -> list[str]:
    """The metrics that the page attacks, in the order of the columns."""
    return list(METRICS)


def _results(attacked: Attacked) -> list[MetricResult]:
    return [attacked.results.metrics[name] for name in metric_names()]


def _noticed(result: AttackResult) -> str:
    """How many cases a metric notices: by the paraphrase where there is one, else by a copy."""
    if result.accuracy is None:
        return f"no paraphrase; a copy is better in {result.sensitivity or 0:.0%}"
    hits = round(result.accuracy * result.n)
    return f"{'✓' if hits == result.n else '~' if hits else '✗'} {hits} of {result.n}"


@functools.cache
def _scorers() -> dict[str, MetricScorer]:
    """A scorer of each metric with its bundled model; words weigh alike, as with few texts."""
    plain = {"model_name_or_path": BUNDLED, "idf": False}
    found = {}
    for name, metric in METRICS.items():
        choices = metric.settings_type().choices()
        found[name] = metric.scorer_type()(
            **{key: value for key, value in plain.items() if key in choices}
        )
    return found
