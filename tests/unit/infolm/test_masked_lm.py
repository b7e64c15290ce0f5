"""Loading and asking a masked language model, for every family, against transformers' own way."""

import shutil
from contextlib import contextmanager

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.modules.module import register_module_forward_hook
from transformers import AutoModelForMaskedLM, AutoTokenizer
from transformers.utils import logging

from infolm_metric.infolm import masked_lm
from infolm_metric.infolm.masking import batches, split
from infolm_metric.kernel.exactness import least_rows
from infolm_metric.kernel.idf.weights import normalised_log_weights
from infolm_metric.kernel.tokens import tokenize
from tests.model_families import FAMILIES, SENTENCES, edited

TEXTS = (SENTENCES[0], SENTENCES[3], "a cat", "")


def load(folder, device=None, dtype="float32", fast=True):
    return masked_lm.load(masked_lm.open_masked_lm(str(folder)), device, dtype, fast)


@pytest.fixture(scope="module")
def loaded(tiny_models):
    return {family: load(tiny_models(family)) for family in FAMILIES}


def batches_of(model, texts=TEXTS):
    checkpoint = model.checkpoint
    read = tokenize(checkpoint.tokenizer, texts, checkpoint.limit, "truncate")
    windows = [
        window
        for index, text in enumerate(read)
        for window in split(
            index,
            text,
            normalised_log_weights(text, None)[:, None],
            checkpoint.template,
            checkpoint.limit,
        )
    ]
    return list(batches(windows, checkpoint.template.mask, 7, checkpoint.size, "cpu"))


def ask(model, batch):
    """The model's logits at the masks of a batch that masks one position a context."""
    return torch.cat(list(model.logits(batch.ids, batch.positions)))


def full_forward(folder, batch):
    """Logits at the batch's positions from the whole model run in float64 on whole contexts."""
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float64).eval()
    with torch.no_grad():
        output = model(input_ids=batch.ids, attention_mask=torch.ones_like(batch.ids))
    return output.logits[torch.arange(len(batch.ids)), batch.positions[:, 0]]


# Logits at the masked position


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_a_full_forward_pass_at_the_masked_position(
    family, loaded, tiny_models
):
    made = batches_of(loaded[family])
    assert len(made) > 3
    for batch in made:
        logits = ask(loaded[family], batch)
        expected = full_forward(tiny_models(family), batch)
        assert logits.shape == expected.shape == (len(batch.ids), loaded[family].checkpoint.size)
        assert (logits - expected).abs().max() < 3e-5


