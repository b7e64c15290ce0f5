"""Settings of the demo and their controls, which settings.toml describes.

Names, defaults and checks come from the settings of the metrics.
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
METRIC_LABELS = {
    "infolm": "InfoLM: predicted words",
    "baryscore": "BaryScore: word embeddings",
    "bertscore": "BERTScore: best match of each word",
    "menli": "MENLI: entailment and contradiction",
    "answer_check": "answer_check: an LLM’s answer",
}
PARAMETERS = ("alpha", "beta")
SETTING_TEXTS = tomllib.loads(Path(__file__).with_name("settings.toml").read_text())
SETTING_TEXTS["information_measure"]["values"] = [
    (measure, measure) for measure in measures.MEASURES
]
# Options of events that only change the layout.
QUIET: dict[str, Any] = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}


@dataclass(frozen=True)
class Control:
    """Control for a setting: a menu with labeled values, or a number in a range."""

    label: str
    info: str | None = None
    words: Mapping[Any, str] | None = None
    range: tuple[float, float] | None = None
    start: Any = None  # initial value of a setting without a default


def _control(metric: str, values: Sequence[Any] = (), **fields: Any) -> Control:
    """Return a control with the values that this metric accepts."""
    words = {value: label for value, label, *metrics in values if metric in (metrics or [metric])}
    return Control(words=words or None, **fields)


OWNERS = {name: fields.pop("metrics", ["infolm"]) for name, fields in SETTING_TEXTS.items()}
CONTROLS = {
    metric: {
        name: _control(metric, **SETTING_TEXTS[name])
        for name in SETTING_TEXTS
        if metric in OWNERS[name]
    }
    for metric in SCORERS
}
# Metric and setting of each control, in the order in which the demo shows them.
CONTROL_KEYS = [(metric, name) for metric, controls in CONTROLS.items() for name in controls]


def check_settings(metric: str, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Check the settings of a request, and add the demo's defaults.

    >>> check_settings("baryscore", {"idf": False})
    {'model_name_or_path': 'bundled', 'idf': False}
    >>> check_settings("infolm", {"device": "cuda"})
    Traceback (most recent call last):
    infolm_metric.InputError: unknown setting 'device' for infolm. Choose from ...
    """
    if not isinstance(metric, str) or metric not in CONTROLS:
        raise InputError(f"metric must be one of {', '.join(CONTROLS)}, got {metric!r:.60}")
    if not isinstance(settings or {}, Mapping):
        raise InputError(f"settings must be a dictionary, got {settings!r:.60}")
    controls = CONTROLS[metric]
    for name, value in (settings or {}).items():
        if name not in controls:
            remedy = f"Choose from {', '.join(controls)}" if controls else "Omit it"
            raise InputError(f"unknown setting {name!r:.60} for {metric}. {remedy}.")
        if (words := controls[name].words) and value not in [*words]:
            choices = ", ".join(map(str, words))
            raise InputError(f"{name} must be one of {choices}, got {value!r:.60}")
    settings = {**DEFAULTS, **(settings or {})}
    if metric == "infolm":  # drop parameters that the measure does not have
        measure = settings.get("information_measure", default(metric, "information_measure"))
        parameters = _parameter_names(measure)
        settings = {k: v for k, v in settings.items() if k not in PARAMETERS or k in parameters}
    metric_settings = SCORERS[metric](**settings).settings
    ranges = {name: control.range for name, control in controls.items() if control.range}
    for name, (low, high) in ranges.items():
        if not low <= getattr(metric_settings, name) <= high:
            raise InputError(f"{name} must be between {low:g} and {high:g}, got {settings[name]}")
    return settings


def default(metric: str, name: str) -> Any:
    """Return the demo's default for a setting."""
    return DEFAULTS.get(name, getattr(SCORERS[metric]().settings, name))


def make_controls(label: str, metric: str) -> tuple[gr.Radio, list[Any]]:
    """Create the metric menu and a collapsed section with all controls, ordered by CONTROL_KEYS."""
    radio = gr.Radio(
        [(words, name) for name, words in METRIC_LABELS.items()], value=metric, label=label
    )
    groups, controls = {}, {}
    with gr.Accordion("Settings", open=False, visible=bool(CONTROLS[metric])) as settings:
        for group in CONTROLS:
            with gr.Column(visible=group == metric) as groups[group]:
                for name in CONTROLS[group]:
                    controls[group, name] = _component(group, name)
    radio.change(  # by a visitor or an example
        lambda choice: [
            gr.update(visible=bool(CONTROLS[choice])),
            *(gr.update(visible=name == choice) for name in groups),
        ],
        radio,
        [settings, *groups.values()],
        **QUIET,
    )
    measure = controls["infolm", "information_measure"]
    numbers = [controls["infolm", name] for name in PARAMETERS]
    measure.input(_show_measure, measure, [measure, *numbers], **QUIET)
    return radio, list(controls.values())


def read_settings(metric: str, values: Sequence[Any]) -> dict[str, Any]:
    """Return a metric's settings from the values of all controls. Skip empty numbers."""
    items = zip(CONTROL_KEYS, values, strict=True)
    return {name: v for (group, name), v in items if group == metric and v is not None}


def _component(metric: str, name: str) -> Any:
    control = CONTROLS[metric][name]
    value: Any = default(metric, name) if control.start is None else control.start
    info = _describe(value) if name == "information_measure" else control.info
    options: dict[str, Any] = {"value": value, "label": control.label, "info": info}
    if control.words is None:
        return gr.Number(**options, step=0.25, visible=name not in PARAMETERS, min_width=120)
    choices = [(label, word) for word, label in control.words.items()]
    return gr.Dropdown(choices, **options, filterable=False)


def _show_measure(measure: str) -> list[Any]:
    """Return updates that describe a measure and show the controls for its parameters."""
    parameters = _parameter_names(measure)
    numbers = [gr.update(visible=name in parameters) for name in PARAMETERS]
    return [gr.update(info=_describe(measure)), *numbers]


def _parameter_names(measure: str) -> list[str]:
    return [parameter.name for parameter in measures.MEASURES[measure].parameters]


def _describe(measure: str) -> str:
    """Return a one-sentence description of a measure."""
    words = measures.MEASURES[measure].description
    return f"{words[:1].upper()}{words[1:]}. p: the reference, q: the candidate."
