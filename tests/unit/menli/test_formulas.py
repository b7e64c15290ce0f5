"""The formulas' identities and ranges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infolm_metric.menli.formulas import FORMULAS, formula_names
from tests import reference_menli

IDENTITIES = {
    "e": lambda e, n: e,
    "-c": lambda e, n: e + n - 1,
    "e-n": lambda e, n: e - n,
    "e-c": lambda e, n: 2 * e + n - 1,
    "e-n-2c": lambda e, n: 3 * e + n - 2,
}
RANGES = {"e": (0, 1), "-c": (-1, 0), "e-n": (-1, 1), "e-c": (-1, 1), "e-n-2c": (-2, 1)}
LOGITS = st.lists(st.floats(-30, 30), min_size=3, max_size=3)


def softmax(logits):
    shares = np.exp(np.asarray(logits) - max(logits))
    return shares / shares.sum()


def test_there_are_the_papers_five_formulas():
    assert list(FORMULAS) == list(RANGES) == list(reference_menli.FORMULAS)


@settings(deadline=None)
@given(LOGITS)
def test_formulas_are_what_they_are_called_and_functions_of_e_and_n(logits):
    e, n, c = softmax(logits)
    for name, formula in FORMULAS.items():
        value = formula.value((e, n, c))
        assert value == pytest.approx(reference_menli.FORMULAS[name](e, n, c), abs=1e-12)
        assert value == pytest.approx(IDENTITIES[name](e, n), abs=1e-12)
        assert RANGES[name][0] - 1e-12 <= value <= RANGES[name][1] + 1e-12
        assert formula.range == RANGES[name]


@settings(deadline=None)
@given(LOGITS, LOGITS)
def test_the_formula_of_a_mean_is_the_mean_of_the_formulas(one, other):
    one, other = softmax(one), softmax(other)
    for formula in FORMULAS.values():
        mean = (formula.value(one) + formula.value(other)) / 2
        assert formula.value((one + other) / 2) == pytest.approx(mean, abs=1e-12)


@pytest.mark.parametrize(
    ("given_", "error", "message"),
    [
        ("c-e", ValueError, "unknown formula 'c-e'; known: 'e', '-c'"),
        ([], ValueError, "formula is an empty list; name at least one of"),
        (["e", 1], TypeError, "formula must hold names, got 1"),
        (3, TypeError, "formula must be a formula or a list of formulas, got 3"),
    ],
)
def test_what_is_no_formula_is_refused(given_, error, message):
    with pytest.raises(error, match=message):
        formula_names("formula", given_)


def test_blanks_in_a_formula_do_no_harm():
    assert formula_names("formula", "e - n - 2c") == "e-n-2c"
