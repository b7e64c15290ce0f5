"""The table of sentences: right and wrong answers by kind, written before the rules."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from infolm_metric.answer_check.final_answer import final_answer, plain_reference
from infolm_metric.answer_check.tokens import answer_tokens, compare, reference_tokens

TABLE = (Path(__file__).parent / "sentences.tsv").read_text(encoding="utf-8").splitlines()
ROWS = list(csv.DictReader(TABLE, delimiter="\t", quoting=csv.QUOTE_NONE))


def recall(row):
    answer = answer_tokens(final_answer(row["answer"].replace("⏎", "\n")))
    references = map(plain_reference, row["references"].split(" ¦ "))
    return max(compare(answer, reference_tokens(text)).recall for text in references)


def test_the_table_has_at_least_five_right_and_five_wrong_answers_of_each_kind():
    counts = Counter((row["kind"], row["label"]) for row in ROWS)
    assert {label for _, label in counts} == {"right", "wrong"}
    assert len(ROWS) >= 180 and min(counts.values()) >= 5 and len(counts) % 2 == 0
    assert len({(row["answer"], row["references"]) for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("kind", ["letters", "numbers", "dates", "units", "symbols", "unicode"])
def test_tokens_alone_separate_right_and_wrong_answers(kind):
    rows = [row for row in ROWS if row["kind"] == kind]
    assert {(row["label"], recall(row) == 1) for row in rows} == {("right", True), ("wrong", False)}
