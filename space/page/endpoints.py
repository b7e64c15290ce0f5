"""The named endpoint for one pair that programs call, with plain values in and out."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .choices import CONTROLS, Choices
from .comparison import score_pair
from .controls import parameter, show_parameters
from .messages import in_the_answer


def _with_settings(function: Any) -> Any:
    """Let programs see the fields of `Choices`, each with its help, in the place of `*settings`."""
    lines = [f"        {name}: {control.help}\n" for name, control in CONTROLS.items()]
    own, _, returned = function.__doc__.partition("    Returns:")
    function.__doc__ = f"{own}{''.join(lines)}    Returns:{returned}"
    show_parameters(
        function, (parameter(each.name, each.type, each.default) for each in fields(Choices))
    )
    return function


@_with_settings
def score(candidate: str, references: list[str], *settings: Any) -> dict[str, Any]:
    """
    Score a candidate against its references; lower is better, 0 is a copy.

    Parameters:
        candidate: the text to judge, up to 64 tokens (with BERT-base 24)
        references: one to five texts of what it should say, with twice as many together
    Returns:
        a dictionary with score and signature
    """
    with in_the_answer():
        if not isinstance(references, list):
            raise TypeError("references must be a list of texts")
        value, signature = score_pair(candidate, references, Choices(*settings))
        return {"score": value, "signature": signature}
