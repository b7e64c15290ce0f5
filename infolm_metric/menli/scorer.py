"""Scores of MENLI: what follows from what, alone or combined with another metric."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from infolm_metric import metrics
from infolm_metric.core.baselines import Baseline, NoBaseline
from infolm_metric.core.idf import Statistics
from infolm_metric.core.inputs import Pair, Pairs, check_texts
from infolm_metric.core.models import Checkpoint
from infolm_metric.core.scorer import Progress, Scorer, sign_baseline
from infolm_metric.core.tokenization import tokenize
from infolm_metric.core.unread import count_unread
from infolm_metric.menli.combination import Range, scaled
from infolm_metric.menli.nli import ARCHITECTURE, NLIModel, join_pairs, load_nli
from infolm_metric.menli.settings import FORMULAS, Labels, MENLISettings, read_labels

UNNESTED = ("metric", "infolm", "transformers", "torch")
"""Fields of the other metric's signature that the combination's has itself."""
PAIR_BYTES = 600  # what a pair that is kept takes, of which 24 are its probabilities


class MENLIScorer(Scorer):
    """Scores candidates against references or sources; the model is loaded at the first use.

    Args:
        settings: `MENLISettings`, or None for the defaults.
        **changed: settings by name; every method takes them too, for one call.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong.

    >>> scorer = MENLIScorer(model_name_or_path="bundled")
    >>> result = scorer.score(["Nobody sat down."], ["The cat sat down."], formula=["e", "e-c"])
    >>> list(result.scores), result.higher_is_better
    (['e', 'e-c'], True)
    """

    settings_type = MENLISettings
    architecture = ARCHITECTURE
    higher_is_better = True
    sentences = {
        "empty": "{count} of {texts} texts have no tokens: a pair with exactly one such text gets "
        "the lower bound of the score; give each prediction and each reference a text",
        "too_long": "{count} of {texts} texts exceed the maximum length of the metric in "
        "combine_with and were truncated; give combine_with settings with long_text='window'",
    }

    def load(self, checkpoint: Checkpoint, settings: MENLISettings) -> NLIModel:
        """The model of natural language inference."""
        return load_nli(checkpoint, settings, self.labels(settings))

    def unload(self) -> None:
        """Free the models and what is kept; the next call loads them again."""
        with self.lock:
            super().unload()
            self._scorers: dict[str, Scorer] = {}

    def select(self, candidates: Any, **changed: Any) -> str:
        """Return the candidate that the others agree with most; texts without tokens come last.

        Args:
            candidates: a list of strings, such as samples for one input.
            **changed: settings for this call; one formula.

        Returns:
            One of the candidates, without tokens only if no candidate has tokens.

        Raises:
            TypeError, ValueError: an argument is wrong; no model was loaded.
            OSError: the model cannot be found.
        """
        settings, texts = self.settings.replace(**changed), check_texts("candidates", candidates)
        with self.lock:
            tokens = self._tokens(texts, settings)
        return super().select([text for text in texts if len(tokens[text])] or texts, **changed)

    def count(self, pairs: Iterable[Pair], settings: MENLISettings) -> Statistics:
        """What the metric that is combined has to know of the whole corpus."""
        other = settings.other
        return Statistics() if other is None else self._scorer(other).count(pairs, other)

    def check(self, pairs: Pairs, settings: MENLISettings, statistics: Statistics) -> None:
        """Raise what would keep pairs from being scored, before time goes into the models."""
        formulas = [name for name in settings.names if name != "e"]
        if formulas and not self.labels(settings).three_way:
            raise ValueError(
                f"formula={formulas[0]!r} needs a model that tells neutral texts from "
                f"contradictions; {settings.model_name_or_path!r} has two labels, entailment and "
                "not; use formula='e', or a model of three"
            )
        limit = self.limit(settings)
        if settings.long_text == "error":
            tokens = self._tokens(pairs.texts, settings)
            for candidate, reference, size in self._too_long(pairs, tokens, settings):
                raise ValueError(
                    f"two texts have {size} tokens together, more than max_length={limit!r}: "
                    f"{candidate[:60]!r}... and {reference[:60]!r}...; shorten them, or give "
                    "long_text='truncate'"
                )
        if (other := settings.other) is not None:
            self._range(settings, statistics)
            self._scorer(other).check(pairs, other, statistics)

    def score_chunk(
        self, pairs: Pairs, settings: MENLISettings, statistics: Statistics, progress: Progress
    ) -> tuple[dict[str, Sequence[float]], Counter[str]]:
        """The scores of some pairs by name with their probabilities, and counts to warn of."""
        probabilities = self.probabilities(pairs, settings, progress)
        tokens = self._tokens(pairs.texts, settings)
        counts, other = self._counts(pairs, tokens, settings), settings.other
        one_empty, both_empty = empty_texts(pairs, tokens)
        if other is not None:
            result = self._scorer(other).score_part(pairs, other, statistics)
            ends, higher = self._range(settings, statistics), result.higher_is_better
            # Beyond its baseline a text is no worse than unrelated.
            other_scores = np.asarray(result.scores[other.names[0]])
            other_scores = scaled(other_scores, ends, higher).clip(0.0, 1.0)
            counts |= result.counts  # both count texts; pairs have a key of their own
        starts = np.cumsum(pairs.counts, dtype=np.int64) - np.asarray(pairs.counts)
        columns: dict[str, Sequence[float]] = {}
        for name in settings.names:
            low, high = min(FORMULAS[name]), max(FORMULAS[name])
            values = formula_values(name, probabilities)
            values = np.where(one_empty, low, np.where(both_empty, high, values))
            rule = settings.multi_reference
            scores, parts = best_references(values, probabilities, pairs.counts, rule)
            if other is not None:
                nli_scores = scaled(scores, (low, high))
                scores = settings.weight * nli_scores + (1 - settings.weight) * other_scores
                scores[np.logical_and.reduceat(one_empty, starts)] = 0.0
                scores[np.logical_and.reduceat(both_empty, starts)] = 1.0
            columns[name] = scores.tolist()
            columns |= {f"{name} {letter}": parts[:, i].tolist() for i, letter in enumerate("enc")}
        return columns, counts

    def extra(self, columns: Mapping[str, list[float]], settings: MENLISettings) -> dict[str, Any]:
        """The probabilities behind each score, if they were asked for."""
        if not settings.probabilities:
            return {}
        letters = "enc" if self.labels(settings).three_way else "e"
        return {
            "probabilities": {
                name: {letter: columns[f"{name} {letter}"] for letter in letters}
                for name in settings.names
            }
        }

    def bounds(self, settings: MENLISettings, name: str) -> tuple[float, float]:
        """The range of the formula; of a combination 0 and 1."""
        ends = float(min(FORMULAS[name])), float(max(FORMULAS[name]))
        return ends if settings.combine_with is None else (0.0, 1.0)

    def signed_model(
        self, settings: MENLISettings, statistics: Statistics | None
    ) -> dict[str, object]:
        """The models and how they read texts, as the signature shows them."""
        checkpoint, fields = self.checkpoint(settings), dict[str, object]()
        if (other := settings.other) is not None:
            signature = self._scorer(other).signature(other, statistics)
            if scale := self._baseline(settings, statistics or Statistics()):
                signature = sign_baseline(signature, scale[0])
            parts = (part.partition(":") for part in signature.split("|"))
            fields = {
                f"{other.metric}.{name}": value for name, _, value in parts if name not in UNNESTED
            }
        return {
            **fields,
            "model": checkpoint.identity,
            "labels": self.labels(settings).order,
            "max_length": self.limit(settings),
            "long_text": settings.long_text,
            "dtype": settings.dtype,
        }

    # The NLI model's part.

    def labels(self, settings: MENLISettings) -> Labels:
        """What the outputs of the model stand for."""
        checkpoint, names = self.checkpoint(settings), settings.labels
        assert not isinstance(names, str)
        return read_labels(checkpoint.name, checkpoint.config.id2label, names)

    def limit(self, settings: MENLISettings) -> int | None:
        """Tokens that two texts may have together, special ones included."""
        checkpoint, max_length = self.checkpoint(settings), settings.max_length
        limit, overhead = checkpoint.limit, self._overhead(settings)
        if max_length is None and limit is not None and limit < overhead + 2:
            raise ValueError(
                f"{checkpoint.name!r} reads {limit} tokens at most, which is no room for two "
                "texts; choose another model, or set the model_max_length of its tokenizer right"
            )
        if max_length is not None and max_length < overhead + 2:
            raise ValueError(
                f"max_length must be at least {overhead + 2}, because the tokenizer adds "
                f"{overhead} special tokens to two texts, got {max_length}"
            )
        if max_length is not None and limit is not None and max_length > limit:
            raise ValueError(
                f"max_length must be at most {limit}, what {checkpoint.name!r} can read, got "
                f"{max_length}"
            )
        return limit if max_length is None else max_length

    def probabilities(
        self, pairs: Pairs, settings: MENLISettings, progress: Progress = lambda share: None
    ) -> np.ndarray:
        """e, n and c of each candidate with each reference, float64 [references, 3].

        In the direction that was asked for; equal pairs are read once.
        """
        model = self.model(settings)
        self.cache.shrink(settings.reuse_memory * 24 // PAIR_BYTES)
        forward = [(text, candidate) for candidate, group in pairs for text in group]
        backward = [(candidate, text) for text, candidate in forward]
        all_pairs = {"rh": forward, "hr": backward, "avg": forward + backward}[settings.direction]
        distinct, labels = list(dict.fromkeys(all_pairs)), self.labels(settings)
        sequences = join_pairs(model.checkpoint.tokenizer, distinct, self.limit(settings))
        by_pair = dict(zip(distinct, sequences, strict=True))
        readings: dict[Any, Any] = {
            pair: self.cache.get((pair, labels)) for pair in by_pair.values()
        }
        missing = [pair for pair, row in readings.items() if row is None]
        rows = None if settings.batch_size == "auto" else int(settings.batch_size)
        probabilities = model.probabilities(
            missing, labels, rows, lambda count: progress(count / len(missing))
        )
        for pair, row in zip(missing, probabilities, strict=True):
            readings[pair] = row
            self.cache.put((pair, labels), row)
        probabilities = torch.stack([readings[by_pair[pair]] for pair in all_pairs])
        return np.mean(np.split(probabilities.numpy(), len(all_pairs) // len(forward)), axis=0)

    def _overhead(self, settings: MENLISettings) -> int:
        """Number of special tokens around two texts."""
        return int(self.checkpoint(settings).tokenizer.num_special_tokens_to_add(pair=True))

    def _tokens(self, texts: Iterable[str], settings: MENLISettings) -> dict[str, np.ndarray]:
        """The tokens of each text, int64 [tokens] without special ones, before any cut."""
        distinct = list(dict.fromkeys(texts))
        tokenized = tokenize(self.checkpoint(settings).tokenizer, distinct, None, "window")
        return dict(zip(distinct, (text.tokens for text in tokenized), strict=True))

    def _too_long(
        self, pairs: Pairs, tokens: Mapping[str, np.ndarray], settings: MENLISettings
    ) -> Iterator[tuple[str, str, int]]:
        """The candidates and references that are too long together, with their tokens in all."""
        limit, overhead = self.limit(settings), self._overhead(settings)
        for candidate, group in pairs:
            for reference in group:
                size = len(tokens[candidate]) + len(tokens[reference]) + overhead
                if limit is not None and size > limit:
                    yield candidate, reference, size

    def _counts(
        self, pairs: Pairs, tokens: Mapping[str, np.ndarray], settings: MENLISettings
    ) -> Counter[str]:
        """Count the texts and the pairs that are not scored quite as they were written."""
        texts, checkpoint = list(pairs.texts), self.checkpoint(settings)
        sizes = [len(tokens[text]) for text in texts]
        unknown = checkpoint.tokenizer.unk_token_id
        return Counter(
            texts=len(texts),
            tokens=sum(sizes),
            too_long_pairs=sum(1 for _ in self._too_long(pairs, tokens, settings)),
            empty=sizes.count(0),
            unknown_tokens=sum(int((tokens[text] == unknown).sum()) for text in texts),
            unread=count_unread((tokens[text] for text in texts), checkpoint.english),
        )

    # The other metric's part.

    def _scorer(self, settings: Any) -> Scorer:
        """The scorer of the metric that has these settings, kept between calls."""
        if settings.metric not in self._scorers:
            self._scorers[settings.metric] = metrics.find(settings.metric).scorer_type()(settings)
        return self._scorers[settings.metric]

    def _baseline(
        self, settings: MENLISettings, statistics: Statistics
    ) -> tuple[Baseline, Range] | None:
        """The baseline that scales the other metric, with its range; None where its bounds do.

        The range is from the metric's best score to what the baseline says of one reference.
        """
        other, baseline = settings.other, settings.combine_baseline
        assert baseline is None or isinstance(baseline, Baseline)
        scorer = self._scorer(other)
        try:
            (stats,) = scorer.baseline_stats(other, statistics, baseline).values()
        except NoBaseline:
            if baseline is not None:
                raise
            return None
        best = scorer.bounds(other, other.names[0])[int(scorer.higher_is_better)]
        if not math.isfinite(best) or stats.mean == best:
            return None
        return scorer.baseline(other, baseline), (min(best, stats.mean), max(best, stats.mean))

    def _range(self, settings: MENLISettings, statistics: Statistics) -> Range:
        """The scores of the other metric that stand for 0 and 1, which no call changes.

        Those of its baseline, from the file given or the package, or else its bounds. Raises
        NoBaseline if it has neither.
        """
        if scale := self._baseline(settings, statistics):
            return scale[1]
        other, (name,) = settings.other, settings.other.names
        bounds = self._scorer(other).bounds(other, name)
        if not all(map(math.isfinite, bounds)):
            raise NoBaseline(
                "combine_with needs a metric with a smallest and a largest score, or a baseline of "
                f"it; {other.label(name)} has neither: give combine_baseline a file that `infolm "
                f"baseline CORPUS --metric {other.metric} -o FILE` made"
            )
        return bounds


def formula_values(name: str, probabilities: np.ndarray) -> np.ndarray:
    """The scores of probabilities of e, n and c, [pairs, 3] -> [pairs].

    >>> formula_values("e-c", np.array([[0.75, 0.125, 0.125]]))
    array([0.625])
    """
    e, n, c = probabilities.T
    e_weight, n_weight, c_weight = FORMULAS[name]
    return e_weight * e + n_weight * n + c_weight * c


def empty_texts(
    pairs: Pairs, tokens: Mapping[str, Sized]
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return where exactly one text, and where both texts, have no tokens, [references] each.

    >>> empty_texts(Pairs(["", "a"], [["a", ""], ["a"]]), {"": [], "a": [1]})
    (array([ True, False, False]), array([False,  True, False]))
    """
    lengths = [(len(tokens[text]), len(tokens[other])) for text, group in pairs for other in group]
    counts = (np.array(lengths) == 0).sum(1)
    return counts == 1, counts == 2


def best_references(
    values: np.ndarray, probabilities: np.ndarray, counts: Sequence[int], rule: str
) -> tuple[np.ndarray, np.ndarray]:
    """The score of each pair from those against its references, [references] -> [pairs].

    And the probabilities behind it, [pairs, 3]: those of the best reference, or their means.
    """
    starts = np.cumsum(counts) - counts
    groups = [slice(start, start + count) for start, count in zip(starts, counts, strict=True)]
    if rule == "mean":
        means = [values[group].mean() for group in groups]
        return np.array(means), np.stack([probabilities[group].mean(0) for group in groups])
    best = [group.start + int(values[group].argmax()) for group in groups]
    return values[best], probabilities[best]
