"""Signatures: format, parsing, differences, and files of earlier versions."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infolm_metric.core.signature import Signature
from infolm_metric.metrics import METRICS, find

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


@given(FIELDS, st.sets(NAMES))
def test_short_signature_keeps_what_differs_from_the_defaults(fields, defaults):
    versions = {"infolm": "1.0", "transformers": "5.0", "torch": "2.0"}
    signature = Signature({**fields, **versions}, defaults)
    expected = {name: word for name, word in fields.items() if name not in defaults}
    copies = signature, pickle.loads(pickle.dumps(signature)), copy.copy(signature)
    for other in (*copies, signature.with_fields({"new": 1}).without(["new"])):
        assert other.short().fields == {**expected, "infolm": "1.0"}
    assert Signature.parse(signature).short().fields == {**fields, "infolm": "1.0"}


BUNDLED = {"model_name_or_path": "bundled"}
CHANGED = [
    ("infolm", {"information_measure": "kl", "symmetrize": "jensen"}, "symmetrize:jensen"),
    ("infolm", {"masking": "none", "temperature": 2}, "temperature:2.0|masking:none"),
    ("infolm", {"idf": False, "max_length": 64}, "max_length:64"),
    ("baryscore", {"layers": 2, "long_text": "window"}, "layers:last2"),
    ("menli", {"task": "summary"}, "formula:e-c|direction:hr"),
    ("answer_check", {"strip_thinking": False}, "strip_thinking:no"),
    ("answer_check", {"thresholds": (0.25, 0.75)}, "thresholds:(0.25, 0.75)"),
    ("menli", {"combine_with": "infolm"}, "infolm.idf:no"),
    ("menli", {"combine_with": find("infolm").settings_type()(**BUNDLED)}, "combine_with:infolm"),
]


@pytest.mark.parametrize(("metric", "changed", "words"), CHANGED)
def test_short_signature_of_a_scorer_names_every_changed_setting(metric, changed, words):
    scorer = find(metric).scorer_type()(**BUNDLED)
    default, short = (scorer.signature(**values).short() for values in ({}, changed))
    assert f"|{words}|" in short and words not in default
    assert set(default.fields.items()) < set(short.fields.items())


@pytest.mark.parametrize("metric", ["infolm", "baryscore", "menli", "answer_check"])
def test_short_signature_with_default_settings_contains_the_model_and_the_version(metric):
    signature = METRICS[metric].scorer_type()(**BUNDLED).signature()
    assert list(signature.short().fields) == ["metric", "model", "infolm"]
    assert len(signature.short()) < 70 and "@sha256:" in signature.short()
