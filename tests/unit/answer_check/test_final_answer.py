"""Reduction of an answer to the text that answers."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.answer_check.final_answer import final_answer, plain_text
from infolm_metric.core import inputs
from tests.linear_time import assert_linear_time

THINKING = [
    ("<think>Ares? No, Mars.</think>Mars", "Mars"),
    ("Ares? No, Mars.</think>\n\nMars", "Mars"),  # the prompt contained the opening tag
    ("<THINKING>a</THINKING> b <think>c</think> d", "d"),
    ("<reasoning>a</reasoning>\nb", "b"),
    ("[THINK]a[/THINK]b", "b"),
    ("<thought>a</thought>b", "b"),
    ("<seed:think>a</seed:think>b", "b"),
    ("<|begin_of_thought|>a<|end_of_thought|><|begin_of_solution|>b<|end_of_solution|>", "b"),
    ("<|START_THINKING|>a<|END_THINKING|>b", "b"),
    ("\u25c1think\u25b7a\u25c1/think\u25b7b", "b"),
    ("\n <think>Mars, I suppose, because", ""),
    ("<think>a</think><think>b", ""),
    ("I think <think> is a tag.", "I think <think> is a tag."),
    ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b", "b"),
    ("<|channel|>analysis<|message|>a", ""),
    ("So <answer>Mars</answer>.", "Mars"),
    ("<answer>Mars</answer> or <answer>Venus</answer>", "Venus"),
    ("<think><answer>Mars</answer></think>Venus", "Venus"),
    ("<answer>Mars", "Mars"),  # the closing tag was a stop sequence
]
MARKDOWN = [
    ("**Mars**, *the* ***red*** planet, _really_", "Mars, the red planet, really"),
    ("2*3*4, 2**3**4, a * b * c", "2*3*4, 2**3**4, a * b * c"),
    ("snake_case and __init and * and **", "snake_case and __init and * and **"),
    ("**P**aris 这是**重点**内容", "Paris 这是重点内容"),
    (r"\*not emphasis\*", "*not emphasis*"),
    ("# Title\n\n## C#", "Title\n\nC#"),
    ("#5 is alive", "#5 is alive"),
    ("- one\n* two\n+ three\n• four\n  - five", "one\ntwo\nthree\nfour\nfive"),
    ("-5 is negative", "-5 is negative"),
    ("1. one\n2) two", "one\ntwo"),
    ("7. That is the number of days.", "7. That is the number of days."),
    ("1986. Spring.\n1987. Fall.", "1986. Spring.\n1987. Fall."),
    ("> quoted\n> > twice", "quoted\ntwice"),
    ("> 5 and < 7", "> 5 and < 7"),  # a comparison
    ("|x| = |-x|", "|x| = |-x|"),
    ("[Lima](https://a.org/Lima_(Peru)) and ![a map](map.png \"Map\")", "Lima and a map"),
    ("[1] and f(x)", "[1] and f(x)"),
    ("Call `f(*a, **b)`.", "Call f(*a, **b)."),
    ("```python\na = b\n```\nd", "a = b\nd"),
    ("~~~\na\n~~~", "a"),
    ("+", "+"),  # marks alone are content
    ("**♥**", "♥"),
    ("<b>Mars</b> H<sub>2</sub>O x<sup>2</sup>", "Mars H2O x^2"),
]  # fmt: skip
LATEX = [
    (r"\boxed{96}", "96"),
    (r"$\boxed{\text{7 days}}$", "7 days"),
    (r"\boxed{\frac{1}{2}}", "1/2"),
    ("$5 and $10", "$5 and $10"),
    ("$x = 5$, $y$", "x = 5, y"),
    ("$a*b*c$ and $x_1 + x_2$", "a*b*c and x_1 + x_2"),
    (r"costs \$5 or 6\%", "costs $5 or 6%"),
    (r"\(x\) and \[y \leq 5\]", "x and y ≤ 5"),
    ("$$\nx\n$$", "x"),
    (r"$3\sqrt{5}$", "3√5"),
    (r"$37^\circ\text{C}$", "37°C"),
    (r"$12{,}500$ and $3\,000$", "12,500 and 3,000"),
    ("{1, 2}", "{1, 2}"),
]
UNICODE = [
    ("mc²", "mc^2"),
    ("10⁻⁵ and 2¹⁰", "10^\u22125 and 2^10"),
    ("1½ cups, 3\u20444", "1 1/2 cups, 3/4"),
    ("CO₂", "CO2"),
    ("１２ ｋｇ", "12 kg"),
    ("ﬁre … ℃", "fire ... °C"),
    (unicodedata.normalize("NFD", "Malmö"), "Malmö"),
    ("12\u202f500 and a\u00a0b", "12 500 and a b"),
    ("soft\u00adhyphen, zero\u200bwidth", "softhyphen, zerowidth"),
]


@pytest.mark.parametrize(("text", "expected"), THINKING + MARKDOWN + LATEX + UNICODE)
def test_an_answer_is_reduced_to_its_plain_text(text, expected):
    assert final_answer(text).plain == expected


@pytest.mark.parametrize(("text", "expected"), MARKDOWN + LATEX + UNICODE)
def test_references_lose_the_same_marks_as_answers(text, expected):
    assert plain_text(text).plain == expected


@pytest.mark.parametrize("text", [text for text, _ in THINKING])
def test_thinking_is_kept_on_request_and_in_references(text):
    assert final_answer(text, strip=False).plain == plain_text(text).plain
    assert "Mars" not in text or "Mars" in plain_text(text).plain


def test_texts_with_thinking_are_recognized():
    tagged = [text for text, _ in THINKING if "<answer>" not in text or "think" in text]
    assert [x for x in tagged if not inputs.THINKING.search(x)] == ["I think <think> is a tag."]
    assert not any(inputs.THINKING.search(text) for text, _ in MARKDOWN + LATEX + UNICODE)


@given(st.text(st.sampled_from("ab1 .,;()'\n"), max_size=40))
def test_plain_text_loses_only_space_around_it(text):
    lines = text.strip().splitlines()
    if not any(line[:1].isdigit() for line in map(str.strip, lines)):
        assert final_answer(text).plain.split() == text.split()


@given(st.text(max_size=60), st.sampled_from(["*", "**", "_", "`", "# ", "- "]))
def test_a_mark_adds_no_letters_or_digits(text, mark):
    marked = [letter for letter in plain_text(mark + text + mark).plain if letter.isalnum()]
    plain = unicodedata.normalize("NFKC", text)
    assert len(marked) <= len(unicodedata.normalize("NFKD", plain)) + text.count("⁄")


HOSTILE = (
    '* _ ** *a_ **a a*b <think> </think> <answer> $ $a $$ ~~a [ ]( [( [](a [a](b" ![a ` `a # > - | '
    "|- \\ { \\{ \\boxed{ \\frac{ \\text{a ( ¼ ² <|channel|> 1. <!-- <!---->"
)


@pytest.mark.parametrize("mark", [*HOSTILE.split(), " ", "\n", "> ", "- ", "1. ", "$ a", "|-\n"])
def test_time_is_linear_in_the_length_of_hostile_texts(mark):
    def work(length):
        marks = mark * (length // len(mark))
        for text in (marks, f"|-|\nx{marks}y", f"Answer: {marks}", f"{marks}>", f"$^{marks}x"):
            assert final_answer(text).plain is not None

    assert_linear_time(work, 5_000)


JSON = [
    ('{"why": "a", "answer": "[//]: # (a)\\nParis<!-- <b>Answer: a --> <!--\\n#### a"}', "Paris"),
    ('```json\n{"final_answer": 42}\n```', "42"),
    ('{"answer": "B", "why": "A is too small"}', "B"),
    ('{"answer": ["Elena Marsh", "Ida"]}', '["Elena Marsh", "Ida"]'),
    ('{"result": 1.5}', "1.5"),
    ('{"answer": ""}', ""),
    ('{"city": "Paris"}', '{"city": "Paris"}'),
    ('{"answer": {"city": "Zürich"}}', '{"city": "Zürich"}'),
    ('{"answer": "a\\ud800"}', '{"answer": "aud800"}'),
    ('{"answer": "Paris"', '{"answer": "Paris"'),
    ("[2, 5]", "[2, 5]"),
    ('{"a":' * 9999 + "1" + "}" * 9999, '{"a":' * 9999 + "1" + "}" * 9999),
]
MARKED = [
    ("We need 15 kg.\nAnswer: 12 kg", "12 kg"),
    ("**Final Answer:** Paris", "Paris"),
    ("The answer is: 5\nNo.\nThe final answer is: 6", "6"),
    (r"so \boxed{1}, hence $\boxed{\frac{1}{2}}$.", "1/2"),
    ("5 + 4 = 9\n#### 9", "9"),
    ("Answer: Rome\n\\boxed{Bari}", "Bari"),
    ("My answer: none of it was in my question", "none of it was in my question"),
    ("It is the right answer.", "It is the right answer."),
    ("#### Heading\nRome", "Heading"),
]


@pytest.mark.parametrize(("text", "expected"), JSON + MARKED)
def test_the_last_explicit_mark_decides(text, expected):
    assert final_answer(text).plain == expected


def test_the_source_of_an_answer_keeps_latex():
    text = final_answer(r"It is **big**: $\frac{1}{2}$")
    assert text.source == r"It is big: $\frac{1}{2}$" and text.plain == "It is big: 1/2"


def test_a_symbol_is_a_statement():
    assert final_answer("+").statements == ["+"] and final_answer(" ").statements == []
