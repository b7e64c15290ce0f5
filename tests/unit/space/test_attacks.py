"""The tab that attacks references, without a browser."""

import pytest

from infolm_metric.metrics import METRICS
from space.page import limits
from space.page.attacks import EXAMPLE, attack_references, items_of


def test_the_example_is_attacked_and_every_metric_says_what_it_notices():
    rows = attack_references(EXAMPLE)
    assert {"num", "neg", "name", "jumble"} <= {row[0] for row in rows}
    for _, reference, attacked, *noticed in rows:
        assert reference in EXAMPLE and attacked != reference
        assert len(noticed) == len(METRICS)
        assert all(words[0] in "✓~✗" for words in noticed)


def test_lines_that_stand_together_are_one_item():
    assert [item.references for item in items_of("\n a \na\nb\n\n\nc")] == [("a", "b"), ("c",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no reference yet; write one per line"),
        ("...", "no attack applies to these references"),
        ("\n".join(f"text {number}" for number in range(11)), "at most 10 are taken here"),
        ("A cat.\nA cat.\n\n" + "word " * 70, "line 4 of the references has 72 tokens"),
        ("\n\n" + "x" * (limits.CHARACTERS + 1), "line 3 of the references has 1,001 characters"),
        ("word " * 70, "line 1 of the references has 72 tokens, and at most"),
        ("x" * (limits.CHARACTERS + 1), "line 1 of the references has 1,001 characters"),
    ],
)
def test_what_cannot_be_attacked_is_told(text, message):
    with pytest.raises(ValueError, match=message):
        attack_references(text)
