"""What is told of two texts by any metric: the verdict, the score and what to keep in mind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infolm_metric.kernel.baselines import NoBaseline, Spread
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pairs, check_pairs
from infolm_metric.kernel.rescaling import spread_of, with_baseline
from infolm_metric.kernel.results import Remarks, Result
from infolm_metric.kernel.scorer import MetricScorer, Scorer
from infolm_metric.kernel.settings import Settings

from . import limits
from .allowed_models import AllowedModel
from .choices import Choices, names_of


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the page shows of a comparison by any metric."""

    name: str  # of the score
    choices: Choices
    candidate_text: str
    reference_texts: tuple[str, ...]
    score: float
    best: float
    largest: float
    unrelated: Spread | None  # how unrelated texts score, where it is known
    remarks: Remarks
    explained: int  # which reference is explained: the closest
    signature: str

    @property
    def verdict(self) -> str:
        """How close the texts are, in words; nothing where that is not known."""
        return verdict_on(self.score, self.remarks, self.unrelated, self.best)


def verdict_on(score: float, remarks: Remarks, unrelated: Spread | None, best: float) -> str:
    """How close texts of this score are, in words; nothing where that is not known.

    >>> verdict_on(0.0, Remarks(), None, best=0.0)
    'The same as a copy'
    """
    if not remarks.judged:
        return "These texts cannot be judged"
    if score == best:
        return "The same as a copy"
    if unrelated is None:
        return ""
    return f"{unrelated.verdict(score, best)} unrelated texts".capitalize()


def check_texts(names: Sequence[str], texts: Sequence[str]) -> None:
    """Raise ValueError that names the first text that is blank or too long, if one is."""
    for name, text in zip(names, texts, strict=True):
        if not isinstance(text, str):
            raise TypeError(f"{name} must be a text")
        if not text.strip():
            raise ValueError(f"{name} is empty; write a text")
        limits.check_characters(name, text)


def checked_pair(
    candidate: str, references: Sequence[str], choices: Choices
) -> tuple[Pairs, AllowedModel]:
    """The one pair and the model that is chosen, after all checks."""
    limits.check_references(len(references))
    names = names_of(references)
    check_texts(names, [candidate, *references])
    pairs = check_pairs([candidate], [references])
    model = choices.load()
    counts = model.token_counts([candidate, *references])
    limits.check_compared(names, counts, choices.model)
    return pairs, model


def judged_by(
    scorer: MetricScorer,
    pairs: Pairs,
    own: Settings,
    counted: Statistics,
    result: Result,
    choices: Choices,
) -> dict[str, Any]:
    """The fields of `Judged` for the result of one pair by a metric."""
    ((candidate, references),) = pairs
    (name,) = own.names
    ends = scorer.inner.bounds(own, name)
    higher = scorer.inner.higher_is_better(own)
    return {
        "name": name,
        "choices": choices,
        "candidate_text": candidate,
        "reference_texts": tuple(references),
        "score": result.mean(name),
        "best": ends[int(higher)],
        "largest": ends[1],
        "unrelated": spread_of_unrelated(scorer.inner, own, counted, len(references)),
        "remarks": result.remarks,
        "explained": closest_reference(scorer, pairs, own),
        "signature": result.signature,
    }


def explained(judged: Mapping[str, Any], own: Settings, counted: Statistics) -> dict[str, Any]:
    """What `explain` is given: the closest reference, weighed by all of them."""
    given = vars(own)
    # Of all references the explanation itself knows one.
    table = (
        next(iter(counted.tables.values())) if counted.tell else not own.counted and given["idf"]
    )
    return given | {
        "candidate": judged["candidate_text"],
        "reference": judged["reference_texts"][judged["explained"]],
        "idf": table,
    }


def spread_of_unrelated(
    inner: Scorer, settings: Settings, counted: Statistics, references: int
) -> Spread | None:
    """How unrelated texts score under these settings, where the package knows it."""
    try:
        rescaled = settings.replace(rescale_with_baseline=True)
        lit = with_baseline(inner, rescaled, counted, [references])
        return spread_of(inner, lit, counted, settings.names[0], references)
    except NoBaseline:
        return None


def closest_reference(scorer: MetricScorer, pairs: Pairs, settings: Settings) -> int:
    """Which reference of the one pair scores best, the first of equals."""
    ((candidate, references),) = pairs
    if len(references) == 1:
        return 0
    alone = Pairs([candidate] * len(references), [[text] for text in references])
    scores: list[float] = scorer.score_pairs(alone, settings)["scores"]
    better = max if scorer.inner.higher_is_better(settings) else min
    return scores.index(better(scores))
