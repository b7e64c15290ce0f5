"""A candidate compared with its references: the score, and all that explains it."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

import torch

from infolm_metric import InfoLMScorer
from infolm_metric.infolm import measures
from infolm_metric.infolm.explanation import Explanation, TextView
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pairs, check_pairs
from infolm_metric.kernel.results import Result

from . import limits
from .choices import CORPUS, REFERENCES, Choices, names_of, parameters_for
from .examples import PARAPHRASE, UNRELATED

TOP = 8  # vocabulary entries shown of a distribution
DRIVERS = 12  # entries shown of what drives the score
EIGHTHS = tuple(step / 8 for step in range(-4, 17))  # -0.5 to 2
SWEPT = {
    "temperature": (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0),
    "alpha": EIGHTHS,
    "beta": EIGHTHS,
}
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
    result = request.scorer.score_pairs(request.pairs, request.settings)
    return result["infolm"], result.signature


def compare(candidate: str, references: Sequence[str], choices: Choices) -> Answer:
    """The score of a candidate with its explanation; raises ValueError or TypeError if refused."""
    request = _prepared(candidate, references, choices)
    own = request.settings
    parameters = {name: parameters_for(name, choices) for name in measures.MEASURES}
    rows = {
        name: own.replace(information_measure=name, **given) for name, given in parameters.items()
    }
    curves = {
        name: own.grid({name: sorted({*steps, getattr(own, name)})})
        for name, steps in SWEPT.items()
        if getattr(own, name) is not None
    }
    results = request.score([own, *rows.values(), *chain(*curves.values())])
    scores = {settings: result["infolm"] for settings, result in results.items()}
    closest = _closest(request)
    explanation = request.scorer.explain(candidate, references[closest], **vars(own))
    return Answer(
        choices,
        candidate,
        tuple(references),
        scores[own],
        own.largest_value(choices.information_measure),
        _anchors(request.scorer, own),
        [
            MeasureRow(name, parameters[name], scores[row], row.largest_value(name))
            for name, row in rows.items()
        ],
        closest,
        _text_answer(explanation.candidate, explanation.vocabulary),
        _text_answer(explanation.reference, explanation.vocabulary),
        _drivers(explanation),
        {
            name: [(getattr(each, name), scores[each]) for each in grid]
            for name, grid in curves.items()
        },
        results[own].signature,
    )


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
    settings: Settings

    def score(self, settings: Iterable[Settings]) -> dict[Settings, Result]:
        """The result for each of the settings, from one pass of the model."""
        asked = list(dict.fromkeys(settings))
        with self.scorer.lock:  # nothing is counted: weights are uniform, or a corpus' table
            found = self.scorer.inner.score_many(self.pairs, asked, [Statistics()] * len(asked))
        return dict(zip(asked, found, strict=True))


def _prepared(candidate: str, references: Sequence[str], choices: Choices) -> _Request:
    """The request, after all checks."""
    limits.check_references(len(references))
    if choices.idf == REFERENCES:
        raise ValueError(f"a single pair is no corpus; choose idf {CORPUS!r} and give one")
    names = names_of(references)
    check_texts(names, [candidate, *references])
    pairs = check_pairs([candidate], [references])
    model = choices.load()
    limits.check_tokens(names, model.token_counts(list(pairs.texts)))
    return _Request(model.scorer, pairs, choices.settings(model))


def _closest(request: _Request) -> int:
    """Which reference has the lowest score, the first of equals."""
    ((candidate, references),) = request.pairs
    if len(references) == 1:
        return 0
    alone = Pairs([candidate] * len(references), [[text] for text in references])
    scores = request.scorer.score_pairs(alone, request.settings)["scores"]
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


@functools.lru_cache(maxsize=256)
def _anchors(scorer: InfoLMScorer, settings: Settings) -> tuple[float, float]:
    """The scores of two examples with the same settings, for scale."""
    examples = Pairs.of([(each.candidate, [each.reference]) for each in (PARAPHRASE, UNRELATED)])
    paraphrase, unrelated = scorer.score_pairs(examples, settings)["scores"]
    return paraphrase, unrelated
