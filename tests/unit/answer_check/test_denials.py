"""Denials, doubts and lists of candidates."""

import re

import pytest

from infolm_metric.answer_check.denials import (
    CHOICES,
    DENIALS,
    DOUBTS,
    find_denial,
    mark_mentions,
    offers_candidates,
)
from infolm_metric.answer_check.statements import split_statements
from infolm_metric.answer_check.tokens import reference_tokens
from tests.linear_time import assert_linear_time

DENIED = [  # in all of them, Leeds is the reference
    "It is often called Leeds, but it is Hull.",
    "The bridge was long thought to be in Leeds.",
    "I would have said Leeds.",
    "It is a myth that the bridge is in Leeds.",
    "While some maps show Leeds, the correct city is Hull.",
    "I expected Leeds; it turned out to be Hull.",
    "The city must not be confused with Leeds.",
    "Leeds used to be the seat, but now it is Hull.",
    "Leeds would be a wrong choice.",
    "Leeds. Oops, Hull.",
    "It is in Leeds. Actually, let me recheck: it is in Hull.",
    "The text mentions Leeds. The final answer is Hull.",
    "The document does not mention Leeds.",
    "I have no access to data on the city of Leeds.",
    "I would guess Hull, but it could well be Leeds.",
    "Maybe Leeds, although it is more likely Hull.",
    "It is hardly Leeds.",
    "It is neither York nor Leeds.",
    "Anywhere but Leeds.",
    "Leeds was my first thought, and Hull is right.",
    "Leeds is ruled out.",
    "It was almost Leeds, but it is Hull.",
    "I considered Leeds but chose Hull.",
    "Leeds did not build one; Hull did.",
    "It could be Leeds. It could also be Hull.",
    "Two authors claim Leeds, but this is disputed.",
    "It isn't Leeds. It is Hull.",
    "No, Leeds is wrong.",
    "It was Hull rather than Leeds.",
    "Hull, not Leeds, has the bridge.",
    "Leeds is not the answer.",
    "Leeds? No. Leeds is incorrect, as the bridge is in Hull.",
    "People often name Leeds, but that is a common mistake. It is Hull.",
    "The belief that the bridge is in Leeds is mistaken.",
    "The bridge is in Leeds. Wait, that river is in Hull.",
    "It is Leeds. That's not correct. It is Hull.",
    "It was never in Leeds.",
    "I don't know if it is Leeds.",
    "I cannot confirm that the bridge is in Leeds.",
    "It could be Leeds or another city.",
]
ASSERTED = [
    "It is often called Hull, but it is Leeds.",
    "I would have said Hull. It turned out to be Leeds.",
    "It is a myth that the bridge is in Hull, it is in Leeds.",
    "Leeds turned out to be the seat.",
    "The city, not to be confused with Hull, is Leeds.",
    "The text mentions Hull. The final answer is Leeds.",
    "It is Leeds. Therefore, the bridge is in England.",
    "The document does not mention Hull but Leeds.",
    "It could be Leeds.",
    "It is Leeds; the correct spelling has two letters e.",
    "It is Leeds. The answer is supported by the map.",
    "It is (B) Leeds. Answer: B",
    "Leeds. Let me check the others: Hull is wrong.",
    "Leeds. Edit: a typo.",
    "I have no information about the year, but the bridge is in Leeds.",
    "Nowhere other than in Leeds.",
    "Leeds did not build a tunnel but a bridge.",
    "It is most likely Leeds.",
    "Leeds is the correct answer, and the right spelling.",
    "Not Hull but Leeds has the bridge.",
    "Leeds, not Hull, has the bridge.",
    "It is Leeds rather than Hull.",
    "It isn't Hull. It is Leeds.",
    "Is it Hull? No, it is Leeds.",
    "It isn't only Leeds that has a bridge.",
    "It is not Leeds in summer. In winter it is Leeds.",
    "Hull is wrong. The bridge is in Leeds.",
    "Leeds. Hull is a common mistake.",
    "I cannot see a map, but the bridge is in Leeds.",
    "I said Hull. Correction: the bridge is in Leeds.",
    "There is no doubt that it is Leeds.",
    "I believe it is Leeds.",
    "Leeds is not far from the sea.",
    "Hull has the bridge.",
]
CANDIDATES = [
    "Hull or Leeds.",
    "Leeds and/or Hull",
    "Some say Leeds, others say Hull.",
    "Answer: Hull, Leeds, York",
    "Leeds; Hull; York; Bath",
    "Hull\nLeeds\nYork",
    "It is either Hull or Leeds.",
    "Hull, Leeds or York.",
    "Leeds, Hull, York, or Bath.",
    "It might be Hull or Leeds.",
    "Hull / Leeds / York",
    "Possible answers: Hull, Leeds, York",
    "One of these:\nHull\nLeeds\nYork",
]
CHOSEN = [
    "Leeds, Yorkshire, England",
    "It is Leeds, not Hull or York.",
    "Many call it Loidis; Leeds is what others say.",
    "The city: Leeds",
    "Many say that Leeds has another bridge.",
    "Hull has a bridge.\nLeeds has a canal.\nYork has a wall.",
    "Leeds or Hull? It is Leeds.",
    "Of Hull, York or Leeds, the answer is Leeds.",
    "The cities are Hull, Leeds and York.",
    "Leeds, or Loidis, is a city.",
    "In 1207, or 1208, Leeds became a town.",
    "Leeds is a city, which has a river or canal.",
]


