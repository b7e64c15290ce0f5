"""Validation of pairs of texts, and their division into chunks and parts."""

from collections import UserDict, UserList
from itertools import zip_longest

import numpy as np
import pandas
import pyarrow
import pytest
import torch
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric import InfoLMScorer, InputError
from infolm_metric.core import inputs
from infolm_metric.core.inputs import Pairs, check_pairs, iterate_pairs

TEXTS = st.text(max_size=5)
GROUPS = st.lists(TEXTS, min_size=1, max_size=3)
NON_TEXTS = st.sampled_from([None, pandas.NA, np.int64(5), {"text": "a"}, b"a", True, {"a"}])
NON_TEXTS |= st.integers() | st.floats()
# TEXTS contain no surrogates.
LONE_SURROGATES = st.tuples(TEXTS, st.characters(categories=["Cs"]), TEXTS).map("".join)


def replace_item(items, index, item):
    """Return the items with one of them replaced."""
    return [*items[:index], item, *items[index + 1 :]]


def as_passed(pairs):
    """Return the candidates with all references, including blank ones."""
    return list(zip(pairs.predictions, pairs.all_references, strict=True))


@given(st.lists(st.tuples(TEXTS, GROUPS), min_size=1, max_size=5))
def test_valid_texts_are_kept_unchanged(pairs):
    predictions, references = map(list, zip(*pairs, strict=True))
    checked = check_pairs(predictions, references)
    assert as_passed(checked) == list(iterate_pairs(pairs)) == pairs
    firsts = [(text, group[0]) for text, group in pairs]
    single = check_pairs(tuple(predictions), [first for _, first in firsts])
    assert list(single) == list(iterate_pairs(firsts))
    predictions[0], references[0] = "changed", ["changed"]
    assert as_passed(checked) == pairs  # copied


@given(st.data(), NON_TEXTS | LONE_SURROGATES)
def test_invalid_texts_are_rejected_with_their_position(data, wrong):
    pairs = data.draw(st.lists(st.tuples(TEXTS, GROUPS), min_size=1, max_size=4))
    predictions, groups = map(list, zip(*pairs, strict=True))
    index = data.draw(st.integers(0, len(pairs) - 1))
    inner = data.draw(st.integers(0, len(groups[index]) - 1))

    def assert_rejected(name, check):
        with pytest.raises(InputError) as refusal:
            check()
        assert str(refusal.value).startswith(f"{name} ")

    wrongs = replace_item(predictions, index, wrong)
    nested = replace_item(groups, index, replace_item(groups[index], inner, wrong))
    assert_rejected(f"predictions[{index}]", lambda: check_pairs(wrongs, groups))
    assert_rejected(f"references[{index}]", lambda: check_pairs(predictions, wrongs))
    assert_rejected(f"references[{index}][{inner}]", lambda: check_pairs(predictions, nested))
    assert_rejected(f"texts[{index}]", lambda: inputs.check_texts("texts", wrongs))
    streamed = list(zip(predictions, nested, strict=True))
    assert_rejected(f"pairs[{index}][1][{inner}]", lambda: list(iterate_pairs(streamed)))


INVALID = {  # predictions, references, pattern of the message
    "a bare prediction": ("abc", ["a", "b", "c"], "predictions must be a list of"),
    "bytes": (b"ab", ["a", "b"], "predictions must be a list"),
    "no predictions": (None, ["a"], "predictions .*None"),
    "a set": (["a"], {"a"}, "references .*set"),
    "a generator": ((text for text in "a"), ["a"], r"predictions .*generator.*list\("),
    "a zero-dimensional array": (np.array("a"), ["a"], "predictions .*ndarray"),
    "integers": (["a"], [5], r"references\[0\] .*batch_decode"),
    "token ids": ([[1, 2], [3]], ["a", "b"], r"predictions\[0\] .*batch_decode"),
    "an array of ids": (np.ones((2, 3), int), ["a", "b"], r"\[0\] .*batch_decode"),
    "lists of ids": (["a"], [[[1, -100]]], r"references\[0\]\[0\] .*batch_decode"),
    "fewer predictions": (["a"], ["b", "c"], "1 prediction and 2 references"),
    "no pairs": ([], [], "empty"),
    "no reference": (["a", "b"], [["c"], []], r"references\[1\] is empty"),
    "no reference in an array": (["a"], [np.array([])], r"references\[0\] is empty"),
    "strings, then a list": (["a", "b"], ["c", ["d"]], r"references\[1\] have different"),
    "lists, then a string": (["a", "b"], [["c"], "d"], r"references\[1\] have different"),
    "logits": (np.ones((2, 3, 4)), ["a", "b"], r"predictions\[0\] .*argmax"),
    "a tensor of logits": (torch.ones(1, 3, 4, dtype=torch.bfloat16), ["a"], "argmax"),
    "a Trainer's tuple": ((np.ones((1, 3, 4)), np.ones((1, 2))), ["a"] * 2, "argmax"),
    "a Trainer's ids": ((np.ones((2, 3), int), "x"), ["a"] * 2, "batch_decode"),
    "scores": ([0.5], ["a"], r"got 0\.5 \(float\)\. Convert it"),
    "a list in a list": (["a"], [["b", ["c"]]], r"references\[0\]\[1\].*list"),
}


