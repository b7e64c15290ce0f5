"""Signatures: format, parsing, differences, and files of earlier versions."""

import copy
import pickle

from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.core.signature import Signature

NAMES = st.text("abcxyz.", min_size=1, max_size=4)
FIELDS = st.dictionaries(NAMES, st.text("12ab:|%7C5é", max_size=5), min_size=1, max_size=4)


@given(FIELDS)
def test_parsing_restores_the_fields_of_a_signature(fields):
    signature = Signature(fields)
    assert Signature.parse(signature).fields == fields
    assert signature.count("|") == len(fields) - 1
    for other in (copy.deepcopy(signature), pickle.loads(pickle.dumps(signature))):
        assert other == signature and other.fields == fields


def test_values_are_formatted_in_full_and_false_and_none_as_words():
    signature = Signature({"a": 1 / 3, "b": False, "c": None, "d": True, "e": "a|b%"})
    assert signature == f"a:{1 / 3!r}|b:no|c:none|d:True|e:a%7Cb%25"


@given(FIELDS, FIELDS)
def test_differences_list_every_changed_field(then, now):
    old, new = Signature(then), Signature(now)
    changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    assert old.differences(new) == "; ".join(
        f"{name} is {now.get(name, 'unset')} instead of {then.get(name, 'unset')}"
        for name in changed
    )
    assert old.without(changed).differences(new.without(changed)) == ""


@given(FIELDS, st.sampled_from(["", "a", "nothing"]))
def test_fields_are_inserted_before_a_field_or_appended(fields, before):
    names = list(Signature(fields).with_fields({"new": 1}, before).fields)
    assert [name for name in names if name != "new"] == list(fields)
    assert names.index("new") == (names.index(before) - 1 if before in fields else len(fields))


def test_a_prefix_marks_the_fields_of_a_combined_metric():
    signature = Signature({"idf": False, "a.b": 1}).prefixed("infolm")
    assert signature == {"infolm.idf": "no", "infolm.a.b": "1"}
