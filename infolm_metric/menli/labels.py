"""Which output of a model stands for which label: read from its configuration, never guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NAMES = ("entailment", "neutral", "contradiction")
KINDS = {
    "entailment": re.compile("entail"),
    "neutral": re.compile("neutral"),
    "contradiction": re.compile("contradict"),
    "not_entailment": re.compile("no[nt][ _-]?entail"),
}
"""How the name of each label begins, in lower case."""


@dataclass(frozen=True)
class Labels:
    """The outputs of a model by what they mean; a model of two labels has entailment alone."""

    entailment: int
    neutral: int | None
    contradiction: int | None

    @property
    def three_way(self) -> bool:
        """True if the model tells what contradicts from what is neutral."""
        return self.neutral is not None

    @property
    def order(self) -> str:
        """The labels in the order of the outputs, as the signature shows them.

        >>> Labels(2, 1, 0).order
        'cne'
        """
        places = {self.entailment: "e", self.neutral: "n", self.contradiction: "c"}
        return "".join(places.get(index, "-") for index in range(3 if self.three_way else 2))


def read_labels(
    model: str, id2label: Mapping[int, str], given: Sequence[str] | None = None
) -> Labels:
    """The labels of a model by its `id2label`, or by those `given` in the order of its outputs.

    Names that begin with "entail", "neutral" and "contradict", in any case, are known; models of
    two labels, "entailment" and "not_entailment", as well.

    Raises:
        ValueError: the names do not say what is what, or those given are not as many.

    >>> read_labels("m", {0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"})
    Labels(entailment=2, neutral=1, contradiction=0)
    >>> read_labels("m", {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}, ("neutral", "entailment"))
    Traceback (most recent call last):
    ValueError: labels must name the 3 outputs of 'm' in their order, got ('neutral', 'entailment')
    """
    names = [id2label[index] for index in sorted(id2label)]
    if given is not None:
        if len(given) != len(names):
            raise ValueError(
                f"labels must name the {len(names)} outputs of {model!r} in their "
                f"order, got {tuple(given)}"
            )
        names = list(given)
    kinds = [kind_of(name) for name in names]
    if sorted(map(str, kinds)) == sorted(NAMES):
        return Labels(*(kinds.index(kind) for kind in NAMES))
    if sorted(map(str, kinds)) == ["entailment", "not_entailment"]:
        return Labels(kinds.index("entailment"), None, None)
    raise ValueError(
        f"the outputs of {model!r} are called {', '.join(map(repr, names))}, which does not say "
        "which one is entailment, neutral and contradiction; give their names in the order of the "
        f"outputs, such as labels={','.join(NAMES)!r}, or choose a model of natural "
        "language inference"
    )


def kind_of(name: str) -> str | None:
    """What a label's name stands for: one of KINDS, or None.

    >>> kind_of("Contradictory"), kind_of("LABEL_1")
    ('contradiction', None)
    """
    plain = name.strip().casefold()
    return next((kind for kind, begins in KINDS.items() if begins.match(plain)), None)


def label_names(name: str, value: object) -> tuple[str, ...]:
    """What the setting `labels` can be: two or three names, in a list or with commas between.

    >>> label_names("labels", "contradiction, neutral, entailment")
    ('contradiction', 'neutral', 'entailment')
    """
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Sequence) or not all(isinstance(part, str) for part in parts):
        raise TypeError(f"{name} must be a list of names, such as {NAMES}, got {value!r}")
    kinds = [kind_of(part) for part in parts]
    known = (sorted(NAMES), ["entailment", "not_entailment"])
    if sorted(map(str, kinds)) not in known:
        raise ValueError(
            f"{name} must hold entailment, neutral and contradiction, or entailment and "
            f"not_entailment, in the order of the model's outputs, got {value!r}"
        )
    return tuple(map(str, kinds))
