"""Predictions and references are checked before anything costly, or surprising, happens to them."""

from collections import UserList

import numpy as np
import pandas
import pyarrow
import pytest
from datasets import Dataset

from infolm_metric.kernel.pairs import check_pairs, check_text, check_texts

# What is no string, with the value as the message must show it and what it must advise.
NOT_TEXTS = [
    (None, "None", "drop the pair or give an empty string"),
    (5, "5 (int)", "convert it with str()"),
    (1.5, "1.5 (float)", "convert it with str()"),
    (float("nan"), "nan (float)", "drop the pair or give an empty string"),
    (True, "True (bool)", "convert it with str()"),
    (b"a cat", "b'a cat' (bytes)", "decode it"),
    ({"text": "a cat"}, "{'text': 'a cat'} (dict)", "give its text"),
    (np.int64(5), "5", "convert it with str()"),
    (pandas.NA, "<NA> (NAType)", "drop the pair or give an empty string"),
]
IDS = [type(value).__name__ + str(value)[:3] for value, _, _ in NOT_TEXTS]


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize(("value", "shown", "remedy"), NOT_TEXTS, ids=IDS)
@pytest.mark.parametrize("side", ["predictions", "references"])
def test_what_is_no_string_is_refused_at_any_position(side, value, shown, remedy, position):
    sides = {"predictions": ["a", "b", "c"], "references": ["a", "b", "c"]}
    sides[side][position] = value
    with pytest.raises(TypeError) as refusal:
        check_pairs(**sides)
    message = str(refusal.value)
    assert message.startswith(f"{side}[{position}] must be a string, got ")
    assert shown in message and remedy in message


@pytest.mark.parametrize("group", [0, 1])
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize(("value", "shown", "remedy"), NOT_TEXTS, ids=IDS)
def test_what_is_no_string_is_refused_in_lists_of_references(value, shown, remedy, position, group):
    references = [["a", "b"], ["c", "d"]]
    references[group][position] = value
    with pytest.raises(TypeError) as refusal:
        check_pairs(["x", "y"], references)
    message = str(refusal.value)
    assert message.startswith(f"references[{group}][{position}] must be a string, got ")
    assert shown in message and remedy in message


@pytest.mark.parametrize(("value", "shown", "remedy"), NOT_TEXTS, ids=IDS)
def test_what_is_neither_a_string_nor_a_list_is_refused_among_lists(value, shown, remedy):
    with pytest.raises(TypeError) as refusal:
        check_pairs(["x", "y"], [["a"], value])
    message = str(refusal.value)
    assert message.startswith("references[1] must be a string, got ")
    assert shown in message


def test_a_list_where_one_prediction_belongs_is_refused():
    with pytest.raises(TypeError, match=r"predictions\[1\] must be a string") as error:
        check_pairs(["x", ["y", "z"]], ["a", "b"])
    assert "got ['y', 'z'] (list); only references may be lists" in str(error.value)


def test_lists_within_lists_of_references_are_refused():
    with pytest.raises(TypeError, match=r"references\[0\]\[1\] must be a string, got \['b'\]"):
        check_pairs(["x"], [["a", ["b"]]])


@pytest.mark.parametrize("bare", ["abc", "", b"abc", np.str_("abc")])
@pytest.mark.parametrize("side", ["predictions", "references"])
def test_a_bare_string_is_refused_and_not_read_letter_by_letter(side, bare):
    sides = {"predictions": ["a", "b", "c"], "references": ["a", "b", "c"]}
    sides[side] = bare
    with pytest.raises(TypeError, match=f"{side} must be a list of strings, got the bare string"):
        check_pairs(**sides)


@pytest.mark.parametrize(
    "no_list",
    [
        None,
        5,
        {"a": "b"},
        {"a", "b"},
        (text for text in "ab"),
        np.array("a"),
        pandas.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}),
        object(),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("side", ["predictions", "references"])
def test_what_has_no_length_or_no_order_is_refused(side, no_list):
    sides = {"predictions": ["a", "b"], "references": ["a", "b"]}
    sides[side] = no_list
    with pytest.raises(TypeError, match=f"^{side} must be a list of strings, got "):
        check_pairs(**sides)


@pytest.mark.parametrize(
    ("predictions", "references", "counted"),
    [
        (["a"], ["b", "c"], "1 prediction and 2 references"),
        (["a", "b"], ["c"], "2 predictions and 1 reference"),
        ([], ["c"], "0 predictions and 1 reference"),
        (["a"], [], "1 prediction and 0 references"),
        (["a"], [["b"], ["c"]], "1 prediction and 2 references"),
    ],
)
def test_unequal_lengths_are_refused_with_both(predictions, references, counted):
    with pytest.raises(ValueError, match=f"equally long, got {counted}"):
        check_pairs(predictions, references)


@pytest.mark.parametrize("empty", [[], (), np.array([]), pandas.Series([], dtype=str)])
def test_no_pair_at_all_is_refused(empty):
    with pytest.raises(ValueError, match="predictions and references are empty; give at least one"):
        check_pairs(empty, empty)


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("empty", [[], (), np.array([])])
def test_a_prediction_without_a_reference_is_refused(empty, position):
    references = [["a"], ["b"]]
    references[position] = empty
    with pytest.raises(ValueError, match=rf"references\[{position}\] is an empty list; give each"):
        check_pairs(["x", "y"], references)


