"""Checks of single values, and the hint at the word that was meant."""

import math
from decimal import Decimal

import numpy as np
import pytest
import torch

from infolm_metric.kernel.checks import (
    check_known,
    flag,
    nearest,
    number,
    one_of,
    optional,
    whole_number,
)


def test_a_hint_names_the_nearest_or_all():
    assert nearest("windows", ["truncate", "window"]) == "did you mean 'window'?"
    assert nearest("length", ["long_text", "max_length"]) == "did you mean 'max_length'?"
    assert nearest(None, ["truncate", "window"]) == "known: 'truncate', 'window'"


def test_a_hint_lists_the_first_of_very_many():
    hint = nearest("zzz", [f"a{number}" for number in range(1000)])
    assert hint.startswith("known: 'a0', 'a1', ") and hint.endswith(", 'a49', and 950 more")


@pytest.mark.parametrize("value", ["levels", None, 3])
def test_a_word_that_is_none_of_the_known_is_refused_by_what_it_is(value):
    check_known("level", "text", ("system", "text"))
    with pytest.raises(ValueError, match=f"unknown level {value!r}; "):
        check_known("level", value, ("system", "text"))


@pytest.mark.parametrize(
    "value", [np.float32(0.5), np.float64(0.5), np.array(0.5), torch.tensor(0.5), Decimal("0.5")]
)
def test_a_number_of_any_library_becomes_a_plain_float(value):
    assert type(number("x", value)) is float and number("x", value) == 0.5


@pytest.mark.parametrize("value", [True, np.True_, "0.5", b"1", None, [1.0, 2.0], np.ones(2)])
def test_what_is_no_single_number_is_refused(value):
    with pytest.raises(TypeError, match="x must be a (single )?number, got "):
        number("x", value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_are_finite(value):
    with pytest.raises(ValueError, match=f"x must be finite, got {value}"):
        number("x", value)


def test_whole_numbers_have_a_least_value():
    assert whole_number("x", np.uint8(7)) == 7 and whole_number("x", 0, least=0) == 0
    with pytest.raises(ValueError, match="x must be at least 1, got 0"):
        whole_number("x", 0)
    for value in (1.5, True, "7"):
        with pytest.raises(TypeError, match=f"x must be a whole number, got {value!r}"):
            whole_number("x", value)


def test_checks_are_made_of_checks():
    assert optional(flag)("x", None) is None and optional(flag)("x", False) is False
    with pytest.raises(TypeError, match="x must be True or False, got 1"):
        optional(flag)("x", 1)
    assert one_of(("min", "mean"))("x", "mean") == "mean"
    with pytest.raises(ValueError, match="unknown x 'maen'; did you mean 'mean'?"):
        one_of(("min", "mean"))("x", "maen")
