"""Results of a scorer: scores, signature and warnings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from infolm_metric.core.baselines import BaselineStats
from infolm_metric.core.checks import InputError, warn_user
from infolm_metric.core.signature import Signature

TOO_MANY = 0.1  # fraction of tokens or texts above which scores are not meaningful
FEW_DOCUMENTS = 10  # fewer distinct documents cause a warning
FEW_TEXTS = 10  # with fewer, tests miss most differences between systems, so there is no verdict
# Counts that can prevent the verdict on a system. Counts of empty, very short and unknown texts
# cannot, because these are the system's fault.
SYSTEM_COUNTS = ("texts", "pairs", "out_of_domain", "few_weighted", "indistinguishable")
_TABLE = "idf=FILE with a table from a larger corpus (infolm idf, or IDF.from_corpus in Python)"
# Messages by kind of warning.
WARNING_MESSAGES = {
    "too_long": "{count} of {texts} texts exceed the maximum length and were truncated. Set "
    "long_text='window' to score them in full (in a combination, only in Python).",
    "too_long_pairs": "pairs of texts exceed the maximum length and were truncated, starting with "
    "the longer text ({count} in total). Shorten the texts.",
    "no_baseline": "there is no baseline for the metric in combine_with, so its scores are scaled "
    "by their bounds, and nli_weight has a larger effect than usual. Create a baseline with the "
    "same settings (`infolm baseline CORPUS --metric NAME -o FILE`) and set combine_baseline=FILE.",
    "empty": "{count} of {texts} texts are empty (no tokens except special tokens), so their "
    "similarity to other texts is not meaningful. Check the input.",
    "blank_references": "blank references were left out if their candidate has other references "
    "({count} in total). Check the input if they are not padding.",
    "one_token": "{count} of {texts} texts have only one weighted token, which is masked, so texts "
    "such as 'yes' and 'no' score equally. Set interpolation=0.1 or, for longer texts, idf=False "
    "(for a combination, in a settings object in Python).",
    "indistinguishable": "{count} of {pairs} pairs of different texts have the best score. Set "
    "idf=False or idf='bundled', for InfoLM interpolation=0.1, or for BERTScore a higher layer.",
    "zero_weight": "{count} of {texts} texts contain only tokens with an IDF of 0 and were "
    f"weighted uniformly. Set {_TABLE}.",
    "few_weighted": "in {count} of {texts} texts, fewer than half of the tokens have a noticeable "
    "IDF weight, as in texts from a template, so baselines of prose do not apply. Set idf=False "
    "or idf='bundled', or score with a baseline from your own texts (`infolm baseline`).",
    "unknown_tokens": "{fraction:.0%} of the tokens are unknown to the model, such as emoji or "
    "another script, and cannot be distinguished. Use a model with a suitable vocabulary.",
    "out_of_domain": "{count} of {texts} texts look like another language, program code or random "
    "letters, so their scores are not meaningful. Use a model trained on such texts.",
    "thinking": "{count} of {texts} texts contain reasoning such as <think>...</think>, which is "
    "scored as part of the text. Remove it, or use answer_check, which removes it.",
    "one_document": "IDF needs at least two distinct documents, so all weights are equal (as with "
    f"idf=False). For other weights, set {_TABLE}.",
    "few_documents": "IDF weights are unreliable because the corpus has only {count} distinct "
    f"documents. Set {_TABLE}, or idf=False for equal weights.",
}
# Warnings that a result counts. It also counts all "pairs", "texts" and "tokens", and the pairs
# with "identical" token ids.
WARNING_KINDS = tuple(x for x in WARNING_MESSAGES if x not in ("one_document", "no_baseline"))
# Kinds with false alarms, which are reported only above TOO_MANY.
UNCERTAIN = ("unknown_tokens", "out_of_domain", "few_weighted")


def nonzero_counts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of the warnings that occurred.

    >>> nonzero_counts(Counter(texts=3, empty=1, few_documents=12))
    {'empty': 1}
    """
    occurrences = {kind: counts[kind] for kind in WARNING_KINDS if counts.get(kind)}
    if occurrences.get("few_documents", 0) >= FEW_DOCUMENTS:
        del occurrences["few_documents"]
    return occurrences