@pytest.mark.parametrize(
    ("references", "string", "listed"),
    [
        (["a", "b", ["c"]], 0, 2),
        (["a", ["b"], "c"], 0, 1),
        ([["a"], ["b"], "c"], 2, 0),
        ([["a"], "b", ["c"]], 1, 0),
        ([("a",), "b", ("c",)], 1, 0),
        (["a", "b", []], 0, 2),
    ],
)
def test_strings_and_lists_of_references_are_not_mixed(references, string, listed):
    message = rf"references\[{string}\] is a string, references\[{listed}\] a list; give all"
    with pytest.raises(ValueError, match=message):
        check_pairs(["x", "y", "z"], references)


@pytest.mark.parametrize("wrong", ["ab\ud83d", "\udc00", "é\udfff and more", "\ud83d\ude00"])
def test_lone_surrogates_are_refused_with_their_place(wrong):
    at = next(index for index, letter in enumerate(wrong) if "\ud800" <= letter <= "\udfff")
    expected = f"has a lone surrogate ({wrong[at]!a}) at character {at}"
    for sides in ((["a", wrong], ["a", "b"]), (["a", "b"], ["a", wrong])):
        with pytest.raises(ValueError) as refusal:
            check_pairs(*sides)
        assert expected in str(refusal.value)
    with pytest.raises(ValueError) as refusal:
        check_pairs(["a"], [["b", wrong]])
    assert str(refusal.value).startswith(f"references[0][1] {expected}")


@pytest.mark.parametrize(
    "text", ["", " ", "\0", "\n", "😀", "ａ\u200d\u0301", "\uffff", "x" * 10**6]
)
def test_any_valid_unicode_is_a_text(text):
    assert check_pairs([text], [text]).references == [[text]]
    assert check_texts("texts", [text]) == [text]


def test_a_long_value_is_shown_in_brief():
    with pytest.raises(TypeError) as refusal:
        check_pairs("x" * 10**6, ["a"])
    assert len(str(refusal.value)) < 400
    with pytest.raises(TypeError) as refusal:
        check_text("text", [["x" * 10**6] * 1000] * 1000)
    assert len(str(refusal.value)) < 1000


def column(values):
    return Dataset.from_dict({"text": values})["text"]


@pytest.mark.parametrize(
    "collect",
    [
        list,
        tuple,
        UserList,
        np.array,
        lambda values: np.array(values, dtype=object),
        pandas.Series,
        lambda values: pandas.Series(values, index=[7, 7]),
        lambda values: pandas.Series(values, dtype="string"),
        pyarrow.array,
        lambda values: pyarrow.chunked_array([values]),
        pandas.Index,
        column,
        lambda values: column(values)[:],
    ],
)
def test_columns_of_every_kind_are_read_in_order(collect):
    pairs = check_pairs(collect(["a cat", "a dog"]), collect(["the cat", ""]))
    assert pairs.predictions == ["a cat", "a dog"]
    assert pairs.references == [["the cat"], [""]]
    assert {type(text) for text in pairs.predictions} == {str}
    assert pairs.several is False and len(pairs) == 2


@pytest.mark.parametrize(
    "collect",
    [
        list,
        tuple,
        lambda groups: [tuple(group) for group in groups],
        lambda groups: [np.array(group) for group in groups],
        np.array,
        pandas.Series,
        lambda groups: [pandas.Series(group) for group in groups],
        column,
    ],
)
def test_lists_of_references_of_every_kind_are_read_in_order(collect):
    pairs = check_pairs(["x", "y"], collect([["a", "b"], ["c", "d"]]))
    assert pairs.references == [["a", "b"], ["c", "d"]]
    assert {type(text) for group in pairs.references for text in group} == {str}
    assert pairs.several is True


def test_predictions_may_have_different_numbers_of_references():
    pairs = check_pairs(["x", "y", "z"], [["a"], ["b", "c", "b"], ("d", "e")])
    assert pairs.references == [["a"], ["b", "c", "b"], ["d", "e"]]


def test_missing_values_of_a_data_frame_are_refused():
    frame = pandas.DataFrame({"text": ["a", None, "c"]})
    with pytest.raises(TypeError, match=r"predictions\[1\] must be a string, got (nan|None)"):
        check_pairs(frame["text"], ["a", "b", "c"])


def test_checked_lists_are_copies():
    given = ["a", "b"]
    pairs = check_pairs(given, given)
    given[0] = "changed"
    assert pairs.predictions == ["a", "b"] and pairs.references == [["a"], ["b"]]


def test_texts_alone_are_checked_the_same_way():
    assert check_texts("texts", np.array(["a", "b"])) == ["a", "b"]
    with pytest.raises(TypeError, match=r"texts\[1\] must be a string, got None"):
        check_texts("texts", ["a", None])
    with pytest.raises(TypeError, match="texts must be a list of strings, got the bare string"):
        check_texts("texts", "abc")
