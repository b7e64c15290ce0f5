"""Texts as a model reads them: the special tokens around them, and the cut of long ones."""

import numpy as np
import pytest
from transformers import AutoTokenizer

from infolm_metric.kernel import tokens
from infolm_metric.kernel.tokens import find_template, tokenize
from tests.model_families import FAMILIES, SENTENCES


@pytest.fixture(scope="module")
def tokenizer(tiny_bert):
    return AutoTokenizer.from_pretrained(tiny_bert)


# Templates


@pytest.mark.parametrize("family", FAMILIES)
def test_the_template_is_what_the_tokenizer_puts_around_a_text(family, tiny_models):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models(family))
    template = find_template(tokenizer)
    ids = tokenizer("The dog ran in the garden.")["input_ids"]
    start, end = len(template.prefix), len(ids) - len(template.suffix)
    assert template.prefix == tuple(ids[:start]) and template.suffix == tuple(ids[end:])
    bare = tokenizer("The dog ran in the garden.", add_special_tokens=False)
    assert ids[start:end] == bare["input_ids"]
    assert template.overhead == tokenizer.num_special_tokens_to_add() == 2
    assert template.mask == tokenizer.mask_token_id
    # An empty text is the template alone.
    assert tokenizer("")["input_ids"] == [*template.prefix, *template.suffix]


# Tokenising


@pytest.mark.parametrize("family", FAMILIES)
def test_special_and_unknown_tokens_that_someone_typed_are_maskable(family, tiny_models):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models(family))
    typed = [tokenizer.mask_token, tokenizer.sep_token, tokenizer.cls_token, tokenizer.pad_token]
    (text,) = tokenize(tokenizer, ["the cat " + " ".join(typed) + " 猫"], None, "truncate")
    assert text.maskable.tolist() == [False] + [True] * (len(text.ids) - 2) + [False]
    assert set(tokenizer.convert_tokens_to_ids(typed)) <= set(text.tokens.tolist())
    if tokenizer("猫", add_special_tokens=False)["input_ids"][-1] == tokenizer.unk_token_id:
        assert tokenizer.unk_token_id in text.tokens


def test_texts_come_in_order_as_the_tokenizer_reads_them(tokenizer, monkeypatch):
    monkeypatch.setattr(tokens, "SLICE", 7)
    texts = list(tokenize(tokenizer, SENTENCES, None, "truncate"))
    assert len(texts) == len(SENTENCES)
    for sentence, text in zip(SENTENCES, texts, strict=True):
        assert text.ids.tolist() == tokenizer(sentence)["input_ids"]
        assert text.ids.dtype == np.int64 and text.maskable.dtype == bool
        assert text.tokens.tolist() == tokenizer(sentence, add_special_tokens=False)["input_ids"]
        assert text.too_long is False


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "modernbert"])
def test_a_text_is_cut_as_its_tokenizer_would_cut_it(family, side, tiny_models):
    tokenizer = AutoTokenizer.from_pretrained(tiny_models(family), truncation_side=side)
    sentences = [SENTENCES[0], "a cat", "", " ".join(SENTENCES[:4])]
    for limit in (3, 4, 9, 17, 40):
        texts = tokenize(tokenizer, sentences, limit, "truncate")
        for sentence, text in zip(sentences, texts, strict=True):
            cut = tokenizer(
                sentence, truncation=True, max_length=limit, return_special_tokens_mask=True
            )
            assert text.ids.tolist() == cut["input_ids"]
            assert text.maskable.tolist() == [not flag for flag in cut["special_tokens_mask"]]
            assert text.too_long is (len(tokenizer(sentence, verbose=False)["input_ids"]) > limit)


def test_the_limit_itself_is_not_too_long(tokenizer):
    length = len(tokenizer(SENTENCES[0])["input_ids"])
    (fits,) = tokenize(tokenizer, [SENTENCES[0]], length, "error")
    assert len(fits.ids) == length and fits.too_long is False


def test_with_windows_nothing_is_cut(tokenizer):
    (text,) = tokenize(tokenizer, [SENTENCES[0]], 5, "window")
    assert text.ids.tolist() == tokenizer(SENTENCES[0])["input_ids"]
    assert text.too_long is True


def test_a_text_that_is_too_long_can_be_an_error_that_shows_it(tokenizer):
    length = len(tokenizer(SENTENCES[0])["input_ids"])
    with pytest.raises(ValueError) as refusal:
        list(tokenize(tokenizer, ["a cat", SENTENCES[0]], length - 1, "error"))
    message = str(refusal.value)
    assert f"a text has {length} tokens, more than max_length={length - 1}" in message
    assert "The cat sat on the mat" in message
    assert "long_text='truncate' or long_text='window'" in message


def test_the_tokenizers_own_truncation_does_not_leak_in(tokenizer):
    tokenizer("a cat sat on the mat", truncation=True, max_length=4, padding="max_length")
    (text,) = tokenize(tokenizer, [SENTENCES[0]], None, "truncate")
    assert len(text.ids) > 4
