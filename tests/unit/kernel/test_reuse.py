"""What is kept of texts that come again, within a bound of bytes."""

import pytest
import torch

from infolm_metric.kernel.reuse import Store


def tensor(value=0.0, entries=8):
    return torch.full((entries,), value, dtype=torch.float64)  # 8 bytes each


def test_the_store_gives_back_what_was_put():
    store = Store(1000)
    store.put("a", tensor(1.0))
    assert torch.equal(store.get("a"), tensor(1.0))
    assert store.get("b") is None
    assert (len(store), store.size) == (1, 64)


def test_the_store_keeps_within_its_bytes_and_drops_the_longest_unused():
    store = Store(3 * 64)
    for name in "abc":
        store.put(name, tensor())
    assert (len(store), store.size) == (3, 192)
    store.get("a")
    store.put("d", tensor())  # b was used longest ago
    assert [name for name in "abcd" if store.get(name) is not None] == ["a", "c", "d"]
    store.put("e", tensor(entries=16))  # as large as the two used longest ago
    assert [name for name in "acde" if store.get(name) is not None] == ["d", "e"]
    assert store.size == 192


def test_what_is_put_again_takes_no_more_room_and_counts_as_used():
    store = Store(2 * 64)
    store.put("a", tensor())
    store.put("b", tensor())
    store.put("a", tensor())
    assert (len(store), store.size) == (2, 128)
    store.put("c", tensor())
    assert store.get("b") is None and store.get("a") is not None


def test_a_smaller_limit_drops_at_once_and_a_larger_one_makes_room():
    store = Store(4 * 64)
    for name in "abcd":
        store.put(name, tensor())
    store.shrink(130)
    assert [name for name in "abcd" if store.get(name) is not None] == ["c", "d"]
    assert store.size == 128
    store.shrink(3 * 64)
    store.put("e", tensor())
    assert len(store) == 3
    store.shrink(0)
    assert (len(store), store.size) == (0, 0)


@pytest.mark.parametrize("limit", [0, 63])
def test_what_is_larger_than_the_limit_is_not_kept(limit):
    store = Store(limit)
    store.put("a", tensor())
    assert (len(store), store.size) == (0, 0) and store.get("a") is None


def test_what_is_too_large_to_keep_costs_nothing_else_its_place():
    store = Store(2 * 64)
    store.put("a", tensor())
    store.put("b", tensor(entries=17))
    assert store.get("a") is not None and store.get("b") is None
    assert store.size == 64


def test_a_row_of_a_larger_tensor_does_not_keep_the_rest_alive():
    store = Store(1000)
    rows = torch.rand(100, 8, dtype=torch.float64)
    store.put("a", rows[3])
    kept = store.get("a")
    assert torch.equal(kept, rows[3])
    assert kept.untyped_storage().nbytes() == store.size == 64