def verdict_obstacles(counts: Mapping[str, int]) -> list[str]:
    """Return the reasons against a verdict: unsuitable pairs, texts or tokens above 10%.

    >>> verdict_obstacles({"texts": 20, "empty": 3, "pairs": 10, "indistinguishable": 1})
    ['empty or fully masked texts']
    """
    counts = Counter(counts)  # missing counts are 0
    fractions = {
        "empty or fully masked texts": (counts["one_token"] + counts["empty"], counts["texts"]),
        "different texts with the best score": (counts["indistinguishable"], counts["pairs"]),
        "texts with few weighted tokens": (counts["few_weighted"], counts["texts"]),
        "out-of-domain texts": (counts["out_of_domain"], counts["texts"]),
        "unknown tokens": (counts["unknown_tokens"], counts["tokens"]),
    }
    return [reason for reason, (count, total) in fractions.items() if count > TOO_MANY * total]


def comparison_obstacles(counts: Mapping[str, int]) -> list[str]:
    """Return the reasons against a verdict on systems, apart from faults of their texts.

    >>> comparison_obstacles({"texts": 20, "empty": 3, "pairs": 10, "out_of_domain": 4})
    ['out-of-domain texts']
    """
    return verdict_obstacles({name: counts.get(name, 0) for name in SYSTEM_COUNTS})


def warn(counts: Mapping[str, int]) -> None:
    """Issue one warning per kind at the user's line, for kinds in UNCERTAIN only above TOO_MANY."""
    totals = {name: counts.get(name, 0) for name in ("pairs", "texts", "tokens")}
    occurrences = nonzero_counts(counts)
    if counts.get("no_baseline"):
        occurrences["no_baseline"] = counts["no_baseline"]
    for kind, count in occurrences.items():
        total = totals["tokens" if kind == "unknown_tokens" else "texts"]
        if kind in UNCERTAIN and count <= TOO_MANY * total:
            continue
        kind = "one_document" if kind == "few_documents" and count == 1 else kind
        fraction = count / total if total else 0
        warn_user(WARNING_MESSAGES[kind].format(count=count, fraction=fraction, **totals))


@dataclass(frozen=True)
class ChunkScores:
    """Scores of a chunk of pairs."""

    scores: dict[str, list[float]]  # by score name, [pairs] each
    counts: Mapping[str, int] = field(default_factory=Counter)  # texts, tokens, and per warning
    verdicts: Sequence[str | None] = ()  # of answer_check, [pairs]
    reasons: Sequence[str] = ()  # why a verdict is withheld, or "", [pairs]

    @classmethod
    def join(cls, parts: Sequence[ChunkScores] | Sequence[Result]) -> ChunkScores:
        """Concatenate the scores of one or more consecutive chunks or results."""
        scores = _appended([part.scores for part in parts])
        verdicts = [verdict for part in parts for verdict in part.verdicts]
        reasons = [reason for part in parts for reason in part.reasons]
        return cls(scores, add_counts(part.counts for part in parts), verdicts, reasons)


