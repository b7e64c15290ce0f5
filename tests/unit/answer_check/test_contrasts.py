"""Exchanged roles and opposite words."""

import pytest

from infolm_metric.answer_check.contrasts import (
    OPPOSITES,
    exchanges_names,
    exchanges_roles,
    fails,
    is_determiner,
    longer_name,
    opposite,
    other_person,
    polarity,
    raised_unit,
    split_name,
)
from infolm_metric.answer_check.tokens import answer_tokens, compare, reference_tokens
from tests.linear_time import assert_linear_time

EXCHANGED = [
    # statement, reference
    ("The fox chased the hound.", "The hound chased the fox"),
    ("Sparta fought against Athens in that war.", "Athens fought against Sparta"),
    ("Leeds was bought by Hull.", "Leeds bought Hull"),
    ("Hull bought Leeds.", "Leeds bought Hull"),
    ("They sailed from Cork to Bergen.", "from Bergen to Cork"),
    (
        "Cold water loses more oxygen than warm water.",
        "Warm water loses more oxygen than cold water",
    ),
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


@pytest.mark.parametrize(
    ("answer", "reference", "word"),
    [
        ("in New York", "York", "New"),
        ("in East Germany's capital", "Germany", "East"),
        ("the Democratic Republic of the Congo", "Republic of the Congo", "Democratic"),
        ("in the south of Africa", "Africa", ""),
        ("New York", "New York", ""),
        ("Jaws II", "Jaws", "II"),
        ("Jaws and Jaws II", "Jaws", ""),
        ("Guinea-Bissau", "Guinea", "Bissau"),
        ("Quebec City", "Quebec", "City"),
        ("New York City", "New York", ""),
        ("New York or York", "York", ""),
        ("a new Peugeot", "Peugeot", ""),
    ],
)
def test_a_qualifier_makes_another_name(answer, reference, word):
    assert longer_name(answer_tokens(answer), reference_tokens(reference)) == word


@pytest.mark.parametrize(
    ("answer", "reference", "word"),
    [
        ("Michelle Obama", "Barack Obama", "Barack"),
        ("Manchester City won.", "Manchester United", "United"),
        ("George W. Bush", "George H. W. Bush", "H. W."),
        ("President Obama", "Barack Obama", ""),
        ("Barry Obama", "Barack Obama", ""),  # perhaps a short form
        ("B. Obama", "Barack Obama", ""),
        ("Obama", "Barack Obama", ""),
        ("the Electoral College", "U.S. Electoral College", ""),
        ("a bigger city", "the city of York", ""),
    ],
)
def test_another_part_of_a_name_is_found(answer, reference, word):
    tokens = answer_tokens(answer)
    assert other_person(tokens, compare(tokens, reference_tokens(reference))) == word


@pytest.mark.parametrize(
    ("answer", "reference", "word"),
    [
        ("in the south of Africa", "South Africa", "South"),
        ("in South Africa", "South Africa", ""),
        ("Korea (South)", "South Korea", ""),
        ("in Africa", "South Africa", ""),
        ("in the south of Africa", "south Africa", ""),
        ("the south", "South Africa", ""),
    ],
)
def test_separated_names_are_found(answer, reference, word):
    assert split_name(answer_tokens(answer), reference_tokens(reference)) == word


@pytest.mark.parametrize(
    ("answer", "reference", "unit"),
    [("12 cm^2", "12 cm", "cm"), ("12 cm", "12 cm", ""), ("12 cm^2", "12 cm^2", "")],
)
def test_exponents_make_other_units(answer, reference, unit):
    assert raised_unit(answer_tokens(answer), reference_tokens(reference)) == unit


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Yes, it is.", "yes"),
        ("That is false, it cannot be seen.", "no"),
        ("This is a common myth.", "no"),
        ("Correct.", "yes"),
        ("Absolutely, it is safe.", "yes"),
        ("Certainly! It is flat.", ""),
        ("Definitely not, it is toxic.", "no"),
        ("There is no evidence that it works.", "no"),
        ("Yes or no.", ""),
        ("They are not in the same place.", ""),
    ],
)
def test_polarity_is_what_the_answer_says_in_any_words(answer, expected):
    assert polarity([answer]) == expected


@pytest.mark.parametrize(
    ("statement", "reference", "expected"),
    [
        ("The pump fails to raise water.", "The pump raises water", True),
        ("The pump never raised water.", "The pump raised water", True),
        ("The pump raises water.", "The pump raises water", False),
        ("The pump fails to raise water.", "The pump does not raise water", False),
        ("It never left Leeds.", "Leeds", False),
    ],
)
def test_statements_that_something_fails(statement, reference, expected):
    assert fails(statement, reference_tokens(reference)) == expected


def test_a_comparison_may_be_turned_around():
    answer = answer_tokens("The moon is smaller than the earth.")
    reference = reference_tokens("The earth is larger than the moon")
    assert opposite(answer, compare(answer, reference)) == ""
    swapped = answer_tokens("The earth is smaller than the moon.")
    assert opposite(swapped, compare(swapped, reference)) == "larger"


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("Old Hull bought Leeds Ltd.", True),
        ("In 1901, Old Hull took over Leeds Ltd for nothing.", True),
        ("Leeds Ltd was purchased by Old Hull.", True),
        ("Leeds Ltd took over Old Hull.", False),
        ("Old Hull was purchased by Leeds Ltd.", False),
        ("Old Hull was sold to Leeds Ltd.", False),
        ("Old Hull lost to Leeds Ltd.", False),
        ("Old Hull and Leeds Ltd grew.", False),
        ("Old Hull grew.", False),
    ],
)
def test_names_are_exchanged_around_any_verb(statement, expected):
    assert exchanges_names(statement, reference_tokens("Leeds Ltd bought Old Hull")) is expected


@pytest.mark.parametrize(
    "reference", ["Leeds lost to Hull", "Leeds", "the big city of Leeds", "beat Leeds Hull"]
)
def test_other_references_have_no_names_to_exchange(reference):
    assert not exchanges_names("Hull beat Leeds.", reference_tokens(reference))
