"""Exchanged roles and opposite words."""

import pytest

from infolm_metric.answer_check.contrasts import OPPOSITES, exchanges_roles, is_determiner, opposite
from infolm_metric.answer_check.tokens import answer_tokens, compare, reference_tokens
from tests.linear_time import assert_linear_time

EXCHANGED = [
    # statement, reference
    ("The fox chased the hound.", "The hound chased the fox"),
    ("Sparta fought against Athens in that war.", "Athens fought against Sparta"),
    ("Leeds was bought by Hull.", "Leeds bought Hull"),
    ("Hull bought Leeds.", "Leeds bought Hull"),
    ("They sailed from Cork to Bergen.", "from Bergen to Cork"),
    ("Hull lent the ship to Leeds.", "Leeds lent it to Hull"),
    ("Athens defeated by Sparta", "Sparta defeated by Athens"),
]
KEPT = [
    ("The hound chased the fox.", "The hound chased the fox"),
    ("The fox was chased by the hound.", "The hound chased the fox"),
    ("The hound chased the fox by night.", "The hound chased the fox"),
    ("Hull was bought by Leeds.", "Leeds bought Hull"),
    ("Cork and Bergen", "Bergen and Cork"),
    ("November 9, 1989", "9 November 1989"),
    ("Smith, John Adam", "John Adam Smith"),
    ("Leeds is smaller than Hull.", "Hull is larger than Leeds"),
    ("Bern has a library of the university.", "University of Bern"),
    ("It rains.", "Leeds bought Hull"),
]


@pytest.mark.parametrize(("statement", "reference"), EXCHANGED)
def test_exchanged_words_are_found(statement, reference):
    assert exchanges_roles(statement, reference_tokens(reference))


@pytest.mark.parametrize(("statement", "reference"), KEPT)
def test_other_orders_are_not_exchanges(statement, reference):
    assert not exchanges_roles(statement, reference_tokens(reference))


@pytest.mark.parametrize(
    ("answer", "reference", "word"),
    [
        ("the right lung", "the left lung", "left"),
        ("Her younger sister did.", "her older sister", "older"),
        ("a Tuesday in May", "a Tuesday in June", "June"),
        ("the lung on the right and on the left", "the left lung", ""),
        ("the lung", "the left lung", ""),
        ("east of the southeastern lake", "southern lake", ""),
    ],
)
def test_an_opposite_replaces_a_missing_word(answer, reference, word):
    tokens = answer_tokens(answer)
    assert opposite(tokens, compare(tokens, reference_tokens(reference))) == word


def test_no_word_belongs_to_two_groups():
    words = [word for group in OPPOSITES for word in group]
    assert len(words) == len(set(words)) and all(len(group) > 1 for group in OPPOSITES)


@pytest.mark.parametrize("part", ["fox chased ", "by ", "chased by ", "hound ", "north "])
def test_time_is_linear_in_the_length_of_hostile_texts(part):
    reference = reference_tokens("The hound chased the fox north")

    def work(length):
        text = part * (length // len(part))
        exchanges_roles(text, reference)
        tokens = answer_tokens(text)
        opposite(tokens, compare(tokens, reference))

    assert_linear_time(work, 2_000)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("There is no doubt: yes", True),
        ("Yes, and no permit is needed.", True),
        ("No, yes would be wrong.", False),
        ("Yes and no", False),
        ("There is no doubt: no", False),
        ("There is no doubt.", False),
    ],
)
def test_no_before_a_noun_is_not_an_answer(answer, expected):
    assert is_determiner(answer_tokens(answer), reference_tokens("No")) == expected
    assert not is_determiner(answer_tokens(answer), reference_tokens("no permit"))
