"""A candidate compared with its references by BaryScore: the score, and the plan behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infolm_metric.baryscore.explanation import Explanation

from .choices import Choices
from .judged import Judged, checked_pair, explained, judged_by


@dataclass(frozen=True, kw_only=True)
class TransportAnswer(Judged):
    """Everything that the page shows of a comparison by BaryScore."""

    explanation: Explanation


def move_texts(candidate: str, references: Sequence[str], choices: Choices) -> TransportAnswer:
    """The score of a candidate with its plan; raises ValueError or TypeError if refused."""
    pairs, model = checked_pair(candidate, references, choices)
    scorer = model.transport
    own = scorer.settings.replace(multi_reference=choices.multi_reference, idf=choices.weights)
    judged, counted, _ = judged_by(scorer, pairs, [own], choices)
    explanation = scorer.explain(**explained(judged, own, counted))
    return TransportAnswer(**judged, explanation=explanation)
