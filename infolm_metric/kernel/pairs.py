"""Candidates with their references: one type, checked once, before anything costly happens."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 60
_brief.maxlist = _brief.maxtuple = _brief.maxdict = 3
_brief.maxlevel = 2
_REMEDIES: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bytes,), "decode it"),
    ((dict,), "give its text"),
    ((list, tuple), "only references may be lists, and those hold strings"),
)


Pair = tuple[str, list[str]]
"""A candidate and its references."""


@dataclass(frozen=True)
class Pairs:
    """Candidates, each with its references; `several` tells whether lists of references came."""

    predictions: list[str]
    references: list[list[str]]
    several: bool = False

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Pairs:
        """The pairs, which were checked one by one.

        >>> Pairs.of([("a cat", ["the cat"])]).references
        [['the cat']]
        """
        listed = list(pairs)
        return cls([candidate for candidate, _ in listed], [group for _, group in listed], True)

    def __len__(self) -> int:
        return len(self.predictions)

    def __iter__(self) -> Iterator[Pair]:
        return zip(self.predictions, self.references, strict=True)

    @classmethod
    def joined(cls, parts: Iterable[Pairs]) -> Pairs:
        """All pairs, one part after the other.

        >>> len(Pairs.joined([Pairs(["a"], [["b"]]), Pairs([], [])]))
        1
        """
        parts = list(parts)
        return cls(
            list(chain.from_iterable(part.predictions for part in parts)),
            list(chain.from_iterable(part.references for part in parts)),
            any(part.several for part in parts),
        )

    def part(self, start: int, stop: int | None = None) -> Pairs:
        """The pairs from position `start` on, up to `stop`.

        >>> Pairs(["a", "b"], [["c"], ["d"]]).part(1).predictions
        ['b']
        """
        where = slice(start, stop)
        return Pairs(self.predictions[where], self.references[where], self.several)

    @property
    def texts(self) -> Iterator[str]:
        """Every text, pair by pair, the candidate before its references."""
        return (text for candidate, group in self for text in (candidate, *group))


def check_pairs(predictions: Any, references: Any) -> Pairs:
    """The checked pairs: equally many texts and references, at least one.

    `predictions` is a list of strings and `references` a list of strings, or a list of lists of
    strings with at least one in each. Tuples, numpy arrays, pandas series and columns of a
    `datasets.Dataset` do as well as lists.

    Raises:
        TypeError: something is not a string or not a list.
        ValueError: lengths differ, a list is empty, strings and lists are mixed, or a text is not
            valid Unicode.

    >>> check_pairs(["a cat"], [["a dog", "the cat"]]).references
    [['a dog', 'the cat']]
    >>> check_pairs(["a cat"], ["a dog", "the cat"])
    Traceback (most recent call last):
    ValueError: predictions and references must be equally long, got 1 prediction and 2 references
    """
    candidates = as_list("predictions", predictions)
    groups = as_list("references", references)
    if len(candidates) != len(groups):
        raise ValueError(
            "predictions and references must be equally long, "
            f"got {_count(candidates, 'prediction')} and {_count(groups, 'reference')}"
        )
    if not candidates:
        raise ValueError("predictions and references are empty; give at least one pair")
    check_texts("predictions", candidates)
    several = not isinstance(groups[0], str)
    if not several:
        for index, text in enumerate(groups):
            if not isinstance(text, str) and _is_list(text):
                raise ValueError(_mixed(0, index))
            check_text(f"references[{index}]", text)
        return Pairs(candidates, [[text] for text in groups])
    return Pairs(candidates, [_reference_list(i, group) for i, group in enumerate(groups)], True)


def iterate_pairs(pairs: Iterable[Any]) -> Iterator[Pair]:
    """Each pair, checked as it comes: a candidate with its reference or its list of references.

    Raises TypeError or ValueError, which names the pair by its number, as `check_pairs` does.

    >>> list(iterate_pairs([("a cat", "the cat"), ("a dog", ["the dog", "one dog"])]))
    [('a cat', ['the cat']), ('a dog', ['the dog', 'one dog'])]
    """
    for index, pair in enumerate(pairs):
        name = f"pairs[{index}]"
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise TypeError(
                f"{name} must be (candidate, reference) or (candidate, list of references), "
                f"got {_brief.repr(pair)}"
            )
        candidate, references = pair
        check_text(f"{name}[0]", candidate)
        listed = [references] if isinstance(references, str) else references
        group = check_texts(f"{name}[1]", listed)
        if not group:
            raise ValueError(f"{name}[1] is an empty list; give at least one reference")
        yield candidate, group


def check_texts(name: str, texts: Any) -> list[str]:
    """The checked list of strings, possibly empty.

    >>> check_texts("texts", ("a", "b"))
    ['a', 'b']
    """
    checked = as_list(name, texts)
    for index, text in enumerate(checked):
        check_text(f"{name}[{index}]", text)
    return checked


def check_text(name: str, text: Any) -> None:
    """Raise TypeError or ValueError unless `text` is a string that can be encoded.

    >>> check_text("predictions[3]", None)
    Traceback (most recent call last):
    TypeError: predictions[3] must be a string, got None; drop the pair or give an empty string
    """
    if not isinstance(text, str):
        shown = "None" if text is None else f"{_brief.repr(text)} ({type(text).__name__})"
        raise TypeError(f"{name} must be a string, got {shown}; {_remedy(text)}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{name} has a lone surrogate ({text[error.start]!a}) at character {error.start}, "
                "which is not valid Unicode; decode the text properly or remove it"
            ) from None


def _remedy(value: Any) -> str:
    """What to do about a value that is no string."""
    missing = value is None or type(value).__name__ == "NAType"  # the missing text of pandas
    if missing or (isinstance(value, float) and value != value):  # NaN: likewise
        return "drop the pair or give an empty string"
    for kinds, remedy in _REMEDIES:
        if isinstance(value, kinds):
            return remedy
    return "convert it with str()"


def as_list(name: str, values: Any) -> list[Any]:
    """The values as a list; raises TypeError for a bare string and for what is no list at all."""
    if isinstance(values, str | bytes):
        raise TypeError(
            f"{name} must be a list of strings, got the bare string {_brief.repr(values)}; "
            f"wrap it in a list: [{_brief.repr(values)}]"
        )
    if not _is_list(values):
        raise TypeError(
            f"{name} must be a list of strings, got {_brief.repr(values)} ({type(values).__name__})"
        )
    for convert in ("tolist", "to_pylist"):  # of arrays and series, and of Arrow's columns
        if hasattr(values, convert):
            return list(getattr(values, convert)())
    return list(values)


def _is_list(values: Any) -> bool:
    """True for what has a length and an order: lists, tuples, arrays, series, dataset columns."""
    if isinstance(values, str | bytes | dict | set | frozenset) or not isinstance(values, Iterable):
        return False
    return hasattr(values, "__len__") and hasattr(values, "__getitem__") and _has_axis(values)


def _has_axis(values: Any) -> bool:
    """False for arrays without an axis and for data frames, whose items are their columns."""
    axes = getattr(values, "ndim", 1)
    return axes == 1 or (axes > 1 and hasattr(values, "tolist"))


def _reference_list(index: int, group: Any) -> list[str]:
    """The checked references of one candidate."""
    name = f"references[{index}]"
    if isinstance(group, str):
        raise ValueError(_mixed(index, 0))
    if not _is_list(group):
        check_text(name, group)
    texts = check_texts(name, group)
    if not texts:
        raise ValueError(f"{name} is an empty list; give each prediction at least one reference")
    return texts


def _mixed(string: int, lists: int) -> str:
    return (
        f"references mixes strings and lists: references[{string}] is a string, "
        f"references[{lists}] a list; give all as strings or all as lists of strings"
    )


def _count(values: list[Any], noun: str) -> str:
    return f"{len(values)} {noun}{'' if len(values) == 1 else 's'}"
