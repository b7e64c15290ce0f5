"""The choices of BaryScore: which layers, and what the signature says of them."""

import numpy as np
import pytest

from infolm_metric.baryscore.settings import Settings


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
    chosen = Settings(layers=given)
    assert chosen.layers == kept
    assert chosen.signed()["layers"] == signed
    assert chosen.replace(idf=False) == Settings(layers=kept, idf=False)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (0, ValueError, "layers must be at least 1, got 0"),
        (-1, ValueError, "layers must be at least 1, got -1"),
        (True, TypeError, "layers must be a whole number, got True"),
        (2.5, TypeError, "layers must be a whole number, got 2.5"),
        (None, TypeError, "layers must be a whole number, got None"),
        (
            "al",
            ValueError,
            "layers must be a number of last hidden states, 'all', or indices .*'al'",
        ),
        ("", ValueError, "layers must be a number of last hidden states"),
        ([], ValueError, "layers must hold at least one index"),
        ([1, 1], ValueError, r"each once, got \[1, 1\]"),
        ([-1], ValueError, "layers must be at least 0, got -1"),
        (np.array([4.0]), TypeError, "layers must be a whole number, got 4.0"),
        (np.array([[4]]), TypeError, r"layers must be a whole number, got \[4\]"),
        (np.array([], int), ValueError, "layers must hold at least one index"),
        ([1, "2"], TypeError, "layers must be a whole number, got '2'"),
    ],
)
def test_wrong_layers_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        Settings(layers=given)


@pytest.mark.parametrize(
    ("given", "states", "indices"),
    [(5, 7, (2, 3, 4, 5, 6)), (7, 7, tuple(range(7))), ("all", 3, (0, 1, 2)), ((0, 6), 7, (0, 6))],
)
def test_layers_are_indices_of_a_models_hidden_states(given, states, indices):
    assert Settings(layers=given).indices(states) == indices


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (8, "layers must be at most 7, .* got 8; 'all' takes them all"),
        ((0, 7), "from 0, the embeddings, to 6, .* got 7"),
    ],
)
def test_layers_that_a_model_has_not_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Settings(layers=given).indices(7)


def test_the_signature_names_layers_weights_and_ground():
    assert list(Settings().signed()) == ["layers", "idf", "ground", "multi_reference"]
    assert Settings().signed()["ground"] == "sqeuclidean"
