"""A candidate compared with its references by BaryScore: the score, and the plan behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infolm_metric.baryscore.explanation import Explanation
from infolm_metric.kernel.baselines import Spread
from infolm_metric.kernel.results import Remarks

from .choices import CORPUS, IDF_FORMS, Choices
from .comparison import checked_pair, closest_reference, spread_of_unrelated, verdict_on


@dataclass(frozen=True)
class TransportAnswer:
    """Everything that the page shows of one comparison by BaryScore."""

    choices: Choices
    candidate_text: str
    reference_texts: tuple[str, ...]
    score: float
    largest: float
    unrelated: Spread | None  # how unrelated texts score, where it is known
    remarks: Remarks
    explained: int  # which reference is explained: the closest
    explanation: Explanation
    signature: str
    name: str = "baryscore"
    best: float = 0.0

    @property
    def verdict(self) -> str:
        """How close the texts are, in words; nothing where that is not known."""
        return verdict_on(self.score, self.remarks, self.unrelated, self.best)


def move_texts(candidate: str, references: Sequence[str], choices: Choices) -> TransportAnswer:
    """The score of a candidate with its plan; raises ValueError or TypeError if refused."""
    pairs, model = checked_pair(candidate, references, choices)
    scorer = model.transport
    own = scorer.settings.replace(
        multi_reference=choices.multi_reference,
        idf=(
            model.document_frequencies(choices.corpus)
            if choices.idf == CORPUS
            else IDF_FORMS[choices.idf]
        ),
    )
    with scorer.lock:
        counted = scorer.inner.count(pairs, own)
        result = scorer.inner.score(pairs, own, counted)
    closest = closest_reference(scorer, pairs, own)
    # The weights are those of all references, of which the explanation knows one.
    table = next(iter(counted.tables.values())) if counted.tell else not own.counted and own.idf
    explanation = scorer.explain(candidate, references[closest], **vars(own) | {"idf": table})
    return TransportAnswer(
        choices,
        candidate,
        tuple(references),
        result["baryscore"],
        scorer.inner.bounds(own, "baryscore")[1],
        spread_of_unrelated(scorer.inner, own, counted, len(references)),
        result.remarks,
        closest,
        explanation,
        result.signature,
    )
