"""Abstract base class of all scorers.

Methods for users check all arguments before they load a model. They raise TypeError or ValueError
for an invalid argument, and OSError if the model cannot be found. Settings in `changed` override
the scorer's settings for one call.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
import transformers
from tqdm import tqdm

from infolm_metric.core import __version__, baselines
from infolm_metric.core.baselines import Baseline, BaselineNotFoundError, BaselineStats
from infolm_metric.core.checks import check_value
from infolm_metric.core.idf import CorpusStatistics, batches
from infolm_metric.core.inputs import Pairs, check_pairs, check_texts, iterate_pairs
from infolm_metric.core.results import ChunkScores, Result, add_counts, warn
from infolm_metric.core.settings import ordered_fields
from infolm_metric.core.signature import Signature

READ_AHEAD = 256  # pairs that `stream` reads ahead
COUNTED = 10_000  # pairs whose documents `stream` counts at a time
CHUNK = 1024  # pairs scored at a time

# Function that is called with the completed fraction of a chunk.
Progress = Callable[[float], object]


class Scorer(ABC):
    """Base class of scorers, which score candidates against references.

    A metric is a subclass that implements `score_chunk` and, if applicable, `bounds` and
    `model_fields`. A metric that encodes each text once and compares encodings extends
    `core.encoding.EncodingScorer` instead. The model is loaded on first use and kept in memory.

    `settings` are by default the metric's default settings. Keyword arguments override single
    settings, both here and in method calls. Invalid settings raise TypeError or ValueError.
    """

    settings_type: ClassVar[type[Any]]
    higher_is_better: ClassVar[bool] = False
    # Description of texts with a perfect score, for display.
    perfect_score_label: ClassVar[str] = ""
    # Messages that replace entries of `results.WARNING_MESSAGES`.
    warning_messages: ClassVar[Mapping[str, str]] = {}

    def __init__(self, settings: Any = None, **changed: Any) -> None:
        if settings is None:
            self.settings = self.settings_type.of(**changed)
        elif isinstance(settings, self.settings_type):
            self.settings = settings.replace(**changed)
        else:
            raise TypeError(f"settings must be {self.settings_type.__name__}, got {settings!r:.80}")
        self.lock = threading.RLock()  # one call at a time, because calls share the model and cache
        self.unload()

    def __repr__(self) -> str:
        """Return the class name and all settings that differ from the defaults."""
        defaults = type(self.settings)()
        names = (field.name for field in ordered_fields(type(defaults)))
        values = ((name, getattr(self.settings, name)) for name in names)
        labels = (f"{name}={value!r}" for name, value in values if value != getattr(defaults, name))
        return f"{type(self).__name__}({', '.join(labels)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle only the settings; each copy loads its own model."""
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
            references: one reference per candidate, or a list of references per candidate.
            sources: source texts instead of references, for metrics that take sources (MENLI).
            rescale_with_baseline: also rescale scores with the package's baseline (True) or a file
                written by `infolm baseline`: 1 is best, and 0 is the mean score of unrelated texts.
            verbose: show a progress bar.
            **changed: override the scorer's settings for this call.

        Returns:
            A mapping with the mean score under the metric's name, the "scores" of all pairs,
            "higher_is_better", "signature" and "warnings".

        Raises:
            TypeError, ValueError: an argument is invalid (checked before loading the model).
            OSError: the model cannot be found.
        """
        settings = self.settings.replace(**changed)
        baseline = baselines.resolve_baseline(settings.metric, rescale_with_baseline)
        verbose = check_value("verbose", verbose, bool)
        targets = settings.targets(references, sources)
        pairs = check_pairs(predictions, targets, against_sources=sources is not None)
        result = score_corpus(self, pairs, settings, baseline, verbose)
        warn(result.counts, self.warning_messages)
        return result

    def stream(self, pairs: Iterable[Any], **changed: Any) -> Iterator[dict[str, float]]:
        """Score a stream of any number of pairs, and yield each pair's scores by name, in order.

        `pairs` is an iterable of (candidate, reference) or (candidate, list of references). A few
        hundred pairs are read ahead. With idf="references" or idf="separate", the pairs are read
        twice, so `pairs` cannot be an iterator. With idf=False or a table, they are read once.
        Raises TypeError or ValueError if an argument is invalid, or later if a pair is invalid.
        """
        settings = self.settings.replace(**changed)
        if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
            raise TypeError(f"pairs must be an iterable of (candidate, reference), got {pairs!r}")
        if isinstance(pairs, Iterator) and settings.idf_sides:
            raise ValueError(
                f"pairs is an iterator ({type(pairs).__name__}), which can be read only once, but "
                f"idf={settings.idf!r} reads the pairs twice, first to count documents; pass "
                "idf=False, a table (IDF.from_corpus, infolm idf), or an iterable such as a list "
                "or a data set"
            )

        def scores() -> Iterator[dict[str, float]]:
            statistics, counts = CorpusStatistics(), Counter[str]()
            for part in batches(iterate_pairs(pairs), COUNTED) if settings.idf_sides else ():
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
        statistics: CorpusStatistics | None = None,
        against_sources: bool = False,
        **changed: Any,
    ) -> Signature:
        """Return the signature, which contains everything that can change a score.

        It consists of "name:value" fields joined by "|", including versions, with floats in full
        precision. For the same inputs, scores with equal signatures agree within float32 tolerance.
        Model weights are not loaded.

        `settings` and `changed` override the scorer's settings. With corpus `statistics`, the
        signature contains the weighting scheme. `against_sources` is True if candidates are scored
        against sources. Raises TypeError or ValueError if a setting is unknown or invalid.
        """
        settings = (self.settings if settings is None else settings).replace(**changed)
        fields: dict[str, object] = {"metric": settings.metric}
        for name, value in settings.signature_fields().items():
            fields[name] = value
            if name == "idf" and settings.idf_sides and statistics and statistics.tables:
                fields["weights"] = statistics.weight_scheme(settings)
        if against_sources or settings.needs_sources:
            fields["against"] = "source"
        with self.lock:
            fields |= self.model_fields(settings, statistics)
        versions = {"transformers": transformers.__version__, "torch": torch.__version__}
        return Signature(fields | {"infolm": __version__} | versions)

    def matrix(self, candidates: Any, references: Any, **changed: Any) -> np.ndarray:
        """Score all `candidates` against all `references`, float64 [candidates, references].

        Each text is encoded once if the metric encodes texts separately and the encodings fit in
        the cache. Only one score name is allowed. If idf is False or a table, each value equals the
        score of the pair alone: to within 1e-9 if encodings do not depend on the batch (float32 on
        a CPU), and otherwise to within the tolerance of batch invariance, about 1e-5 in float32 on
        a GPU. With idf="references", documents are counted in `references`. Raises the same errors
        as `score`.
        """
        return self._matrix(candidates, references, self.settings.replace(**changed))

    def _matrix(self, candidates: Any, references: Any, settings: Any) -> np.ndarray:
        texts = {"candidates": candidates, "references": references}
        texts = {side: check_texts(side, values) for side, values in texts.items()}
        for side, values in texts.items():
            if not values:
                raise ValueError(f"{side} is empty; pass at least one text")
        if len(settings.names) > 1:
            raise ValueError(f"matrix needs one score name, got {', '.join(settings.names)}")
        with self.lock:
            statistics = self.count(texts, settings)
            values, counts = self.score_matrix(
                texts["candidates"], texts["references"], settings, statistics
            )
        documents = {"few_documents": statistics.distinct_documents}
        warn(add_counts([counts, documents, {"pairs": values.size}]), self.warning_messages)
        return values

    def select(self, candidates: Any, **changed: Any) -> str:
        """Return the candidate with the best mean score against the others (minimum Bayes risk).

        `candidates` is a list of strings, such as samples for one input. The first of several
        equally good candidates is returned. Only one score name is allowed. Token weights are
        uniform unless idf is a table. Raises the same errors as `score`.
        """
        settings = self.settings.replace(**changed).with_uniform_weights()
        texts = check_texts("candidates", candidates)
        values = self._matrix(texts, texts, settings)
        sums = values.sum(1) - values.diagonal()
        best = sums.argmax() if self.higher_is_better else sums.argmin()
        return texts[int(best)]

    def unload(self) -> None:  # noqa: B027
        """Free the model and the cache; the next call loads the model again."""

    # Methods for commands, jobs, distributed scoring and the demo; arguments are already checked.

    def count(self, texts: Mapping[str, Iterable[str]], settings: Any) -> CorpusStatistics:
        """Collect corpus statistics of `texts`, whose keys are "candidates" and "references"."""
        return CorpusStatistics()

    def score_part(
        self,
        pairs: Pairs,
        settings: Any,
        statistics: CorpusStatistics,
        baseline: Baseline | None = None,
        verbose: bool = False,
    ) -> Result:
        """Score pairs with the statistics of the whole corpus; with a baseline, also rescale."""
        counts = Counter(pairs.counts)
        stats = self.baseline_stats(settings, statistics, baseline, counts) if baseline else {}
        best = {name: self.best(settings, name) for name in settings.names}
        for by_name in stats.values():
            for name, name_stats in by_name.items():
                name_stats.check_best(best[name])
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
        rescaled = {}
        for name, column in whole.scores.items() if baseline else ():
            rescaled[name] = [
                stats[count][name].rescale(score, best[name])
                for score, count in zip(column, pairs.counts, strict=True)
            ]
        return Result(
            settings.metric,
            whole.scores,
            baseline.sign(signature) if baseline else signature,
            self.higher_is_better,
            corpus_counts(pairs, statistics, whole.counts),
            settings.several,
            rescaled,
            baselines.most_frequent(stats, counts),
            whole.extra,
        )

    def check(  # noqa: B027
        self, pairs: Pairs, settings: Any, statistics: CorpusStatistics
    ) -> None:
        """Raise an error before loading weights if the pairs cannot be scored."""

    def chunks(self, pairs: Pairs, settings: Any) -> Iterator[Pairs]:
        """Divide pairs into chunks that fit in memory."""
        return (pairs.part(start, start + CHUNK) for start in range(0, len(pairs), CHUNK))

    def baseline_stats(
        self,
        settings: Any,
        statistics: CorpusStatistics,
        baseline: Baseline | None,
        counts: Iterable[int],
    ) -> dict[int, dict[str, BaselineStats]]:
        """Look up baseline statistics by number of references and score name.

        Raises BaselineNotFoundError if `baseline` does not match the settings. If `baseline` is
        None, the package's baseline is used; if that does not match, the result is empty.
        """
        table = baseline or baselines.package_baseline(settings.metric)
        weights = statistics.weight_scheme(settings)
        try:
            signatures = {name: self.signature(settings.single(name)) for name in settings.names}
            return {
                count: {
                    name: table.find(signature, weights, count)
                    for name, signature in signatures.items()
                }
                for count in counts
            }
        except BaselineNotFoundError:
            if baseline is not None:
                raise
            return {}

    def make_baseline(self, texts: Sequence[str], pairs: int, references: int) -> Baseline:
        """Compute a baseline from pairs of unrelated texts in a corpus.

        It covers all score names, all weighting schemes and up to `references` references per pair.
        """
        corpus = {"candidates": texts, "references": texts}
        stats = {}
        for settings in self.settings.baseline_settings():
            with self.lock:
                statistics = self.count(corpus, settings)
                weights = statistics.weight_scheme(settings)
                parts = baselines.unrelated_pairs(texts, pairs, references)
                for count, part in enumerate(parts, 1):
                    result = self.score_part(part, settings, statistics)
                    for name, scores in result.scores.items():
                        signature = self.signature(settings.single(name))
                        key = baselines.baseline_key(signature, weights, count)
                        stats[key] = BaselineStats.of(scores)
        return Baseline(stats)

    # Implemented by a metric.

    @abstractmethod
    def score_chunk(
        self, pairs: Pairs, settings: Any, statistics: CorpusStatistics, progress: Progress
    ) -> ChunkScores:
        """Score a chunk of pairs."""

    def score_matrix(
        self,
        candidates: list[str],
        references: list[str],
        settings: Any,
        statistics: CorpusStatistics,
    ) -> tuple[np.ndarray, Counter[str]]:
        """Score all candidates against all references, and count warnings."""
        pairs = Pairs.of((candidate, [text]) for candidate in candidates for text in references)
        self.check(pairs, settings, statistics)
        size = len(references)
        rows = (pairs.part(start, start + size) for start in range(0, len(pairs), size))
        parts = [self.score_chunk(row, settings, statistics, no_progress) for row in rows]
        (name,) = settings.names
        values = np.asarray([part.scores[name] for part in parts])
        return values, add_counts(part.counts for part in parts)

    def bounds(self, settings: Any, name: str) -> tuple[float, float]:
        """Return the lower and upper bounds of a score."""
        return -math.inf, math.inf

    def best(self, settings: Any, name: str) -> float:
        """Return the best possible score."""
        return self.bounds(settings, name)[int(self.higher_is_better)]

    def model_fields(self, settings: Any, statistics: CorpusStatistics | None) -> dict[str, object]:
        """Return the model's signature fields."""
        return {}


def corpus_counts(
    pairs: Pairs, statistics: CorpusStatistics, counts: Mapping[str, int]
) -> Counter[str]:
    """Add the counts of a corpus or part to the counts of its chunks."""
    corpus = Counter(
        pairs=len(pairs),
        blank_references=pairs.blank_references,
        few_documents=statistics.distinct_documents,
    )
    return Counter(counts) | corpus  # maxima, because a combined metric has counted the same pairs


def score_corpus(
    scorer: Scorer, pairs: Pairs, settings: Any, baseline: Baseline | None, verbose: bool
) -> Result:
    """Collect the statistics of a whole corpus, and score its pairs."""
    with scorer.lock:
        statistics = scorer.count(pairs.texts_by_side, settings)
        return scorer.score_part(pairs, settings, statistics, baseline, verbose)


def no_progress(fraction: float) -> None:
    """Ignore the completed fraction."""
