"""`infolm compare --from`: outputs in logs of evaluation harnesses."""

import json
from pathlib import Path

import pytest

from infolm_metric.meta_evaluation import approximate_randomization
from tests.random_pairs import write_lines
from tests.toy import ToyScorer

QUESTIONS = [f"q{number}" for number in range(12)]


def write_log(name, outputs, **changes):
    """Write a log of lm-eval with the outputs of each question."""
    rows = [
        {"doc_id": number, "doc_hash": question, "target": f"It is {question} in the sun."}
        | {"resps": [texts], "filtered_resps": texts, "filter": "none"}
        | changes
        for number, (question, texts) in enumerate(outputs.items())
    ]
    write_lines(Path(name), rows)


@pytest.fixture(autouse=True)
def log_files(folder) -> None:
    """Write old.jsonl with one output per question, and new.jsonl with two outputs per question."""
    write_log("old.jsonl", {question: [f"It is {question} in"] for question in QUESTIONS})
    outputs = {question: [["It is", f"{question} in the sun"]] for question in QUESTIONS[2:]}
    write_log("new.jsonl", {"other": ["x"], **dict(reversed(outputs.items()))})


@pytest.fixture
def compare(infolm):
    """Function that compares logs with the toy metric and returns code, output and errors."""

    def run(*arguments, source="lm-eval"):
        options = ("--metric", "toy", "--size", "4", "--json")
        return infolm("compare", "--from", source, *arguments, *options)

    return run


def test_common_questions_are_compared_by_the_means_of_their_samples(compare):
    code, output, errors = compare("old.jsonl", "new.jsonl")
    assert code == 0 and "3 questions are not in all logs" in errors
    old, new = json.loads(output)["systems"]["toy"]
    scorer, common = ToyScorer(size=4), QUESTIONS[2:]
    references = [f"It is {question} in the sun." for question in common]

    def scores(*words):
        texts = [" ".join(words).format(question) for question in common]
        return scorer.score(texts, references)["scores"]

    expected = scores("It is {} in")
    parts = zip(scores("It is"), scores("{} in the sun"), strict=True)
    means = [(one + other) / 2 for one, other in parts]
    assert old["mean"] == pytest.approx(sum(expected) / 10)
    assert new["mean"] == pytest.approx(sum(means) / 10)
    p = approximate_randomization(means, expected, 1000)
    assert new["p_value"] == pytest.approx(p) and new["verdict"] is not None


def test_only_the_outputs_of_the_first_filter_are_read(compare):
    write_log("first.jsonl", {question: [f"It is {question}"] for question in QUESTIONS})
    with open("first.jsonl") as first, open("both.jsonl", "w") as both:
        for line in first:
            row = json.loads(line)
            other = {**row, "filter": "other", "filtered_resps": ["x"]}
            both.write(json.dumps(row) + "\n" + json.dumps(other) + "\n")
    old, new = json.loads(compare("first.jsonl", "both.jsonl")[1])["systems"]["toy"]
    assert old["mean"] == new["mean"] and new["p_value"] == 1


INVALID = [
    ({"target": 2}, "target must be a string, got 2"),
    ({"target": "Another reference."}, "has the references"),
    ({"target": None}, "no question with a reference in common"),
    ({"doc_hash": "x"}, "no question with a reference in common"),
    ({"filtered_resps": [1.5]}, "output must be a string, got 1.5"),
    ({"filtered_resps": []}, "no question"),
]


@pytest.mark.parametrize(("change", "problem"), INVALID)
def test_invalid_logs_are_rejected(compare, no_model, change, problem):
    write_log("bad.jsonl", {question: ["It is x"] for question in QUESTIONS}, **change)
    code, _, errors = compare("old.jsonl", "bad.jsonl")
    assert code == 2 and problem in errors and errors.count("\n") == 1


def test_references_are_required_unless_logs_contain_them(infolm, compare):
    code, _, errors = infolm("compare", "old.jsonl", "new.jsonl")
    assert code == 2 and "--references" in errors
    code, _, errors = compare("old.jsonl", "new.jsonl", "-r", "old.jsonl")
    assert code == 2 and "--from" in errors
    code, _, errors = compare("old.jsonl", "new.jsonl", source="lm_eval")
    assert code == 2 and "lm-eval" in errors
    Path("empty.jsonl").write_text("{}\n")
    code, _, errors = compare("old.jsonl", "empty.jsonl")
    assert code == 2 and "filtered_resps" in errors
