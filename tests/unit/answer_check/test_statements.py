"""Statements of answers and references."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.answer_check.statements import is_short, split_statements

# A bar separates statements.
TEXTS = [
    "It rained.| The match was postponed!| Why?| Nobody knows…| Really.",
    "Mr. Smith met Dr. Jones and Prof. Lee in St. Louis.| They talked.",
    "It costs $3.50.| Version 3.10.2 is free.",
    "George W. Bush won.| J. R. R. Tolkien wrote.",
    "J. R. R. Tolkien and C. S. Lewis wrote.| G. W. Berg and J. Holm read.",
    "The answer is B.| Photosynthesis needs light.",
    "Answer: B.| Photosynthesis needs light.",
    "Gate A.| The flight is late.",
    "He lives in the U.S. Virgin Islands.",
    "He lives in the U.S.| The law is strict.",
    "It opens at 5 a.m. on Sundays.",
    "It opens at 5 p.m.| The last entry is at six.",
    "No.| The capital is Bern.",
    "See No. 5 and p. 12 in vol. 3.",
    "Fruit, e.g. apples, i.e. Pomaceae, are sweet.",
    '"It rained."| He said (and meant) it.| "Really?"| Yes.',
    "(It rained.)| Then it stopped.",
    "1. Lima is a city.",
    "It began in 1914.| In 1918 it ended.",
    "It ended in 1918.| 1919 was calm.",
    "First\n|Second\n|- third\n\n|Fourth",
    "red\n|blue\n|Both of them.",
    "下雨了。|比赛推迟了！|为什么？|不知道",
    "Wait... what?",
    "Acme Inc. and Co. Ltd. merged.| This was in Sept. 2001.",
    "Really?!| Yes.",
    "Visit example.org.| It is free.",
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
    ("reference", "expected"),
    [
        ("Neil Armstrong", True),
        ("", True),
        ("the " + "word " * 12, True),
        ("word " * 13, False),
        ("Yes. It is.", False),
        ("J. R. R. Tolkien", True),
        ("red\nblue", False),
    ],
)
def test_short_references_are_one_statement_of_at_most_twelve_tokens(reference, expected):
    assert is_short(reference) is expected


@pytest.mark.parametrize(
    "part", [". ", "A. ", "a.", "! A", '."', ".", "a", "\n", "1. ", "…", "(", "a\n"]
)
def test_time_is_linear_in_the_length_of_hostile_texts(part):
    seconds = []
    for length in (10_000, 100_000):
        start = time.process_time()
        split_statements(part * (length // len(part)))
        seconds.append(time.process_time() - start)
    assert seconds[1] < 0.1 + 40 * seconds[0]
