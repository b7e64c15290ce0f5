"""What a scorer returns: scores, the signature that says how they were made, and warnings."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from infolm_metric.core.baselines import BaselineStats
from infolm_metric.core.signature import Signature

TOO_MANY = 0.1  # share of the tokens, or texts, beyond which scores say little
FEW_DOCUMENTS = 10  # distinct ones
CALLERS = ("infolm_metric", "evaluate", "torch", "torchmetrics")
"""Packages between a user's line and a warning."""
_TABLE = "a table of a larger corpus (IDF.from_corpus, infolm idf)"
WARNING_MESSAGES = {
    "too_long": "{count} of {texts} texts are longer than the model reads and were cut; "
    "long_text='window' reads texts whole",
    "too_long_pairs": "{count} pairs of texts exceed the maximum length of the model and were "
    "truncated, the longer text of a pair first; shorten them",
    "empty": "{count} of {texts} texts have no token of their own: they are scored by what the "
    "model makes of no text",
    "one_token": "{count} of {texts} texts have no more tokens than are masked at once: the model "
    "reads masks alone, so that 'yes' and 'no' score as copies",
    "zero_weight": "{count} of {texts} texts have an inverse document frequency of 0 for every "
    f"token: they are weighed uniformly; {_TABLE} tells their tokens apart",
    "unknown_tokens": "{share:.0%} of the tokens are unknown to the model, as another script or "
    "emoji are: it cannot tell them apart; use a model that knows them",
    "out_of_domain": "{count} of {texts} texts look like another language, program code or random "
    "letters: the model was trained on English prose, and their scores are not meaningful; use a "
    "model trained on such texts",
    "one_document": "one distinct text does not tell rare tokens from common ones: all are weighed "
    f"alike, as by idf=False; give idf {_TABLE} to tell them apart",
    "few_documents": "which tokens are rare is known from {count} distinct texts only; give idf "
    f"{_TABLE}, or idf=False to weigh all alike",
}
"""What there is to warn of, by kind."""
KINDS = tuple(kind for kind in WARNING_MESSAGES if kind != "one_document")
"""Counts of texts, tokens or documents that results name, beside "texts" and "tokens" in all."""


def nonzero_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """The counts that a result names: of the kinds that occurred.

    >>> nonzero_counts(Counter(texts=3, empty=1, few_documents=12))
    {'empty': 1}
    """
    occurrences = {kind: counts[kind] for kind in KINDS if counts.get(kind)}
    if occurrences.get("few_documents", 0) >= FEW_DOCUMENTS:
        del occurrences["few_documents"]
    return occurrences


def is_reliable(counts: Mapping[str, int]) -> bool:
    """True if the model could read nearly all of the texts, so that a verdict says something."""
    texts, tokens = (TOO_MANY * counts.get(kind, 0) for kind in ("texts", "tokens"))
    short_texts = counts.get("one_token", 0) + counts.get("empty", 0)
    out_of_domain = counts.get("out_of_domain", 0)
    return (
        short_texts <= texts
        and out_of_domain <= texts
        and counts.get("unknown_tokens", 0) <= tokens
    )


def warn(counts: Mapping[str, int], sentences: Mapping[str, str]) -> None:
    """Warn once for each kind that is worth it, at the user's line.

    `sentences` are a metric's own, by kind.
    """
    sentences = {**WARNING_MESSAGES, **sentences}
    for kind, count in nonzero_counts(counts).items():
        texts, total = counts["texts"], counts["tokens" if kind == "unknown_tokens" else "texts"]
        if kind in ("unknown_tokens", "out_of_domain") and count <= TOO_MANY * total:
            continue  # a few may be so by mistake
        kind = "one_document" if kind == "few_documents" and count == 1 else kind
        share = count / total if total else 0
        sentence = sentences[kind].format(count=count, texts=texts, share=share)
        warnings.warn(f"infolm: {sentence}", stacklevel=user_stacklevel())


def user_stacklevel() -> int:
    """Return the stacklevel with which the calling function warns at the user's line."""
    frame, level = sys._getframe(1), 1
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in CALLERS:
        frame, level = frame.f_back, level + 1
    return level


