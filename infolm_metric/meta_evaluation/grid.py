"""Scores of the same texts under many settings, for which the model reads each text once."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from infolm_metric.infolm.masked_lm import load_vocabulary
from infolm_metric.infolm.measures import MEASURES, parameter_grid
from infolm_metric.infolm.scorer import InfoLMScorer
from infolm_metric.infolm.settings import Settings
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.remarks import summed_warnings

DISTRIBUTION_BYTES = 1 << 30  # of the distributions kept while a portion of the texts is compared
CHEAPEST_MEASURE = "l2_distance"


@dataclass(frozen=True)
class Sweep:
    """Arguments of one `InfoLMScorer.sweep`: lists that are swept, and settings that are not.

    `settings` may hold `symmetrize`, `multi_reference` and `idf`, which need no other reading.

    >>> Sweep(("kl", "ab"), alphas=(0.5,), betas=(0.5, 1.0), settings={"symmetrize": "jensen"}).size
    3
    """

    measures: tuple[str, ...]
    temperatures: tuple[float, ...] = (1.0,)
    alphas: tuple[float, ...] | None = None
    betas: tuple[float, ...] | None = None
    settings: Mapping[str, Any] | None = None

    def arguments(self) -> dict[str, Any]:
        """What `InfoLMScorer.sweep` takes beside the texts."""
        return {
            "information_measure": list(self.measures),
            "temperatures": list(self.temperatures),
            "alphas": None if self.alphas is None else list(self.alphas),
            "betas": None if self.betas is None else list(self.betas),
            **(self.settings or {}),
        }

    @property
    def size(self) -> int:
        """Number of settings it stands for."""
        grids = (
            parameter_grid(name, self.alphas or [None], self.betas or [None])
            for name in self.measures
        )
        return len(self.temperatures) * sum(map(len, grids))


def score_grid(
    scorer: InfoLMScorer,
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    sweeps: Sequence[Sweep],
    *,
    corpus: Sequence[str] | None = None,
    report: Callable[[int], object] = lambda scores: None,
    distribution_bytes: int = DISTRIBUTION_BYTES,
) -> list[tuple[Settings, np.ndarray]]:
    """Every setting of the sweeps with its scores, float64 [pairs]; lower is better.

    The scores are those that `scorer.score` gives for the whole list, but the model reads each
    text once for all sweeps: the pairs go through in portions whose distributions at all
    temperatures and with all weights fit `distribution_bytes`. With idf="references" the corpus is
    `corpus`, or else the references given. `report` is told of the scores done, as they are done.
    (idf="separate" is refused: its weights differ between portions.)

    >>> scorer = InfoLMScorer(model_name_or_path="bundled")
    >>> [(settings, scores)] = score_grid(scorer, ["A cat."], [["A cat."]], [Sweep(("l1",))])
    >>> settings.information_measure, scores
    ('l1_distance', array([0.]))
    """
    base = scorer.settings
    forms = [base.replace(**(sweep.settings or {})).idf for sweep in sweeps]
    weights = {form: form for form in forms}
    if "separate" in weights:
        raise ValueError(
            "idf='separate' cannot be scored in portions; use 'references', False or a table"
        )
    if "references" in weights:
        documents = corpus or [text for group in references for text in group]
        weights["references"] = _count(documents, scorer)
    temperatures = list(dict.fromkeys(heat for sweep in sweeps for heat in sweep.temperatures))
    order = _neighbours(references)
    size = 8 * len(scorer.tokenizer) * len(temperatures) * len(weights)  # bytes of a text
    room = max(2, distribution_bytes // (size * 5 // 4))
    found: list[tuple[Settings, np.ndarray]] = []
    with summed_warnings():
        for portion in _portions(predictions, references, order, room):
            texts = [predictions[pair] for pair in portion]
            groups = [list(references[pair]) for pair in portion]
            shared: dict[str, Any] = {"reuse_memory": distribution_bytes, "verbose": False}
            # Fills the store with all that the sweeps need; they then find it there.
            scorer.sweep(
                texts,
                groups,
                temperatures=temperatures,
                idfs=list(weights.values()),
                information_measure=CHEAPEST_MEASURE,
                **{**shared, "verbose": base.verbose},
            )
            index = 0
            for sweep, form in zip(sweeps, forms, strict=True):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)  # said by the call above
                    arguments = {**shared, **sweep.arguments(), "idf": weights[form]}
                    results = scorer.sweep(texts, groups, **arguments)
                for settings, result in results:
                    if index == len(found):
                        label = settings.replace(
                            idf=form, reuse_memory=base.reuse_memory, verbose=base.verbose
                        )
                        found.append((label, np.full(len(predictions), np.nan)))
                    (scores,) = result.scores.values()
                    found[index][1][portion] = scores
                    index += 1
                report(len(texts) * len(results))
    return found


@dataclass(frozen=True)
class Columns:
    """Scores by name, each [pairs], and the signature of a `score` call that gives them."""

    scores: dict[str, np.ndarray]
    signature: str


def score_measures(
    scorer: InfoLMScorer,
    predictions: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    corpus: Sequence[str] | None = None,
) -> Columns:
    """The scores by the measures of the scorer's settings, under the names of `describe`.

    As `score_grid`, and with idf="separate" as `scorer.score`, lower is better. The model reads
    each text once however many systems and references there are.

    >>> scorer = InfoLMScorer(model_name_or_path="bundled", information_measure=["l1", "l2"])
    >>> list(score_measures(scorer, ["A cat."], [["A cat."]]).scores)
    ['l1_distance', 'l2_distance']
    """
    settings = scorer.settings
    if settings.idf == "separate":
        result = scorer.score(list(predictions), [list(group) for group in references])
        found = {
            describe(settings.replace(information_measure=name)): np.asarray(values)
            for name, values in result.scores.items()
        }
        return Columns(found, result.signature)
    sweep = Sweep(
        settings.measures,
        (settings.temperature,),
        None if settings.alpha is None else (settings.alpha,),
        None if settings.beta is None else (settings.beta,),
    )
    grid = score_grid(scorer, predictions, references, [sweep], corpus=corpus)
    return Columns({describe(chosen): scores for chosen, scores in grid}, scorer.signature())


def describe(settings: Settings, base: Settings | None = None) -> str:
    """The measure with its parameters, and every other choice of scores that is not `base`'s.

    >>> chosen = Settings.of(information_measure="ab", alpha=0.5, beta=2, temperature=1.5)
    >>> describe(chosen), describe(chosen, Settings())
    ('ab_divergence(0.5, 2)', 'ab_divergence(0.5, 2), temperature 1.5')
    """
    (name,) = settings.measures
    used = [parameter.name for parameter in MEASURES[name].parameters]
    values = ", ".join(f"{getattr(settings, parameter):g}" for parameter in used)
    words = [f"{name}({values})" if values else name]
    if base is not None:
        words += [
            f"{field.replace('_', ' ')} {value:g}"
            if isinstance(value := getattr(settings, field), float)
            else f"{field.replace('_', ' ')} {'none' if value is False else value}"
            for field in ("temperature", "symmetrize", "multi_reference", "idf")
            if getattr(settings, field) != getattr(base, field)
        ]
    return ", ".join(words)


def _count(corpus: Sequence[str], scorer: InfoLMScorer) -> IDF:
    """The table that idf="references" means for these references."""
    settings = scorer.settings
    vocabulary = load_vocabulary(settings.model, settings.model_revision)
    whole = settings.long_text == "window"
    limit = None if whole else vocabulary.text_limit(settings.max_length)
    return IDF.from_corpus(list(corpus), scorer.tokenizer, max_length=limit)


def _neighbours(references: Sequence[Sequence[str]]) -> list[int]:
    """The pairs in an order in which those with the same references stand together."""
    first: dict[tuple[str, ...], int] = {}
    keys = [first.setdefault(tuple(group), pair) for pair, group in enumerate(references)]
    return sorted(range(len(references)), key=keys.__getitem__)


def _portions(
    predictions: Sequence[str], references: Sequence[Sequence[str]], order: list[int], room: int
) -> Iterator[list[int]]:
    """Portions of pairs with at most `room` distinct texts, or one pair with more."""
    portion: list[int] = []
    texts: set[str] = set()
    for pair in order:
        own = {predictions[pair], *references[pair]}
        if portion and len(texts | own) > room:
            yield portion
            portion, texts = [], set()
        portion.append(pair)
        texts |= own
    if portion:
        yield portion
