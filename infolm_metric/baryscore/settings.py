"""Settings of BaryScore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from infolm_metric.core.checks import check_at_least
from infolm_metric.core.settings import EncodingSettings, IDFSetting

GROUND = "sqeuclidean"  # ground cost: squared Euclidean distance


@dataclass(frozen=True, kw_only=True)
class BaryScoreSettings(EncodingSettings):
    """Settings of BaryScore.

    Args:
        layers: hidden states to average: a number N (the last N states), "all", or a list of
            indices such as 0,3,6, where 0 means the embeddings.

    >>> BaryScoreSettings(layers=[6, 5]).layers
    (5, 6)
    >>> BaryScoreSettings(layers=0)
    Traceback (most recent call last):
    ValueError: layers must be at least 1, got 0
    """

    metric = "baryscore"

    layers: int | str | tuple[int, ...] = 5  # as in the authors' code
    idf: IDFSetting = "references"
    multi_reference: Literal["min", "mean"] = "min"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "layers", _layers(self.layers))

    def indices(self, states: int) -> tuple[int, ...]:
        """Return the indices of the states to average in a model with `states` hidden states.

        >>> BaryScoreSettings(layers=2).indices(7), BaryScoreSettings(layers="all").indices(3)
        ((5, 6), (0, 1, 2))
        >>> BaryScoreSettings(layers=8).indices(7)
        Traceback (most recent call last):
        ValueError: layers must be at most 7, got 8; this model has 7 hidden ...
        """
        if isinstance(self.layers, str):
            return tuple(range(states))
        if isinstance(self.layers, int):
            if self.layers > states:
                raise ValueError(
                    f"layers must be at most {states}, got {self.layers}; this model has {states} "
                    "hidden states, including the embeddings, and layers='all' uses all of them"
                )
            return tuple(range(states - self.layers, states))
        if self.layers[-1] >= states:
            raise ValueError(
                f"layers must be indices from 0 (the embeddings) to {states - 1} (the last hidden "
                f"state of this model), got {self.layers[-1]}"
            )
        return self.layers

    def signature_fields(self) -> dict[str, object]:
        """Return the signature fields.

        >>> BaryScoreSettings(layers=1).signature_fields()["layers"]
        'last1'
        """
        label = f"last{self.layers}" if isinstance(self.layers, int) else self.layers
        label = label if isinstance(label, str) else "+".join(map(str, label))
        fields = {**super().signature_fields(), "layers": label}
        rule = fields.pop("multi_reference")
        return {**fields, "ground": GROUND, "multi_reference": rule}


def _layers(layers: int | str | tuple[int, ...]) -> int | str | tuple[int, ...]:
    """Parse strings such as "0,3,6", and check and sort the indices."""
    if isinstance(layers, str) and layers != "all":
        parts = layers.rstrip(",").split(",")
        if not all(part.strip().isdecimal() for part in parts):
            raise ValueError(
                "layers must be a number N (the last N hidden states), 'all', or indices such as "
                f"0,3,6, got {layers!r}"
            )
        layers = tuple(map(int, parts)) if "," in layers else int(layers)
    if isinstance(layers, tuple):
        if not layers or len(set(layers)) < len(layers) or min(layers) < 0:
            raise ValueError(
                "layers must be one or more distinct hidden-state indices, starting at 0 (the "
                f"embeddings), got {layers!r}"
            )
        return tuple(sorted(layers))
    check_at_least("layers", layers, 1)
    return layers
