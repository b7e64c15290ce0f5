"""Loading and asking a masked language model, for every family, against transformers' own way."""

import io
import json
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import huggingface_hub.constants
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.nn.modules.module import register_module_forward_hook
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    NystromformerConfig,
    NystromformerForMaskedLM,
)
from transformers.utils import logging

from infolm_metric.infolm import masked_lm
from infolm_metric.infolm.masking import batches, normalised_log_weights, split, tokenize
from tests.model_families import FAMILIES, SENTENCES

TEXTS = (SENTENCES[0], SENTENCES[3], "a cat", "")


def load(folder, revision=None, device=None, dtype="float32", fast=True):
    vocabulary = masked_lm.load_vocabulary(str(folder), revision)
    return masked_lm.load(str(folder), revision, device, dtype, vocabulary, fast)


@pytest.fixture(scope="module")
def loaded(tiny_models):
    return {family: load(tiny_models(family)) for family in FAMILIES}


def batches_of(model, texts=TEXTS):
    vocabulary = model.vocabulary
    read = tokenize(vocabulary.tokenizer, texts, vocabulary.limit, "truncate")
    windows = [
        window
        for index, text in enumerate(read)
        for window in split(
            index,
            text,
            normalised_log_weights(text, None)[:, None],
            vocabulary.template,
            vocabulary.limit,
        )
    ]
    return list(batches(windows, vocabulary.template.mask, 7, vocabulary.size, "cpu"))


def ask(model, batch):
    """The model's logits at the masks of a batch that masks one position a context."""
    return model.logits(batch.ids, batch.positions, batch.sizes)[:, 0]


def full_forward(folder, batch):
    """Logits at the batch's positions from the whole model run in float64 on whole contexts."""
    model = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float64).eval()
    with torch.no_grad():
        output = model(input_ids=batch.ids, attention_mask=torch.ones_like(batch.ids))
    return output.logits[torch.arange(len(batch.ids)), batch.positions[:, 0]]


def edited(source, target, file, **changes):
    """A copy of a model's folder with entries of one of its JSON files changed; None removes."""
    shutil.copytree(source, target)
    entries = json.loads((target / file).read_text()) | changes
    kept = {name: value for name, value in entries.items() if value is not None}
    (target / file).write_text(json.dumps(kept))
    return target


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
        assert logits.shape == expected.shape == (len(batch.ids), loaded[family].vocabulary.size)
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
    over_vocabulary = [rows for rows, width in seen if width == model.vocabulary.size]
    assert over_vocabulary and set(over_vocabulary) == {7}
    plain = load(tiny_models(family), fast=False).model
    with rows_by_width() as seen, torch.no_grad():
        plain(input_ids=batch.ids, attention_mask=torch.ones_like(batch.ids))
    assert {rows for rows, width in seen if width == model.vocabulary.size} == {batch.ids.numel()}


def test_a_context_can_be_masked_anywhere_special_positions_included(loaded, tiny_bert):
    (first, *_) = batches_of(loaded["bert"])
    positions = torch.tensor([0, 5, first.ids.shape[1] - 1, 0, 1, 2, 3])
    logits = loaded["bert"].logits(first.ids, positions[:, None], first.sizes)[:, 0]
    model = AutoModelForMaskedLM.from_pretrained(tiny_bert).eval()
    with torch.no_grad():
        whole = model(input_ids=first.ids).logits
    assert (logits - whole[torch.arange(7), positions]).abs().max() < 1e-5


def test_asking_leaves_no_hook_and_no_gradient_behind_even_after_an_error(loaded):
    model = loaded["bert"]
    (batch, *_) = batches_of(model)
    before = ask(model, batch)
    with pytest.raises(IndexError):
        model.logits(torch.full_like(batch.ids, 10**6), batch.positions, batch.sizes)
    assert not model.model.base_model._forward_hooks
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


# Vocabulary and limits


@pytest.mark.parametrize("family", FAMILIES)
def test_the_vocabulary_knows_its_size_and_the_smaller_of_two_limits(family, loaded, tmp_path):
    vocabulary = loaded[family].vocabulary
    spare = {"deberta-v2": 9, "modernbert": 13}.get(family, 0)
    assert vocabulary.size == len(vocabulary.tokenizer) + spare
    assert vocabulary.limit == 40
    assert vocabulary.template.overhead == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_the_positions_are_the_limit_less_the_padding_offset(family, tiny_models, tmp_path):
    folder = edited(
        tiny_models(family), tmp_path / "m", "tokenizer_config.json", model_max_length=10**30
    )
    vocabulary = masked_lm.load_vocabulary(str(folder))
    # RoBERTa-like models were built with 42 rows of positions, of which 2 are for padding.
    assert vocabulary.limit == 40
    longest = torch.full((1, 40), vocabulary.template.mask)
    logits = load(folder).logits(longest, torch.tensor([[39]]), [1])
    assert logits.isfinite().all()