@contextmanager
def rows_by_width():
    """Collects (rows, entries in the last axis) of every tensor that any module puts out."""
    seen = []

    def note(module, inputs, output):
        if isinstance(output, torch.Tensor):
            seen.append((output.numel() // output.shape[-1], output.shape[-1]))

    hook = register_module_forward_hook(note)
    try:
        yield seen
    finally:
        hook.remove()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_vocabulary_head_runs_at_masked_positions_only(family, loaded, tiny_models):
    model = loaded[family]
    batch = max(batches_of(model), key=lambda batch: batch.ids.numel())
    assert batch.ids.shape[1] > 10 and len(batch.ids) == 7
    with rows_by_width() as seen:
        ask(model, batch)
    over_vocabulary = [rows for rows, width in seen if width == model.checkpoint.size]
    # A product of fewer rows than that is filled up.
    assert over_vocabulary and max(over_vocabulary) == max(7, least_rows())
    assert batch.ids.numel() > least_rows()
    plain = load(tiny_models(family), fast=False).model
    with rows_by_width() as seen, torch.no_grad():
        plain(input_ids=batch.ids, attention_mask=torch.ones_like(batch.ids))
    assert {rows for rows, width in seen if width == model.checkpoint.size} == {batch.ids.numel()}


def test_a_context_can_be_masked_anywhere_special_positions_included(loaded, tiny_bert):
    (first, *_) = batches_of(loaded["bert"])
    positions = torch.tensor([0, 5, first.ids.shape[1] - 1, 0, 1, 2, 3])
    logits = torch.cat(list(loaded["bert"].logits(first.ids, positions[:, None])))
    model = AutoModelForMaskedLM.from_pretrained(tiny_bert).eval()
    with torch.no_grad():
        whole = model(input_ids=first.ids).logits
    assert (logits - whole[torch.arange(7), positions]).abs().max() < 1e-5


def test_asking_leaves_no_hook_and_no_gradient_behind_even_after_an_error(loaded):
    model = loaded["bert"]
    (batch, *_) = batches_of(model)
    before = ask(model, batch)
    with pytest.raises(IndexError):
        list(model.logits(torch.full_like(batch.ids, 10**6), batch.positions))
    assert not any(module._forward_hooks for module in model.model.modules())
    assert torch.equal(ask(model, batch), before)
    assert not before.requires_grad
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_the_same_contexts_give_the_same_logits_because_dropout_is_off(tiny_models):
    model = load(tiny_models("bert", hidden_dropout_prob=0.5, attention_probs_dropout_prob=0.5))
    (batch, *_) = batches_of(model)
    first, second = (ask(model, batch) for _ in range(2))
    assert torch.equal(first, second)
    assert not model.model.training
    assert not any(parameter.requires_grad for parameter in model.model.parameters())


# Precision


@pytest.mark.parametrize("saved", ["float16", "bfloat16"])
def test_a_checkpoint_in_half_precision_is_computed_in_float32(saved, tiny_models):
    model = load(tiny_models("bert", dtype=saved))
    assert {parameter.dtype for parameter in model.model.parameters()} == {torch.float32}
    (batch, *_) = batches_of(model)
    assert ask(model, batch).dtype == torch.float32


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_used_where_it_is_asked_for(dtype, tiny_bert, loaded):
    model = load(tiny_bert, dtype=dtype)
    assert {parameter.dtype for parameter in model.model.parameters()} == {getattr(torch, dtype)}
    (batch, *_) = batches_of(model)
    logits = ask(model, batch)
    assert logits.dtype == getattr(torch, dtype)
    exact = ask(loaded["bert"], batch)
    assert 0 < (logits.float() - exact).abs().max() < 0.3


# What cannot be used


def test_a_tokenizer_without_a_mask_token_is_refused(tiny_models):
    with pytest.raises(ValueError, match="has no mask token, so .* masked tokens; choose") as error:
        masked_lm.open_masked_lm(str(tiny_models("gpt2")))
    assert '"bundled"' in str(error.value)


def test_an_architecture_without_a_masked_lm_head_is_refused(tiny_models, tmp_path):
    shutil.copytree(tiny_models("gpt2"), tmp_path / "m")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m")
    tokenizer.add_special_tokens({"mask_token": "<|endoftext|>"})
    tokenizer.save_pretrained(tmp_path / "m")
    with pytest.raises(ValueError, match="is a gpt2 model, which has no masked-LM head in"):
        masked_lm.open_masked_lm(str(tmp_path / "m"))


def test_a_checkpoint_without_its_head_is_an_error_and_not_a_random_head(tiny_models):
    with pytest.raises(ValueError, match="lacks 6 weights of BertForMaskedLM") as error:
        load(tiny_models("bert-without-head"))
    message = str(error.value)
    assert "cls.predictions" in message and "masked-LM head is missing" in message
    assert '"bundled"' in message


@pytest.mark.parametrize(
    "name", ["bert.encoder.layer.1.output.dense.weight", "cls.predictions.bias"]
)
def test_a_checkpoint_that_lacks_any_weight_is_refused_by_its_name(name, tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "m")
    weights = load_file(tmp_path / "m" / "model.safetensors")
    del weights[name]
    save_file(weights, tmp_path / "m" / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=f"lacks .* weights of BertForMaskedLM .*{name}"):
        load(tmp_path / "m")


def test_weights_of_another_shape_are_refused(tiny_bert, tmp_path):
    folder = edited(tiny_bert, tmp_path / "m", "config.json", intermediate_size=48)
    with pytest.raises(ValueError, match="intermediate.dense.* is missing or does not fit"):
        load(folder)


# A good neighbour


@pytest.mark.parametrize("family", ["bert", "bert-without-head"])
def test_loading_leaves_the_callers_torch_as_it_was_even_after_an_error(family, tiny_models):
    folder = tiny_models(family)
    torch.set_default_dtype(torch.float64)
    try:
        state = torch.random.get_rng_state()
        if family == "bert":
            model = load(folder)
            (batch, *_) = batches_of(model)
            ask(model, batch)
            assert {p.dtype for p in model.model.parameters()} == {torch.float32}
        else:
            with pytest.raises(ValueError, match="lacks"):
                load(folder)
        assert torch.equal(torch.random.get_rng_state(), state)
        assert torch.get_default_dtype() == torch.float64
        assert torch.is_grad_enabled()
        with torch.no_grad():
            masked_lm.open_masked_lm(str(folder))
            assert not torch.is_grad_enabled()
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("shown", [True, False])
def test_loading_leaves_the_progress_bars_of_transformers_as_they_were(shown, tiny_bert, capfd):
    before = logging.is_progress_bar_enabled()
    try:
        (logging.enable_progress_bar if shown else logging.disable_progress_bar)()
        load(tiny_bert)
        assert logging.is_progress_bar_enabled() is shown
    finally:
        (logging.enable_progress_bar if before else logging.disable_progress_bar)()
    assert "%|" not in capfd.readouterr().err


# Published forms


def test_a_deberta_checkpoint_as_it_was_published_finds_its_head(tiny_models, tmp_path):
    source = tiny_models("deberta-v2", legacy=False)
    folder = edited(source, tmp_path / "m", "config.json", legacy=None)
    model = load(folder)
    exact = AutoModelForMaskedLM.from_pretrained(source).eval()
    for batch in batches_of(model):
        logits = ask(model, batch)
        with torch.no_grad():
            expected = exact(batch.ids, attention_mask=torch.ones_like(batch.ids)).logits
        expected = expected[torch.arange(len(batch.ids)), batch.positions[:, 0]]
        assert (logits - expected).abs().max() < 1e-5
