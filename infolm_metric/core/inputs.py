"""Input: candidates with their references, checked once and divided into chunks."""

from __future__ import annotations

import re
import reprlib
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, TypeVar

from infolm_metric.core.checks import InputError, is_list

# Reasoning that models write before the answer, such as <think>...</think>.
TAG = r"(?:think|thinking|thoughts?|reasoning|scratchpad|seed:think)"
CLOSING = re.compile(
    rf"</{TAG}\s*>|\[/THINK\]|<\|channel\|>\s*final\s*(?:<\|message\|>)?"
    r"|<\|end_(?:of_thought|thinking)\|>|\u25c1/think\u25b7",
    re.IGNORECASE,
)
OPENING = re.compile(
    rf"\s*(?:<{TAG}\s*>|\[THINK\]|(?:<\|start\|>assistant)?<\|channel\|>"
    r"|<\|(?:begin_of_thought|start_thinking)\|>|\u25c1think\u25b7)",
    re.IGNORECASE,
)
# Reasoning that `strip_thinking` removes.
THINKING = re.compile(rf"\A{OPENING.pattern}|{CLOSING.pattern}", re.IGNORECASE)
ANSWER = re.compile(r"<(/?)answer\s*>", re.IGNORECASE)
CONTROL = re.compile(r"<\|\w{1,30}\|>")

Item = TypeVar("Item")
# A candidate and its references.
Pair = tuple[str, list[str]]

# Unicode categories of characters for which BERT's tokenizers have no tokens: whitespace, control,
# format (zero-width) and private-use characters, and combining marks.
BLANK = {"Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Mn"}


