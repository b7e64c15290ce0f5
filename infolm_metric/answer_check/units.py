"""Units of measurement and currencies, as factors of SI base units."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

# Symbols and names, factor, and dimensions with exponents. "~": names take SI prefixes.
TABLE = """
~m metre meter|1|m  ~g gram gramme|1/1000|kg  ~s sec second|1|s  ~A amp ampere|1|A  K kelvin|1|K
~mol mole|1|mol  ° deg degree|1|°  °C °celsius celsius|1|°C  °F °fahrenheit fahrenheit|1|°F
~Hz hertz|1|s-1  ~N newton|1|kg m s-2  ~Pa pascal|1|kg m-1 s-2  ~J joule|1|kg m2 s-2
~W watt|1|kg m2 s-3  ~V volt|1|kg m2 s-3 A-1  ~Ω ~ohm|1|kg m2 s-3 A-2
~eV electronvolt|1602176634/10000000000000000000000000000|kg m2 s-2
~cal calorie|4184/1000|kg m2 s-2  ~L ~l litre liter|1/1000|m3  min minute|60|s  h hr hrs hour|3600|s
day|86400|s  week|604800|s  yr year|31557600|s  month|1|month  in inch inches|254/10000|m
ft foot feet|3048/10000|m  yd yard|9144/10000|m  mi mile|1609344/1000|m
lb lbs|45359237/100000000|kg  oz ounce|28349523125/1000000000000|kg  t ton tonne|1000|kg
mph|44704/100000|m s-1  kph kmh|5/18|m s-1  ~B byte|8|bit  ~b bit|1|bit
atm atmosphere|101325|kg m-1 s-2  % percent pct|1|%  $ US$ usd dollar|1|$  C$ cad|1|C$  A$ aud|1|A$
¢ cent|1/100|$  € eur euro|1|€  £ gbp|1|£  ¥ jpy yen|1|¥  ′|3048/10000|m  ″|254/10000|m
"""
PREFIXES = {"k": 3, "M": 6, "G": 9, "T": 12, "c": -2, "m": -3, "μ": -6, "n": -9, "p": -12}
PREFIX_WORDS = {"kilo": 3, "mega": 6, "giga": 9, "centi": -2, "milli": -3, "micro": -6, "nano": -9}
# A unit with an exponent, and what may precede it in a compound such as kg m/s^2.
PART = re.compile(
    r"[\s-]?(?P<by>/|\bper |[*·⋅×])?\s?"
    r"(?P<name>°?[^\W\d_]{1,14}|[°%$¢€£¥′″])"
    r"(?:(?:\s?\^\s?|\s(?=-\d))?[({]?(?P<power>-?[1-9])[)}]?(?![\w.]))?"
)


@dataclass(frozen=True)
class Unit:
    """A unit: its value in base units, and its dimensions, such as (("m", 1), ("s", -1))."""

    factor: Fraction
    dimensions: tuple[tuple[str, int], ...]


def _read_table() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for entry in re.split(r"\s{2,}|\n", TABLE.strip()):
        names, factor, dimensions = entry.split("|")
        parts = re.findall(r"([^\d\s-]+)(-?\d)?", dimensions)
        exponents = tuple(sorted((base, int(power or 1)) for base, power in parts))
        for name in names.replace("~", "").split():
            is_word = len(name) > 2
            prefixes = {"": 0} | (PREFIXES if "~" in names else {})
            prefixes |= PREFIX_WORDS if "~" in names and is_word else {}
            for prefix, power in prefixes.items():
                unit = Unit(Fraction(factor) * Fraction(10) ** power, exponents)
                units |= dict.fromkeys((prefix + name, prefix + name + "s" * is_word), unit)
    return units


UNITS = _read_table()


def find_unit(name: str) -> Unit | None:
    """Find a unit by its case-sensitive symbol or by its name. Return None if it is unknown.

    >>> find_unit("mW") == find_unit("MW"), find_unit("Kilometres") == find_unit("km")
    (False, True)
    """
    return UNITS.get(name) or (UNITS.get(name.lower()) if len(name) > 2 else None)


def read_unit(text: str, start: int) -> tuple[Unit | None, int]:
    """Read a unit such as "km/h" or "J K^-1 mol^-1" at a position. Return it and its end.

    >>> read_unit("5 km/h fast", 1)[1]
    6
    """
    factor, dimensions, end = Fraction(1), Counter[str](), start
    while part := PART.match(text, end):
        unit, first = find_unit(part["name"]), end == start
        is_word = part["name"] in ("a", "in", "A", "min") and not first  # of a sentence
        if unit is None or (part["by"] and first) or (is_word and not part["by"]):
            break
        power = int(part["power"] or 1)
        power *= -1 if part["by"] in ("/", "per ") else 1
        factor *= unit.factor**power
        for base, exponent in unit.dimensions:
            dimensions[base] += exponent * power
        end = part.end()
    found = tuple(sorted((base, power) for base, power in dimensions.items() if power))
    return (Unit(factor, found), end) if end > start else (None, start)
