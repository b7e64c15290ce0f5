"""Options of commands that take several metrics: a setting goes to those that have it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from infolm_metric import metrics
from infolm_metric.commands.options import (
    QUIET,
    Option,
    flag_names,
    known_beside_scores,
    read_settings,
    repeated,
    setting,
)

if TYPE_CHECKING:
    from infolm_metric.kernel.scorer import MetricScorer
    from infolm_metric.kernel.settings import Settings

NOT_HERE = ("rescale_with_baseline",)
"""Settings that change no order of scores."""


def metrics_option(more: str = "") -> Option:
    """The option that names one metric or several; its help ends with `more`."""
    said = f"a metric: {', '.join(metrics.METRICS)}; repeat for several{more}"
    return repeated("--metric", said, type=known_beside_scores)


def several_setting_options() -> dict[str, tuple[Option, ...]]:
    """The settings of all metrics by heading, those that several have first, each once."""
    owners: dict[str, list[type[Settings]]] = {}
    for metric in metrics.METRICS.values():
        own: type[Settings] = metric.settings_type()
        for name in flag_names(own):
            if name not in NOT_HERE:
                owners.setdefault(name, []).append(own)
    groups: dict[str, tuple[Option, ...]] = {}
    taken: set[str] = set()
    for name, those in sorted(owners.items(), key=lambda each: -len(each[1])):
        heading = f"settings of {' and '.join(each.metric for each in those)}"
        made = setting(those[0], name)
        flags = tuple(flag for flag in made.flags if flag not in taken)
        taken.update(flags)
        if flags:
            groups[heading] = (*groups.get(heading, ()), Option(flags, made.keywords))
    first = next(iter(groups))
    groups[first] = (*groups[first], QUIET)
    return groups


def make_scorers(names: Sequence[str], arguments: argparse.Namespace) -> dict[str, MetricScorer]:
    """A scorer of each metric, with those of the settings given that it has.

    Raises ValueError for a setting that none of them has; checked before torch is imported.
    """
    types = {name: metrics.find(name).settings_type() for name in names}
    _check_owned(types, arguments)
    settings = {name: read_settings(own, arguments) for name, own in types.items()}
    return {name: metrics.find(name).scorer_type()(**vars(settings[name])) for name in types}


def all_flags() -> dict[str, str]:
    """The flag of each setting that has one, of any metric, as messages spell it."""
    each = (flag_names(metric.settings_type()) for metric in metrics.METRICS.values())
    return {name: flag for flags in each for name, flag in flags.items()}


def _check_owned(types: Mapping[str, type[Settings]], arguments: argparse.Namespace) -> None:
    for metric in metrics.METRICS.values():
        for name, flag in flag_names(metric.settings_type()).items():
            if name in arguments and not any(name in own.choices() for own in types.values()):
                asked = " or ".join(types) or "scores made elsewhere"
                raise ValueError(
                    f"{flag} is a setting of {metric.name}, not of {asked}; leave it out or add "
                    f"--metric {metric.name}"
                )
