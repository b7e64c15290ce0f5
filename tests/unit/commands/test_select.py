"""`infolm select`: the selected candidate of each row, and invalid input."""

import json
from pathlib import Path

import pytest

from tests.random_pairs import write_lines
from tests.toy import ToyScorer

ROWS = [
    {"id": "a", "candidates": ["the cat sat", "the cat sits", "rain"]},
    {"id": "b", "candidates": ["alone"], "more": 1},
]


def test_each_row_is_written_with_the_selected_candidate(infolm_output):
    write_lines(Path("samples.jsonl"), ROWS)
    output = infolm_output("select", "samples.jsonl", "--metric", "toy", "--size", 2)
    choices = [ToyScorer(size=2).select(row["candidates"]) for row in ROWS]
    expected = [{**row, "selected": text} for row, text in zip(ROWS, choices, strict=True)]
    assert [json.loads(line) for line in output.splitlines()] == expected
    assert choices[1] == "alone" and choices[0].startswith("the cat")
    write_lines(Path("samples.jsonl"), [{"samples": ["b", "ab", "ab"]}])
    options = ("--candidates-column", "samples", "-o", "chosen.jsonl")
    assert infolm_output("select", "samples.jsonl", "--metric", "toy", *options) == ""
    assert json.loads(Path("chosen.jsonl").read_text())["selected"] == "ab"


INVALID = [
    ([{"texts": ["a"]}], "no column 'candidates'"),
    ([{"candidates": []}], "line 1: 'candidates' is empty. Pass"),
    ([{"candidates": ["a"], "selected": "kept"}], "column 'selected' already exists"),
    ([], "has no rows"),
    ([{"candidates": "a"}], "must be a list of strings, got the string 'a'"),
    ([{"candidates": ["a", None]}], "line 1: 'candidates'[1]"),
]


@pytest.mark.parametrize(("rows", "word"), INVALID)
def test_invalid_candidates_are_rejected(infolm_error, rows, word):
    write_lines(Path("samples.jsonl"), rows)
    assert word in infolm_error("select", "samples.jsonl", "--metric", "toy")
