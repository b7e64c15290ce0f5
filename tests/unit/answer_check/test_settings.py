"""Settings of answer_check."""

import pytest

from infolm_metric import InputError
from infolm_metric.answer_check.settings import SCORES, AnswerCheckSettings

INVALID = [
    ({"thresholds": (0.7, 0.3)}, r"thresholds must be two numbers .* got \(0.7, 0.3\)"),
    ({"thresholds": (0.5,)}, "thresholds must be two numbers"),
    ({"thresholds": (0.1, 0.2, 0.3)}, "thresholds must be two numbers"),
    ({"thresholds": (-0.1, 0.5)}, "thresholds must be two numbers from 0 to 1"),
    ({"thresholds": (0.2, 1.5)}, "thresholds must be two numbers from 0 to 1"),
    ({"thresholds": (float("nan"), 0.5)}, r"thresholds\[0\] must be finite"),
    ({"thresholds": (True, True)}, r"thresholds\[0\] must be a number"),
    ({"thresholds": 0.5}, "thresholds must be"),
    ({"thresholds": "0.6,0.3"}, "thresholds must be two numbers .* got '0.6,0.3'"),
    ({"thresholds": "0.6"}, "thresholds must be two numbers"),
    ({"thresholds": "low,high"}, "thresholds must be two numbers"),
    ({"thresholds": "nan,0.5"}, "thresholds must be two numbers"),
    ({"score": "recall"}, "unknown score 'recall'. Known: 'answer_check'"),
    ({"strip_thinking": "yes"}, "strip_thinking must be"),
    ({"multi_reference": "mean"}, "unknown multi_reference 'mean'. Known: 'max'"),
    ({"long_text": "window"}, "unknown long_text 'window'"),
    ({"labels": "entailment,neutral"}, "^labels must"),
    ({"idf": False}, "idf"),
    ({"formula": "e"}, "formula"),
    ({"combine_with": "bertscore"}, "combine_with"),
]


@pytest.mark.parametrize(("values", "word"), INVALID)
def test_invalid_settings_are_rejected_with_their_value(values, word):
    with pytest.raises(InputError, match=word):
        AnswerCheckSettings.of(**values)


@pytest.mark.parametrize("pair", [(0, 1), (0.5, 0.5), [0.3, 0.6]])
def test_thresholds_may_be_equal_and_reach_the_bounds(pair):
    assert AnswerCheckSettings.of(thresholds=pair).thresholds == tuple(pair)


def test_thresholds_can_be_written_in_a_command():
    assert AnswerCheckSettings(thresholds="0.3, 0.6") == AnswerCheckSettings(thresholds=(0.3, 0.6))


def test_the_default_model_is_bundled_whatever_the_environment_contains(monkeypatch):
    monkeypatch.setenv("INFOLM_NLI_MODEL", "mine")
    monkeypatch.setenv("INFOLM_MODEL", "mine")
    assert AnswerCheckSettings().model_name_or_path == "bundled"


def test_scores_are_selected_by_name():
    assert AnswerCheckSettings().names == ("answer_check",)
    assert AnswerCheckSettings(score=list(SCORES)).names == SCORES


@pytest.mark.parametrize("change", [{"strip_thinking": False}, {"thresholds": (0.3, 0.6)}])
def test_the_signature_contains_the_thresholds_and_whether_thinking_is_stripped(change):
    plain, changed = (AnswerCheckSettings(**x).signature_fields() for x in ({}, change))
    (name,) = change
    assert name in plain and plain[name] != changed[name]
    assert {**plain, name: None} == {**changed, name: None}
