"""Tables of sentences: right and wrong answers by kind, which are used for measuring only.

The author of the first table knew the rules of version 0.5.0, and the authors of the others did
not know any rules.
"""

import csv
from collections import Counter
from pathlib import Path

import pytest

from infolm_metric import AnswerCheckScorer
from infolm_metric.answer_check.verdict import LIKELY_CORRECT, LIKELY_WRONG

NAMES = ("sentences.tsv", "unseen_sentences.tsv", "hard_sentences.tsv")


def read_rows(name):
    table = (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.mark.parametrize("name", NAMES)
def test_each_kind_has_at_least_five_right_and_five_wrong_answers(name):
    rows = read_rows(name)
    counts = Counter((row["kind"], row["label"]) for row in rows)
    assert {label for _, label in counts} == {"right", "wrong"}
    assert len(rows) >= 180 and min(counts.values()) >= 5 and len(counts) % 2 == 0
    assert len({(row["answer"], row["references"]) for row in rows}) == len(rows)


@pytest.mark.filterwarnings("ignore:infolm")
def test_few_verdicts_on_the_first_table_are_wrong():
    rows = read_rows(NAMES[0])
    answers = [row["answer"].replace("⏎", "\n") for row in rows]
    groups = [row["references"].split(" ¦ ") for row in rows]
    verdicts = AnswerCheckScorer().score(answers, groups)["verdicts"]
    counts = Counter((row["label"], word) for row, word in zip(rows, verdicts, strict=True))
    totals = Counter(row["label"] for row in rows)
    assert counts["wrong", LIKELY_CORRECT] <= 0.25 * totals["wrong"]
    assert counts["right", LIKELY_CORRECT] >= 0.75 * totals["right"]
    assert counts["right", LIKELY_WRONG] <= 0.03 * totals["right"]
