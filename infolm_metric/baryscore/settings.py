"""Every choice a user of BaryScore can make, with its default and its check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infolm_metric.kernel.checks import whole_number
from infolm_metric.kernel.model_settings import ModelSettings, idf_choice, multi_reference_choice
from infolm_metric.kernel.settings import choice

if TYPE_CHECKING:
    from infolm_metric.kernel.idf.table import IDF

ALL = "all"
LAST = 5  # hidden states, as in the authors' code
GROUND = "sqeuclidean"  # what moving a unit of mass costs: the squared Euclidean distance


def layer_choice(name: str, value: Any) -> int | str | tuple[int, ...]:
    """How many of the last hidden states, "all" of them, or the indices of some.

    Arrays of indices, and words that hold them, as the command line has them, do as well. Raises
    TypeError or ValueError for anything else.

    >>> layer_choice("layers", 5), layer_choice("layers", [6, 4]), layer_choice("layers", "4,6")
    (5, (4, 6), (4, 6))
    """
    if isinstance(value, str):
        if value == ALL:
            return value
        parts = value.rstrip(",").split(",")
        if not all(part.strip().isdecimal() for part in parts):
            raise ValueError(
                f"{name} must be a number of last hidden states, 'all', or indices such as 0,3,6, "
                f"got {value!r}"
            )
        numbers = [int(part) for part in parts]
        return layer_choice(name, numbers if "," in value else numbers[0])
    value = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        return whole_number(name, value)
    indices = [whole_number(name, each, least=0) for each in value]
    if not indices or len(set(indices)) < len(indices):
        raise ValueError(
            f"{name} must hold at least one index of a hidden state, and each once, got {value!r}; "
            "0 is the embeddings"
        )
    return tuple(sorted(indices))


@dataclass(frozen=True)
class Settings(ModelSettings):
    """A checked set of choices; raises ValueError or TypeError that names the wrong one.

    >>> Settings.of(layers=[6, 5]).layers
    (5, 6)
    >>> Settings.of(layer=5)
    Traceback (most recent call last):
    TypeError: unknown setting 'layer'; did you mean 'layers'?
    """

    metric = "baryscore"
    default_model = "google-bert/bert-base-uncased"  # as in the paper

    layers: int | str | tuple[int, ...] = choice(
        LAST,
        layer_choice,
        "hidden states that a token's place is the mean of: so many of the last (default: 5), all, "
        "or a list of indices, of which 0 is the embeddings",
        "--layers",
        signed=True,
        given="int | str | Sequence[int]",
    )
    idf: bool | str | IDF = idf_choice()
    multi_reference: str = multi_reference_choice()

    def indices(self, states: int) -> tuple[int, ...]:
        """Which of a model's `states` hidden states are read; ValueError if it has not enough.

        >>> Settings(layers=2).indices(7), Settings(layers="all").indices(3)
        ((5, 6), (0, 1, 2))
        >>> Settings(layers=8).indices(7)
        Traceback (most recent call last):
        ValueError: layers must be at most 7, the hidden states this model has with its ...
        """
        if self.layers == ALL:
            return tuple(range(states))
        if isinstance(self.layers, int):
            if self.layers > states:
                raise ValueError(
                    f"layers must be at most {states}, the hidden states this model "
                    f"has with its embeddings, got {self.layers}; 'all' takes them all"
                )
            return tuple(range(states - self.layers, states))
        chosen = tuple(int(index) for index in self.layers)
        if chosen[-1] >= states:
            raise ValueError(
                f"layers must hold indices from 0, the embeddings, to {states - 1}, "
                f"the last of this model's hidden states, got {chosen[-1]}"
            )
        return chosen

    def signed(self) -> dict[str, object]:
        """What can change a score.

        >>> Settings(layers=1).signed()["layers"], Settings(layers=(0, 3)).signed()["layers"]
        ('last1', '0+3')
        """
        layers = self.layers
        if isinstance(layers, int):
            words = f"last{layers}"
        else:
            words = layers if isinstance(layers, str) else "+".join(map(str, layers))
        fields = {**super().signed(), "layers": words}
        shown: dict[str, object] = {}
        for name, value in fields.items():
            shown |= {name: value, "ground": GROUND} if name == "idf" else {name: value}
        return shown
