"""Penalties of the guard, each on its own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.answer_check.final_answer import final_answer, plain_text
from infolm_metric.answer_check.guard import candidates, copied_prompt, guard, length, repetition

REFERENCE, PROMPT = "Jane Austen", "Who wrote the novel Emma?"
ORDINARY = [  # answer, references
    ("The novel Emma was written by Jane Austen. It was published in 1815.", ["Jane Austen"]),
    ("Emma is by Jane Austen (1775-1817), the author of Persuasion.", ["Austen", "Jane Austen"]),
    ("It was not Mary Shelley, it was Jane Austen.", ["Jane Austen"]),
    ("Rome, Oslo, Bern, Bonn and Kyiv", ["Oslo, Rome, Kyiv, Bern, Bonn"]),
    ("```\nThe author of Emma is Jane Austen.\n```", ["Jane Austen"]),
    ("<answer>Mary Shelley</answer> <answer>It is Jane Austen.</answer>", ["Jane Austen"]),
    ("She wrote Emma. Jane Austen also wrote Persuasion.", ["Jane Austen"]),
    ("Jane Austen wrote, Jane Austen published.", ["Jane Austen"]),
]
CAUGHT = {
    "repetition": [
        *("Jane Austen " * 3, "Austen Austen"),
        "Jane Austen JANE AUSTEN jane austen",
        "Jane\u200b Austen Jane Aus\u200bten Jane Austen",
        "Jane Austen wrote it. Jane Austen wrote it.",
        "Emma is by Jane Austen. By Jane Austen is Emma. Jane Austen, Emma is by.",
    ],
    "candidates": [
        '"Jane Austen" or "Mary Shelley" or "Ann Radcliffe"',
        "The answer is Jane Austen. The answer is Mary Shelley.",
        "Mary Shelley wrote it in her youth. Jane Austen wrote it in her youth.",
        "Keats, Austen, Byron, Shelley, Scott",
        "- Keats\n- Jane Austen\n- Lord Byron\n- Mary Shelley",
        '{"author 1": "Keats", "author 2": "Jane Austen", "author 3": "Byron", "author 4": "Poe"}',
    ],
    "copied_prompt": [PROMPT, "Emma, the novel, who wrote?", f"{PROMPT} {PROMPT}"],
    "length": ["Jane Austen. " + " ".join(f"Chapter {number} is long." for number in range(250))],
}


def factors(answer, references, prompt=PROMPT):
    text, expected = final_answer(answer), list(map(plain_text, references))
    return {
        "repetition": repetition(text, expected),
        "candidates": candidates(text, expected),
        "copied_prompt": copied_prompt(text, prompt),
        "length": length(text, expected),
    }


@pytest.mark.parametrize(("answer", "references"), ORDINARY)
def test_ordinary_answers_are_not_penalized(answer, references):
    assert factors(answer, references) == dict.fromkeys(CAUGHT, 1.0)
    assert guard(answer, references, PROMPT) == 1.0


@pytest.mark.parametrize(
    ("penalty", "answer"),
    [(name, answer) for name, answers in CAUGHT.items() for answer in answers],
)
def test_each_penalty_alone_catches_its_manipulations(penalty, answer):
    assert factors(answer, [REFERENCE])[penalty] <= 0.55
    assert 0.0 <= guard(answer, [REFERENCE], PROMPT) <= 0.55


@pytest.mark.parametrize(
    "reference", ["Rome, Rome", "It is not Rome.", "Rome or Oslo", "A, B, C, D"]
)
def test_copies_of_a_reference_are_not_penalized(reference):
    assert guard(f"**{reference}**", ["Bern", reference], reference) == 1.0


def test_a_penalty_ignores_what_a_reference_contains():
    assert guard("The phrase is New York, New York.", ["New York, New York"]) == 1.0
    words = " ".join(f"Word{number}" for number in range(400))
    assert length(plain_text(words), [plain_text(words[: len(words) // 2])]) == 1.0


@pytest.mark.parametrize("answer", ["", "?", "\u200b", "<think>", "...", "\n"])
def test_empty_answers_have_a_factor(answer):
    assert guard(answer, ["Rome"], PROMPT) == 1.0
    assert guard(answer, ["Rome"]) == 1.0


WORDS = st.sampled_from(
    ["Rome", "rome", "Rome.", "Paris", "or", "not", "is", "It", "Who?", "\n", '"', "5", "<!--", "A"]
)


@given(*[st.lists(WORDS, max_size=20).map(" ".join)] * 3)
def test_factors_are_between_0_and_1(answer, reference, prompt):
    values = factors(answer, [reference, "Rome"], prompt).values()
    assert all(0.0 <= value <= 1.0 for value in values)