@pytest.mark.parametrize("rule", DENIALS + DOUBTS + CHOICES, ids=lambda rule: rule.example)
def test_each_rule_matches_its_example_and_not_the_bare_reference(rule):
    text = mark_mentions(rule.example.replace("X", "Leeds"), reference_tokens("Leeds"))
    assert re.search(rule.pattern, text)
    assert not re.search(rule.pattern, "X") and not re.search(rule.pattern, "it is X.")


@pytest.mark.parametrize("answer", DENIED)
def test_denials_and_doubts_are_found(answer):
    statements = split_statements(answer)
    assert find_denial(statements, "Leeds") in statements


@pytest.mark.parametrize("answer", ASSERTED + CHOSEN)
def test_asserted_references_are_not_denied(answer):
    assert find_denial(split_statements(answer), "Leeds") is None


@pytest.mark.parametrize("answer", CANDIDATES)
def test_several_candidates_without_a_choice_are_found(answer):
    assert offers_candidates(split_statements(answer), ["Leeds"])


@pytest.mark.parametrize("answer", CHOSEN + ASSERTED)
def test_a_choice_is_not_a_list_of_candidates(answer):
    assert not offers_candidates(split_statements(answer), ["Leeds"])


def test_references_with_a_negation_or_a_choice_are_never_denied():
    assert find_denial(["It is not guilty."], "not guilty") is None
    assert not offers_candidates(["It is either tea or coffee."], ["tea or coffee"])


@pytest.mark.parametrize(
    ("statement", "reference", "expected"),
    [
        ("Lake Tana, not Lake Baikal", "Lake Baikal", "lake tana, not X"),
        ("It isn't the U.S.", "the US", "it isn't the X"),
        ("On May 3rd, 1999", "3 May 1999", "on X"),
        ("Smith said so.", "John Smith", "X said so."),
        ("She said so.", "John Smith", "she said so."),
    ],
)
def test_mentions_are_the_fullest_runs_of_tokens(statement, reference, expected):
    assert mark_mentions(statement, reference_tokens(reference)) == expected


PARTS = [
    "often said ",
    "would have said ",
    "false that a ",
    "Leeds, the correct ",
    "Leeds, it ",
    "used to be ",
    "does not mention ",
    "or could be ",
    "some ",
    "Leeds but ",
    "Leeds; ",
]
PARTS += [
    "Leeds ",
    "Leeds. ",
    "not ",
    "a / ",
    "Hull, ",
    "first Leeds but ",
    "possible ",
    "a",
    "or ",
]


@pytest.mark.parametrize("part", [*PARTS, "could be ", "either a or ", "claim ", "Leeds / "])
def test_time_is_linear_in_the_length_of_hostile_texts(part):
    def work(length):
        statements = split_statements(part * (length // len(part)) + "Leeds")
        find_denial(statements, "Leeds")
        offers_candidates(statements, ["Leeds"])

    assert_linear_time(work, 2_000)
