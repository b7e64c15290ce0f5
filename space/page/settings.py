"""The settings that the page offers: a table of how each is asked for, and the components of it.

Names, defaults and checks are those of the metrics' own settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer, measures

from .limits import COMPARED_TOKENS

SCORERS: dict[str, Any] = {"infolm": InfoLMScorer, "baryscore": BaryScorer, "menli": MENLIScorer}
DEFAULTS = {"model_name_or_path": "bundled"}  # of the page, where they are not the metric's
COMPARED_BY = {
    "infolm": "InfoLM: what a language model expects in each word’s place",
    "baryscore": "BaryScore: how far apart the words lie inside the model",
    "menli": "MENLI: whether each text follows from the other",
}
PARAMETERS = ("alpha", "beta")
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


IDF = Control(
    "How much each word counts (IDF weights)",
    "Rare words count more, if two references or more tell which are rare.",
    {"references": "As rare as it is in the references", False: "All words alike"},
)
MULTI_REFERENCE = Control(
    "Which of several references counts",
    words={"min": "The closest one", "mean": "All of them, on average"},
)
MODEL = Control(
    "Which language model reads the texts",
    words={
        "bundled": "The bundled one: small, English",
        "google-bert/bert-base-uncased": "BERT-base, as in the paper (up to "
        f"{COMPARED_TOKENS['google-bert/bert-base-uncased']} tokens)",
    },
)
CONTROLS: dict[str, dict[str, Control]] = {
    "infolm": {
        "information_measure": Control(
            "How the difference is measured (information measure)",
            words={name: name for name in measures.MEASURES},
        ),
        "alpha": Control("alpha", start=0.5),
        "beta": Control("beta", start=0.5),
        "temperature": Control(
            "How bold the model’s guesses are (temperature)",
            "Higher spreads them over more words. The paper finds 1 to 2 best.",
            range=(0.01, 100.0),
        ),
        "interpolation": Control(
            "How much a text’s own words count beside the guesses (interpolation)",
            "0: the guesses alone. Above 0, a changed number shows.",
            range=(0.0, 0.9),
        ),
        "symmetrize": Control(
            "Which text is compared with which (direction)",
            "For divergences; the four distances are the same either way.",
            {
                "jeffreys": "Both ways, on average (jeffreys)",
                "jensen": "Each with the mixture of both (jensen)",
                "none": "From the reference to the candidate (none)",
                "reverse": "From the candidate to the reference (reverse)",
            },
        ),
        "multi_reference": MULTI_REFERENCE,
        "idf": IDF,
        "model_name_or_path": MODEL,
    },
    "baryscore": {
        "multi_reference": MULTI_REFERENCE,
        "idf": IDF,
        "model_name_or_path": MODEL,
    },
    "menli": {
        "multi_reference": replace(
            MULTI_REFERENCE,
            words={"max": "The one it agrees with best", "mean": "All of them, on average"},
        ),
    },
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
                    controls[group, name] = _control(group, name)
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


def chosen(metric: str, values: tuple[Any, ...]) -> dict[str, Any]:
    """The settings in the values of the controls; an emptied number stands for the default."""
    named = zip(NAMES, values, strict=True)
    return {name: v for (group, name), v in named if group == metric and v is not None}


def _control(metric: str, name: str) -> Any:
    control = CONTROLS[metric][name]
    value = default(metric, name) if control.start is None else control.start
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
