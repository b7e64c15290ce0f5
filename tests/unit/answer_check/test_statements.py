"""Statements of answers and references."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.answer_check.statements import fraction, split_statements, split_words, trigrams
from tests.linear_time import assert_linear_time

# A bar separates statements.
TEXTS = [
    "It rained.| The match was postponed!| Why?| Nobody knows…| Really.",
    "Mr. Smith met Dr. Jones and Prof. Lee in St. Louis.| They talked.",
    "It costs $3.50.| Version 3.10.2 is free.",
    "J. R. R. Tolkien and C. S. Lewis wrote.| G. W. Berg and J. Holm read.",
    "The answer is B.| Photosynthesis needs light.",
    "He lives in the U.S. Virgin Islands.",
    "It opens at 5 a.m. on Sundays.",
    "No.| The capital is Bern.",
    "Fruit, e.g. apples, i.e. Pomaceae, are sweet.",
    '"It rained."| He said (and meant) it.| "Really?"| Yes.',
    "1. Lima is a city.",
    "It began in 1914.| In 1918 it ended.",
    "It ended in 1918.| 1919 was calm.",
    "First\n|Second\n|- third\n\n|Fourth",
    "red\n|blue\n|Both of them.",
    "下雨了。|比赛推迟了！|为什么？|不知道",
    "Wait... what?",
    "Acme Inc. and Co. Ltd. merged.| This was in Sept. 2001.",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts_are_split_at_the_bars(text):
    expected = [" ".join(part.split()) for part in text.split("|")]
    assert split_statements(text.replace("|", "")) == expected


@pytest.mark.parametrize("text", ["", " \n", "?!", "..."])
def test_texts_without_letters_and_digits_have_no_statements(text):
    assert split_statements(text) == []


@given(st.text(st.sampled_from("aB1.!? \n\"'。"), max_size=60))
def test_statements_contain_all_letters_in_order(text):
    joined = "".join(split_statements(text))
    assert [x for x in joined if x.isalnum()] == [x for x in text if x.isalnum()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Café, the café's", "cafe cafe"),
        ("12,500.5 and 3:15", "12500.5 and 3:15"),
        ("C++ is not C", "c + + is not c"),
        ("a 5 % rise", "5 % rise"),
        ("the", "the"),
        ("O’Brien", "o'brien"),
        ("東京", "東京"),
    ],
)
def test_words_have_no_case_accents_articles_and_punctuation(text, expected):
    assert split_words(text) == expected.split()


@given(st.lists(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd")))
def test_a_fraction_of_known_items_is_1_if_all_are_known(known, expected):
    value = fraction(known, expected)
    assert 0 <= value <= 1 and fraction([*known, *expected], expected) == bool(expected)
    assert fraction(known, []) == 0


def test_inflected_words_share_most_trigrams():
    assert fraction(trigrams(["painters"]), trigrams(["painter"])) > 0.6
    assert fraction(trigrams(["rome"]), trigrams(["oslo"])) == 0


@pytest.mark.parametrize(
    "part", [". ", "A. ", "a.", "! A", '."', ".", "a", "\n", "1. ", "…", "(", "a\n"]
)
def test_time_is_linear_in_the_length_of_hostile_texts(part):
    def work(length):
        split_statements(part * (length // len(part)))
        split_words(part * (length // len(part)))

    assert_linear_time(work, 10_000)
