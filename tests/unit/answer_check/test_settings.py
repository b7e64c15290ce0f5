"""Settings of answer_check."""

import pytest

from infolm_metric import InputError
from infolm_metric.answer_check.settings import AnswerCheckSettings

INVALID = [
    ({"thresholds": (0.7, 0.3)}, r"thresholds must be two numbers .* got \(0.7, 0.3\)"),
    ({"thresholds": (0.1, 0.2, 0.3)}, "thresholds must be two numbers"),
    ({"thresholds": (0.2, 1.5)}, "thresholds must be two numbers from 0 to 1"),
    ({"thresholds": (float("nan"), 0.5)}, r"thresholds\[0\] must be a finite"),
    ({"thresholds": 0.5}, "thresholds must be"),
    ({"thresholds": "low,high"}, "thresholds must be two numbers"),
    ({"score": "recall"}, "unknown score 'recall'. Known: 'answer_check'"),
    ({"strip_thinking": "yes"}, "strip_thinking must be"),
    ({"multi_reference": "mean"}, "unknown multi_reference 'mean'. Known: 'max'"),
    ({"long_text": "window"}, "unknown long_text 'window'"),
    ({"labels": "entailment,neutral"}, "^labels must"),
    ({"combine_with": "bertscore"}, "combine_with"),
]


@pytest.mark.parametrize(("values", "word"), INVALID)
def test_invalid_settings_are_rejected_with_their_value(values, word):
    with pytest.raises(InputError, match=word):
        AnswerCheckSettings.of(**values)


@pytest.mark.parametrize("pair", [(0, 1), (0.5, 0.5), [0.3, 0.6], "0.3, 0.6"])
def test_thresholds_may_be_equal_at_the_bounds_or_text(pair):
    expected = (0.3, 0.6) if isinstance(pair, str) else tuple(pair)
    assert AnswerCheckSettings.of(thresholds=pair).thresholds == expected


def test_the_default_model_is_bundled_whatever_the_environment_contains(monkeypatch):
    monkeypatch.setenv("INFOLM_NLI_MODEL", "mine")
    monkeypatch.setenv("INFOLM_MODEL", "mine")
    assert AnswerCheckSettings().model_name_or_path == "bundled"
