"""Cases of a suite: an anchor, a paraphrase of it, and the anchor attacked.

A metric should score the paraphrase better than the attacked anchor, which has nearly every word of
it. `infolm attack` writes them as JSON Lines, and `infolm robustness` reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

from infolm_metric.kernel.checks import check_known, nearest, whole_number
from infolm_metric.kernel.pairs import check_text
from infolm_metric.kernel.tables import Row, read_rows
from infolm_metric.robustness.attacks import ATTACKS, KINDS, attack, check_attacks, number_of
from infolm_metric.robustness.items import Item
from infolm_metric.robustness.number_words import in_words

TEXTS = ("anchor", "paraphrase", "adversary", "paraphrase_adversary")
OPTIONAL = ("paraphrase", "paraphrase_adversary")


@dataclass(frozen=True)
class Triple:
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


def make_triples(
    items: Iterable[Item],
    attacks: Sequence[str] = (),
    seed: int = 0,
    most: int | None = None,
) -> list[Triple]:
    """The cases of some attacks on every reference of the items.

    The paraphrase of a reference is the item's own, else the other reference of it that has fewest
    words in common, else, for "num", the reference with its numbers in words.

    Args:
        items: what is attacked.
        attacks: names of `ATTACKS` (default: all).
        seed: a whole number, at least 0; the same gives the same cases.
        most: the largest number of cases of each attack, at least 1, drawn by a hash of their texts
            (default: no limit).

    Returns:
        The cases, attack by attack in the order of `ATTACKS`. An attack that does not apply to a
        reference makes no case of it.

    Raises:
        TypeError, ValueError: an attack is unknown, a text is no string, or a number is no whole
            one or too small.

    >>> (case,) = make_triples([Item("1", ("It has 12 rooms.",))], ["num"])
    >>> case.paraphrase, case.paraphrase_adversary
    ('It has twelve rooms.', None)
    """
    names = check_attacks(attacks)
    if most is not None:
        whole_number("most", most)
    made: list[Triple] = []
    known = list(items)
    for name in names:
        found = [
            triple
            for item in known
            for anchor in item.references
            if (triple := _triple(item, anchor, name, seed)) is not None
        ]
        made += _drawn(found, seed, most)
    return made


def read_triples(path: str) -> list[tuple[Row, Triple]]:
    """The rows that `infolm attack` wrote.

    Args:
        path: the name of a JSON Lines, CSV, TSV or Parquet file; "-" is standard input.

    Returns:
        Each row, with the words that tell where it stands, and the case that it holds.

    Raises:
        TypeError, ValueError: the file cannot be read or has no row, or a row is none of these.
    """
    found = [(row, triple_of(*row)) for row in read_rows(path)]
    if not found:
        raise ValueError(f"{path} has no rows; make them with `infolm attack FILE -o {path}`")
    return found


def triple_of(where: str, row: Mapping[str, Any]) -> Triple:
    """The case in a row; `where` it stands is for messages.

    >>> triple_of("line 1", {"references": ["A cat."]})
    Traceback (most recent call last):
    ValueError: line 1: no column 'attack'; `infolm attack FILE -o OUT.jsonl` makes such rows
    """
    for column in ("attack", "kind", "anchor", "adversary"):
        if column not in row:
            raise ValueError(
                f"{where}: no column {column!r}; `infolm attack FILE -o OUT.jsonl` makes such rows"
            )
    for column in ("attack", "kind"):
        check_text(f"{where}: {column!r}", row[column])
    if row["attack"] not in ATTACKS:
        hint = nearest(row["attack"], list(ATTACKS))
        raise ValueError(f"{where}: unknown attack {row['attack']!r}; {hint}")
    if row["kind"] not in KINDS:
        raise ValueError(f"{where}: unknown kind {row['kind']!r}; {nearest(row['kind'], KINDS)}")
    check_kind(f"{where}: column 'kind'", row["attack"], row["kind"], ATTACKS[row["attack"]].kind)
    texts: dict[str, Any] = {}
    for column in TEXTS:
        text = row.get(column)
        missing = column in OPTIONAL and (text is None or not str(text).strip())
        if not missing:
            check_text(f"{where}: {column!r}", text)
        texts[column] = None if missing else text
    if texts["adversary"] == texts["anchor"]:
        raise ValueError(f"{where}: the adversary is the anchor itself; leave the row out")
    name, seed = str(row.get("id") or where), str(row.get("seed") or 0)
    if not seed.isdecimal():
        raise ValueError(f"{where}: 'seed' must be a whole number, got {row['seed']!r}")
    return Triple(name, row["attack"], row["kind"], **texts, seed=int(seed))


def check_kinds(triples: Iterable[Triple]) -> None:
    """Raise ValueError if a case has another kind than its attack, or than a case before.

    An attack that is none of the table's is the user's own, and has the kind of its first case.
    """
    kinds = {name: known.kind for name, known in ATTACKS.items()}
    for number, triple in enumerate(triples):
        check_known(f"kind of triples[{number}]", triple.kind, KINDS)
        own = kinds.setdefault(triple.attack, triple.kind)
        check_kind(f"kind of triples[{number}]", triple.attack, triple.kind, own)


def check_kind(name: str, attack: str, given: str, known: str) -> None:
    """Raise ValueError unless the kind given is that of the attack."""
    if given != known:
        raise ValueError(f"{name} must be {known!r}, which {attack!r} is, got {given!r}")


def _triple(item: Item, anchor: str, name: str, seed: int) -> Triple | None:
    """The case that an attack makes of a reference."""
    adversary = attack(anchor, name, seed)
    if adversary is None:
        return None
    paraphrase = next(
        (text for text in _paraphrases(item, anchor, name) if text not in (anchor, adversary)), None
    )
    attacked = None if paraphrase is None else attack(paraphrase, name, seed)
    kind = ATTACKS[name].kind
    return Triple(item.id, name, kind, anchor, paraphrase, adversary, attacked, seed)


def _paraphrases(item: Item, anchor: str, name: str) -> Iterator[str]:
    """What says the same as the anchor, the best first."""
    if item.paraphrase is not None:
        yield item.paraphrase
    words = anchor.split()
    others = (text for text in item.references if text != anchor and text.strip())
    yield from sorted(others, key=lambda text: SequenceMatcher(None, words, text.split()).ratio())
    if name == "num" and (written := in_words(anchor)) is not None:
        yield written


def _drawn(found: Sequence[Triple], seed: int, most: int | None) -> Sequence[Triple]:
    """At most so many of the cases, in their order."""
    if most is None or len(found) <= most:
        return found
    places = sorted(
        range(len(found)),
        key=lambda place: number_of(seed, found[place].attack, found[place].anchor),
    )
    return [found[place] for place in sorted(places[:most])]
