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
COMPARED_BY = {
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
    written = dict(WORDS[name])
    if name == "information_measure":
        return Control(words={each: each for each in measures.MEASURES}, **written)
    values = written.pop("values", None)
    words = values and {value: said for value, said in values if _takes(metric, name, value)}
    return Control(words=words, **written)


def _takes(metric: str, name: str, value: Any) -> bool:
    try:
        return bool(SCORERS[metric](**{name: value}))
    except ValueError:
        return False


OFFERED = {
    "infolm": tuple(WORDS),
    "baryscore": ("multi_reference", "idf", "model_name_or_path"),
    "menli": ("multi_reference",),
}
CONTROLS = {
    metric: {name: _control(metric, name) for name in names} for metric, names in OFFERED.items()
}
NAMES = [(metric, name) for metric, controls in CONTROLS.items() for name in controls]
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
    chosen = {**DEFAULTS, **(settings or {})}
    for name, value in (settings or {}).items():
        if name not in CONTROLS[metric]:
            there = ", ".join(CONTROLS[metric])
            raise ValueError(f"unknown setting {name!r:.60} of {metric}; there are {there}")
        if (words := CONTROLS[metric][name].words) and value not in [*words]:
            there = ", ".join(map(str, words))
            raise ValueError(f"{name} must be one of {there}, got {value!r:.60}")
    if metric == "infolm":  # parameters that the measure does not have are left out
        measure = chosen.get("information_measure", default(metric, "information_measure"))
        used = [parameter.name for parameter in measures.MEASURES[measure].parameters]
        chosen = {k: v for k, v in chosen.items() if k not in PARAMETERS or k in used}
    own = SCORERS[metric](**chosen).settings
    for name, control in CONTROLS[metric].items():
        if control.range and not control.range[0] <= getattr(own, name) <= control.range[1]:
            low, high = control.range
            raise ValueError(f"{name} must lie between {low:g} and {high:g}, got {chosen[name]}")
    return chosen


def default(metric: str, name: str) -> Any:
    """The default of a metric's setting on the page."""
    return DEFAULTS.get(name, getattr(SCORERS[metric]().settings, name))


def make_controls(label: str, metric: str) -> tuple[gr.Radio, list[Any]]:
    """The choice of a metric, and every control in the order of NAMES, folded away."""
    by = gr.Radio([(words, name) for name, words in COMPARED_BY.items()], value=metric, label=label)
    groups, controls = {}, {}
    with gr.Accordion("Settings", open=False):
        for group in CONTROLS:
            with gr.Column(visible=group == metric) as groups[group]:
                for name in CONTROLS[group]:
                    controls[group, name] = _component(group, name)
    by.input(
        lambda chosen: [gr.update(visible=name == chosen) for name in groups],
        by,
        list(groups.values()),
        **QUIET,
    )
    measure = controls["infolm", "information_measure"]
    numbers = [controls["infolm", name] for name in PARAMETERS]
    measure.input(_measure_shown, measure, [measure, *numbers], **QUIET)
    return by, [controls[key] for key in NAMES]


def chosen(metric: str, values: Sequence[Any]) -> dict[str, Any]:
    """The settings in the values of the controls; an emptied number stands for the default."""
    named = zip(NAMES, values, strict=True)
    return {name: v for (group, name), v in named if group == metric and v is not None}


def _component(metric: str, name: str) -> Any:
    control = CONTROLS[metric][name]
    value: Any = default(metric, name) if control.start is None else control.start
    if control.words is None:
        shown = name not in PARAMETERS
        return gr.Number(
            value, label=control.label, info=control.info, step=0.25, visible=shown, min_width=120
        )
    info = control.info or (_about(value) if name == "information_measure" else None)
    choices = [(words, each) for each, words in control.words.items()]
    return gr.Dropdown(choices, value=value, label=control.label, info=info, filterable=False)


def _measure_shown(name: str) -> list[Any]:
    """Updates: what the measure is, and those of its parameters that it has."""
    used = [parameter.name for parameter in measures.MEASURES[name].parameters]
    return [gr.update(info=_about(name)), *(gr.update(visible=each in used) for each in PARAMETERS)]


def _about(measure: str) -> str:
    """What the measure is, in a sentence."""
    words = measures.MEASURES[measure].description
    return f"{words[:1].upper()}{words[1:]}. p: the reference, q: the candidate."