@dataclass(frozen=True, eq=False, repr=False)
class Result(Mapping[str, Any]):
    """Scores of all pairs.

    A result is a mapping with the keys of the dictionary that `compute` returns. Use
    `dict(result)` or `as_dict()` for functions that accept only a `dict`, such as `json.dumps`.

    Attributes:
        metric: name of the metric, which is also the key of the mean.
        scores: scores by full name, [pairs] each.
        signature: everything that can change the scores, including versions.
        higher_is_better: True if higher scores are better.
        counts: numbers of pairs, texts and tokens, of pairs with identical tokens, and of texts,
            pairs, tokens or references per warning. few_documents is the number of distinct
            documents counted for IDF, at most 10.
        several: True if a list of score names was requested, even a list of one name.
        rescaled: scores rescaled so that 1 is the best possible score and 0 the mean score of
            unrelated texts. Empty without a baseline.
        baseline: statistics of the scores of unrelated texts, by score name, for the most common
            number of references. None without `rescale_with_baseline`.
        verdicts: verdicts on the answers, [pairs], of answer_check. None for withheld verdicts.
            Otherwise empty.
        reasons: reasons for withheld verdicts, "" for other answers, [pairs], of answer_check.

    >>> scores = {"l1_distance": [0.5, 1.5]}
    >>> result = Result("infolm", scores, Signature({"idf": False}), higher_is_better=False)
    >>> result["infolm"], list(result)
    (1.0, ['infolm', 'scores', 'higher_is_better', 'signature', 'warnings'])
    >>> result
    <Result of infolm: l1_distance 1 (lower is better), 'idf:no'>
    """

    metric: str
    scores: dict[str, list[float]]
    signature: Signature
    higher_is_better: bool
    counts: Mapping[str, int] = field(default_factory=Counter)
    several: bool = False
    rescaled: Mapping[str, list[float]] = field(default_factory=dict)
    baseline: Mapping[str, BaselineStats] | None = None
    verdicts: Sequence[str | None] = ()
    reasons: Sequence[str] = ()

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {self.mean(name):.6g}" for name in self.scores)
        better = "higher" if self.higher_is_better else "lower"
        return f"<Result of {self.metric}: {means} ({better} is better), {self.signature!r}>"

    def mean(self, name: str) -> float:
        """Return the corpus score: the mean of the `name` scores, clipped to their range."""
        return mean(self.scores[name])

    def renamed(self, names: Callable[[str], str]) -> Result:
        """Return the result with other score names.

        `names` is a function of a score name, such as `Settings.column`.

        >>> result = Result("infolm", {"l1_distance": [0.5]}, Signature({}), False)
        >>> result.renamed("infolm_{}".format).as_dict(details=False)
        {'infolm_l1_distance': 0.5}
        """

        def rename(values: Mapping[str, object]) -> dict[str, Any]:
            return {names(name): value for name, value in values.items()}

        scores = rename(self.scores)
        return replace(
            self,
            metric=self.metric if self.several else next(iter(scores)),
            scores=scores,
            rescaled=rename(self.rescaled),
            baseline=self.baseline and rename(self.baseline),
        )

    def columns(self) -> dict[str, list[float]]:
        """Return scores and rescaled scores as columns, [pairs] each.

        >>> scores, rescaled = {"l1_distance": [0.5]}, {"l1_distance": [0.75]}
        >>> Result("infolm", scores, Signature({}), False, rescaled=rescaled).columns()
        {'l1_distance': [0.5], 'l1_distance_rescaled': [0.75]}
        """
        columns = {f"{name}_rescaled": column for name, column in self.rescaled.items()}
        return {**self.scores, **columns}

    def all_columns(self) -> dict[str, Sequence[Any]]:
        """Return the columns of scores, and the columns of verdicts if there are verdicts."""
        verdicts = {"verdict": self.verdicts, "reason": self.reasons} if self.verdicts else {}
        return {**self.columns(), **verdicts}

    def as_dict(self, return_scores: bool = True, details: bool = True) -> dict[str, Any]:
        """Return the result as the dictionary that `compute` returns.

        It contains means, scores, direction, signature and warnings and, if there are any,
        verdicts, rescaled scores and the baseline. If a list of score names was requested, means
        and scores are dictionaries. If `return_scores` is False, the scores and verdicts of the
        pairs are omitted. If `details` is False, only the means are returned, as floats. The keys
        of a list of scores then contain their names.

        >>> scores = {"l1_distance": [0.5, 1.5]}
        >>> Result("infolm", scores, Signature({}), False).as_dict(details=False)
        {'infolm': 1.0}
        >>> Result("infolm", scores, Signature({}), False, several=True).as_dict(details=False)
        {'infolm_l1_distance': 1.0}
        """
        # A single score requested by name is returned without its name.
        unwrap = dict if self.several else lambda by_name: next(iter(by_name.values()))
        means = {
            key: {name: mean(column) for name, column in columns.items()}
            for key, columns in ((self.metric, self.scores), ("rescaled", self.rescaled))
            if columns
        }
        if self.several and not details:
            return {f"{key}_{name}": x for key, part in means.items() for name, x in part.items()}
        result = {key: unwrap(part) for key, part in means.items()}
        if not details:
            return result
        if return_scores:
            result["scores"] = unwrap(self.scores)
            if self.rescaled:
                result["rescaled_scores"] = unwrap(self.rescaled)
            if self.verdicts:
                result["verdicts"] = list(self.verdicts)
        result["higher_is_better"] = self.higher_is_better
        result["signature"] = self.signature
        result["warnings"] = nonzero_counts(self.counts)
        if self.rescaled and self.baseline:
            result["baseline"] = unwrap({name: x.as_dict() for name, x in self.baseline.items()})
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


