"""Settings of InfoLM."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from infolm_metric.core.checks import InputError, check_fraction, score_names
from infolm_metric.core.settings import IDF_VALUES, EncodingSettings, IDFSetting, setting
from infolm_metric.infolm.measure_table import MEASURES, known_names, parameter_grid


@dataclass(frozen=True, kw_only=True)
class InfoLMSettings(EncodingSettings):
    """Settings of InfoLM.

    Args:
        information_measure: one or more of fisher_rao_distance, kl_divergence,
            alpha_divergence, renyi_divergence, beta_divergence, ab_divergence, l1_distance,
            l2_distance and l_infinity_distance, or short names such as kl and l1.
        alpha: parameter of the alpha, Renyi and AB divergences (required).
        beta: parameter of the beta and AB divergences (required).
        symmetrize: jeffreys (mean of both directions), jensen (mean divergence from the average
            distribution), none (from reference to candidate) or reverse.
        temperature: divisor of the model's logits, > 0.
        interpolation: weight of each text's own tokens, from 0 (as in the paper) to 1.
        masking: token (each token is masked in turn, as in the paper) or none (one pass per text,
            without masks).

    >>> InfoLMSettings(information_measure="kl").information_measure
    'kl_divergence'
    >>> settings = InfoLMSettings(information_measure=["fisher_rao", "kl"])
    >>> [settings.column(name) for name in settings.names]
    ['infolm', 'infolm_kl_divergence']
    >>> InfoLMSettings(temperature=0)
    Traceback (most recent call last):
    infolm_metric.InputError: temperature must be > 0, got 0.0. Values from 1 to 2 work best in ...
    """

    metric = "infolm"
    names_field = "information_measure"

    information_measure: str | tuple[str, ...] = setting(
        "fisher_rao_distance", flags=("-m", "--measure"), signature="measure"
    )
    alpha: float | None = None
    beta: float | None = None
    symmetrize: Literal["jeffreys", "jensen", "none", "reverse"] = "jeffreys"
    temperature: float = setting(1.0, flags=("-t", "--temperature"))
    idf: IDFSetting = setting("references", allowed=IDF_VALUES)
    multi_reference: Literal["min", "mean"] = "min"
    interpolation: float = 0.0
    masking: Literal["token", "none"] = "token"

    def __post_init__(self) -> None:
        super().__post_init__()
        names = score_names(
            "information_measure", self.information_measure, known_names(), every=True
        )
        object.__setattr__(self, "information_measure", names)
        if self.temperature <= 0:
            raise InputError(
                f"temperature must be > 0, got {self.temperature!r}. Values from 1 to 2 work best "
                "in the paper.",
                setting="temperature",
            )
        check_fraction("interpolation", self.interpolation, " (0 as in the paper)")
        for name in self.names:
            bound = self.upper_bound(name)  # checks alpha and beta
            if self.interpolation == 1 and not math.isfinite(bound):
                raise InputError(
                    f"interpolation=1 needs a measure with an upper bound, got {name} with "
                    f"symmetrize={self.symmetrize!r}. Use a smaller interpolation, "
                    "or for example fisher_rao_distance, or kl with symmetrize='jensen'.",
                    setting="interpolation",
                )

    def upper_bound(self, measure: str) -> float:
        """Return the upper bound of a measure with these settings, or infinity."""
        parameters = MEASURES[measure].check(self.alpha, self.beta)
        return MEASURES[measure].bound(self.symmetrize, parameters)

    @property
    def unused(self) -> frozenset[str]:
        """Names of the settings that no requested measure uses.

        >>> sorted(InfoLMSettings(information_measure=["l1", "renyi"], alpha=2).unused)
        ['beta']
        """
        measures = [MEASURES[name] for name in self.names]
        used = {parameter.name for measure in measures for parameter in measure.parameters}
        if not all(measure.symmetric for measure in measures):
            used.add("symmetrize")
        return frozenset(("alpha", "beta", "symmetrize")) - used

    def signature_fields(self) -> dict[str, object]:
        """Return the signature fields, without unused ones, interpolation=0 and masking="token"."""
        unused = set(self.unused)
        if not self.interpolation:
            unused.add("interpolation")
        if self.masking == "token":
            unused.add("masking")
        return {k: v for k, v in super().signature_fields().items() if k not in unused}

    def baseline_settings(self) -> list[InfoLMSettings]:
        """Return settings with all measures, for uniform and for IDF weights.

        alpha and beta are 0.5 by default. Measures with a domain that excludes them are skipped,
        and with interpolation=1, unbounded measures.

        >>> [len(settings.names) for settings in InfoLMSettings().baseline_settings()]
        [9, 9]
        """
        alpha, beta = (0.5 if value is None else value for value in (self.alpha, self.beta))
        base = self.replace(information_measure="fisher_rao_distance", alpha=alpha, beta=beta)
        names = [
            name
            for name in MEASURES
            if parameter_grid(name, [alpha], [beta])
            and (self.interpolation < 1 or math.isfinite(base.upper_bound(name)))
        ]
        settings = base.replace(information_measure=names)
        return super(InfoLMSettings, settings).baseline_settings()
