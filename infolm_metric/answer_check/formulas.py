r"""Formulas in LaTeX or with operators, compared by math-verify if it is installed.

The extra `math` installs it. Its own time limits need the main thread, so
formulas that could take long are recognized before they are parsed, and are not compared.
"""

from __future__ import annotations

import re
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

LONGEST = 300  # characters of a formula that is parsed
DEEPEST = 6  # nested brackets
FORMULA = re.compile(
    r"\\[a-zA-Z]|[\^=√∫∑π≤≥<>∪∩∈∧∨]|(?<=[\w)])\s?[+*]\s?(?=[\w(])|\w/[a-z(]|\w\(\w\)|\)\s?[,/]\s?\("
)
# Constructs whose evaluation can take long: large powers, towers, factorials, sums and integrals.
COSTLY = re.compile(
    r"\^\s*[{(]?\s*-?(?:\d{3}|[^{}()\s]{0,9}\^)|\^\s*\{[^{}]*[\^{(]|\*\*|\d{25}|!|[\])}]\s*\^\s*[{(]?\s*\d\d"
    r"|\\(?:sum|prod|int|lim|binom|choose|begin|uparrow|Gamma|zeta)|[∫∑∏]"
)
# Errors of sympy for formulas that it cannot evaluate, such as 0/0.
FAILURES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def is_formula(text: str) -> bool:
    """Return True for a text with LaTeX or an operator, and few words."""
    bare = re.sub(r"\\[a-zA-Z]+", " ", text)
    return bool(FORMULA.search(text)) and len(re.findall(r"[^\W\d_]{4,}", bare)) <= 2


# Version of math-verify, or None if it is not installed.
MATH_VERSION = version("math-verify") if find_spec("math_verify") and find_spec("antlr4") else None


def is_cheap(text: str) -> bool:
    """Return True for a formula that is parsed and compared in bounded time."""
    depths = accumulate((letter in "([{") - (letter in ")]}") for letter in text)
    return len(text) <= LONGEST and max(depths, default=0) <= DEEPEST and not COSTLY.search(text)


@lru_cache(4096)
def parse_formula(text: str) -> Any:
    """Parse the last formula in a text. Return None if there is none or it could take long."""
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


def formulas_agree(answer: str, reference: str) -> bool | None:
    """Compare two formulas. Return None if one of them was not parsed."""
    bare = re.sub(r"\\(?:text|math|operatorname)[a-z]{0,2}\s*\{[^{}]*\}", " ", reference)
    if re.search(r"(?<![\\a-zA-Z])[a-zA-Z]{3}", bare):
        return None  # names such as hbar in plain text
    first, second = parse_formula(reference), parse_formula(answer)
    if first is None or second is None:
        return None
    from math_verify import verify

    return bool(verify(first, second, timeout_seconds=None, float_rounding=4))


def formula_value(text: str) -> Fraction | None:
    """Evaluate a formula without variables."""
    parsed = parse_formula(text) if is_formula(text) else None
    with suppress(*FAILURES):
        for found in parsed or ():
            if getattr(found, "is_number", False) and getattr(found, "is_real", False):
                return Fraction(float(found.evalf(15)))
    return None
