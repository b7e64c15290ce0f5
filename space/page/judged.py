"""What is told of two texts by any metric: the verdict, the score and what to keep in mind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from infolm_metric.kernel.baselines import Spread
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.model_settings import ModelSettings
from infolm_metric.kernel.pairs import Pairs, check_pairs
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.rescaling import known_baseline
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.scorer import MetricScorer
from infolm_metric.kernel.settings import Settings

from . import limits
from .allowed_models import AllowedModel, model_named
from .choices import Choices


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the page shows of a comparison by any metric."""

    name: str  # of the score
    choices: Choices
    settings: ModelSettings
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
        if not self.remarks.judged:
            return "These texts cannot be judged"
        if self.score == self.best:
            return "The same as a copy"
        if self.unrelated is None:
            return ""
        return f"{self.unrelated.verdict(self.score, self.best)} unrelated texts".capitalize()


def checked_pair(
    candidate: str, references: Sequence[str], choices: Choices
) -> tuple[Pairs, AllowedModel]:
    """The one pair and the model that is chosen, after all checks."""
    limits.check_references(len(references))
    numbered = [f"Reference {i}" for i in range(1, len(references) + 1)]
    names = ["The candidate", *(numbered if len(references) > 1 else ["The reference"])]
    texts = [candidate, *references]
    for name, text in zip(names, texts, strict=True):
        if not isinstance(text, str):
            raise TypeError(f"{name} must be a text")
        if not text.strip():
            raise ValueError(f"{name} is empty; write a text")
        limits.check_characters(name, text)
    pairs = check_pairs([candidate], [references])
    model = model_named(choices.model)
    limits.check_compared(names, model.token_counts(texts), choices.model)
    return pairs, model


def judged_by(
    scorer: MetricScorer, pairs: Pairs, asked: Sequence[Settings], choices: Choices
) -> tuple[dict[str, Any], Statistics, list[Result]]:
    """The fields of `Judged` for one pair by the first settings; its statistics; all results.

    All settings weigh the texts alike.
    """
    own, inner = asked[0], scorer.inner
    ((candidate, references),) = pairs
    with scorer.lock:
        counted = inner.count(pairs, own)
        results = inner.score_many(pairs, asked, [counted] * len(asked))
        baseline = known_baseline(inner, own, counted, Counter([len(references)]))
    (name,) = own.names
    ends = inner.bounds(own, name)
    judged = {
        "name": name,
        "choices": choices,
        "settings": own,
        "candidate_text": candidate,
        "reference_texts": tuple(references),
        "score": results[0].mean(name),
        "best": ends[int(inner.higher_is_better(own))],
        "largest": ends[1],
        "unrelated": spread_in(baseline),
        "remarks": results[0].remarks,
        "explained": closest_reference(scorer, pairs, own),
        "signature": results[0].signature,
    }
    return judged, counted, results


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


def spread_in(baseline: Mapping[str, Mapping[str, Any]] | None) -> Spread | None:
    """How unrelated texts score, of what `Result.baseline` shows of one kind of score."""
    for found in (baseline or {}).values():
        return Spread(**{name: value for name, value in found.items() if name != "source"})
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
