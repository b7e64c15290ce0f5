"""Every choice a user of InfoLM can make, with its default and its check."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from infolm_metric.kernel.checks import (
    name_or_names,
    natural_number,
    number,
    one_of,
    optional,
)
from infolm_metric.kernel.model_settings import ModelSettings, idf_choice, multi_reference_choice
from infolm_metric.kernel.settings import check_lists, choice

if TYPE_CHECKING:
    from infolm_metric.kernel.idf.table import IDF

# The choices of infolm.measures.SYMMETRIZATIONS, without waiting for torch.
SYMMETRIZATIONS = ("jeffreys", "jensen", "none", "reverse")


def measure_names(name: str, value: Any) -> str | tuple[str, ...]:
    """The full name of a measure, or those of a list of measures.

    >>> measure_names("information_measure", ["kl", "l1"])
    ('kl_divergence', 'l1_distance')
    """
    from infolm_metric.infolm import measures

    return name_or_names(
        name, value, "name", measures.MEASURES, lambda each: measures.resolve(each).name
    )


def _share(name: str, value: Any) -> float:
    checked = number(name, value)
    if not 0 <= checked <= 1:
        raise ValueError(f"{name} must lie between 0, the paper's InfoLM, and 1, got {value!r}")
    return checked


def _temperature(name: str, value: Any) -> float:
    checked = number(name, value)
    if checked <= 0:
        raise ValueError(f"{name} must be > 0, got {value!r}; the paper finds the best in [1, 2]")
    return checked


@dataclass(frozen=True)
class Settings(ModelSettings):
    """A checked set of choices; raises ValueError or TypeError that names the wrong one.

    >>> Settings.of(information_measure="kl").information_measure
    'kl_divergence'
    >>> Settings.of(temprature=2.0)
    Traceback (most recent call last):
    TypeError: unknown setting 'temprature'; did you mean 'temperature'?
    """

    metric = "infolm"
    default_model = "google-bert/bert-base-uncased"  # as in the paper

    information_measure: str | tuple[str, ...] = choice(
        "fisher_rao_distance",
        measure_names,
        "one or several of fisher_rao_distance (default), kl_divergence, alpha_divergence, "
        "renyi_divergence, beta_divergence, ab_divergence, l1_distance, l2_distance and "
        "l_infinity_distance, or of short names such as kl and l1; several need one pass",
        "-m",
        "--measure",
        label="measure",
        signed=True,
        repeated=True,
        given="str | Sequence[str]",
    )
    alpha: float | None = choice(
        None,
        optional(number),
        "parameter of the alpha, Renyi and AB divergences",
        "--alpha",
        signed=True,
    )
    beta: float | None = choice(
        None, optional(number), "parameter of the beta and AB divergences", "--beta", signed=True
    )
    symmetrize: str = choice(
        "jeffreys",
        one_of(SYMMETRIZATIONS),
        "jeffreys (default), jensen, none (from reference to candidate) or reverse",
        "--symmetrize",
        signed=True,
    )
    temperature: float = choice(
        1.0,
        _temperature,
        "number that the model's logits are divided by (default: 1)",
        "-t",
        "--temperature",
        signed=True,
    )
    idf: bool | str | IDF = idf_choice()
    multi_reference: str = multi_reference_choice()
    interpolation: float = choice(
        0.0,
        _share,
        "share of a text's own tokens in its distribution, from 0 (default, the paper's) to 1",
        "--interpolation",
        signed=True,
    )
    masks_per_pass: int = choice(
        1,
        natural_number,
        "tokens masked at once (default: 1, exact); more is an approximation, and faster; 0 masks "
        "nothing, another metric at one pass a text",
        "--masks-per-pass",
        signed=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        from infolm_metric.infolm import measures

        for measure in self.names:
            measures.check_parameters(measure, self.alpha, self.beta)
            if self.interpolation == 1 and not math.isfinite(self.largest_value(measure)):
                raise ValueError(
                    f"interpolation=1 needs a measure with a largest value; "
                    f"{measure} with symmetrize={self.symmetrize!r} has none; use a "
                    f"smaller share, symmetrize='jensen' or a bounded measure such "
                    "as fisher_rao_distance"
                )

    def largest_value(self, measure: str) -> float:
        """The largest value `measure` can take under these settings, or infinity."""
        from infolm_metric.infolm import measures

        return measures.largest_value(
            measure, symmetrize=self.symmetrize, alpha=self.alpha, beta=self.beta
        )

    def signed(self) -> dict[str, object]:
        """What can change a score, without parameters and symmetrisations that no measure uses."""
        from infolm_metric.infolm.measures import MEASURES

        fields = super().signed()
        used = {p.name for name in self.names for p in MEASURES[name].parameters}
        unused = {"alpha", "beta"} - used
        if all(MEASURES[name].symmetric for name in self.names):
            unused.add("symmetrize")
        if not self.interpolation:
            unused.add("interpolation")
        if self.masks_per_pass == 1:
            unused.add("masks_per_pass")
        return {name: value for name, value in fields.items() if name not in unused}

    def baselined(self) -> list[Settings]:
        """Every measure, with uniform weights and with idf; parameters that are not given are 1/2.

        With interpolation 1 only those with a largest value.

        >>> len(Settings().baselined()[0].names), len(Settings.of(alpha=2).baselined()[0].names)
        (9, 9)
        """
        from infolm_metric.infolm.measures import MEASURES, parameter_grid

        alpha, beta = (0.5 if given is None else given for given in (self.alpha, self.beta))
        plain = self.replace(information_measure="fisher_rao_distance", alpha=alpha, beta=beta)
        names = [
            name
            for name in MEASURES
            if parameter_grid(name, [alpha], [beta])
            and (self.interpolation < 1 or math.isfinite(plain.largest_value(name)))
        ]
        every = plain.replace(information_measure=names)
        return super(Settings, every).baselined()

    def label(self, name: str) -> str:
        """The measure with its parameters.

        >>> Settings.of(information_measure="ab", alpha=0.5, beta=2).label("ab_divergence")
        'ab_divergence(0.5, 2)'
        """
        from infolm_metric.infolm.measures import MEASURES

        used = [parameter.name for parameter in MEASURES[name].parameters]
        values = ", ".join(f"{getattr(self, parameter):g}" for parameter in used)
        return f"{name}({values})" if values else name

    def grid(self, lists: Mapping[str, Sequence[Any]]) -> list[Settings]:
        """These settings with every combination of the values listed by name, of one measure each.

        A measure takes part once for every value of the parameters that it has; parameters
        outside its domain are left out. Raises ValueError if nothing is left.

        >>> lists = {"information_measure": ["renyi"], "temperature": [1, 2], "alpha": [0.5, 1.0]}
        >>> [(each.temperature, each.alpha) for each in Settings().grid(lists)]
        [(1.0, 0.5), (2.0, 0.5)]
        """
        from infolm_metric.infolm.measures import parameter_grid

        others = dict(lists)
        asked = measure_names("information_measure", others.pop("information_measure", self.names))
        check_lists(others)
        names = [asked] if isinstance(asked, str) else asked
        alphas, betas = others.pop("alpha", [self.alpha]), others.pop("beta", [self.beta])
        # Without a measure of its own, because the parameters come from the lists.
        base = self.replace(information_measure="fisher_rao_distance")
        found = [
            plain.replace(information_measure=name, alpha=alpha, beta=beta)
            for plain in super(Settings, base).grid(others)
            for name in names
            for alpha, beta in parameter_grid(name, alphas, betas)
        ]
        if not found:
            raise ValueError(
                f"alphas={alphas} and betas={betas} hold no value in the domain "
                f"of {', '.join(names)}; see measures.MEASURES for the domains"
            )
        return found
