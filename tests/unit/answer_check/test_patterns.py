"""Plain denials of a reference, and choices that include it."""

import re

import pytest

from infolm_metric import AnswerCheckScorer
from infolm_metric.answer_check.final_answer import final_answer, plain_text
from infolm_metric.answer_check.patterns import PATTERNS, find_denial
from infolm_metric.answer_check.verdict import LIKELY_CORRECT
from tests.linear_time import assert_linear_time

DENIED = [
    ("It isn't Canberra, it is Sydney.", "Canberra"),
    ("It is not the Rhine.", "the Rhine"),
    ("Canberra is wrong. It is Sydney.", "Canberra"),
    ("It is Canberra. That is false.", "Canberra"),
    ("Canberra didn't host it.", "Canberra"),
    ("Either Sydney or Canberra.", "Canberra"),
    ("Sydney, Canberra, or Perth", "Canberra"),
    ("It could be Sydney or Canberra.", "Canberra"),
    ("I can't tell whether it is Canberra.", "Canberra"),
    ("Canberra... no, wait, it is Sydney.", "Canberra"),
]
ASSERTED = [
    ("It is not Sydney, it is Canberra.", "Canberra"),
    ("Sydney or Canberra? It is Canberra.", "Canberra"),
    ("It is Canberra, not Sydney.", "Canberra"),
    ("I am not sure, but I think it is Canberra.", "Canberra"),
    ("Canberra not only hosts it, it owns it.", "Canberra"),
    ("It is C, neither C++ nor C#.", "C"),
    ("It is not legal.", "not legal"),
    ("He did not.", "no"),
]


@pytest.mark.parametrize(("answer", "reference"), DENIED + ASSERTED)
def test_denials_and_choices_are_found_but_no_assertions(answer, reference):
    statement = find_denial(final_answer(answer), plain_text(reference))
    assert statement in answer and (statement != "") == ((answer, reference) in DENIED)


def test_each_of_at_most_twelve_patterns_matches_its_example():
    assert len(PATTERNS) <= 12
    for pattern, example in PATTERNS:
        assert re.search(pattern, re.sub("[^X]+", lambda match: match[0].lower(), example))


@pytest.mark.filterwarnings("ignore:infolm")
def test_denied_references_are_never_likely_correct():
    answers, references = zip(*DENIED, strict=True)
    verdicts = AnswerCheckScorer().score(answers, references)["verdicts"]
    assert LIKELY_CORRECT not in verdicts


@pytest.mark.parametrize("part", ["x ", "x, ", "rome ", "rome, ", "or ", "not ", "some "])
def test_time_is_linear_in_the_length_of_hostile_texts(part):
    def work(length):
        find_denial(plain_text(part * (length // len(part))), plain_text("Rome"))
        find_denial(plain_text("Rome " + part * (length // len(part))), plain_text("Rome"))

    assert_linear_time(work, 2_000)
