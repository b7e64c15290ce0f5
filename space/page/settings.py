"""Settings of the demo and their controls, which settings.toml describes.

Names, defaults and checks come from the settings of the metrics. A setting applies to every metric
that has it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from infolm_metric import measures
from infolm_metric.core.checks import InputError
from infolm_metric.metrics import METRICS

SCORERS = {name: metric.scorer_type() for name, metric in METRICS.items()}
DEFAULTS = {"model_name_or_path": "bundled"}  # replaces the default of the metrics
PARAMETERS = ("alpha", "beta")
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


CONTROLS = {
    name: Control(**fields)
    for name, fields in tomllib.loads(
        Path(__file__).with_name("settings.toml").read_text(encoding="utf-8")
    ).items()
}
MEASURES = [(measure, measure) for measure in measures.MEASURES]
CONTROLS["information_measure"] = Control(CONTROLS["information_measure"].label, values=MEASURES)
SHOWN = {name: control for name, control in CONTROLS.items() if control.shown}


def check_settings(metric: str, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Check the settings of a request, and add the demo's defaults.

    >>> check_settings("baryscore", {"idf": False})
    {'model_name_or_path': 'bundled', 'idf': False}
    >>> check_settings("infolm", {"device": "cuda"})
    Traceback (most recent call last):
    infolm_metric.InputError: unknown setting 'device' for infolm. Choose from ...
    """
    if not isinstance(metric, str) or metric not in SCORERS:
        raise InputError(f"metric must be one of all, {', '.join(SCORERS)}, got {metric!r:.60}")
    if not isinstance(settings or {}, Mapping):
        raise InputError(f"settings must be a dictionary, got {settings!r:.60}")
    controls = {name: x for name, x in CONTROLS.items() if metric in x.metrics}
    for name, value in (settings or {}).items():
        if name not in controls:
            remedy = f"Choose from {', '.join(controls)}." if controls else "Omit it."
            raise InputError(f"unknown setting {name!r:.60} for {metric}. {remedy}")
        choices = [x for x, _ in controls[name].values if x != ""] + [*controls[name].api]
        if controls[name].values and value not in choices:
            raise InputError(
                f"{name} must be one of {', '.join(map(str, choices))}, got {value!r:.60}"
            )
    settings = {**DEFAULTS, **(settings or {})}
    if metric == "infolm":  # drop parameters that the measure does not have
        parameters = _parameter_names(settings.get("information_measure", "fisher_rao_distance"))
        settings = {k: v for k, v in settings.items() if k not in PARAMETERS or k in parameters}
    metric_settings = SCORERS[metric](**settings).settings
    for name, (low, high) in ((name, x.range) for name, x in controls.items() if x.range):
        if not low <= getattr(metric_settings, name) <= high:
            raise InputError(f"{name} must be between {low:g} and {high:g}, got {settings[name]}")
    return settings


def divide_settings(settings: Any) -> dict[str, Any]:
    """Return the settings of each metric among the settings of all metrics.

    >>> divide_settings({"idf": False})["menli"], divide_settings({"idf": False})["infolm"]
    ({}, {'idf': False})
    """
    if not isinstance(settings or {}, Mapping):
        raise InputError(f"settings must be a dictionary, got {settings!r:.60}")
    for name in settings or {}:
        if name not in CONTROLS:
            raise InputError(f"unknown setting {name!r:.60}. Choose from {', '.join(CONTROLS)}.")
    return {
        metric: {k: v for k, v in (settings or {}).items() if metric in CONTROLS[k].metrics}
        for metric in SCORERS
    }


def make_controls(radio: gr.Radio | None = None) -> list[Any]:
    """Create a collapsed section with all controls, or with the controls of the radio's metric."""
    with gr.Accordion("Settings", open=False):
        controls = [_component(name) for name in SHOWN]
    inputs = [controls[0], radio] if radio else [controls[0]]
    gr.on([field.change for field in inputs], _show, inputs, controls, **QUIET)
    return controls


def read_settings(values: Sequence[Any], metric: str | None = None) -> dict[str, Any]:
    """Return the settings in all controls, or the metric's settings, without defaults."""
    return {
        name: value
        for (name, control), value in zip(SHOWN.items(), values, strict=True)
        if value not in (None, "") and metric in (None, *control.metrics)
    }


def _component(name: str) -> Any:
    control = SHOWN[name]
    values = [value for value, _ in control.values]
    default = DEFAULTS.get(name, getattr(SCORERS[control.metrics[0]]().settings, name))
    value = "" if "" in values else default if control.start is None else control.start
    info = _describe(value) if name == "information_measure" else control.info
    options: dict[str, Any] = {"value": value, "label": control.label, "info": info}
    if not values:
        return gr.Number(**options, step=0.25, visible=name not in PARAMETERS, min_width=120)
    choices = [(label, value) for value, label in control.values]
    return gr.Dropdown(choices, **options, filterable=False)


def _show(measure: str, metric: str = "") -> list[Any]:
    """Return updates that show the controls of a metric, or of all, and describe the measure."""
    parameters = _parameter_names(measure)
    visible = {
        name: metric in ("", *control.metrics) and (name not in PARAMETERS or name in parameters)
        for name, control in SHOWN.items()
    }
    described = {"information_measure": {"info": _describe(measure)}}
    return [gr.update(visible=shown, **described.get(name, {})) for name, shown in visible.items()]


def _parameter_names(measure: str) -> list[str]:
    return [parameter.name for parameter in measures.MEASURES[measure].parameters]


def _describe(measure: str) -> str:
    """Return a one-sentence description of a measure."""
    words = measures.MEASURES[measure].description
    return f"{words[:1].upper()}{words[1:]}. p: the reference, q: the candidate."
