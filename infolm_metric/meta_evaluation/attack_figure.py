"""Which attacks metrics notice: a figure and a table of what `infolm robustness --json` gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from infolm_metric.meta_evaluation.figures import grouped_bars

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTACKS = "attacks"
MEANS = {"accuracy": "macro", "sensitivity": "macro_sensitivity"}
GROUPS = ("all", "adequacy", "fluency")

Noticed = Mapping[str, Mapping[str, Any]]
"""Results by metric, with attacks and means, as `infolm robustness --json` has them."""


def noticed_of(found: Mapping[str, Any]) -> Noticed:
    """The results in what `infolm robustness --json` gives.

    >>> noticed_of({"metrics": {"infolm": {"attacks": {"nun": {}}}}})
    Traceback (most recent call last):
    ValueError: robustness: 'infolm' has no accuracy for 'nun'; ...
    """
    remedy = "give what `infolm robustness --json` wrote"
    metrics = found.get("metrics")
    if not isinstance(metrics, Mapping) or not metrics:
        raise ValueError(f"robustness: no results of metrics; {remedy}")
    for name, each in metrics.items():
        attacks = each.get(ATTACKS) if isinstance(each, Mapping) else None
        if not isinstance(attacks, Mapping) or not attacks:
            raise ValueError(f"robustness: {name!r} has no attacks; {remedy}")
        for attack, cell in attacks.items():
            if not isinstance(cell, Mapping) or not {"accuracy", "low", "high"} <= set(cell):
                raise ValueError(f"robustness: {name!r} has no accuracy for {attack!r}; {remedy}")
    return metrics


def attack_bars(noticed: Noticed) -> Figure:
    """Each metric's accuracy by attack, with its interval; none where there is no case."""
    attacks = list(dict.fromkeys(name for each in noticed.values() for name in each[ATTACKS]))
    bars = {}
    for name, each in noticed.items():
        cells = [each[ATTACKS].get(attack, {}) for attack in attacks]
        ends = [[cell.get(key) for cell in cells] for key in ("accuracy", "low", "high")]
        bars[name] = np.asarray(ends, dtype=float)  # None becomes NaN
    width = max(6.0, 0.16 * len(attacks) * (len(bars) + 1) + 2.0)
    figure, axes = grouped_bars(bars, "accuracy", width)
    axes.set_xticks(np.arange(len(attacks)), attacks, rotation=30, ha="right")
    axes.set_ylim(0.0, 1.0)
    return figure


def mean_table(noticed: Noticed) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of every metric's means over the attacks."""
    kinds = [(what, key, group) for what, key in MEANS.items() for group in GROUPS]
    rows = [
        [name, *(percent(each.get(key, {}).get(group)) for _, key, group in kinds)]
        for name, each in noticed.items()
    ]
    return [f"{what}, {group}" for what, _, group in kinds], rows


def percent(value: float | None) -> str:
    """The share in percent; a dash where there is none."""
    return "-" if value is None else f"{value:.1%}"
