"""The settings of `InfoLMScorer.sweep`: every combination of the values that its lists hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from infolm_metric.infolm.settings import Settings, measure_names


def swept_settings(
    plain: Settings, lists: Mapping[str, Sequence[Any] | None], **given: Any
) -> list[Settings]:
    """The settings of a sweep, of one measure each: those of `plain` with the changes `given`.

    `lists` holds the values under the settings' names with an "s"; in the place of a list that is
    None stands the value without it. Parameters outside a measure's domain are left out.

    Raises:
        TypeError, ValueError: a list or a value in it is wrong, or nothing is left.

    >>> lists = {"temperatures": [1.0, 2.0], "alphas": [0.5, 1.0]}
    >>> grid = swept_settings(Settings(), lists, information_measure="renyi")
    >>> [(settings.temperature, settings.alpha) for settings in grid]
    [(1.0, 0.5), (2.0, 0.5)]
    """
    for name, values in lists.items():
        if values is None:
            continue
        if name == "idfs":
            if not (isinstance(values, list | tuple) and values):
                raise TypeError(
                    f"idfs must be a list of at least one idf, got {values!r}; use such as "
                    '["references", False]'
                )
        elif not np.size(values):
            raise ValueError(f"{name} must be a list of at least one number, got {values!r}")
        elif np.ndim(values) != 1:
            raise TypeError(f"{name} must be a list of numbers, got {values!r}; use [{values!r}]")
    asked = given.pop("information_measure", plain.information_measure)
    names = measure_names("information_measure", asked)
    # Without a measure of its own, because the parameters come from the lists.
    base = plain.replace(**given, information_measure="fisher_rao_distance")
    swept = {name.removesuffix("s"): each for name, each in lists.items() if each is not None}
    return base.grid({**swept, "information_measure": [names] if isinstance(names, str) else names})
