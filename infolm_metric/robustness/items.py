"""What is attacked: the references of a file, those of each item once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from infolm_metric.kernel.pairs import check_text
from infolm_metric.kernel.tables import Row, read_rows
from infolm_metric.kernel.text_files import references_of

PARAPHRASE = "paraphrase"


@dataclass(frozen=True)
class Item:
    """What attacks are made on: texts that say the same.

    Attributes:
        id: its name; the number of its first row where the file gives none.
        references: its references, each once.
        paraphrase: another text that says what they say, or None.

    Raises:
        TypeError: the references are a single string.
    """

    id: str
    references: tuple[str, ...]
    paraphrase: str | None = None

    def __post_init__(self) -> None:
        given: Any = self.references
        if isinstance(given, str | bytes):
            raise TypeError(f"references must be a tuple of texts, got {given!r}; put it into one")


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
    items = items_of(read_rows(path), reference_columns)
    if not items:
        raise ValueError(f"{path} has no rows; give one row for each item")
    return items


def items_of(rows: Iterable[Row], reference_columns: Sequence[str] = ()) -> list[Item]:
    """What `read_items` gives, from located rows.

    >>> rows = [{"reference": "A cat."}, {"reference": "A dog."}, {"reference": "A cat."}]
    >>> items_of((f"row {number}", row) for number, row in enumerate(rows, 1))
    [Item(id='1', references=('A cat.',), paraphrase=None), Item(id='2', ...)]
    """
    found: dict[object, Item] = {}
    for number, (where, row) in enumerate(rows, 1):
        references = tuple(dict.fromkeys(references_of(where, row, reference_columns)))
        name = _id(where, row)
        item = Item(name or str(number), references, _paraphrase(where, row))
        key = name or frozenset(references)
        found[key] = _joined(where, found[key], item) if key in found else item
    return list(found.values())


def _joined(where: str, one: Item, other: Item) -> Item:
    """Both rows of an item as one."""
    if one.paraphrase and other.paraphrase and one.paraphrase != other.paraphrase:
        raise ValueError(
            f"{where}: another paraphrase of id {one.id!r}; give each paraphrase an id of its own"
        )
    references = tuple(dict.fromkeys([*one.references, *other.references]))
    return replace(one, references=references, paraphrase=one.paraphrase or other.paraphrase)


def _id(where: str, row: Mapping[str, Any]) -> str | None:
    value = row.get("id")
    if value is None or value == "":
        return None
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ValueError(f"{where}: 'id' must be a name or a number, got {value!r}")
    check_text(f"{where}: 'id'", str(value))
    return str(value)


def _paraphrase(where: str, row: Mapping[str, Any]) -> str | None:
    value = row.get(PARAPHRASE)
    if value is None or not str(value).strip():
        return None
    check_text(f"{where}: {PARAPHRASE!r}", value)
    return str(value)
