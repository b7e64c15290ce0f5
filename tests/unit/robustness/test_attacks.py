"""The twelve attacks: what they do to sentences, and what holds of every text."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from infolm_metric.robustness import ATTACKS, attack
from infolm_metric.robustness.attacks import number_of
from infolm_metric.robustness.grammar import article_for, forms, inflected, tag_of
from infolm_metric.robustness.words import WORDS, Text

SEEDS = range(40)
TEXTS = [
    "Alan Bean was born in Wheeler, Texas and he spent 100 hours in the large city.",
    "The airport has a runway of 3,400 metres and serves an old town.",
    "She plays the piano for our famous orchestra.",
]
SENTENCES = [
    json.loads(line)
    for line in Path(__file__).with_name("attacks.jsonl").read_text(encoding="utf-8").splitlines()
]
"""What an attack makes of a sentence, null for nothing, or which of its words it ever changes."""
SURE = [row for row in SENTENCES if "becomes" in row]
DRAWN = [row for row in SENTENCES if "changes" in row]
SAID = "the old king is was not 12 1850 city Ann he her saw n't ."
words = st.lists(st.sampled_from(SAID.split()))


def outcomes(text, name):
    """What an attack makes of a text under several seeds."""
    return [made for seed in SEEDS if (made := attack(text, name, seed)) is not None]


def changes(text, made, name):
    """The words of a text that are others in what was made of it; of "add" what came before."""
    old, new = (re.findall(r"\S*\w", each) for each in (text, made))
    if name == "add":
        place = next(at for at, word in enumerate(new) if at == len(old) or word != old[at])
        assert new[place] == "and"
        return {old[place - 1]}
    return {word for word, other in zip(old, new, strict=True) if word != other}


@pytest.mark.parametrize("row", SURE, ids=lambda row: f"{row['attack']}: {row['text']}")
def test_a_sentence_becomes_what_the_rule_says(row):
    assert attack(row["text"], row["attack"]) == row["becomes"]


@pytest.mark.parametrize("row", DRAWN, ids=lambda row: f"{row['attack']}: {row['text']}")
def test_only_words_that_are_sure_are_ever_changed(row):
    made = outcomes(row["text"], row["attack"])
    changed = set().union(*(changes(row["text"], each, row["attack"]) for each in made))
    assert changed == set(row["changes"])


def test_an_attack_depends_on_nothing_but_text_name_and_seed():
    first = [attack(text, name, 3) for name in ATTACKS for text in TEXTS]
    again = [attack(text, name, 3) for name in reversed(ATTACKS) for text in reversed(TEXTS)]
    assert again == first[::-1]
    assert len({number_of(seed, name, "a") for seed in range(3) for name in ATTACKS}) == 36


@pytest.mark.parametrize("name", ATTACKS)
@given(text=words.map(" ".join))
@example("")
@example("?! 日本語です。")
@example("n't")
@example("N'T not")
@example("cannot not")
def test_no_attack_fails_gives_the_text_itself_or_leaves_two_blanks(name, text):
    made = attack(text, name)
    assert made is None or (made != text and "  " not in made and made == made.strip())


# What is put in.


@pytest.mark.parametrize("text", ["It fell in the city.", "It fell in the cities."])
def test_add_puts_a_noun_of_the_same_number_after_a_noun(text):
    tags = {
        tag_of(re.search(r"(?:city|cities) and (\w+)\.", made)[1], "NOUN")
        for made in outcomes(text, "add")
    }
    assert tags == {"NN" if "city" in text else "NNS"}


@pytest.mark.parametrize(
    ("name", "text", "part", "pool"),
    [
        ("noun", "It is an apple.", "NOUN", "nouns"),
        ("noun", "Ann has apples.", "NOUN", "nouns"),
        ("verb", "Ann wrote the book.", "VERB", "verbs"),
        ("verb", "It is located in it.", "VERB", "verbs"),
        ("verb", "She includes the book.", "VERB", "verbs"),
        ("adj", "It is an enormous town.", "ADJ", "adjectives"),
        ("adj", "It is the oldest town.", "ADJ", "adjectives"),
    ],
)
def test_a_word_is_replaced_by_one_of_the_pool_in_its_form_and_the_article_repaired(
    name, text, part, pool
):
    made = outcomes(text, name)
    assert len(set(made)) > 10
    for other in made:
        old, new = Text.of(text).tokens, Text.of(other).tokens
        places = [at for at in range(len(old)) if old[at] != new[at] and old[at] not in ("a", "an")]
        (place,) = places
        tag = tag_of(old[place], part)
        assert new[place] in {inflected(lemma, part, tag) for lemma in WORDS[pool]}
        if new[place - 1] in ("a", "an"):
            assert new[place - 1] == article_for(new[place])


def test_a_word_is_never_drawn_for_itself():
    made = {attack("It is a tiny town.", "adj", seed) for seed in range(400)}
    assert len(made) > 100 and None not in made


@pytest.mark.parametrize(
    ("pool", "part"), [("nouns", "NOUN"), ("verbs", "VERB"), ("adjectives", "ADJ")]
)
def test_a_pool_has_150_different_words_that_can_be_inflected(pool, part):
    assert len(WORDS[pool]) == len(set(WORDS[pool])) == 150
    for word in WORDS[pool]:
        found = forms(word, part)
        assert {"NOUN": {"NN", "NNS"}, "ADJ": {"JJ"}}.get(part, {"VB", "VBZ", "VBG"}) <= set(found)
        if part == "VERB":
            assert inflected(word, part, "VBD") == inflected(word, part, "VBN")
        if part == "NOUN":
            assert inflected(word, part, "NNS") != word


def test_name_calls_one_person_by_another_name_of_the_same_gender_everywhere():
    text = "Alan Bean met Mary. Alan's boat sank, and Mary’s too."
    seen = set()
    for made in outcomes(text, "name"):
        pairs = zip(text.split(), made.split(), strict=True)
        changed = {
            tuple(re.split("['’.]", word)[0] for word in pair)
            for pair in pairs
            if pair[0] != pair[1]
        }
        ((old, new),) = changed
        assert (
            sum(word != other for word, other in zip(text.split(), made.split(), strict=True)) == 2
        )
        assert new in WORDS["male" if old == "Alan" else "female"] and new not in ("Alan", "Mary")
        seen.add(old)
    assert seen == {"Alan", "Mary"} and not {*WORDS["male"]} & {*WORDS["female"]}


# Numbers.


@given(st.lists(st.integers(0, 10**7).filter(lambda number: not 1000 <= number < 2100), min_size=1))
def test_num_changes_every_number_to_one_of_as_many_digits(numbers):
    text = " ".join(f"{number:,}" for number in numbers)
    made = attack(text, "num")
    assert re.sub(r"\d", "0", made) == re.sub(r"\d", "0", text)
    pairs = list(zip(text.split(), made.split(), strict=True))
    assert all(old != new and new[0] != "0" and new != "1" for old, new in pairs)
    assert len(dict(pairs)) == len(set(pairs))  # the same number becomes the same


# Drop, jumble, typo.


@given(st.integers(5, 60), st.integers(0, 10**6))
def test_drop_leaves_out_up_to_a_fifth_of_the_words_and_one_that_says_something(count, seed):
    words = ["of" if place % 2 else f"w{place}" for place in range(count)]
    kept = attack(" ".join(words), "drop", seed).split()
    assert 1 <= count - len(kept) <= max(1, round(0.2 * count))
    left_out = Counter(words) - Counter(kept)
    assert not Counter(kept) - Counter(words)
    assert set(left_out) - {"of"}
    assert [word for word in kept if word != "of"] == [
        word for word in words if word in {*kept} - {"of"}
    ]


def test_drop_needs_five_words_and_drops_as_many_as_it_draws():
    assert not outcomes("a b c d", "drop")
    assert not outcomes("of the and in to", "drop")
    dropped = {200 - len(made.split()) for made in outcomes(" ".join(["w"] * 200), "drop")}
    assert min(dropped) < 10 and max(dropped) > 30


def test_jumble_keeps_the_words_and_needs_four_different_ones():
    for made in outcomes("a b c d a", "jumble"):
        assert made != "a b c d a"
        assert sorted(made.split()) == ["a", "a", "b", "c", "d"]
    assert len(set(outcomes("a b c d", "jumble"))) > 10
    assert not outcomes("a b c a b c", "jumble")


def test_typo_swaps_two_different_neighbours_but_never_the_first_letter():
    text = "In Rome noon is hot"
    words = set()
    for made in outcomes(text, "typo"):
        ((old, new),) = [
            pair for pair in zip(text.split(), made.split(), strict=True) if pair[0] != pair[1]
        ]
        places = [place for place in range(4) if old[place] != new[place]]
        assert len(places) == 2 and places[0] >= 1 and places[1] == places[0] + 1
        assert sorted(old) == sorted(new)
        words.add(new)
    assert words == {"Rmoe", "Roem", "nono"}
    assert not outcomes("It is hot in UK", "typo")
    assert not outcomes("Ooooo", "typo")


# The table.


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("A cat.", "nun"), ValueError, "unknown attack 'nun'; did you mean 'noun'"),
        ((None, "num"), TypeError, "text"),
        (("A cat.", "num", -1), ValueError, "seed"),
        (("A cat.", "num", "x"), TypeError, "seed"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        attack(*arguments)
