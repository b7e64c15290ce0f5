"""Predictions become one distribution per text: the weighted mean, formed without underflow."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infolm_metric.infolm import aggregation
from infolm_metric.infolm.aggregation import Accumulator, log_predictions

VOCABULARY = 17
WEIGHTINGS = 2
TEMPERATURES = (0.01, 0.25, 1.0, 2.0, 100.0)


def add(sums, logits, log_weights, texts, sizes):
    """Add contexts [contexts, masks, ...], `sizes[i]` of them for text `texts[i]`."""
    owner = torch.tensor(list(texts)).repeat_interleave(torch.tensor(list(sizes)))
    owner = owner.repeat_interleave(logits.shape[1])
    sums.add(logits.flatten(0, 1), log_weights.flatten(0, 1), owner)


def contexts(sizes, seed=0, scale=3.0):
    """Logits [contexts, vocab] in float32, and log weights [contexts, weightings].

    Weights sum to 1 per text and weighting.
    """
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(sum(sizes), VOCABULARY, generator=generator)
    shapes = [(size, WEIGHTINGS) for size in sizes]
    weights = [
        torch.rand(shape, generator=generator, dtype=torch.float64) + 0.1 for shape in shapes
    ]
    return logits, torch.cat([(weight / weight.sum(0)).log() for weight in weights])


def aggregate(logits, log_weights, sizes, temperatures):
    """The log distributions of texts whose contexts come in one batch."""
    sums = Accumulator(temperatures)
    add(sums, logits[:, None], log_weights[:, None], range(len(sizes)), sizes)
    return torch.stack([sums.log_sums(text) for text in range(len(sizes))])


def literal_mixture(logits, log_weights, temperature):
    """log sum_j w_j softmax(z_j / T) with Python's own floats, [vocab]."""
    mixture = [0.0] * logits.shape[1]
    for row, log_weight in zip(logits.tolist(), log_weights.tolist(), strict=True):
        peak = max(row)
        exponentials = [math.exp((value - peak) / temperature) for value in row]
        for entry, value in enumerate(exponentials):
            mixture[entry] += math.exp(log_weight) * value / math.fsum(exponentials)
    return torch.tensor([math.log(value) for value in mixture], dtype=torch.float64)


@pytest.mark.parametrize("temperature", [0.1, 0.25, 1.0, 2.0, 100.0])
def test_a_distribution_is_the_weighted_mean_of_the_predictions(temperature):
    sizes = [3, 1, 5]
    logits, log_weights = contexts(sizes)
    found = aggregate(logits, log_weights, sizes, [temperature])
    assert found.shape == (3, WEIGHTINGS, 1, VOCABULARY) and found.dtype == torch.float64
    parts = zip(logits.split(sizes), log_weights.split(sizes), found[:, :, 0], strict=True)
    for rows, weights, distributions_ in parts:
        expected = [literal_mixture(rows, each, temperature) for each in weights.T]
        torch.testing.assert_close(distributions_, torch.stack(expected), rtol=1e-12, atol=1e-12)


def test_temperatures_are_an_axis_and_do_not_mix():
    sizes = [2, 4]
    logits, log_weights = contexts(sizes)
    together = aggregate(logits, log_weights, sizes, TEMPERATURES)
    assert together.shape == (2, WEIGHTINGS, len(TEMPERATURES), VOCABULARY)
    for index, temperature in enumerate(TEMPERATURES):
        alone = aggregate(logits, log_weights, sizes, [temperature])
        assert torch.equal(together[:, :, index], alone[:, :, 0])


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_distributions_sum_to_one(temperature):
    sizes = [3, 2]
    logits, log_weights = contexts(sizes)
    totals = aggregate(logits, log_weights, sizes, [temperature]).logsumexp(-1)
    torch.testing.assert_close(totals, torch.zeros_like(totals), rtol=0, atol=1e-12)


def test_nothing_underflows_at_a_temperature_of_a_hundredth():
    # The rarest token's probability is exp(-6000), far below the smallest float64.
    logits = torch.tensor([[0.0, -30.0, -60.0], [0.0, -60.0, -50.0]])
    log_weights = torch.tensor([[0.25], [0.75]], dtype=torch.float64).log()
    ((((first, second, third),),),) = aggregate(logits, log_weights, [2], [0.01]).tolist()
    assert first == pytest.approx(0.0, abs=1e-12)
    assert second == pytest.approx(-3000 + math.log(0.25), rel=1e-12)
    assert third == pytest.approx(-5000 + math.log(0.75), rel=1e-12)


def test_very_small_weights_do_not_underflow():
    logits = torch.tensor([[0.0, 0.0], [0.0, 800.0]])
    log_weights = torch.tensor([[0.0], [-1000.0]], dtype=torch.float64)
    ((((first, second),),),) = aggregate(logits, log_weights, [2], [1.0]).tolist()
    assert first == pytest.approx(-math.log(2)) and second == pytest.approx(-math.log(2))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_predictions_are_float64_whatever_the_model_computes_in(dtype):
    logits = torch.tensor([[0.5, -1.25, 4.0]], dtype=dtype)
    found = log_predictions(logits, 0.5)
    assert found.dtype == torch.float64
    expected = torch.log_softmax(torch.tensor([[1.0, -2.5, 8.0]], dtype=torch.float64), -1)
    torch.testing.assert_close(found, expected, rtol=1e-15, atol=0)


