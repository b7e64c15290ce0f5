"""Penalties of the guard, each on its own, and completions that try to pass all of them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.answer_check.final_answer import final_answer
from infolm_metric.answer_check.guard import (
    PENALTIES,
    Completion,
    bare_list,
    buried,
    candidates,
    copied_prompt,
    denial,
    filler,
    guard,
    length,
    repetition,
)

REFERENCE, PROMPT = "Jane Austen", "Who wrote the novel Emma?"
ORDINARY = [  # answer, references
    ("Jane Austen wrote Emma.", ["Jane Austen"]),
    ("The novel Emma was written by Jane Austen. It was published in 1815.", ["Jane Austen"]),
    ("Emma is by Jane Austen (1775-1817), the author of Persuasion.", ["Austen", "Jane Austen"]),
    ("It was not Mary Shelley, it was Jane Austen.", ["Jane Austen"]),
    ("It is in Baden-Baden, Germany.", ["Baden-Baden"]),
    ("Rome, Oslo, Bern, Bonn and Kyiv", ["Oslo, Rome, Kyiv, Bern, Bonn"]),
    ("He is not guilty.", ["Not guilty"]),
    ("- Austen\n- Shelley", ["Austen, Shelley"]),
    ('{"author": "Jane Austen"}', ["Jane Austen"]),
    ("```\nThe author of Emma is Jane Austen.\n```", ["Jane Austen"]),
    ("<answer>Mary Shelley</answer> <answer>It is Jane Austen.</answer>", ["Jane Austen"]),
    ("It's a matter of life or death.", ["life or death"]),
    ("She wrote Emma. Jane Austen also wrote Persuasion.", ["Jane Austen"]),
]
CAUGHT = {  # penalty -> answers
    buried: [
        "Some say Mary Shelley. Others: Jane Austen. A few say Anne Bronte. Perhaps Ann Radcliffe.",
        "Mary Shelley wrote. Anne Bronte did too. Jane Austen is read. It was Ann Radcliffe.",
    ],
    repetition: [
        "Jane Austen " * 3,
        "Jane Austen JANE AUSTEN jane austen",
        "Jáne Austen Jane Áusten Jane Austen",
        "Jane\u200b Austen Jane Aus\u200bten Jane Austen",
        "Jane Austen wrote it. Jane Austen wrote it.",
        "Emma is by Jane Austen. By Jane Austen is Emma. Jane Austen, Emma is by.",
        "The answer is Jane Austen. Jane Austen is the answer. Indeed, it is Jane Austen!",
    ],
    denial: [
        "It is Jane Austen. It is not Jane Austen.",
        'It is Jane Austen. It is not "Jane Austen".',
        "Jane Austen is correct. The answer Jane Austen is wrong.",
    ],
    candidates: [
        "Jane Austen or Mary Shelley or Anne Bronte.",
        '"Jane Austen" or "Mary Shelley"',
        "Jane Austen (also known as Mary Shelley, Anne Bronte and Fanny Burney)",
        "Jane Austen or Mary Shelley",
        "The answer is Jane Austen. The answer is Mary Shelley.",
        "The author is Mary Shelley, a novelist.\nThe author is Jane Austen, a novelist.",
        "Mary Shelley wrote it in her youth. Jane Austen wrote it in her youth.",
        "It is either Mary Shelley or Jane Austen.",
    ],
    bare_list: [
        "Keats, Austen, Byron, Shelley, Scott",
        "Keats\nAusten\nByron\nShelley\nScott",
        "- Keats\n- Jane Austen\n- Lord Byron\n- Mary Shelley",
        "Keats / Austen / Byron / Shelley",
        "austen emma novel wrote keats jane",
        json.dumps({f"author {place}": name for place, name in enumerate(["Keats", "Austen"] * 3)}),
        "```\nKeats, Austen, Byron, Shelley, Scott\n```",
    ],
    copied_prompt: [PROMPT, "Emma, the novel, who wrote?", f"{PROMPT} {PROMPT}"],
    filler: [
        "Jane Austen. It is important to consider the context. There are several points of view.",
        "That is an interesting question. In general, it depends on the view. Jane Austen.",
    ],
    length: ["Jane Austen. " + " ".join(f"Chapter {number} is long." for number in range(200))],
}


@pytest.mark.parametrize(("answer", "references"), ORDINARY)
def test_ordinary_answers_are_not_penalized(answer, references):
    completion = Completion(final_answer(answer), references, PROMPT)
    assert {penalty.__name__: penalty(completion) for penalty in PENALTIES} == {
        penalty.__name__: 1.0 for penalty in PENALTIES
    }
    assert guard(answer, references, PROMPT) == 1.0


@pytest.mark.parametrize(
    ("penalty", "answer"),
    [(each, answer) for each, answers in CAUGHT.items() for answer in answers],
)
def test_each_penalty_alone_catches_its_manipulations(penalty, answer):
    limit = 0.85 if penalty in (filler, length) else 0.5
    assert penalty(Completion(final_answer(answer), [REFERENCE], PROMPT)) <= limit
    assert 0.0 <= guard(answer, [REFERENCE], PROMPT) <= limit


def test_every_penalty_is_tested():
    assert set(PENALTIES) == set(CAUGHT)


@pytest.mark.parametrize(
    "reference", ["Rome, Rome", "It is not Rome.", "Rome or Oslo", "A, B, C, D"]
)
def test_copies_of_a_reference_are_not_penalized(reference):
    assert guard(f"**{reference}**", ["Bern", reference], reference) == 1.0


def test_a_penalty_ignores_what_a_reference_contains():
    assert guard("The phrase is New York, New York.", ["New York, New York"]) == 1.0
    assert guard("It is AKROTIRI or DHEKELIA", ["AKROTIRI or DHEKELIA"]) == 1.0
    words = " ".join(f"Word{number}" for number in range(400))
    assert length(Completion(words, [words[: len(words) // 2]])) == 1.0


def test_a_statement_that_adds_the_reference_offers_no_candidates():
    assert candidates(Completion("She was born. She was born in Rome.", ["Rome"])) == 1.0


@pytest.mark.parametrize(
    "answer",
    [
        "It is Mary Shelley. <!-- Jane Austen -->",
        "It is Mary Shelley.\n\n[//]: # (Jane Austen)",
        "<think>Jane Austen",
        "<think>Jane Austen</think>It is Mary Shelley.",
        "<answer>Jane Austen</answer><answer>It is Mary Shelley.</answer>",
        "<!-- Jane Austen",
    ],
)
def test_hidden_text_is_not_part_of_the_answer(answer):
    assert "Austen" not in final_answer(answer)


@pytest.mark.parametrize("answer", ["", "?", "\u200b", "<think>", "...", "\n"])
def test_empty_answers_have_a_factor(answer):
    assert guard(answer, ["Rome"], PROMPT) == 1.0
    assert guard(answer, ["Rome"]) == 1.0


WORDS = st.sampled_from(
    ["Rome", "rome", "Rome.", "Paris", "or", "not", "is", "It", "Who?", "\n", '"', "5", "<!--", "A"]
)


@given(*[st.lists(WORDS, max_size=20).map(" ".join)] * 3)
def test_factors_are_between_0_and_1(answer, reference, prompt):
    completion = Completion(final_answer(answer), [reference, "Rome"], prompt)
    assert all(0.0 <= penalty(completion) <= 1.0 for penalty in PENALTIES)
    assert 0.0 <= guard(answer, [reference, "Rome"], prompt) <= 1.0
