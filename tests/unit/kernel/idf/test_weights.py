"""The weights of a text's tokens."""

import math

import numpy as np
import pytest

from infolm_metric.kernel.idf.weights import normalised_log_weights
from tests.made_texts import text_of


def test_weights_are_the_tables_normalised():
    table = np.array([0.0] * 10 + [1.0, 2.0, 0.0, 5.0])
    text = text_of([10, 11, 10, 12])
    expected = [math.log(1 / 4), math.log(2 / 4), math.log(1 / 4), -math.inf]
    assert normalised_log_weights(text, table).tolist() == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("count", [0, 1, 3, 1000])
def test_without_a_table_or_with_nothing_but_zeros_weights_are_uniform(count):
    text = text_of([10] * count)
    expected = np.full(count, -math.log(count) if count else 0.0)
    np.testing.assert_allclose(normalised_log_weights(text, None), expected, rtol=1e-15)
    np.testing.assert_array_equal(
        normalised_log_weights(text, np.zeros(20)), normalised_log_weights(text, None)
    )
