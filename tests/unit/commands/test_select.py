"""`infolm select`: a choice for each row, what it is made of, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.toy import ToyScorer

ROWS = [
    {"id": "a", "candidates": ["the cat sat", "the cat sits", "rain"]},
    {"id": "b", "candidates": ["alone"], "more": 1},
]


def write(rows, name="samples.jsonl"):
    Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_each_row_is_written_with_the_choice_of_the_scorer(infolm):
    write(ROWS)
    code, output, errors = infolm("select", "samples.jsonl", "--metric", "toy", "--size", 2)
    assert code == 0, errors
    chosen = [ToyScorer(size=2).select(row["candidates"]) for row in ROWS]
    expected = [{**row, "selected": text} for row, text in zip(ROWS, chosen, strict=True)]
    assert [json.loads(line) for line in output.splitlines()] == expected
    assert chosen[1] == "alone" and chosen[0].startswith("the cat")
    write([{"samples": ["b", "ab", "ab"]}])
    more = ("--candidates-column", "samples", "-o", "chosen.jsonl")
    assert infolm("select", "samples.jsonl", "--metric", "toy", *more)[:2] == (0, "")
    assert json.loads(Path("chosen.jsonl").read_text())["selected"] == "ab"


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([], "no rows"),
        ([{"texts": ["a"]}], "no column 'candidates'"),
        ([{"candidates": []}], "give candidates"),
        ([{"candidates": "a"}], "bare string"),
        ([{"candidates": ["a", None]}], "line 1: 'candidates'[1]"),
    ],
)
def test_what_is_no_list_of_candidates_is_refused(infolm, rows, word):
    write(rows)
    code, _, errors = infolm("select", "samples.jsonl", "--metric", "toy")
    assert code == 2 and word in errors
