"""Which attacks metrics notice: a figure and a table of what `infolm robustness --json` gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from infolm_metric.meta_evaluation.figures import COLOURS, legend_above, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ATTACKS = "attacks"
MEANS = {"accuracy": "macro", "sensitivity": "macro_sensitivity"}
GROUPS = ("all", "adequacy", "fluency")


@dataclass(frozen=True)
class MeanRow:
    """A metric's means over the attacks, as words by heading."""

    metric: str
    values: Mapping[str, str]
    signature: str | None


@dataclass(frozen=True)
class Noticed:
    """Results by metric, with attacks and means, as `infolm robustness --json` has them."""

    metrics: Mapping[str, Mapping[str, Any]]

    @property
    def attacks(self) -> list[str]:
        """The attacks that any metric has a result for."""
        return list(dict.fromkeys(name for each in self.metrics.values() for name in each[ATTACKS]))

    def rows(self) -> list[MeanRow]:
        """The means of every metric, in percent."""
        return [
            MeanRow(
                name,
                {
                    f"{what}, {group}": _percent(each.get(key, {}).get(group))
                    for what, key in MEANS.items()
                    for group in GROUPS
                },
                each.get("signature"),
            )
            for name, each in self.metrics.items()
        ]


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
    return Noticed(metrics)


def attack_bars(noticed: Noticed) -> Figure:
    """Each metric's accuracy by attack, with its interval; none where there is no case."""
    attacks, count = noticed.attacks, len(noticed.metrics)
    figure, (axes,) = new_figure(1, width=max(6.0, 0.16 * len(attacks) * (count + 1) + 2.0))
    width = 0.8 / count
    for index, (name, each) in enumerate(noticed.metrics.items()):
        cells = [each[ATTACKS].get(attack, {}) for attack in attacks]
        values, low, high = (
            np.asarray([np.nan if cell.get(key) is None else cell[key] for cell in cells], float)
            for key in ("accuracy", "low", "high")
        )
        places = np.arange(len(attacks)) + (index - (count - 1) / 2) * width
        axes.bar(places, values, 0.9 * width, color=COLOURS[index % len(COLOURS)], label=name)
        reach = np.maximum(0, [values - low, high - values])
        axes.errorbar(places, values, yerr=reach, fmt="none", ecolor="#444444", elinewidth=0.9)
    axes.set_xticks(np.arange(len(attacks)), attacks, rotation=30, ha="right")
    axes.set_ylabel("accuracy")
    axes.set_ylim(0.0, 1.0)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    legend_above(figure, axes, count)
    return figure


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
