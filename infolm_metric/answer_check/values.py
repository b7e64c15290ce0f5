"""Numbers, dates, option letters, designators such as BRCA1, and formulas, compared by value.

A number of an answer agrees with a number of the reference if both are equal, if it rounds to the
reference at the reference's last digit, or if the reference rounds to it and it has at least three
significant digits. Units may be missing on one side, but must not contradict each other. Patterns
take linear time, because answers come from models and may repeat any character.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from infolm_metric.answer_check.final_answer import Text, fold
from infolm_metric.answer_check.formulas import formula_value, formulas_agree, is_formula
from infolm_metric.answer_check.units import Unit, find_unit, read_unit

SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12, "k": 3, "mn": 6, "mln": 6}
SCALES |= {"m": 6, "bn": 9, "b": 9, "tn": 12, "t": 12}
ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
ONES += " fifteen sixteen seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORD_VALUES = {word: value for value, word in enumerate(ONES.split())}
WORD_VALUES |= {word: 10 * value for value, word in enumerate(TENS.split(), 2)}
MONTHS = "january february march april may june july august september october november december"
MONTH_NUMBERS = {name[:3]: number for number, name in enumerate(MONTHS.split(), 1)}
LONGEST = 4000  # characters of an answer whose values are compared
MOST_PAIRS = 10_000  # of items that are compared
PERCENT = find_unit("%")

_MONTH = rf"(?:{'|'.join(MONTHS.split())}|{'|'.join(MONTH_NUMBERS)}|sept)\.?"
_DIGITS = (  # 1.234,5 and 1.234.567, then 1,234.5 and 1 234.5
    r"(?:\d{1,3}(?:\.\d{3}){1,9},\d+|(?<![(,])0,\d+(?![,\d])|\d{1,3}(?:\.\d{3}){2,9}(?![.\d])|(?:\d{1,3}(?:,\d{2,3}){0,9}"
    r",\d{3}(?!\d)|\d{1,3}(?:[ '\u2019]\d{3}){1,9}(?!\d)|\d{1,99})(?:\.\d{1,99})?|\.\d{1,99})"
)
_WORDS = (
    rf"(?i:(?:{TENS.replace(' ', '|')})(?:[ -](?:{'|'.join(ONES.split()[1:10])}))?"
    rf"|{'|'.join(reversed(ONES.split()))})(?!\w)"
)
NUMBER = (
    rf"(?P<sign>(?<![\w)\]])(?<![\w)\]] )-\s?|(?<!\w)(?i:minus|negative)\s)?"
    r"(?:(?P<money>(?:US|A|C)?\$|[€£¥₹])\s?)?"
    r"(?:10\s?\^\s?[({]?(?P<ten>[+-]?\d{1,3})(?!\d)[)}]?"
    r"|(?P<whole>\d{1,9}) (?P<top>\d{1,9})/(?P<bottom>\d{1,9})(?![/\d])"
    rf"|(?P<digits>{_DIGITS})(?:\s?[x×*·⋅]\s?10\s?\^\s?[({{]?\s?(?P<power>[+-]?\d{{1,4}})(?!\d)[)}}]?"
    r"|[eE](?P<e>[+-]?\d{1,3})(?!\w))?"
    r"(?:\s?(?:/|over\s)\s?(?P<divisor>\d{1,12}(?:\.\d{1,9})?)(?![\d/]))?"
    rf"|(?<![\w-])(?P<words>{_WORDS}))"
    r"(?:[\s-]?(?P<scale>(?i:thousand|million|billion|trillion|bn|mn|mln|tn)|(?<=\d)[kKMBT])(?!\w))?"
)
DATE = (
    rf"(?<!\w)(?i:\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?![\d:])(?:,? \d{{4}})?|{_MONTH},? \d{{4}})(?!\w)"
)
ITEM = re.compile(
    rf"(?P<date>{DATE})"
    r"|(?<![\w.])(?P<name>[^\W\d_]{1,12}-?\d[\w+-]{0,29})(?![\w.]\d)"
    rf"|{NUMBER}"
)
CHOICE = re.compile(r"(?i:(?:option|choice|answer) )?\(?([A-J])[).]{0,2}")
CHOSEN = re.compile(
    r"(?i:\b(?:option|choice|answer(?: is)?|letter)s?:? )\(?([A-J]|[a-j](?=[).]|$))(?!\w)"
    r"|^\(?([A-J])[).:](?=\s|$)|\(([A-J])\)|^\(?([A-Ja-j])[).]{0,2}$"
)
ASSIGNED = re.compile(r"(?:^|(?<=[\s,;]))[^\W\d](?:_\w|\([a-z]\))?\s?=\s?(?=\S)")
APPROXIMATE = re.compile(r"(?i)[~≈]|\b(?:an?|the|about|approximately|around|and|or|to|from)\b")
SYMBOLS = re.compile(r"[^\w\s().,;:!?\"“”‘’°%$€£¥{}~≈×·⋅*]")


class Agreement(StrEnum):
    """Comparison of the values in an answer with the values in a reference.

    "match": the values agree. "contained": they agree, but the answer has other values or the
    reference has words. "mismatch": a value of the reference is missing or contradicted. "none":
    there are no values to compare, or the comparison does not decide.
    """

    MATCH = "match"
    CONTAINED = "contained"
    MISMATCH = "mismatch"
    NONE = "none"


@dataclass(frozen=True)
class Number:
    """A number. `step` is the place value of the last digit, or 0 for an exact number."""

    value: Fraction
    step: Fraction
    digits: int  # significant digits
    unit: Unit | None = None
    scale: Fraction = Fraction(1)  # of "million"
    year: bool = False  # four digits without a unit


class Date(NamedTuple):
    """A date with its month in words. A missing year or day is None."""

    year: int | None
    month: int
    day: int | None


Item = Number | Date | str  # a designator such as BRCA1


def compare_values(answer: str, reference: str) -> Agreement:
    """Compare the values of an answer with the values of a reference.

    >>> [str(compare_values(answer, "$645")) for answer in ("It was 645 dollars.", "645 €")]
    ['match', 'mismatch']
    """
    answer, reference = unify(answer), unify(reference)
    if len(answer) > LONGEST or len(reference) > LONGEST:
        return Agreement.NONE
    if choice := CHOICE.fullmatch(reference):
        chosen = {"".join(groups).upper() for groups in CHOSEN.findall(answer)}
        agreement = Agreement.MATCH if chosen == {choice[1]} else Agreement.MISMATCH
        return agreement if chosen else Agreement.NONE
    plain = unify(Text(answer).plain), unify(Text(reference).plain)
    if _differ_in_symbols(*plain):
        return Agreement.MISMATCH
    formulas = is_formula(answer), is_formula(reference)
    second = _numeric_value(reference, plain[1])
    units = [x.unit.dimensions for x in _items(plain[0]) if isinstance(x, Number) and x.unit]
    # math-verify ignores units such as kJ/mol.
    if not any(formulas) or (second and second.unit and second.unit.dimensions in units):
        return _compare_items(*plain)
    first = _numeric_value(answer, plain[0])
    if first and second:
        return _compare_each([first], [second])
    equal = formulas_agree(answer, reference)
    if equal:
        return Agreement.MATCH
    if _is_number(plain[1]):
        return _compare_items(*plain)
    return Agreement.MISMATCH if equal is False and all(formulas) else Agreement.NONE


def _compare_items(answer: str, reference: str) -> Agreement:
    """Compare the numbers, dates and designators of plain texts."""
    wanted, found, words = _items(reference), _items(answer), _has_words(reference)
    if not wanted or not found or len(wanted) * len(found) > MOST_PAIRS:
        return Agreement.NONE
    places = _find_all(found, wanted)
    if places is None:
        return _compare_each(found, wanted)
    if places != sorted(places):
        if "," in reference and not re.search("[(=]", reference):
            return Agreement.NONE if _has_words(answer) else Agreement.MATCH
        return Agreement.NONE if words or reference.count("(") > 1 else Agreement.MISMATCH
    rest = [x for x in found if not any(_agree(x, y) for y in wanted)]
    others = any(_is_rival(x, y) for x in rest for y in wanted)
    return Agreement.CONTAINED if words or others else Agreement.MATCH


def _find_all(found: Sequence[Item], wanted: Sequence[Item]) -> list[int] | None:
    """Find a place for each wanted item. Return None if one is missing."""
    places: list[int] = []
    for item in wanted:
        agreeing = (place for place, other in enumerate(found) if _agree(other, item))
        place = next((place for place in agreeing if place not in places), None)
        if place is None:
            return None
        places.append(place)
    return places


def _compare_each(found: Sequence[Item], wanted: Sequence[Item]) -> Agreement:
    """Return MATCH if all agree, NONE if all are near or none is a rival, otherwise MISMATCH."""
    if all(any(_agree(x, y) for x in found) for y in wanted):
        return Agreement.MATCH
    near = all(any(_agree(x, y) or _are_near(x, y) for x in found) for y in wanted)
    rivals = any(_is_rival(x, y) for x in found for y in wanted)
    return Agreement.MISMATCH if rivals and not near else Agreement.NONE


def _agree(answer: Item, reference: Item) -> bool:
    """Return True if an item of an answer agrees with an item of the reference."""
    if isinstance(answer, Number) and isinstance(reference, Number):
        factors = _factors(answer, reference)
        return any(_equal_or_rounded(answer, reference, factor) for factor in factors)
    if isinstance(answer, Date) and isinstance(reference, Number):
        return reference.year and answer.year == reference.value
    if isinstance(answer, Date) and isinstance(reference, Date):
        return all(x == y for x, y in zip(answer, reference, strict=True) if y)
    return answer == reference


def _factors(answer: Number, reference: Number) -> list[Fraction]:
    """Return the factors that may convert the answer's value to the reference's.

    They come from units, percent and scales. There are none if the units have other dimensions.
    """
    factor = Fraction(1)
    if answer.unit and reference.unit:
        if answer.unit.dimensions != reference.unit.dimensions:
            return []
        factor = answer.unit.factor / reference.unit.factor
    factors = [factor]
    if {answer.unit, reference.unit} == {None, PERCENT}:
        factors.append(Fraction(1, 100) if answer.unit else Fraction(100))
    if {1} < {answer.scale, reference.scale} and min(answer.digits, reference.digits) >= 3:
        factors.append(reference.scale / answer.scale)  # a table can be in millions
    return factors


def _equal_or_rounded(answer: Number, reference: Number, factor: Fraction) -> bool:
    value, step = answer.value * factor, answer.step * factor
    difference = 2 * abs(value - reference.value)
    if step < reference.step:  # the answer has more digits
        return difference <= reference.step
    return not difference or (answer.digits >= 3 and reference.step < step and difference <= step)


def _are_near(answer: Item, reference: Item) -> bool:
    """Return True for numbers that differ by at most 1%, except years and plain integers."""
    if not (isinstance(answer, Number) and isinstance(reference, Number)) or reference.year:
        return False
    if answer.step == reference.step == 1 and not (answer.unit or reference.unit):
        return False
    differences = (answer.value * x - reference.value for x in _factors(answer, reference))
    return any(100 * abs(difference) <= abs(reference.value) for difference in differences)


def _is_rival(answer: Item, reference: Item) -> bool:
    """Return True if an item could be given instead of an item of the reference."""
    if isinstance(answer, Number) and isinstance(reference, Number):
        return reference.year or not answer.year
    if isinstance(answer, Date) and isinstance(reference, Date):
        return any(x != y for x, y in zip(answer, reference, strict=True) if x and y)
    return isinstance(answer, str) and isinstance(reference, str)


def _is_number(text: str) -> bool:
    """Return True if a text consists of numbers, dates or designators, and names of variables."""
    return bool(_items(text)) and not re.search(r"[^\W_]|[\^√+*/=<>]", _text_beside_items(text))


def _numeric_value(text: str, plain: str) -> Number | None:
    """Read a text that is a number, or evaluate a formula without variables to 12 digits."""
    items = _items(plain)
    if len(items) == 1 and isinstance(items[0], Number) and _is_number(plain):
        return items[0]
    value = formula_value(text)
    return None if value is None else Number(value, abs(value) / 10**12, digits=12)


def _text_beside_items(text: str) -> str:
    """Remove items, the names of variables, and words such as "about"."""
    text = ASSIGNED.sub(" ", text)
    for _, (start, end) in reversed(find_items(text)):
        text = f"{text[:start]} {text[end:]}"
    return APPROXIMATE.sub(" ", text)


def _has_words(text: str) -> bool:
    return re.search(r"[^\W\d_]", _text_beside_items(text)) is not None


def _items(text: str) -> list[Item]:
    return [item for item, _ in find_items(text)]


@lru_cache(1024)
def find_items(text: str) -> tuple[tuple[Item, tuple[int, int]], ...]:
    """Find numbers, dates and designators, with their positions."""
    items: list[tuple[Item, tuple[int, int]]] = []
    end = 0
    while match := ITEM.search(text, end):
        start, end = match.span()
        if match["date"]:
            item: Item = _read_date(match["date"])
        elif match["name"]:
            item = re.sub("[-_]", "", match["name"])
        else:
            item, end = _read_number(text, match)
        items.append((item, (start, end)))
    return tuple(items)


def _read_date(text: str) -> Date:
    numbers = [int(x) for x in re.findall(r"\d+", text)]
    year = next((x for x in numbers if x > 31), None)
    day = next((x for x in numbers if x <= 31), None)
    name = re.findall("[a-z]{3}", text.lower())[0]
    return Date(year, MONTH_NUMBERS[name], day)


def _read_number(text: str, match: re.Match[str]) -> tuple[Number, int]:
    """Read a match of NUMBER and the unit behind it. Return the number and its end."""
    unit, end = find_unit(match["money"]) if match["money"] else None, match.end()
    if unit is None:
        unit, end = read_unit(text, end)
    size, step, digits = _read_value(match)
    scale = Fraction(10) ** SCALES.get((match["scale"] or "").lower(), 0)
    factor = -scale if match["sign"] else scale
    year = unit is None and re.fullmatch("1[0-9]{3}|20[0-9]{2}", match[0]) is not None
    return Number(size * factor, step * scale, digits, unit, scale, year), end


def _read_value(match: re.Match[str]) -> tuple[Fraction, Fraction, int]:
    """Return value, step and digits of a number without sign."""
    power = int(match["ten"] or match["power"] or match["e"] or 0)
    bottom = Fraction(match["bottom"] or match["divisor"] or 1) or Fraction(1)
    if match["ten"]:
        return Fraction(10) ** power, Fraction(0), 3
    if match["whole"]:
        return int(match["whole"]) + int(match["top"]) / bottom, Fraction(0), 1
    if match["words"]:
        words = re.split("[ -]", match["words"].lower())
        return Fraction(sum(WORD_VALUES[word] for word in words)), Fraction(0), 1
    plain = match["digits"]
    if re.search(r"^0,|\.\d{3},|\..*\.", plain):  # 0,75 and 1.234,5 and 1.234.567
        plain = plain.replace(".", "").replace(",", ".")
    plain = re.sub("[, '\u2019]", "", plain)
    digits = max(1, len(plain.replace(".", "").lstrip("0")))
    last = Fraction(10) ** (power - len(plain.partition(".")[2]))
    step = Fraction(0) if match["divisor"] else last
    return Fraction(plain) * Fraction(10) ** power / bottom, step, digits


def unify(text: str) -> str:
    """Write superscripts as ^n, and fractions, dashes and degrees in one form.

    >>> unify("4.2 × 10⁻³ m², 2½ H₂O, 20 degrees Celsius")
    '4.2 × 10^-3 m^2, 2 1/2 H2O, 20 °Celsius'
    """
    text = re.sub("[\u2010-\u2013\u2212]", "-", fold(text))
    text = re.sub(r"(?<=[A-Za-z])_\{?(\d{1,4})\}?", r"\1", text)  # H_2O
    text = re.sub(r"(?<=[A-Za-z0-9])\^\{?(\d?[+-])\}?(?!\w)", r"\1", text)  # Fe^{2+}
    text = re.sub(r"(?:°|\b[Dd]egrees?) (?=(?:[CF]|(?i:celsius|fahrenheit))\b)", "°", text)
    return re.sub(r"\s+", " ", text).strip()


def is_copy(answer: str, reference: str) -> bool:
    """Return True for texts that differ at most in outer punctuation, white space and letter case.

    Case may differ in words of at least four letters that are not written in capitals.

    >>> is_copy("paris.", "Paris"), is_copy("5 mW", "5 MW"), is_copy("Co", "CO")
    (True, False, False)
    """
    words = [unify(text).strip(" .,;:!?\"'“”‘’").split() for text in (answer, reference)]
    return len(words[0]) == len(words[1]) and all(map(_is_same_word, *words))


def _is_same_word(first: str, second: str) -> bool:
    letters = len(re.sub(r"[\W\d_]", "", first))
    capitals = first.isupper() or second.isupper()
    same = letters > 3 and not capitals and first.casefold() == second.casefold()
    return first == second or same


def _differ_in_symbols(answer: str, reference: str) -> bool:
    """Return True if texts without long words have equal letters and digits, but other symbols."""
    if re.search(r"[^\W\d_]{4}", reference):
        return False
    texts = [re.sub(r"(?<=\d)\s?-\s?(?=\d)|(?<!\w)\+(?=\d)", "", x) for x in (answer, reference)]
    letters = [re.sub(r"[\W_]+", "", text) for text in texts]
    marks = [SYMBOLS.findall(text) for text in texts]
    return letters[0] == letters[1] and marks[0] != marks[1]