@dataclass(frozen=True, eq=False)
class Pairs:
    """Candidates with their references.

    Tables pad missing references with empty cells. If a candidate has several references,
    `references` therefore leaves out the blank references, or all but one if all are blank.
    `all_references` contains the references as passed.

    >>> pairs = Pairs(["a cat", "a dog"], [["the cat", ""], [" ", ""]])
    >>> pairs.references, pairs.blank_references
    ([['the cat'], [' ']], 2)
    """

    predictions: list[str]
    all_references: list[list[str]]

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> Pairs:
        """Collect pairs that have already been checked.

        >>> Pairs.of([("a cat", ["the cat"])]).references
        [['the cat']]
        """
        pairs = list(pairs)
        return cls([candidate for candidate, _ in pairs], [group for _, group in pairs])

    def __len__(self) -> int:
        return len(self.predictions)

    def __iter__(self) -> Iterator[Pair]:
        return zip(self.predictions, self.references, strict=True)

    def part(self, start: int, stop: int | None = None) -> Pairs:
        """Return the pairs from `start` up to `stop`, exclusive.

        >>> Pairs(["a", "b"], [["c"], ["d"]]).part(1).predictions
        ['b']
        """
        return Pairs(self.predictions[start:stop], self.all_references[start:stop])

    @cached_property
    def references(self) -> list[list[str]]:
        """References of each candidate, without blank ones (if all are blank, the first)."""
        return [
            group if len(group) == 1 else [t for t in group if not is_blank(t)] or group[:1]
            for group in self.all_references
        ]

    @property
    def blank_references(self) -> int:
        """Number of blank references that were left out."""
        return sum(map(len, self.all_references)) - sum(self.counts)

    @property
    def thinking(self) -> int:
        """Number of texts with reasoning that `strip_thinking` removes."""
        return sum(THINKING.search(text) is not None for text in self.texts)

    @property
    def counts(self) -> list[int]:
        """Number of references of each pair, [pairs]."""
        return [len(group) for group in self.references]

    @property
    def flat_references(self) -> list[str]:
        """All references, pair by pair."""
        return [text for group in self.references for text in group]

    @property
    def texts_by_side(self) -> dict[str, list[str]]:
        return {"candidates": self.predictions, "references": self.flat_references}

    @property
    def texts(self) -> Iterator[str]:
        """All texts, pair by pair, each candidate before its references."""
        return (text for candidate, group in self for text in (candidate, *group))

    def chunks(
        self, most_texts: int, size: Callable[[str], float] = lambda text: 1.0
    ) -> Iterator[Pairs]:
        """Divide the pairs into parts with at most `most_texts` pairs and distinct texts each.

        A text counts as `size(text)` texts. A pair that exceeds `most_texts` is a
        separate part.

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


def check_pairs(predictions: object, references: object, *, allow_empty: bool = False) -> Pairs:
    """Check predictions and references, and return them as pairs.

    `predictions` is a list of strings. `references` is a list of strings or of non-empty lists of
    strings. Tuples, NumPy arrays, pandas series and columns of a `datasets.Dataset` are also
    accepted. With `allow_empty`, both lists may be empty.

    >>> check_pairs(["a cat"], [["a dog", "the cat"]]).references
    [['a dog', 'the cat']]
    >>> check_pairs(["a cat"], ["a dog", "the cat"])
    Traceback (most recent call last):
    infolm_metric.InputError: predictions and references must have the same length, got 1 ...
    """
    candidates = check_texts("predictions", predictions)
    groups = as_list("references", references)
    if len(candidates) != len(groups):
        raise _length_error(candidates, groups)
    if not candidates and not allow_empty:
        raise InputError("predictions and references are empty. Pass at least one pair.")
    several = bool(groups) and is_list(groups[0])
    checked_groups = []
    for index, group in enumerate(groups):
        if is_list(group) != several and (is_list(group) or isinstance(group, str)):
            raise InputError(
                "references must all be strings or all be lists of strings, but references[0] and "
                f"references[{index}] have different types. Put each single reference in a list."
            )
        checked_groups.append(_check_group(f"references[{index}]", group))
    return Pairs(candidates, checked_groups)


def _check_group(name: str, group: object) -> list[str]:
    """Check a reference or a list of references, and return it as a list."""
    if not is_list(group):
        check_text(name, group)
        return [str(group)]
    return check_texts(name, group, least=1)


def _length_error(candidates: list[str], groups: list[Any]) -> InputError:
    remedy = "Pass one reference, or one list of references, per prediction."
    if groups and all(is_list(group) and len(group) == len(candidates) for group in groups):
        remedy = (
            f"For references in sacreBLEU's format (one list of {len(candidates)} texts per "
            "reference set), pass list(zip(*references))."
        )
    return InputError(
        "predictions and references must have the same length, got "
        f"{counted(len(candidates), 'prediction')} and {counted(len(groups), 'reference')}. "
        f"{remedy}"
    )


def iterate_pairs(pairs: Iterable[object]) -> Iterator[Pair]:
    """Check and yield each pair: a candidate and its reference or list of references.

    >>> list(iterate_pairs([("a cat", "the cat"), ("a dog", ["the dog", "one dog"])]))
    [('a cat', ['the cat']), ('a dog', ['the dog', 'one dog'])]
    """
    for index, pair in enumerate(pairs):
        name = f"pairs[{index}]"
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InputError(
                f"{name} must be (candidate, reference) or (candidate, list of references), "
                f"got {reprlib.repr(pair)}"
            )
        check_text(f"{name}[0]", pair[0])
        yield pair[0], _check_group(f"{name}[1]", pair[1])


def is_blank(text: str) -> bool:
    r"""Return True for a text of only invisible or undecodable characters.

    Most models have no tokens for it.

    >>> is_blank(" \n\u200b"), is_blank("."), is_blank("\ufffd")
    (True, False, True)
    """
    # U+FFFD replaces bytes that could not be decoded.
    return all(unicodedata.category(letter) in BLANK or letter == "\ufffd" for letter in text)


def check_texts(name: str, texts: object, least: int = 0) -> list[str]:
    """Check that a sequence contains only strings, at least `least`, and return it as a list.

    >>> check_texts("texts", ("a", "b"))
    ['a', 'b']
    """
    checked = as_list(name, texts)
    for index, text in enumerate(checked):
        check_text(f"{name}[{index}]", text)
    if len(checked) < least:
        raise InputError(f"{name} is empty. Pass at least one text.")
    return checked


def check_text(name: str, text: object) -> None:
    """Check that `text` is a string of valid Unicode.

    >>> check_text("predictions[3]", None)
    Traceback (most recent call last):
    infolm_metric.InputError: predictions[3] must be a string, got None. Remove it or use ...
    """
    if not isinstance(text, str):
        label = "None" if text is None else f"{reprlib.repr(text)} ({type(text).__name__})"
        remedy = "Remove it or use an empty string." if is_missing(text) else "Convert it."
        raise InputError(f"{name} must be a string, got {label}. {remedy}{_decoding(text)}")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{name} must be valid Unicode, got a lone surrogate ({text[error.start]!a}) at "
                f"character {error.start}. Decode the text correctly or remove the character."
            ) from None


def _decoding(values: object) -> str:
    """Return the remedy for token ids or logits, such as the predictions of a Trainer, or ""."""
    single = True
    while is_list(values) and len(values):
        values, single = next(iter(values)), False
    if isinstance(values, bool | str) or is_missing(values):
        return ""
    if hasattr(values, "__index__") and not getattr(values, "ndim", 0):
        return " For token ids, replace -100 by the padding id, then use tokenizer.batch_decode."
    if hasattr(values, "__float__") and not single:
        return " For logits, take the argmax over the vocabulary, then tokenizer.batch_decode."
    return ""


def is_missing(text: object) -> bool:
    """Return True for None, and for NaN and NA, which pandas uses for missing texts."""
    nan = isinstance(text, float) and text != text
    return text is None or type(text).__name__ == "NAType" or nan


def as_list(name: str, values: object) -> list[Any]:
    """Convert a sequence to a list. Raise InputError for strings, tables and other values."""
    if not is_list(values):
        remedy = "Pass a list or a column of texts."
        label = f"{reprlib.repr(values)} ({type(values).__name__})"
        if isinstance(values, str):
            label = f"the string {reprlib.repr(values)}"
            remedy = f"Wrap it in a list: [{reprlib.repr(values)}]"
        elif isinstance(values, Iterator) or hasattr(values, "column_name"):  # a lazy column
            remedy = "Wrap it in list()."
        raise InputError(f"{name} must be a list of strings, got {label}. {remedy}")
    for convert in ("tolist", "to_pylist"):  # arrays and series, then Arrow columns
        if hasattr(values, convert):
            return list(getattr(values, convert)())
    return list(values)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of `size` consecutive items.

    >>> list(batches("abc", 2))
    [['a', 'b'], ['c']]
    """
    items = iter(items)
    while batch := list(islice(items, min(size, sys.maxsize))):
        yield batch


def strip_thinking(text: str) -> str:
    """Remove reasoning, and keep only the content of the last <answer> if there is one.

    Everything up to the last closing tag is removed, even without an opening tag. If the rest
    starts with reasoning that is never closed, the result is empty. Control tokens (<|...|>), other
    <answer> tags and outer whitespace are also removed.

    >>> strip_thinking("Rome?</think> It is <answer>Paris</answer>.")
    'Paris'
    """
    end = max((match.end() for match in CLOSING.finditer(text)), default=0)
    text = text[end:]
    if OPENING.match(text):
        return ""
    tags = list(ANSWER.finditer(text))
    end = max((tag.start() for tag in tags if tag[1]), default=len(text))
    starts = [tag.end() for tag in tags if not tag[1] and tag.start() < end]
    if starts:
        text = text[starts[-1] : end]
    return CONTROL.sub("", ANSWER.sub("", text)).strip()
