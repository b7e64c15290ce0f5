"""Settings of the demo and their controls.

Names, defaults and checks come from the settings of the metrics. settings.toml names the metrics of
each setting.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from infolm_metric.core.checks import InputError, check_known, check_names
from infolm_metric.infolm.measure_table import MEASURES
from infolm_metric.metrics import METRICS

from .appearance import TEXTS, read_toml

SCORERS = {name: metric.scorer_type() for name, metric in METRICS.items()}
DEFAULTS = {"model_name_or_path": "bundled"}  # replaces the default of the metrics
# Options of events that only change the layout.
QUIET: dict[str, Any] = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}


@dataclass(frozen=True)
class Control:
    """Control for a setting: a menu with labeled values, or a number in a range."""

    label: str
    metrics: Sequence[str] = ("infolm",)  # metrics with this setting
    info: str | None = None
    values: Sequence[tuple[Any, str]] = ()  # values and labels. "" is the default of each metric
    api: Sequence[Any] = ()  # other values that the API accepts
    range: tuple[float, float] | None = None
    start: Any = None  # initial value of a setting without a default
    shown: bool = True


CONTROLS = {name: Control(**fields) for name, fields in read_toml("settings.toml").items()}
NAMED_MEASURES = [(name, f"{TEXTS['measures'].get(name, name)} ({name})") for name in MEASURES]
CONTROLS["information_measure"] = replace(CONTROLS["information_measure"], values=NAMED_MEASURES)
SHOWN = {name: control for name, control in CONTROLS.items() if control.shown}


def check_settings(metric: str, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Check the settings of a request, and add the demo's defaults.

    >>> check_settings("baryscore", {"idf": False})
    {'model_name_or_path': 'bundled', 'idf': False}
    >>> check_settings("infolm", {"device": "cuda"})
    Traceback (most recent call last):
    infolm_metric.InputError: unknown setting of infolm: 'device'. Known: ...
    """
    check_known("metric", metric, list(SCORERS), every=True)
    controls = {name: x for name, x in CONTROLS.items() if metric in x.metrics}
    chosen = _check_names(settings, controls, f"unknown setting of {metric}:")
    for name, value in chosen.items():  # before the settings, which may read a file
        choices = [x for x, _ in controls[name].values if x != ""] + [*controls[name].api]
        if choices and value not in choices:
            raise InputError(
                f"{name} must be one of {', '.join(map(str, choices))}, got {value!r:.60}"
            )
    checked = SCORERS[metric].settings_type.of(**DEFAULTS | chosen)
    for name, (low, high) in ((name, x.range) for name, x in controls.items() if x.range):
        if not low <= getattr(checked, name) <= high:
            raise InputError(f"{name} must be between {low:g} and {high:g}, got {chosen[name]}")
    return DEFAULTS | chosen


def divide_settings(settings: Any) -> dict[str, dict[str, Any]]:
    """Return the given settings by metric, each metric with the settings that it has.

    >>> divide_settings({"idf": False})["menli"], divide_settings({"idf": False})["infolm"]
    ({}, {'idf': False})
    """
    chosen = _check_names(settings, CONTROLS, "unknown setting")
    return {
        metric: {k: v for k, v in chosen.items() if metric in CONTROLS[k].metrics}
        for metric in SCORERS
    }


def _check_names(settings: Any, names: Collection[str], problem: str) -> dict[str, Any]:
    """Check the names of settings, a dictionary or None, and return a copy."""
    if not isinstance(settings or {}, Mapping):
        raise InputError(f"settings must be a dictionary, got {settings!r:.60}")
    check_names(settings or {}, names, problem)
    return dict(settings or {})


def make_controls(metric: str) -> list[Any]:
    """Create all controls. Only the controls of `metric` are visible."""
    with gr.Row(elem_id="settings", equal_height=True):
        return [_component(name, metric) for name in SHOWN]


def show_controls(metric: str) -> list[Any]:
    """Return updates that show only the controls of a metric."""
    return [gr.update(visible=metric in control.metrics) for control in SHOWN.values()]


def read_settings(values: Sequence[Any]) -> dict[str, Any]:
    """Return the settings in all controls, except empty controls and the default choice ""."""
    pairs = zip(SHOWN, values, strict=True)
    return {name: value for name, value in pairs if value not in (None, "")}


def _component(name: str, metric: str) -> Any:
    control = SHOWN[name]
    values = [value for value, _ in control.values]
    default = DEFAULTS.get(name, getattr(SCORERS[control.metrics[0]].settings_type(), name))
    options: dict[str, Any] = {
        "value": "" if "" in values else default if control.start is None else control.start,
        "label": control.label,
        "info": control.info,
        "visible": metric in control.metrics,
        "min_width": 160,
    }
    if not values:
        return gr.Number(**options, step=0.25)
    return gr.Dropdown(
        [(label, value) for value, label in control.values], **options, filterable=False
    )
