"""What a scorer returns: means, views for users, and the signature that says how it was made."""

import json
import math
import sys
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import pytest
import torch
import transformers

from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.results import Result, make_result, signature

IDENTITY = "some-one/model@0123abc"
LIMIT = 512
TABLE = IDF(3, np.array([0, 2, 3]), "5f2e")
OTHER_TABLE = IDF(4, np.array([0, 2, 3]), "5f2e")
SCORES = {"l1_distance": [0.5, 1.5], "kl_divergence": [0.25, 0.0]}


def fields(settings, identity=IDENTITY, limit=LIMIT):
    """The signature's entries by name."""
    return dict(entry.split(":", 1) for entry in signature(settings, identity, limit).split("|"))


def installed_version():
    try:
        return version("infolm-metric")
    except PackageNotFoundError:
        return "uninstalled"


# Results


@pytest.mark.parametrize(
    ("result", "return_scores", "expected"),
    [
        (
            Result({"l1_distance": [0.5, 1.5]}, "sig"),
            True,
            {"infolm": 1.0, "scores": [0.5, 1.5], "signature": "sig"},
        ),
        (
            Result({"l1_distance": [0.5, 1.5]}, "sig"),
            False,
            {"infolm": 1.0, "signature": "sig"},
        ),
        (
            Result(SCORES, "sig", several=True),
            True,
            {
                "infolm": {"l1_distance": 1.0, "kl_divergence": 0.125},
                "scores": SCORES,
                "signature": "sig",
            },
        ),
        (
            Result({"l1_distance": [0.5]}, "sig", several=True),
            True,
            {
                "infolm": {"l1_distance": 0.5},
                "scores": {"l1_distance": [0.5]},
                "signature": "sig",
            },
        ),
        (
            Result({"l1_distance": [0.5, 1.5]}, "sig", False, {"l1_distance": [0.75, 0.25]}),
            True,
            {
                "infolm": 1.0,
                "similarity": 0.5,
                "scores": [0.5, 1.5],
                "similarities": [0.75, 0.25],
                "signature": "sig",
            },
        ),
        (
            Result({"l1_distance": [0.5, 1.5]}, "sig", True, {"l1_distance": [0.75, 0.25]}),
            False,
            {
                "infolm": {"l1_distance": 1.0},
                "similarity": {"l1_distance": 0.5},
                "signature": "sig",
            },
        ),
    ],
    ids=["one", "one-mean", "several", "list-of-one", "similarity", "similarity-means"],
)
def test_a_result_is_shown_with_these_keys_in_this_order(result, return_scores, expected):
    shown = result.as_dict(return_scores)
    assert shown == expected
    assert list(shown) == list(expected)
    assert json.loads(json.dumps(shown)) == expected


@pytest.mark.parametrize("several", [False, True])
def test_a_result_reads_like_the_dictionary_it_is_shown_as(several):
    result = Result({"l1_distance": [0.5, 1.5]}, "sig", several, {"l1_distance": [0.75, 0.25]})
    assert dict(result) == result.as_dict()
    assert [result[name] for name in result.keys()] == list(result.as_dict().values())  # noqa: SIM118
    with pytest.raises(KeyError, match="nothing"):
        result["nothing"]


def test_measures_keep_the_order_in_which_they_were_asked_for():
    result = Result(SCORES, "sig", several=True)
    assert result.measures == ("l1_distance", "kl_divergence")
    assert list(result.as_dict()["infolm"]) == ["l1_distance", "kl_divergence"]


def test_the_corpus_score_is_the_mean_of_the_pairs():
    scores = [0.1, 0.2, 0.7, 0.3]
    assert Result({"l1_distance": scores}, "").mean("l1_distance") == pytest.approx(0.325)
    assert Result({"l1_distance": [1 / 3]}, "").mean("l1_distance") == 1 / 3


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 5e-324, sys.float_info.max])
def test_the_mean_of_equal_scores_is_that_score(value):
    for count in range(1, 60):
        assert Result({"kl_divergence": [value] * count}, "").mean("kl_divergence") == value


def test_the_mean_of_very_large_scores_stays_finite():
    largest = sys.float_info.max
    mean = Result({"kl_divergence": [largest, 0.0, largest, largest]}, "").mean("kl_divergence")
    assert mean == pytest.approx(0.75 * largest, rel=1e-15)


def test_a_similarity_falls_from_1_to_0_as_the_score_rises_to_its_largest_value():
    settings = Settings.of(information_measure=["l1", "kl"], symmetrize="jensen", similarity=True)
    scores = {"l1_distance": [0.0, 0.5, 2.0], "kl_divergence": [0.0, 0.1, math.log(2)]}
    result = make_result(scores, settings, IDENTITY, LIMIT)
    assert result.similarities == {
        "l1_distance": [1.0, 0.75, 0.0],
        "kl_divergence": pytest.approx([1.0, 1 - 0.1 / math.log(2), 0.0]),
    }
    assert result.scores == scores


