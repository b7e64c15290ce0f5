"""InfoLM without `evaluate`: composes contexts, model, distributions, IDF and measures."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from datasets.utils import (
    are_progress_bars_disabled,
    disable_progress_bars,
    enable_progress_bars,
    tqdm,
)
from torch import Tensor

from infolm_metric import contexts, masked_lm, measures
from infolm_metric.couples import Comparison, Couples, Key, Reading
from infolm_metric.distributions import Accumulator, DistributionStore, log_predictions
from infolm_metric.explanation import Explanation, TextView, explain_score, view_text
from infolm_metric.idf import IDF
from infolm_metric.inputs import Pairs, check_pairs, check_texts
from infolm_metric.result import Result, make_result
from infolm_metric.settings import Settings, measure_names

CHUNK_BYTES = 1 << 28  # distributions held at once while pairs are compared


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
        self._store = DistributionStore(self.settings.reuse_memory)
        self._vocabularies: dict[tuple[str, str | None], masked_lm.Vocabulary] = {}
        self._model: masked_lm.MaskedLM | None = None
        self._model_key: tuple[Any, ...] = ()
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
        pairs = check_pairs(predictions, references)
        comparisons = [Comparison.of(name, chosen) for name in chosen.measures]
        with self._lock:
            table = self._run(pairs, chosen, comparisons, [chosen.temperature])
            return self._result(dict(zip(chosen.measures, table.tolist(), strict=True)), chosen)

    def sweep(
        self,
        predictions: Any,
        references: Any,
        *,
        temperatures: Sequence[float] | None = None,
        alphas: Sequence[float] | None = None,
        betas: Sequence[float] | None = None,
        **settings: Any,
    ) -> list[tuple[Settings, Result]]:
        """Results for every temperature, measure, alpha and beta, from one pass of the model.

        Each result comes with its settings and equals what `score` gives for them. Measures are
        those of `information_measure`; a measure takes part once for every value of the parameters
        it has, and combinations outside its domain, such as alpha = 1, are left out.
        """
        swept = {"temperatures": temperatures, "alphas": alphas, "betas": betas}
        for name, values in swept.items():
            if values is not None and not np.size(values):
                raise ValueError(f"{name} must be a list of at least one number, got {values!r}")
            if values is not None and np.ndim(values) != 1:
                raise TypeError(
                    f"{name} must be a list of numbers, got {values!r}; use [{values!r}]"
                )
        asked = settings.pop("information_measure", self.settings.information_measure)
        names = measure_names("information_measure", asked)
        # Without a measure of its own, because the parameters come from the lists.
        base = self.settings.replace(**settings, information_measure="fisher_rao_distance")
        pairs = check_pairs(predictions, references)
        grid = [
            base.replace(temperature=heat, information_measure=name, alpha=alpha, beta=beta)
            for heat in ([base.temperature] if temperatures is None else temperatures)
            for name in ([names] if isinstance(names, str) else names)
            for alpha, beta in measures.parameter_grid(
                name,
                [base.alpha] if alphas is None else alphas,
                [base.beta] if betas is None else betas,
            )
        ]
        if not grid:
            raise ValueError(
                f"alphas={alphas} and betas={betas} hold no value in the domain of {names}; "
                "see measures.MEASURES for the domains"
            )
        heats = list(dict.fromkeys(s.temperature for s in grid))
        comparisons = [Comparison.of(s.measures[0], s, heats.index(s.temperature)) for s in grid]
        with self._lock:
            table = self._run(pairs, base, comparisons, heats)
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
            tables = self._tables([checked], chosen)
            (readings,) = self._read([checked], tables, chosen)
            _warn(readings, self._vocabulary(chosen)[1], chosen, stacklevel=3)
            found = self._distributions(readings, chosen, [chosen.temperature])
            return torch.stack([found[reading.key][0] for reading in readings])

    def explain(self, candidate: str, reference: str, **settings: Any) -> Explanation:
        """What the model predicts at each position of two texts, and what drives their score.

        With idf="references" the reference is the corpus, as in `score`; give an `IDF` for another.
        """
        chosen = self.settings.replace(**settings)
        pairs = check_pairs([candidate], [reference])
        if len(chosen.measures) > 1:
            raise ValueError(
                f"information_measure must be one measure for explain, got {chosen.measures}"
            )
        with self._lock:
            table = self._run(
                pairs, chosen, [Comparison.of(chosen.measures[0], chosen)], [chosen.temperature]
            )
            result = self._result({chosen.measures[0]: table[0].tolist()}, chosen)
            sides = [pairs.predictions, pairs.references[0]]
            readings = self._read(sides, self._tables(sides, chosen), chosen)
            views = [self._view(reading, chosen) for (reading,) in readings]
            tokenizer = self._vocabulary(chosen)[0].tokenizer
        return explain_score(
            views[0], views[1], chosen, float(table[0, 0]), result.signature, tokenizer
        )

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model in the settings; `IDF.from_corpus` needs it."""
        return self._vocabulary(self.settings)[0].tokenizer

    def unload(self) -> None:
        """Frees the model and the distributions kept; the next call loads the model again."""
        with self._lock:
            self._model, self._model_key = None, ()
            self._store = DistributionStore(self.settings.reuse_memory)

    # The steps of a pass, in order.

    def _run(
        self,
        pairs: Pairs,
        settings: Settings,
        comparisons: Sequence[Comparison],
        temperatures: Sequence[float],
    ) -> np.ndarray:
        """Scores of every pair by every comparison, float64 [comparisons, pairs]."""
        sides = [pairs.predictions, [text for group in pairs.references for text in group]]
        candidates, references = self._read(sides, self._tables(sides, settings), settings)
        _warn([*candidates, *references], self._vocabulary(settings)[1], settings, stacklevel=4)
        counts = np.asarray([len(group) for group in pairs.references])
        couples = Couples(candidates, references, counts)
        size = self._load(settings).vocabulary.size
        room = max(2, CHUNK_BYTES // (8 * size * len(temperatures)))
        table = np.empty((len(comparisons), len(pairs)))
        distinct = {reading.key: reading for reading in [*candidates, *references]}
        total = sum(reading.masks for reading in distinct.values())
        with tqdm(total=total, unit="mask", desc="infolm", disable=not settings.verbose) as bar:
            for where, part in couples.chunks(room):
                readings = [*part.candidates, *part.references]
                found = self._distributions(readings, settings, temperatures, bar.update)
                values = part.compare(found, comparisons)
                table[:, where] = part.combine(values, settings.multi_reference)
        return table

    def _tables(self, sides: Sequence[list[str]], settings: Settings) -> list[IDF | None]:
        """The IDF table that weighs each side, the references being the last; None: uniform."""
        if not settings.idf:
            return [None] * len(sides)
        vocabulary, limit = self._vocabulary(settings)
        tokenizer = vocabulary.tokenizer
        if isinstance(settings.idf, IDF):
            settings.idf.check_tokenizer(tokenizer)
            return [settings.idf] * len(sides)

        def count(corpus: list[str]) -> IDF:
            with _bars(settings.verbose):
                return IDF.from_corpus(
                    corpus,
                    tokenizer,
                    max_length=None if settings.long_text == "window" else limit,
                    processes=settings.tokenize_processes,
                )

        if settings.idf == "separate":
            return [count(side) for side in sides]
        return [count(sides[-1])] * len(sides)

    def _read(
        self, sides: Sequence[list[str]], tables: Sequence[IDF | None], settings: Settings
    ) -> list[list[Reading]]:
        """The texts of each side, tokenised and weighed."""
        vocabulary, limit = self._vocabulary(settings)
        distinct = list(dict.fromkeys(text for side in sides for text in side))
        tokenized = contexts.tokenize(vocabulary.tokenizer, distinct, limit, settings.long_text)
        texts = dict(zip(distinct, tokenized, strict=True))
        readings: list[list[Reading]] = []
        for side, table in zip(sides, tables, strict=True):
            weights = None if table is None else table.weights
            # With a single document idf means weights of 0 for its tokens: nothing to warn of.
            known = {
                text: Reading.of(texts[text], weights, table is None or table.documents > 1)
                for text in dict.fromkeys(side)
            }
            readings.append([known[text] for text in side])
        return readings

    def _distributions(
        self,
        readings: Sequence[Reading],
        settings: Settings,
        temperatures: Sequence[float],
        report: Callable[[int], object] = lambda masks: None,
    ) -> dict[Key, Tensor]:
        """log p of each text at each temperature: key -> float64 [temperatures, vocab].

        `report` is told of the masks done, as they are done.
        """
        model = self._load(settings)
        _, limit = self._vocabulary(settings)
        self._store.shrink(settings.reuse_memory)
        found: dict[Key, Tensor] = {}
        missing: dict[Key, Reading] = {}
        for reading in readings:
            if reading.key not in found and reading.key not in missing:
                stored = [self._store.get((reading.key, limit, heat)) for heat in temperatures]
                kept = [distribution for distribution in stored if distribution is not None]
                if len(kept) == len(stored):
                    found[reading.key] = torch.stack(kept)
                    report(reading.masks)
                else:
                    missing[reading.key] = reading
        sums = Accumulator(temperatures)
        for batch, logits in self._predict(list(missing.values()), model, limit, settings):
            sums.add(logits, batch.log_weights, batch.texts, batch.sizes)
            report(len(batch.positions))
        for index, key in enumerate(missing):
            found[key] = sums.log_sums[index]
            for heat, distribution in zip(temperatures, found[key], strict=True):
                self._store.put((key, limit, heat), distribution)
        return found

    def _predict(
        self,
        readings: Sequence[Reading],
        model: masked_lm.MaskedLM,
        limit: int | None,
        settings: Settings,
    ) -> Iterator[tuple[contexts.Batch, Tensor]]:
        """Every masked context of the texts, in batches, with its logits [contexts, vocab]."""
        template, size = model.vocabulary.template, model.vocabulary.size
        windows = [
            window
            for index, reading in enumerate(readings)
            for window in contexts.split(index, reading.text, reading.log_weights, template, limit)
        ]
        count = None if settings.batch_size == "auto" else int(settings.batch_size)
        for batch in contexts.batches(windows, template.mask, count, size, model.device.type):
            yield batch, model.logits(batch.ids, batch.positions)

    def _view(self, reading: Reading, settings: Settings) -> TextView:
        """The predictions at every position of a text, those of weight 0 included."""
        model = self._load(settings)
        _, limit = self._vocabulary(settings)
        uniform = Reading.of(reading.text, None)
        steps = self._predict([uniform], model, limit, settings)
        logits = torch.cat([logits for _, logits in steps])
        return view_text(
            reading.text.tokens,
            reading.log_weights,
            log_predictions(logits, settings.temperature),
            model.vocabulary.tokenizer,
        )

    def _vocabulary(self, settings: Settings) -> tuple[masked_lm.Vocabulary, int | None]:
        """The tokenizer with its facts, loaded once, and the length that texts are cut to."""
        key = (settings.model, settings.model_revision)
        if key not in self._vocabularies:
            self._vocabularies = {key: masked_lm.load_vocabulary(*key)}
        vocabulary = self._vocabularies[key]
        return vocabulary, vocabulary.text_limit(settings.max_length)

    def _load(self, settings: Settings) -> masked_lm.MaskedLM:
        """The model, loaded unless the last call used the same one."""
        vocabulary, _ = self._vocabulary(settings)
        name, revision = settings.model, settings.model_revision
        key = (name, revision, settings.device, settings.dtype)
        if self._model is None or key != self._model_key:
            self.unload()
            self._model = masked_lm.load(
                name, revision, settings.device, settings.dtype, vocabulary
            )
            self._model_key = key
        return self._model

    def _result(self, scores: dict[str, list[float]], settings: Settings) -> Result:
        _, limit = self._vocabulary(settings)
        return make_result(scores, settings, self._load(settings).identity, limit)


def _rebuilt(settings: Settings) -> InfoLMScorer:
    """A scorer with these settings."""
    return InfoLMScorer(**vars(settings))


@contextmanager
def _bars(shown: bool) -> Iterator[None]:
    """Keeps the bars of `datasets` away unless `shown`; leaves its switch as it was."""
    quiet = not shown and not are_progress_bars_disabled()
    if quiet:
        disable_progress_bars()
    try:
        yield
    finally:
        if quiet:
            enable_progress_bars()


def _warn(
    readings: Sequence[Reading], limit: int | None, settings: Settings, stacklevel: int
) -> None:
    """One warning for each kind of text that is not scored quite as it was written."""
    cut = settings.long_text == "truncate"
    counts = {
        f'longer than {limit} tokens: cut there; long_text="window" reads texts whole': sum(
            cut and reading.text.too_long for reading in readings
        ),
        "without a token to mask: scored by the prediction for a lone mask": sum(
            not reading.text.maskable.any() for reading in readings
        ),
        "with an inverse document frequency of 0 for every token: weighed uniformly; a table from "
        "a larger corpus, idf=IDF.from_corpus(...), tells their tokens apart": sum(
            reading.weightless for reading in readings
        ),
    }
    for what, count in counts.items():
        if count:
            warnings.warn(f"infolm: {count} of {len(readings)} texts {what}", stacklevel=stacklevel)
