"""Masked language models of every family, loaded and asked, against transformers' own way."""

import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.modules.module import register_module_forward_hook
from transformers import AutoModelForMaskedLM, AutoTokenizer
from transformers.utils import logging

from infolm_metric.core.determinism import FEW
from infolm_metric.core.idf import WeightedText
from infolm_metric.core.models import open_checkpoint
from infolm_metric.core.tokenization import tokenize
from infolm_metric.infolm import distributions, encoders
from infolm_metric.infolm.distributions import split
from infolm_metric.infolm.settings import InfoLMSettings
from tests.model_families import FAMILIES, SENTENCES, edited

FAST = [family for family in FAMILIES if family in encoders.FAMILIES]
TEXTS = [*SENTENCES[:8], "the cat", "rain", ""]
TOLERANCE = 5e-5  # of logits that reach 20, in float32
# What differs within a family and changes how its layers are read.
VARIANTS = [
    *((family, {}) for family in FAMILIES),
    ("bert", {"num_hidden_layers": 1}),
    ("bert", {"num_hidden_layers": 5, "hidden_act": "relu"}),
    ("roberta", {"hidden_act": "gelu_new"}),
    ("albert", {"num_hidden_layers": 5, "num_hidden_groups": 2, "inner_group_num": 2}),
    ("electra", {"embedding_size": 32}),
]


def load(folder, dtype="float32", fast=True):
    checkpoint = open_checkpoint(str(folder), None, encoders.ARCHITECTURE)
    return encoders.load_masked_lm(checkpoint, InfoLMSettings(device="cpu", dtype=dtype), fast)


@pytest.fixture(scope="module")
def bert(tiny_bert):
    return load(tiny_bert)


def batches_of(model, texts=TEXTS, masks=1, size=None):
    checkpoint, limit = model.checkpoint, model.checkpoint.limit
    windows = []
    for index, text in enumerate(tokenize(checkpoint.tokenizer, texts, limit, "truncate")):
        log_weights = WeightedText.of(text, None).log_weights[:, None]
        windows += split(index, text, log_weights, checkpoint.template, limit, masks)
    mask = checkpoint.template.mask
    return list(distributions.batches(windows, mask, size, checkpoint.size, "cpu"))


def ask(model, batch):
    """The model's logits at the masks of a batch, [positions, vocab]."""
    return torch.cat(list(model.logits(batch.ids, batch.positions)))


def literal_model(folder):
    """A function from a batch to the logits of the whole model on whole contexts, in float64."""
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float64).eval()

    def logits(batch):
        with torch.no_grad():
            output = model(input_ids=batch.ids, attention_mask=torch.ones_like(batch.ids)).logits
        return torch.cat([row[at] for row, at in zip(output, batch.positions, strict=True)])

    return logits


def largest_difference(model, other, batches):
    """Between the logits of a model and those of another, or of a function of batches."""
    answer = other if callable(other) else lambda batch: ask(other, batch)
    gaps = [(ask(model, batch).double() - answer(batch).double()).abs().max() for batch in batches]
    return max(map(float, gaps))


# Logits


@pytest.mark.parametrize("masks", [1, 3])
@pytest.mark.parametrize(("family", "changes"), VARIANTS)
def test_logits_are_those_of_a_full_forward_pass(family, changes, masks, tiny_models):
    folder = tiny_models(family, **changes)
    literal = literal_model(folder)
    for fast in (True, False):
        model = load(folder, fast=fast)
        assert isinstance(model.model, encoders.FastMaskedLM) is (fast and family in FAST)
        for size in (None, 1, 5) if fast else (None,):
            batches = batches_of(model, masks=masks, size=size)
            assert ask(model, batches[0]).shape[1] == model.checkpoint.size
            assert largest_difference(model, literal, batches) < TOLERANCE


@pytest.mark.parametrize("family", FAST)
def test_attention_over_long_texts_is_the_same(family, tiny_models, monkeypatch):
    monkeypatch.setattr(encoders, "SHORT", 0)
    model = load(tiny_models(family))
    literal = literal_model(tiny_models(family))
    assert largest_difference(model, literal, batches_of(model)) < TOLERANCE


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "mpnet"])
def test_a_typed_padding_token_shifts_positions_as_in_the_familys_own(family, tiny_models):
    folder = tiny_models(family)
    padding, model = AutoTokenizer.from_pretrained(folder).pad_token, load(folder)
    batches = batches_of(model, [f"the cat {padding} sat on {padding} the mat and slept"])
    assert largest_difference(model, literal_model(folder), batches) < TOLERANCE


