"""A candidate compared with its references by MENLI: does each follow from the other?"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infolm_metric import MENLIScorer
from infolm_metric.kernel.baselines import Spread
from infolm_metric.kernel.checks import BUNDLED
from infolm_metric.kernel.pairs import Pairs
from infolm_metric.kernel.results import Remarks

from .choices import Choices
from .comparison import checked_pair, closest_reference, spread_of_unrelated, verdict_on

DIRECTIONS = ("rh", "hr")  # does the candidate follow from the reference, and the other way round
RULES = {"min": "max", "mean": "mean"}  # of several references: the closest has the highest score


@dataclass(frozen=True)
class InferenceAnswer:
    """Everything that the page shows of one comparison by MENLI."""

    choices: Choices
    candidate_text: str
    reference_texts: tuple[str, ...]
    score: float
    unrelated: Spread | None  # how unrelated texts score, where it is known
    remarks: Remarks
    explained: int  # which reference is explained: the closest
    said: Mapping[str, Mapping[str, float]]  # direction -> letter of a class -> its probability
    signature: str
    name: str = "menli"
    largest: float = 1.0
    best: float = 1.0

    @property
    def verdict(self) -> str:
        """How close the texts are, in words; nothing where that is not known."""
        return verdict_on(self.score, self.remarks, self.unrelated, self.best)


def infer(candidate: str, references: Sequence[str], choices: Choices) -> InferenceAnswer:
    """The score of a candidate with what it is made of; raises ValueError or TypeError if refused.

    The model is the bundled one, whatever model was chosen for the other metrics.
    """
    pairs, _ = checked_pair(candidate, references, choices)
    scorer = inference_scorer()
    own = scorer.settings.replace(multi_reference=RULES[choices.multi_reference])
    with scorer.lock:
        counted = scorer.inner.count(pairs, own)
        result = scorer.inner.score(pairs, own, counted)
        closest = closest_reference(scorer, pairs, own)
        asked = [own.replace(direction=each, probabilities=True) for each in DIRECTIONS]
        found = scorer.inner.score_many(
            Pairs([candidate], [[references[closest]]]), asked, [counted] * len(asked)
        )
    said = {
        direction: {letter: values[0] for letter, values in each["probabilities"].items()}
        for direction, each in zip(DIRECTIONS, found, strict=True)
    }
    return InferenceAnswer(
        choices,
        candidate,
        tuple(references),
        result["menli"],
        spread_of_unrelated(scorer.inner, own, counted, len(references)),
        result.remarks,
        closest,
        said,
        result.signature,
    )


@functools.cache
def inference_scorer() -> MENLIScorer:
    """The scorer of the bundled model of inference, loaded when it is first asked for."""
    return MENLIScorer(model_name_or_path=BUNDLED)