def test_spare_rows_of_positions_do_not_raise_the_limit(tiny_bert, tmp_path):
    folder = edited(tiny_bert, tmp_path / "m", "tokenizer_config.json", model_max_length=10**30)
    # This family has two rows more than positions, and no padding index that would tell.
    with torch.random.fork_rng(devices=[]):
        NystromformerForMaskedLM(
            NystromformerConfig(
                vocab_size=305,
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                max_position_embeddings=32,
                segment_means_seq_len=32,
                num_landmarks=8,
            )
        ).save_pretrained(folder)
    vocabulary = masked_lm.load_vocabulary(str(folder))
    assert vocabulary.limit == 32
    longest = torch.full((1, 32), vocabulary.template.mask)
    assert load(folder).logits(longest, torch.tensor([[31]]), [1]).isfinite().all()


def test_a_tokenizer_that_allows_less_than_the_model_sets_the_limit(tiny_bert, tmp_path):
    folder = edited(tiny_bert, tmp_path / "m", "tokenizer_config.json", model_max_length=23)
    assert masked_lm.load_vocabulary(str(folder)).limit == 23


def test_max_length_is_the_limit_unless_it_is_out_of_range(loaded):
    vocabulary = loaded["roberta"].vocabulary
    assert vocabulary.text_limit(None) == 40
    assert [vocabulary.text_limit(length) for length in (3, 17, 40)] == [3, 17, 40]
    for length in (1, 2):
        with pytest.raises(ValueError, match=f"max_length must be at least 3, .* got {length}"):
            vocabulary.text_limit(length)
    with pytest.raises(ValueError, match="max_length must be at most 40, .* got 41; long_text="):
        vocabulary.text_limit(41)


def test_a_model_without_a_limit_takes_any_max_length(loaded):
    given = loaded["bert"].vocabulary
    unlimited = masked_lm.Vocabulary(given.tokenizer, given.template, given.size, None, None)
    assert unlimited.text_limit(None) is None
    assert unlimited.text_limit(10**6) == 10**6


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


def test_a_length_beyond_the_tokenizers_is_allowed_as_far_as_the_model_reads(tiny_bert, tmp_path):
    edited(tiny_bert, tmp_path / "m", "tokenizer_config.json", model_max_length=20)
    vocabulary = masked_lm.load_vocabulary(str(tmp_path / "m"))
    assert vocabulary.text_limit(None) == 20
    assert vocabulary.text_limit(40) == 40
    with pytest.raises(ValueError, match="at most 40"):
        vocabulary.text_limit(41)


# What cannot be used


def test_a_tokenizer_without_a_mask_token_is_refused(tiny_models):
    with pytest.raises(ValueError, match="has no mask token, so .* masked tokens; choose") as error:
        masked_lm.load_vocabulary(str(tiny_models("gpt2")))
    assert '"bundled"' in str(error.value)


def test_an_architecture_without_a_masked_lm_head_is_refused(tiny_models, tmp_path):
    shutil.copytree(tiny_models("gpt2"), tmp_path / "m")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m")
    tokenizer.add_special_tokens({"mask_token": "<|endoftext|>"})
    tokenizer.save_pretrained(tmp_path / "m")
    with pytest.raises(ValueError, match="is a gpt2 model, which has no masked-LM head in"):
        masked_lm.load_vocabulary(str(tmp_path / "m"))


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


@pytest.mark.parametrize("name", ["{folder}/none", "./none", "models/of/mine", "~/none"])
def test_a_folder_that_is_not_there_is_named(name, tmp_path):
    name = name.format(folder=tmp_path)
    with pytest.raises(OSError, match=f"'{re.escape(name)}': there is no such folder") as error:
        masked_lm.load_vocabulary(name)
    assert "Check the path" in str(error.value) and '"bundled"' in str(error.value)


def test_a_folder_beside_the_tokenizers_files_does_not_disturb(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "m")
    (tmp_path / "m" / "tokenizer_old").mkdir()
    here = load(tmp_path / "m").identity.partition("@")[2]
    assert here == load(tiny_bert).identity.partition("@")[2]


def test_a_folder_in_the_users_home_is_found(tiny_bert, tmp_path, monkeypatch):
    shutil.copytree(tiny_bert, tmp_path / "model")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load("~/model").identity == load(tmp_path / "model").identity


def test_a_hub_name_without_a_network_leads_to_the_bundled_model():
    with pytest.raises(OSError, match="cannot load the model 'some-one/some-model'") as error:
        masked_lm.load_vocabulary("some-one/some-model", "v1")
    message = str(error.value)
    assert 'model_name_or_path="bundled"' in message and "'v1'" in message


def test_the_bundled_model_has_no_revisions():
    with pytest.raises(ValueError, match="\"bundled\" has no revisions, got 'main'"):
        masked_lm.load_vocabulary("bundled", "main")


def test_pickled_weights_are_not_read(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "m")
    weights = load_file(tmp_path / "m" / "model.safetensors")
    (tmp_path / "m" / "model.safetensors").unlink()
    torch.save(weights, tmp_path / "m" / "pytorch_model.bin")
    # The model is whole, and transformers would read it.
    assert AutoModelForMaskedLM.from_pretrained(tmp_path / "m") is not None
    with pytest.raises(OSError, match="weights must be safetensors files, others are not read"):
        load(tmp_path / "m")


