"""Values of answers: a table of answers, references and their comparison, and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.answer_check.formulas import MATH_VERSION, is_cheap
from infolm_metric.answer_check.values import Agreement, compare_values, is_copy
from tests.linear_time import assert_linear_time

M, C, X, N = Agreement.MATCH, Agreement.CONTAINED, Agreement.MISMATCH, Agreement.NONE
# Answer, reference, comparison.
VALUES = [
    ("12,645 million", "12645", M),
    ("645 million", "645", M),
    ("1.23 million", "1,234,567", M),
    ("14%", "0.14", M),
    ("0.6", "60%", M),
    ("60 percent", "0.6", M),
    ("14", "14%", M),
    ("15%", "14%", X),
    ("1.234,56", "1234.56", M),
    ("1,00,000", "100,000", M),
    ("1.234.567", "1,234,567", M),
    ("0,75", "0.75", M),
    ("10^6", "1,000,000", M),
    ("4.24 × 10⁻³", "4.2 × 10^-3", M),
    ("4.2e-3", "0.0042", M),
    (r"4.2 \times 10^{-3}", "4.2*10^(-3)", M),
    ("5 x 10^3", "5000", M),
    ("3/4", "0.75", M),
    ("7 over 24", "7/24", M),
    ("7 1/2", "7.5", M),
    ("2½", "2.5", M),
    (r"\frac{7}{24}", "7/24", M),
    ("3.14159", "3.14", M),
    ("386.4", "386.4158898", M),
    ("3.15", "3.14159", N),
    ("81-83", "81 to 83 years", M),
    ("from 1939 to 1945", "1939-1945", M),
    ("3:1", "3-1", M),
    ("5, 1", "1, 5", M),
    ("(7, 4)", "(4, 7)", X),
    ("May 3rd, 1998", "3 May 1998", M),
    ("4 May 1998", "3 May 1998", X),
    ("11/07/2018", "07/11/2018", X),
    ("The score was 2-4.", "4-2", X),
    ("in May 1998", "1998", M),
    ("in May 1998", "3 May 1998", N),
    ("1.2.4", "1.2.3", X),
    ("v1.2.3", "1.2.3", M),
    ("-5 °C", "−5 °C", M),
    ("5 °C", "-5 °C", X),
    ("minus five degrees Celsius", "-5 °C", M),
    ("20 °F", "20 °C", X),
    ("5 miles", "5 km", X),
    ("101 km", "100 km", N),
    ("17,200 m", "17.2 km", M),
    ("5", "5 km", M),
    ("0.5 mg", "500 μg", M),
    ("2 kilowatts", "2000 W", M),
    ("2 micrograms", "0.002 mg", M),
    ("2 centimeters", "20 millimeters", M),
    ("2 gigawatts", "2000 megawatts", M),
    ("5 mW", "5 MW", X),
    ("The enthalpy is -48 J/mol.", "-48 kJ/mol", X),
    ("0.0597 W/m^2", "0.06 watt/meter^2", M),
    ("2 kg m/s", "2 N*s", M),
    ("2 kg·m/s", "2 kg m/s", M),
    ("6 feet 1 inch", "6ft 1in", M),
    ("5 km (3 miles)", "3 km", X),
    ("BRCA1", "BRCA2", X),
    ("USB 2", "USB2", N),
    ("iPhone12", "iPhone13", X),
    ("15432", "1543", X),
    ("Co", "CO", N),
    ("OH-", "OH", X),
    ("p ∧ q", "p ∨ q", X),
    ("[2, 5)", "(2, 5]", X),
    ("√2", "2", X),
    ("f'(x)", "f(x)", X),
    ("6′", "6″", X),
    ("(b)", "B", M),
    ("The answer is d.", "D", M),
    ("Option C", "B", X),
    ("Norvik", "B", N),
    ("ninety-nine", "99", M),
    ("two million", "2,000,000", M),
    ("3.2k", "3200", M),
    ("$4.2bn", "4.2 billion", M),
    ("30 cents", "$0.30", M),
    ("€5", "$5", X),
    ("C$5", "US$5", X),
    ("100 megabytes", "100 megabits", X),
    ("3 days", "72 hours", M),
    ("94107 (or 94106)", "94107", C),
    ("We need 15 kg, but have 3 kg.", "12 kg", X),
    ("k = 3", "3", M),
    ("3", "k=3", M),
    ("18.8", "$18.8^{\\circ}$", M),
    ("85.71", "$\\frac{600}{7}$", M),
    ("Paris", "3", N),
    ("3:30 pm", "2:30 pm", X),
    ("Fe²⁺", "Fe2+", M),
    ("Fe3+", "Fe2+", X),
    ("It has 101 floors.", "102 floors", X),
    ("9" * 119 + "8", "9" * 120, X),
    ("five pounds", "£5", M),
    ("3 m/s", "3 m", X),
    ("16,3,1,1", "w=16, d=3, a=1, b=1", M),
]
# Formulas that need math-verify.
FORMULAS = [
    (r"\frac{9a+11}{20}", r"\frac{11+9a}{20}", M),
    (r"\frac{9a+8}{20}", r"\frac{11+9a}{20}", X),
    ("(3, 5, 2), (1, 7, 4)", "(1,7,4), (3, 5, 2)", M),
    ("Maximum = 2, Minimum = 1", "1, 2", M),
    (r"$\frac{9}{2}$", "7.5", X),
    (r"$[-2, 7]$", r"x \in [-2,7]", M),
    (r"\(\frac{3}{16\pi}\)", "0.06", M),
    ("f(n) = n^3", "$f(n)=n^{2}$", X),
    ("x^2+x+2=0", "x^2+x+1=0", N),  # neither has a real solution
    ("152.58 J K<sup>-1</sup> mol<sup>-1</sup>", "152.67 J K^-1 mol^-1", N),
    ("8.314 J/(mol·K)", "8.314 J K^-1 mol^-1", M),
]


@pytest.mark.parametrize(("answer", "reference", "expected"), VALUES)
def test_values_are_compared(answer, reference, expected):
    assert compare_values(answer, reference) == expected


@pytest.mark.skipif(MATH_VERSION is None, reason="math-verify is not installed")
@pytest.mark.parametrize(("answer", "reference", "expected"), FORMULAS)
def test_formulas_are_compared_by_math_verify(answer, reference, expected):
    assert compare_values(answer, reference) == expected


@pytest.mark.parametrize(
    "text",
    [
        "9^{9^{9^9}}",
        "100000!",
        r"\sum_{n=1}^{9} n",
        "x" * 400,
        "((((((((1))))))))",
        r"\dbinom{9}{4}",
    ]
    + [r"\cos(\exp(10^7))", r"\gamma(10^9)", r"\exp(9^9) \mod 7", "((((9^{99})^9)^9)^9)^9"],
)
def test_formulas_that_could_take_long_are_not_parsed(text):
    assert not is_cheap(text)
    assert compare_values(text, "3 x^2 + 1") in (X, N)


def test_undefined_formulas_have_no_value():
    assert compare_values("$x$", "0/0.}°}8e-^e9") in Agreement
    assert compare_values(r"\frac{0}{0}", "0.5") != M


@pytest.mark.parametrize(
    ("answer", "reference", "copy"),
    [
        ("paris.", "Paris", True),
        ("“Paris”", "Paris", True),
        ("x²", "x^2", True),
        ("H₂O", "H_2O", True),
        ("nato", "NATO", False),
        ("Co", "CO", False),
        ("__init__", "init", False),
        ("-5", "5", False),
        ("", "", True),
    ],
)
def test_copies_differ_at_most_in_outer_punctuation_form_and_case_of_words(answer, reference, copy):
    assert is_copy(answer, reference) == copy


TEXTS = st.lists(
    st.sampled_from([*"0123456789.,-/^ ()[]{}$×kMKgB%°²½='", "May ", "ten ", "million ", "km/h "]),
    max_size=40,
).map("".join)


@given(TEXTS, TEXTS)
def test_any_text_is_compared_and_agrees_with_itself(answer, reference):
    assert compare_values(answer, reference) in Agreement
    assert compare_values(answer, answer) != X


@pytest.mark.parametrize("reference", ["5 km", "x^2"])
@pytest.mark.parametrize("piece", ["1 ", "1.", "1/", "10^", "½", "a-1", "(1,", "\\frac{"])
def test_repeated_characters_take_linear_time(piece, reference):
    assert_linear_time(lambda size: compare_values(piece * (size // 4), reference), 2_000)
