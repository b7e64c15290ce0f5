"""The settings of BaryScore: which layers, and what the signature says of them."""

import numpy as np
import pytest

from infolm_metric.baryscore.settings import BaryScoreSettings

LAYERS = [
    ("all", "all", "all"),
    ([6, 0, 3], (0, 3, 6), "0+3+6"),
    ("3", 3, "last3"),
    ("0,3", (0, 3), "0+3"),
    ("4,", (4,), "4"),
    (np.array([5, 4]), (4, 5), "4+5"),
    ([np.int64(4), np.uint8(5)], (4, 5), "4+5"),
    (np.int64(3), 3, "last3"),
]


@pytest.mark.parametrize(("layers", "indices", "signed"), LAYERS)
def test_layers_are_a_number_all_or_indices(layers, indices, signed):
    settings = BaryScoreSettings(layers=layers)
    assert settings.layers == indices and settings.signature_fields()["layers"] == signed
    assert settings.replace(idf=False) == BaryScoreSettings(layers=indices, idf=False)


WRONG_LAYERS = [
    (0, "layers must be at least 1, got 0"),
    (2.5, "layers must be a whole number"),
    ("al", "layers must be a number of last hidden states, 'all', or indices .*'al'"),
    ([], "layers must be at least one index"),
    ([1, 1], "without repeats"),
    ([-1], "layers must"),
    (np.array([[4]]), "layers must be"),
    ([1, "2"], "layers.* must be a whole number, got '2'"),
]


@pytest.mark.parametrize(("layers", "word"), WRONG_LAYERS)
def test_wrong_layers_are_refused(layers, word):
    with pytest.raises((TypeError, ValueError), match=word):
        BaryScoreSettings(layers=layers)


INDICES = [(2, 4, (2, 3)), (4, 4, (0, 1, 2, 3)), ("all", 3, (0, 1, 2)), ((0, 6), 7, (0, 6))]


@pytest.mark.parametrize(("layers", "states", "indices"), INDICES)
def test_layers_are_indices_of_a_models_hidden_states(layers, states, indices):
    assert BaryScoreSettings(layers=layers).indices(states) == indices
