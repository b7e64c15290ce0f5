"""Training code of the bundled models, compared with closed forms."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from infolm_metric.core.settings import BUNDLED_FOLDER
from tools import evaluate_nli, train_masked_lm, train_nli

IDS = torch.randint(1000, 5000, (3, 10), generator=torch.Generator().manual_seed(0))


@pytest.fixture
def model():
    return AutoModelForMaskedLM.from_pretrained(BUNDLED_FOLDER, dtype=torch.float64).eval()


def test_masked_lm_loss_is_the_cross_entropy_of_the_model(model):
    generator = torch.Generator().manual_seed(1)
    masked, positions, targets = train_masked_lm.mask_batch(IDS, 101, 102, 103, 0.3, generator)
    assert (masked == 103).sum(1).tolist() == [3, 3, 3]
    logits = model(masked).logits[torch.arange(3)[:, None], positions]
    losses = [
        train_masked_lm.masked_lm_loss(model, masked, positions, targets),
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten()),
    ]
    words = model.bert.embeddings.word_embeddings.weight
    gradients = [torch.autograd.grad(loss, words)[0] for loss in losses]
    torch.testing.assert_close(*losses, rtol=1e-10, atol=0)
    torch.testing.assert_close(*gradients, rtol=1e-8, atol=1e-12)


def test_centring_embeddings_does_not_change_predictions(model):
    words = model.bert.embeddings.word_embeddings.weight
    assert words.mean(dim=0).abs().max() < 1e-4, "the bundled weights are not centred"
    with torch.no_grad():
        words += torch.linspace(-1, 1, words.shape[1], dtype=torch.float64)
        expected = model(IDS).logits.log_softmax(-1)
        train_masked_lm.centre_embeddings(model)
        log_p = model(IDS).logits.log_softmax(-1)
    torch.testing.assert_close(log_p, expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(words.mean(dim=0), torch.zeros_like(words[0]), rtol=0, atol=1e-12)


def test_sources_are_sampled_by_weight_in_batches_of_similar_lengths():
    sources = ["snli_dev"] * 70 + ["breaking_nli"] * 1000 + ["rule_copy"] * 400
    weights = np.asarray(
        [train_nli.find_weight(s, {"breaking": 0.25, "rule_": 2}) for s in sources]
    )
    lengths = np.random.default_rng(0).integers(5, 60, len(sources))
    batches = train_nli.plan_epoch(weights, lengths, 8, seed=1)
    counts = np.bincount(np.concatenate(batches), minlength=len(sources))
    assert set(counts[:70]) == {1} and set(counts[1070:]) == {2}
    assert set(counts[70:1070]) == {0, 1} and 200 < counts[70:1070].sum() < 300
    assert np.median([np.ptp(lengths[batch]) for batch in batches]) < np.ptp(lengths) / 4


def test_two_way_label_sums_neutral_and_contradiction():
    logits = torch.tensor([[0.3, -1.0, 2.0]])
    p = torch.softmax(logits, -1)[0]
    for label, probability in ((0, p[0]), (1, p[1]), (2, p[2]), (-1, p[1] + p[2])):
        loss = train_nli.nli_loss(logits, torch.tensor([label]))
        assert torch.isclose(loss, -probability.log())


def test_fit_recovers_the_true_temperature_and_calibrates():
    """Draw the labels from softmax(logits / 2), so that the best temperature is 2."""
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(20_000, 3, generator=generator, dtype=torch.float64)
    labels = torch.multinomial(torch.softmax(logits / 2, -1), 1, generator=generator)[:, 0].numpy()
    temperature = evaluate_nli.fit_temperature(logits, labels)
    assert temperature == pytest.approx(2, rel=0.05)
    error = evaluate_nli.expected_calibration_error(logits, labels)
    assert evaluate_nli.expected_calibration_error(logits / temperature, labels) < 0.02 < error
