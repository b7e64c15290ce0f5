"""Settings of BaryScore."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from infolm_metric.core.idf import IDF
from infolm_metric.core.settings import ModelSettings, check_at_least, idf_of

GROUND = "sqeuclidean"  # what moving a unit of mass costs: the squared Euclidean distance


@dataclass(frozen=True, kw_only=True)
class BaryScoreSettings(ModelSettings):
    """Settings of BaryScore.

    Args:
        layers: hidden states that a token's place is the mean of: so many of the last, "all", or a
            list of indices, of which 0 is the embeddings (on the command line 0,3,6).
        idf: what weighs the tokens: references, separate (each side by its own texts), none (all
            alike), bundled (a table of English prose, for models with the bundled one's
            vocabulary), or the path of a table saved by infolm idf.
        multi_reference: the score of several references: their min or mean.

    >>> BaryScoreSettings(layers=[6, 5]).layers
    (5, 6)
    >>> BaryScoreSettings(layers=0)
    Traceback (most recent call last):
    ValueError: layers must be at least 1, got 0
    """

    metric = "baryscore"

    layers: int | str | tuple[int, ...] = 5  # as in the authors' code
    idf: bool | str | os.PathLike[str] | IDF | None = "references"
    multi_reference: Literal["min", "mean"] = "min"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "idf", idf_of(self.idf))
        object.__setattr__(self, "layers", _layers(self.layers))

    def indices(self, states: int) -> tuple[int, ...]:
        """Which of a model's `states` hidden states are read; ValueError if it has not enough.

        >>> BaryScoreSettings(layers=2).indices(7), BaryScoreSettings(layers="all").indices(3)
        ((5, 6), (0, 1, 2))
        >>> BaryScoreSettings(layers=8).indices(7)
        Traceback (most recent call last):
        ValueError: layers must be at most 7, the hidden states this model has with its ...
        """
        if isinstance(self.layers, str):
            return tuple(range(states))
        if isinstance(self.layers, int):
            if self.layers > states:
                raise ValueError(
                    f"layers must be at most {states}, the hidden states this model "
                    f"has with its embeddings, got {self.layers}; 'all' takes them all"
                )
            return tuple(range(states - self.layers, states))
        if self.layers[-1] >= states:
            raise ValueError(
                f"layers must hold indices from 0, the embeddings, to {states - 1}, "
                f"the last of this model's hidden states, got {self.layers[-1]}"
            )
        return self.layers

    def signed(self) -> dict[str, object]:
        """What can change a score.

        >>> BaryScoreSettings(layers=1).signed()["layers"]
        'last1'
        """
        label = f"last{self.layers}" if isinstance(self.layers, int) else self.layers
        label = label if isinstance(label, str) else "+".join(map(str, label))
        fields = {**super().signed(), "layers": label}
        rule = fields.pop("multi_reference")
        return {**fields, "ground": GROUND, "multi_reference": rule}


def _layers(layers: int | str | tuple[int, ...]) -> int | str | tuple[int, ...]:
    """The setting `layers` with its indices in order, also from words of the command line."""
    if isinstance(layers, str) and layers != "all":
        parts = layers.rstrip(",").split(",")
        if not all(part.strip().isdecimal() for part in parts):
            raise ValueError(
                "layers must be a number of last hidden states, 'all', or indices such as 0,3,6, "
                f"got {layers!r}"
            )
        layers = tuple(map(int, parts)) if "," in layers else int(layers)
    if isinstance(layers, tuple):
        if not layers or len(set(layers)) < len(layers) or min(layers) < 0:
            raise ValueError(
                "layers must hold at least one index of a hidden state, and each once, got "
                f"{layers!r}; 0 is the embeddings"
            )
        return tuple(sorted(layers))
    check_at_least("layers", layers, 1)
    return layers
