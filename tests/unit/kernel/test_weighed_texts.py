"""A text as it is to be scored: its tokens and their weights."""

import numpy as np

from tests.made_weighed_texts import weighed_text


def test_equal_tokens_with_equal_weights_have_equal_keys():
    table = np.arange(20.0)
    assert weighed_text(10, 11).key == weighed_text(10, 11).key
    assert weighed_text(10, 11).key != weighed_text(11, 10).key
    assert weighed_text(10, 11).key != weighed_text(10, 11, table=table).key
    assert weighed_text(10, 11, table=table).key == weighed_text(10, 11, table=2 * table).key
    assert weighed_text(10, 10, table=table).key == weighed_text(10, 10).key


def test_a_reading_is_weightless_where_idf_says_nothing_about_its_tokens():
    table = np.zeros(20)
    table[11] = 1.0
    assert weighed_text(10, 12, table=table).weightless is True
    assert weighed_text(10, 11, table=table).weightless is False
    assert weighed_text(10, 12).weightless is False
    assert (
        weighed_text(table=table).weightless is False
    )  # without a token there is nothing to weigh