Extra = Mapping[str, Mapping[str, Mapping[str, list[float]]]]
"""Further numbers of each pair: key -> score name -> part -> [pairs]."""


@dataclass(frozen=True)
class ChunkScores:
    """Scores of the pairs of a chunk.

    Attributes:
        scores: by score name, [pairs] each.
        counts: of texts, tokens, and texts by kind of warning.
        extra: further numbers of each pair.
    """

    scores: dict[str, list[float]]
    counts: Mapping[str, int] = field(default_factory=Counter)
    extra: Extra = field(default_factory=dict)

    @classmethod
    def join(cls, parts: Sequence[ChunkScores]) -> ChunkScores:
        """Join consecutive chunks, at least one."""
        if len(parts) == 1:
            return parts[0]
        extra = {
            key: {name: _appended([part.extra[key][name] for part in parts]) for name in by_name}
            for key, by_name in parts[0].extra.items()
        }
        scores = _appended([part.scores for part in parts])
        return cls(scores, add_counts(part.counts for part in parts), extra)


@dataclass(frozen=True, eq=False, repr=False)
class Result(Mapping[str, Any]):
    """Scores of every pair, by the full name of each kind of score that was asked for.

    Reads like the dictionary that `compute` returns. `dict(result)` and `as_dict()` return that
    dictionary, for `json.dumps` and other functions that accept only a `dict`.

    Attributes:
        metric: its name, under which the mean stands.
        scores: those of every pair, by the kind of score.
        signature: all that can change them, with the versions.
        higher_is_better: the direction.
        counts: of texts, tokens, and those that are not scored quite as they were written.
        several: True if a list of kinds was asked for, even of one.
        rescaled: the scores with 1 for the best possible and 0 for unrelated texts, if asked for.
        baseline: statistics of unrelated texts by score name, for the number of references that
            most pairs have; None if no baseline fits.
        extra: more numbers of each pair, by their key in the dictionary and the kind of score.

    >>> scores = {"l1_distance": [0.5, 1.5]}
    >>> result = Result("infolm", scores, Signature({"idf": False}), higher_is_better=False)
    >>> result["infolm"], list(result)
    (1.0, ['infolm', 'scores', 'higher_is_better', 'signature', 'warnings'])
    >>> result
    <Result of 2 pairs: l1_distance 1 (lower is better), 'idf:no'>
    """

    metric: str
    scores: dict[str, list[float]]
    signature: Signature
    higher_is_better: bool
    counts: Mapping[str, int] = field(default_factory=Counter)
    several: bool = False
    rescaled: Mapping[str, list[float]] = field(default_factory=dict)
    baseline: Mapping[str, BaselineStats] | None = None
    extra: Extra = field(default_factory=dict)

    def __repr__(self) -> str:
        pairs = len(next(iter(self.scores.values())))
        means = ", ".join(f"{name} {self.mean(name):.6g}" for name in self.scores)
        better = "higher" if self.higher_is_better else "lower"
        noun = "pair" if pairs == 1 else "pairs"
        return f"<Result of {pairs} {noun}: {means} ({better} is better), {self.signature!r}>"

    def mean(self, name: str) -> float:
        """The corpus score: the mean of the pairs' scores.

        Args:
            name: of the kind of score.

        Returns:
            A number between the smallest and the largest score.
        """
        return mean(self.scores[name])

    def columns(self) -> dict[str, list[float]]:
        """Return all numbers of the pairs by column: scores, rescaled scores, extra numbers.

        >>> scores, rescaled = {"l1_distance": [0.5]}, {"l1_distance": [0.75]}
        >>> Result("infolm", scores, Signature({}), False, rescaled=rescaled).columns()
        {'l1_distance': [0.5], 'l1_distance_rescaled': [0.75]}
        """
        columns = {f"{name}_rescaled": column for name, column in self.rescaled.items()}
        for key, by_name in self.extra.items():
            for name, numbers in by_name.items():
                columns |= {f"{name}_{key}_{part}": column for part, column in numbers.items()}
        return {**self.scores, **columns}

    def as_dict(self, return_scores: bool = True, details: bool = True) -> dict[str, Any]:
        """Return the result as the dictionary that `compute` returns.

        Args:
            return_scores: whether to include the scores of the pairs.
            details: False returns only the means, for tools that average every value.

        Returns:
            Means, scores, direction, signature and warnings, by name.

        >>> scores = {"l1_distance": [0.5, 1.5]}
        >>> Result("infolm", scores, Signature({}), False).as_dict(details=False)
        {'infolm': 1.0}
        """
        # The only value if one kind was asked for by name.
        unwrap = dict if self.several else lambda by_name: next(iter(by_name.values()))
        means = {name: mean(column) for name, column in self.scores.items()}
        result = {self.metric: unwrap(means)}
        if self.rescaled:
            means = {name: mean(column) for name, column in self.rescaled.items()}
            result["rescaled"] = unwrap(means)
        if not details:
            return result
        if return_scores:
            result["scores"] = unwrap(self.scores)
            if self.rescaled:
                result["rescaled_scores"] = unwrap(self.rescaled)
            for key, numbers in self.extra.items():
                result[key] = unwrap(numbers)
        result["higher_is_better"] = self.higher_is_better
        result["signature"] = self.signature
        result["warnings"] = nonzero_counts(self.counts)
        if self.rescaled and self.baseline:
            result["baseline"] = unwrap(
                {
                    name: {**stats.numbers, "source": stats.source}
                    for name, stats in self.baseline.items()
                }
            )
        return result

    @cached_property
    def _dictionary(self) -> dict[str, Any]:
        return self.as_dict()

    def __getitem__(self, name: str) -> Any:
        return self._dictionary[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._dictionary)

    def __len__(self) -> int:
        return len(self._dictionary)

    def __or__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**self, **other}

    def __ror__(self, other: Mapping[str, Any]) -> dict[str, Any]:
        return {**other, **self}


