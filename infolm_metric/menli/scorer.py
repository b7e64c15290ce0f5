"""MENLI scorer: formulas of NLI probabilities, optionally combined with another metric."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from infolm_metric import metrics
from infolm_metric.core.baselines import Baseline
from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.core.inputs import Pairs, check_texts
from infolm_metric.core.models import Checkpoint, ModelHolder, open_model
from infolm_metric.core.out_of_domain import count_out_of_domain
from infolm_metric.core.results import ChunkScores
from infolm_metric.core.scorer import Progress, Scorer, no_progress
from infolm_metric.core.tokenization import check_max_length, tokenize
from infolm_metric.menli.combination import CombinedMetric, scaled
from infolm_metric.menli.nli import ARCHITECTURE, NLIModel, join_pairs, load_nli
from infolm_metric.menli.recall import TokenRecall
from infolm_metric.menli.settings import (
    FORMULAS,
    NEEDS_SOURCES,
    RECALL,
    Labels,
    MENLISettings,
    read_labels,
)

PAIR_BYTES = 600  # memory per cached pair, including 24 bytes for its probabilities


class MENLIScorer(Scorer):
    """MENLI scorer, against references or sources; the model is loaded on first use and kept.

    `settings` is a `MENLISettings` object, or None for the defaults. Settings can also be passed as
    keyword arguments, which every method accepts for a single call. The class and its methods raise
    TypeError or ValueError if an argument is invalid (checked before loading the model), and
    OSError if the model cannot be found.

    >>> scorer = MENLIScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["Nobody sat down."], ["The cat sat down."], formula=["e", "e-c"])
    >>> list(result.scores), result.higher_is_better
    (['e', 'e-c'], True)
    """

    settings_type = MENLISettings
    higher_is_better = True
    warning_messages = {
        "empty": "{count} of {texts} texts have no tokens; a pair with exactly one such text gets "
        "the lower bound of the score; check for empty predictions and references",
        "too_long": "{count} of {texts} texts exceed the maximum length of the metric in "
        "combine_with and were truncated; to avoid this, pass settings with long_text='window' as "
        "combine_with",
    }

    def unload(self) -> None:
        """Free the models and the caches; the next call loads the models again."""
        with self.lock:  # not during another thread's call
            self.models = ModelHolder(partial(open_model, architecture=ARCHITECTURE), self.load)
            self.partners: dict[str, Scorer] = {}

    def load(self, checkpoint: Checkpoint, settings: MENLISettings) -> NLIModel:
        """Load the NLI model."""
        return load_nli(checkpoint, settings, self.labels(settings))

    @property
    def tokenizer(self) -> Any:
        """The NLI model's tokenizer."""
        with self.lock:
            return self.models.checkpoint(self.settings).tokenizer

    def select(self, candidates: Any, **changed: Any) -> str:
        """Select the candidate with the best mean score against the others (minimum Bayes risk).

        `candidates` is a list of strings, such as samples for one input; texts without tokens are
        skipped if others have tokens. `changed` overrides settings for this call, with one formula.
        """
        settings, texts = self.settings.replace(**changed), check_texts("candidates", candidates)
        with self.lock:
            tokens = self._tokens(texts, settings)
        return super().select([text for text in texts if len(tokens[text])] or texts, **changed)

    def count(
        self, texts: Mapping[str, Iterable[str]], settings: MENLISettings
    ) -> CorpusStatistics:
        """Collect corpus statistics for the other metric in a combination."""
        combined = self.combined(settings)
        return combined.count(texts) if combined else CorpusStatistics()

    def check(self, pairs: Pairs, settings: MENLISettings, statistics: CorpusStatistics) -> None:
        """Raise an error before loading weights if the pairs cannot be scored."""
        if settings.needs_sources and not pairs.against_sources:
            raise ValueError(NEEDS_SOURCES)
        formulas = [name for name in settings.names if name != "e"]
        if formulas and not self.labels(settings).three_way:
            raise ValueError(
                f"formula={formulas[0]!r} needs an NLI model with three labels, but "
                f"{settings.model_name_or_path!r} has two labels, entailment and not_entailment; "
                "use formula='e' or another model"
            )
        limit = self.limit(settings)
        if settings.long_text == "error":
            tokens = self._tokens(pairs.texts, settings)
            for candidate, reference, size in self._too_long(pairs, tokens, settings):
                raise ValueError(
                    f"two texts have {size} tokens together, more than max_length={limit!r}: "
                    f"{candidate[:60]!r}... and {reference[:60]!r}...; shorten them, or use "
                    "long_text='truncate'"
                )
        if combined := self.combined(settings):
            combined.check(pairs, statistics)

    def score_chunk(
        self,
        pairs: Pairs,
        settings: MENLISettings,
        statistics: CorpusStatistics,
        progress: Progress,
    ) -> ChunkScores:
        """Score pairs with all formulas, and return the probabilities if requested."""
        probabilities = self.probabilities(pairs, settings, progress)
        tokens = self._tokens(pairs.texts, settings)
        counts, combined = self._counts(pairs, tokens, settings), self.combined(settings)
        one_empty, both_empty = empty_texts(pairs, tokens)
        if combined:
            other_scores, other_counts = combined.score(pairs, statistics)
            counts |= other_counts  # maxima, because both metrics count the same texts
        starts = np.cumsum(pairs.counts, dtype=np.int64) - np.asarray(pairs.counts)
        columns: dict[str, list[float]] = {}
        probability_columns: dict[str, dict[str, list[float]]] = {}
        letters = "enc" if self.labels(settings).three_way else "e"
        for name in settings.names:
            low, high = min(FORMULAS[name]), max(FORMULAS[name])
            values = formula_values(name, probabilities)
            values = np.where(one_empty, low, np.where(both_empty, high, values))
            rule = settings.multi_reference
            scores, parts = best_references(values, probabilities, pairs.counts, rule)
            if combined:
                nli_scores = scaled(scores, (low, high))
                scores = settings.weight * nli_scores + (1 - settings.weight) * other_scores
                scores[np.logical_and.reduceat(one_empty, starts)] = 0.0
                scores[np.logical_and.reduceat(both_empty, starts)] = 1.0
            columns[name] = scores.tolist()
            probability_columns[name] = {
                letter: parts[:, index].tolist() for index, letter in enumerate(letters)
            }
        extra = {"probabilities": probability_columns} if settings.probabilities else {}
        return ChunkScores(columns, counts, extra)

    def bounds(self, settings: MENLISettings, name: str) -> tuple[float, float]:
        """Return the lower and upper bounds of a formula, or 0 and 1 for a combination."""
        ends = float(min(FORMULAS[name])), float(max(FORMULAS[name]))
        return ends if settings.combination is None else (0.0, 1.0)

    def model_fields(
        self, settings: MENLISettings, statistics: CorpusStatistics | None
    ) -> dict[str, object]:
        """Return the signature fields of both models."""
        checkpoint, combined = self.models.checkpoint(settings), self.combined(settings)
        fields = combined.signature_fields(statistics) if combined else {}
        return {
            **fields,
            "model": checkpoint.identity,
            "labels": self.labels(settings).order,
            "max_length": self.limit(settings),
            "long_text": settings.long_text,
            "dtype": settings.dtype,
        }

    def combined(self, settings: MENLISettings) -> CombinedMetric | TokenRecall | None:
        """Return the other metric in a combination, or None; its model is kept between calls."""
        if settings.combination == RECALL:
            return TokenRecall()
        other = settings.other
        if other is None:
            return None
        if other.metric not in self.partners:
            self.partners[other.metric] = metrics.find(other.metric).scorer_type()(other)
        baseline = settings.combine_baseline
        assert baseline is None or isinstance(baseline, Baseline)
        return CombinedMetric(self.partners[other.metric], other, baseline)

    # NLI.

    def labels(self, settings: MENLISettings) -> Labels:
        """Return the output indices of the labels."""
        checkpoint, names = self.models.checkpoint(settings), settings.labels
        assert not isinstance(names, str)
        return read_labels(checkpoint.name, checkpoint.config.id2label, names)

    def limit(self, settings: MENLISettings) -> int | None:
        """Return the maximum total number of tokens of two texts, including special tokens."""
        checkpoint, max_length = self.models.checkpoint(settings), settings.max_length
        limit, overhead = checkpoint.limit, self._overhead(settings)
        check_max_length(max_length, overhead, limit, texts=2)
        if max_length is not None:
            return max_length
        if limit is not None and limit < overhead + 2:
            raise ValueError(
                f"the maximum length of the model {checkpoint.name!r} is {limit} tokens, which is "
                "too short for two texts; choose another model, or correct model_max_length in its "
                "tokenizer's configuration"
            )
        return limit

    def probabilities(
        self, pairs: Pairs, settings: MENLISettings, progress: Progress = no_progress
    ) -> np.ndarray:
        """Return e, n and c for each reference and its candidate, float64 [references, 3].

        With direction="avg", they are means over both directions. Identical pairs are encoded once.
        """
        model = self.models.model(settings)
        self.models.cache.shrink(settings.reuse_memory * 24 // PAIR_BYTES)
        forward = [(text, candidate) for candidate, group in pairs for text in group]
        backward = [(candidate, text) for text, candidate in forward]
        all_pairs = {"rh": forward, "hr": backward, "avg": forward + backward}[
            settings.resolve("direction")
        ]
        distinct, labels = list(dict.fromkeys(all_pairs)), self.labels(settings)
        sequences = join_pairs(model.checkpoint.tokenizer, distinct, self.limit(settings))
        by_pair = dict(zip(distinct, sequences, strict=True))
        encodings: dict[Any, Any] = {
            pair: self.models.cache.get((pair, labels)) for pair in by_pair.values()
        }
        missing = [pair for pair, row in encodings.items() if row is None]
        rows = None if settings.batch_size == "auto" else int(settings.batch_size)
        probabilities = model.probabilities(
            missing, labels, rows, lambda count: progress(count / len(missing))
        )
        for pair, row in zip(missing, probabilities, strict=True):
            encodings[pair] = row
            self.models.cache.put((pair, labels), row)
        probabilities = torch.stack([encodings[by_pair[pair]] for pair in all_pairs])
        return np.mean(np.split(probabilities.numpy(), len(all_pairs) // len(forward)), axis=0)

    def _overhead(self, settings: MENLISettings) -> int:
        """Return the number of special tokens that the tokenizer adds to two texts."""
        return int(self.models.checkpoint(settings).tokenizer.num_special_tokens_to_add(pair=True))

    def _tokens(self, texts: Iterable[str], settings: MENLISettings) -> dict[str, np.ndarray]:
        """Return the tokens of each text, int64 [tokens], without special tokens or truncation."""
        distinct = list(dict.fromkeys(texts))
        tokenized = tokenize(self.models.checkpoint(settings).tokenizer, distinct, None, "window")
        return dict(zip(distinct, (text.tokens for text in tokenized), strict=True))

    def _too_long(
        self, pairs: Pairs, tokens: Mapping[str, np.ndarray], settings: MENLISettings
    ) -> Iterator[tuple[str, str, int]]:
        """Yield each candidate and reference that together exceed the limit, with their length."""
        limit, overhead = self.limit(settings), self._overhead(settings)
        for candidate, group in pairs:
            for reference in group:
                size = len(tokens[candidate]) + len(tokens[reference]) + overhead
                if limit is not None and size > limit:
                    yield candidate, reference, size

    def _counts(
        self, pairs: Pairs, tokens: Mapping[str, np.ndarray], settings: MENLISettings
    ) -> Counter[str]:
        """Count texts, tokens, and the texts or pairs that cause each warning."""
        texts, checkpoint = list(pairs.texts), self.models.checkpoint(settings)
        sizes = [len(tokens[text]) for text in texts]
        unknown = checkpoint.tokenizer.unk_token_id
        return Counter(
            texts=len(texts),
            tokens=sum(sizes),
            too_long_pairs=sum(1 for _ in self._too_long(pairs, tokens, settings)),
            empty=sizes.count(0),
            unknown_tokens=sum(int((tokens[text] == unknown).sum()) for text in texts),
            out_of_domain=count_out_of_domain((tokens[text] for text in texts), checkpoint.english),
        )


def formula_values(name: str, probabilities: np.ndarray) -> np.ndarray:
    """Return the values of a formula for probabilities of e, n and c, [pairs, 3] -> [pairs].

    >>> formula_values("e-c", np.array([[0.75, 0.125, 0.125]]))
    array([0.625])
    """
    e, n, c = probabilities.T
    e_weight, n_weight, c_weight = FORMULAS[name]
    return e_weight * e + n_weight * n + c_weight * c


def empty_texts(
    pairs: Pairs, tokens: Mapping[str, Sized]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return masks that select pairs with one and with two empty texts, [references] each.

    >>> empty_texts(Pairs(["", "", "a"], [["a"], [""], ["a"]]), {"": [], "a": [1]})
    (array([ True, False, False]), array([False,  True, False]))
    """
    lengths = [(len(tokens[text]), len(tokens[other])) for text, group in pairs for other in group]
    counts = (np.array(lengths) == 0).sum(1)
    return counts == 1, counts == 2


def best_references(
    values: np.ndarray, probabilities: np.ndarray, counts: Sequence[int], rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """Reduce the scores against each pair's references to one score, [references] -> [pairs].

    Also return the probabilities for the best reference, or the mean probabilities, [pairs, 3].
    """
    starts = np.cumsum(counts) - counts
    groups = [slice(start, start + count) for start, count in zip(starts, counts, strict=True)]
    if rule == "mean":
        means = [values[group].mean() for group in groups]
        return np.array(means), np.stack([probabilities[group].mean(0) for group in groups])
    best = [group.start + int(values[group].argmax()) for group in groups]
    return values[best], probabilities[best]
