"""Settings of InfoLM: validation, measure names, interpolation, signature fields."""

import pytest

from infolm_metric import InputError
from infolm_metric.infolm import measures
from infolm_metric.infolm.settings import InfoLMSettings

UNBOUNDED = [  # measure, settings
    ("kl_divergence", {"information_measure": ["l1", "kl"]}),
    ("alpha_divergence", {"information_measure": "alpha", "alpha": 3.0}),
    ("renyi_divergence", {"information_measure": "renyi", "alpha": 0.5, "symmetrize": "none"}),
    ("beta_divergence", {"information_measure": "beta", "beta": 0.7, "symmetrize": "jensen"}),
    ("ab_divergence", {"information_measure": "ab", "alpha": 1, "beta": 1, "symmetrize": "jensen"}),
]
INVALID = [
    ({"information_measure": "fisher"}, "'fisher'. Did you mean 'fisher_rao_distance'"),
    ({"information_measure": ["kl", "l4"]}, "information_measure 'l4'. Did you mean 'l"),
    ({"information_measure": None}, "information_measure must be .*None"),
    ({"information_measure": ["kl", 3]}, r"information_measure\[1\] must be .*3"),
    ({"temperature": 0}, "temperature must be > 0, got 0"),
    ({"information_measure": "alpha"}, "alpha_divergence requires alpha.*None"),
    ({"information_measure": "ab", "alpha": 2, "beta": -2}, "alpha . beta other than 0"),
    ({"information_measure": ["l1", "renyi"]}, "renyi_divergence requires alpha"),
    ({"symmetrize": "jeffrey"}, "symmetrize 'jeffrey'. Did you mean 'jeffreys'?"),
    ({"masking": "tokens"}, "masking 'tokens'. Did you mean 'token'?"),
    ({"interpolation": 1.1}, "interpolation must be between 0 and 1"),
    *(
        ({"interpolation": 1, **values}, f"interpolation=1 needs .*{name} with symmetrize")
        for name, values in UNBOUNDED
    ),
]


@pytest.mark.parametrize(("values", "word"), INVALID)
def test_invalid_settings_are_rejected_with_name_and_value(values, word):
    with pytest.raises(InputError, match=word):
        InfoLMSettings.of(**values)


def test_measure_names_are_expanded_and_unique_and_keep_their_order():
    assert set(measures.ALIASES) == {
        *("kl", "alpha", "beta", "ab", "renyi", "l1", "l2", "linf", "fisher_rao"),
        "gamma_divergence",
    }
    for alias, name in measures.ALIASES.items():
        settings = InfoLMSettings(information_measure=alias, alpha=0.5, beta=0.7)
        assert settings.information_measure == name and settings.names == (name,)
    several = InfoLMSettings(information_measure=["l1", "kl", "l1_distance", "fisher_rao"])
    assert several.names == ("l1_distance", "kl_divergence", "fisher_rao_distance")
    assert several.information_measure == several.names and several.several
    assert InfoLMSettings(information_measure=("l1",)).information_measure == ("l1_distance",)


def test_baselines_use_the_given_parameters_or_one_half():
    settings, *_ = InfoLMSettings(alpha=0.3).baseline_settings()
    assert (settings.alpha, settings.beta) == (0.3, 0.5)


def test_unused_parameters_are_ignored_and_omitted_from_the_signature():
    for name in ("kl_divergence", "fisher_rao_distance", "l1_distance"):
        signed = InfoLMSettings(information_measure=name, alpha=1, beta=-1).signature_fields()
        assert not {"alpha", "beta"} & signed.keys()
        assert ("symmetrize" in signed) is (name == "kl_divergence")
    renyi = InfoLMSettings(information_measure="renyi", alpha=0.5, beta=0)
    assert renyi.signature_fields()["alpha"] == 0.5
    assert not {"interpolation", "masking"} & InfoLMSettings().signature_fields().keys()
    assert InfoLMSettings(masking="none").signature_fields()["masking"] == "none"
