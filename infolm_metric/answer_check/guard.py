"""Penalties on completions that raise the score of answer_check without answering better.

Each penalty is a factor from 0 to 1, and 1 for an ordinary answer. The reward is the score times
all factors. References of a few words are easy to hit, so the penalties are about form: repeated
words, denied references, bare lists and keywords, copies of the prompt, and length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from infolm_metric.answer_check.denials import find_denial, offers_candidates
from infolm_metric.answer_check.final_answer import final_answer, plain_reference
from infolm_metric.answer_check.statements import split_statements
from infolm_metric.answer_check.tokens import answer_tokens, is_copy, reference_tokens

# Factors for an answer that denies a reference somewhere, or lists it with other candidates.
DENIED, LISTED = 0.25, 0.25
LONGEST_REPEAT = 40  # tokens of a repeated phrase
# Words before length is penalized: 97% of the correct answers in EVOUNA and DIVER-QA are shorter.
# The factor decreases by LENGTH_SLOPE per further word.
USUAL_WORDS, LENGTH_SLOPE, LONG = 200, 0.001, 0.25
MIN_ITEMS = 4  # of a bare list, and tokens of a bare list of keywords
# Largest mean number of words per item of a bare list, and of a list of at least MANY_ITEMS.
ITEM_WORDS, MANY_ITEMS, MANY_ITEMS_WORDS = 2.5, 8, 4
# Words that most sentences contain at least one of.
FUNCTION_WORDS = frozenset(
    ("a", "an", "the", "of", "in", "on", "at", "to", "by", "for", "from", "with", "as", "is", "are")
    + ("was", "were", "be", "been", "it", "its", "he", "she", "they", "his", "her", "their", "this")
    + ("that", "these", "those", "and", "but", "or", "not", "which", "who", "has", "have", "had")
)


def guard(answer: str, references: Sequence[str], prompt: str = "") -> float:
    """Return the product of all penalties, from 0 to 1, and 1 for a copy of a reference.

    `prompt` may be empty.

    >>> guard("It is Paris.", ["Paris"]), guard("Paris Paris Paris Paris", ["Paris"])
    (1.0, 0.25)
    """
    text = final_answer(answer)
    plain = [plain_reference(reference) for reference in references]
    if any(is_copy(text, reference) for reference in plain):
        return 1.0
    factors = (
        repetition(text, plain),
        denial(text, plain),
        bare_list(text, plain),
        copied_prompt(text, prompt),
        length(text, plain),
    )
    return math.prod(factors)


def repetition(text: str, references: Sequence[str]) -> float:
    """Return the fraction of tokens that do not repeat the phrase before them.

    Repetitions in a reference are not penalized.

    >>> repetition("Rome, Rome", ["Rome"]), repetition("Baden-Baden", ["Baden-Baden"])
    (0.5, 1.0)
    """
    usual = min((_unrepeated(reference) for reference in references), default=1.0)
    return min(1.0, _unrepeated(text) / usual)


def _unrepeated(text: str) -> float:
    keys = [token.key for token in answer_tokens(text)]
    repeated: set[int] = set()
    for size in range(1, min(len(keys) // 2, LONGEST_REPEAT) + 1):
        same = 0  # length of the current run of tokens that equal the token `size` before
        for place in range(size, len(keys)):
            same = same + 1 if keys[place] == keys[place - size] else 0
            if same >= size:
                repeated.update(range(place - size + 1, place + 1) if same == size else (place,))
    return 1 - len(repeated) / len(keys) if keys else 1.0


def denial(text: str, references: Sequence[str]) -> float:
    """Return DENIED for an answer that denies a reference, even if it also asserts it.

    >>> denial("It is Paris. It is not Paris.", ["Paris"]), denial("Not Rome. Paris.", ["Paris"])
    (0.25, 1.0)
    """
    statements = split_statements(text)
    denied = any(find_denial([each], reference) for each in statements for reference in references)
    if denied:
        return DENIED
    return LISTED if offers_candidates(statements, references) else 1.0


def bare_list(text: str, references: Sequence[str]) -> float:
    """Return a small factor for a list of short items or keywords that is no sentence.

    The factor is the number of items of the longest reference divided by the answer's.

    >>> bare_list("Rome, Paris, Oslo, Bern, Bonn", ["Paris"])
    0.2
    >>> bare_list("The four capitals are Rome, Paris, Oslo and Bern.", ["Rome, Paris, Oslo, Bern"])
    1.0
    """
    items, most = _items(text), max((len(_items(each)) for each in references), default=1)
    words = [token.key for token in answer_tokens(text)]
    longest = max((len(reference_tokens(each)) for each in references), default=1)
    factor = 1.0
    size = ITEM_WORDS if len(items) < MANY_ITEMS else MANY_ITEMS_WORDS
    if len(items) >= max(MIN_ITEMS, most + 2) and len(words) <= size * len(items):
        factor = most / len(items)
    if len(words) >= MIN_ITEMS + longest and not FUNCTION_WORDS.intersection(words):
        factor = min(factor, longest / len(words))
    return factor


def _items(text: str) -> list[str]:
    return [part for part in re.split(r"[,;/|\n]|\b(?:or|and)\b", text) if part.strip()]


def copied_prompt(text: str, prompt: str) -> float:
    """Return 0 for an answer that consists of all words of the prompt and no others.

    >>> [copied_prompt(text, "Who wrote Emma?") for text in ("Who wrote Emma?", "Emma")]
    [0.0, 1.0]
    """
    words = [token.key for token in answer_tokens(text)]
    known = {token.key for token in answer_tokens(prompt)}
    return 0.0 if words and known == set(words) else 1.0


def length(text: str, references: Sequence[str]) -> float:
    """Return a factor that decreases with the number of words beyond ordinary answers.

    >>> length("word " * 200, ["a word"]), round(length("word " * 400, ["a word"]), 3)
    (1.0, 0.8)
    """
    usual = max([USUAL_WORDS, *(2 * len(reference.split()) for reference in references)])
    extra = max(0, len(text.split()) - usual)
    return max(LONG, 1 - LENGTH_SLOPE * extra)
