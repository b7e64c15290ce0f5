"""Scorers: the abstract base class of all metrics."""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
import transformers
from tqdm import tqdm

from infolm_metric.core import __version__, baselines
from infolm_metric.core.baselines import Baseline, BaselineStats, NoBaseline
from infolm_metric.core.idf import Statistics, batches
from infolm_metric.core.inputs import Pairs, check_pairs, check_texts, iterate_pairs
from infolm_metric.core.results import ChunkScores, Result, add_counts, warn
from infolm_metric.core.settings import check_value, own_fields
from infolm_metric.core.signature import Signature

READ_AHEAD = 256  # pairs of a stream
COUNTED = 10_000  # pairs of a stream whose documents are counted at a time
CHUNK = 1024  # pairs scored at a time

Progress = Callable[[float], object]
"""Called with the fraction of a chunk that is done."""


class Scorer(ABC):
    """Scores candidates against references.

    A metric is a subclass that implements `score_chunk` and, if it has them, `bounds` and
    `model_fields`. A metric that encodes each text once and compares encodings extends
    `core.encoding.EncodingScorer` instead. A model is loaded at the first use and kept.

    Args:
        settings: the metric's settings, or None for the defaults.
        **changed: settings as keyword arguments; every method takes them for one call.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong.
    """

    settings_type: ClassVar[type[Any]]
    higher_is_better: ClassVar[bool] = False
    perfect_score_label: ClassVar[str] = ""
    """Meaning of the best score, if a few words can express it."""
    warning_messages: ClassVar[Mapping[str, str]] = {}
    """Messages of the metric by kind of warning, in addition to the common ones."""

    def __init__(self, settings: Any = None, **changed: Any) -> None:
        if settings is None:
            self.settings = self.settings_type.of(**changed)
        elif isinstance(settings, self.settings_type):
            self.settings = settings.replace(**changed)
        else:
            raise TypeError(f"settings must be {self.settings_type.__name__}, got {settings!r:.80}")
        self.lock = threading.RLock()  # one call at a time, because the model and cache are shared
        self.unload()

    def __repr__(self) -> str:
        """Return the settings that differ from the defaults."""
        defaults = type(self.settings)()
        names = (field.name for field in own_fields(type(defaults)))
        values = ((name, getattr(self.settings, name)) for name in names)
        labels = (f"{name}={value!r}" for name, value in values if value != getattr(defaults, name))
        return f"{type(self).__name__}({', '.join(labels)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle the settings; copies load the model themselves."""
        return type(self), (self.settings,)

    def score(
        self,
        predictions: Any,
        references: Any = None,
        *,
        sources: Any = None,
        rescale_with_baseline: Any = False,
        verbose: bool = False,
        **changed: Any,
    ) -> Result:
        """Score each prediction against its reference or references.

        Args:
            predictions: the candidates, a list of strings.
            references: for each candidate its reference, or a list of its references.
            sources: the texts that the predictions were made from, in place of references, for
                metrics that take sources (MENLI).
            rescale_with_baseline: add scores on a scale on which the best possible score is 1 and
                the mean of unrelated texts 0: True (by the package's baseline) or a file made by
                `infolm baseline`.
            verbose: show progress.
            **changed: override the scorer's own settings for this call.

        Returns:
            A mapping: the mean under the metric's name, "scores" of each pair,
            "higher_is_better", "signature" and "warnings".

        Raises:
            TypeError, ValueError: an argument is wrong; no model was loaded.
            OSError: the model cannot be found.
        """
        settings = self.settings.replace(**changed)
        baseline = baselines.baseline_of(settings.metric, rescale_with_baseline)
        verbose = check_value("verbose", verbose, bool)
        targets = settings.targets(references, sources)
        pairs = check_pairs(predictions, targets, against_sources=sources is not None)
        result = score_corpus(self, pairs, settings, baseline, verbose)
        warn(result.counts, self.warning_messages)
        return result

    def stream(self, pairs: Iterable[Any], **changed: Any) -> Iterator[dict[str, float]]:
        """Score pairs as they come, in order, for any number of pairs.

        A few hundred pairs are read ahead. With idf "references" or "separate" the pairs are read
        twice, so that they must not be an iterator; `idf=False` or a table needs one pass.

        Args:
            pairs: an iterable of (candidate, reference) or (candidate, list of references).
            **changed: override the scorer's own settings for this call.

        Returns:
            An iterator of dictionaries, the scores of a pair by name.

        Raises:
            TypeError, ValueError: an argument is wrong, or, later, a pair.
        """
        settings = self.settings.replace(**changed)
        if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
            raise TypeError(f"pairs must be an iterable of (candidate, reference), got {pairs!r}")
        if isinstance(pairs, Iterator) and settings.counted:
            raise ValueError(
                "idf needs to read the pairs twice, once to count documents, and pairs is an "
                f"iterator ({type(pairs).__name__}); pass idf=False, a table made with "
                "IDF.from_corpus or `infolm idf`, or pairs that can be read again, such as a list "
                "or a data set"
            )

        def scores() -> Iterator[dict[str, float]]:
            statistics, counts = Statistics(), Counter[str]()
            for part in batches(iterate_pairs(pairs), COUNTED) if settings.counted else ():
                with self.lock:
                    statistics += self.count(Pairs.of(part).texts_by_side, settings)
            for part in batches(iterate_pairs(pairs), READ_AHEAD):
                with self.lock:
                    result = self.score_part(Pairs.of(part), settings, statistics)
                counts = add_counts([counts, result.counts])
                columns = result.columns()
                for row in zip(*columns.values(), strict=True):
                    yield dict(zip(columns, row, strict=True))
            warn(counts, self.warning_messages)

        return scores()

    def signature(
        self,
        settings: Any = None,
        statistics: Statistics | None = None,
        against_sources: bool = False,
        **changed: Any,
    ) -> Signature:
        """Return the signature of scores with these settings: everything that can change them.

        Args:
            settings: in place of the scorer's own.
            statistics: of the corpus; the signature then contains the weights used.
            against_sources: True if sources take the place of references.
            **changed: override the settings.

        Returns:
            "name:value" for each field, joined by "|", versions included, floats with all their
            digits. Equal signatures mean equal scores for the same inputs, within float32's
            tolerance. No weights are loaded for it.

        Raises:
            TypeError, ValueError: a setting is unknown or wrong.
        """
        settings = (self.settings if settings is None else settings).replace(**changed)
        fields: dict[str, object] = {"metric": settings.metric}
        for name, value in settings.signed().items():
            fields[name] = value
            if name == "idf" and settings.counted and statistics is not None and statistics.tables:
                fields["weights"] = statistics.weights_used(settings)
        if against_sources or settings.needs_sources:
            fields["against"] = "source"
        with self.lock:
            fields |= self.model_fields(settings, statistics)
        versions = {"transformers": transformers.__version__, "torch": torch.__version__}
        return Signature(fields | {"infolm": __version__} | versions)

    def matrix(self, candidates: Any, references: Any, **changed: Any) -> np.ndarray:
        """Score every candidate with every reference; each text is encoded once.

        The scores equal those of `score` for single pairs within 1e-9 if idf is False or a table;
        with idf "references" the references are the corpus.

        Args:
            candidates: a list of strings.
            references: a list of strings.
            **changed: override the scorer's own settings for this call; one score name.

        Returns:
            float64 [candidates, references].

        Raises:
            TypeError, ValueError: an argument is wrong; no model was loaded.
            OSError: the model cannot be found.
        """
        return self._matrix(candidates, references, self.settings.replace(**changed))

    def _matrix(self, candidates: Any, references: Any, settings: Any) -> np.ndarray:
        texts = {"candidates": candidates, "references": references}
        texts = {side: check_texts(side, values) for side, values in texts.items()}
        for side, values in texts.items():
            if not values:
                raise ValueError(f"{side} is empty; give at least one text")
        if len(settings.names) > 1:
            raise ValueError(f"matrix needs one score name, got {', '.join(settings.names)}")
        with self.lock:
            statistics = self.count(texts, settings)
            values, counts = self.score_matrix(
                texts["candidates"], texts["references"], settings, statistics
            )
        counts = add_counts([counts, {"few_documents": statistics.distinct}])
        warn(counts, self.warning_messages)
        return values

    def select(self, candidates: Any, **changed: Any) -> str:
        """Return the candidate that agrees most with the others: minimum Bayes risk.

        Each candidate is scored against all others as its references; the best mean wins, and the
        first of equals. Token weights are uniform unless a table is given.

        Args:
            candidates: a list of strings, such as samples for one input.
            **changed: override the scorer's own settings for this call; one score name.

        Returns:
            One of the candidates.

        Raises:
            TypeError, ValueError: an argument is wrong; no model was loaded.
            OSError: the model cannot be found.
        """
        settings = self.settings.replace(**changed).without_counts()
        texts = check_texts("candidates", candidates)
        values = self._matrix(texts, texts, settings)
        sums = values.sum(1) - values.diagonal()
        best = sums.argmax() if self.higher_is_better else sums.argmin()
        return texts[int(best)]

    def unload(self) -> None:  # noqa: B027
        """Free the model and the cache; the next call loads the model again."""

    # Parts of a corpus with checked settings: for commands, jobs, ranks and the demo.

    def count(self, texts: Mapping[str, Iterable[str]], settings: Any) -> Statistics:
        """Collect corpus statistics (document frequencies) from the texts of each side.

        Statistics of parts of a corpus can be added.

        Args:
            texts: "candidates" and "references", all of a part of the corpus.
            settings: of the metric.
        """
        return Statistics()

    def score_part(
        self,
        pairs: Pairs,
        settings: Any,
        statistics: Statistics,
        baseline: Baseline | None = None,
        verbose: bool = False,
    ) -> Result:
        """Score a corpus, or part of one, given the statistics of the whole.

        Scores are rescaled if a baseline is given, which must fit.
        """
        counts = Counter(pairs.counts)
        stats = self.baseline_stats(settings, statistics, baseline, counts) if baseline else {}
        self.check(pairs, settings, statistics)
        parts, done = [], 0
        quiet = not verbose or len(pairs) == 1
        with tqdm(total=len(pairs), unit="pair", desc=settings.metric, disable=quiet) as bar:
            for chunk in self.chunks(pairs, settings):
                size = len(chunk)
                parts.append(
                    self.score_chunk(
                        chunk,
                        settings,
                        statistics,
                        lambda fraction: bar.update(done + int(size * fraction) - bar.n),  # noqa: B023
                    )
                )
                done += size
                bar.update(done - bar.n)
        whole = ChunkScores.join(parts)
        signature = self.signature(settings, statistics, pairs.against_sources)
        result = Result(
            settings.metric,
            whole.scores,
            signature,
            self.higher_is_better,
            add_counts([whole.counts, {"few_documents": statistics.distinct}]),
            settings.several,
            extra=whole.extra,
        )
        if baseline is None:
            return result
        rescaled = {}
        for name, column in result.scores.items():
            best = self.bounds(settings, name)[int(self.higher_is_better)]
            rescaled[name] = [
                stats[count][name].rescale(score, best)
                for score, count in zip(column, pairs.counts, strict=True)
            ]
        return replace(
            result,
            signature=baseline.sign(signature),
            rescaled=rescaled,
            baseline=baselines.most_frequent(stats, counts),
        )

    def check(  # noqa: B027
        self, pairs: Pairs, settings: Any, statistics: Statistics
    ) -> None:
        """Raise errors that would keep pairs from being scored, before the weights are loaded."""

    def chunks(self, pairs: Pairs, settings: Any) -> Iterator[Pairs]:
        """Divide pairs into the chunks that are scored one after the other."""
        return (pairs.part(start, start + CHUNK) for start in range(0, len(pairs), CHUNK))

    def baseline_stats(
        self,
        settings: Any,
        statistics: Statistics,
        baseline: Baseline | None,
        counts: Iterable[int],
    ) -> dict[int, dict[str, BaselineStats]]:
        """Look up the statistics of unrelated texts, by number of references and score name.

        Without a baseline the package's is used, and the result is empty if it does not fit.

        Raises:
            NoBaseline: the baseline does not fit.
        """
        table = baseline or baselines.package_baseline(settings.metric)
        weights = statistics.weights_used(settings)
        try:
            signatures = {name: self.signature(settings.single(name)) for name in settings.names}
            return {
                count: {
                    name: table.find(signature, weights, count)
                    for name, signature in signatures.items()
                }
                for count in counts
            }
        except NoBaseline:
            if baseline is not None:
                raise
            return {}

    def make_baseline(self, texts: Sequence[str], pairs: int, references: int) -> Baseline:
        """Score unrelated texts of a corpus, for every score name and kind of token weights.

        Each text is compared with other texts, for every number of references up to `references`.
        """
        corpus = {"candidates": texts, "references": texts}
        stats = {}
        for settings in self.settings.baseline_settings():
            with self.lock:
                statistics = self.count(corpus, settings)
                weights = statistics.weights_used(settings)
                parts = baselines.unrelated_pairs(texts, pairs, references)
                for count, part in enumerate(parts, 1):
                    result = self.score_part(part, settings, statistics)
                    for name, scores in result.scores.items():
                        signature = self.signature(settings.single(name))
                        key = baselines.key_of(signature, weights, count)
                        stats[key] = BaselineStats.of(scores)
        return Baseline(stats)

    # Implemented by a metric.

    @abstractmethod
    def score_chunk(
        self, pairs: Pairs, settings: Any, statistics: Statistics, progress: Progress
    ) -> ChunkScores:
        """Score some pairs."""

    def score_matrix(
        self, candidates: list[str], references: list[str], settings: Any, statistics: Statistics
    ) -> tuple[np.ndarray, Counter[str]]:
        """Score all candidates with all references, and count warnings."""
        rows = [
            Pairs([candidate] * len(references), [[text] for text in references])
            for candidate in candidates
        ]
        self.check(Pairs.joined(rows), settings, statistics)
        parts = [self.score_chunk(row, settings, statistics, no_progress) for row in rows]
        (name,) = settings.names
        values = np.asarray([part.scores[name] for part in parts])
        return values, add_counts(part.counts for part in parts)

    def bounds(self, settings: Any, name: str) -> tuple[float, float]:
        """Return the lower and upper bound of the score of this name."""
        return -math.inf, math.inf

    def model_fields(self, settings: Any, statistics: Statistics | None) -> dict[str, object]:
        """Return the signature fields of the model."""
        return {}


def score_corpus(
    scorer: Scorer, pairs: Pairs, settings: Any, baseline: Baseline | None, verbose: bool
) -> Result:
    """Score the pairs of a whole corpus."""
    with scorer.lock:
        statistics = scorer.count(pairs.texts_by_side, settings)
        return scorer.score_part(pairs, settings, statistics, baseline, verbose)


def no_progress(fraction: float) -> None:
    """Show no progress."""
