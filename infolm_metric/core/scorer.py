"""The scorer of a metric: all that is the same for every metric, over a model that is kept."""

from __future__ import annotations

import functools
import math
import os
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain, islice
from typing import Any, ClassVar

import numpy as np
import torch
import transformers
from torch import Tensor
from tqdm import tqdm

from infolm_metric.core import __version__, baselines
from infolm_metric.core.baselines import Baseline, BaselineStats, NoBaseline
from infolm_metric.core.idf import IDF, Statistics, WeightedText
from infolm_metric.core.inputs import Pair, Pairs, check_pairs, check_texts, iterate_pairs
from infolm_metric.core.models import Architecture, Checkpoint, TensorCache, open_checkpoint
from infolm_metric.core.results import Result, add_counts, warn
from infolm_metric.core.settings import ModelSettings, check_value, own_fields
from infolm_metric.core.tokenization import tokenize
from infolm_metric.core.unread import count_unread

READ_AHEAD = 256  # pairs of a stream
CHUNK = 1024  # pairs scored at a time

Progress = Callable[[float], object]
"""Told the share of a chunk that is done."""
Texts = Sequence[WeightedText]


class Scorer:
    """Scores candidates against references; a model is loaded at the first use and kept.

    A metric is a subclass. One that reads texts with a model says which (`architecture`, `load`),
    how texts are read (`read`) and how two readings are compared (`compare`); any other says what
    the scores of some pairs are (`score_chunk`).

    Args:
        settings: the metric's settings, or None for the defaults.
        **changed: settings by name; every method takes them too, for one call.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong.
    """

    settings_type: ClassVar[type[Any]]
    architecture: ClassVar[Architecture]
    higher_is_better: ClassVar[bool] = False
    best_means: ClassVar[str] = ""
    """What the best score says of two texts, if it can be said in a few words."""
    sentences: ClassVar[Mapping[str, str]] = {}
    """The metric's own sentences of warnings, by kind."""

    def __init__(self, settings: Any = None, **changed: Any) -> None:
        if settings is None:
            self.settings = self.settings_type.of(**changed)
        elif isinstance(settings, self.settings_type):
            self.settings = settings.replace(**changed)
        else:
            raise TypeError(f"settings must be {self.settings_type.__name__}, got {settings!r:.80}")
        self.lock = threading.RLock()  # one pass at a time; the model and the cache are shared
        self.unload()

    def __repr__(self) -> str:
        """The scorer with the settings that are not the defaults."""
        defaults = type(self.settings)()
        names = (field.name for field in own_fields(type(defaults)))
        values = ((name, getattr(self.settings, name)) for name in names)
        labels = (f"{name}={value!r}" for name, value in values if value != getattr(defaults, name))
        return f"{type(self).__name__}({', '.join(labels)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles carry the settings; they load the model themselves."""
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
        """The scores of each prediction against its reference or references.

        Args:
            predictions: the candidates, a list of strings.
            references: for each its reference, or a list of its references.
            sources: in place of references, for a metric that takes them (MENLI): what the
                predictions were made from.
            rescale_with_baseline: add scores on a scale on which 1 is the best possible score and
                0 the mean of unrelated texts: True (the package's baseline) or a file made by
                `infolm baseline`.
            verbose: show progress.
            **changed: override the scorer's own settings for this call.

        Returns:
            A mapping: the mean under the metric's name, "scores" of each pair,
            "higher_is_better", "signature" and "warnings".

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        settings = self.settings.replace(**changed)
        baseline = baselines.baseline_of(settings.metric, rescale_with_baseline)
        verbose = check_value("verbose", verbose, bool)
        pairs = check_pairs(predictions, self.references_or_sources(references, sources))
        pairs = replace(pairs, against_sources=sources is not None)
        result = self.score_corpus(pairs, settings, baseline, verbose)
        warn(result.counts, self.sentences)
        return result

    def stream(self, pairs: Iterable[Any], **changed: Any) -> Iterator[dict[str, float]]:
        """The scores of each pair by name, in order, as the pairs come; for any number of them.

        A few hundred pairs are read ahead. With idf "references" or "separate" they are read twice,
        so that they must not be an iterator, which can be read only once; `idf=False` or a table
        needs one reading.

        Args:
            pairs: gives (candidate, reference) or (candidate, list of references).
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
                "idf reads the pairs twice, once to count, and pairs is an iterator "
                f"({type(pairs).__name__}), which can be read only once; give idf=False, a table "
                "made before with IDF.from_corpus or `infolm idf`, or pairs that can be read "
                "again, such as a list or a data set"
            )
        return self._stream(pairs, settings)

    def _stream(self, pairs: Iterable[Any], settings: Any) -> Iterator[dict[str, float]]:
        if settings.counted and next(iterate_pairs(pairs), None) is None:
            return  # no corpus to count
        with self.lock:
            statistics = self.count(_CheckedPairs(pairs), settings)
        rows, counts = iterate_pairs(pairs), Counter[str]()
        while part := list(islice(rows, READ_AHEAD)):
            with self.lock:
                result = self.score_part(Pairs.of(part), settings, statistics)
            counts = add_counts([counts, result.counts])
            columns = result.columns()
            for row in zip(*columns.values(), strict=True):
                yield dict(zip(columns, row, strict=True))
        warn(counts, self.sentences)

    def signature(
        self,
        settings: Any = None,
        statistics: Statistics | None = None,
        against_sources: bool = False,
        **changed: Any,
    ) -> str:
        """The signature of scores with these settings: all that can change them.

        Args:
            settings: in place of the scorer's own.
            statistics: of the corpus counted; the signature then says what weighs its tokens.
            against_sources: whether sources take the place of references.
            **changed: override the settings.

        Returns:
            "name:value" for each, joined by "|", versions included, floats with all their digits.
            Equal signatures mean equal scores for the same inputs, within float32's tolerance. No
            model is loaded for it.

        Raises:
            TypeError, ValueError: a setting is unknown or wrong.
        """
        settings = (self.settings if settings is None else settings).replace(**changed)
        fields: dict[str, object] = {"metric": settings.metric}
        for name, value in settings.signed().items():
            fields[name] = value
            if name == "idf" and settings.counted and statistics is not None and statistics.tables:
                fields["weights"] = statistics.weights_used(settings)
        if against_sources:
            fields["against"] = "source"
        with self.lock:
            fields |= self.signed_model(settings, statistics)
        versions = {"transformers": transformers.__version__, "torch": torch.__version__}
        fields |= {"infolm": __version__, **versions}
        return "|".join(
            f"{name}:{'no' if value is False else 'none' if value is None else value}"
            for name, value in fields.items()
        )

    def matrix(self, candidates: Any, references: Any, **changed: Any) -> np.ndarray:
        """The scores of every candidate with every reference, each text read once.

        They are what `score` gives pair by pair, within 1e-9, where idf is off or a table; with
        idf "references" the references are the corpus.

        Args:
            candidates: a list of strings.
            references: likewise.
            **changed: override the scorer's own settings for this call; one kind of score.

        Returns:
            float64 [candidates, references].

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        return self._matrix(candidates, references, self.settings.replace(**changed))

    def _matrix(self, candidates: Any, references: Any, settings: Any) -> np.ndarray:
        rows, columns = check_texts("candidates", candidates), check_texts("references", references)
        for name, texts in (("candidates", rows), ("references", columns)):
            if not texts:
                raise ValueError(f"{name} is empty; give at least one text")
        if len(settings.names) > 1:
            raise ValueError(f"matrix gives one kind of score, got {', '.join(settings.names)}")
        corpus = Pairs(rows, [columns, *([[]] * (len(rows) - 1))])  # every text once
        with self.lock:
            statistics = self.count(corpus, settings)
            self.check(corpus, settings, statistics)
            values, counts = self.score_matrix(rows, columns, settings, statistics)
        warn(add_counts([counts, {"few_documents": statistics.distinct}]), self.sentences)
        return values

    def select(self, candidates: Any, **changed: Any) -> str:
        """The candidate that the others agree with most: minimum Bayes risk.

        Each candidate is scored against all others as its references; the best mean wins, and the
        first of equals. Tokens are weighed alike unless a table is given.

        Args:
            candidates: a list of strings, such as samples for one input.
            **changed: override the scorer's own settings for this call; one kind of score.

        Returns:
            One of the candidates.

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        settings = self.settings.replace(**changed).without_counts()
        texts = check_texts("candidates", candidates)
        values = self._matrix(texts, texts, settings)
        sums = values.sum(1) - values.diagonal()
        best = sums.argmax() if self.higher_is_better else sums.argmin()
        return texts[int(best)]

    def unload(self) -> None:
        """Free the model and what is kept; the next call loads the model again."""
        with self.lock:  # not in the midst of another thread's pass
            self._checkpoint: tuple[Hashable, Checkpoint] | None = None
            self._model: tuple[Hashable, Any] | None = None
            self.cache = TensorCache()

    def references_or_sources(self, references: Any, sources: Any) -> Any:
        """The references, or the sources in their place, which not every metric takes."""
        if sources is None:
            return references
        if not self.settings.takes_sources:
            raise TypeError(f"{self.settings.metric} takes no sources; give references")
        if references is not None:
            raise TypeError("got both references and sources; give one of them")
        return sources

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model in the settings; `IDF.from_corpus` needs it."""
        with self.lock:
            return self.checkpoint(self.settings).tokenizer

    # What commands, jobs, ranks and the page stand on: parts of a corpus, with checked settings.

    def count(self, pairs: Iterable[Pair], settings: Any) -> Statistics:
        """What has to be known of a whole corpus before a part of it is scored; counts add up."""
        if not settings.counted or (isinstance(pairs, Pairs) and not len(pairs)):
            return Statistics()
        checkpoint = self.checkpoint(settings)
        limit = checkpoint.text_limit(settings.max_length)  # texts are cut as in scoring
        limit = None if settings.long_text == "window" else limit
        in_memory = isinstance(pairs, Pairs)  # where several processes can share them
        tables = {}
        for side in settings.counted:
            groups = ([candidate] if side == "candidates" else group for candidate, group in pairs)
            texts = chain.from_iterable(groups)
            table = IDF.from_corpus(
                list(texts) if in_memory else texts,
                checkpoint.tokenizer,
                max_length=limit,
                processes=settings.tokenize_processes,
            )
            tables[side] = replace(table, tokenizer_name=checkpoint.name)
        return Statistics(tables)

    def score_corpus(
        self, pairs: Pairs, settings: Any, baseline: Baseline | None, verbose: bool
    ) -> Result:
        """The result for the pairs of a whole corpus."""
        with self.lock:
            statistics = self.count(pairs, settings)
            return self.score_part(pairs, settings, statistics, baseline, verbose)

    def score_part(
        self,
        pairs: Pairs,
        settings: Any,
        statistics: Statistics,
        baseline: Baseline | None = None,
        verbose: bool = False,
    ) -> Result:
        """The result for the pairs of a corpus, or of a part of one, of which `statistics` tell.

        Rescaled if a baseline is given, which must fit.
        """
        stats = {
            count: self.baseline_stats(settings, statistics, baseline, count)
            for count in set(pairs.counts if baseline else ())
        }
        self.check(pairs, settings, statistics)
        columns: dict[str, list[float]] = {}
        parts, position = [], 0
        quiet = not verbose or len(pairs) == 1
        with tqdm(total=len(pairs), unit="pair", desc=settings.metric, disable=quiet) as bar:
            for chunk in self.chunks(pairs, settings):
                size = len(chunk)
                scores, counts = self.score_chunk(
                    chunk,
                    settings,
                    statistics,
                    lambda share: bar.update(position + int(size * share) - bar.n),  # noqa: B023
                )
                parts.append(counts)
                for name, column in scores.items():
                    columns.setdefault(name, []).extend(column)
                position += size
                bar.update(position - bar.n)
        counts = add_counts([*parts, {"few_documents": statistics.distinct}])
        score_columns = {name: columns.pop(name) for name in settings.names}
        result = Result(
            settings.metric,
            score_columns,
            self.signature(settings, statistics, pairs.against_sources),
            self.higher_is_better,
            counts,
            settings.several,
            extra=self.extra(columns, settings) if columns else {},
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
            signature=sign_baseline(result.signature, baseline),
            rescaled=rescaled,
            baseline=self.known_baseline(settings, statistics, Counter(pairs.counts), baseline),
        )

    def bounds(self, settings: Any, name: str) -> tuple[float, float]:
        """The smallest and the largest value that the score of this name can have."""
        return -math.inf, math.inf

    # What a metric says of itself.

    def chunks(self, pairs: Pairs, settings: Any) -> Iterator[Pairs]:
        """The pairs in parts that are scored one after the other."""
        return (pairs.part(start, start + CHUNK) for start in range(0, len(pairs), CHUNK))

    def check(self, pairs: Pairs, settings: Any, statistics: Statistics) -> None:
        """Raise what would keep pairs from being scored, before time goes into the model."""
        if not isinstance(settings, ModelSettings):
            return
        checkpoint, idf = self.checkpoint(settings), getattr(settings, "idf", False)
        if isinstance(idf, IDF):
            idf.check_tokenizer(checkpoint.fingerprint, checkpoint.name)
        checkpoint.text_limit(settings.max_length)
        if settings.long_text == "error":
            self.weigh(list(pairs.texts), None, settings)

    def score_chunk(
        self, pairs: Pairs, settings: Any, statistics: Statistics, progress: Progress
    ) -> tuple[dict[str, Sequence[float]], Counter[str]]:
        """The scores of some pairs by name, and counts of what there is to warn of."""
        tables = statistics.weighting(settings)
        candidates = self.weigh(pairs.predictions, tables[0], settings)
        references = self.weigh(pairs.flat_references, tables[1], settings)
        readings = self.read([*candidates, *references], settings, progress)
        owners = np.repeat(np.arange(len(pairs)), pairs.counts)
        comparisons = self.compare(
            [candidates[owner] for owner in owners], references, readings, settings
        )
        scores = {
            name: combine_references(values, pairs.counts, settings.multi_reference).tolist()
            for name, values in comparisons.items()
        }
        return scores, self.count_warnings([*candidates, *references], settings)

    def score_matrix(
        self, candidates: list[str], references: list[str], settings: Any, statistics: Statistics
    ) -> tuple[np.ndarray, Counter[str]]:
        """The scores of all candidates with all references, and counts of what to warn of.

        Texts are read in blocks; those of the references again where they do not fit the memory.
        """
        values = np.empty((len(candidates), len(references)))
        if type(self).read is Scorer.read:  # reads pairs, and each of these once
            parts = []
            blocks = [
                Pairs([candidate] * len(references), [[text] for text in references])
                for candidate in candidates
            ]
            self.check(Pairs.joined(blocks), settings, statistics)
            for row, pairs in zip(values, blocks, strict=True):
                scores, counts = self.score_chunk(pairs, settings, statistics, lambda share: None)
                row[:] = scores[settings.names[0]]
                parts.append(counts)
            return values, add_counts(parts)
        tables = statistics.weighting(settings)
        rows = self.weigh(candidates, tables[0], settings)
        columns = self.weigh(references, tables[1], settings)
        size = self.block_size(settings)
        for first in range(0, len(columns), size):
            column_block = columns[first : first + size]
            column_readings = self.read(column_block, settings)
            for start in range(0, len(rows), size):
                row_block = rows[start : start + size]
                readings = {**column_readings, **self.read(row_block, settings)}
                block = self.compare_all(row_block, column_block, readings, settings)
                values[start : start + size, first : first + size] = block
        return values, self.count_warnings([*rows, *columns], settings)

    def block_size(self, settings: Any) -> int:
        """The number of texts of either side whose readings `score_matrix` holds at once."""
        return CHUNK

    def compare_all(
        self,
        candidates: Texts,
        references: Texts,
        readings: Mapping[Hashable, Tensor],
        settings: Any,
    ) -> np.ndarray:
        """The scores of all candidates with all references, float64 [candidates, references]."""
        rows = []
        for candidate in candidates:
            repeats = [candidate] * len(references)
            (row,) = self.compare(repeats, references, readings, settings).values()
            rows.append(row)
        return np.stack(rows)

    def read(
        self, texts: Texts, settings: Any, progress: Progress = lambda share: None
    ) -> Mapping[Hashable, Tensor]:
        """What the model makes of each text, by its key; equal texts are read once."""
        raise TypeError(f"{type(self).__name__} reads no texts")

    def compare(
        self,
        candidates: Texts,
        references: Texts,
        readings: Mapping[Hashable, Tensor],
        settings: Any,
    ) -> dict[str, np.ndarray]:
        """The scores of candidates and as many references by name, float64 [pairs] each."""
        raise TypeError(f"{type(self).__name__} compares no readings")

    def extra(self, columns: Mapping[str, list[float]], settings: Any) -> dict[str, Any]:
        """What stands beside the scores in a result, from what else `score_chunk` gave."""
        return {}

    def load(self, checkpoint: Checkpoint, settings: Any) -> Any:
        """The model of a checkpoint, checked to be whole."""
        raise TypeError(f"{type(self).__name__} has no model")

    def open(self, settings: Any) -> Checkpoint:
        """The tokenizer of the model that the settings name, with its facts."""
        name, revision = settings.model_name_or_path, settings.model_revision
        return open_checkpoint(name, revision, self.architecture)

    def signed_model(self, settings: Any, statistics: Statistics | None) -> dict[str, object]:
        """The model and how it reads texts, as the signature shows them."""
        if not isinstance(settings, ModelSettings):
            return {}
        checkpoint = self.checkpoint(settings)
        return {
            "model": checkpoint.identity,
            "max_length": checkpoint.text_limit(settings.max_length),
            "long_text": settings.long_text,
            "dtype": settings.dtype,
        }

    # The model, and texts as it reads them.

    def checkpoint(self, settings: Any) -> Checkpoint:
        """What the model is loaded from, opened once."""
        key = settings.model_name_or_path, settings.model_revision
        if self._checkpoint is None or self._checkpoint[0] != key:
            self._checkpoint = key, self.open(settings)
        return self._checkpoint[1]

    def model(self, settings: Any) -> Any:
        """The model, loaded unless the last call used it; the cache is of its readings."""
        checkpoint = self.checkpoint(settings)
        key = self._checkpoint and self._checkpoint[0], settings.device, settings.dtype
        if self._model is None or self._model[0] != key:
            self._model = None
            self.cache.shrink(0)
            _limit_threads_of_forks()
            with torch.device("cpu"):  # whatever the caller's default device is
                self._model = key, self.load(checkpoint, settings)
        self.cache.shrink(settings.reuse_memory)
        return self._model[1]

    def weigh(self, texts: Sequence[str], table: IDF | None, settings: Any) -> list[WeightedText]:
        """The texts as the model reads them, weighed by a table, or uniformly for None."""
        checkpoint, distinct = self.checkpoint(settings), list(dict.fromkeys(texts))
        limit = checkpoint.text_limit(settings.max_length)
        weights = None if table is None else table.weights
        tokenized = tokenize(checkpoint.tokenizer, distinct, limit, settings.long_text)
        weighted = (WeightedText.of(text, weights) for text in tokenized)
        by_text = dict(zip(distinct, weighted, strict=True))
        return [by_text[text] for text in texts]

    def count_warnings(self, texts: Texts, settings: Any) -> Counter[str]:
        """The counts of texts that are not scored quite as they were written."""
        checkpoint = self.checkpoint(settings)
        tokens = np.concatenate([text.text.tokens for text in texts])
        lengths = np.asarray([len(text.log_weights) for text in texts])
        cut = settings.long_text == "truncate"
        return Counter(
            texts=len(texts),
            tokens=len(tokens),
            too_long=sum(text.text.too_long for text in texts) if cut else 0,
            empty=int((lengths == 0).sum()),
            zero_weight=sum(text.zero_weight for text in texts),
            unknown_tokens=int((tokens == checkpoint.tokenizer.unk_token_id).sum()),
            unread=count_unread((text.text.tokens for text in texts), checkpoint.english),
        )

    # Results in the light of what unrelated texts score.

    def baseline_stats(
        self, settings: Any, statistics: Statistics, baseline: Baseline | None, references: int = 1
    ) -> dict[str, BaselineStats]:
        """How unrelated texts score by a baseline, by the kind of score; raises NoBaseline.

        By default the package's.
        """
        baseline = self.baseline(settings, baseline)
        weights = statistics.weights_used(settings)
        return {
            name: baseline.find(self.signature(_single(settings, name)), weights, references)
            for name in settings.names
        }

    def baseline(self, settings: Any, baseline: Baseline | None) -> Baseline:
        """The baseline given, else the package's, an empty one where it has none."""
        return baseline or baselines.package_baseline(settings.metric)

    def known_baseline(
        self,
        settings: Any,
        statistics: Statistics,
        counts: Mapping[int, int],
        baseline: Baseline | None = None,
    ) -> dict[str, Mapping[str, Any]] | None:
        """What unrelated texts score, as `Result.baseline`; None where it is not known.

        `counts` says how many pairs have how many references. By the baseline given, else by the
        package's.
        """
        try:
            baseline = self.baseline(settings, baseline)
            by_count = {
                count: self.baseline_stats(settings, statistics, baseline, count)
                for count in counts
            }
        except NoBaseline:
            return None
        mode = max(counts, key=lambda count: counts[count])
        return {
            name: {**asdict(stats), "deciles": list(stats.deciles), "source": baseline.source}
            for name, stats in by_count[mode].items()
        }

    def make_baseline(self, texts: Sequence[str], pairs: int, references: int) -> Baseline:
        """The baseline of a corpus, for every score and kind of weights that a file holds.

        Texts are compared with others of them, for each number of references up to `references`.
        """
        corpus = Pairs.of((text, [text]) for text in texts)
        stats = {}
        for settings in self.settings.baseline_settings():
            with self.lock:
                statistics = self.count(corpus, settings)
                weights = statistics.weights_used(settings)
                parts = baselines.unrelated_pairs(texts, pairs, references)
                for count, part in enumerate(parts, 1):
                    result = self.score_part(part, settings, statistics)
                    for name, scores in result.scores.items():
                        signature = self.signature(_single(settings, name))
                        key = baselines.key_of(signature, weights, count)
                        stats[key] = BaselineStats.of(scores)
        return Baseline(stats)