@pytest.mark.parametrize(("predictions", "references", "word"), INVALID.values(), ids=INVALID)
def test_invalid_lists_of_pairs_are_rejected(predictions, references, word):
    with pytest.raises(InputError, match=word):
        check_pairs(predictions, references)


def test_references_in_sacrebleu_layout_are_rejected_with_a_remedy():
    streams = [["a", "b", "c"], ["d", "e", "f"]]
    for references in (streams, streams[:1], np.array(streams)):
        with pytest.raises(InputError, match=r"3 predictions .*list\(zip\(\*references\)\)"):
            check_pairs(["x", "y", "z"], references)
        checked = check_pairs(["x", "y", "z"], list(zip(*references, strict=True)))
        assert checked.references[0] == [stream[0] for stream in references]
    for references in (["a", "b"], [["a", "b", "c"], ["d"]]):
        with pytest.raises(InputError) as refusal:
            check_pairs(["x", "y", "z"], references)
        assert "zip" not in str(refusal.value)


def test_empty_batches_are_accepted_on_request():
    assert len(check_pairs([], np.array([]), allow_empty=True)) == 0
    for predictions, references in (([], ["a"]), (["a"], [])):
        with pytest.raises(InputError, match="have the same length"):
            check_pairs(predictions, references, allow_empty=True)
    with pytest.raises(InputError):
        check_pairs(None, None, allow_empty=True)


INVALID_PAIRS = ["ab", ("a",), ("a", "b", "c"), 5, ("a", []), ("a", 5), {"a": 1, "b": 2}]


@pytest.mark.parametrize("pair", INVALID_PAIRS)
def test_invalid_pairs_in_a_stream_are_rejected_with_their_index(pair):
    pairs = iterate_pairs([("a", "b"), pair])
    assert next(pairs) == ("a", ["b"])
    with pytest.raises(InputError, match=r"pairs\[1\]"):
        next(pairs)


def test_long_values_are_abbreviated_in_messages():
    for predictions in ("x" * 10**6, [[["x" * 10**6] * 1000] * 1000]):
        with pytest.raises(InputError) as refusal:
            check_pairs(predictions, ["a"])
        assert len(str(refusal.value)) < 2000


def column(values):
    return Dataset.from_dict({"text": values})["text"]


FLAT = [
    *(UserList, np.array, pandas.Index, pyarrow.array, column),
    lambda values: np.array(values, dtype=object),
    lambda values: pandas.Series(values, index=[7, 7]),
    lambda values: pandas.Series(values, dtype="string"),
    lambda values: pyarrow.chunked_array([values]),
]
NESTED = [
    *(np.array, pandas.Series, column),
    lambda groups: [np.array(group) for group in groups],
    lambda groups: [pandas.Series(group) for group in groups],
]


@pytest.mark.parametrize("number", range(len(FLAT)))
def test_columns_of_all_supported_types_are_read_in_order(number):
    flat, nested = FLAT[number % len(FLAT)], NESTED[number % len(NESTED)]
    single = check_pairs(flat(["a cat", "a dog"]), flat(["the cat", ""]))
    assert list(single) == [("a cat", ["the cat"]), ("a dog", [""])]
    several = check_pairs(flat(["x", "y"]), nested([["a", "b"], ["c", "d"]]))
    assert list(several) == [("x", ["a", "b"]), ("y", ["c", "d"])]
    assert {type(text) for pairs in (single, several) for text in pairs.texts} == {str}


