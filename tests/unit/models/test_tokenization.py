"""Tokenized texts: special tokens, truncation, batches of equal length, windows."""

from itertools import chain, zip_longest

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from infolm_metric import InputError
from infolm_metric.core import document_counts
from infolm_metric.core.document_counts import tokenize
from infolm_metric.models import tokenization
from tests.made_texts import BERT, CLS, SEP, make_text
from tests.model_families import SENTENCES, TOKENIZER_KINDS


@pytest.fixture(scope="module")
def tokenizer(tiny_bert):
    return AutoTokenizer.from_pretrained(tiny_bert)


@pytest.mark.parametrize("family", TOKENIZER_KINDS)
def test_the_template_consists_of_the_special_tokens_around_a_text(family, tiny_models):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models(family))
    template = tokenization.find_template(tokenizer)
    ids = tokenizer("The dog ran in the garden.")["input_ids"]
    bare = tokenizer("The dog ran in the garden.", add_special_tokens=False)["input_ids"]
    assert [*template.prefix, *bare, *template.suffix] == ids
    assert template.overhead == tokenizer.num_special_tokens_to_add() == 2
    assert template.mask == tokenizer.mask_token_id
    assert tokenizer("")["input_ids"] == [*template.prefix, *template.suffix]


@pytest.mark.parametrize("family", TOKENIZER_KINDS)
def test_special_and_unknown_tokens_within_a_text_are_maskable(family, tiny_models):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models(family))
    typed = [tokenizer.mask_token, tokenizer.sep_token, tokenizer.cls_token, tokenizer.pad_token]
    (text,) = tokenize(tokenizer, ["the cat " + " ".join(typed) + " 猫"], None, "truncate")
    assert text.maskable.tolist() == [False] + [True] * (len(text.ids) - 2) + [False]
    assert set(tokenizer.convert_tokens_to_ids(typed)) <= set(text.tokens.tolist())
    if tokenizer("猫", add_special_tokens=False)["input_ids"][-1] == tokenizer.unk_token_id:
        assert tokenizer.unk_token_id in text.tokens


def test_texts_are_tokenized_in_order_regardless_of_earlier_calls(tokenizer, monkeypatch):
    monkeypatch.setattr(document_counts, "TEXTS_PER_STEP", 7)
    tokenizer("a cat sat on the mat", truncation=True, max_length=4, padding="max_length")
    # The options of the call above must not leak into this one.
    texts = tokenize(tokenizer, SENTENCES, None, "truncate")
    for sentence, text in zip(SENTENCES, texts, strict=True):
        assert text.ids.tolist() == tokenizer(sentence)["input_ids"]
        assert text.tokens.tolist() == tokenizer(sentence, add_special_tokens=False)["input_ids"]
        assert (text.ids.dtype, text.maskable.dtype, text.too_long) == (np.int64, bool, False)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", TOKENIZER_KINDS)
def test_truncation_matches_the_tokenizer(family, side, tiny_models):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models(family), truncation_side=side)
    sentences = [SENTENCES[0], "a cat", "", " ".join(SENTENCES[:4])]
    for limit in (3, 4, 9, 17, 40):
        texts = tokenize(tokenizer, sentences, limit, "truncate")
        for sentence, text in zip(sentences, texts, strict=True):
            options = {"truncation": True, "max_length": limit, "return_special_tokens_mask": True}
            cut = tokenizer(sentence, **options)
            assert text.ids.tolist() == cut["input_ids"]
            assert text.maskable.tolist() == [not flag for flag in cut["special_tokens_mask"]]
            assert text.too_long is (len(tokenizer(sentence, verbose=False)["input_ids"]) > limit)


def test_long_texts_can_be_rejected_or_kept_whole(tokenizer):
    length = len(tokenizer(SENTENCES[0])["input_ids"])
    (fits,) = tokenize(tokenizer, [SENTENCES[0]], length, "error")
    (whole,) = tokenize(tokenizer, [SENTENCES[0]], length - 1, "window")
    assert len(fits.ids) == len(whole.ids) == length
    assert (fits.too_long, whole.too_long) == (False, True)
    with pytest.raises(InputError, match=f"max_length={length - 1} tokens, got {length}: .The cat"):
        list(tokenize(tokenizer, ["a", SENTENCES[0], "a cat"], length - 1, "error"))


@given(
    lengths=st.lists(st.integers(1, 12), max_size=20),
    rows=st.none() | st.integers(1, 5),
    most=st.integers(1, 30),
)
def test_batches_contain_every_text_once_and_only_texts_of_equal_length(lengths, rows, most):
    batches = list(chain.from_iterable(tokenization.packed_batches(lengths, rows, most)))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    longest = [lengths[batch[0]] for batch in batches]
    assert longest == sorted(longest, reverse=True)
    for batch, length, following in zip_longest(batches, longest, longest[1:]):
        assert {lengths[index] for index in batch} == {length}
        room = rows or max(1, most // length)
        assert len(batch) <= room  # batches are as large as possible
        assert len(batch) == room or length != following


@given(length=st.integers(1, 60), width=st.integers(1, 24))
def test_each_token_is_encoded_once_in_the_window_with_the_nearest_centre(length, width):
    encodings = {}
    text = make_text(range(100, 100 + length))
    for window in tokenization.windows(text, BERT, width + BERT.overhead):
        for index, position in zip(window.indices.tolist(), window.positions, strict=True):
            assert index not in encodings
            encodings[index] = (window.ids[position], window.ids.tolist())
    starts = [*range(0, length - width, max(1, width // 2)), max(0, length - width)]
    for index in range(length):  # ties go to the earlier window
        start = min(starts, key=lambda start: (abs(2 * (index - start) - (width - 1)), start))
        inner = range(100 + start, 100 + min(start + width, length))
        assert encodings[index] == (100 + index, [CLS, *inner, SEP])
    assert len(encodings) == length