@functools.cache
def _limit_threads_of_forks() -> None:
    """Limit future forks to one thread; OpenMP waits forever for threads that a fork lacks."""
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=functools.partial(torch.set_num_threads, 1))


class _CheckedPairs:
    """Pairs that are checked at every reading."""

    def __init__(self, pairs: Iterable[Any]) -> None:
        self.pairs = pairs

    def __iter__(self) -> Iterator[Pair]:
        return iterate_pairs(self.pairs)


def combine_references(values: np.ndarray, counts: Sequence[int], rule: str) -> np.ndarray:
    """One score a pair from those of its references, [references] -> [pairs]; "min" or "mean".

    >>> combine_references(np.array([0.5, 0.25, 1.0]), [2, 1], "min")
    array([0.25, 1.  ])
    """
    starts = np.cumsum(counts, dtype=np.int64) - np.asarray(counts)
    closest: np.ndarray = np.minimum.reduceat(values, starts)
    if rule == "min":
        return closest
    # Held between the smallest and the largest, because rounding could carry it beyond.
    mean = np.add.reduceat(values / np.repeat(counts, counts), starts)
    return np.clip(mean, closest, np.maximum.reduceat(values, starts))


def _single(settings: Any, name: str) -> Any:
    """The settings for the score of this name alone."""
    return settings.replace(**{settings.names_field: name}) if settings.names_field else settings


def sign_baseline(signature: str, baseline: Baseline) -> str:
    """The signature with the baseline, before the model."""
    head, mark, tail = signature.partition("|model:")
    return f"{head}|baseline:{baseline}{mark}{tail}"
