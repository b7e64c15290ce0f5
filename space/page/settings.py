"""The settings that the page offers, by the words of settings.toml, and the components of them.

Names, defaults and checks are those of the metrics' own settings.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer, measures

SCORERS: dict[str, Any] = {"infolm": InfoLMScorer, "baryscore": BaryScorer, "menli": MENLIScorer}
DEFAULTS = {"model_name_or_path": "bundled"}  # of the page, where they are not the metric's
LABELS = {
    "infolm": "InfoLM: what a language model expects in each word’s place",
    "baryscore": "BaryScore: how far apart the words lie inside the model",
    "menli": "MENLI: whether each text follows from the other",
}
PARAMETERS = ("alpha", "beta")
WORDS = tomllib.loads(Path(__file__).with_name("settings.toml").read_text())
QUIET: dict[str, Any] = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}
"""Of events that only rearrange the page."""


@dataclass(frozen=True)
class Control:
    """How the page asks for a setting: by words for each value, or by a number in a range."""

    label: str
    info: str | None = None
    words: Mapping[Any, str] | None = None
    range: tuple[float, float] | None = None
    start: float | None = None  # where the setting has no default


def _control(metric: str, name: str) -> Control:
    """A control, with those of the page's values that the metric's own settings take."""
    fields = dict(WORDS[name])
    values = fields.pop("values", None)
    words = values and {value: label for value, label in values if _takes(metric, name, value)}
    if name == "information_measure":
        words = {measure: measure for measure in measures.MEASURES}
    return Control(words=words, **fields)


def _takes(metric: str, name: str, value: Any) -> bool:
    try:
        return bool(SCORERS[metric](**{name: value}))
    except ValueError:
        return False


SETTINGS = {
    "infolm": tuple(WORDS),
    "baryscore": ("multi_reference", "idf", "model_name_or_path"),
    "menli": ("multi_reference",),
}
CONTROLS = {
    metric: {name: _control(metric, name) for name in names} for metric, names in SETTINGS.items()
}
CONTROL_KEYS = [(metric, name) for metric, controls in CONTROLS.items() for name in controls]
"""The controls in the order of the page."""


def check_settings(metric: str, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings of a request with the page's defaults, checked as the metric's own.

    Raises:
        TypeError, ValueError: the metric or a setting is unknown, or a value is wrong.

    >>> check_settings("baryscore", {"idf": False})
    {'model_name_or_path': 'bundled', 'idf': False}
    >>> check_settings("infolm", {"device": "cuda"})
    Traceback (most recent call last):
    ValueError: unknown setting 'device' of infolm; there are information_measure, alpha, ...
    """
    if not isinstance(metric, str) or metric not in CONTROLS:
        raise ValueError(f"metric must be one of {', '.join(CONTROLS)}, got {metric!r:.60}")
    if not isinstance(settings or {}, Mapping):
        raise TypeError(f"settings must be a dictionary, got {settings!r:.60}")
    controls = CONTROLS[metric]
    for name, value in (settings or {}).items():
        if name not in controls:
            choices = ", ".join(controls)
            raise ValueError(f"unknown setting {name!r:.60} of {metric}; there are {choices}")
        if (words := controls[name].words) and value not in [*words]:
            choices = ", ".join(map(str, words))
            raise ValueError(f"{name} must be one of {choices}, got {value!r:.60}")
    settings = {**DEFAULTS, **(settings or {})}
    if metric == "infolm":  # parameters that the measure does not have are left out
        measure = settings.get("information_measure", default(metric, "information_measure"))
        parameters = _parameters_of(measure)
        settings = {k: v for k, v in settings.items() if k not in PARAMETERS or k in parameters}
    metric_settings = SCORERS[metric](**settings).settings
    ranges = {name: control.range for name, control in controls.items() if control.range}
    for name, (low, high) in ranges.items():
        if not low <= getattr(metric_settings, name) <= high:
            raise ValueError(f"{name} must lie between {low:g} and {high:g}, got {settings[name]}")
    return settings


def default(metric: str, name: str) -> Any:
    """The default of a metric's setting on the page."""
    return DEFAULTS.get(name, getattr(SCORERS[metric]().settings, name))


def make_controls(label: str, metric: str) -> tuple[gr.Radio, list[Any]]:
    """The choice of a metric, and every control in the order of CONTROL_KEYS, folded away."""
    radio = gr.Radio([(words, name) for name, words in LABELS.items()], value=metric, label=label)
    groups, controls = {}, {}
    with gr.Accordion("Settings", open=False):
        for group in CONTROLS:
            with gr.Column(visible=group == metric) as groups[group]:
                for name in CONTROLS[group]:
                    controls[group, name] = _component(group, name)
    radio.input(
        lambda choice: [gr.update(visible=name == choice) for name in groups],
        radio,
        list(groups.values()),
        **QUIET,
    )
    measure = controls["infolm", "information_measure"]
    numbers = [controls["infolm", name] for name in PARAMETERS]
    measure.input(_show_measure, measure, [measure, *numbers], **QUIET)
    return radio, list(controls.values())


def settings_of(metric: str, values: Sequence[Any]) -> dict[str, Any]:
    """The settings in the values of the controls; an emptied number stands for the default."""
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
    """Updates: what the measure is, and those of its parameters that it has."""
    parameters = _parameters_of(measure)
    numbers = [gr.update(visible=name in parameters) for name in PARAMETERS]
    return [gr.update(info=_describe(measure)), *numbers]


def _parameters_of(measure: str) -> list[str]:
    return [parameter.name for parameter in measures.MEASURES[measure].parameters]


def _describe(measure: str) -> str:
    """What the measure is, in a sentence."""
    words = measures.MEASURES[measure].description
    return f"{words[:1].upper()}{words[1:]}. p: the reference, q: the candidate."
