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

FILE = Path(__file__).with_name("sentences.tsv")


@pytest.mark.filterwarnings("ignore:infolm")
def test_few_verdicts_on_the_first_table_are_wrong():
    lines = FILE.read_text(encoding="utf-8").splitlines()
    rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    answers = [row["answer"].replace("⏎", "\n") for row in rows]
    groups = [row["references"].split(" ¦ ") for row in rows]
    verdicts = AnswerCheckScorer().score(answers, groups)["verdicts"]
    counts = Counter((row["label"], word) for row, word in zip(rows, verdicts, strict=True))
    totals = Counter(row["label"] for row in rows)
    assert counts["wrong", LIKELY_CORRECT] <= 0.25 * totals["wrong"]
    assert counts["right", LIKELY_CORRECT] >= 0.75 * totals["right"]
    assert counts["right", LIKELY_WRONG] <= 0.03 * totals["right"]
