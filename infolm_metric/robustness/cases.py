"""Attack cases, which `infolm attack` creates from references and `infolm robustness` reads.

A case consists of an anchor (a reference), a paraphrase of the anchor, and the attacked anchor,
which has nearly all words in common with the anchor. A metric should prefer the paraphrase.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from infolm_metric.core.checks import InputError, check_known, check_value, check_whole
from infolm_metric.core.files import label
from infolm_metric.core.inputs import check_text, check_texts
from infolm_metric.robustness.attacks import ATTACKS, attack, stable_hash
from infolm_metric.tables import Row, cell, parse_references, read_rows


@dataclass(frozen=True)
class Item:
    """References to attack, which have the same meaning.

    Raises InputError if `references` is a single string or a reference is not a
    string.

    Attributes:
        id: the id of the item. `read_items` numbers items without an id by their first rows.
        references: the distinct references.
        paraphrase: another text with the same meaning, or None.
    """

    id: str
    references: tuple[str, ...]
    paraphrase: str | None = None

    def __post_init__(self) -> None:
        check_texts("references", self.references)


@dataclass(frozen=True)
class AttackCase:
    """A text and its paraphrase, each with its attacked version.

    Attributes:
        id: the id of the item.
        attack: the name of the attack.
        kind: "adequacy" or "fluency".
        anchor: a reference of the item.
        paraphrase: a text with the same meaning as the anchor, or None.
        adversary: the attacked anchor.
        paraphrase_adversary: the attacked paraphrase. None if there is no paraphrase, or if the
            attack does not apply to it.
        seed: the seed of the attack. It is not read back from a file.
    """

    id: str
    attack: str
    kind: str
    anchor: str
    paraphrase: str | None
    adversary: str
    paraphrase_adversary: str | None
    seed: int = 0


def read_items(path: str, reference_columns: Sequence[str] = ()) -> list[Item]:
    """Read items from a JSON Lines, CSV, TSV or Parquet file, in the order of their first rows.

    `path` is the name of a file, or "-" for standard input. `reference_columns` are "references" or
    "reference" by default. The columns `id` and `paraphrase` are optional. Rows with the same id,
    such as the outputs of several systems, are merged into one item with all their references. Rows
    without an id are merged if they have the same references in any order.

    Raises InputError if the file cannot be read or has no rows, a row has no
    references, a value is not a string, or an item has different paraphrases.
    """
    items: dict[object, Item] = {}
    for index, (where, row) in enumerate(read_rows(path), 1):
        references = parse_references(where, row, reference_columns)
        paraphrase = _parse_text(where, row, "paraphrase", optional=True)
        name = "" if row.get("id") is None else str(row["id"])
        key = name or frozenset(references)
        item = items.get(key, Item(name or str(index), (), paraphrase))
        if paraphrase and item.paraphrase not in (None, paraphrase):
            raise InputError(
                f"{where}: item {item.id!r} already has a different paraphrase. Keep one of them, "
                "or give the rows different ids."
            )
        texts = tuple(dict.fromkeys([*item.references, *references]))
        items[key] = Item(item.id, texts, item.paraphrase or paraphrase)
    if not items:
        raise InputError(f"{label(path)} has no rows. Add one row per item.")
    return list(items.values())


def make_cases(
    items: Iterable[Item], attacks: Sequence[str] = (), seed: int = 0, per_attack: int | None = None
) -> list[AttackCase]:
    """Attack every reference of `items` and return the cases in the order of `ATTACKS`.

    References to which an attack does not apply are skipped. The paraphrase of a reference is the
    item's paraphrase, or else the item's other reference with the least similar word sequence.

    `attacks` are names in `ATTACKS` (default: all). The same `seed`, a whole number >= 0, gives the
    same cases. `per_attack` is the maximum number of cases per attack, >= 1 (default: no limit).
    The cases are sampled by a hash of their texts and the seed. Raises InputError if
    an attack is unknown, a text is not a string, or a number is not whole or is too small.

    >>> (case,) = make_cases([Item("1", ("The room is large.",), "It is a large room.")], ["neg"])
    >>> case.adversary, case.paraphrase_adversary
    ('The room is not large.', 'It is not a large room.')
    """
    for name in check_value("attacks", attacks, tuple[str, ...]):
        check_known("attack", name, list(ATTACKS))
    if per_attack is not None:
        check_whole("per_attack", per_attack)
    items = check_value("items", [*items], tuple[Item, ...])
    anchors = [(item, anchor) for item in items for anchor in item.references]
    cases: list[AttackCase] = []
    for name in ATTACKS:
        if not attacks or name in attacks:
            made = (_make_case(item, anchor, name, seed) for item, anchor in anchors)
            new_cases = [case for case in made if case is not None]
            if per_attack is not None:
                new_cases.sort(key=lambda case: stable_hash(seed, case.attack, case.anchor))
            cases += new_cases[:per_attack]
    return cases


def _make_case(item: Item, anchor: str, name: str, seed: int) -> AttackCase | None:
    """Attack a reference and return the case, or None if the attack does not apply."""
    adversary = attack(anchor, name, seed)
    if adversary is None:
        return None
    words = anchor.split()
    references = sorted(
        (text for text in item.references if text.strip()),
        key=lambda text: SequenceMatcher(None, words, text.split()).ratio(),
    )
    texts = [item.paraphrase, *references]
    paraphrase = next((text for text in texts if text not in (None, anchor, adversary)), None)
    attacked = None if paraphrase is None else attack(paraphrase, name, seed)
    kind = ATTACKS[name].kind
    return AttackCase(item.id, name, kind, anchor, paraphrase, adversary, attacked, seed)


def read_cases(path: str) -> list[tuple[Row, AttackCase]]:
    """Read cases from the output of `infolm attack`, each row with its case.

    `path` is the name of a file, as in `read_items`. A row is its location and its values. Raises
    InputError if the file cannot be read or has no rows, or if a row is not a case.
    """
    cases = [(row, _parse_case(*row)) for row in read_rows(path)]
    if not cases:
        raise InputError(f"{label(path)} has no rows. Run `infolm attack FILE -o CASES.jsonl`.")
    return cases


def _parse_case(where: str, row: Mapping[str, Any]) -> AttackCase:
    name = cell(where, row, "attack", " Create cases with `infolm attack FILE`.")
    columns = ("anchor", "paraphrase", "adversary", "paraphrase_adversary")
    check_known(f"attack in {where}:", name, list(ATTACKS))
    texts: Any = {x: _parse_text(where, row, x, optional="paraphrase" in x) for x in columns}
    return AttackCase(str(row.get("id") or where), name, ATTACKS[name].kind, **texts)


def _parse_text(
    where: str, row: Mapping[str, object], column: str, optional: bool = False
) -> str | None:
    """Return the text in a column, or None if it is optional and is missing or blank."""
    text = row.get(column)
    if optional and (text is None or not str(text).strip()):
        return None
    check_text(f"{where}: {column!r}", text)
    return str(text)
