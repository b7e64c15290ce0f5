"""What a scorer returns: means, views for users, and the signature that says how it was made."""

import json
import os
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

import infolm_metric
from infolm_metric import IDF, InfoLMScorer
from infolm_metric.infolm import masked_lm
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.results import Result, joined
from infolm_metric.kernel.signatures import differences

LIMIT = 40  # positions of the tiny model
TABLE = IDF(3, np.array([0, 2, 3]), "5f2e")
OTHER_TABLE = IDF(4, np.array([0, 2, 3]), "5f2e")
ONE = {"l1_distance": [0.5, 1.5]}
SCORES = {"l1_distance": [0.5, 1.5], "kl_divergence": [0.25, 0.0]}
RESCALED = {"l1_distance": [0.75, 0.25]}
COUNTS = {
    "texts": 4,
    "too_long": 0,
    "empty": 1,
    "one_token": 0,
    "zero_weight": 0,
    "unknown_tokens": 0,
    "tokens": 12,
    "unread": 0,
    "distinct_documents": 0,
}
REST = {"higher_is_better": False, "signature": "sig", "remarks": COUNTS}


def result_of(scores, **more):
    """A result of InfoLM with the signature and the remarks of REST."""
    return Result("infolm", scores, "sig", False, Remarks(**COUNTS), **more)


@pytest.fixture(scope="module")
def scorer(tiny_bert):
    return InfoLMScorer(model_name_or_path=str(tiny_bert))


def fields(signature):
    """The signature's entries by name."""
    return dict(entry.split(":", 1) for entry in signature.split("|"))


# Results


@pytest.mark.parametrize(
    ("result", "return_scores", "expected"),
    [
        (result_of(ONE), True, {"infolm": 1.0, "scores": [0.5, 1.5], **REST}),
        (result_of(ONE), False, {"infolm": 1.0, **REST}),
        (
            result_of(SCORES, several=True),
            True,
            {
                "infolm": {"l1_distance": 1.0, "kl_divergence": 0.125},
                "scores": SCORES,
                **REST,
            },
        ),
        (
            result_of({"l1_distance": [0.5]}, several=True),
            True,
            {
                "infolm": {"l1_distance": 0.5},
                "scores": {"l1_distance": [0.5]},
                **REST,
            },
        ),
        (
            result_of(ONE, rescaled=RESCALED),
            True,
            {
                "infolm": 1.0,
                "rescaled": 0.5,
                "scores": [0.5, 1.5],
                "rescaled_scores": [0.75, 0.25],
                **REST,
            },
        ),
        (
            result_of(ONE, several=True, rescaled=RESCALED),
            False,
            {
                "infolm": {"l1_distance": 1.0},
                "rescaled": {"l1_distance": 0.5},
                **REST,
            },
        ),
        (
            Result("toy", {"toy": [0.5]}, "sig", True),
            True,
            {
                "toy": 0.5,
                "scores": [0.5],
                "higher_is_better": True,
                "signature": "sig",
                "remarks": dict.fromkeys(COUNTS, 0),
            },
        ),
    ],
    ids=["one", "one-mean", "several", "list-of-one", "rescaled", "rescaled-means", "higher"],
)
def test_a_result_is_shown_with_these_keys_in_this_order(result, return_scores, expected):
    shown = result.as_dict(return_scores)
    assert shown == expected
    assert list(shown) == list(expected)
    assert json.loads(json.dumps(shown)) == expected


@pytest.mark.parametrize("several", [False, True])
def test_a_result_reads_like_the_dictionary_it_is_shown_as(several):
    result = result_of(ONE, several=several, rescaled=RESCALED)
    assert dict(result) == result.as_dict() == result
    assert [result[name] for name in result.keys()] == list(result.as_dict().values())  # noqa: SIM118
    assert "infolm" in result and "nothing" not in result
    assert len(result) == len(result.as_dict())
    with pytest.raises(KeyError, match="nothing"):
        result["nothing"]


def test_measures_keep_the_order_in_which_they_were_asked_for():
    result = result_of(SCORES, several=True)
    assert result.names == ("l1_distance", "kl_divergence")
    assert list(result.as_dict()["infolm"]) == ["l1_distance", "kl_divergence"]


