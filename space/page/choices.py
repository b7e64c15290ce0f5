"""What a visitor can choose: each choice declared once, and checked as the scorer's settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from infolm_metric.infolm import measures
from infolm_metric.infolm.settings import SYMMETRIZATIONS, Settings
from infolm_metric.kernel.checks import check_known
from infolm_metric.kernel.model_settings import MULTI_REFERENCE

from . import limits
from .allowed_models import MODELS, AllowedModel, check_model

OFF, REFERENCES = "off", "references"
IDF_WORDS = {
    REFERENCES: "From the references given",
    OFF: "Off: all words alike",
}
SYMMETRY_WORDS = {
    "jeffreys": "jeffreys: mean of both directions",
    "jensen": "jensen: against the mixture of both",
    "none": "none: from reference to candidate",
    "reverse": "reverse: from candidate to reference",
}
MULTI_REFERENCE_WORDS = {"min": "min: the closest reference", "mean": "mean over the references"}
(DEFAULT_MEASURE,) = Settings().names
DEFAULT_PARAMETERS = {"alpha": 0.5, "beta": 0.5}  # in the domain of every measure that has them


@dataclass(frozen=True)
class Control:
    """How the page asks for a choice, and how programs read of it in the endpoints' help."""

    label: str
    help: str = ""
    info: str | None = None
    words: Mapping[str, str] = field(default_factory=dict)  # what the page says of each value


def asked(default: Any, label: str, help: str = "", **more: Any) -> Any:
    """A field of `Choices`; the arguments are the default and those of `Control`."""
    return field(default=default, metadata={"control": Control(label, help, **more)})


def alternatives(names: Sequence[str]) -> str:
    """The names as an enumeration.

    >>> alternatives(["jensen", "none", "reverse"])
    'jensen, none or reverse'
    """
    return f"{', '.join(names[:-1])} or {names[-1]}"


@dataclass(frozen=True)
class Choices:
    """The choices of one request; raises ValueError or TypeError that names the wrong one.

    The components of the page and the parameters of `/score` are made of these fields. `idf`
    is OFF or REFERENCES (those of the request are the corpus). Parameters that the measure does
    not use are dropped.

    >>> chosen = Choices("renyi_divergence", alpha=2.0, beta=7.0)
    >>> chosen.alpha, chosen.beta
    (2.0, None)
    >>> Choices("renyi_divergence", alpha=-1.0)
    Traceback (most recent call last):
    ValueError: renyi_divergence needs alpha: any number > 0 but 1, such as 0.5; got -1.0
    """

    information_measure: str = asked(
        DEFAULT_MEASURE,
        "How the difference is measured (information measure)",
        alternatives(list(measures.MEASURES)),
        words={name: name for name in measures.MEASURES},
    )
    alpha: float | None = asked(None, "alpha", "for the measures that have it", info=" ")
    beta: float | None = asked(None, "beta", "for the measures that have it", info=" ")
    temperature: float = asked(
        Settings.temperature,
        "How bold the model's guesses are (temperature)",
        "from {} to {:g}".format(*limits.TEMPERATURES),
        info="Higher: it spreads them over more words. The paper finds 1 to 2 best.",
    )
    interpolation: float = asked(
        Settings.interpolation,
        "How much a text's own words count beside the guesses (interpolation)",
        "from 0, the paper's InfoLM, to 1, the words alone",
        info="0: the guesses alone. Above 0 a changed number is noticed, and “yes” is not “no”.",
    )
    symmetrize: str = asked(
        Settings.symmetrize,
        "Which text is compared with which (direction)",
        alternatives(SYMMETRIZATIONS),
        info="How a divergence is made symmetric; the four distances already are.",
        words={name: SYMMETRY_WORDS[name] for name in SYMMETRIZATIONS},
    )
    multi_reference: str = asked(
        Settings.multi_reference,
        "Which of several references counts",
        alternatives(MULTI_REFERENCE),
        words={name: MULTI_REFERENCE_WORDS[name] for name in MULTI_REFERENCE},
    )
    idf: str = asked(
        REFERENCES,
        "How much each word counts (IDF weights)",
        alternatives([REFERENCES, OFF]),
        info="Rare words count more than common ones, if two references or more tell which are.",
        words=IDF_WORDS,
    )
    model: str = asked(
        next(iter(MODELS)),
        "Which model guesses (masked language model)",
        ", or ".join(MODELS),
        words=MODELS,
    )

    def __post_init__(self) -> None:
        for name in ("temperature", "interpolation"):
            if getattr(self, name) is None:
                usual = getattr(type(self), name)
                raise ValueError(f"{name} is empty; write a number such as {usual:g}")
        used = measures.check_parameters(self.information_measure, self.alpha, self.beta)
        checked = Settings.of(**self._plain() | {"alpha": None, "beta": None} | used)
        for name in self._plain():
            object.__setattr__(self, name, getattr(checked, name))
        low, high = limits.TEMPERATURES
        if not low <= self.temperature <= high:
            raise ValueError(
                f"temperature must lie between {low} and {high:g}, got {self.temperature!r}"
            )
        check_known("idf", str(self.idf)[:60], list(IDF_WORDS))
        check_model(self.model)

    def settings(self, model: AllowedModel) -> Settings:
        """The settings of the model's scorer, weights included."""
        return model.scorer.settings.replace(**self._plain(), idf=self.weights)

    @property
    def weights(self) -> bool | str:
        """What weighs the tokens, as a scorer's setting `idf`."""
        return self.idf == REFERENCES and "references"

    def _plain(self) -> dict[str, Any]:
        """The settings but those of model and weights."""
        return {name: value for name, value in vars(self).items() if name not in ("idf", "model")}


CONTROLS: dict[str, Control] = {each.name: each.metadata["control"] for each in fields(Choices)}


def parameters_for(measure: str, choices: Choices) -> dict[str, float]:
    """The parameters that another measure is shown with: those chosen where its domain has them."""
    own = {name: getattr(choices, name) for name in DEFAULT_PARAMETERS}
    given = {name: value for name, value in own.items() if value is not None}
    try:
        return measures.check_parameters(measure, **DEFAULT_PARAMETERS | given)
    except ValueError:
        return measures.check_parameters(measure, **DEFAULT_PARAMETERS)
