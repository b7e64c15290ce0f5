"""Every choice a user of MENLI can make, with its default and its check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infolm_metric import metrics
from infolm_metric.kernel.baselines import Baseline, baseline_file
from infolm_metric.kernel.checks import BUNDLED, flag, nearest, number, one_of, optional
from infolm_metric.kernel.model_settings import ModelSettings
from infolm_metric.kernel.settings import Settings as KernelSettings
from infolm_metric.kernel.settings import choice
from infolm_metric.menli.formulas import FORMULAS, formula_names
from infolm_metric.menli.labels import label_names

DIRECTIONS = ("avg", "rh", "hr")
MULTI_REFERENCE = ("max", "mean")
LONG_TEXT = ("truncate", "error")
COMBINATION = ("combine_with", "nli_weight", "combine_baseline")
OTHERS = ("infolm", "baryscore")
WEIGHT = 0.2  # of the NLI part beside another metric; Chen and Eger find 0.2 to 0.3 best for MT


def _weight(name: str, value: Any) -> float:
    checked = number(name, value)
    if not 0 <= checked <= 1:
        raise ValueError(
            f"{name} must lie between 0, the other metric alone, and 1, the NLI model alone, got "
            f"{value!r}; the paper's best are 0.2 to 0.3 for translations and 0.8 for summaries"
        )
    return checked


def other_metric(name: str, value: Any) -> str | KernelSettings:
    """What the setting `combine_with` can be: a metric's name, or its settings.

    >>> other_metric("combine_with", "barscore")
    Traceback (most recent call last):
    ValueError: unknown combine_with 'barscore'; did you mean 'baryscore'?
    """
    if isinstance(value, KernelSettings) and value.metric in OTHERS:
        return value
    if not isinstance(value, str):
        raise TypeError(
            f"{name} must be {' or '.join(map(repr, OTHERS))}, or the settings of one of them, got "
            f"{value!r:.60}"
        )
    if value not in OTHERS:
        raise ValueError(f"unknown {name} {value!r}; {nearest(value, OTHERS)}")
    return value


@dataclass(frozen=True)
class Settings(ModelSettings):
    """A checked set of choices; raises ValueError or TypeError that names the wrong one.

    >>> Settings.of(formula=["e", "e-c"]).names
    ('e', 'e-c')
    >>> Settings.of(nli_weight=1.5)
    Traceback (most recent call last):
    ValueError: nli_weight must lie between 0, ..., got 1.5; the paper's best are ...
    """

    metric = "menli"
    default_model = "microsoft/deberta-large-mnli"  # the authors' NLI-D
    model_variable = "INFOLM_NLI_MODEL"
    takes_sources = True

    formula: str | tuple[str, ...] = choice(
        "e",
        formula_names,
        "one or several of e (default), -c, e-n, e-c and e-n-2c, of the probabilities of "
        "entailment, neutrality and contradiction; several need no more of the model. On the "
        "command line with an equals sign: --formula=-c",
        "--formula",
        label="formula",
        signed=True,
        repeated=True,
        given="str | Sequence[str]",
    )
    direction: str = choice(
        "avg",
        one_of(DIRECTIONS),
        "rh (does the candidate follow from the reference?), hr (the reference from the "
        "candidate?), or avg, the mean of both (default)",
        "--direction",
        signed=True,
    )
    multi_reference: str = choice(
        "max",
        one_of(MULTI_REFERENCE),
        "score of several references: their max (default) or mean; another metric that is "
        "combined has its own rule",
        "--multi-reference",
        signed=True,
    )
    combine_with: str | KernelSettings | None = choice(
        None,
        optional(other_metric),
        "another metric that the score is combined with: infolm or baryscore, or in Python the "
        "settings of one of them",
        "--combine-with",
        signed=True,
        given="str | Settings | None",
    )
    nli_weight: float | None = choice(
        None,
        optional(_weight),
        "share of the NLI model in a combination, from 0 to 1 (default: 0.2)",
        "--nli-weight",
        signed=True,
    )
    combine_baseline: Baseline | None = choice(
        None,
        optional(baseline_file),
        "what unrelated texts score by the metric that is combined: a file made by infolm baseline "
        "(default: the package's)",
        "--combine-baseline",
        signed=True,
        given="str | os.PathLike[str] | Baseline | None",
    )
    labels: tuple[str, ...] | None = choice(
        None,
        optional(label_names),
        "what the model's outputs stand for, in their order, such as "
        "contradiction,neutral,entailment (default: as the model's configuration says)",
        "--labels",
        signed=True,
        given="str | Sequence[str] | None",
    )
    probabilities: bool = choice(
        False,
        flag,
        "give also the probabilities e, n and c behind each score",
        "--probabilities",
    )
    max_length: int | None = choice(
        None,
        ModelSettings.choices()["max_length"].check,
        "tokens of the two texts together, special ones included (default: what the model allows)",
        "--max-length",
    )
    long_text: str = choice(
        "truncate",
        one_of(LONG_TEXT),
        "what to do with longer ones: truncate (default; the longer text first) or error",
        "--long-text",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.combine_with is None:
            for name in ("nli_weight", "combine_baseline"):
                if getattr(self, name) is not None:
                    raise ValueError(
                        f"{name} is for a combination with another metric, and there is "
                        f"none, got {getattr(self, name)}; give combine_with, too, or "
                        f"leave {name} out"
                    )
        other = self.other
        if other is not None and len(other.names) != 1:
            raise ValueError(
                f"combine_with must be a metric with one score, got {', '.join(other.names)}"
            )

    @property
    def weight(self) -> float:
        """The share of the NLI model in the score.

        >>> Settings().weight, Settings(combine_with="infolm").weight
        (1.0, 0.2)
        """
        if self.combine_with is None:
            return 1.0
        return WEIGHT if self.nli_weight is None else self.nli_weight

    @property
    def other(self) -> KernelSettings | None:
        """The settings of the metric to combine with, those of a name as they are here.

        Beside the bundled NLI model it uses its own bundled model.

        >>> Settings(model_name_or_path="bundled", combine_with="infolm").other.model_name_or_path
        'bundled'
        """
        if self.combine_with is None:
            return None
        own = self.combine_with
        if isinstance(own, str):
            inherited = ["device", "dtype", "batch_size", "tokenize_processes", "reuse_memory"]
            if self.model_name_or_path == BUNDLED:
                inherited.append("model_name_or_path")
            if self.long_text == "error":
                inherited.append("long_text")
            kind = metrics.find(own).settings_type()
            own = kind(**{name: getattr(self, name) for name in inherited})
        return own.replace(rescale_with_baseline=self.combine_baseline or False)

    @property
    def counted(self) -> tuple[str, ...]:
        """The sides whose documents are counted for the metric that is combined."""
        return () if self.other is None else self.other.counted

    def signed(self) -> dict[str, object]:
        """What can change a score; what belongs to a combination only where there is one."""
        fields = super().signed()
        for name in (*COMBINATION, "labels"):  # the scorer signs labels as the model has them
            fields.pop(name)
        baseline = {"baseline": fields.pop("baseline")} if "baseline" in fields else {}
        if self.combine_with is not None:
            fields["nli_weight"] = self.weight
        return {**fields, **baseline}

    def label(self, name: str) -> str:
        """The formula, and in a combination the shares.

        >>> Settings(combine_with="infolm").label("e-c")
        '0.2 e-c + 0.8 infolm'
        """
        if self.other is None:
            return name
        return f"{self.weight:g} {name} + {1 - self.weight:g} {self.other.metric}"

    def baselined(self) -> list[Settings]:
        """All formulas; in a combination for every kind of weights that the other metric has.

        >>> [each.other.idf for each in Settings(combine_with="infolm").baselined()]
        [False, 'references']
        """
        plain = self.replace(formula=tuple(FORMULAS), rescale_with_baseline=False)
        if self.other is None:
            return [plain]
        forms = [getattr(each, "idf", None) for each in self.other.baselined()]
        return [plain.replace(combine_with=self.other.replace(idf=form)) for form in forms]
