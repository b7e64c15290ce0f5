"""Scores of MENLI: what follows from what, alone or combined with another metric."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infolm_metric import metrics
from infolm_metric.core.baselines import Baseline, NoBaseline
from infolm_metric.core.idf import Statistics
from infolm_metric.core.inputs import Pair, Pairs
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
        "empty": "{count} of {texts} texts have no token: they are read as they are, and what "
        "follows from nothing says little",
        "too_long": "{count} pairs of texts are longer than the models read and were cut, the "
        "longer text of a pair first",
    }

    def load(self, checkpoint: Checkpoint, settings: MENLISettings) -> NLIModel:
        """The model of natural language inference."""
        return load_nli(checkpoint, settings, self.labels(settings))

    def unload(self) -> None:
        """Free the models and what is kept; the next call loads them again."""
        with self.lock:
            super().unload()
            self._others: dict[str, Scorer] = {}

    def count(self, pairs: Iterable[Pair], settings: MENLISettings) -> Statistics:
        """What the metric that is combined has to know of the whole corpus."""
        other = settings.other
        return Statistics() if other is None else self._other(other).count(pairs, other)

    def check(self, pairs: Pairs, settings: MENLISettings, statistics: Statistics) -> None:
        """Raise what would keep pairs from being scored, before time goes into the models."""
        wrong = [name for name in settings.names if name != "e"]
        if wrong and not self.labels(settings).three_way:
            raise ValueError(
                f"formula={wrong[0]!r} needs a model that tells neutral texts from "
                f"contradictions; {settings.model_name_or_path!r} has two labels, entailment and "
                "not; use formula='e', or a model of three"
            )
        limit = self.limit(settings)
        if settings.long_text == "error":
            tokens = self._tokens(list(pairs.texts), settings)
            for candidate, group in pairs:
                for reference in group:
                    if size := self._surplus(tokens, reference, candidate, settings):
                        raise ValueError(
                            f"two texts have {size} tokens together, more than "
                            f"max_length={limit!r}: {candidate[:60]!r}... and "
                            f"{reference[:60]!r}...; shorten them, or give long_text='truncate'"
                        )
        if (other := settings.other) is not None:
            self._range(settings, statistics)
            self._other(other).check(pairs, other, statistics)

    def score_chunk(
        self, pairs: Pairs, settings: MENLISettings, statistics: Statistics, progress: Progress
    ) -> tuple[dict[str, Sequence[float]], Counter[str]]:
        """The scores of some pairs by name with their probabilities, and counts to warn of."""
        probabilities = self.probabilities(pairs, settings, progress)
        counts, other = self._counts(pairs, settings), settings.other
        if other is not None:
            result = self._other(other).score_part(pairs, other, statistics)
            ends, higher = self._range(settings, statistics), result.higher_is_better
            # Beyond its baseline a text is no worse than unrelated.
            rest = scaled(np.asarray(result.scores[other.names[0]]), ends, higher).clip(0.0, 1.0)
            counts |= result.counts
        columns: dict[str, Sequence[float]] = {}
        for name in settings.names:
            values = formula_values(name, probabilities)
            best, shown = best_references(
                values, probabilities, pairs.counts, settings.multi_reference
            )
            if other is not None:
                nli = scaled(best, (min(FORMULAS[name]), max(FORMULAS[name])))
                best = settings.weight * nli + (1 - settings.weight) * rest
            columns[name] = best.tolist()
            columns |= {f"{name} {letter}": shown[:, i].tolist() for i, letter in enumerate("enc")}
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
        alone = float(min(FORMULAS[name])), float(max(FORMULAS[name]))
        return alone if settings.combine_with is None else (0.0, 1.0)

    def signed_model(
        self, settings: MENLISettings, statistics: Statistics | None
    ) -> dict[str, object]:
        """The models and how they read texts, as the signature shows them."""
        checkpoint, nested = self.checkpoint(settings), dict[str, object]()
        if (other := settings.other) is not None:
            known = statistics or Statistics()
            signature = self._other(other).signature(other, statistics)
            if baseline := self._baseline(settings, known):
                signature = sign_baseline(signature, baseline)
            parts = (part.partition(":") for part in signature.split("|"))
            nested = {
                f"{other.metric}.{name}": value for name, _, value in parts if name not in UNNESTED
            }
        return {
            **nested,
            "model": checkpoint.identity,
            "labels": self.labels(settings).order,
            "max_length": self.limit(settings),
            "long_text": settings.long_text,
            "dtype": settings.dtype,
        }

    # The NLI model's part.

    def labels(self, settings: MENLISettings) -> Labels:
        """What the outputs of the model stand for."""
        checkpoint, given = self.checkpoint(settings), settings.labels
        assert not isinstance(given, str)
        return read_labels(checkpoint.name, checkpoint.config.id2label, given)

    def limit(self, settings: MENLISettings) -> int | None:
        """Tokens that two texts may have together, special ones included."""
        checkpoint, given = self.checkpoint(settings), settings.max_length
        limit, overhead = checkpoint.limit, self._overhead(settings)
        if given is None and limit is not None and limit < overhead + 2:
            raise ValueError(
                f"{checkpoint.name!r} reads {limit} tokens at most, which is no room for two "
                "texts; choose another model, or set the model_max_length of its tokenizer right"
            )
        if given is not None and given < overhead + 2:
            raise ValueError(
                f"max_length must be at least {overhead + 2}, because the tokenizer adds "
                f"{overhead} special tokens to two texts, got {given}"
            )
        if given is not None and limit is not None and given > limit:
            raise ValueError(
                f"max_length must be at most {limit}, what {checkpoint.name!r} can read, got "
                f"{given}"
            )
        return limit if given is None else given

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
        sides = {"rh": forward, "hr": backward, "avg": forward + backward}[settings.direction]
        distinct = list(dict.fromkeys(sides))
        joined = dict(
            zip(
                distinct,
                join_pairs(model.checkpoint.tokenizer, distinct, self.limit(settings)),
                strict=True,
            )
        )
        labels = self.labels(settings)
        found: dict[Any, Tensor | None] = {}
        for pair in joined.values():
            found[pair] = self.cache.get((pair, labels))
        missing = [pair for pair, row in found.items() if row is None]
        rows = None if settings.batch_size == "auto" else int(settings.batch_size)
        read = model.probabilities(
            missing, labels, rows, lambda done: progress(done / len(missing))
        )
        for pair, row in zip(missing, read, strict=True):
            found[pair] = row
            self.cache.put((pair, labels), row)
        stacked = torch.stack([found[joined[each]] for each in sides]).numpy()  # type: ignore[misc]
        directions = np.split(stacked, len(sides) // len(forward))
        mean: np.ndarray = np.mean(directions, axis=0)
        return mean

    def _overhead(self, settings: MENLISettings) -> int:
        """Number of special tokens around two texts."""
        return int(self.checkpoint(settings).tokenizer.num_special_tokens_to_add(pair=True))

    def _tokens(self, texts: Sequence[str], settings: MENLISettings) -> dict[str, np.ndarray]:
        """The tokens of each text, int64 [tokens] without special ones, before any cut."""
        distinct = list(dict.fromkeys(texts))
        read = tokenize(self.checkpoint(settings).tokenizer, distinct, None, "window")
        return {text: each.tokens for text, each in zip(distinct, read, strict=True)}

    def _surplus(
        self, tokens: Mapping[str, np.ndarray], one: str, other: str, settings: MENLISettings
    ) -> int:
        """The tokens of two texts with special ones if they are too many, else 0."""
        limit = self.limit(settings)
        size = len(tokens[one]) + len(tokens[other]) + self._overhead(settings)
        return size if limit is not None and size > limit else 0

    def _counts(self, pairs: Pairs, settings: MENLISettings) -> Counter[str]:
        """The counts of texts that are not scored quite as they were written."""
        texts, checkpoint = list(pairs.texts), self.checkpoint(settings)
        tokens = self._tokens(texts, settings)
        sizes = [len(tokens[text]) for text in texts]
        unknown = checkpoint.tokenizer.unk_token_id
        return Counter(
            texts=len(texts),
            tokens=sum(sizes),
            too_long=sum(
                self._surplus(tokens, candidate, text, settings) > 0
                for candidate, group in pairs
                for text in group
            ),
            empty=sizes.count(0),
            unknown_tokens=sum(int((tokens[text] == unknown).sum()) for text in texts),
            unread=count_unread((tokens[text] for text in texts), checkpoint.english),
        )

    # The other metric's part.

    def _other(self, other: Any) -> Scorer:
        """The scorer of the metric that has these settings, kept between calls."""
        if other.metric not in self._others:
            self._others[other.metric] = metrics.find(other.metric).scorer_type()(other)
        return self._others[other.metric]

    def _baseline(self, settings: MENLISettings, statistics: Statistics) -> Baseline | None:
        """The baseline that scales the other metric; None where its bounds do."""
        other, given = settings.other, settings.combine_baseline
        assert given is None or isinstance(given, Baseline)
        scorer = self._other(other)
        try:
            (stats,) = scorer.baseline_stats(other, statistics, given).values()
        except NoBaseline:
            if given is not None:
                raise
            return None
        best = scorer.bounds(other, other.names[0])[int(scorer.higher_is_better)]
        usable = math.isfinite(best) and stats.mean != best
        return scorer.baseline(other, given) if usable else None

    def _range(self, settings: MENLISettings, statistics: Statistics) -> Range:
        """The scores of the other metric that stand for 0 and 1, which no call changes.

        From its best score to its baseline for one reference, that of the file given or of the
        package, or else its bounds. Raises NoBaseline if it has neither.
        """
        other = settings.other
        scorer, (name,) = self._other(other), other.names
        bounds = scorer.bounds(other, name)
        if baseline := self._baseline(settings, statistics):
            best = bounds[int(scorer.higher_is_better)]
            mean = scorer.baseline_stats(other, statistics, baseline)[name].mean
            return min(best, mean), max(best, mean)
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
    one, two, three = FORMULAS[name]
    values: np.ndarray = one * e + two * n + three * c
    return values


def best_references(
    values: np.ndarray, probabilities: np.ndarray, counts: Sequence[int], how: str
) -> tuple[np.ndarray, np.ndarray]:
    """The score of each pair from those against its references, [references] -> [pairs].

    And the probabilities behind it, [pairs, 3]: those of the best reference, or their means.
    """
    starts = np.cumsum(counts) - counts
    groups = [slice(start, start + count) for start, count in zip(starts, counts, strict=True)]
    if how == "mean":
        means = [values[group].mean() for group in groups]
        return np.array(means), np.stack([probabilities[group].mean(0) for group in groups])
    best = [group.start + int(values[group].argmax()) for group in groups]
    return values[best], probabilities[best]
