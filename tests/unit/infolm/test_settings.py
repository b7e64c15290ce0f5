"""Every choice is checked when it is made: by name, with the value, and with what to do instead."""

import dataclasses
import math
from decimal import Decimal

import numpy as np
import pytest
import torch

from infolm_metric.infolm import measures
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.idf.table import IDF

TABLE = IDF(3, np.array([0, 2, 3]), "5f2e")

# Settings that are refused, with the pieces that the message must have: the argument, the value,
# and what to do.
REFUSED = [
    ({"temprature": 2.0}, ["'temprature'", "did you mean 'temperature'?"]),
    ({"measure": "kl"}, ["'measure'", "did you mean 'information_measure'?"]),
    ({"zzz": 1}, ["'zzz'", "known: ", "'temperature'"]),
    ({"information_measure": "fisher"}, ["information_measure 'fisher'", "'fisher_rao_distance'"]),
    ({"information_measure": "KL_divergance"}, ["information_measure", "'kl_divergence'"]),
    ({"information_measure": ["kl", "l4"]}, ["information_measure 'l4'", "did you mean 'l"]),
    ({"information_measure": []}, ["information_measure", "empty list", "kl_divergence"]),
    ({"information_measure": None}, ["information_measure", "None", "a name or a list of names"]),
    ({"information_measure": b"kl"}, ["information_measure", "b'kl'", "a name or a list of names"]),
    ({"information_measure": ["kl", 3]}, ["information_measure", "names", "3"]),
    ({"information_measure": [["kl"]]}, ["information_measure", "names", "['kl']"]),
    ({"temperature": 0}, ["temperature must be > 0, got 0"]),
    ({"temperature": -1.0}, ["temperature must be > 0, got -1.0", "[1, 2]"]),
    ({"temperature": math.nan}, ["temperature must be finite, got nan"]),
    ({"temperature": math.inf}, ["temperature must be finite, got inf"]),
    ({"temperature": "1.0"}, ["temperature must be a number, got '1.0'"]),
    ({"temperature": None}, ["temperature must be a number, got None"]),
    ({"temperature": True}, ["temperature must be a number, got True"]),
    ({"alpha": np.complex128(2 + 1j)}, ["alpha must be a number, got ", "2+1j"]),
    ({"temperature": np.True_}, ["temperature must be a number, got ", "True"]),
    ({"temperature": [1.0, 2.0]}, ["temperature must be a number, got [1.0, 2.0]"]),
    ({"temperature": np.ones(2)}, ["temperature must be a single number, got array"]),
    ({"temperature": 10**400}, ["temperature must be a single number, got 1000"]),
    ({"alpha": "half"}, ["alpha must be a number, got 'half'"]),
    ({"alpha": math.nan}, ["alpha must be finite, got nan"]),
    ({"beta": -math.inf}, ["beta must be finite, got -inf"]),
    ({"information_measure": "alpha"}, ["alpha_divergence needs alpha", "but 0 and 1", "None"]),
    ({"information_measure": "alpha", "alpha": 0}, ["alpha_divergence needs alpha", "0.0"]),
    ({"information_measure": "alpha", "alpha": 1}, ["alpha_divergence needs alpha", "1.0"]),
    ({"information_measure": "renyi", "alpha": 1}, ["renyi_divergence needs alpha", "1.0"]),
    ({"information_measure": "renyi", "alpha": -2}, ["renyi_divergence needs alpha", "> 0", "-2"]),
    ({"information_measure": "renyi", "alpha": 0}, ["renyi_divergence needs alpha", "> 0", "0.0"]),
    ({"information_measure": "renyi", "beta": 2}, ["renyi_divergence needs alpha", "None"]),
    ({"information_measure": "beta", "beta": 0}, ["beta_divergence needs beta", "0.0"]),
    ({"information_measure": "beta", "beta": -1}, ["beta_divergence needs beta", "-1.0"]),
    ({"information_measure": "ab", "alpha": 1}, ["ab_divergence needs beta", "None"]),
    ({"information_measure": "ab", "alpha": 0, "beta": 1}, ["ab_divergence needs alpha", "0.0"]),
    ({"information_measure": "ab", "alpha": 1, "beta": 0}, ["ab_divergence needs beta", "0.0"]),
    ({"information_measure": "ab", "alpha": 2, "beta": -2}, ["alpha + beta other than 0", "-2"]),
    ({"information_measure": ["l1", "renyi"]}, ["renyi_divergence needs alpha", "None"]),
    ({"symmetrize": "jeffrey"}, ["symmetrize 'jeffrey'", "did you mean 'jeffreys'?"]),
    ({"symmetrize": True}, ["symmetrize True", "'jeffreys', 'jensen', 'none', 'reverse'"]),
    ({"masks_per_pass": -1}, ["masks_per_pass must be at least 0, got -1"]),
    ({"masks_per_pass": 1.5}, ["masks_per_pass must be a whole number, got 1.5"]),
]


@pytest.mark.parametrize(
    ("given", "pieces"),
    REFUSED,
    ids=["-".join(f"{k}={str(v)[:20]}" for k, v in g.items()) for g, _ in REFUSED],
)
@pytest.mark.parametrize("way", ["of", "replace"])
def test_a_wrong_choice_is_refused_with_its_name_its_value_and_a_remedy(way, given, pieces):
    change = Settings.of if way == "of" else Settings().replace
    with pytest.raises((TypeError, ValueError)) as refusal:
        change(**given)
    message = str(refusal.value)
    assert [piece for piece in pieces if piece not in message] == [], message


