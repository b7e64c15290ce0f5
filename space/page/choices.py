"""What a visitor can choose, checked, as the settings of the scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from infolm_metric import IDF
from infolm_metric.infolm import measures
from infolm_metric.infolm.settings import Settings

from . import limits
from .allowed_models import MODELS, AllowedModel, model_named

OFF, REFERENCES, CORPUS = "off", "references", "corpus"
(DEFAULT_MEASURE,) = Settings().measures
DEFAULT_PARAMETERS = {"alpha": 0.5, "beta": 0.5}  # in the domain of every measure that has them


@dataclass(frozen=True)
class Choices:
    """The choices of one request; raises ValueError or TypeError that names the wrong one.

    `idf` is OFF, REFERENCES (those of the request are the corpus) or CORPUS (what `corpus` has).
    Parameters that the measure does not use are dropped.

    >>> Choices("renyi_divergence", alpha=2.0, beta=7.0).settings()["alpha"]
    2.0
    >>> Choices("renyi_divergence", alpha=-1.0)
    Traceback (most recent call last):
    ValueError: renyi_divergence needs alpha: any number > 0 but 1, such as 0.5; got -1.0
    """

    information_measure: str = DEFAULT_MEASURE
    alpha: float | None = None
    beta: float | None = None
    temperature: float = Settings.temperature
    symmetrize: str = Settings.symmetrize
    multi_reference: str = Settings.multi_reference
    idf: str = OFF
    corpus: tuple[str, ...] = ()
    model: str = next(iter(MODELS))

    def __post_init__(self) -> None:
        measure = measures.resolve(self.information_measure)
        used = measures.check_parameters(measure, self.alpha, self.beta)
        object.__setattr__(self, "information_measure", measure.name)
        for name in ("alpha", "beta"):
            object.__setattr__(self, name, used.get(name))
        checked = Settings.of(**self.settings())
        object.__setattr__(self, "temperature", checked.temperature)
        low, high = limits.TEMPERATURES
        if not low <= checked.temperature <= high:
            raise ValueError(
                f"temperature must lie between {low} and {high:g}, got {self.temperature!r}"
            )
        if self.idf not in (OFF, REFERENCES, CORPUS):
            raise ValueError(
                f"idf must be {OFF!r}, {REFERENCES!r} or {CORPUS!r}, got {str(self.idf)[:60]!r}"
            )
        if self.idf == CORPUS:
            limits.check_corpus(self.corpus)
        if self.model not in MODELS:
            raise ValueError(f"model must be one of {', '.join(MODELS)}")

    def settings(self) -> dict[str, Any]:
        """The settings of the scorer but those of model and weights."""
        return {
            "information_measure": self.information_measure,
            "alpha": self.alpha,
            "beta": self.beta,
            "temperature": self.temperature,
            "symmetrize": self.symmetrize,
            "multi_reference": self.multi_reference,
        }

    def load(self) -> AllowedModel:
        """The model chosen."""
        return model_named(self.model)

    def weights(self, model: AllowedModel) -> bool | str | IDF:
        """The setting `idf` of the scorer."""
        if self.idf == CORPUS:
            return model.document_frequencies(self.corpus)
        return "references" if self.idf == REFERENCES else False


def documents(text: str) -> tuple[str, ...]:
    """The lines of a pasted corpus that are not blank.

    >>> documents("one\\n\\n two ")
    ('one', ' two ')
    """
    return tuple(line for line in text.split("\n") if line.strip())


def parameters_for(measure: str, choices: Choices) -> dict[str, float]:
    """The parameters that another measure is shown with: those chosen where its domain has them."""
    chosen = {name: getattr(choices, name) for name in DEFAULT_PARAMETERS}
    given = {
        name: DEFAULT_PARAMETERS[name] if value is None else value for name, value in chosen.items()
    }
    try:
        return measures.check_parameters(measure, **given)
    except ValueError:
        return measures.check_parameters(measure, **DEFAULT_PARAMETERS)


def names_of(references: Sequence[str]) -> list[str]:
    """What messages call the texts of one comparison."""
    if len(references) == 1:
        return ["The candidate", "The reference"]
    return ["The candidate", *(f"Reference {i}" for i in range(1, len(references) + 1))]
