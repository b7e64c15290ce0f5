"""A candidate compared with its references by MENLI: does each follow from the other?"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from infolm_metric import MENLIScorer
from infolm_metric.kernel.checks import BUNDLED
from infolm_metric.kernel.pairs import Pairs

from .choices import Choices
from .judged import Judged, checked_pair, judged_by

DIRECTIONS = ("rh", "hr")  # does the candidate follow from the reference, and the other way round
# Of pairs of unrelated sentences 11% (WebNLG) and 1% (WMT15) deny each other by more, of sentences
# with a negation or another number 83% and 81%.
DENIED = 0.8
RULES = {"min": "max", "mean": "mean"}  # of several references: the closest has the highest score


@dataclass(frozen=True, kw_only=True)
class InferenceAnswer(Judged):
    """Everything that the page shows of a comparison by MENLI."""

    said: Mapping[str, Mapping[str, float]]  # direction -> letter of a class -> its probability

    @property
    def verdict(self) -> str:
        """How close the texts are, in words, unless each denies the other."""
        if self.remarks.judged and min(each["c"] for each in self.said.values()) > DENIED:
            return "Each text denies the other"
        return super().verdict


def infer(candidate: str, references: Sequence[str], choices: Choices) -> InferenceAnswer:
    """The score of a candidate with what it is made of; raises ValueError or TypeError if refused.

    The model is the bundled one, whatever model was chosen for the other metrics.
    """
    pairs, _ = checked_pair(candidate, references, choices)
    scorer = inference_scorer()
    own = scorer.settings.replace(multi_reference=RULES[choices.multi_reference])
    judged, counted, _ = judged_by(scorer, pairs, [own], choices)
    closest = Pairs([candidate], [[references[judged["explained"]]]])
    asked = [own.replace(direction=each, probabilities=True) for each in DIRECTIONS]
    with scorer.lock:
        found = scorer.inner.score_many(closest, asked, [counted] * len(asked))
    said = {
        direction: {letter: values[0] for letter, values in each["probabilities"].items()}
        for direction, each in zip(DIRECTIONS, found, strict=True)
    }
    return InferenceAnswer(**judged | {"name": own.metric}, said=said)


@functools.cache
def inference_scorer() -> MENLIScorer:
    """The scorer of the bundled model of inference, loaded when it is first asked for."""
    return MENLIScorer(model_name_or_path=BUNDLED)
