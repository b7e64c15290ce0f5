"""The twelve attacks: results on sentences, and properties that hold for every text."""

import json
import re
from collections import Counter
from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from infolm_metric import InputError
from infolm_metric.robustness import ATTACKS, attack
from infolm_metric.robustness.attacks import stable_hash
from infolm_metric.robustness.grammar import choose_article, find_tag, inflect
from infolm_metric.robustness.words import WORD_LISTS, Text

SEEDS = range(40)
TEXTS = [
    "Alan Bean was born in Wheeler, Texas and he spent 100 hours in the large city.",
    "The airport has a runway of 3,400 metres and serves an old town.",
    "She plays the piano for our famous orchestra.",
]
FILE = Path(__file__).with_name("attacks.jsonl")
# Attacked sentences with the result (null: not applicable) or the words that can change.
SENTENCES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
EXACT = [row for row in SENTENCES if "becomes" in row]
CHANGEABLE = [row for row in SENTENCES if "changes" in row]
VOCABULARY = "the old king is was not 12 1850 city Ann he her saw n't ."
words = st.lists(st.sampled_from(VOCABULARY.split()))


def outcomes(text, name):
    """Return the results of an attack on a text under several seeds."""
    return [outcome for seed in SEEDS if (outcome := attack(text, name, seed)) is not None]


def replaced_words(text, outcome):
    """Return the words of a text that an attack replaced, with their replacements."""
    pairs = zip(text.split(), outcome.split(), strict=True)
    return [(word, replacement) for word, replacement in pairs if word != replacement]


def changed_words(text, outcome, name):
    """Return the words that an attack changed, or for "add" the word before the addition."""
    words, outcome_words = (re.findall(r"\S*\w", sentence) for sentence in (text, outcome))
    if name == "add":
        pairs = enumerate(zip_longest(words, outcome_words))
        index = next(index for index, (word, replacement) in pairs if word != replacement)
        assert outcome_words[index] == "and"
        return {words[index - 1]}
    return {word for word, new in zip(words, outcome_words, strict=True) if word != new}


@pytest.mark.parametrize("row", EXACT, ids=lambda row: f"{row['attack']}: {row['text']}")
def test_attack_gives_the_expected_sentence(row):
    assert attack(row["text"], row["attack"]) == row["becomes"]


@pytest.mark.parametrize("row", CHANGEABLE, ids=lambda row: f"{row['attack']}: {row['text']}")
def test_only_unambiguous_words_are_changed(row):
    text, name = row["text"], row["attack"]
    changes = (changed_words(text, sentence, name) for sentence in outcomes(text, name))
    assert set().union(*changes) == set(row["changes"])


def test_attack_depends_only_on_text_name_and_seed():
    first = [attack(text, name, 3) for name in ATTACKS for text in TEXTS]
    second = [attack(text, name, 3) for name in reversed(ATTACKS) for text in reversed(TEXTS)]
    assert second == first[::-1]
    assert len({stable_hash(seed, name, "a") for seed in range(3) for name in ATTACKS}) == 36


@pytest.mark.parametrize("name", ATTACKS)
@given(text=words.map(" ".join))
@example("")
@example("?! 日本語です。")
@example("n't")
@example("N'T not")
@example("cannot not")
def test_attack_never_returns_the_text_itself_or_double_spaces(name, text):
    outcome = attack(text, name)
    assert outcome is None or text != outcome == re.sub(" +", " ", outcome.strip())


# Insertions and replacements


@pytest.mark.parametrize("text", ["It fell in the city.", "It fell in the cities."])
def test_add_appends_a_noun_of_the_same_number(text):
    sentences = outcomes(text, "add")
    nouns = re.findall(r"(?:city|cities) and (\w+)\.", " ".join(sentences))
    assert len(nouns) == len(sentences)
    assert {find_tag(noun, "NOUN") for noun in nouns} == {"NN" if "city" in text else "NNS"}


REPLACEMENTS = [
    ("noun", "It is an apple.", "NOUN", "nouns"),
    ("noun", "Ann has apples.", "NOUN", "nouns"),
    ("verb", "Ann wrote the book.", "VERB", "verbs"),
    ("verb", "It is located in it.", "VERB", "verbs"),
    ("verb", "She includes the book.", "VERB", "verbs"),
    ("adj", "It is an enormous town.", "ADJ", "adjectives"),
    ("adj", "It is the oldest town.", "ADJ", "adjectives"),
]