@dataclass(frozen=True)
class Summary:
    """Mean scores of a corpus, without the scores of its pairs."""

    pairs: int
    means: Mapping[str, float]  # by score column
    signature: Signature
    counts: Mapping[str, int]  # pairs, texts, tokens, and per warning
    baseline: Mapping[str, BaselineStats] | None = None  # by score name. None if none matches
    resumed: int = 0  # pairs that were scored before the job was resumed

    @property
    def tokens(self) -> float:
        """Mean length of the shortest text of each pair, in tokens. Requires a `baseline`."""
        return self.counts["pair_tokens"] / self.pairs

    def percentile(self, name: str) -> float:
        """Return the mean percentile of the `name` scores among the scores of unrelated texts."""
        return self.counts[f"percentile_{name}"] / (1000 * self.pairs)


def join_results(parts: Sequence[Result]) -> Result:
    """Join the results of consecutive parts of a corpus, which must have the same signature.

    >>> counts = Counter(texts=2)
    >>> half = Result("infolm", {"l1_distance": [0.5]}, Signature({}), False, counts)
    >>> whole = join_results([half, half])
    >>> whole.scores, whole.counts["texts"]
    ({'l1_distance': [0.5, 0.5]}, 4)
    """
    first = parts[0]
    for part in parts:
        if difference := first.signature.differences(part.signature):
            raise InputError(f"the parts' signatures differ: {difference}. Score all parts again.")
    rescaled = _appended([part.rescaled for part in parts])
    return replace(first, rescaled=rescaled, **vars(ChunkScores.join(parts)))


def add_counts(parts: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Add up the counts of parts of a corpus. For few_documents, return the maximum.

    >>> add_counts([Counter(texts=3, empty=1), Counter(texts=5, few_documents=2)])
    Counter({'texts': 8, 'few_documents': 2, 'empty': 1})
    """
    total: Counter[str] = Counter()
    for counts in parts:
        documents = max(total["few_documents"], counts.get("few_documents", 0))
        total.update(counts)
        total["few_documents"] = documents
    return +total


class Totals:
    """Ray actor that counts warnings, and counts pairs by number of references.

    It is defined here, not in `jobs.ray_jobs`, so that its process need not import PyTorch. Batches
    that Ray reruns because a machine was lost are counted twice.
    """

    def __init__(self) -> None:
        self.counts, self.references = Counter[str](), Counter[int]()

    def add(self, counts: Mapping[str, int], references: Counter[int]) -> tuple[Counter[Any], ...]:
        """Add the counts of a batch, and return the totals."""
        self.counts = add_counts([self.counts, counts])
        self.references += references
        return self.counts, self.references


def mean(values: Sequence[float]) -> float:
    """Return the mean, which rounding never moves outside the range of the values."""
    average = sum(value / len(values) for value in values)
    return min(max(average, min(values)), max(values))


def _appended(parts: Sequence[Mapping[str, list[float]]]) -> dict[str, list[float]]:
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def reduce_references(values: np.ndarray, counts: Sequence[int], rule: str) -> np.ndarray:
    """Reduce the scores against each pair's references to one score, [references] -> [pairs].

    `counts` are the numbers of references of the pairs, and `rule` is "min", "max" or "mean".

    >>> reduce_references(np.array([0.5, 0.25, 1.0]), [2, 1], "min")
    array([0.25, 1.  ])
    """
    starts = np.cumsum(counts, dtype=np.int64) - np.asarray(counts)
    least: np.ndarray = np.minimum.reduceat(values, starts)
    most: np.ndarray = np.maximum.reduceat(values, starts)
    if rule == "mean":
        # Clipped, because rounding can move a mean outside the range of its values.
        mean = np.add.reduceat(values / np.repeat(counts, counts), starts)
        return np.clip(mean, least, most)
    return least if rule == "min" else most
