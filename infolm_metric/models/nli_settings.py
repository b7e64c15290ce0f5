"""Settings that metrics with an NLI model share, and the label order of a model.

This module does not import torch, so that help and error messages appear without delay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from infolm_metric.core.checks import InputError
from infolm_metric.core.settings import ModelSettings

NLI_LABELS = ("entailment", "neutral", "contradiction")
TWO_LABELS = ["entailment", "not_entailment"]
# Patterns that match the beginning of a lowercased label name.
LABEL_PATTERNS = {
    "entailment": re.compile("entail"),
    "neutral": re.compile("neutral"),
    "contradiction": re.compile("contradict"),
    "not_entailment": re.compile("no[nt][ _-]?entail"),
}


@dataclass(frozen=True, kw_only=True)
class NLISettings(ModelSettings):
    """Settings of metrics that score pairs of texts with an NLI model.

    Args:
        labels: label names in the order of the model's outputs, such as
            contradiction,neutral,entailment. None: read from the model's configuration.
        max_length: maximum number of tokens in both texts together, including special tokens. None:
            the model's limit.
        long_text: handling of longer pairs: truncate (the longer text first) or error.
    """

    model_variable = "INFOLM_NLI_MODEL"

    labels: str | tuple[str, ...] | None = field(default=None, metadata={"signature": ""})
    max_length: int | None = field(default=None, metadata={"signature": ""})
    long_text: Literal["truncate", "error"] = field(default="truncate", metadata={"signature": ""})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.labels is not None:
            object.__setattr__(self, "labels", _label_names(self.labels))


@dataclass(frozen=True)
class Labels:
    """Output index of each label. With two labels, only entailment has an index."""

    entailment: int
    neutral: int | None
    contradiction: int | None

    @property
    def three_way(self) -> bool:
        """True if the model distinguishes neutral from contradiction."""
        return self.neutral is not None

    @property
    def order(self) -> str:
        """Initials of the labels in output order, as in the signature.

        >>> Labels(2, 1, 0).order
        'cne'
        """
        places = {self.entailment: "e", self.neutral: "n", self.contradiction: "c"}
        return "".join(places.get(index, "-") for index in range(3 if self.three_way else 2))


def read_labels(model: str, id2label: dict[int, str], labels: tuple[str, ...] | None) -> Labels:
    """Find the output index of each label in a model's `id2label`, or in `labels`.

    The three names must begin with "entail", "neutral" and "contradict" (case-insensitive). Models
    with two labels, "entailment" and "not_entailment", are also accepted.

    >>> read_labels("m", {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}, None)
    Labels(entailment=2, neutral=1, contradiction=0)
    """
    names = [id2label[index] for index in sorted(id2label)]
    if labels is not None:
        if len(labels) != len(names):
            raise InputError(
                f"labels must name the {len(names)} outputs of the model {model!r} in order, got "
                f"{', '.join(labels)}"
            )
        names = list(labels)
    kinds = list(map(_parse_label, names))
    if sorted(kinds) == sorted(NLI_LABELS):
        return Labels(*(kinds.index(kind) for kind in NLI_LABELS))
    if sorted(kinds) == TWO_LABELS:
        return Labels(kinds.index("entailment"), None, None)
    raise InputError(
        f"the labels of the model {model!r} must be entailment, neutral and contradiction, got "
        f"{', '.join(map(repr, names))}. If it is an NLI model, pass its labels in output order, "
        f"as in labels={','.join(NLI_LABELS)!r}. Otherwise choose an NLI model."
    )


def _parse_label(name: str) -> str:
    """Return the key in LABEL_PATTERNS that matches a label name, or "" if none matches."""
    name = name.strip().casefold()
    return next((kind for kind, pattern in LABEL_PATTERNS.items() if pattern.match(name)), "")


def _label_names(labels: str | tuple[str, ...]) -> tuple[str, ...]:
    """Parse the `labels` setting: two or three names, as a sequence or separated by commas."""
    kinds = tuple(map(_parse_label, labels.split(",") if isinstance(labels, str) else labels))
    if sorted(kinds) not in (sorted(NLI_LABELS), TWO_LABELS):
        raise InputError(
            "labels must be entailment, neutral and contradiction, or entailment and "
            f"not_entailment, in the order of the model's outputs, got {labels!r}"
        )
    return kinds
