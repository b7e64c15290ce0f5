"""Settings of BaryScore: layers and their signature field."""

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


@pytest.mark.parametrize(("layers", "indices", "signature_field"), LAYERS)
def test_layers_may_be_a_number_all_or_indices(layers, indices, signature_field):
    settings = BaryScoreSettings(layers=layers)
    assert settings.layers == indices and settings.signature_fields()["layers"] == signature_field
    assert settings.replace(idf=False) == BaryScoreSettings(layers=indices, idf=False)


INVALID_LAYERS = [
    (0, "layers must be at least 1, got 0"),
    (2.5, "layers must be a whole number"),
    ("al", "layers must be a number N .*, 'all', or indices .*'al'"),
    ([], "layers must be one or more distinct"),
    ([1, 1], "distinct hidden-state indices"),
    ([-1], "layers must"),
    (np.array([[4]]), "layers must be"),
    ([1, "2"], "layers.* must be a whole number, got '2'"),
]


@pytest.mark.parametrize(("layers", "word"), INVALID_LAYERS)
def test_invalid_layers_are_rejected(layers, word):
    with pytest.raises((TypeError, ValueError), match=word):
        BaryScoreSettings(layers=layers)


INDICES = [(2, 4, (2, 3)), (4, 4, (0, 1, 2, 3)), ("all", 3, (0, 1, 2)), ((0, 6), 7, (0, 6))]


@pytest.mark.parametrize(("layers", "states", "indices"), INDICES)
def test_layers_are_resolved_to_indices_of_hidden_states(layers, states, indices):
    assert BaryScoreSettings(layers=layers).indices(states) == indices
