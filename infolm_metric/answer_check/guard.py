"""Penalties on completions that obtain a high score of answer_check without a good answer.

Each penalty is a factor from 0 to 1. Lists, repetitions and lengths that references have are not
penalized.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import combinations
from os.path import commonprefix

from infolm_metric.answer_check.final_answer import Text, final_answer, plain_text
from infolm_metric.answer_check.patterns import find_denial
from infolm_metric.answer_check.statements import split_words
from infolm_metric.answer_check.values import is_copy

# Words before length is penalized: 97% of the correct answers in EVOUNA and DIVER-QA are shorter.
# The factor decreases by LENGTH_SLOPE per further word, down to SHORTEST.
USUAL_WORDS, LENGTH_SLOPE, SHORTEST = 200, 0.001, 0.25
# Bare lists: minimum number of items beyond the reference's, and maximum mean of words per item.
LISTS = ((2, 2), (6, 4))
CHOICE, OPTIONS, OPTION_WORDS = " or ", 3, 4  # up to three options of four words on average
# Maximum number of compared statements, minimum number of words that two of them share at their
# ends, and maximum number of words in which they differ.
STATEMENTS, SAME_WORDS, NEW_WORDS = 50, 2, 6
CANDIDATES = 0.1  # factor of an answer with several candidates
REPETITION = 3  # exponent of the fraction of words that are not repeated
SEPARATOR = re.compile(r"[,;/|\n✓✔☑\"{}\[\]]|\b(?:or|and)\b")


def guard(answer: str, references: Sequence[str], prompt: str = "") -> float:
    """Return the product of all penalties, from 0 to 1, and 1 for a copy of a reference.

    `prompt` may be empty.

    >>> guard("It is Paris.", ["Paris"]), guard("Paris Paris Paris Paris", ["Paris"])
    (1.0, 0.015625)
    """
    text, expected = final_answer(answer), [plain_text(reference) for reference in references]
    if any(is_copy(text.source, reference.source) for reference in expected):
        return 1.0
    factors = (penalty(text, expected) for penalty in (repetition, candidates, length))
    return copied_prompt(text, prompt) * math.prod(factors)


def repetition(text: Text, references: Sequence[Text]) -> float:
    """Return the cubed fraction of new words, relative to the most repetitive reference.

    A statement is repeated if earlier statements contain all of its words, and a phrase if it
    directly follows an equal phrase.
    """
    usual = min((_distinct(reference) for reference in references), default=1.0)
    return float(min(1.0, _distinct(text) / usual) ** REPETITION)


def _distinct(text: Text) -> float:
    """Return the fraction of words outside repeated phrases and statements of known words."""
    known: set[str] = set()
    fresh = total = 0
    for statement in text.statements:
        words = split_words(statement)
        total += len(words)
        if not known.issuperset(words):
            fresh += len(words) - len(_repeated(words))
        known.update(words)
    return fresh / total if total else 1.0


def _repeated(words: Sequence[str]) -> set[int]:
    """Return the places of words that repeat the phrase of up to 12 words directly before them."""
    repeated: set[int] = set()
    for size in range(1, min(len(words) // 2, 12) + 1):
        same = 0  # length of the current run of words that equal the word `size` before
        for place in range(size, len(words)):
            same = same + 1 if words[place] == words[place - size] else 0
            if same >= size:
                repeated.update(range(place - size + 1, place + 1))
    return repeated


def copied_prompt(text: Text, prompt: str) -> float:
    """Return the fraction of words that are not in statements made of the prompt's words."""
    known = set(split_words(prompt))
    statements = [split_words(statement) for statement in text.statements]
    copied = sum(len(words) for words in statements if words and known.issuperset(words))
    return 1 - copied / max(1, len(text.words))


def candidates(text: Text, references: Sequence[Text]) -> float:
    """Return 0.1 for a bare list, a denial, or statements that differ in the answer, otherwise 1.

    >>> [candidates(plain_text(x), [plain_text("Paris")]) for x in ("Rome or Paris", "Paris")]
    [0.1, 1.0]
    """
    items, words = len(_items(text)), len(text.words)
    more = items - max((len(_items(reference)) for reference in references), default=1)
    either = CHOICE in text.plain and not any(CHOICE in reference.plain for reference in references)
    listed = any(more >= least and words <= most * items for least, most in LISTS)
    chosen = either and items <= OPTIONS and words <= OPTION_WORDS * items
    denied = any(find_denial(Text(x), other) for x in text.statements for other in references)
    if listed or chosen or denied:  # whatever the other statements assert
        return CANDIDATES
    wanted = [set(reference.words) for reference in references if reference.words]
    for sides in combinations(map(split_words, text.statements[:STATEMENTS]), 2):
        same = len(commonprefix(sides)) + len(commonprefix([words[::-1] for words in sides]))
        new = max(map(len, sides)) - same
        first, second = ([words.issubset(side) for words in wanted] for side in sides)
        if same >= SAME_WORDS and new <= NEW_WORDS and first != second:
            return CANDIDATES
    return 1.0


def _items(text: Text) -> list[str]:
    return [part for part in SEPARATOR.split(text.plain) if part and split_words(part)]


def length(text: Text, references: Sequence[Text]) -> float:
    """Return a factor that decreases beyond 200 words or, if larger, twice the longest reference.

    >>> [round(length(plain_text("word " * size), []), 3) for size in (200, 400)]
    [1.0, 0.8]
    """
    longest = max((2 * len(reference.words) for reference in references), default=0)
    extra = max(0, len(text.words) - max(USUAL_WORDS, longest))
    return max(SHORTEST, 1 - LENGTH_SLOPE * extra)
