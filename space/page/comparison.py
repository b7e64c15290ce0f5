"""A candidate compared with its references: the score, and all that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from infolm_metric.infolm import measures
from infolm_metric.infolm.explanation import Explanation, TextView
from infolm_metric.infolm.settings import Settings as InfoLMSettings

from .choices import Choices, parameters_for
from .judged import Judged, checked_pair, explained, judged_by

TOP = 8  # vocabulary entries shown of a distribution
DRIVERS = 12  # entries shown of what drives the score
EIGHTHS = tuple(step / 8 for step in range(-4, 17))  # -0.5 to 2
SWEPT = {
    "temperature": (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0),
    "interpolation": (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0),
    "alpha": EIGHTHS,
    "beta": EIGHTHS,
}
ALIKE = torch.ones(())  # prefers no entry of the vocabulary
SMALLEST_STEP = 1e-12  # a share below it is rounding

Curve = list[tuple[float, float]]
"""(setting, score), by setting."""


@dataclass(frozen=True)
class MeasureRow:
    """One line of the table of all measures."""

    name: str
    label: str  # with its parameters
    score: float
    largest: float


@dataclass(frozen=True)
class Driver:
    """A vocabulary entry that drives the score, and what each text makes the model expect of it."""

    token: str
    share: float  # what it adds to the score with the reference that is explained, >= 0
    in_reference: float
    in_candidate: float

    @property
    def signed_share(self) -> float:
        """The share; negative where the reference expects the entry more than the candidate."""
        return self.share if self.in_candidate >= self.in_reference else -self.share


@dataclass(frozen=True)
class MaskedToken:
    """A token of a text, its weight, and what the model predicts when it is masked."""

    token: str
    weight: float
    predictions: list[tuple[str, float]]  # most probable first


@dataclass(frozen=True)
class Entries:
    """Vocabulary entries that stand out, the largest first.

    They are what each text makes the model expect, and what drives the score.
    """

    candidate: list[tuple[str, float]]
    reference: list[tuple[str, float]]
    drivers: list[Driver]
    score: float  # with the reference that is explained: what the shares of all entries add up to


@dataclass(frozen=True, kw_only=True)
class Answer(Judged):
    """Everything that the page shows of a comparison by InfoLM."""

    all_measures: list[MeasureRow]
    candidate: list[MaskedToken]
    reference: list[MaskedToken]
    entries: dict[bool, Entries]  # False: content words, as rare words are; True: whatever they are
    curves: dict[str, Curve]  # by temperature, interpolation, alpha and beta


def score_pair(candidate: str, references: Sequence[str], choices: Choices) -> tuple[float, str]:
    """The score and its signature; raises ValueError or TypeError if a text is refused."""
    pairs, model = checked_pair(candidate, references, choices)
    result = model.scorer.score_pairs(pairs, choices.settings(model))
    return result["infolm"], result.signature


def compare(candidate: str, references: Sequence[str], choices: Choices) -> Answer:
    """The score of a candidate with its explanation; raises ValueError or TypeError if refused."""
    pairs, model = checked_pair(candidate, references, choices)
    own, scorer = choices.settings(model), model.scorer
    rows = {
        name: row
        for name in measures.MEASURES
        for row in _defined(own, [{"information_measure": name, **parameters_for(name, choices)}])
    }
    curves = {
        name: _defined(own, [{name: step} for step in sorted({*steps, getattr(own, name)})])
        for name, steps in SWEPT.items()
        if getattr(own, name) is not None
    }
    asked = list(dict.fromkeys([own, *rows.values(), *chain(*curves.values())]))
    judged, counted, found = judged_by(scorer, pairs, asked, choices)
    scores = {each: result["infolm"] for each, result in zip(asked, found, strict=True)}
    explanation = scorer.explain(**explained(judged, own, counted))
    return Answer(
        **judged,
        all_measures=[
            MeasureRow(name, row.label(name), scores[row], row.largest_value(name))
            for name, row in rows.items()
        ],
        candidate=_tokens(explanation.candidate, explanation.vocabulary),
        reference=_tokens(explanation.reference, explanation.vocabulary),
        entries={
            False: _entries(explanation, model.rarity),
            True: _entries(explanation, ALIKE),
        },
        curves={
            name: [(getattr(each, name), scores[each]) for each in grid]
            for name, grid in curves.items()
        },
    )


def _defined(own: InfoLMSettings, changes: Sequence[dict[str, Any]]) -> list[InfoLMSettings]:
    """The settings with each of the changes that they allow.

    Left out are parameters outside the measure's domain, and where texts are compared by their
    words alone (interpolation 1) measures without a largest value.
    """
    found = []
    for change in changes:
        try:
            found.append(own.replace(**change))
        except ValueError:
            continue
    return found


def _tokens(view: TextView, vocabulary: Sequence[str]) -> list[MaskedToken]:
    return [
        MaskedToken(token, weight, _expected(log_predictions.exp(), vocabulary))
        for token, weight, log_predictions in zip(
            view.tokens, view.weights.tolist(), view.log_predictions, strict=True
        )
    ]


def _expected(
    probabilities: torch.Tensor, vocabulary: Sequence[str], preference: torch.Tensor = ALIKE
) -> list[tuple[str, float]]:
    """The TOP entries of probabilities [vocab], with these, the most probable first."""
    best = _largest(probabilities * preference, TOP)
    found = [(vocabulary[index], float(probabilities[index])) for index in best]
    return sorted(found, key=lambda entry: -entry[1])


def _largest(values: torch.Tensor, count: int) -> list[int]:
    return values.topk(min(count, len(values))).indices.tolist()


def _entries(explanation: Explanation, preference: torch.Tensor) -> Entries:
    """What stands out among entries that are preferred by these factors, [vocab] or one."""
    reference, candidate = (
        text.log_distribution.exp() for text in (explanation.reference, explanation.candidate)
    )
    words, shares = explanation.vocabulary, explanation.shares
    drivers = [
        Driver(words[i], float(shares[i]), float(reference[i]), float(candidate[i]))
        for i in _largest(shares * preference, DRIVERS)
        if shares[i] > SMALLEST_STEP  # none where the texts do not differ
    ]
    largest_first = sorted(drivers, key=lambda driver: -driver.share)
    return Entries(
        _expected(candidate, words, preference),
        _expected(reference, words, preference),
        largest_first,
        explanation.score,
    )