def test_damaged_weights_are_an_error_that_names_the_model(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "m")
    file = tmp_path / "m" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(OSError, match="cannot load the model .*m': Error while deserializing"):
        load(tmp_path / "m")


@pytest.mark.parametrize("content", ["", "{", "{}", '{"model_type": "no-such-model"}'])
def test_a_folder_without_a_usable_configuration_is_an_error_that_names_it(content, tmp_path):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(OSError, match="cannot load the model .*(config|architecture)") as error:
        masked_lm.load_vocabulary(str(tmp_path))
    assert repr(str(tmp_path)) in str(error.value)


def test_code_that_comes_with_a_model_is_neither_run_nor_offered(tmp_path, monkeypatch, capsys):
    settings = {"model_type": "own", "auto_map": {"AutoConfig": "own.OwnConfig"}}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    (tmp_path / "own.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
        "from transformers import PretrainedConfig\n"
        "class OwnConfig(PretrainedConfig):\n"
        "    model_type = 'own'\n"
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 9))
    with pytest.raises(OSError, match="cannot load the model .* contains custom code"):
        masked_lm.load_vocabulary(str(tmp_path))
    assert not (tmp_path / "ran").exists()
    assert "[y/N]" not in capsys.readouterr().out


@pytest.mark.parametrize("family", FAMILIES)
def test_missing_tokenizer_files_are_an_error_and_not_a_tokenizer_without_words(
    family, tiny_models, tmp_path
):
    shutil.copytree(tiny_models(family), tmp_path / "m")
    for file in (tmp_path / "m").glob("tokenizer*"):
        file.unlink()
    with pytest.raises((OSError, ValueError), match="tokenizer") as error:
        masked_lm.load_vocabulary(str(tmp_path / "m"))
    assert repr(str(tmp_path / "m")) in str(error.value)


def test_the_tokenizer_of_a_larger_vocabulary_is_refused(tiny_models, tmp_path):
    shutil.copytree(tiny_models("bert"), tmp_path / "m")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m")
    tokenizer.add_tokens(["never", "embedded"])
    tokenizer.save_pretrained(tmp_path / "m")
    with pytest.raises(ValueError, match="has 307 entries and the model 305"):
        masked_lm.load_vocabulary(str(tmp_path / "m"))


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
            masked_lm.load_vocabulary(str(folder))
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


# Identity


def test_a_model_is_known_by_its_contents_wherever_its_folder_lies(
    tiny_bert, tmp_path, monkeypatch
):
    here, there = tmp_path / "a" / "model", tmp_path / "b" / "model"
    shutil.copytree(tiny_bert, here)
    identity = load(here).identity
    name, _, digest = identity.partition("@sha256:")
    assert name == "model" and len(digest) == 12
    shutil.move(here, there)
    assert load(there).identity == load(f"{there}/").identity == identity
    monkeypatch.chdir(there.parent)
    assert load("model").identity == load("./model").identity == identity
    monkeypatch.chdir(there)
    assert load(".").identity == identity


def change_a_weight(folder):
    weights = load_file(folder / "model.safetensors")
    weights["cls.predictions.bias"][0] += 1e-3
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def change_the_configuration(folder):
    entries = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(entries | {"hidden_act": "relu"}))


def change_the_tokenizer(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder, do_lower_case=False)
    tokenizer.save_pretrained(folder)


def change_an_added_token(folder):
    (folder / "added_tokens.json").write_text('{"the": 7}')


@pytest.mark.parametrize(
    "change",
    [change_a_weight, change_the_configuration, change_the_tokenizer, change_an_added_token],
)
def test_whatever_can_change_a_score_changes_the_identity(change, tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    before = load(folder).identity
    change(folder)
    assert load(folder).identity != before


def test_notes_in_the_folder_do_not_change_the_identity(tiny_bert, tmp_path):
    folder = shutil.copytree(tiny_bert, tmp_path / "model")
    before = load(folder).identity
    (folder / "README.md").write_text("A tiny BERT.")
    (folder / "training_args.bin").write_bytes(b"anything")
    assert load(folder).identity == before


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def test_a_model_from_the_hub_is_known_by_its_name_and_commit(tiny_bert):
    # The cache of the Hub's client, as a download leaves it.
    cached = Path(huggingface_hub.constants.HF_HUB_CACHE) / "models--some-one--tiny"
    try:
        shutil.copytree(tiny_bert, cached / "snapshots" / COMMIT)
        for reference in ("main", "v1"):
            (cached / "refs").mkdir(exist_ok=True)
            (cached / "refs" / reference).write_text(COMMIT)
        for revision in (None, "main", "v1", COMMIT):
            assert load("some-one/tiny", revision).identity == f"some-one/tiny@{COMMIT}"
        with pytest.raises(OSError, match="cannot load the model 'some-one/tiny'.*'v2'"):
            load("some-one/tiny", "v2")
    finally:
        shutil.rmtree(cached)


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
