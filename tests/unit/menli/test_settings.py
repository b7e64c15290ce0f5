"""The settings of MENLI: what is refused, and what a combination inherits."""

import pytest

from infolm_metric.menli.combination import Ranges
from infolm_metric.menli.settings import Settings


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
        ({"normalize": "min"}, ValueError, "unknown normalize 'min'; did you mean 'minmax'"),
        ({"normalize": 3}, TypeError, "normalize must be 'fixed', 'minmax', or ranges .* got 3"),
        ({"normalize": {}}, ValueError, "must hold ranges of 'nli' and of 'metric', got nothing"),
        ({"normalize": {"n": (0, 1)}}, ValueError, "of 'nli' and of 'metric', got 'n'"),
        ({"normalize": {"nli": (1, 0)}}, ValueError, r"normalize\['nli'\] .* with low <= high"),
        ({"normalize": {"nli": [0]}}, TypeError, r"normalize\['nli'\] must be \(low, high\)"),
        ({"normalize": "{nli"}, ValueError, "normalize is not the JSON it begins like"),
        (
            {"combine_with": "bleu"},
            ValueError,
            "combine_with must name a metric, got 'bleu'; known",
        ),
        ({"combine_with": "menli"}, ValueError, "combine_with must be another metric than menli"),
        ({"combine_with": 0.5}, TypeError, "combine_with must be the name of a metric, .* got 0.5"),
        ({"combine_with": [0.5, "x"]}, TypeError, r"combine_with\[1\] must be a number, got 'x'"),
        ({"combine_with": [float("nan")]}, ValueError, r"combine_with\[0\] must be finite"),
        ({"combine_with": [0.5]}, ValueError, 'whose range is not known; give normalize="minmax"'),
        (
            {"combine_with": [0.5], "normalize": {"nli": (0, 1)}},
            ValueError,
            "normalize has no range for the scores of combine_with",
        ),
        (
            {"combine_with": {"metric": "infolm", "temprature": 1}},
            TypeError,
            "unknown setting 'temprature'; did you mean 'temperature'",
        ),
        (
            {"combine_with": {"metric": "infolm", "information_measure": ["l1", "l2"]}},
            ValueError,
            "combine_with must be a metric with one score, got l1_distance, l2_distance",
        ),
        (
            {"combine_with": "infolm", "formula": ["e", "-c"], "normalize": {"nli": (0, 1)}},
            ValueError,
            "normalize has a range for one formula, got the formulas e, -c",
        ),
    ],
)
def test_a_wrong_setting_is_refused_with_its_value_and_a_remedy(given, error, message):
    with pytest.raises(error, match=message):
        Settings.of(**given)


def test_another_metric_runs_as_this_one_does(monkeypatch):
    monkeypatch.setenv("INFOLM_MODEL", "bundled")
    settings = Settings(combine_with="infolm", device="cpu", dtype="bfloat16", batch_size=3)
    monkeypatch.delenv("INFOLM_MODEL")
    again = settings.replace(formula="e-c")  # the environment was read once
    assert again.model_name_or_path == "microsoft/deberta-large-mnli"
    other = again.other
    assert (other.metric, other.model_name_or_path) == ("infolm", "bundled")
    assert (other.device, other.dtype, other.batch_size) == ("cpu", "bfloat16", 3)
    assert other.long_text == "truncate"
    assert settings.replace(long_text="error").other.long_text == "error"


def test_beside_the_bundled_model_another_metric_uses_its_own_bundled_one(monkeypatch):
    monkeypatch.setenv("INFOLM_NLI_MODEL", "bundled")
    for name in ("infolm", "baryscore"):
        assert Settings(combine_with=name).other.model_name_or_path == "bundled"
    own = Settings(combine_with={"metric": "infolm", "model_name_or_path": "mine"})
    assert own.other.model_name_or_path == "mine"


def test_what_belongs_to_a_combination_is_signed_only_there():
    plain = Settings(normalize="minmax").signed()
    assert not {"nli_weight", "normalize", "combine_with"} & plain.keys()
    signed = Settings(combine_with="infolm").signed()
    assert (signed["nli_weight"], signed["normalize"]) == (0.2, "fixed")


def test_ranges_come_as_json_on_the_command_line():
    settings = Settings(combine_with="infolm", normalize='{"nli": [0, 1], "metric": [0.25, 2]}')
    assert settings.normalize == Ranges((0.0, 1.0), (0.25, 2.0))
    assert Settings.of(**vars(settings)) == settings
    json_given = Settings(combine_with='{"metric": "infolm", "temperature": 2}')
    assert json_given.other.temperature == 2.0