@dataclass(frozen=True)
class Summary:
    """Means of a whole corpus, without the scores of its pairs.

    Attributes:
        pairs: number of pairs.
        means: by column of scores.
        signature: everything that can change the scores.
        counts: of texts, tokens, and texts by kind of warning.
        baseline: statistics of unrelated texts by score name, or None if no baseline fits.
        resumed: pairs that an earlier run of the job had scored.
    """

    pairs: int
    means: Mapping[str, float]
    signature: Signature
    counts: Mapping[str, int]
    baseline: Mapping[str, BaselineStats] | None = None
    resumed: int = 0


def join_results(parts: Sequence[Result]) -> Result:
    """The results of consecutive parts of a corpus as one.

    Raises ValueError if they were not scored alike.

    >>> counts = Counter(texts=2)
    >>> half = Result("infolm", {"l1_distance": [0.5]}, Signature({}), False, counts)
    >>> whole = join_results([half, half])
    >>> whole.scores, whole.counts["texts"]
    ({'l1_distance': [0.5, 0.5]}, 4)
    """
    first = parts[0]
    for part in parts:
        if difference := first.signature.differences(part.signature):
            raise ValueError(f"the parts were not scored alike: {difference}; score them again")
    whole = ChunkScores.join([ChunkScores(part.scores, part.counts, part.extra) for part in parts])
    rescaled = _appended([part.rescaled for part in parts])
    return replace(first, rescaled=rescaled, **vars(whole))


def add_counts(parts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """The counts of consecutive parts of a corpus together, on which idf rests as a whole.

    >>> add_counts([Counter(texts=3, empty=1), Counter(texts=5, few_documents=2)])
    Counter({'texts': 8, 'few_documents': 2, 'empty': 1})
    """
    total: Counter[str] = Counter()
    for counts in parts:
        documents = max(total["few_documents"], counts.get("few_documents", 0))
        total.update(counts)
        total["few_documents"] = documents
    return +total


def mean(values: Sequence[float]) -> float:
    """The mean, which rounding does not carry beyond the values."""
    average = sum(value / len(values) for value in values)
    return min(max(average, min(values)), max(values))


def _appended(parts: Sequence[Mapping[str, list[float]]]) -> dict[str, list[float]]:
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}