# The last one has no `ndim`, like frames of polars.
TABLES = [pandas.DataFrame, lambda values: Dataset.from_dict(values).to_iterable_dataset()]
TABLES += [pyarrow.table, Dataset.from_dict, type("Frame", (UserDict,), {"columns": ()})]


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_tables_are_rejected_with_a_remedy(number):
    table = TABLES[number]({"one": ["a", "b"], "two": ["c", "d"]})
    texts = ["x", "y"]
    for arguments, name in (((table, texts), "predictions"), ((texts, table), "references")):
        with pytest.raises(InputError, match=rf"(?s){name}.* must be .*column of texts"):
            check_pairs(*arguments)
    with pytest.raises(InputError, match=r"references\[0\]"):
        check_pairs(texts, [table, table])


def test_lazy_columns_are_rejected_with_a_remedy():
    column = Dataset.from_dict({"text": ["a", "b"]}).to_iterable_dataset()["text"]
    with pytest.raises(InputError, match=r"IterableColumn.*list\("):
        check_pairs(column, ["a", "b"])
    assert list(check_pairs(list(column), ["a", "b"])) == [("a", ["a"]), ("b", ["b"])]


# Blank references

BLANKS = ["", " ", "\n\t", "\u00a0", "\u200b", "\ufeff", "\u00ad", "\u2060\u200d", "\ufe0f"]
BLANKS += ["\x00", "\x85", "\u3000", "\u0301", "\ufffd", "\uf0b7"]
VISIBLE = [".", "-", "0", "\u200bx", " a ", "é", "🙂", "猫", "\u0301a"]


@pytest.mark.parametrize("blank", BLANKS, ids=ascii)
def test_blank_texts_have_no_tokens(blank):
    tokenizer = InfoLMScorer(model_name_or_path="bundled").tokenizer
    assert inputs.is_blank(blank) and not tokenizer(blank, add_special_tokens=False)["input_ids"]
    for text in VISIBLE:
        assert not inputs.is_blank(text) and not inputs.is_blank(blank + text)
        assert tokenizer(text, add_special_tokens=False)["input_ids"]


@given(st.lists(st.tuples(TEXTS, st.lists(st.sampled_from([*BLANKS, *VISIBLE]), min_size=1))))
def test_blank_references_are_left_out_if_others_are_not_blank(pairs):
    whole = Pairs.of(pairs)
    for (_, group), references in zip(pairs, whole.references, strict=True):
        visible = [text for text in group if text in VISIBLE]
        assert references == (visible or group[:1])
    counts = [len(group) for _, group in pairs]
    assert whole.blank_references == sum(counts) - sum(whole.counts)


# Chunks and parts

WORDS = st.sampled_from(["", "a", "b", "c", "dd", "eee"])
SMALL = st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=4)), max_size=15)


@given(pairs=SMALL, most=st.integers(2, 8), size=st.sampled_from([lambda text: 1, len]))
def test_chunks_preserve_order_and_are_as_large_as_possible(pairs, most, size):
    chunks = list(Pairs.of(pairs).chunks(most, size))
    assert [pair for chunk in chunks for pair in as_passed(chunk)] == pairs

    def fits(part):
        texts = {text for candidate, group in part for text in (candidate, *group)}
        return sum(map(size, texts)) <= most and len(part) <= most

    for chunk, following in zip_longest(chunks, chunks[1:]):
        assert fits(list(chunk)) or len(chunk) == 1
        if following is not None:  # the next pair does not fit
            assert not fits([*chunk, next(iter(following))])


@given(pairs=SMALL, cuts=st.lists(st.integers(0, 15), max_size=3))
def test_joined_parts_equal_the_whole(pairs, cuts):
    whole, edges = Pairs.of(pairs), [0, *sorted(cuts), len(pairs)]
    parts = [whole.part(start, stop) for start, stop in zip(edges, edges[1:], strict=False)]
    assert [pair for part in parts for pair in as_passed(part)] == pairs
    assert [pair for part in parts for pair in part] == list(whole)
    assert whole.blank_references == sum(part.blank_references for part in parts)
    assert whole.counts == [len(group) for _, group in whole]
    assert whole.flat_references == [text for _, group in whole for text in group]
    assert len(list(whole.texts)) == len(whole) + sum(whole.counts)
