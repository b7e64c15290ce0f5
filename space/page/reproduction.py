"""The components that let a visitor report and repeat a score: its signature, and code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gradio as gr

from infolm_metric import metrics
from infolm_metric.kernel.model_settings import ModelSettings

from .judged import Judged

CODE = """\
from infolm_metric import {metric}

{name} = {metric}(model_name_or_path={model!r})
results = {name}.compute(
    predictions=[{candidate!r}],
    references=[{references!r}],
{changed})
print(results["{name}"])
"""


def make_reproduction(prefix: str = "") -> dict[str, Any]:
    """The components by name; the ids in the page begin with the prefix."""
    gr.Markdown(
        "### Reproduce it\n"
        "Report the signature with the score: it names every setting that can change it, the "
        "model and the versions."
    )
    signature = gr.Textbox(
        label="Signature",
        interactive=False,
        lines=2,
        max_lines=8,
        buttons=["copy"],
        elem_id=f"{prefix}signature",
    )
    code = gr.Code(
        label="Python for this score",
        language="python",
        interactive=False,
        show_line_numbers=False,
        wrap_lines=True,
        elem_id=f"{prefix}code",
    )
    return {"signature": signature, "code": code}


def shown_reproduction(answer: Judged) -> dict[str, str]:
    """What the components, by name, show of an answer."""
    code = code_for(answer.candidate_text, answer.reference_texts, answer.settings)
    return {"signature": answer.signature, "code": code}


def code_for(candidate: str, references: Sequence[str], settings: ModelSettings) -> str:
    """Code that prints the score of a candidate; settings at their defaults are left out."""
    default = type(settings)()
    changed = (
        f"    {name}={getattr(settings, name)!r},\n"
        for name, declared in settings.choices().items()
        if declared.signed and getattr(settings, name) != getattr(default, name)
    )
    return CODE.format(
        metric=metrics.find(settings.metric).evaluate.partition(":")[2],
        name=settings.metric,
        model=settings.model_name_or_path,
        candidate=candidate,
        references=list(references),
        changed="".join(changed),
    )
