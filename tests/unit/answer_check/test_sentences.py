"""Tables of sentences: right and wrong answers by kind.

The first was written before the rules, and the others by two authors who did not know them.
"""

import csv
from collections import Counter
from pathlib import Path

import pytest

from infolm_metric.answer_check.final_answer import final_answer, plain_reference
from infolm_metric.answer_check.tokens import answer_tokens, compare, reference_tokens


def read_rows(name):
    table = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


NAMES = ("sentences.tsv", "unseen_sentences.tsv", "hard_sentences.tsv")
ROWS, *UNSEEN = map(read_rows, NAMES)


def recall(row):
    answer = answer_tokens(final_answer(row["answer"].replace("⏎", "\n")))
    references = map(plain_reference, row["references"].split(" ¦ "))
    return max(compare(answer, reference_tokens(text)).recall for text in references)


@pytest.mark.parametrize("rows", [ROWS, *UNSEEN], ids=NAMES)
def test_each_kind_has_at_least_five_right_and_five_wrong_answers(rows):
    counts = Counter((row["kind"], row["label"]) for row in rows)
    assert {label for _, label in counts} == {"right", "wrong"}
    assert len(rows) >= 180 and min(counts.values()) >= 5 and len(counts) % 2 == 0
    assert len({(row["answer"], row["references"]) for row in rows}) == len(rows)


@pytest.mark.parametrize("kind", ["letters", "numbers", "dates", "units", "symbols", "unicode"])
def test_tokens_alone_separate_right_and_wrong_answers(kind):
    rows = [row for row in ROWS if row["kind"] == kind]
    assert {(row["label"], recall(row) == 1) for row in rows} == {("right", True), ("wrong", False)}
