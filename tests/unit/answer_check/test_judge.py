"""Comparison of an answer with its references: vetoes, and what they mean for other references."""

import pytest

from infolm_metric.answer_check.final_answer import final_answer, plain_text
from infolm_metric.answer_check.judge import compare, find_mentions, spread_vetoes

ENTAILED, CONTRADICTED, NEUTRAL = (0.9, 0.1, 0.0), (0.0, 0.1, 0.9), (0.1, 0.8, 0.1)


def whole(text, hypothesis):
    return [text.plain]


def judged(answer, reference, probabilities=ENTAILED):
    """Compare two texts, with an NLI model that always gives the same probabilities."""
    table = {}
    comparison = compare(final_answer(answer), plain_text(reference), whole, table)
    table.update(dict.fromkeys(comparison.queries, probabilities))
    return comparison


def test_a_short_reference_is_judged_with_the_answer_and_its_mentions():
    item = judged("Rome is old. Oslo is cold. Oslo is green.", "Oslo")
    asked = [premise for premise, _ in item.queries]
    assert asked == [item.answer.plain, "Oslo is cold.", "Oslo is green."]
    assert len(item.complete) == 1 and len(item.mentions) == 2 and not item.correct


def test_a_long_reference_is_judged_in_both_directions():
    item = judged("Rome is old. Oslo is cold.", "It rained. It snowed. It froze.")
    assert len(item.complete) == 3 and len(item.correct) == 2 and not item.mentions


def test_mentions_contain_the_most_words():
    answer, reference = final_answer("Anna ran. Anna Berg ran. It was."), plain_text("Anna Berg")
    assert find_mentions(answer, reference) == ["Anna Berg ran."]
    assert find_mentions(answer, plain_text("Lima")) == []


VETOES = [
    ("It is 6 km.", "5 km", ENTAILED, "value"),
    ("It is not Rome.", "Rome", ENTAILED, "denies"),
    ("The lake has zero salt.", "salt", CONTRADICTED, "contradicts"),
    ("Anna Holm ran.", "Anna Berg", CONTRADICTED, None),  # not all words
    ("The lake has some salt.", "salt", NEUTRAL, None),
]


@pytest.mark.parametrize(("answer", "reference", "probabilities", "reason"), VETOES)
def test_values_denials_and_contradictions_are_vetoes(answer, reference, probabilities, reason):
    veto = judged(answer, reference, probabilities).veto
    assert reason in veto if reason else not veto


SPREAD = [  # answer, references, veto against the last one
    ("Louis Armstrong", ["Neil Armstrong", "Armstrong"], True),
    ("It was Louis Armstrong.", ["Neil Armstrong", "Armstrong"], True),
    ("Armstrong said it.", ["Neil Armstrong", "Armstrong"], False),
    ("Neil Armstrong", ["Neil Armstrong", "Armstrong"], False),
    ("It was on 4 May 1990.", ["3 May 1990", "May 1990"], True),
    ("It was in May 1990.", ["Rome", "May 1990"], False),
    ("It is not Lake Como.", ["Lake Como", "Como"], True),
]


@pytest.mark.parametrize(("answer", "references", "expected"), SPREAD)
def test_what_speaks_against_a_longer_reference_counts_against_its_aliases(
    answer, references, expected
):
    comparisons = [judged(answer, reference, NEUTRAL) for reference in references]
    assert bool(spread_vetoes(comparisons)[-1].veto) is expected
