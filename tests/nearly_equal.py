"""Comparisons of results within float32's tolerance, because rounding depends on the CPU."""

import re
from collections.abc import Mapping

import pytest

TOLERANCE = 1e-6  # relative above 1
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


def assert_nearly_equal(value: object, expected: object, tolerance: float = TOLERANCE) -> None:
    """Fail unless the floats in two nested values are close and everything else is equal."""
    if isinstance(expected, Mapping):
        assert value.keys() == expected.keys()
        for name, entry in expected.items():
            assert_nearly_equal(value[name], entry, tolerance)
    elif isinstance(expected, list | tuple):
        assert len(value) == len(expected)
        for entry, expected_entry in zip(value, expected, strict=True):
            assert_nearly_equal(entry, expected_entry, tolerance)
    elif isinstance(expected, float):
        assert value == pytest.approx(expected, rel=tolerance, abs=tolerance, nan_ok=True)
    else:
        assert value == expected


def assert_text_nearly_equal(text: str, expected: str) -> None:
    """Fail unless the decimal numbers in two texts are close and the rest is equal."""
    assert NUMBER.sub("#", text) == NUMBER.sub("#", expected)
    values, expected_values = (list(map(float, NUMBER.findall(part))) for part in (text, expected))
    assert values == pytest.approx(expected_values, rel=1e-4, abs=1e-6)
