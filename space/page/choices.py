"""What a visitor can choose, checked, as the settings of the scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from infolm_metric.infolm import measures
from infolm_metric.infolm.settings import Settings

from . import limits
from .allowed_models import MODELS, AllowedModel, check_model, model_named

OFF, REFERENCES, CORPUS = "off", "references", "corpus"
IDF_FORMS = {OFF: False, REFERENCES: "references"}  # as the scorer's setting `idf`
(DEFAULT_MEASURE,) = Settings().names
DEFAULT_PARAMETERS = {"alpha": 0.5, "beta": 0.5}  # in the domain of every measure that has them


@dataclass(frozen=True)
class Choices:
    """The choices of one request; raises ValueError or TypeError that names the wrong one.

    `idf` is OFF, REFERENCES (those of the request are the corpus) or CORPUS (what `corpus` has).
    Parameters that the measure does not use are dropped.

    >>> chosen = Choices("renyi_divergence", alpha=2.0, beta=7.0)
    >>> chosen.alpha, chosen.beta
    (2.0, None)
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
        checked = Settings.of(**self._plain())
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
        check_model(self.model)

    def load(self) -> AllowedModel:
        """The model chosen."""
        return model_named(self.model)

    def settings(self, model: AllowedModel) -> Settings:
        """The settings of the model's scorer, weights included."""
        idf = model.document_frequencies(self.corpus) if self.idf == CORPUS else IDF_FORMS[self.idf]
        return model.scorer.settings.replace(**self._plain(), idf=idf)

    def _plain(self) -> dict[str, Any]:
        """The settings but those of model and weights."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in ("idf", "corpus", "model")
        }


def documents(text: str) -> tuple[str, ...]:
    """The lines of a pasted corpus that are not blank.

    >>> documents("one\\n\\n two ")
    ('one', ' two ')
    """
    return tuple(line for line in text.split("\n") if line.strip())


def parameters_for(measure: str, choices: Choices) -> dict[str, float]:
    """The parameters that another measure is shown with: those chosen where its domain has them."""
    own = {name: getattr(choices, name) for name in DEFAULT_PARAMETERS}
    given = {name: value for name, value in own.items() if value is not None}
    try:
        return measures.check_parameters(measure, **DEFAULT_PARAMETERS | given)
    except ValueError:
        return measures.check_parameters(measure, **DEFAULT_PARAMETERS)


def names_of(references: Sequence[str]) -> list[str]:
    """What messages call the texts of one comparison."""
    if len(references) == 1:
        return ["The candidate", "The reference"]
    return ["The candidate", *(f"Reference {i}" for i in range(1, len(references) + 1))]