@pytest.mark.parametrize("cut", [1, 2, 3])
def test_results_of_consecutive_parts_join_to_that_of_the_whole(cut):
    scores, rescaled = [0.1, 0.2, 0.7, 0.3], [0.95, 0.9, 0.65, 0.85]

    def part(start, stop):
        other = {"l1_distance": rescaled[start:stop]}
        remarks = Remarks(texts=2 * (stop - start), too_long=stop - start, limit=40)
        column = {"l1_distance": scores[start:stop]}
        return Result("infolm", column, "sig", False, remarks, True, other)

    whole, found = part(0, 4), joined([part(0, cut), part(cut, 4)])
    assert found == whole
    assert found.remarks == whole.remarks and found.columns() == whole.columns()


def test_parts_that_were_scored_otherwise_are_not_joined():
    parts = [
        Result("infolm", {"l1_distance": [0.5]}, f"temperature:{heat}", False) for heat in (1, 2)
    ]
    with pytest.raises(ValueError, match="not scored alike: temperature was 1 and is 2 now"):
        joined(parts)


def test_the_corpus_score_is_the_mean_of_the_pairs():
    scores = [0.1, 0.2, 0.7, 0.3]
    assert result_of({"l1_distance": scores}).mean("l1_distance") == pytest.approx(0.325)
    assert result_of({"l1_distance": [1 / 3]}).mean("l1_distance") == 1 / 3


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 5e-324, sys.float_info.max])
def test_the_mean_of_equal_scores_is_that_score(value):
    for count in range(1, 60):
        assert result_of({"kl_divergence": [value] * count}).mean("kl_divergence") == value


def test_the_mean_of_very_large_scores_stays_finite():
    largest = sys.float_info.max
    scores = {"kl_divergence": [largest, 0.0, largest, largest]}
    mean = result_of(scores).mean("kl_divergence")
    assert mean == pytest.approx(0.75 * largest, rel=1e-15)


@pytest.mark.parametrize(
    ("asked", "several"), [("l1", False), (["l1"], True), (("l1", "kl"), True)]
)
def test_a_list_of_measures_gives_a_result_by_name_even_for_one(scorer, asked, several):
    result = scorer.score(["a cat"], ["the dog"], idf=False, information_measure=asked)
    assert result.several is several
    assert isinstance(result.as_dict()["infolm"], dict) is several
    assert result.signature == scorer.signature(idf=False, information_measure=asked)


# Remarks


def test_remarks_of_parts_add_up_to_those_of_the_whole():
    parts = [
        Remarks(texts=3, empty=1, tokens=4, distinct_documents=3),
        Remarks(texts=5, too_long=2, limit=40, one_token=1, distinct_documents=3),
        Remarks(2, zero_weight=1, unknown_tokens=2, tokens=6, unread=1, distinct_documents=3),
    ]
    whole = Remarks(10, 2, 1, 1, 1, 2, 10, 1, distinct_documents=3, limit=40)
    assert sum(parts, Remarks()) == sum(reversed(parts), Remarks()) == whole
    assert list(whole.counts().values()) == [10, 2, 1, 1, 1, 2, 10, 1, 3]


def test_remarks_of_a_combined_metric_add_up_and_stay_its_own():
    one = Remarks(texts=3, empty=1, beside={"infolm": Remarks(texts=3, too_long=2, limit=8)})
    two = Remarks(texts=1, beside={"infolm": Remarks(texts=1, too_long=1, limit=8)})
    both = one + two
    assert sum([one, two], Remarks()) == both
    assert (both.too_long, both.beside["infolm"].too_long, both.beside["infolm"].texts) == (0, 3, 4)
    most = Remarks.most([two, one, Remarks(texts=3)])
    assert (most.empty, most.beside["infolm"].too_long) == (1, 2)
    first, second = both.sentences()
    assert first.startswith("1 of 4 texts without a token")
    assert second.startswith("infolm's part of the score: 3 of 4 texts longer than 8 tokens")


def test_each_kind_of_text_is_warned_of_once_with_its_count():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (Remarks(texts=3, empty=1) + Remarks(texts=5, too_long=2, empty=2, limit=40)).warn()
    assert [str(warning.message) for warning in caught] == [
        "infolm: 2 of 8 texts longer than 40 tokens: cut there; long_text='window' reads texts "
        "whole",
        "infolm: 3 of 8 texts without a token of their own: scored by what the model makes of no "
        "text",
    ]


def test_texts_that_were_not_cut_are_nothing_to_warn_of():
    assert Remarks(texts=3, too_long=2).sentences() == Remarks(texts=3).sentences() == []


def test_a_warning_points_at_whoever_called_what_warns():
    def score():
        Remarks(texts=3, empty=1).warn()

    with pytest.warns(UserWarning, match="1 of 3 texts") as caught:
        score()
    assert caught[0].filename == __file__
    assert caught[0].lineno == sys._getframe().f_lineno - 2


