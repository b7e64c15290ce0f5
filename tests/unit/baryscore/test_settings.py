"""The settings of BaryScore: which layers, and what the signature says of them."""

import numpy as np
import pytest

from infolm_metric.baryscore.settings import BaryScoreSettings


@pytest.mark.parametrize(
    ("given", "kept", "signed"),
    [
        (5, 5, "last5"),
        ("all", "all", "all"),
        ([6, 0, 3], (0, 3, 6), "0+3+6"),
        ((2,), (2,), "2"),
        ("3", 3, "last3"),
        ("0,3", (0, 3), "0+3"),
        ("4,", (4,), "4"),
        (np.array([5, 4]), (4, 5), "4+5"),
        ([np.int64(4), np.uint8(5)], (4, 5), "4+5"),
        (np.int64(3), 3, "last3"),
    ],
)
def test_layers_are_a_number_all_or_indices(given, kept, signed):
    chosen = BaryScoreSettings(layers=given)
    assert chosen.layers == kept
    assert chosen.signed()["layers"] == signed
    assert chosen.replace(idf=False) == BaryScoreSettings(layers=kept, idf=False)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (0, "layers must be at least 1, got 0"),
        (2.5, "layers must be a whole number"),
        ("al", "layers must be a number of last hidden states, 'all', or indices .*'al'"),
        ([], "layers must hold at least one index"),
        ([1, 1], "each once"),
        ([-1], "layers must"),
        (np.array([[4]]), "layers must be"),
        ([1, "2"], "layers.* must be a whole number, got '2'"),
    ],
)
def test_wrong_layers_are_refused(given, word):
    with pytest.raises((TypeError, ValueError), match=word):
        BaryScoreSettings(layers=given)


@pytest.mark.parametrize(
    ("given", "states", "indices"),
    [(5, 7, (2, 3, 4, 5, 6)), (7, 7, tuple(range(7))), ("all", 3, (0, 1, 2)), ((0, 6), 7, (0, 6))],
)
def test_layers_are_indices_of_a_models_hidden_states(given, states, indices):
    assert BaryScoreSettings(layers=given).indices(states) == indices


@pytest.mark.parametrize(("given", "word"), [(8, "at most 7, .* got 8"), ((0, 7), "6, .* got 7")])
def test_layers_that_a_model_has_not_are_refused(given, word):
    with pytest.raises(ValueError, match=word):
        BaryScoreSettings(layers=given).indices(7)


def test_the_signature_names_layers_weights_and_ground():
    assert list(BaryScoreSettings().signed()) == ["layers", "idf", "ground", "multi_reference"]
    assert BaryScoreSettings().signed()["ground"] == "sqeuclidean"
