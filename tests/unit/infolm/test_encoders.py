"""Masked language models of every family, compared with transformers."""

from unittest import mock

import pytest
import torch
from torch.nn.modules.module import register_module_forward_hook
from transformers import AutoModelForMaskedLM, AutoTokenizer
from transformers.utils import logging

from infolm_metric import InputError
from infolm_metric.core.document_counts import tokenize
from infolm_metric.infolm import distributions, masked_lm
from infolm_metric.infolm.distributions import split
from infolm_metric.infolm.settings import InfoLMSettings
from infolm_metric.models import encoders
from infolm_metric.models.checkpoints import open_checkpoint
from infolm_metric.models.determinism import PADDED_ROWS
from infolm_metric.models.tokenization import WeightedText
from tests.model_families import FAMILIES, SENTENCES, edit_copy

FAST = [family for family in FAMILIES if family in encoders.FAMILIES]
TEXTS = [*SENTENCES[:4], "the cat", "rain", ""]
TOLERANCE = 5e-5  # for float32 logits of up to 20
# Configurations within a family that change the computation of its layers.
VARIANTS = [
    *((family, {}) for family in FAMILIES),
    ("bert", {"num_hidden_layers": 1}),
    ("bert", {"num_hidden_layers": 5, "hidden_act": "relu"}),
    ("roberta", {"hidden_act": "gelu_new"}),
]


def load(folder, dtype="float32", fast=True):
    checkpoint = open_checkpoint(str(folder), None, masked_lm.MASKED_LM)
    settings = InfoLMSettings(device="cpu", dtype=dtype)
    with mock.patch.dict(encoders.FAMILIES, clear=not fast):
        return masked_lm.MaskedLM.load(checkpoint, settings, masked_lm.HEADS)


@pytest.fixture(scope="module")
def bert(tiny_bert):
    return load(tiny_bert)


def make_batches(model, texts=TEXTS, size=None):
    checkpoint, limit = model.checkpoint, model.checkpoint.limit
    windows = []
    for index, text in enumerate(tokenize(checkpoint.tokenizer, texts, limit, "truncate")):
        windows += split(index, WeightedText.of(text, None), checkpoint.template, limit)
    mask = checkpoint.template.mask
    return list(distributions.batches(windows, mask, size, "cpu"))


def masked_logits(model, batch):
    """Return the model's logits at the masks of a batch, [positions, vocab]."""
    return torch.cat(list(model.logits([batch.ids], [batch.positions])))


def literal_model(folder):
    """Return a function that computes the logits of a batch with a full float64 forward pass."""
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float64).eval()

    def logits(batch):
        with torch.no_grad():
            output = model(input_ids=batch.ids, attention_mask=torch.ones_like(batch.ids)).logits
        return torch.cat([row[at] for row, at in zip(output, batch.positions, strict=True)])

    return logits


def largest_difference(model, other, batches):
    """Return the largest difference between the logits of two models, or a model and a function."""
    answer = other if callable(other) else lambda batch: masked_logits(other, batch)
    pairs = ((masked_logits(model, batch), answer(batch)) for batch in batches)
    return max((ours.double() - theirs.double()).abs().max().item() for ours, theirs in pairs)


# Logits


@pytest.mark.parametrize(("family", "changes"), VARIANTS)
def test_logits_equal_the_logits_of_a_full_forward_pass(family, changes, tiny_models):
    folder = tiny_models(family, **changes)
    literal = literal_model(folder)
    fast, plain = (load(folder, fast=fast) for fast in (True, False))
    assert (fast.encoder is not None) is (family in FAST) and plain.encoder is None
    batches = make_batches(fast)
    expected = torch.cat([literal(batch) for batch in batches])
    for model, parts in ((plain, batches), (fast, batches), (fast, make_batches(fast, size=2))):
        logits = torch.cat([masked_logits(model, batch) for batch in parts])
        assert logits.shape[1] == model.checkpoint.size
        torch.testing.assert_close(logits.double(), expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("family", FAST)
def test_attention_for_long_texts_gives_the_same_logits(family, tiny_models, monkeypatch):
    monkeypatch.setattr(encoders, "SHORT", 0)
    model = load(tiny_models(family))
    literal = literal_model(tiny_models(family))
    assert largest_difference(model, literal, make_batches(model)) < TOLERANCE


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "mpnet"])
def test_padding_tokens_within_a_text_shift_positions_as_in_transformers(family, tiny_models):
    folder = tiny_models(family)
    padding, model = AutoTokenizer.from_pretrained(folder).pad_token, load(folder)
    batches = make_batches(model, [f"the cat {padding} sat on {padding} the mat and slept"])
    assert largest_difference(model, literal_model(folder), batches) < TOLERANCE


