"""The settings of a sweep: every combination of the values that its lists hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from infolm_metric.infolm.measures import parameter_grid
from infolm_metric.infolm.settings import Settings, measure_names
from infolm_metric.kernel.idf.table import IDF


def settings_grid(
    plain: Settings,
    numbers: Mapping[str, Sequence[float] | None],
    idfs: Sequence[bool | str | IDF] | None,
    given: Mapping[str, Any],
) -> tuple[Settings, list[Settings]]:
    """What all settings of a sweep share, and the settings themselves, of one measure each.

    `numbers` holds the lists `temperatures`, `alphas` and `betas`; in the place of a list that is
    None stands the value that `plain` has with the changes `given`. Parameters outside a measure's
    domain are left out.

    Raises:
        TypeError, ValueError: a list or a value in it is wrong, or nothing is left.

    >>> lists = {"temperatures": [1.0, 2.0], "alphas": [0.5, 1.0], "betas": None}
    >>> _, grid = settings_grid(Settings(), lists, None, {"information_measure": "renyi"})
    >>> [(settings.temperature, settings.alpha) for settings in grid]
    [(1.0, 0.5), (2.0, 0.5)]
    """
    for name, values in numbers.items():
        if values is not None and not np.size(values):
            raise ValueError(f"{name} must be a list of at least one number, got {values!r}")
        if values is not None and np.ndim(values) != 1:
            raise TypeError(f"{name} must be a list of numbers, got {values!r}; use [{values!r}]")
    if idfs is not None and not (isinstance(idfs, list | tuple) and idfs):
        raise TypeError(
            f"idfs must be a list of at least one idf, got {idfs!r}; use such as "
            '["references", False]'
        )
    given = dict(given)
    asked = given.pop("information_measure", plain.information_measure)
    names = measure_names("information_measure", asked)
    # Without a measure of its own, because the parameters come from the lists.
    base = plain.replace(**given, information_measure="fisher_rao_distance")
    own = {"temperatures": base.temperature, "alphas": base.alpha, "betas": base.beta}
    lists: dict[str, Sequence[Any]] = {
        name: [own[name]] if values is None else values for name, values in numbers.items()
    }
    grid = [
        base.replace(idf=idf, temperature=heat, information_measure=name, alpha=alpha, beta=beta)
        for idf in ([base.idf] if idfs is None else idfs)
        for heat in lists["temperatures"]
        for name in ([names] if isinstance(names, str) else names)
        for alpha, beta in parameter_grid(name, lists["alphas"], lists["betas"])
    ]
    if not grid:
        raise ValueError(
            f"alphas={numbers['alphas']} and betas={numbers['betas']} hold no value in the domain "
            f"of {names}; see measures.MEASURES for the domains"
        )
    return base, grid
