"""Attacks on pasted references: what is made of them, and which of them each metric notices."""

from __future__ import annotations

import functools
from itertools import groupby

from infolm_metric.kernel.checks import BUNDLED
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.metrics import METRICS
from infolm_metric.robustness import ATTACKS, AttackResult, Item, make_triples, measure

from . import limits
from .allowed_models import model_named

EXAMPLE = """\
The museum has 24 rooms and was opened by Alice Brown.
Alice Brown opened the museum, which has 24 rooms.

He was born in a small village and is now a famous painter.
The painter, who is famous now, comes from a small village, where he was born.
"""


def items_of(text: str) -> list[Item]:
    r"""The references in a text, one per line; a blank line begins another item.

    >>> [item.references for item in items_of("A cat.\nThe cat.\n\nA dog.\n")]
    [('A cat.', 'The cat.'), ('A dog.',)]
    """
    blocks = groupby(map(str.strip, text.split("\n")), bool)
    groups = [tuple(dict.fromkeys(lines)) for written, lines in blocks if written]
    return [Item(str(number), each) for number, each in enumerate(groups, 1)]


def attack_references(text: str) -> list[list[str]]:
    """A row for each attack: its name, an example, and what each metric notices of it.

    The metrics' models are the bundled ones. Raises ValueError that says what to do where
    references are too many or too long, or none can be attacked.
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
    numbered = enumerate(map(str.strip, text.split("\n")), 1)
    lines = {f"line {number} of the references": line for number, line in numbered if line}
    for name, line in lines.items():
        limits.check_characters(name, line)
    counts = model_named(BUNDLED).token_counts(list(lines.values()))
    limits.check_tokens(list(lines), counts, limits.COMPARED_TOKENS[BUNDLED])
    triples = make_triples(items)
    if not triples:
        raise ValueError("no attack applies to these references; write whole sentences")
    results = measure(triples, _scorers()).metrics
    rows = []
    for name in ATTACKS:
        first = next((triple for triple in triples if triple.attack == name), None)
        if first:
            noticed = [_noticed(results[metric].attacks[name]) for metric in METRICS]
            rows.append([name, first.anchor, first.adversary, *noticed])
    return rows


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
    return {
        name: metric.scorer_type()(
            **{key: plain[key] for key in plain.keys() & metric.settings_type().choices()}
        )
        for name, metric in METRICS.items()
    }
