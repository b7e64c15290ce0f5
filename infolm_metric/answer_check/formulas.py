r"""Formulas in LaTeX or with operators, compared by math-verify if it is installed.

The extra `math` installs it. The time limits of math-verify need the main thread. Here, costly
formulas are recognized before they are parsed, and the number of function calls is limited, which
gives the same result on slow and fast machines. Formulas that exceed a limit are not compared.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import accumulate, count
from typing import Any

LONGEST = 300  # characters of a formula that is parsed
DEEPEST = 6  # nested brackets
FORMULA = re.compile(
    r"\\[a-zA-Z]|[\^=√∫∑π≤≥<>∪∩∈∧∨]|(?<=[\w)])\s?[+*]\s?(?=[\w(])|\w/[a-z(]|\w\(\w\)|\)\s?[,/]\s?\("
)
# Constructs whose evaluation can take long: large powers, towers, and functions whose values are
# large or which take large values, such as factorials, sums, remainders, exp and sinh.
COSTLY = re.compile(
    r"\^\s*[{(]?\s*-?(?:\d{3}|(?:\d{0,2}|[a-zA-Z]|\\[a-z]+)\s*\^)|\^\s*[{(][^{}()]*(?:[\^{(]|[})]\s*\^)"
    r"|[\])}]\s*\^\s*[{(]?\s*\d\d|\*\*|\d{25}|!|[∫∑∏⌊⌈]|(?<![\\a-z{])[a-z]{3,9}\s?\("
    r"|\\(?:sum|prod|int|lim|[dt]?binom|choose|begin|uparrow|zeta|exp|[bp]?mod|gcd|lcm|det|operator|"
    r"l?floor|l?ceil|[a-z]+h(?![a-z])|[gG]amma\s*(?:\\left)?\s*[({])"
)
BRACKET_POWER = re.compile(r"[\])}]\s*\^\s*[{(]?\s*([2-9])")
LARGEST_POWER = 81  # product of the powers of brackets
MOST_CALLS = 4_000_000  # calls and returns of functions in a comparison, about two seconds
# Next to functions, simplifying takes long for large numbers: n log(x) can become log(x^n).
FUNCTION = re.compile(r"\\(?:ln|log|lg|(?:arc)?(?:sin|cos|tan|cot|sec|csc))|e\s*\^")
POWER, MOST_DIGITS = re.compile(r"[\d)}\]]\s*\^(?!\s*\{?\s*\\(?:circ|deg))"), 8
NAME = re.compile(r"\\?[a-zA-Z]+(?:_\{?\w+\}?)?(?:\(\w\))?")  # of a variable or function
# Errors of sympy for formulas that it cannot evaluate, such as 0/0.
FAILURES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def is_formula(text: str) -> bool:
    """Return True for a text with LaTeX or an operator, and few words."""
    bare = re.sub(r"\\[a-zA-Z]+", " ", text)
    return bool(FORMULA.search(text)) and len(re.findall(r"[^\W\d_]{4,}", bare)) <= 2


# Version of math-verify, or None if it or antlr4 is not installed.
MATH_VERSION = version("math-verify") if find_spec("math_verify") and find_spec("antlr4") else None


def is_cheap(text: str) -> bool:
    """Return True for a short formula without deep nesting, costly functions or large powers."""
    depths = accumulate((letter in "([{") - (letter in ")]}") for letter in text)
    if len(text) > LONGEST or max(depths, default=0) > DEEPEST or COSTLY.search(text):
        return False
    return math.prod(map(int, BRACKET_POWER.findall(text))) <= LARGEST_POWER


@lru_cache(4096)
def parse_formula(text: str) -> Any:
    """Parse the last formula in a text.

    Return None if there is none, if it is costly or invalid, or if math-verify is not installed.
    """
    if MATH_VERSION is None or not is_cheap(text):
        return None
    import logging

    from math_verify import parse

    logging.getLogger("math_verify").setLevel(logging.ERROR)
    if "$" not in text and "\\(" not in text and "\\[" not in text and "boxed" not in text:
        text = f"${text}$"
    with suppress(*FAILURES):
        return parse(text, parsing_timeout=None, fallback_mode="no_fallback") or None
    return None


class _TooManyCallsError(BaseException):  # libraries catch any Exception
    pass


def _limited(function: Callable[..., Any], *arguments: object, **keywords: object) -> Any:
    """Call a function, and return None after more than `MOST_CALLS` calls and returns."""
    calls, previous = count(), sys.getprofile()

    def check(*_: object) -> None:
        if next(calls) > MOST_CALLS:
            raise _TooManyCallsError

    sys.setprofile(check)
    try:
        return function(*arguments, **keywords)
    except _TooManyCallsError:
        return None
    finally:
        sys.setprofile(previous)


def formulas_agree(answer: str, reference: str) -> bool | None:
    """Compare two formulas. Return None if one is not parsed, or the comparison is costly.

    Of an equation, the right side is compared. None is also returned for references with plain
    words, or with more than a name on the left side.
    """
    bare = re.sub(r"\\(?:text|math|operatorname)[a-z]{0,2}\s*\{[^{}]*\}", " ", reference)
    if re.search(r"(?<![\\a-zA-Z])[a-zA-Z]{3}", bare):
        return None  # names such as hbar in plain text
    left, right = _sides(reference)
    return _equal(right, _sides(answer)[1]) if not left or NAME.fullmatch(left) else None


def _sides(text: str) -> tuple[str, str]:
    """Return the sides of an equation, or "" and the text."""
    inner = re.findall(r"\$([^$]+)\$", text)
    bare = inner[0] if len(inner) == 1 else text
    if bare.count("=") != 1 or re.search(r"[<>!]", bare):
        return "", text
    left, right = re.sub(r"\\(?:[()\[\]]|text\s*\{[^{}]*\})", "", bare).split("=")
    return left.strip(), right


def _equal(reference: str, answer: str) -> bool | None:
    both = f"{reference} {answer}"
    if FUNCTION.search(both) and (len(re.findall(r"\d", both)) > MOST_DIGITS or POWER.search(both)):
        return None
    first, second = parse_formula(reference), parse_formula(answer)
    if first is None or second is None:
        return None
    from math_verify import verify

    return _limited(verify, first, second, timeout_seconds=None, float_rounding=4)


def formula_value(text: str) -> Fraction | None:
    """Evaluate the last formula in a text. Return None unless it is a real number."""
    parsed = parse_formula(text) if is_formula(text) else None
    with suppress(*FAILURES):
        for found in parsed or ():
            if getattr(found, "is_real", False) and found.is_number:
                return Fraction(float(_limited(found.evalf, 15)))  # None is a TypeError
    return None
