"""The settings as components, made from the table of measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from infolm_metric.infolm.measures import MEASURES, SYMMETRIZATIONS
from infolm_metric.kernel.settings import MULTI_REFERENCE

from . import limits
from .allowed_models import MODELS
from .choices import (
    CORPUS,
    DEFAULT_MEASURE,
    DEFAULT_PARAMETERS,
    OFF,
    REFERENCES,
    Choices,
    documents,
)

QUIET: dict[str, Any] = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}
"""Of events that only rearrange the page."""
SYMMETRY_WORDS = {
    "jeffreys": "jeffreys: mean of both directions",
    "jensen": "jensen: against the mixture of both",
    "none": "none: from reference to candidate",
    "reverse": "reverse: from candidate to reference",
}
MULTI_REFERENCE_WORDS = {"min": "min: the closest reference", "mean": "mean over the references"}
IDF_WORDS = {
    OFF: "Off: all tokens alike",
    REFERENCES: "From the references of the file",
    CORPUS: "From a corpus that I give",
}


@dataclass(frozen=True)
class Controls:
    """The components that make up `Choices`, in the order of `as_inputs`."""

    measure: gr.Dropdown
    alpha: gr.Number
    beta: gr.Number
    temperature: gr.Number
    symmetrize: gr.Dropdown
    multi_reference: gr.Dropdown
    idf: gr.Dropdown
    corpus: gr.Textbox
    corpus_file: gr.File
    model: gr.Dropdown

    @property
    def as_inputs(self) -> list[gr.components.Component]:
        """The components whose values `chosen` takes."""
        return list(vars(self).values())


def make_controls(idf_forms: Sequence[str]) -> Controls:
    """The components, with `idf_forms` as the sources of weights, the first being the default."""
    default = MEASURES[DEFAULT_MEASURE]
    measure = gr.Dropdown(
        list(MEASURES),
        value=default.name,
        label="Information measure",
        info=_about(default.name),
        filterable=False,
    )
    with gr.Row(visible=False) as parameters:
        numbers = {
            name: gr.Number(
                value=value, label=name, step=0.25, visible=False, min_width=120, info=" "
            )
            for name, value in DEFAULT_PARAMETERS.items()
        }
    temperature = gr.Number(
        value=1.0,
        label="Temperature",
        step=0.25,
        info="Higher: the model's expectations become flatter. The paper finds 1 to 2 best.",
    )
    with gr.Accordion("More settings", open=False):
        symmetrize = gr.Dropdown(
            [(SYMMETRY_WORDS[name], name) for name in SYMMETRIZATIONS],
            value="jeffreys",
            label="Direction",
            info="How a divergence is made symmetric; the four distances already are.",
            filterable=False,
        )
        multi_reference = gr.Dropdown(
            [(MULTI_REFERENCE_WORDS[name], name) for name in MULTI_REFERENCE],
            value="min",
            label="Several references",
            filterable=False,
        )
        idf = gr.Dropdown(
            [(IDF_WORDS[name], name) for name in idf_forms],
            value=idf_forms[0],
            label="Weights (IDF)",
            info="With inverse document frequencies, rare tokens count more than common ones.",
            filterable=False,
        )
        corpus = gr.Textbox(
            label="Corpus, one text per line",
            info=limits.CORPUS_LIMITS,
            lines=4,
            max_lines=8,
            visible=False,
        )
        corpus_file = gr.File(
            label="or a .txt file, one text per line",
            file_types=[".txt"],
            height=110,
            visible=False,
        )
        model = gr.Dropdown(
            [(words, name) for name, words in MODELS.items()],
            value=next(iter(MODELS)),
            label="Masked language model",
            filterable=False,
        )
    controls = Controls(
        measure,
        numbers["alpha"],
        numbers["beta"],
        temperature,
        symmetrize,
        multi_reference,
        idf,
        corpus,
        corpus_file,
        model,
    )
    measure.change(
        _parameters_shown,
        measure,
        [measure, parameters, controls.alpha, controls.beta],
        **QUIET,
    )
    idf.change(
        lambda form: [gr.update(visible=form == CORPUS)] * 2, idf, [corpus, corpus_file], **QUIET
    )
    return controls


def chosen(
    measure: str,
    alpha: float | None,
    beta: float | None,
    temperature: float | None,
    symmetrize: str,
    multi_reference: str,
    idf: str,
    corpus: str,
    corpus_file: str | None,
    model: str,
) -> Choices:
    """The choices of the components' values; raises ValueError or TypeError."""
    if temperature is None:
        raise ValueError("temperature is empty; write a number such as 1")
    lines = documents(corpus or "") if idf == CORPUS else ()
    if idf == CORPUS and corpus_file:
        lines += _lines_of(corpus_file)
    return Choices(
        measure, alpha, beta, temperature, symmetrize, multi_reference, idf, lines, model
    )


def _lines_of(path: str) -> tuple[str, ...]:
    if Path(path).stat().st_size > limits.FILE_BYTES:
        raise ValueError("the corpus file is too large. " + limits.CORPUS_LIMITS)
    try:
        return documents(Path(path).read_bytes().decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        raise ValueError("the corpus file is not UTF-8 text; convert it to UTF-8") from None


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