@pytest.mark.parametrize(
    ("asked", "several"), [("l1", False), (["l1"], True), (("l1", "kl"), True)]
)
def test_a_list_of_measures_gives_a_result_by_name_even_for_one(asked, several):
    settings = Settings.of(information_measure=asked)
    result = make_result({name: [0.5] for name in settings.measures}, settings, IDENTITY, LIMIT)
    assert result.several is several
    assert isinstance(result.as_dict()["infolm"], dict) is several
    assert result.similarities is None
    assert result.signature == signature(settings, IDENTITY, LIMIT)


# Signatures


def test_the_signature_names_everything_that_made_the_score():
    settings = Settings.of(information_measure="ab", alpha=0.5, beta=0.7, temperature=2)
    assert fields(settings) == {
        "measure": "ab_divergence",
        "alpha": "0.5",
        "beta": "0.7",
        "symmetrize": "jeffreys",
        "temperature": "2.0",
        "idf": "references",
        "multi_reference": "min",
        "model": IDENTITY,
        "max_length": "512",
        "long_text": "truncate",
        "dtype": "float32",
        "infolm": installed_version(),
        "transformers": transformers.__version__,
        "torch": torch.__version__,
    }


AB = {"information_measure": "ab", "alpha": 0.5, "beta": 0.7}
CHANGES = [
    {"information_measure": "kl"},
    {"information_measure": ["ab", "kl"]},
    {"alpha": 0.6},
    {"alpha": 0.5000000000000001},
    {"beta": 0.8},
    {"temperature": 1.0000000000000002},
    {"idf": False},
    {"idf": "separate"},
    {"idf": TABLE},
    {"idf": OTHER_TABLE},
    {"symmetrize": "jensen"},
    {"symmetrize": "none"},
    {"symmetrize": "reverse"},
    {"multi_reference": "mean"},
    {"long_text": "window"},
    {"long_text": "error"},
    {"dtype": "bfloat16"},
    {"dtype": "float16"},
    {"masks_per_pass": 2},
    {"masks_per_pass": 3},
]


def test_every_setting_that_can_change_a_score_changes_the_signature():
    base = Settings.of(**AB)
    signatures = [signature(base.replace(**change), IDENTITY, LIMIT) for change in CHANGES]
    signatures += [
        signature(base, IDENTITY, LIMIT),
        signature(base, "some-one/model@4567def", LIMIT),
        signature(base, IDENTITY, 511),
        signature(base, IDENTITY, None),
    ]
    assert len(set(signatures)) == len(CHANGES) + 4


def test_a_similarity_is_named_in_the_signature():
    plain, similar = (Settings.of(similarity=similarity) for similarity in (False, True))
    assert "similarity" not in fields(plain)
    assert fields(similar)["similarity"] == "1-score/largest"


@pytest.mark.parametrize(
    "change",
    [
        {"batch_size": 3},
        {"device": "cpu"},
        {"tokenize_processes": 2},
        {"return_scores": False},
        {"reuse_memory": 0},
        {"verbose": True},
        {"idf": True},
        {"idf": "references"},
        # The model and the length it came to are given beside the settings.
        {"model_name_or_path": "bundled"},
        {"model_revision": "main"},
        {"max_length": 512},
    ],
)
def test_what_cannot_change_a_score_stays_out_of_the_signature(change):
    base = Settings.of(**AB)
    assert signature(base.replace(**change), IDENTITY, LIMIT) == signature(base, IDENTITY, LIMIT)


def test_every_setting_is_known_to_change_scores_or_not_to():
    checked = {name for change in CHANGES for name in change}
    beside = {"model_name_or_path", "model_revision", "max_length"}
    harmless = {"batch_size", "device", "tokenize_processes", "return_scores", "reuse_memory"}
    harmless |= {"verbose", "similarity"}
    assert checked | beside | harmless == set(Settings.__dataclass_fields__)


@pytest.mark.parametrize(
    ("measure", "absent"),
    [
        ("kl", {"alpha", "beta"}),
        ("renyi", {"beta"}),
        ("beta", {"alpha"}),
        ("l1", {"alpha", "beta", "symmetrize"}),
        (["l1", "fisher_rao"], {"alpha", "beta", "symmetrize"}),
        (["l1", "renyi"], {"beta"}),
    ],
)
def test_what_a_measure_does_not_use_stays_out_of_the_signature(measure, absent):
    settings = Settings.of(**AB | {"information_measure": measure})
    assert {"alpha", "beta", "symmetrize"} - set(fields(settings)) == absent


def test_the_signature_shows_parameters_with_all_their_digits():
    settings = Settings.of(information_measure="renyi", alpha=np.float32(0.1), temperature=1 / 3)
    assert float(fields(settings)["alpha"]) == float(np.float32(0.1))
    assert float(fields(settings)["temperature"]) == 1 / 3


@pytest.mark.parametrize(
    ("idf", "shown"),
    [
        (False, "no"),
        (True, "references"),
        ("separate", "separate"),
        (TABLE, f"table-{TABLE.fingerprint}"),
    ],
)
def test_the_signature_says_what_the_weights_were(idf, shown):
    assert fields(Settings.of(idf=idf))["idf"] == shown
    assert TABLE.fingerprint != OTHER_TABLE.fingerprint


def test_several_measures_share_a_signature_that_names_them_all():
    settings = Settings.of(information_measure=["l1", "kl"])
    assert fields(settings)["measure"] == "l1_distance+kl_divergence"
