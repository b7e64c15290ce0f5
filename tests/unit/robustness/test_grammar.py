"""Parts of speech, numbers, tokens and sentence boundaries."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.robustness.grammar import choose_article, content_parts, find_numbers, find_tag
from infolm_metric.robustness.words import Text

ARTICLES = {"an": "apple hour honest unimportant umbrella urban", "a": "lamp"}
TAGS = {
    "NOUN": {"city": "NN", "cities": "NNS", "sheep": ""},
    "VERB": {
        "wrote": "VBD", "written": "VBN", "located": "VBD", "writes": "VBZ", "writing": "VBG",
        "put": "", "become": "", "of": "",
    },
    "ADJ": {"largest": "JJS"},
}  # fmt: skip


def test_articles_tags_and_word_classes_are_assigned_only_if_unambiguous():
    for article, words in ARTICLES.items():
        assert {choose_article(word) for word in words.split()} == {article}
    for part, words in TAGS.items():
        assert {word: find_tag(word, part) for word in words} == words
    nouns = ("city", "rock", "City", "ox", "which")
    assert [word for word in nouns if content_parts(word) == {"NOUN"}] == ["city"]


NUMBERS = [
    ("It is 1,250.5 km long and has 3 of 20.", ["1,250.5", "3", "20"]),
    ("He was born on 15 March 1932 and on March 15, 1932.", []),
    ("In May 1999, on the 3rd of June and on 1999-05-03.", []),
    ("It opened on 03/05/1999 or 3.5.1999 at 12:30.", []),
    ("It weighs 1934.01 kg, or 1934.01-78.25 kg.", ["1934.01", "1934.01", "78.25"]),
    ("It was built in 1999, in 1000 or in 2099.", []),
    ("Founded in 1850 with 12 people.", ["12"]),
    ("It has 999, 2100 and 10000 of them.", ["999", "2100", "10000"]),
    ("It holds 2000 people and cost $2,000 or € 185.", ["2,000", "185"]),
    ("It has 1,850 and 1850.5 of them.", ["1,850", "1850.5"]),
    ("An A380, a B-2, a 3rd one and the 1980s.", []),
    ("Of 40% and a 16-inch gun.", ["40", "16"]),
    ("ISBN 0-374-53063-6 is a code.", []),
    ("On May 2-3, on 2–3 May and on May 2nd–3rd, 1999 he ran 5-10 km.", ["5", "10"]),
    ("In 1985–86, 1885-86 and 1985/86 he ran 5 km.", ["5"]),
]


@pytest.mark.parametrize(("text", "numbers"), NUMBERS)
def test_find_numbers_skips_dates_and_names(text, numbers):
    assert [match[0] for match in find_numbers(text)] == numbers


@given(st.text(st.sampled_from("aZ1 .,-'’\"\n“”%é"), max_size=30))
def test_text_is_its_tokens_and_the_spaces_between_them(text):
    words = Text.parse(text)
    assert words.replace({}) == text
    assert all(not blank.strip() for blank in words.blanks)
    assert len(words.blanks) == len(words.tokens) + 1


WORDS = [
    ("Ann's cat isn't 3rd, says café B-2.", ["Ann's", "cat", "isn't", "says"]),
    ('The "old king" is here.', ["The", "is", "here"]),
    ("The “old king” is here.", ["The", "is", "here"]),
    ("A well-known dog of example.org.", ["A", "dog", "of"]),
]


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_words_exclude_parts_of_names_addresses_and_titles(text, words):
    parsed = Text.parse(text)
    assert [parsed.tokens[index] for index in parsed.words] == words


OPENINGS = [
    ("He left. They did not! It did? So.", ["He", "They", "It", "So"]),
    ('He left. "They" did not.', ["He", "They"]),
    ("He saw A.C. Milan. It rained in a U.S. city.", ["He", "It"]),
]


@pytest.mark.parametrize(("text", "opening"), OPENINGS)
def test_sentence_openings_are_found(text, opening):
    parsed = Text.parse(text)
    indices = [at for at, token in enumerate(parsed.tokens) if token[0].isalpha()]
    assert [parsed.tokens[at] for at in indices if parsed.opens_sentence(at)] == opening
