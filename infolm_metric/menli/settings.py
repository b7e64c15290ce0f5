"""Every choice a user of MENLI can make, with its default and its check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infolm_metric.kernel.baselines import NoBaseline
from infolm_metric.kernel.checks import BUNDLED, flag, number, one_of, optional
from infolm_metric.kernel.model_settings import ModelSettings
from infolm_metric.kernel.settings import Settings as KernelSettings
from infolm_metric.kernel.settings import choice
from infolm_metric.kernel.wording import spelled
from infolm_metric.menli.combination import (
    FIXED,
    MINMAX,
    Companion,
    Ranges,
    companion,
    normalization,
)
from infolm_metric.menli.formulas import FORMULAS, formula_names
from infolm_metric.menli.labels import label_names

DIRECTIONS = ("avg", "rh", "hr")
MULTI_REFERENCE = ("max", "mean")
LONG_TEXT = ("truncate", "error")
COMBINATION = ("combine_with", "nli_weight", "higher_is_better", "normalize")
WEIGHT = 0.2  # of the NLI part beside another metric; Chen and Eger find 0.2 to 0.3 best for MT


def _weight(name: str, value: Any) -> float:
    checked = number(name, value)
    if not 0 <= checked <= 1:
        raise ValueError(
            f"{name} must lie between 0, the other metric alone, and 1, the NLI model alone, got "
            f"{value!r}; the paper's best are 0.2 to 0.3 for translations and 0.8 for summaries"
        )
    return checked


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
    combine_with: Companion | tuple[float, ...] | None = choice(
        None,
        optional(companion),
        "another metric, infolm or baryscore, that the score is combined with: its name, "
        '{{"metric": its name, and settings of it}}, or a list with a score of each pair',
        "--combine-with",
        signed=True,
        given="str | Mapping[str, object] | Sequence[float] | None",
    )
    nli_weight: float | None = choice(
        None,
        optional(_weight),
        "share of the NLI model in a combination, from 0 to 1 (default: 0.2)",
        "--nli-weight",
        signed=True,
    )
    higher_is_better: bool = choice(
        True,
        flag,
        "False if lower is better among the scores of the list that is combined",
        signed=True,
    )
    normalize: str | Ranges = choice(
        FIXED,
        normalization,
        "how the parts of a combination are brought to [0, 1]: fixed (default: by the formula's "
        "range, and the other metric from its best score to its baseline, or by its range), "
        'minmax (by the scores of the call), or {{"nli": (low, high), "metric": (low, high)}}',
        "--normalize",
        signed=True,
        given="str | Mapping[str, tuple[float, float]]",
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
        if self.nli_weight is not None and self.combine_with is None:
            raise ValueError(
                f"{spelled('nli_weight')} is the share of the NLI model beside another metric, and "
                f"there is none, got {self.nli_weight}; give {spelled('combine_with')}, too, or "
                f"leave {spelled('nli_weight')} out"
            )
        other = self.other
        if other is not None and len(other.names) != 1:
            raise ValueError(
                f"{spelled('combine_with')} must be a metric with one score, got "
                f"{', '.join(other.names)}"
            )
        if isinstance(self.combine_with, tuple) and self.normalize == FIXED:
            raise ValueError(
                f"{spelled('combine_with')} is a list of scores, whose range is not known; give "
                f"{spelled('normalize', MINMAX)}, or normalize={{'metric': (low, high)}}"
            )
        if isinstance(self.normalize, Ranges) and self.combine_with is not None:
            self._check_ranges(self.normalize)
        if self.rescale_with_baseline and self.part_of_a_call:
            raise NoBaseline(
                f"{spelled('rescale_with_baseline')} needs scores that depend on their pair alone; "
                f"{self.part_of_a_call} does not give them"
            )

    def _check_ranges(self, ranges: Ranges) -> None:
        """Raise ValueError if the ranges given do not belong to this combination."""
        if ranges.metric is None and self.other is None:
            raise ValueError(
                f"{spelled('normalize')} has no range for the scores of combine_with; give "
                f"{{'metric': (low, high)}}, got {ranges}"
            )
        if ranges.nli is not None and len(self.names) > 1:
            raise ValueError(
                f"{spelled('normalize')} has a range for one formula, got the formulas "
                f"{', '.join(self.names)}; ask for one, or leave the range of nli out"
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
        """The settings of the metric to combine with, which runs where and as this one does.

        Beside the bundled NLI model it uses its own bundled model.

        >>> Settings(model_name_or_path="bundled", combine_with="infolm").other.model_name_or_path
        'bundled'
        """
        if not isinstance(self.combine_with, Companion):
            return None
        inherited = ["device", "dtype", "batch_size", "tokenize_processes", "reuse_memory"]
        if self.model_name_or_path == BUNDLED:
            inherited.append("model_name_or_path")
        if self.long_text == "error":
            inherited.append("long_text")
        return self.combine_with.settings({name: getattr(self, name) for name in inherited})

    @property
    def counted(self) -> tuple[str, ...]:
        """The sides whose documents are counted for the metric that is combined."""
        return () if self.other is None else self.other.counted

    @property
    def fixes_other(self) -> bool:
        """True if the range of the metric that is combined is the one fixed for it."""
        given = isinstance(self.normalize, Ranges) and self.normalize.metric is not None
        return self.normalize != MINMAX and not given

    @property
    def part_of_a_call(self) -> str:
        """What ties a score to the call it is made in, as it was given; "" if nothing does."""
        if isinstance(self.combine_with, tuple):
            return f"a list of scores as {spelled('combine_with')}"
        if self.combine_with is not None and self.normalize == MINMAX:
            return spelled("normalize", MINMAX)
        return ""

    def check_parts(self) -> None:
        """Raise ValueError if a part of a corpus cannot be scored without the rest of it."""
        if self.part_of_a_call:
            raise ValueError(
                f"{self.part_of_a_call} needs the whole corpus in one call; a stream, a job, ranks "
                f"and Ray score it in parts: give {spelled('normalize', FIXED)}, or as normalize "
                "the ranges that an earlier call returned, and a metric by name"
            )

    def signed(self) -> dict[str, object]:
        """What can change a score; what belongs to a combination only where there is one."""
        fields = super().signed()
        for name in (*COMBINATION, "labels"):  # the scorer signs labels as the model has them
            fields.pop(name)
        baseline = {"baseline": fields.pop("baseline")} if "baseline" in fields else {}
        if self.combine_with is not None:
            fields["nli_weight"] = self.weight
            fields["normalize"] = self.normalize
        return {**fields, **baseline}

    def label(self, name: str) -> str:
        """The formula, and in a combination the shares.

        >>> Settings(combine_with="infolm", formula="e-c").label("e-c")
        '0.2 e-c + 0.8 infolm'
        """
        if self.combine_with is None:
            return name
        other = "scores" if self.other is None else self.other.metric
        return f"{self.weight:g} {name} + {1 - self.weight:g} {other}"

    def baselined(self) -> list[Settings]:
        """All formulas; in a combination with a metric for every kind of weights that it has.

        >>> [each.other.idf for each in Settings(combine_with="infolm").baselined()]
        [False, 'references']
        """
        plain = self.replace(formula=tuple(FORMULAS), rescale_with_baseline=False)
        if self.other is None or not isinstance(self.combine_with, Companion):
            return [plain]
        named = {"metric": self.combine_with.metric, **dict(self.combine_with.given)}
        forms = [each.idf for each in self.other.baselined() if hasattr(each, "idf")]
        return [plain.replace(combine_with={**named, "idf": idf}) for idf in forms] or [plain]