@settings(deadline=None, max_examples=60)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    cut=st.integers(1, 7),
    order=st.randoms(use_true_random=False),
)
def test_it_does_not_matter_how_the_contexts_are_spread_over_batches(sizes, cut, order):
    logits, log_weights = contexts(sizes)
    whole = aggregate(logits, log_weights, sizes, TEMPERATURES)
    owners = [text for text, size in enumerate(sizes) for _ in range(size)]
    batches = [list(range(len(owners)))[i : i + cut] for i in range(0, len(owners), cut)]
    order.shuffle(batches)
    sums = Accumulator(TEMPERATURES)
    for rows in batches:
        texts = list(dict.fromkeys(owners[row] for row in rows))
        counts = [sum(owners[row] == text for row in rows) for text in texts]
        add(sums, logits[rows, None], log_weights[rows, None], texts, counts)
    found = torch.stack([sums.log_sums(text) for text in range(len(sizes))])
    torch.testing.assert_close(found, whole, rtol=1e-13, atol=1e-13)


@settings(deadline=None, max_examples=60)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5), cut=st.integers(1, 7))
def test_batches_in_order_give_the_same_bits_wherever_they_are_cut(sizes, cut):
    logits, log_weights = contexts(sizes)
    whole = aggregate(logits, log_weights, sizes, TEMPERATURES)
    owners = [text for text, size in enumerate(sizes) for _ in range(size)]
    sums = Accumulator(TEMPERATURES)
    for start in range(0, len(owners), cut):
        part = slice(start, start + cut)
        texts = list(dict.fromkeys(owners[part]))
        counts = [owners[part].count(text) for text in texts]
        add(sums, logits[part, None], log_weights[part, None], texts, counts)
    assert torch.equal(torch.stack([sums.log_sums(i) for i in range(len(sizes))]), whole)


def test_a_text_met_twice_in_a_batch_is_one_text():
    logits, log_weights = contexts([4])
    sums = Accumulator([1.0])
    add(sums, logits[:, None], log_weights[:, None], [7, 7], [1, 3])
    whole = aggregate(logits, log_weights, [4], [1.0])[0]
    torch.testing.assert_close(sums.log_sums(7), whole, rtol=1e-13, atol=1e-13)


def test_a_mask_that_is_no_mask_of_its_own_adds_nothing():
    logits, log_weights = contexts([4])
    # Two contexts of three masks, of which the second repeats two with a weight of 0.
    nothing = torch.full((2, WEIGHTINGS), -math.inf, dtype=torch.float64)
    log_weights = torch.cat([log_weights, nothing])
    sums = Accumulator(TEMPERATURES)
    repeated = torch.cat([logits, logits[3:], logits[3:]])
    add(sums, repeated.view(2, 3, VOCABULARY), log_weights.view(2, 3, WEIGHTINGS), [0], [2])
    whole = aggregate(logits, log_weights[:4], [4], TEMPERATURES)[0]
    torch.testing.assert_close(sums.log_sums(0), whole, rtol=1e-13, atol=1e-13)


def test_a_weighting_may_leave_out_all_the_contexts_of_a_batch():
    logits, log_weights = contexts([4])
    log_weights[:2, 1] = -math.inf
    whole = aggregate(logits, log_weights, [4], TEMPERATURES)[0]
    sums = Accumulator(TEMPERATURES)
    for part in (slice(0, 2), slice(2, 4)):
        add(sums, logits[part, None], log_weights[part, None], [0], [2])
    assert bool(whole.isfinite().all())
    torch.testing.assert_close(sums.log_sums(0), whole, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("elements", [1, 3 * VOCABULARY, 1 << 20])
@pytest.mark.parametrize("scale", [3.0, 300.0])
def test_the_two_ways_to_mix_agree_however_the_rows_are_cut(elements, scale, monkeypatch):
    monkeypatch.setattr(aggregation, "ELEMENTS", {"cpu": elements})
    sizes = [3, 1, 5, 2]
    logits, log_weights = contexts(sizes, scale=scale)
    quick = aggregate(logits, log_weights, sizes, [2.0])
    monkeypatch.setattr(aggregation, "REPRESENTABLE", 0.0)
    careful = aggregate(logits, log_weights, sizes, [2.0])
    torch.testing.assert_close(quick, careful, rtol=1e-12, atol=1e-12)


def test_what_is_kept_of_a_text_does_not_keep_its_batch_alive():
    sizes = [1] * 50
    logits, log_weights = contexts(sizes)
    sums = Accumulator([1.0, 2.0])
    add(sums, logits[:, None], log_weights[:, None], range(50), sizes)
    kept = sums.log_sums(0)
    assert kept.untyped_storage().nbytes() == kept.nbytes == WEIGHTINGS * 2 * VOCABULARY * 8