@pytest.mark.parametrize(("alias", "name"), measures.ALIASES.items())
def test_an_alias_stands_for_the_full_name(alias, name):
    parameters = {"alpha": 0.5, "beta": 0.7}
    settings = Settings.of(information_measure=alias, **parameters)
    assert settings.information_measure == name
    assert settings == Settings.of(information_measure=name, **parameters)


def test_the_short_names_of_the_authors_code_are_the_aliases():
    assert set(measures.ALIASES) == {
        *("kl", "alpha", "beta", "ab", "renyi", "l1", "l2", "linf", "fisher_rao"),
        "gamma_divergence",
    }


def test_several_measures_are_kept_in_order_under_their_full_names_and_once_each():
    settings = Settings.of(information_measure=["l1", "kl", "l1_distance", "fisher_rao"])
    assert settings.names == ("l1_distance", "kl_divergence", "fisher_rao_distance")
    assert settings.information_measure == settings.names
    assert Settings.of(information_measure=("l1",)).information_measure == ("l1_distance",)
    assert Settings.of(information_measure="l1").names == ("l1_distance",)


def test_the_defaults_are_those_of_the_design():
    settings = Settings()
    assert settings.names == ("fisher_rao_distance",)
    assert settings.temperature == 1.0
    assert settings.idf == "references"
    assert settings.symmetrize == "jeffreys"
    assert settings.multi_reference == "min"
    assert settings.long_text == "truncate"
    assert settings.dtype == "float32"
    assert settings.return_scores is True
    assert settings.model_name_or_path == "google-bert/bert-base-uncased"


@pytest.mark.parametrize(
    "number", [np.float32(0.5), np.float64(0.5), np.array(0.5), torch.tensor(0.5), Decimal("0.5")]
)
@pytest.mark.parametrize("name", ["temperature", "alpha", "beta"])
def test_numbers_of_every_library_become_plain_floats(name, number):
    value = getattr(Settings.of(**{name: number}), name)
    assert type(value) is float and value == 0.5


@pytest.mark.parametrize("number", [np.int64(7), np.uint8(7), np.array(7), torch.tensor(7)])
def test_whole_numbers_of_every_library_become_plain_ints(number):
    value = Settings.of(masks_per_pass=number).masks_per_pass
    assert type(value) is int and value == 7


def test_whole_numbers_are_temperatures():
    assert Settings.of(temperature=2).temperature == 2.0
    assert Settings.of(temperature=np.int32(2)).temperature == 2.0


@pytest.mark.parametrize(
    ("measure", "parameters", "symmetrize"),
    [
        ("kl_divergence", {}, "jeffreys"),
        ("kl_divergence", {}, "none"),
        ("renyi_divergence", {"alpha": 2}, "jeffreys"),
        ("alpha_divergence", {"alpha": 2}, "jeffreys"),
        ("beta_divergence", {"beta": 0.5}, "jensen"),
        ("ab_divergence", {"alpha": 0.5, "beta": 0.7}, "reverse"),
    ],
)
def test_interpolation_of_1_is_refused_where_a_measure_has_no_largest_value(
    measure, parameters, symmetrize
):
    chosen = {"information_measure": measure, "symmetrize": symmetrize, **parameters}
    assert Settings.of(**chosen).largest_value(measure) == math.inf
    with pytest.raises(ValueError, match="interpolation=1 needs a measure with a largest value"):
        Settings.of(**chosen, interpolation=1)
    with pytest.raises(ValueError, match=f"{measure} with symmetrize='{symmetrize}' has none"):
        Settings.of(**{**chosen, "information_measure": ["l1", measure]}, interpolation=1)


@pytest.mark.parametrize(
    ("measure", "parameters", "symmetrize", "largest"),
    [
        ("l1_distance", {}, "jeffreys", 2),
        ("l2_distance", {}, "jeffreys", math.sqrt(2)),
        ("l_infinity_distance", {}, "jeffreys", 1),
        ("fisher_rao_distance", {}, "none", 1),
        ("kl_divergence", {}, "jensen", math.log(2)),
        ("alpha_divergence", {"alpha": 0.5}, "jeffreys", 4),
        ("alpha_divergence", {"alpha": 3}, "jensen", (2**2 - 1) / 6),
    ],
)
def test_interpolation_of_1_is_allowed_where_a_measure_has_a_largest_value(
    measure, parameters, symmetrize, largest
):
    settings = Settings.of(
        information_measure=measure, symmetrize=symmetrize, interpolation=1, **parameters
    )
    assert settings.largest_value(measure) == pytest.approx(largest, rel=1e-15)


@pytest.mark.parametrize("name", ["kl_divergence", "fisher_rao_distance", "l1_distance"])
def test_parameters_that_a_measure_does_not_use_are_ignored(name):
    assert Settings.of(information_measure=name, alpha=1, beta=-1).names == (name,)
    assert Settings.of(information_measure="renyi", alpha=0.5, beta=0).beta == 0.0


def test_changed_settings_are_new_and_the_old_ones_remain():
    first = Settings.of(information_measure="renyi", alpha=0.5, temperature=2)
    second = first.replace(alpha=np.float64(0.7), idf=False)
    assert (first.alpha, first.idf) == (0.5, "references")
    assert (second.alpha, second.idf, second.temperature) == (0.7, False, 2.0)
    assert first.replace() == first == first.replace(alpha=0.5)
    with pytest.raises(ValueError, match="renyi_divergence needs alpha"):
        first.replace(alpha=1)
    with pytest.raises(ValueError, match="alpha_divergence needs alpha"):
        Settings().replace(information_measure="alpha")


def test_settings_cannot_be_changed_in_place_and_equal_ones_hash_alike():
    settings = Settings.of(information_measure=["l1", "kl"], idf=TABLE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.temperature = 2.0
    assert hash(settings) == hash(Settings.of(information_measure=("l1", "kl"), idf=TABLE))
