"""Abstract base classes of all scorers, and of their runs.

A scorer holds settings and a model. A run is one call of a scorer, resolved once: its settings,
checkpoint, corpus statistics, signature and baseline. Jobs, ranks, workers, commands and the demo
prepare a run, and score the parts of a corpus with it.

Methods for users check all arguments before they load a model. They raise InputError for an invalid
argument, and OSError if the model cannot be found. Settings in `changed` override the scorer's
settings for one call.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import torch
import transformers
from tqdm import tqdm

from infolm_metric.core import __version__, baselines
from infolm_metric.core.baselines import Baseline, BaselineNotFoundError, BaselineStats
from infolm_metric.core.checks import InputError, check_value
from infolm_metric.core.idf import IDF, CorpusStatistics
from infolm_metric.core.inputs import Pairs, batches, check_pairs, check_texts, iterate_pairs
from infolm_metric.core.results import ChunkScores, Result, Summary, add_counts, warn
from infolm_metric.core.settings import ModelSettings, Settings
from infolm_metric.core.signature import Signature
from infolm_metric.models import checkpoints
from infolm_metric.models.checkpoints import Checkpoint

STREAMED_PAIRS = 256  # pairs of a stream that are read and scored together
COUNTED_PAIRS = 1024  # pairs whose documents are counted together
CHUNK_PAIRS = 256  # pairs scored at a time
LARGEST_SCORE = 1e300  # larger scores have overflowed

S = TypeVar("S", bound=Settings)
M = TypeVar("M", bound=ModelSettings)


class Scorer(ABC, Generic[S]):
    """Base class of scorers, which score candidates against references.

    A metric is a subclass with its settings and the type of its runs, which score the pairs. If the
    scores are bounded, it also implements `bounds`. Other base classes are
    `scoring.encoding_scorer.EncodingScorer` for metrics that encode each text once and compare
    encodings, `scoring.encoding_scorer.HiddenStatesScorer` if the encodings are hidden states, and
    `scoring.nli_scorer.NLIScorer` for metrics with an NLI model. The model is loaded on first use
    and kept in memory.

    `settings` are by default the metric's default settings. Keyword arguments override single
    settings, both here and in method calls. Invalid settings raise InputError.
    """

    settings_type: type[S]
    run_type: ClassVar[type[Run[Any]]]
    higher_is_better: ClassVar[bool] = False
    # Description of texts with a perfect score, for display.
    perfect_score_label: ClassVar[str] = ""

    def __init__(self, settings: S | None = None, **changed: object) -> None:
        settings = self.settings_type() if settings is None else settings
        if not isinstance(settings, self.settings_type):
            raise InputError(
                f"settings must be {self.settings_type.__name__}, got {settings!r}. Pass settings "
                "by keyword, such as model_name_or_path='bundled'."
            )
        self.settings = settings.replace(**changed)
        self.lock = threading.RLock()  # one call at a time, because calls share the model and cache
        self.unload()

    def __reduce__(self) -> tuple[Any, ...]:
        """Copy and pickle only the settings. Each copy loads its own model."""
        return type(self), (self.settings,)

    def score(
        self,
        predictions: object,
        references: object = None,
        *,
        rescale_with_baseline: object = False,
        verbose: bool = False,
        **changed: object,
    ) -> Result:
        """Score each prediction against its reference or references.

        Args:
            predictions: the candidates, a list of strings.
            references: one reference per candidate, or a list of references per candidate.
            rescale_with_baseline: also rescale scores with the package's baseline (True) or a file
                written by `infolm baseline`: 1 is best, and 0 is the mean score of unrelated texts.
            verbose: show a progress bar.
            **changed: override the scorer's settings for this call.

        Returns:
            A `Result`, which is a mapping with the mean score under the metric's name, the "scores"
            of all pairs, "higher_is_better", "signature" and "warnings". For a list of score names,
            mean and scores are dictionaries. With a baseline, it also has "rescaled",
            "rescaled_scores" and "baseline". Results of answer_check also have "verdicts".

        Raises:
            InputError: an argument is invalid (checked before loading the model).
            OSError: the model cannot be found.
        """
        settings = self.settings.replace(**changed)
        baseline = baselines.resolve_baseline(settings.metric, rescale_with_baseline)
        verbose = check_value("verbose", verbose, bool)
        pairs = check_pairs(predictions, references)
        with self.lock:
            result = self.prepare(settings, pairs.texts_by_side, baseline).score(pairs, verbose)
        warn(result.counts)
        return result

    def stream(self, pairs: Iterable[object], **changed: object) -> Iterator[dict[str, float]]:
        """Score a stream of any number of pairs, and yield each pair's scores by name, in order.

        `pairs` is an iterable of (candidate, reference) or (candidate, list of references). A few
        hundred pairs are read ahead. With idf="references" or idf="separate", the pairs are read
        twice, so `pairs` cannot be an iterator. With idf=False or a table, they are read once.
        Raises InputError if an argument is invalid, or later if a pair is invalid.
        """
        settings = self.settings.replace(**changed)
        if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
            raise InputError(f"pairs must be an iterable of (candidate, reference), got {pairs!r}")
        if isinstance(pairs, Iterator) and settings.idf_sides:
            raise InputError(
                f"pairs is an iterator ({type(pairs).__name__}), which can be read only once, but "
                f"idf={settings.idf!r} reads the pairs twice, first to count documents. Pass "
                "idf=False, a table (IDF.from_corpus, infolm idf), or an iterable such as a list "
                "or a data set."
            )

        def scores() -> Iterator[dict[str, float]]:
            run = self.prepare(settings)
            parts = batches(iterate_pairs(pairs), COUNTED_PAIRS) if settings.idf_sides else ()
            documents = (run.count(Pairs.of(part).texts_by_side) for part in parts)
            run = run.with_statistics(sum(documents, CorpusStatistics()))
            counts = Counter[str]()
            for part in batches(iterate_pairs(pairs), STREAMED_PAIRS):
                result = run.score(Pairs.of(part))
                counts = add_counts([counts, result.counts])
                columns = result.columns()
                for row in zip(*columns.values(), strict=True):
                    yield dict(zip(columns, row, strict=True))
            warn(counts)

        return scores()

    def signature(self, settings: S | None = None, **changed: object) -> Signature:
        """Return the signature, which contains everything that can change a score.

        It consists of "name:value" fields joined by "|", including versions, with floats in full
        precision. For the same inputs, scores with equal signatures agree within the tolerance of
        their dtype. The signature of a result can also have the fields "weights" (token weighting
        of the corpus) and "baseline". Model weights are not loaded.

        `settings` and `changed` override the scorer's settings. Raises InputError if a setting is
        unknown or invalid, and OSError if the model cannot be found.
        """
        return self.prepare((settings or self.settings).replace(**changed)).signature

    def matrix(
        self, candidates: object, references: object, settings: S | None = None, **changed: object
    ) -> np.ndarray:
        """Score all `candidates` against all `references`, float64 [candidates, references].

        Each text is encoded once if the metric encodes texts separately and the encodings fit in
        the cache. Only one score name is allowed. If idf is False or a table, each value equals the
        score of the pair alone: to within 1e-9 if encodings do not depend on the batch (float32 on
        a CPU), and otherwise to within the tolerance of batch invariance, about 1e-5 in float32 on
        a GPU. With idf="references", documents are counted in `references`. `settings` and
        `changed` override the scorer's settings. Raises the same errors as `score`.
        """
        settings = (settings or self.settings).replace(**changed)
        rows = check_texts("candidates", candidates, least=1)
        columns = check_texts("references", references, least=1)
        if len(settings.names) > 1:
            name, got = settings.names_field, ", ".join(settings.names)
            raise InputError(f"{name} must be one name, got {got}", setting=name)
        pairs = Pairs.of((text, [other]) for text in rows for other in columns)
        with self.lock:
            run = self.prepare(settings, {"candidates": rows, "references": columns})
            result = run.score(pairs)
        warn(result.counts)
        (scores,) = result.scores.values()
        return np.reshape(scores, (len(rows), len(columns)))

    def select(self, candidates: object, **changed: object) -> str:
        """Return the candidate with the best mean score against the others (minimum Bayes risk).

        `candidates` is a list of strings, such as samples for one input. The first of several
        equally good candidates is returned. Only one score name is allowed. Token weights are
        uniform unless idf is a table. Raises the same errors as `score`.
        """
        settings = self.settings.replace(**changed).with_uniform_weights()
        texts = check_texts("candidates", candidates)
        values = self.matrix(texts, texts, settings)
        sums = values.sum(1) - values.diagonal()
        best = sums.argmax() if self.higher_is_better else sums.argmin()
        return texts[int(best)]

    def unload(self) -> None:  # noqa: B027
        """Free the model and the cache. The next call loads the model again."""

    # Methods for commands, jobs, distributed scoring and the demo. Arguments are already checked.

    def prepare(
        self,
        settings: S | None = None,
        corpus: Mapping[str, Iterable[str]] | CorpusStatistics | None = None,
        baseline: Baseline | None = None,
    ) -> Run[S]:
        """Resolve everything about a call once, without loading weights.

        `corpus` contains the texts whose documents are counted, with the keys "candidates" and
        "references", or statistics that were counted before. With a `baseline`, scores are also
        rescaled. Raises an error if the model cannot be found or does not fit the settings.
        """
        with self.lock:
            run = self.make_run(settings or self.settings, baseline)
            if corpus is None:
                return run
            counted = corpus if isinstance(corpus, CorpusStatistics) else run.count(corpus)
            return run.with_statistics(counted)

    def make_baseline(
        self, sources: Sequence[Sequence[str]], pairs: int, references: int, **changed: object
    ) -> Baseline:
        """Compute a baseline from pairs of unrelated texts, both from the same source.

        It covers all score names, all weighting schemes and up to `references` references per pair.
        Each source, a list of texts, yields up to `pairs` pairs.
        """
        stats, texts = {}, [text for source in sources for text in source]
        groups = [baselines.unrelated_pairs(source, pairs, references) for source in sources]
        owners = [index for index, group in enumerate(groups) for _ in group]
        unrelated = [pair for group in groups for pair in group]
        for settings in self.settings.replace(**changed).baseline_settings():
            run = self.prepare(settings, {"candidates": texts, "references": texts})
            for count in range(1, references + 1):
                part = Pairs.of((text, group[:count]) for text, group in unrelated)
                tokens = run.pair_tokens(part)
                for name, column in run.score(part).scores.items():
                    stats[run.baseline_key(name, count)] = BaselineStats.of(
                        column, tokens, self.higher_is_better, owners
                    )
        return Baseline(stats)

    # Defined or replaced by a metric.

    def make_run(self, settings: S, baseline: Baseline | None) -> Run[S]:
        """Return a run without corpus statistics. The caller holds the lock."""
        return self.run_type(scorer=self, settings=settings, baseline=baseline)

    def bounds(self, settings: S, name: str) -> tuple[float, float]:
        """Return the lower and upper bounds of a score."""
        return -math.inf, math.inf

    def describe_verdicts(self, counts: Mapping[str, int]) -> list[str]:
        """Describe the numbers of verdicts in `counts`, for a metric with verdicts."""
        return []

    def best(self, settings: S, name: str) -> float:
        """Return the best possible value of a score."""
        return self.bounds(settings, name)[int(self.higher_is_better)]


class ModelScorer(Scorer[M]):
    """Base class of scorers with a model. A metric implements `load`."""

    architecture: ClassVar[checkpoints.Architecture]

    def unload(self) -> None:
        with self.lock:  # not during another thread's call
            self.models = checkpoints.ModelHolder(self.open, self.load)
            checkpoints.release_memory()

    @property
    def tokenizer(self) -> Any:
        """Tokenizer of the model. `IDF.from_corpus` requires it."""
        with self.lock:
            return self.models.checkpoint(self.settings).tokenizer

    def open(self, settings: M) -> Checkpoint:
        """Open the checkpoint named in the settings."""
        name = str(settings.model_name_or_path)
        return checkpoints.open_checkpoint(name, settings.model_revision, self.architecture)

    @abstractmethod
    def load(self, checkpoint: Checkpoint, settings: M) -> Any:
        """Load a checkpoint's model."""


