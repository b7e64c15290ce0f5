"""A candidate compared with its references: the score, and all that explains it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch

from infolm_metric import InfoLMScorer
from infolm_metric.infolm import measures
from infolm_metric.infolm.explanation import Explanation, TextView
from infolm_metric.infolm.settings import Settings as InfoLMSettings
from infolm_metric.kernel.baselines import NoBaseline, Spread
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pairs, check_pairs
from infolm_metric.kernel.rescaling import spread_of, with_baseline
from infolm_metric.kernel.results import Remarks
from infolm_metric.kernel.scorer import MetricScorer, Scorer
from infolm_metric.kernel.settings import Settings

from . import limits
from .allowed_models import AllowedModel
from .choices import Choices, names_of, parameters_for

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
    parameters: dict[str, float]
    score: float
    largest: float


@dataclass(frozen=True)
class Driver:
    """A vocabulary entry that drives the score, and what each text makes the model expect of it."""

    token: str
    share: float  # of the score, >= 0
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


@dataclass(frozen=True)
class Answer:
    """Everything that the page shows of one comparison."""

    choices: Choices
    candidate_text: str
    reference_texts: tuple[str, ...]
    score: float
    largest: float
    unrelated: Spread | None  # how unrelated texts score, where it is known
    remarks: Remarks
    all_measures: list[MeasureRow]
    explained: int  # which reference is explained: the closest
    candidate: list[MaskedToken]
    reference: list[MaskedToken]
    entries: dict[bool, Entries]  # False: content words, as rare words are; True: whatever they are
    curves: dict[str, Curve]  # by temperature, interpolation, alpha and beta
    signature: str
    best: float = 0.0

    @property
    def verdict(self) -> str:
        """How close the texts are, in words; nothing where that is not known."""
        return verdict_on(self.score, self.remarks, self.unrelated, self.best)

    @property
    def name(self) -> str:
        """What the score is called."""
        return self.choices.information_measure


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


def score_pair(candidate: str, references: Sequence[str], choices: Choices) -> tuple[float, str]:
    """The score and its signature; raises ValueError or TypeError if a text is refused."""
    request = _prepared(candidate, references, choices)
    result = request.scorer.score_pairs(request.pairs, request.settings)
    return result["infolm"], result.signature


def compare(candidate: str, references: Sequence[str], choices: Choices) -> Answer:
    """The score of a candidate with its explanation; raises ValueError or TypeError if refused."""
    request = _prepared(candidate, references, choices)
    own, scorer = request.settings, request.scorer
    parameters = {name: parameters_for(name, choices) for name in measures.MEASURES}
    rows = {
        name: row
        for name, given in parameters.items()
        for row in _defined(own, [{"information_measure": name, **given}])
    }
    curves = {
        name: _defined(own, [{name: step} for step in sorted({*steps, getattr(own, name)})])
        for name, steps in SWEPT.items()
        if getattr(own, name) is not None
    }
    asked = list(dict.fromkeys([own, *rows.values(), *chain(*curves.values())]))
    with scorer.lock:
        counted = scorer.inner.count(request.pairs, own)
        found = scorer.inner.score_many(request.pairs, asked, [counted] * len(asked))
    results = dict(zip(asked, found, strict=True))
    scores = {settings: result["infolm"] for settings, result in results.items()}
    unrelated = spread_of_unrelated(scorer.inner, own, counted, len(references))
    closest = closest_reference(scorer, request.pairs, own)
    # The weights are those of all references, of which the explanation knows one.
    table = next(iter(counted.tables.values())) if counted.tell else not own.counted and own.idf
    explanation = scorer.explain(candidate, references[closest], **vars(own) | {"idf": table})
    return Answer(
        choices,
        candidate,
        tuple(references),
        scores[own],
        own.largest_value(choices.information_measure),
        unrelated,
        results[own].remarks,
        [
            MeasureRow(name, parameters[name], scores[row], row.largest_value(name))
            for name, row in rows.items()
        ],
        closest,
        _tokens(explanation.candidate, explanation.vocabulary),
        _tokens(explanation.reference, explanation.vocabulary),
        {
            False: _entries(explanation, choices.load().rarity),
            True: _entries(explanation, ALIKE),
        },
        {
            name: [(getattr(each, name), scores[each]) for each in grid]
            for name, grid in curves.items()
        },
        results[own].signature,
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


def check_texts(names: Sequence[str], texts: Sequence[str]) -> None:
    """Raise ValueError that names the first text that is blank or too long, if one is."""
    for name, text in zip(names, texts, strict=True):
        if not isinstance(text, str):
            raise TypeError(f"{name} must be a text")
        if not text.strip():
            raise ValueError(f"{name} is empty; write a text")
        limits.check_characters(name, text)


@dataclass(frozen=True)
class _Request:
    """A checked comparison: what the scorer needs for it."""

    scorer: InfoLMScorer
    pairs: Pairs
    settings: InfoLMSettings


def _prepared(candidate: str, references: Sequence[str], choices: Choices) -> _Request:
    """The request, after all checks."""
    pairs, model = checked_pair(candidate, references, choices)
    return _Request(model.scorer, pairs, choices.settings(model))


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
    )
