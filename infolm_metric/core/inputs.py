"""Candidates with their references: checked once, passed whole, divided into chunks that fit."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 60
_brief.maxlist = _brief.maxtuple = _brief.maxdict = 3
_brief.maxlevel = 2

Pair = tuple[str, list[str]]
"""A candidate and its references."""


@dataclass(frozen=True)
class Pairs:
    """Candidates, each with its references.

    `several` is true if lists of references were given, `against_sources` if sources take the place
    of references.
    """

    predictions: list[str]
    references: list[list[str]]
    several: bool = False
    against_sources: bool = False

    @classmethod
    def of(cls, pairs: Iterable[Pair], against_sources: bool = False) -> Pairs:
        """The pairs, which were checked one by one.

        >>> Pairs.of([("a cat", ["the cat"])]).references
        [['the cat']]
        """
        pairs = list(pairs)
        candidates, groups = [candidate for candidate, _ in pairs], [group for _, group in pairs]
        return cls(candidates, groups, True, against_sources)

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
            [text for part in parts for text in part.predictions],
            [group for part in parts for group in part.references],
            any(part.several for part in parts),
            any(part.against_sources for part in parts),
        )

    def part(self, start: int, stop: int | None = None) -> Pairs:
        """The pairs from position `start` on, up to `stop`.

        >>> Pairs(["a", "b"], [["c"], ["d"]]).part(1).predictions
        ['b']
        """
        where = slice(start, stop)
        predictions, references = self.predictions[where], self.references[where]
        return Pairs(predictions, references, self.several, self.against_sources)

    @property
    def counts(self) -> list[int]:
        """The number of references of each pair, [pairs]."""
        return [len(group) for group in self.references]

    @property
    def flat_references(self) -> list[str]:
        """All references, pair by pair."""
        return [text for group in self.references for text in group]

    @property
    def texts_by_side(self) -> dict[str, list[str]]:
        """All candidates and all references."""
        return {"candidates": self.predictions, "references": self.flat_references}

    @property
    def texts(self) -> Iterator[str]:
        """Every text, pair by pair, the candidate before its references."""
        return (text for candidate, group in self for text in (candidate, *group))

    def chunks(
        self, most_texts: int, size: Callable[[str], float] = lambda text: 1.0
    ) -> Iterator[Pairs]:
        """The pairs in order, in parts of at most `most_texts` pairs, whose distinct texts fit.

        `size` tells how much of `most_texts` a text takes. A pair with larger texts than that is a
        part of its own.

        >>> pairs = Pairs.of([("a", ["b"]), ("b", ["a"]), ("c", ["d"])])
        >>> [len(part) for part in pairs.chunks(2)]
        [2, 1]
        """
        start, chunk_texts, total = 0, set[str](), 0.0
        for index, (candidate, group) in enumerate(self):
            texts = {candidate, *group}
            growth = sum(map(size, texts - chunk_texts))
            if index > start and (total + growth > most_texts or index - start == most_texts):
                yield self.part(start, index)
                start, chunk_texts, total = index, set(), 0.0
                growth = sum(map(size, texts))
            chunk_texts |= texts
            total += growth
        if start < len(self):
            yield self.part(start)


def check_pairs(
    predictions: Any, references: Any, *, allow_empty: bool = False, against_sources: bool = False
) -> Pairs:
    """Return the checked pairs: equally many texts and references, at least one.

    `predictions` is a list of strings and `references` a list of strings, or a list of lists of
    strings with at least one in each. Tuples, numpy arrays, pandas series and columns of a
    `datasets.Dataset` do as well as lists. With `allow_empty` both may be empty, as a batch may be.

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
        remedy = ""
        if groups and all(_is_list(group) and len(group) == len(candidates) for group in groups):
            remedy = (
                f"; if these are lists of {len(candidates)} references each, as sacreBLEU takes "
                "them, give list(zip(*references))"
            )
        raise ValueError(
            "predictions and references must be equally long, "
            f"got {_count(candidates, 'prediction')} and {_count(groups, 'reference')}{remedy}"
        )
    if allow_empty and not candidates:
        return Pairs([], [])
    if not candidates:
        raise ValueError("predictions and references are empty; give at least one pair")
    check_texts("predictions", candidates)
    several, checked_groups = _is_list(groups[0]), list[list[str]]()
    for index, group in enumerate(groups):
        name = f"references[{index}]"
        if _is_list(group) != several and (_is_list(group) or isinstance(group, str)):
            kinds = ("a string", "a list")
            raise ValueError(
                f"references mixes strings and lists: references[0] is {kinds[several]}, {name} "
                f"{kinds[not several]}; give all as strings or all as lists of strings"
            )
        if not several or not _is_list(group):
            check_text(name, group)
            checked_groups.append([group])
        elif texts := check_texts(name, group):
            checked_groups.append(texts)
        else:
            raise ValueError(
                f"{name} is an empty list; give each prediction at least one reference"
            )
    return Pairs(candidates, checked_groups, several, against_sources)


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
        texts = [references] if isinstance(references, str) else references
        group = check_texts(f"{name}[1]", texts)
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
        # NaN is the missing text of pandas, and differs from itself.
        missing = text is None or type(text).__name__ == "NAType" or isinstance(text, float)
        label = "None" if text is None else f"{_brief.repr(text)} ({type(text).__name__})"
        remedy = "drop the pair or give an empty string" if missing else "give its text"
        raise TypeError(f"{name} must be a string, got {label}; {remedy}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{name} has a lone surrogate ({text[error.start]!a}) at character {error.start}, "
                "which is not valid Unicode; decode the text properly or remove it"
            ) from None


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
    """True for what has a length and an order: lists, tuples, arrays, series, dataset columns.

    Not for arrays without an axis, nor for data frames, whose items are their columns.
    """
    if isinstance(values, str | bytes | dict | set | frozenset) or not isinstance(values, Iterable):
        return False
    axes = getattr(values, "ndim", 1)
    ordered = hasattr(values, "__len__") and hasattr(values, "__getitem__")
    return ordered and (axes == 1 or (axes > 1 and hasattr(values, "tolist")))


def _count(values: list[Any], noun: str) -> str:
    return f"{len(values)} {noun}{'' if len(values) == 1 else 's'}"
