"""Windows, masks and batches of contexts, and the weighted means of their predictions."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infolm_metric.infolm import distributions
from infolm_metric.infolm.distributions import Accumulator, batches, interpolate, split
from infolm_metric.models.tokenization import WeightedText
from tests.made_texts import BERT, MASK, make_text

VOCABULARY = 17


def weighted(log_weights):
    """Return a text of distinct tokens from 100 with these weights."""
    text = make_text(list(range(100, 100 + len(log_weights))))
    return WeightedText((b"", b""), text, np.array(log_weights))


# Windows and masks


@settings(max_examples=150)
@given(
    length=st.integers(1, 60),
    width=st.integers(1, 80),
    masked=st.booleans(),
    random=st.randoms(use_true_random=False),
)
def test_each_position_is_predicted_once_with_one_mask_per_context_or_none(
    length, width, masked, random
):
    text = weighted([random.choice([0.0, -math.inf]) for _ in range(length)])
    pieces = split(0, text, BERT, width + 2, masked)
    predicted = {}
    for piece in pieces:
        contexts, positions = piece.positions.shape
        assert (positions if masked else contexts) == 1
        for position, weight in zip(
            piece.positions.ravel(), piece.log_weights.ravel(), strict=True
        ):
            token = int(piece.ids[position])  # tokens are distinct
            assert token not in predicted
            predicted[token] = weight
    expected = {
        100 + index: weight
        for index, weight in enumerate(text.log_weights)
        if not masked or np.isfinite(weight)
    }
    assert predicted == expected


# Batches


def test_automatic_batches_hold_as_many_tokens_as_the_device_allows(monkeypatch):
    monkeypatch.setattr(distributions, "TOKENS_PER_BATCH", {"cpu": 40, "cuda": 90})
    masks = np.arange(9)[:, None], np.zeros((9, 1))
    windows = [distributions.MaskedWindow(i, np.full(9, 50 + i), *masks) for i in range(4)]
    for device, largest in (("cpu", 4), ("cuda", 10), ("mps", 4)):
        sizes = [len(batch.ids) for batch in batches(windows, MASK, None, device)]
        assert sizes[:-1] == [largest] * (len(sizes) - 1) and sum(sizes) == 36


def test_a_context_longer_than_a_batch_is_encoded_alone():
    (long,) = split(0, weighted([0.0] * 9000), BERT, None)
    first = next(batches([long], MASK, None, "cpu"))
    assert first.ids.shape == (1, 9002)


# Interpolation


def test_interpolation_does_not_depend_on_the_other_texts():
    made = {length: make_text(list(range(length))) for length in range(1, 40)}
    texts = [WeightedText((bytes([n]), b""), x, np.full(n, -math.log(n))) for n, x in made.items()]
    encodings = {text.key: torch.randn(50).double().log_softmax(-1) for text in texts}
    for row, text in zip(interpolate(texts, encodings, 0.3), texts, strict=True):
        assert torch.equal(row, interpolate([text], encodings, 0.3)[0])


# The weighted mean of the predictions


def add(sums, logits, log_weights, texts, sizes):
    """Add positions, `sizes[i]` of them for text `texts[i]`."""
    owner = torch.tensor(list(texts)).repeat_interleave(torch.tensor(list(sizes)))
    sums.add(logits, log_weights, owner)


def contexts(sizes, seed=0, scale=3.0):
    """Return float32 logits [contexts, vocab] and log weights, which sum to 1 per text."""
    generator = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(sum(sizes), VOCABULARY, generator=generator)
    weights = torch.rand(sum(sizes), generator=generator, dtype=torch.float64) + 0.1
    parts = weights.split(sizes)
    return logits, torch.cat([(weights / weights.sum(0)).log() for weights in parts])


def aggregate(logits, log_weights, sizes, temperature):
    """Return the log distributions of texts from a single batch of contexts, [texts, vocab]."""
    sums = Accumulator(temperature)
    add(sums, logits, log_weights, range(len(sizes)), sizes)
    return torch.stack([sums.log_sums(text) for text in range(len(sizes))])


def literal_mixture(logits, log_weights, temperature):
    """Compute log sum_j w_j softmax(z_j / T) in Python floats, [vocab]."""
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
    log_p = aggregate(logits, log_weights, sizes, temperature)
    assert log_p.shape == (3, VOCABULARY) and log_p.dtype == torch.float64
    parts = zip(logits.split(sizes), log_weights.split(sizes), log_p, strict=True)
    for rows, weights, mixture in parts:
        expected = literal_mixture(rows, weights, temperature)
        torch.testing.assert_close(mixture, expected, rtol=1e-6, atol=1e-6)


QUARTER, REST = math.log(0.25), math.log(0.75)
SMALL = [  # logits, log weights, temperature, log distribution
    # The rarest token's probability is exp(-6000), far below the smallest float64.
    ([[0.0, -30, -60], [0, -60, -50]], [QUARTER, REST], 0.01, [0, QUARTER - 3000, REST - 5000]),
    ([[0.0, 0.0], [0.0, 800.0]], [0.0, -1000.0], 1.0, [-math.log(2)] * 2),
    # exp(-86) / 99 is too small for float32.
    ([[0.0] * 99 + [-86]] * 2, [QUARTER, REST], 1.0, [-math.log(99)] * 99 + [-86 - math.log(99)]),
]


@pytest.mark.parametrize(("logits", "log_weights", "temperature", "expected"), SMALL)
def test_small_probabilities_do_not_underflow(logits, log_weights, temperature, expected):
    log_weights = torch.tensor(log_weights, dtype=torch.float64)
    (log_p,) = aggregate(torch.tensor(logits), log_weights, [2], temperature).tolist()
    assert log_p == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64])
def test_predictions_are_float64_for_every_dtype_of_the_model(dtype):
    logits = torch.tensor([[0.5, -1.25, 4.0]], dtype=dtype)
    log_p = distributions.log_predictions(logits, 0.5)
    assert log_p.dtype == torch.float64
    expected = torch.log_softmax(torch.tensor([[1.0, -2.5, 8.0]], dtype=torch.float64), -1)
    torch.testing.assert_close(log_p, expected, rtol=1e-12, atol=0)


@settings(max_examples=80)
@given(
    sizes=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    cut=st.integers(1, 7),
    order=st.none() | st.randoms(use_true_random=False),
    excluded=st.integers(0, 2),
    temperature=st.sampled_from([0.01, 0.25, 1.0, 2.0, 100.0]),
)
def test_distributions_do_not_depend_on_the_division_into_batches(
    sizes, cut, order, excluded, temperature
):
    """Expect bitwise identical results from ordered batches, even with weights of 0."""
    sizes[0] += excluded
    logits, log_weights = contexts(sizes)
    log_weights[:excluded] = -math.inf
    whole = aggregate(logits, log_weights, sizes, temperature)
    owners = [text for text, size in enumerate(sizes) for _ in range(size)]
    batches = [list(range(len(owners)))[i : i + cut] for i in range(0, len(owners), cut)]
    if order:
        order.shuffle(batches)
    sums = Accumulator(temperature)
    for rows in batches:
        texts = list(dict.fromkeys(owners[row] for row in rows))
        counts = [sum(owners[row] == text for row in rows) for text in texts]
        add(sums, logits[rows], log_weights[rows], texts, counts)
    spread = torch.stack([sums.log_sums(text) for text in range(len(sizes))])
    assert bool(whole.isfinite().all()) and (order or torch.equal(spread, whole))
    torch.testing.assert_close(spread, whole, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("elements", [1, 3 * VOCABULARY, 1 << 20])
@pytest.mark.parametrize("scale", [3.0, 300.0])
def test_direct_and_log_space_sums_agree_for_every_block_size(elements, scale, monkeypatch):
    monkeypatch.setattr(distributions, "ELEMENTS", {"cpu": elements})
    sizes = [3, 1, 5, 2]
    logits, log_weights = contexts(sizes, scale=scale)
    quick = aggregate(logits, log_weights, sizes, 2.0)
    monkeypatch.setattr(distributions, "REPRESENTABLE", {torch.float32: 0, torch.float64: 0})
    careful = aggregate(logits, log_weights, sizes, 2.0)
    torch.testing.assert_close(quick, careful, rtol=1e-6, atol=1e-6)


def test_a_distribution_does_not_keep_its_batch_alive():
    sizes = [1] * 50
    logits, log_weights = contexts(sizes)
    sums = Accumulator(1.0)
    add(sums, logits, log_weights, range(50), sizes)
    log_p = sums.log_sums(0)
    assert log_p.untyped_storage().nbytes() == log_p.nbytes == VOCABULARY * 8