@dataclass(frozen=True, kw_only=True)
class Run(ABC, Generic[S]):
    """One call of a scorer, resolved once.

    `score` and `count` take the scorer's lock. A run remains valid when the scorer is used for
    other calls.

    Attributes:
        scorer: the scorer, which holds the model.
        settings: the settings of the call.
        statistics: document frequencies of the whole corpus.
        baseline: the baseline for rescaled scores, or None.
    """

    scorer: Scorer[S]
    settings: S
    statistics: CorpusStatistics = field(default_factory=CorpusStatistics)
    baseline: Baseline | None = None

    def with_statistics(self, statistics: CorpusStatistics) -> Self:
        """Return the run with the statistics of a whole corpus."""
        return replace(self, statistics=statistics)

    @cached_property
    def tables(self) -> tuple[IDF | None, IDF | None]:
        """IDF tables for candidates and references. None means uniform weights.

        Weights are uniform for a corpus with fewer than two distinct documents.
        """
        idf, sides, tables = self.settings.idf, self.settings.idf_sides, self.statistics.tables
        if isinstance(idf, IDF):
            return idf, idf
        if not sides or self.statistics.distinct_documents < 2:
            return None, None
        return tables[sides[0]], tables[sides[-1]]

    @property
    def weights(self) -> str:
        """Token weighting scheme, "idf" or "uniform"."""
        return "uniform" if self.tables[0] is None else "idf"

    @cached_property
    def signature(self) -> Signature:
        """Everything that can change a score."""
        settings = self.settings
        fields: dict[str, object] = {"metric": settings.metric}
        for name, value in settings.signature_fields().items():
            fields[name] = value
            if name == "idf" and settings.idf_sides and self.statistics.tables:
                fields["weights"] = self.weights
        if self.baseline:
            fields["baseline"] = self.baseline
        fields |= {**self.model_fields(), "infolm": __version__}
        fields |= {"transformers": transformers.__version__, "torch": torch.__version__}
        return Signature(fields, self.default_fields())

    def score(self, pairs: Pairs, verbose: bool = False, rank: bool = False) -> Result:
        """Score a part of the corpus. With a baseline, also rescale the scores.

        If `rank`, the counts contain the sums of tokens and percentiles that a verdict needs.
        """
        with self.scorer.lock:
            counts = Counter(pairs.counts)
            stats = self.unrelated(counts) if self.baseline else {}
            best = {name: self.scorer.best(self.settings, name) for name in self.settings.names}
            for by_name in stats.values():
                for name, name_stats in by_name.items():
                    name_stats.check_best(best[name])
            self.check(pairs)
            whole = self._score_chunks(pairs, verbose)
        for name, column in whole.scores.items():
            if max(column) > LARGEST_SCORE:
                raise InputError(
                    f"{name} overflows with these settings, got {max(column):.3g}. Use alpha and "
                    "beta closer to 0, or a higher temperature."
                )
        rescaled = {}
        for name, column in whole.scores.items() if stats else ():
            rescaled[name] = [
                stats[count][name].rescale(score, best[name])
                for score, count in zip(column, pairs.counts, strict=True)
            ]
        return Result(
            metric=self.settings.metric,
            scores=whole.scores,
            signature=self.signature,
            higher_is_better=self.scorer.higher_is_better,
            counts=self.corpus_counts(pairs, whole.counts)
            + (self.percentiles(pairs, whole.scores) if rank else Counter()),
            several=self.settings.several,
            rescaled=rescaled,
            baseline=baselines.most_frequent(stats, counts) if stats else None,
            verdicts=whole.verdicts,
            reasons=whole.reasons,
        )

    def _score_chunks(self, pairs: Pairs, verbose: bool) -> ChunkScores:
        parts, quiet = [], not verbose or len(pairs) == 1
        with tqdm(total=len(pairs), unit="pair", desc=self.settings.metric, disable=quiet) as bar:
            for chunk in self.chunks(pairs):
                parts.append(self.score_chunk(chunk))
                bar.update(len(chunk))
        return ChunkScores.join(parts)

    def summary(
        self,
        means: Mapping[str, float],
        counts: Mapping[str, int],
        references: Mapping[int, int],
        resumed: int = 0,
    ) -> Summary:
        """Summarize a corpus by the means of its columns, without the scores of its pairs.

        `counts` are the counts of its results, and `references` contains the number of pairs by
        number of references.
        """
        stats = baselines.most_frequent(self.unrelated(references), references)
        if not all(each.bins for each in (stats or {}).values()):
            stats = None  # without a verdict
        return Summary(sum(references.values()), means, self.signature, counts, stats, resumed)

    def unrelated(self, counts: Iterable[int]) -> dict[int, dict[str, BaselineStats]]:
        """Look up statistics of unrelated texts by number of references and score name.

        Raises BaselineNotFoundError if the run's baseline does not match the settings. Without a
        baseline, the package's baseline is used. If that does not match, the result is empty.
        """
        table = self.baseline or baselines.package_baseline(self.settings.metric)
        try:
            return {
                count: {
                    name: table.find(self.baseline_key(name, count)) for name in self.settings.names
                }
                for count in counts
            }
        except BaselineNotFoundError:
            if self.baseline is not None:
                raise
            return {}

    def percentiles(self, pairs: Pairs, scores: Mapping[str, Sequence[float]]) -> Counter[str]:
        """Sum the percentiles (0 to 90) among unrelated texts times 1000, and the pairs' tokens.

        The keys are "percentile_NAME" for each score, and "pair_tokens". The result is empty if no
        baseline with lengths matches.
        """
        stats = self.unrelated(set(pairs.counts))
        if not stats or not all(each.bins for part in stats.values() for each in part.values()):
            return Counter()
        tokens = self.pair_tokens(pairs)
        sums = Counter(pair_tokens=sum(tokens))
        for name, column in scores.items():
            best = self.scorer.best(self.settings, name)
            total = sum(
                stats[count][name].percentile(score, best, length)
                for score, count, length in zip(column, pairs.counts, tokens, strict=True)
            )
            sums[f"percentile_{name}"] = round(1000 * total)
        return sums

    def baseline_key(self, name: str, references: int) -> baselines.BaselineKey:
        """Return the key under which a baseline stores the statistics of a score."""
        single = replace(self, settings=self.settings.single(name))
        signature = single.with_statistics(CorpusStatistics()).signature
        signature = signature.with_fields(self.baseline_fields())
        return baselines.baseline_key(signature, self.weights, references)

    def baseline_fields(self) -> Mapping[str, object]:
        """Return the signature fields that have other values in the keys of baselines."""
        return {}

    def corpus_counts(self, pairs: Pairs, counts: Mapping[str, int]) -> Counter[str]:
        """Merge the counts of a corpus or part into the counts of its chunks."""
        stripped = getattr(self.settings, "strip_thinking", False)  # of answer_check
        corpus = Counter(
            pairs=len(pairs),
            blank_references=pairs.blank_references,
            few_documents=self.statistics.distinct_documents,
            thinking=0 if stripped else pairs.thinking,
        )
        # Maxima, because a combined metric has counted the same pairs.
        return Counter(counts) | corpus

    # Defined or replaced by a metric.

    @abstractmethod
    def score_chunk(self, pairs: Pairs) -> ChunkScores:
        """Score a chunk of pairs. The caller holds the lock."""

    def count(
        self, texts: Mapping[str, Iterable[str]], num_proc: int | None = None
    ) -> CorpusStatistics:
        """Count the documents in `texts`, whose keys are "candidates" and "references".

        `num_proc` is a number of processes, or None to count in this process.
        """
        return CorpusStatistics()

    def lengths(self, texts: Iterable[str]) -> Iterator[int]:
        """Count the tokens of each text. Without a tokenizer, words are counted."""
        return (len(text.split()) for text in texts)

    def pair_tokens(self, pairs: Pairs) -> list[int]:
        """Count the tokens of the shortest text of each pair."""
        lengths = iter(self.lengths(pairs.texts))
        return [min(islice(lengths, 1 + count)) for count in pairs.counts]

    def check(self, pairs: Pairs) -> None:  # noqa: B027
        """Check that the pairs can be scored, before weights are loaded."""

    def chunks(self, pairs: Pairs) -> Iterator[Pairs]:
        """Divide pairs into chunks that fit in memory."""
        return map(Pairs.of, batches(pairs, CHUNK_PAIRS))

    def model_fields(self) -> dict[str, object]:
        """Return the model's signature fields."""
        return {}

    def default_fields(self) -> set[str]:
        """Return the names of the signature fields whose values are the defaults for this model."""
        model = {k: v for k, v in vars(self.settings).items() if k == "model_name_or_path"}
        # vars() has the fields that the run adds, and signature_fields() the derived fields.
        values, defaults = (
            vars(settings) | settings.signature_fields()
            for settings in (self.settings, type(self.settings)(**model))
        )
        names = {name for name, value in defaults.items() if values.get(name, "") == value}
        return (names | {"weights"}) if self.weights == "idf" else names


@dataclass(frozen=True, kw_only=True)
class ModelRun(Run[M]):
    """A run of a scorer with a model.

    Attributes:
        checkpoint: tokenizer and configuration of the model.
        limit: maximum number of tokens per sequence, including special tokens. None: no limit.
    """

    checkpoint: Checkpoint
    limit: int | None

    def model_fields(self) -> dict[str, object]:
        return {
            "model": self.checkpoint.identity,
            "max_length": self.limit,
            "long_text": self.settings.long_text,
            "dtype": self.settings.dtype,
        }


def score_systems(
    scorer: Scorer[S], settings: S, pairs: Pairs, texts: int, verbose: bool = False
) -> tuple[Run[S], Result]:
    """Score the texts of several systems with the same token weights. Return run and result.

    `pairs` contains `texts` pairs per system, system by system, with the same references in the
    same order.
    """
    first = pairs.part(0, texts)
    # The references are the same for all systems, so they are counted only once.
    run = scorer.prepare(settings, first.texts_by_side)
    result = run.score(pairs, verbose)
    warn({**result.counts, "blank_references": first.blank_references})
    return run, result
