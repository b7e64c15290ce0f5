"""The settings of MENLI: what is refused, and what a combination inherits."""

from pathlib import Path

import pytest

import infolm_metric
from infolm_metric.infolm.settings import Settings as InfoLM
from infolm_metric.menli.settings import Settings

BASELINE = Path(infolm_metric.__file__).parent / "bundled/infolm_baseline.json"


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"nli_weight": 1.5}, ValueError, "nli_weight must lie between 0, .* 1, .* got 1.5; the"),
        ({"nli_weight": "0.5"}, TypeError, "nli_weight must be a number, got '0.5'"),
        (
            {"nli_weight": 0.3},
            ValueError,
            "there is none, got 0.3; give combine_with, too, or leave nli_weight out",
        ),
        ({"direction": "ah"}, ValueError, "unknown direction 'ah'; known: 'avg', 'rh', 'hr'"),
        ({"multi_reference": "min"}, ValueError, "unknown multi_reference 'min'; known: 'max'"),
        ({"long_text": "window"}, ValueError, "unknown long_text 'window'; known: 'truncate'"),
        ({"combine_with": "bleu"}, ValueError, "unknown combine_with 'bleu'; known: 'infolm'"),
        ({"combine_with": "menli"}, ValueError, "unknown combine_with 'menli'; known: 'infolm'"),
        ({"combine_with": [0.5]}, TypeError, r"combine_with must be 'infolm' or .* got \[0.5\]"),
        ({"combine_with": Settings()}, TypeError, "combine_with must be 'infolm' or"),
        (
            {"combine_with": InfoLM(information_measure=["l1", "l2"])},
            ValueError,
            "combine_with must be a metric with one score, got l1_distance, l2_distance",
        ),
        ({"combine_with": "infolm", "combine_baseline": "no"}, ValueError, "there is no file 'no'"),
        ({"combine_with": "infolm", "combine_baseline": True}, TypeError, "the path of a baseline"),
        ({"combine_baseline": BASELINE}, ValueError, "combine_baseline is for a combination"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_value_and_a_remedy(given, error, message):
    with pytest.raises(error, match=message):
        Settings.of(**given)


def test_another_metric_runs_as_this_one_does(monkeypatch):
    monkeypatch.setenv("INFOLM_MODEL", "bundled")
    settings = Settings(combine_with="infolm", device="cpu", dtype="bfloat16", batch_size=3)
    assert settings.model_name_or_path == "microsoft/deberta-large-mnli"
    other = settings.other
    assert (other.metric, other.model_name_or_path) == ("infolm", "bundled")
    assert (other.device, other.dtype, other.batch_size) == ("cpu", "bfloat16", 3)
    assert other.long_text == "truncate"
    assert settings.replace(long_text="error").other.long_text == "error"


def test_beside_the_bundled_model_another_metric_uses_its_own_bundled_one(monkeypatch):
    monkeypatch.setenv("INFOLM_NLI_MODEL", "bundled")
    for name in ("infolm", "baryscore"):
        assert Settings(combine_with=name).other.model_name_or_path == "bundled"
    own = InfoLM(model_name_or_path="mine", dtype="float16")
    assert Settings(combine_with=own).other == own  # taken as it is


def test_what_belongs_to_a_combination_is_signed_only_there():
    assert not {"nli_weight", "combine_baseline", "combine_with"} & Settings().signed().keys()
    assert Settings(combine_with="infolm").signed()["nli_weight"] == 0.2