@pytest.mark.parametrize(("name", "text", "part", "pool"), REPLACEMENTS)
def test_replacement_is_inflected_and_its_article_agrees(name, text, part, pool):
    sentences = outcomes(text, name)
    assert len(set(sentences)) > 10
    for sentence in sentences:
        words, tokens = Text.parse(text).tokens, Text.parse(sentence).tokens
        indices = [index for index in range(len(words)) if words[index] != tokens[index]]
        (index,) = (index for index in indices if words[index] not in ("a", "an"))
        tag = find_tag(words[index], part)
        assert any(tokens[index] in inflect(lemma, tag)[:1] for lemma in WORD_LISTS[pool])
        if tokens[index - 1] in ("a", "an"):
            assert tokens[index - 1] == choose_article(tokens[index])


TAGS = {"nouns": ("NN", "NNS"), "verbs": ("VB", "VBZ", "VBG"), "adjectives": ("JJ",)}


@pytest.mark.parametrize("pool", TAGS)
def test_each_pool_has_150_distinct_words_that_can_be_inflected(pool):
    assert len(WORD_LISTS[pool]) == len(set(WORD_LISTS[pool])) == 150
    for word in WORD_LISTS[pool]:
        assert all(inflect(word, tag) for tag in TAGS[pool])
        assert pool != "verbs" or inflect(word, "VBD")[:1] == inflect(word, "VBN")[:1]
        assert pool != "nouns" or inflect(word, "NNS")[:1] != (word,)


def test_name_replaces_one_name_everywhere_with_another_of_the_same_gender():
    text = "Alan Bean met Mary. Alan's boat sank, and Mary’s too."
    names = set()
    for outcome in outcomes(text, "name"):
        pairs = replaced_words(text, outcome)
        ((name, alias),) = {tuple(re.split("['’.]", word)[0] for word in pair) for pair in pairs}
        assert len(pairs) == 2 and alias not in ("Alan", "Mary")
        assert alias in WORD_LISTS["male" if name == "Alan" else "female"]
        names.add(name)
    assert names == {"Alan", "Mary"} and not {*WORD_LISTS["male"]} & {*WORD_LISTS["female"]}


# Numbers


@given(st.lists(st.integers(0, 10**7).filter(lambda number: not 1000 <= number < 2100), min_size=1))
def test_num_replaces_every_number_with_one_of_equal_length(numbers):
    text = " ".join(f"{number:,}" for number in numbers)
    outcome = attack(text, "num")
    assert re.sub(r"\d", "0", outcome) == re.sub(r"\d", "0", text)
    pairs = replaced_words(text, outcome)
    assert len(pairs) == len(numbers)
    assert all(number[0] != "0" and number != "1" for _, number in pairs)
    assert len(dict(pairs)) == len(set(pairs))  # equal numbers have equal replacements


# Drop, jumble, typo


@given(st.integers(5, 60), st.integers(0, 10**6))
def test_drop_removes_up_to_a_fifth_of_the_words_including_a_content_word(count, seed):
    words = ["of" if index % 2 else f"w{index}" for index in range(count)]
    outcome = attack(" ".join(words), "drop", seed).split()
    assert 1 <= count - len(outcome) <= max(1, round(0.2 * count))
    assert not Counter(outcome) - Counter(words)
    content, rest = ([word for word in side if word != "of"] for side in (words, outcome))
    assert rest == [word for word in content if word in rest] != content


def test_drop_needs_five_words_and_removes_a_random_number():
    assert not outcomes("a b c d", "drop")
    assert not outcomes("of the and in to", "drop")
    counts = {200 - len(outcome.split()) for outcome in outcomes(" ".join(["w"] * 200), "drop")}
    assert min(counts) < 10 and max(counts) > 30


def test_jumble_keeps_the_words_and_needs_four_distinct_ones():
    for outcome in outcomes("a b c d a", "jumble"):
        assert outcome != "a b c d a"
        assert sorted(outcome.split()) == ["a", "a", "b", "c", "d"]
    assert len(set(outcomes("a b c d", "jumble"))) > 10
    assert not outcomes("a b c a b c", "jumble")


def test_typo_swaps_two_different_adjacent_letters_but_never_the_first():
    text = "In Rome noon is hot"
    words = set()
    for outcome in outcomes(text, "typo"):
        ((word, typo),) = replaced_words(text, outcome)
        first, second = (index for index in range(4) if word[index] != typo[index])
        assert 1 <= first == second - 1 and sorted(word) == sorted(typo)
        words.add(typo)
    assert words == {"Rmoe", "Roem", "nono"}
    assert not outcomes("It is hot in UK", "typo")
    assert not outcomes("Ooooo", "typo")


# Invalid arguments


INVALID = [
    (("A cat.", "nun"), "unknown attack 'nun'. Did you mean 'noun'"),
    ((None, "num"), "text"),
    (("A cat.", "num", -1), "seed"),
]


@pytest.mark.parametrize(("arguments", "message"), INVALID)
def test_invalid_arguments_are_rejected(arguments, message):
    with pytest.raises(InputError, match=message):
        attack(*arguments)
