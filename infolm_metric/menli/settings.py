"""Settings and formulas of MENLI.

e, n and c are the probabilities of entailment, neutrality and contradiction, which sum to 1. For
models with two labels, only e is defined, and n = c = 0. Formulas are linear, so averaging
probabilities is the same as averaging scores. Higher is better.
Source: Chen and Eger, "MENLI: Robust Evaluation Metrics from Natural Language Inference", TACL
2023, section 4.3.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from infolm_metric import metrics
from infolm_metric.core.baselines import Baseline, resolve_baseline
from infolm_metric.core.checks import InputError, check_fraction, check_known, score_names
from infolm_metric.core.idf import IDF
from infolm_metric.core.settings import BUNDLED, NLISettings, Settings, setting

# Weights of e, n and c. A score lies between the smallest and the largest weight.
NLI_FORMULAS: dict[str, tuple[int, int, int]] = {
    "e": (1, 0, 0),
    "-c": (0, 0, -1),
    "e-n": (1, -1, 0),
    "e-c": (1, 0, -1),
    "e-n-2c": (1, -1, -2),
}
WEIGHT = 0.2  # weight of the NLI score in a combination. 0.2 to 0.3 is best for MT (Chen and Eger)
# Defaults of each task, for settings that are None.
TASKS: dict[str | None, dict[str, str]] = {
    None: {"formula": "e", "direction": "avg"},
    "translation": {"formula": "e", "direction": "avg"},
    "summary": {"formula": "e-c", "direction": "hr"},
    "source": {"formula": "-c", "direction": "rh"},
}
SOURCE = "source"


@dataclass(frozen=True, kw_only=True)
class MENLISettings(NLISettings):
    """Settings of MENLI.

    Args:
        task: defaults for formula and direction: translation (e, avg), summary (e-c, hr) or source
            (-c, rh, where the references are the sources). Default: same as translation.
        formula: one or more of e, -c, e-n, e-c and e-n-2c, where e, n and c are the
            probabilities of entailment, neutrality and contradiction. Computing several formulas
            takes no extra time. On the command line, use an equals sign: --formula=-c. Default: the
            task's.
        direction: rh (does the reference entail the candidate?), hr (does the candidate entail the
            reference?) or avg (mean of both). Default: the task's.
        multi_reference: reduction over several references: max or mean. The metric in
            combine_with uses its own setting.
        combine_with: metric to combine with the NLI score: infolm, baryscore or bertscore (with
            uniform token weights, idf=False). In Python, a settings object of one of these metrics
            is also accepted and used unchanged, except for combine_model and combine_layers.
        nli_weight: weight of the NLI score in a combination, from 0 to 1. Default: 0.2.
        combine_model: model of the metric in combine_with: a folder, a name on the Hub, or
            "bundled". Default: bundled if the NLI model is bundled, else the metric's default.
        combine_layers: layers of baryscore, or layer of bertscore, in combine_with. Default:
            that metric's default.
        combine_baseline: baseline for the metric in combine_with: a file written by infolm
            baseline. Default: the package's baseline or, without one, the metric's bounds.
        model_name_or_path: a folder, a name on the Hub, or "bundled" (small, English, offline).
            Default: $INFOLM_NLI_MODEL, bundled if $INFOLM_MODEL is bundled, or
            microsoft/deberta-large-mnli.

    >>> MENLISettings(formula=["e", "e-c"]).names
    ('e', 'e-c')
    >>> MENLISettings(combine_with="infolm", nli_weight=1.5)
    Traceback (most recent call last):
    infolm_metric.InputError: nli_weight must ... between 0 and 1..., got 1.5
    """

    metric = "menli"
    names_field = "formula"
    default_model = "microsoft/deberta-large-mnli"  # the authors' NLI-D

    task: Literal["translation", "summary", "source"] | None = setting(signature="")
    formula: str | tuple[str, ...] | None = None
    direction: Literal["avg", "rh", "hr"] | None = None
    multi_reference: Literal["max", "mean"] = "max"
    combine_with: str | Settings | None = setting(allowed="a metric's name or its settings")
    nli_weight: float | None = None
    combine_model: str | os.PathLike[str] | None = setting(signature="")
    combine_layers: int | str | tuple[int, ...] | None = setting(signature="")
    combine_baseline: str | os.PathLike[str] | Baseline | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.formula is not None:
            names = score_names("formula", self.formula, {name: name for name in NLI_FORMULAS})
            object.__setattr__(self, "formula", names)
        baseline = resolve_baseline(self.metric, self.combine_baseline, "combine_baseline")
        part = baseline and baseline.of_metric(self.other_name)
        object.__setattr__(self, "combine_baseline", part)
        if self.combine_with is None:
            for name in ("nli_weight", "combine_baseline", "combine_model", "combine_layers"):
                if getattr(self, name) is not None:
                    raise InputError(
                        f"{name} requires a combination with another metric, got "
                        f"{getattr(self, name)!r}. Set combine_with='bertscore', for example.",
                        setting=name,
                    )
        if self.nli_weight is not None:
            ends = " (0: only the other metric, 1: only the NLI model)"
            check_fraction("nli_weight", self.nli_weight, ends)
        combinable = metrics.similarities()
        if isinstance(self.combine_with, str):
            check_known("combine_with", self.combine_with, combinable, every=True)
        if self.combine_layers is not None and not self.layers_name:
            layered = [name for name, metric in metrics.METRICS.items() if metric.layers]
            raise InputError(
                f"combine_layers requires combine_with to be {' or '.join(layered)}, got "
                f"{self.other_name}. Omit this setting.",
                setting="combine_layers",
            )
        if self.combine_model is not None:  # resolved to the absolute path of a folder
            object.__setattr__(self, "combine_model", self.other.model_name_or_path)
        if self.other is not None and (
            len(self.other.names) != 1 or self.other_name not in combinable
        ):
            raise InputError(
                f"combine_with must be one of {', '.join(combinable)} with a single score, got "
                f"{self.other_name} with {', '.join(self.other.names)}",
                setting="combine_with",
            )

    @property
    def resolved_direction(self) -> str:
        """The direction, or the task's default.

        >>> MENLISettings(task="summary", formula="e").resolved_direction
        'hr'
        """
        return self.direction or TASKS[self.task]["direction"]

    @property
    def names(self) -> tuple[str, ...]:
        """Full names of the requested scores."""
        value = self.formula or TASKS[self.task]["formula"]
        return (value,) if isinstance(value, str) else tuple(value)

    @property
    def weight(self) -> float:
        """Weight of the NLI score.

        >>> MENLISettings().weight, MENLISettings(combine_with="infolm").weight
        (1.0, 0.2)
        """
        if self.combine_with is None:
            return 1.0
        return WEIGHT if self.nli_weight is None else self.nli_weight

    @cached_property
    def other(self) -> Any:
        """Settings of the metric to combine with, or None.

        A metric selected by name uses idf=False, so that a pair's score does not depend on other
        pairs. It inherits device, dtype, batch_size, reuse_memory, long_text, and the bundled
        model if the NLI model is bundled. `combine_model` and `combine_layers` override its
        model and layers.

        >>> MENLISettings(combine_with="infolm").other.idf
        False
        """
        changes: dict[str, Any] = {}
        if self.combine_model is not None:
            changes["model_name_or_path"] = self.combine_model
        if self.combine_layers is not None:
            changes[self.layers_name] = self.combine_layers
        if not isinstance(self.combine_with, str):
            return self.combine_with and self.combine_with.replace(**changes)
        names = ["device", "dtype", "batch_size", "reuse_memory", "long_text"]
        if self.model_name_or_path == BUNDLED:
            names.append("model_name_or_path")
        kind = metrics.find(self.combine_with).settings_type()
        values = {"idf": False, **{name: getattr(self, name) for name in names}}
        return kind(**values | changes)

    @property
    def other_name(self) -> str | None:
        """Name of the metric to combine with, or None."""
        combined = self.combine_with
        return combined.metric if isinstance(combined, Settings) else combined

    @property
    def layers_name(self) -> str:
        """Name of the setting of the other metric that `combine_layers` sets, or ""."""
        return metrics.find(self.other_name).layers if self.other_name else ""

    @property
    def idf(self) -> bool | str | IDF:
        """Token weights of the metric to combine with. False without a combination."""
        return False if self.other is None else self.other.idf

    def with_uniform_weights(self) -> MENLISettings:
        """Return these settings, with uniform weights if the other metric counts documents."""
        return (
            self.replace(combine_with=self.other.with_uniform_weights()) if self.idf_sides else self
        )

    def without_reuse(self) -> MENLISettings:
        """Return these settings without caches of encodings for MENLI and the other metric."""
        other = self.other and self.other.without_reuse()
        return self.replace(combine_with=other, reuse_memory=0)

    def signature_fields(self) -> dict[str, object]:
        """Return the signature fields, including a combination's fields if there is one."""
        fields = super().signature_fields() | {"direction": self.resolved_direction}
        for name in ("combine_with", "nli_weight", "combine_baseline"):
            fields.pop(name)  # the values in use are added below, and the baseline by the run
        if self.other_name is not None:
            fields |= {"nli_weight": self.weight, "combine_with": self.other_name}
        return fields | ({"against": SOURCE} if self.task == SOURCE else {})

    def column(self, name: str) -> str:
        """Return the name of a score in tables and files. A combination names both metrics.

        >>> MENLISettings().column("e"), MENLISettings(combine_with="infolm").column("e-c")
        ('menli', 'menli_e-c+infolm')
        """
        column = self.metric if name == TASKS[None]["formula"] else f"{self.metric}_{name}"
        return column if self.other_name is None else f"{column}+{self.other_name}"

    def baseline_settings(self) -> list[MENLISettings]:
        """Return settings with all formulas. If combined, return one object per token weighting.

        >>> combinations = MENLISettings(combine_with="infolm").baseline_settings()
        >>> [settings.other.idf for settings in combinations]
        [False, 'references']
        """
        settings = self.replace(formula=tuple(NLI_FORMULAS))
        if self.other is None:
            return [settings]
        forms = [other.idf for other in self.other.baseline_settings()]
        return [settings.replace(combine_with=self.other.replace(idf=form)) for form in forms]
