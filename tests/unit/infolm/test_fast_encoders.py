"""The encoders that leave work out give what the families' own encoders give."""

import numpy as np
import pytest
import torch
from transformers import AutoTokenizer

from infolm_metric.infolm import fast_encoders as encoders
from infolm_metric.infolm import masked_lm
from infolm_metric.infolm.masking import batches, split
from infolm_metric.kernel import tokens
from infolm_metric.kernel.idf.weights import normalised_log_weights
from infolm_metric.kernel.tokens import tokenize
from tests.model_families import FAMILIES, SENTENCES

KNOWN = [family for family in FAMILIES if family in encoders.FAMILIES]
TEXTS = [*SENTENCES[:8], "the cat", "rain", ""]
TOLERANCE = 5e-5  # of logits that reach 20, in float32
# What differs within a family and changes how its layers are read.
VARIANTS = [
    *((family, {}) for family in FAMILIES),
    ("bert", {"num_hidden_layers": 1}),
    ("bert", {"num_hidden_layers": 5, "hidden_act": "relu"}),
    ("roberta", {"hidden_act": "gelu_new"}),
    ("albert", {"num_hidden_layers": 5, "num_hidden_groups": 2, "inner_group_num": 2}),
    ("electra", {"embedding_size": 16}),
]


def load(folder, fast, dtype="float32"):
    return masked_lm.load(masked_lm.open_masked_lm(str(folder)), "cpu", dtype, fast)


def is_fast(loaded):
    return isinstance(loaded.model, encoders.FastMaskedLM)


def batches_of(model, texts, masks=1, size=None):
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
            masks,
        )
    ]
    return list(batches(windows, checkpoint.template.mask, size, checkpoint.size, "cpu"))


def largest_difference(first, second, made):
    return max(
        (
            torch.cat(list(first.logits(batch.ids, batch.positions))).float()
            - torch.cat(list(second.logits(batch.ids, batch.positions))).float()
        )
        .abs()
        .max()
        .item()
        for batch in made
    )


def test_the_families_that_matter_most_are_known():
    assert {"bert", "roberta", "xlm-roberta", "distilbert", "albert", "electra", "mpnet"} == set(
        KNOWN
    )


@pytest.mark.parametrize("masks", [1, 3])
@pytest.mark.parametrize(("family", "changes"), VARIANTS)
def test_logits_are_those_of_the_familys_own_encoder(family, changes, masks, tiny_models):
    folder = tiny_models(family, **changes)
    fast, plain = load(folder, True), load(folder, False)
    assert is_fast(fast) is (family in KNOWN) and not is_fast(plain)
    for size in (None, 1, 5):
        made = batches_of(plain, TEXTS, masks, size)
        assert largest_difference(fast, plain, made) < TOLERANCE


@pytest.mark.parametrize("family", KNOWN)
def test_attention_over_long_texts_is_the_same(family, tiny_models, monkeypatch):
    folder = tiny_models(family)
    fast, plain = load(folder, True), load(folder, False)
    monkeypatch.setattr(encoders, "SHORT", 0)
    assert largest_difference(fast, plain, batches_of(plain, TEXTS)) < TOLERANCE


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("family", KNOWN)
def test_half_precision_is_as_near_as_the_familys_own(family, dtype, tiny_models):
    folder = tiny_models(family)
    exact, fast, plain = (
        load(folder, False),
        load(folder, True, dtype),
        load(folder, False, dtype),
    )
    made = batches_of(exact, TEXTS)
    own = largest_difference(plain, exact, made)
    assert 0 < largest_difference(fast, exact, made) < 2 * own


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "mpnet"])
def test_a_typed_padding_token_shifts_positions_as_in_the_familys_own(family, tiny_models):
    folder = tiny_models(family)
    padding = AutoTokenizer.from_pretrained(folder).pad_token
    fast, plain = load(folder, True), load(folder, False)
    made = batches_of(plain, [f"the cat {padding} sat on {padding} the mat and slept"])
    assert largest_difference(fast, plain, made) < TOLERANCE


def test_one_encoder_answers_batches_of_any_order_and_size(tiny_bert):
    fast, plain = load(tiny_bert, True), load(tiny_bert, False)
    made = batches_of(plain, TEXTS, size=4)
    order = np.random.default_rng(0).permutation(len(made))
    assert largest_difference(fast, plain, [made[i] for i in order]) < TOLERANCE
    rooms = {name: room.data_ptr() for name, room in fast.model.encoder.room.items()}
    assert largest_difference(fast, plain, made) < TOLERANCE
    # What it keeps has the size of the largest batch, and is used again.
    assert {name: room.data_ptr() for name, room in fast.model.encoder.room.items()} == rooms
    most = max(batch.ids.numel() for batch in made)
    assert all(room.numel() <= most * 4 * 40 for room in fast.model.encoder.room.values())


def test_answers_do_not_change_when_the_next_batch_is_asked_for(tiny_bert):
    model = load(tiny_bert, True)
    first, second, *_ = batches_of(model, TEXTS)
    answer = torch.cat(list(model.logits(first.ids, first.positions)))
    before = answer.clone()
    list(model.logits(second.ids, second.positions))
    assert torch.equal(answer, before)


def test_a_decoder_keeps_its_own_encoder(tiny_models):
    assert not is_fast(load(tiny_models("bert", is_decoder=True), True))


def test_a_text_read_in_windows_is_answered_as_by_the_familys_own(tiny_bert, monkeypatch):
    monkeypatch.setattr(tokens, "SLICE", 2)
    fast, plain = load(tiny_bert, True), load(tiny_bert, False)
    checkpoint = plain.checkpoint
    (text,) = tokenize(checkpoint.tokenizer, [" ".join(SENTENCES)], 20, "window")
    weights = normalised_log_weights(text, None)[:, None]
    windows = split(0, text, weights, checkpoint.template, 20)
    assert len(windows) > 10
    made = list(batches(windows, checkpoint.template.mask, None, checkpoint.size, "cpu"))
    assert largest_difference(fast, plain, made) < TOLERANCE


@pytest.mark.parametrize("family", KNOWN)
def test_every_parameter_is_counted_and_moves_with_the_model(family, tiny_models):
    fast, plain = load(tiny_models(family), True), load(tiny_models(family), False)
    unread = ("pooler", "position_ids")
    expected = {
        name: parameter.numel()
        for name, parameter in plain.model.named_parameters()
        if not any(word in name for word in unread)
    }
    assert sum(each.numel() for each in fast.model.parameters()) == sum(expected.values())
    assert {each.dtype for each in fast.model.to(torch.float64).parameters()} == {torch.float64}
