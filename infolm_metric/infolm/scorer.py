"""InfoLM without `evaluate`: composes contexts, model, distributions, IDF and measures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from datasets.utils import tqdm
from torch import Tensor

from infolm_metric.infolm.comparison import Comparison, Couples, Pair, portions
from infolm_metric.infolm.distributions import Engine
from infolm_metric.infolm.explanation import Explanation, explain_score
from infolm_metric.infolm.settings import Settings
from infolm_metric.infolm.sweeps import settings_grid
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.pairs import check_pairs, check_texts, iterate_pairs
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.results import Result, make_result

# What is held at once while pairs are compared: bytes of distributions, and texts.
PORTION_BYTES = 1 << 28
PORTION_TEXTS = 2048


Weighting = Sequence[IDF | None]
"""What weighs the candidates' tokens, and what the references'; None: uniformly."""


@dataclass(frozen=True)
class Plan:
    """What to compute for every pair."""

    settings: Settings
    weightings: Sequence[Weighting]
    comparisons: Sequence[Comparison]
    temperatures: Sequence[float]


class InfoLMScorer:
    """Scores candidates against references; the model is loaded at the first use and kept.

    Takes the settings of `Settings` as keywords; every method takes them too, for one call.

    >>> scorer = InfoLMScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["The cat sat down."], ["The cat sat down."])
    >>> result.scores
    {'fisher_rao_distance': [0.0]}
    """

    def __init__(self, **settings: Any) -> None:
        self.settings = Settings.of(**settings)
        self._engine = Engine()
        self._lock = threading.RLock()  # one pass at a time; the model and the store are shared

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles carry the settings; they load the model themselves."""
        return _rebuilt, (self.settings,)

    def score(self, predictions: Any, references: Any, **settings: Any) -> Result:
        """The scores of each prediction against its reference or references.

        `predictions` is a list of strings; `references` a list of strings, or of lists of strings.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        chosen = self.settings.replace(**settings)
        return self._score(_listed(predictions, references), chosen, None)

    def score_part(
        self, predictions: Any, references: Any, weighting: tuple[IDF, IDF], **settings: Any
    ) -> Result:
        """What `score` gives for a part of a corpus, if it were scored within the whole.

        `weighting` holds the tables counted on the whole, for the candidates and for the
        references. They must be those that the setting `idf` means, which the signature names.

        >>> scorer = InfoLMScorer(model_name_or_path="bundled")
        >>> table = IDF.from_corpus(["The cat sat.", "A dog sat."], scorer.tokenizer)
        >>> whole = scorer.score(["A cat.", "A dog."], ["The cat sat.", "A dog sat."])
        >>> part = scorer.score_part(["A cat."], ["The cat sat."], (table, table))
        >>> abs(part["scores"][0] - whole["scores"][0]) < 1e-6
        True
        """
        chosen = self.settings.replace(**settings)
        pairs = _listed(predictions, references)
        for table in dict.fromkeys(weighting):
            table.check_tokenizer(self._engine.vocabulary(chosen)[0].tokenizer)
        return self._score(pairs, chosen, weighting)

    def stream(self, pairs: Iterable[Any], **settings: Any) -> Iterator[dict[str, float]]:
        """The scores of each pair by measure, in order, as the pairs come; for any number of them.

        `pairs` gives (candidate, reference) or (candidate, list of references). A few hundred are
        read ahead. With idf "references" or "separate" they are read twice, so that they must not
        be an iterator, which can be read only once; `idf=False` or a table needs one reading.

        Raises:
            TypeError, ValueError: an argument is wrong, or, later, a pair.

        >>> scorer = InfoLMScorer(model_name_or_path="bundled", idf=False)
        >>> next(scorer.stream(zip(["The cat sat down."], ["The cat sat down."])))
        {'fisher_rao_distance': 0.0}
        """
        chosen = self.settings.replace(**settings)
        if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
            raise TypeError(f"pairs must be an iterable of (candidate, reference), got {pairs!r}")
        if isinstance(pairs, Iterator) and isinstance(chosen.idf, str):
            raise ValueError(
                f"idf={chosen.idf!r} reads the pairs twice, once to count, and pairs is an "
                f"iterator ({type(pairs).__name__}), which can be read only once; give idf=False, "
                "a table made before with IDF.from_corpus or `infolm idf`, or pairs that can be "
                "read again, such as a list or a data set"
            )
        return self._stream(pairs, chosen)

    def signature(self, **settings: Any) -> str:
        """The signature of scores with these settings: all that can change them."""
        with self._lock:
            return self._result({}, self.settings.replace(**settings)).signature

    def sweep(
        self,
        predictions: Any,
        references: Any,
        *,
        temperatures: Sequence[float] | None = None,
        alphas: Sequence[float] | None = None,
        betas: Sequence[float] | None = None,
        idfs: Sequence[bool | str | IDF] | None = None,
        **settings: Any,
    ) -> list[tuple[Settings, Result]]:
        """Results for every idf, temperature, measure, alpha and beta, from one pass of the model.

        Each result comes with its settings and equals what `score` gives for them. Measures are
        those of `information_measure`; a measure takes part once for every value of the parameters
        it has, and combinations outside its domain, such as alpha = 1, are left out. `idfs` holds
        what the setting `idf` can be.
        """
        pairs = _listed(predictions, references)
        base, grid = settings_grid(
            self.settings,
            {"temperatures": temperatures, "alphas": alphas, "betas": betas},
            idfs,
            settings,
        )
        heats = list(dict.fromkeys(s.temperature for s in grid))
        forms = list(dict.fromkeys(s.idf for s in grid))
        comparisons = [
            Comparison.of(s.measures[0], s, heats.index(s.temperature), forms.index(s.idf))
            for s in grid
        ]
        with self._lock:
            weightings = [self._weighting(pairs, base.replace(idf=form)) for form in forms]
            table = self._run(pairs, Plan(base, weightings, comparisons, heats), stacklevel=3)
            return [
                (s, self._result({s.measures[0]: row.tolist()}, s))
                for s, row in zip(grid, table, strict=True)
            ]

    def distributions(self, texts: Any, **settings: Any) -> Tensor:
        """log p(. | text) of each text, float64 [texts, vocab].

        With idf="references" or "separate" the texts given are the corpus.
        """
        chosen = self.settings.replace(**settings)
        checked = check_texts("texts", texts)
        if not checked:
            raise ValueError("texts is empty; give at least one text")
        with self._lock:
            tables = self._engine.tables([checked], chosen)
            (readings,) = self._engine.read([checked], tables, chosen)
            remarks = Remarks().of(readings)
            found = self._engine.distributions(readings, chosen, [chosen.temperature])
            remarks.warn(chosen.long_text, self._engine.vocabulary(chosen)[1], stacklevel=2)
            return torch.stack([found[reading.key][0] for reading in readings])

    def explain(self, candidate: str, reference: str, **settings: Any) -> Explanation:
        """What the model predicts at each position of two texts, and what drives their score.

        With idf="references" the reference is the corpus, as in `score`; give an `IDF` for another.
        """
        chosen = self.settings.replace(**settings)
        pairs = _listed([candidate], [reference])
        if len(chosen.measures) > 1:
            raise ValueError(
                f"information_measure must be one measure for explain, got {chosen.measures}"
            )
        if chosen.masks_per_pass > 1:
            raise ValueError(
                "masks_per_pass must be 1 for explain, which shows what the model predicts where "
                f"one token is masked, got {chosen.masks_per_pass}"
            )
        with self._lock:
            weighting = self._weighting(pairs, chosen)
            result = self._score(pairs, chosen, weighting)
            readings = self._engine.read([[candidate], [reference]], weighting, chosen)
            views = [self._engine.view(reading, chosen) for (reading,) in readings]
            tokenizer = self._engine.vocabulary(chosen)[0].tokenizer
        ((score,),) = result.scores.values()
        return explain_score(views[0], views[1], chosen, score, result.signature, tokenizer)

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model in the settings; `IDF.from_corpus` needs it."""
        return self._engine.vocabulary(self.settings)[0].tokenizer

    def unload(self) -> None:
        """Frees the model and the distributions kept; the next call loads the model again."""
        with self._lock:
            self._engine.unload()

    # The steps of a pass, in order.

    def _score(
        self, pairs: Sequence[Pair], settings: Settings, weighting: Weighting | None
    ) -> Result:
        """The result for checked pairs; the weighting is counted first unless it is given."""
        comparisons = [Comparison.of(name, settings) for name in settings.measures]
        with self._lock:
            if weighting is None:
                weighting = self._weighting(pairs, settings)
            plan = Plan(settings, [weighting], comparisons, [settings.temperature])
            table = self._run(pairs, plan, stacklevel=4)
            scores = dict(zip(settings.measures, table.tolist(), strict=True))
            return self._result(scores, settings)

    def _weighting(self, pairs: Sequence[Pair], settings: Settings) -> Weighting:
        """What the setting `idf` means for these pairs."""
        candidates = [candidate for candidate, _ in pairs]
        references = [text for _, group in pairs for text in group]
        return self._engine.tables([candidates, references], settings)

    def _run(self, pairs: Sequence[Pair], plan: Plan, stacklevel: int) -> np.ndarray:
        """Scores of every pair by every comparison, float64 [comparisons, pairs].

        `stacklevel` leads warnings to the user's call.
        """
        settings = plan.settings
        if settings.long_text == "error":  # before time goes into the model
            self._engine.tokenize(
                (text for candidate, group in pairs for text in (candidate, *group)), settings
            )
        remarks, done = Remarks(), 0
        table = np.empty((len(plan.comparisons), len(pairs)))
        with _bar(len(pairs), settings) as bar:
            for portion in portions(pairs, self._room(plan)):
                values = self._compare(portion, plan, remarks, partial(bar, done, len(portion)))
                table[:, done : done + len(portion)] = values
                done += len(portion)
        remarks.warn(settings.long_text, self._engine.vocabulary(settings)[1], stacklevel)
        return table

    def _stream(self, pairs: Iterable[Any], settings: Settings) -> Iterator[dict[str, float]]:
        comparisons = [Comparison.of(name, settings) for name in settings.measures]
        candidates = (candidate for candidate, _ in iterate_pairs(pairs))
        references = (text for _, group in iterate_pairs(pairs) for text in group)
        with self._lock:
            weighting = self._engine.tables([candidates, references], settings)
            plan = Plan(settings, [weighting], comparisons, [settings.temperature])
            room = self._room(plan)
        remarks, done = Remarks(), 0
        with _bar(None, settings) as bar:
            for portion in portions(iterate_pairs(pairs), room):
                with self._lock:
                    values = self._compare(portion, plan, remarks, partial(bar, done, len(portion)))
                done += len(portion)
                for column in values.T.tolist():
                    yield dict(zip(settings.measures, column, strict=True))
        remarks.warn(settings.long_text, self._engine.vocabulary(settings)[1], stacklevel=2)

    def _room(self, plan: Plan) -> int:
        """The number of texts whose distributions are held at once."""
        numbers = self._engine.model(plan.settings).vocabulary.size * len(plan.temperatures)
        return max(2, min(PORTION_TEXTS, PORTION_BYTES // (8 * numbers * len(plan.weightings))))

    def _compare(
        self,
        portion: Sequence[Pair],
        plan: Plan,
        remarks: Remarks,
        report: Callable[[float], object],
    ) -> np.ndarray:
        """Scores of a portion of pairs, float64 [comparisons, pairs]; adds to the remarks.

        `report` is told the share of the portion that is done.
        """
        sides = [
            [candidate for candidate, _ in portion],
            [t for _, group in portion for t in group],
        ]
        counts = np.asarray([len(group) for _, group in portion])
        weighed = [self._engine.read(sides, each, plan.settings) for each in plan.weightings]
        remarks.of(*([*candidates, *references] for candidates, references in weighed))
        readings = [reading for sides in weighed for side in sides for reading in side]
        found = self._engine.distributions(readings, plan.settings, plan.temperatures, report)
        scores = np.empty((len(plan.comparisons), len(portion)))
        for index, (candidates, references) in enumerate(weighed):
            couples = Couples(candidates, references, counts)
            rows = [row for row, c in enumerate(plan.comparisons) if c.idf == index]
            values = couples.compare(found, [plan.comparisons[row] for row in rows])
            scores[rows] = couples.combine(values, plan.settings.multi_reference)
        return scores

    def _result(self, scores: dict[str, list[float]], settings: Settings) -> Result:
        _, limit = self._engine.vocabulary(settings)
        return make_result(scores, settings, self._engine.model(settings).identity, limit)


def _rebuilt(settings: Settings) -> InfoLMScorer:
    """A scorer with these settings."""
    return InfoLMScorer(**vars(settings))


def _listed(predictions: Any, references: Any) -> list[Pair]:
    """The checked pairs."""
    pairs = check_pairs(predictions, references)
    return list(zip(pairs.predictions, pairs.references, strict=True))


@contextmanager
def _bar(pairs: int | None, settings: Settings) -> Iterator[Callable[[int, int, float], object]]:
    """A progress bar over so many pairs, None if unknown.

    It is told the pairs done before a portion, those of the portion, and the share of these done.
    """
    with tqdm(total=pairs, unit="pair", desc="infolm", disable=not settings.verbose) as bar:
        yield lambda before, size, share: bar.update(before + int(size * share) - bar.n)
