"""The formulas of MENLI: a score from the probabilities that one text follows from another.

e, n and c are the probabilities of entailment, neutrality and contradiction; they sum to 1. All
formulas are linear, so that the value of a mean of probabilities is the mean of the values. Source:
Chen and Eger, "MENLI: Robust Evaluation Metrics from Natural Language Inference", TACL 2023,
section 4.3. Higher is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infolm_metric.kernel.checks import name_or_names, nearest

LETTERS = ("e", "n", "c")


@dataclass(frozen=True)
class Formula:
    """How much each of the probabilities e, n and c counts."""

    name: str
    weights: tuple[float, float, float]

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and the largest value.

        >>> FORMULAS["e-n-2c"].range
        (-2, 1)
        """
        return min(self.weights), max(self.weights)

    def value(self, probabilities: Any) -> Any:
        """The scores of probabilities [3, ...], in the order e, n, c.

        >>> FORMULAS["e-c"].value((0.75, 0.125, 0.125))
        0.625
        """
        e, n, c = probabilities
        one, two, three = self.weights
        return one * e + two * n + three * c


FORMULAS = {
    formula.name: formula
    for formula in (
        Formula("e", (1, 0, 0)),
        Formula("-c", (0, 0, -1)),
        Formula("e-n", (1, -1, 0)),
        Formula("e-c", (1, 0, -1)),
        Formula("e-n-2c", (1, -1, -2)),
    )
}


def formula_names(name: str, value: Any) -> str | tuple[str, ...]:
    """The name of a formula, or those of a list of formulas.

    >>> formula_names("formula", ["e", "e-c", "e"])
    ('e', 'e-c')
    >>> formula_names("formula", "c")
    Traceback (most recent call last):
    ValueError: unknown formula 'c'; did you mean '-c'?
    """

    def resolve(given: str) -> str:
        plain = given.replace(" ", "")
        if plain not in FORMULAS:
            raise ValueError(f"unknown {name} {given!r}; {nearest(plain, list(FORMULAS))}")
        return plain

    return name_or_names(name, value, "formula", FORMULAS, resolve)