@pytest.mark.parametrize("family", FAMILIES)
def test_the_vocabulary_head_runs_at_masked_positions_only(family, tiny_models):
    model = load(tiny_models(family))
    batch = max(batches_of(model, size=7), key=lambda batch: batch.ids.numel())
    assert batch.ids.numel() > FEW and len(batch.ids) == 7
    over_vocabulary = []

    def note(module, inputs, output):
        if isinstance(output, torch.Tensor) and output.shape[-1] == model.checkpoint.size:
            over_vocabulary.append(output.numel() // output.shape[-1])

    hook = register_module_forward_hook(note)
    ask(model, batch)
    hook.remove()
    # A product of fewer rows than FEW may be padded.
    assert over_vocabulary and 7 <= max(over_vocabulary) <= FEW


def test_asking_leaves_no_hook_and_no_gradient_behind_even_after_an_error(tiny_models):
    for model in (load(tiny_models("bert"), fast=fast) for fast in (True, False)):
        batch = batches_of(model)[0]
        before = ask(model, batch)
        with pytest.raises(IndexError):
            list(model.logits(torch.full_like(batch.ids, 10**6), batch.positions))
        assert not any(module._forward_hooks for module in model.model.modules())
        torch.testing.assert_close(ask(model, batch), before, rtol=0, atol=TOLERANCE)
        assert not before.requires_grad
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_a_decoder_keeps_its_own_encoder(tiny_models):
    model = load(tiny_models("bert", is_decoder=True)).model
    assert not isinstance(model, encoders.FastMaskedLM)


@pytest.mark.parametrize("family", FAST)
def test_every_parameter_is_counted_and_moves_with_the_model(family, tiny_models):
    fast, plain = (load(tiny_models(family), fast=fast).model for fast in (True, False))
    sizes = [part.numel() for name, part in plain.named_parameters() if "pooler" not in name]
    assert sum(part.numel() for part in fast.parameters()) == sum(sizes)
    assert {part.dtype for part in fast.to(torch.float64).parameters()} == {torch.float64}


# Precision


@pytest.mark.parametrize("saved", ["float16", "bfloat16"])
def test_a_checkpoint_in_half_precision_is_computed_in_float32(saved, tiny_models):
    model = load(tiny_models("bert", dtype=saved))
    assert {parameter.dtype for parameter in model.model.parameters()} == {torch.float32}
    assert ask(model, batches_of(model)[0]).dtype == torch.float32


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("family", FAST)
def test_half_precision_is_used_where_asked_for_and_as_near_as_the_familys_own(
    family, dtype, tiny_models
):
    folder = tiny_models(family)
    exact, plain = (load(folder, precision, fast=False) for precision in ("float32", dtype))
    fast, batches = load(folder, dtype), batches_of(exact)
    assert ask(fast, batches[0]).dtype == getattr(torch, dtype)
    gap = largest_difference(plain, exact, batches)
    assert 0 < largest_difference(fast, exact, batches) < 2 * gap < 1


# What cannot be used


def without_weight(folder, target, name):
    shutil.copytree(folder, target)
    weights = load_file(target / "model.safetensors")
    del weights[name]
    save_file(weights, target / "model.safetensors", metadata={"format": "pt"})
    return target


BIAS = "cls.predictions.bias"
NO_MASK = {"file": "tokenizer_config.json", "mask_token": None}
NO_MASK |= {"tokenizer_class": "PreTrainedTokenizerFast"}
NARROW = {"file": "config.json", "intermediate_size": 48}
UNFIT = {
    "has no mask token": lambda models, to: edited(models("bert"), to, **NO_MASK),
    "is a gpt2 model, which has no masked-LM head": lambda models, to: models("gpt2"),
    "lacks 6 weights .*masked-LM head is missing": lambda models, to: models("bert-without-head"),
    f"lacks 2 weights of .*{BIAS}": lambda models, to: without_weight(models("bert"), to, BIAS),
    "dense.* is missing or does not fit": lambda models, to: edited(models("bert"), to, **NARROW),
}


@pytest.mark.parametrize("word", UNFIT)
def test_what_is_no_whole_masked_language_model_is_refused(word, tiny_models, tmp_path):
    with pytest.raises(ValueError, match=f'(?s){word}.*"bundled"'):
        load(UNFIT[word](tiny_models, tmp_path / "m"))


def test_a_deberta_checkpoint_as_it_was_published_finds_its_head(tiny_models, tmp_path):
    source = tiny_models("deberta-v2", legacy=False)
    model = load(edited(source, tmp_path / "m", "config.json", legacy=None))
    assert largest_difference(model, literal_model(source), batches_of(model)) < TOLERANCE


# A good neighbour


@pytest.mark.parametrize("enabled", [True, False])
def test_loading_leaves_the_progress_bars_of_transformers_as_they_were(enabled, tiny_bert, capfd):
    before = logging.is_progress_bar_enabled()
    try:
        (logging.enable_progress_bar if enabled else logging.disable_progress_bar)()
        load(tiny_bert)
        assert logging.is_progress_bar_enabled() is enabled
    finally:
        (logging.enable_progress_bar if before else logging.disable_progress_bar)()
    assert "%|" not in capfd.readouterr().err
