"""A candidate compared with its references: the score, and all that explains it."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from infolm_metric import InfoLMScorer
from infolm_metric.infolm import measures
from infolm_metric.infolm.explanation import Explanation, TextView

from . import limits
from .choices import CORPUS, REFERENCES, Choices, names_of, parameters_for
from .examples import PARAPHRASE, UNRELATED

TOP = 8  # vocabulary entries shown of a distribution
DRIVERS = 12  # entries shown of what drives the score
SWEPT_TEMPERATURES = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)
SWEPT_PARAMETERS = tuple(step / 8 for step in range(-4, 17))  # -0.5 to 2
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
class TextAnswer:
    """What one text makes the model expect."""

    tokens: list[MaskedToken]
    expected: list[tuple[str, float]]  # vocabulary entries, most probable first


@dataclass(frozen=True)
class Answer:
    """Everything that the page shows of one comparison."""

    choices: Choices
    candidate_text: str
    reference_texts: tuple[str, ...]
    score: float
    largest: float
    anchors: tuple[float, float]  # the scores of the paraphrase and of the unrelated example
    all_measures: list[MeasureRow]
    explained: int  # which reference is explained: the closest
    candidate: TextAnswer
    reference: TextAnswer
    drivers: list[Driver]
    curves: dict[str, Curve]  # by temperature, alpha and beta
    signature: str


def score_pair(candidate: str, references: Sequence[str], choices: Choices) -> tuple[float, str]:
    """The score and its signature; raises ValueError or TypeError if a text is refused."""
    request = _prepared(candidate, references, choices)
    result = request.scorer.score(*request.pair, **request.settings)
    return result["infolm"], result.signature


def compare(candidate: str, references: Sequence[str], choices: Choices) -> Answer:
    """The score of a candidate with its explanation; raises ValueError or TypeError if refused."""
    request = _prepared(candidate, references, choices)
    curves = _curves(
        request, choices
    )  # first, because its pass of the model serves all but explain
    result = request.scorer.score(*request.pair, **request.settings)
    closest = _closest(request)
    explanation = request.scorer.explain(candidate, references[closest], **request.settings)
    rows = [_measure_row(name, request, choices) for name in measures.MEASURES]
    (own,) = (row for row in rows if row.name == choices.information_measure)
    return Answer(
        choices,
        candidate,
        tuple(references),
        result["infolm"],
        own.largest,
        _anchors(request.scorer, tuple(request.settings.items())),
        rows,
        closest,
        _text_answer(explanation.candidate, explanation.vocabulary),
        _text_answer(explanation.reference, explanation.vocabulary),
        _drivers(explanation),
        curves,
        result.signature,
    )


def check_texts(names: Sequence[str], texts: Sequence[str]) -> None:
    """Nothing; raises ValueError that names the first text that is blank or too long."""
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
    pair: tuple[list[str], list[list[str]]]
    settings: dict[str, Any]  # weights included


def _prepared(candidate: str, references: Sequence[str], choices: Choices) -> _Request:
    """The request, after all checks."""
    limits.check_references(len(references))
    if choices.idf == REFERENCES:
        raise ValueError(f"a single pair is no corpus; choose idf {CORPUS!r} and give one")
    names = names_of(references)
    check_texts(names, [candidate, *references])
    model = choices.load()
    limits.check_tokens(names, model.token_counts([candidate, *references]))
    return _Request(
        model.scorer,
        ([candidate], [list(references)]),
        {**choices.settings(), "idf": choices.weights(model)},
    )


def _measure_row(name: str, request: _Request, choices: Choices) -> MeasureRow:
    given = parameters_for(name, choices)
    own = {**request.settings, "alpha": None, "beta": None, "information_measure": name, **given}
    result = request.scorer.score(*request.pair, **own)
    largest = measures.largest_value(name, symmetrize=choices.symmetrize, **given)
    return MeasureRow(name, given, result["infolm"], largest)


def _closest(request: _Request) -> int:
    """Which reference has the lowest score, the first of equals."""
    (candidate,), (references,) = request.pair
    if len(references) == 1:
        return 0
    scored = request.scorer.score([candidate] * len(references), references, **request.settings)
    scores = scored["scores"]
    return scores.index(min(scores))


def _text_answer(view: TextView, vocabulary: Sequence[str]) -> TextAnswer:
    tokens = [
        MaskedToken(token, weight, _most_probable(log_predictions, vocabulary))
        for token, weight, log_predictions in zip(
            view.tokens, view.weights.tolist(), view.log_predictions, strict=True
        )
    ]
    return TextAnswer(tokens, _most_probable(view.log_distribution, vocabulary))


def _most_probable(
    log_probabilities: torch.Tensor, vocabulary: Sequence[str]
) -> list[tuple[str, float]]:
    """The TOP entries of log-probabilities [vocab], with their probabilities."""
    best = log_probabilities.topk(min(TOP, len(vocabulary)))
    return [
        (vocabulary[index], math.exp(value))
        for index, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    ]


def _drivers(explanation: Explanation) -> list[Driver]:
    """The entries with the largest shares; none where the texts do not differ."""
    return [Driver(*entry) for entry in explanation.top(DRIVERS) if entry[1] > SMALLEST_STEP]


def _curves(request: _Request, choices: Choices) -> dict[str, Curve]:
    """The scores at other temperatures, and other values of each parameter that the measure has."""
    here = {"temperature": choices.temperature, "alpha": choices.alpha, "beta": choices.beta}
    others = {name: value for name, value in request.settings.items() if name not in here}
    used = [p.name for p in measures.MEASURES[choices.information_measure].parameters]
    curves = {}
    for name in ("temperature", *used):
        steps = SWEPT_TEMPERATURES if name == "temperature" else SWEPT_PARAMETERS
        lists: dict[str, Any] = {f"{other}s": [x] for other, x in here.items() if x is not None}
        lists[f"{name}s"] = sorted({*steps, *lists[f"{name}s"]})
        predictions, references = request.pair
        swept = request.scorer.sweep(predictions, references, **{**others, **lists})
        curves[name] = [(getattr(own, name), result["infolm"]) for own, result in swept]
    return curves


@functools.lru_cache(maxsize=256)
def _anchors(scorer: InfoLMScorer, settings: tuple[tuple[str, Any], ...]) -> tuple[float, float]:
    """The scores of two examples with the same settings, for scale."""
    result = scorer.score(
        [PARAPHRASE.candidate, UNRELATED.candidate],
        [PARAPHRASE.reference, UNRELATED.reference],
        **dict(settings),
    )
    paraphrase, unrelated = result["scores"]
    return paraphrase, unrelated
