"""Settings of BaryScore: layers and their signature field."""

import numpy as np
import pytest

from infolm_metric import InputError
from infolm_metric.baryscore.settings import BaryScoreSettings

LAYERS = [
    ("all", "all", "all"),
    ([6, 0, 3], (0, 3, 6), "0+3+6"),
    ("3", 3, "last3"),
    ("0,3", (0, 3), "0+3"),
    ("4,", (4,), "4"),
    ("4-4", (4,), "4"),
    ("4-6", (4, 5, 6), "4+5+6"),
    ("0, 2-3, 5", (0, 2, 3, 5), "0+2+3+5"),
    (np.array([5, 4]), (4, 5), "4+5"),
    ([np.int64(4), np.uint8(5)], (4, 5), "4+5"),
    (np.int64(3), 3, "last3"),
]


@pytest.mark.parametrize(("layers", "indices", "signature_field"), LAYERS)
def test_layers_may_be_a_number_all_or_indices(layers, indices, signature_field):
    settings = BaryScoreSettings(layers=layers)
    assert settings.layers == indices and settings.signature_fields()["layers"] == signature_field
    assert settings.replace(idf=False) == BaryScoreSettings(layers=indices, idf=False)


INVALID_LAYERS = [0, -1, 2.5, "", "al", "-4", "4-", "1-4-6", "6-4", "0,6-4", "1,1", "1,0-2", []]
INVALID_LAYERS += [[1, 1], [-1], {4}, True]


@pytest.mark.parametrize("layers", INVALID_LAYERS, ids=str)
def test_messages_about_invalid_layers_show_every_form(layers):
    forms = r"layers must be a number N >= 1 .*last N.*, 'all', or .*0,3,6 .*4-4.*got "
    with pytest.raises(InputError, match=forms) as error:
        BaryScoreSettings(layers=layers)
    assert str(error.value).endswith(repr(tuple(layers) if type(layers) is list else layers))


def test_indices_must_be_whole_numbers():
    with pytest.raises(InputError, match=r"layers\[1\] must be a whole number, got '2'"):
        BaryScoreSettings(layers=[1, "2"])
    with pytest.raises(InputError, match=r"layers\[0\] must be a whole number, got array"):
        BaryScoreSettings(layers=np.array([[4]]))


INDICES = [(2, 4, (2, 3)), (4, 4, (0, 1, 2, 3)), ("all", 3, (0, 1, 2)), ((0, 6), 7, (0, 6))]


@pytest.mark.parametrize(("layers", "states", "indices"), INDICES)
def test_layers_are_resolved_to_indices_of_hidden_states(layers, states, indices):
    assert BaryScoreSettings(layers=layers).indices(states) == indices