# Signatures


def test_the_signature_names_everything_that_made_the_score(scorer, tiny_bert):
    found = scorer.signature(information_measure="ab", alpha=0.5, beta=0.7, temperature=2)
    assert found.startswith("metric:infolm|measure:ab_divergence|")
    model, _, digest = fields(found)["model"].partition("@sha256:")
    assert model == tiny_bert.name and len(bytes.fromhex(digest)) == 6
    assert fields(found) == {
        "metric": "infolm",
        "measure": "ab_divergence",
        "alpha": "0.5",
        "beta": "0.7",
        "symmetrize": "jeffreys",
        "temperature": "2.0",
        "idf": "references",
        "multi_reference": "min",
        "model": f"{model}@sha256:{digest}",
        "max_length": str(LIMIT),
        "long_text": "truncate",
        "dtype": "float32",
        "infolm": infolm_metric.__version__,
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
    {"masks_per_pass": 0},
    {"interpolation": 0.1},
    {"interpolation": 0.5},
]


def test_every_setting_that_can_change_a_score_changes_the_signature(
    scorer, tiny_bert, tiny_models, monkeypatch
):
    signatures = [scorer.signature(**AB | change) for change in CHANGES]
    signatures += [scorer.signature(**AB), scorer.signature(**AB, max_length=LIMIT - 1)]
    other = tiny_models("bert", num_hidden_layers=1)
    signatures.append(scorer.signature(**AB, model_name_or_path=str(other)))
    unlimited = replace(masked_lm.open_masked_lm(str(tiny_bert)), limit=None)
    monkeypatch.setattr(masked_lm, "open_masked_lm", lambda *key: unlimited)
    signatures.append(InfoLMScorer(model_name_or_path=str(tiny_bert)).signature(**AB))
    assert len(set(signatures)) == len(CHANGES) + 4


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
        {"model_revision": "main"},  # a folder has none
        {"max_length": LIMIT},
    ],
)
def test_what_cannot_change_a_score_stays_out_of_the_signature(scorer, change):
    assert scorer.signature(**AB | change) == scorer.signature(**AB)


def test_a_model_has_one_signature_by_whatever_path_it_is_named(scorer, tiny_bert, tmp_path):
    linked = tmp_path / tiny_bert.name
    linked.symlink_to(tiny_bert)
    for path in (os.path.relpath(tiny_bert), str(linked)):
        assert scorer.signature(model_name_or_path=path) == scorer.signature()


def test_every_setting_is_known_to_change_scores_or_not_to():
    checked = {name for change in CHANGES for name in change}
    beside = {"model_name_or_path", "model_revision", "max_length"}
    harmless = {"batch_size", "device", "tokenize_processes", "return_scores", "reuse_memory"}
    harmless |= {"verbose", "rescale_with_baseline"}
    assert checked | beside | harmless == set(Settings.choices())


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
def test_what_a_measure_does_not_use_stays_out_of_the_signature(scorer, measure, absent):
    found = fields(scorer.signature(**AB | {"information_measure": measure}))
    assert {"alpha", "beta", "symmetrize"} - set(found) == absent


def test_the_signature_shows_parameters_with_all_their_digits(scorer):
    found = fields(
        scorer.signature(information_measure="renyi", alpha=np.float32(0.1), temperature=1 / 3)
    )
    assert float(found["alpha"]) == float(np.float32(0.1))
    assert float(found["temperature"]) == 1 / 3


@pytest.mark.parametrize(
    ("idf", "shown"),
    [
        (False, "no"),
        (True, "references"),
        ("separate", "separate"),
        (TABLE, f"table-{TABLE.fingerprint}"),
    ],
)
def test_the_signature_says_what_the_weights_were(scorer, idf, shown):
    assert fields(scorer.signature(idf=idf))["idf"] == shown
    assert TABLE.fingerprint != OTHER_TABLE.fingerprint


def test_several_measures_share_a_signature_that_names_them_all(scorer):
    found = fields(scorer.signature(information_measure=["l1", "kl"]))
    assert found["measure"] == "l1_distance+kl_divergence"


def test_what_differs_between_signatures_is_named(scorer):
    now = scorer.signature(temperature=2, information_measure="renyi", alpha=0.5)
    assert differences(scorer.signature(), scorer.signature()) == ""
    assert set(differences(scorer.signature(), now).split("; ")) == {
        "measure was fisher_rao_distance and is renyi_divergence now",
        "temperature was 1.0 and is 2.0 now",
        "alpha was not given and is 0.5 now",
        "symmetrize was not given and is jeffreys now",
    }
