"""The choices as components of the page, and as parameters that gradio shows to programs."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import gradio as gr

from infolm_metric.infolm.measures import MEASURES

from .choices import CONTROLS, DEFAULT_MEASURE, DEFAULT_PARAMETERS, Choices

QUIET: dict[str, Any] = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}
"""Of events that only rearrange the page."""
VALUES = tuple(CONTROLS)
"""The names of the controls, in the order of the page and of the arguments of `chosen`."""


def make_controls() -> dict[str, Any]:
    """The components by the names in VALUES, folded away."""
    controls = {}
    with gr.Accordion("Settings", open=False):
        controls["information_measure"] = _control(
            "information_measure", info=_about(DEFAULT_MEASURE)
        )
        with gr.Row(visible=False) as parameters:
            for name, value in DEFAULT_PARAMETERS.items():
                controls[name] = _control(name, value=value, visible=False, min_width=120)
        for name in VALUES:
            if name not in controls:
                controls[name] = _control(name)
    measure = controls["information_measure"]
    numbers = [controls[name] for name in DEFAULT_PARAMETERS]
    measure.change(_parameters_shown, measure, [measure, parameters, *numbers], **QUIET)
    return controls


def chosen(*values: Any, used: Collection[str] = VALUES) -> Choices:
    """The choices of the controls' values; raises ValueError or TypeError.

    Those that are not among the names `used` count as if nobody had touched them.
    """
    named = zip(VALUES, values, strict=True)
    return Choices(*(v if name in used else getattr(Choices, name) for name, v in named))


def visibility(used: Sequence[str], measure: str, closest: str) -> list[Any]:
    """Updates that show of all controls those used, but for what another choice makes idle.

    `closest` is what the metric calls the rule that the closest reference counts.
    """
    hidden = set(DEFAULT_PARAMETERS).difference(p.name for p in MEASURES[measure].parameters)
    updates = {name: gr.update(visible=name in used and name not in hidden) for name in VALUES}
    words = {**CONTROLS["multi_reference"].words, "min": f"{closest}: the closest reference"}
    updates["multi_reference"]["choices"] = [(said, value) for value, said in words.items()]
    return list(updates.values())


def parameter(name: str, annotation: Any = "Any", default: Any = inspect.Parameter.empty) -> Any:
    """A parameter as `inspect` shows it."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def show_parameters(function: Any, more: Iterable[inspect.Parameter]) -> None:
    """Let gradio, which inspects functions, see these parameters in the place of `*values`."""
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.kind is not each.VAR_POSITIONAL]
    shown = [*own, *more]
    function.__signature__ = signature.replace(parameters=shown)
    function.__annotations__ |= {each.name: each.annotation for each in shown}


def _control(name: str, **own: Any) -> Any:
    """A list where the choice has words for its values, else a number; `own` has precedence."""
    control = CONTROLS[name]
    shown = {"label": control.label, "info": control.info, "value": getattr(Choices, name), **own}
    if not control.words:
        return gr.Number(step=0.25, **shown)
    choices = [(words, value) for value, words in control.words.items()]
    return gr.Dropdown(filterable=False, **{"choices": choices, **shown})


def _parameters_shown(name: str) -> list[Any]:
    """Updates: what the measure is, and its parameters with their domains; others are hidden."""
    used = {parameter.name: parameter.domain for parameter in MEASURES[name].parameters}
    joint = MEASURES[name].joint_domain
    return [
        gr.update(info=_about(name)),
        gr.update(visible=bool(used)),
        *(
            gr.update(
                visible=parameter in used,
                info=used.get(parameter, " ") + (f"; {joint}" if joint else ""),
            )
            for parameter in DEFAULT_PARAMETERS
        ),
    ]


def _about(name: str) -> str:
    """What the measure is, in a sentence; p belongs to the reference, q to the candidate."""
    description = MEASURES[name].description
    return f"{description[0].upper()}{description[1:]}. p: the reference, q: the candidate."
