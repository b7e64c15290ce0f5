"""Settings of BaryScore."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from infolm_metric.core.checks import InputError
from infolm_metric.core.settings import IDF_VALUES, EncodingSettings, IDFSetting, setting

LAYERS = (
    "a number N >= 1 (the last N hidden states), 'all', or distinct indices such as 0,3,6 or "
    "6-10 (4-4: layer 4 alone), where 0 means the embeddings"
)


@dataclass(frozen=True, kw_only=True)
class BaryScoreSettings(EncodingSettings):
    """Settings of BaryScore.

    Args:
        layers: hidden states to average: a number N (the last N states), "all", or indices such as
            0,3,6 (in Python, also a list) and ranges such as 6-10, where 0 means the embeddings.
            4-4 selects layer 4 alone.

    >>> BaryScoreSettings(layers=[6, 5]).layers, BaryScoreSettings(layers="0,2-4").layers
    ((5, 6), (0, 2, 3, 4))
    >>> BaryScoreSettings(layers=0)
    Traceback (most recent call last):
    infolm_metric.InputError: layers must be a number N >= 1 (the last N hidden states), ..., got 0
    """

    metric = "baryscore"

    # The default is as in the authors' code.
    layers: int | str | tuple[int, ...] = setting(5, allowed=LAYERS)
    idf: IDFSetting = setting("references", allowed=IDF_VALUES)
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
        infolm_metric.InputError: layers must be at most 7, or indices ..., got 8. This model ...
        """
        layers = self.layers
        if isinstance(layers, str):
            return tuple(range(states))
        if (layers if isinstance(layers, int) else layers[-1] + 1) > states:
            raise InputError(
                f"layers must be at most {states}, or indices from 0 (the embeddings) to "
                f"{states - 1}, got {layers}. This model has {states} hidden states, and "
                "layers='all' (in a combination: combine_layers='all') uses all of them.",
                setting="layers",
            )
        return tuple(range(states - layers, states)) if isinstance(layers, int) else layers

    def signature_fields(self) -> dict[str, object]:
        """Return the signature fields.

        >>> BaryScoreSettings(layers=1).signature_fields()["layers"]
        'last1'
        """
        label = f"last{self.layers}" if isinstance(self.layers, int) else self.layers
        label = label if isinstance(label, str) else "+".join(map(str, label))
        fields = {**super().signature_fields(), "layers": label}
        rule = fields.pop("multi_reference")
        # The cost of moving a token is the squared Euclidean distance.
        return {**fields, "ground": "sqeuclidean", "multi_reference": rule}


def _layers(layers: int | str | tuple[int, ...]) -> int | str | tuple[int, ...]:
    """Parse strings such as "0,3-5", and check and sort the indices."""
    if layers == "all":
        return layers
    values = _parse_layers(layers) if isinstance(layers, str) else layers
    if isinstance(values, int) and values >= 1:
        return values
    if isinstance(values, tuple) and values and len({*values}) == len(values) and min(values) >= 0:
        return tuple(sorted(values))
    raise InputError(f"layers must be {LAYERS}, got {layers!r}", setting="layers")


def _parse_layers(text: str) -> int | tuple[int, ...] | None:
    """Parse a number, or indices and ranges separated by commas, or return None."""
    text = text.replace(" ", "")
    if text.isdecimal():
        return int(text)
    if not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*,?", text):
        return None
    ends = [part.partition("-") for part in text.removesuffix(",").split(",")]
    ranges = [range(int(first), int(last or first) + 1) for first, _, last in ends]
    return tuple(chain.from_iterable(ranges)) if all(ranges) else None