@pytest.mark.parametrize("family", FAMILIES)
def test_the_vocabulary_head_runs_at_masked_positions_only(family, tiny_models):
    model = load(tiny_models(family))
    batch = max(make_batches(model, size=7), key=lambda batch: batch.ids.numel())
    assert batch.ids.numel() > PADDED_ROWS and len(batch.ids) == 7
    over_vocabulary = []

    def note(module, inputs, output):
        if isinstance(output, torch.Tensor) and output.shape[-1] == model.checkpoint.size:
            over_vocabulary.append(output.numel() // output.shape[-1])

    hook = register_module_forward_hook(note)
    masked_logits(model, batch)
    hook.remove()
    # A product with fewer than PADDED_ROWS rows may be padded.
    assert over_vocabulary and 7 <= max(over_vocabulary) <= PADDED_ROWS


def test_inference_leaves_no_hooks_or_gradients_even_after_an_error(tiny_models):
    for model in (load(tiny_models("bert"), fast=fast) for fast in (True, False)):
        batch = make_batches(model)[0]
        before = masked_logits(model, batch)
        with pytest.raises(IndexError):
            list(model.logits([torch.full_like(batch.ids, 10**6)], [batch.positions]))
        assert not any(module._forward_hooks for module in model.model.modules())
        torch.testing.assert_close(masked_logits(model, batch), before, rtol=0, atol=TOLERANCE)
        assert not before.requires_grad
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_a_decoder_does_not_use_the_fast_encoder(tiny_models):
    assert load(tiny_models("bert", is_decoder=True)).encoder is None


@pytest.mark.parametrize("family", FAST)
def test_all_parameters_are_registered_in_the_fast_model(family, tiny_models):
    fast, plain = (load(tiny_models(family), fast=fast) for fast in (True, False))
    named = plain.model.named_parameters()
    sizes = [part.numel() for name, part in named if "pooler" not in name]
    modules = torch.nn.ModuleList([fast.encoder, fast.model])
    assert sum(part.numel() for part in modules.parameters()) == sum(sizes)
    assert {part.dtype for part in modules.to(torch.float64).parameters()} == {torch.float64}


# Precision


HALF = [*((family, "bfloat16") for family in FAST), ("bert", "float16")]


@pytest.mark.parametrize(("family", "dtype"), HALF)
def test_half_precision_is_as_accurate_as_in_transformers(family, dtype, tiny_models):
    folder = tiny_models(family)
    exact, plain = (load(folder, precision, fast=False) for precision in ("float32", dtype))
    fast, batches = load(folder, dtype), make_batches(exact)
    assert masked_logits(fast, batches[0]).dtype == getattr(torch, dtype)
    gap = largest_difference(plain, exact, batches)
    assert 0 < largest_difference(fast, exact, batches) < 2 * gap < 1


# Unusable checkpoints


NO_MASK = {"file": "tokenizer_config.json", "mask_token": None}
NO_MASK |= {"tokenizer_class": "PreTrainedTokenizerFast"}
NARROW = {"file": "config.json", "intermediate_size": 48}
UNFIT = {
    "has no mask token": lambda models, to: edit_copy(models("bert"), to, **NO_MASK),
    "is a gpt2 model, which has no masked-LM head": lambda models, to: models("gpt2"),
    "lacks 6 weights .*masked-LM head is missing": lambda models, to: models("bert-without-head"),
    "dense.* does not fit": lambda models, to: edit_copy(models("bert"), to, **NARROW),
}


@pytest.mark.parametrize("word", UNFIT)
def test_checkpoints_that_are_not_complete_masked_lms_are_rejected(word, tiny_models, tmp_path):
    with pytest.raises(InputError, match=f'(?s){word}.*"bundled"'):
        load(UNFIT[word](tiny_models, tmp_path / "m"))


def test_published_deberta_checkpoints_load_their_head(tiny_models, tmp_path):
    source = tiny_models("deberta-v2", legacy=False)
    model = load(edit_copy(source, tmp_path / "m", "config.json", legacy=None))
    assert largest_difference(model, literal_model(source), make_batches(model)) < TOLERANCE


# Side effects


def test_loading_shows_no_progress_bar_and_keeps_the_setting_of_transformers(tiny_bert, capfd):
    try:
        for enabled in (True, False):
            load(tiny_bert)
            assert logging.is_progress_bar_enabled() is enabled
            assert "%|" not in capfd.readouterr().err
            logging.disable_progress_bar()
    finally:
        logging.enable_progress_bar()
