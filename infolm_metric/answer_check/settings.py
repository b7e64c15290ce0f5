"""Settings of answer_check."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal

from infolm_metric.core.checks import InputError, score_names
from infolm_metric.core.settings import BUNDLED, NLISettings, setting

SCORES = ("answer_check", "completeness", "correctness")


@dataclass(frozen=True, kw_only=True)
class AnswerCheckSettings(NLISettings):
    """Settings of answer_check.

    Args:
        score: one or more of answer_check, completeness (does the answer contain the reference?)
            and correctness (does the reference support the answer?). For references of one
            statement, all three are equal.
        strip_thinking: remove the reasoning before the answer, such as <think>...</think>.
        thresholds: two numbers from 0 to 1, such as 0.3,0.6. An answer is likely wrong if its score
            answer_check is below the first, and likely correct from the second on, unless it
            contradicts the reference (unclear). Default: measured thresholds, which give no
            verdicts if the model, labels, max_length, dtype or strip_thinking is not the default.
        multi_reference: max. All scores refer to the reference with the highest answer_check.
        model_name_or_path: a folder, a name on the Hub, or "bundled" (small, English, offline).
            Default: bundled.

    >>> AnswerCheckSettings(score=["completeness", "correctness"]).names
    ('completeness', 'correctness')
    >>> AnswerCheckSettings(thresholds=(0.7, 0.3))
    Traceback (most recent call last):
    infolm_metric.InputError: thresholds must be two numbers from 0 to 1, ..., got (0.7, 0.3). ...
    """

    metric = "answer_check"
    names_field = "score"
    verdict_columns = ("verdict", "reason")
    default_model = BUNDLED
    model_variable = ""  # the thresholds were measured for the bundled model

    score: str | tuple[str, ...] = field(default="answer_check", metadata={"flags": ("--score",)})
    strip_thinking: bool = field(default=True, metadata={"flags": ("--no-strip-thinking",)})
    thresholds: str | tuple[float, ...] | None = setting(allowed="two numbers from 0 to 1")
    multi_reference: Literal["max"] = field(default="max", metadata={"flags": ()})

    def __post_init__(self) -> None:
        super().__post_init__()
        names = score_names("score", self.score, {name: name for name in SCORES})
        object.__setattr__(self, "score", names)
        if self.thresholds is not None:
            object.__setattr__(self, "thresholds", _parse_thresholds(self.thresholds))


def _parse_thresholds(thresholds: str | tuple[float, ...]) -> tuple[float, ...]:
    """Parse two numbers, as a sequence or separated by a comma."""
    with suppress(ValueError):  # another number of numbers, or no numbers
        parts = thresholds.split(",") if isinstance(thresholds, str) else thresholds
        low, high = map(float, parts)
        if 0 <= low <= high <= 1:
            return low, high
    raise InputError(
        "thresholds must be two numbers from 0 to 1, the lower one first, got "
        f"{thresholds!r}. Scores below the first are likely wrong, and scores from the second on "
        "are likely correct.",
        setting="thresholds",
    )
