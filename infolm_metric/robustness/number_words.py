"""Numbers written as words: what says the same as digits do."""

from __future__ import annotations

import re

from infolm_metric.robustness.numbers import CURRENCY, numbers_of
from infolm_metric.robustness.words import Edit, Word, changed, listed

ONES = listed(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen
    """
)
TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety")
SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
READABLE = re.compile(r"(0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*)(?:\.(\d+))?")


def cardinal(number: int) -> str:
    """A whole number from 0 to below 10^12 in words.

    >>> cardinal(21), cardinal(1005), cardinal(2_000_340)
    ('twenty-one', 'one thousand and five', 'two million three hundred and forty')
    """
    for size, name in SCALES:
        if number >= size:
            count, rest = divmod(number, size)
            joint = " and " if rest < 100 else " "
            return f"{cardinal(count)} {name}" + (joint + cardinal(rest) if rest else "")
    if number < 20:
        return ONES[number]
    tens, ones = divmod(number, 10)
    return TENS[tens - 2] + (f"-{ONES[ones]}" if ones else "")


def in_words(text: str) -> str | None:
    """The text with its numbers in words, those of dates apart; None if there are none to write so.

    >>> in_words("12 runways, 3.25 km and 40% of it, since 1999.")
    'Twelve runways, three point two five km and forty percent of it, since 1999.'
    """
    edits: list[Edit] = []
    for found in numbers_of(text):
        read = READABLE.fullmatch(found[0])
        if read is None or text[: found.start()].rstrip()[-1:] in tuple(CURRENCY):
            continue
        whole, decimals = int(read[1].replace(",", "")), read[2]
        if whole >= 10**12:
            continue
        words = cardinal(whole)
        if decimals:
            words += " point " + " ".join(ONES[int(digit)] for digit in decimals)
        start, end = found.span()
        if text[end : end + 1] == "%":
            words, end = f"{words} percent", end + 1
        new = words if text[:start].strip() else words.capitalize()
        edits.append((Word(text[start:end], start, end), new))
    return changed(text, edits) if edits else None
