"""Numbers in a text, those of dates apart, and the attack that changes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from random import Random

from infolm_metric.robustness.words import Word, changed

MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b\.?"
)
DAY = r"\d{1,2}(?:st|nd|rd|th)?"
DAYS = rf"{DAY}(?:[-–]{DAY})?"
DATES = re.compile(
    rf"\b{DAYS}\s+(?:of\s+)?{MONTH}(?:\s*,?\s*\d{{3,4}}\b)?"
    rf"|\b{MONTH}\s+{DAYS}\b(?!,\d)(?:\s*,?\s*\d{{3,4}}\b)?"
    rf"|\b{MONTH}\s*,?\s+(?:of\s+)?\d{{3,4}}\b"
    r"|\b\d+(?:-\d+){2,}"  # also what a book or a telephone has
    r"|\b\d{1,4}([./])\d{1,2}\1\d{1,4}\b"
    r"|\b\d{4}[.-]\d{2}[.-]\d{2}\b(?!\.\d)"  # mistyped: 1934.01-01
    r"|\b\d{1,2}:\d{2}(?::\d{2})?\b"
    r"|\b(?:1[89]|20)\d\d[-–/]\d\d\b(?![.,]\d)"  # a season, after "1985-02-03"
)
NUMBER = re.compile(r"(?<![\w.,])(?<![A-Za-z][-–])\d+(?:[.,]\d+)*(?![\w])")
YEAR = re.compile(r"(?:19|20)\d\d")
UNIT = re.compile(
    r"\s*[%°]|[\s-]*(?:square |cubic |nautical |light[- ])?"
    r"(?:kilomet(?:re|er)|centimet(?:re|er)|millimet(?:re|er)|met(?:re|er)|mile|yard|inch|foot|feet|"
    r"acre|hectare|lit(?:re|er)|gallon|gram(?:me)?|kilogram(?:me)?|tonne|ton|pound|ounce|second|"
    r"minute|hour|day|week|month|year|degree|kelvin|watt|kilowatt|megawatt|volt|horsepower|"
    r"people|person|inhabitant|resident|citizen|employee|worker|student|member|seat|passenger|"
    r"spectator|copy|copies|page|book|vehicle|car|time|point|dollar|euro|"
    r"percent|per cent|million|billion|thousand|hundred|km|cm|mm|nm|mi|ft|in²|km2|m2|sq|kg|mg|lb|"
    r"kph|mph|rpm|hp|kw|mw|m|g|l)(?:s|es|²|2|³)?\b",
    re.IGNORECASE,
)
SHARE = re.compile(r"(?i)\s*(?:[/:]|-?to-?|in|by|per|for|(?:out )?of)\s*(?:every |the |all )?")
"""What stands between the numbers of a share or a ratio."""
ATTEMPTS = 100
CURRENCY = "$€£¥"


def numbers_of(text: str) -> Iterator[re.Match[str]]:
    """The numbers of a text but those in dates and in words such as "A380".

    A number from 1900 to 2099 is a year, unless a unit follows or a currency precedes it.

    >>> text = "On 3 May 1999 the B-2 flew 1,250.5 km, in 1998 2000 km, with 3 of 20 on board."
    >>> [number[0] for number in numbers_of(text)]
    ['1,250.5', '2000', '3', '20']
    """
    dates = [found.span() for found in DATES.finditer(text)]
    for found in NUMBER.finditer(text):
        start, end = found.span()
        if any(first <= start < last for first, last in dates):
            continue
        counted = UNIT.match(text, end) or text[:start].rstrip()[-1:] in tuple(CURRENCY)
        if counted or not YEAR.fullmatch(found[0]):
            yield found


def other_numbers(text: str, random: Random) -> str | None:
    """Every number by another of the same form; the same one by the same wherever it occurs.

    The new ones are not the old ones in another order, and no share keeps its ratio, as 2/4 for
    1/2; None if chance finds no such numbers.
    """
    numbers = [Word(found[0], *found.span()) for found in numbers_of(text)]
    kinds = list(dict.fromkeys(each.text for each in numbers))
    for _ in range(ATTEMPTS if numbers else 0):
        new = {number: _other(number, random) for number in kinds}
        if _amounts(new) != _amounts(new.values()) and not _same_share(text, numbers, new):
            return changed(text, [(each, new[each.text]) for each in numbers])
    return None


def _amounts(numbers: Iterable[str]) -> set[str]:
    """What numbers say, however it is written: "1,000" and "1000" say the same."""
    return {number.replace(",", "") for number in numbers}


def _same_share(text: str, numbers: Sequence[Word], new: Mapping[str, str]) -> bool:
    """True if two numbers of a share, as "1/2" and "3 of 4", keep their ratio."""
    for one, other in pairwise(numbers):
        if SHARE.fullmatch(text, one.end, other.start):
            first, second, third, fourth = (
                int(re.sub(r"\D", "", each))
                for each in (one.text, other.text, new[one.text], new[other.text])
            )
            if one.text != other.text and first * fourth == second * third:
                return True
    return False


def _other(number: str, random: Random) -> str:
    """Other digits in the same places; the first is not 0, the whole is not what it was."""
    other = number
    while other == number:
        digits = [str(random.randrange(10)) if each.isdigit() else each for each in number]
        digits[0] = str(random.randrange(1, 10))
        other = "".join(digits)
    return other
