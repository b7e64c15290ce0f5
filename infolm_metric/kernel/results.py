"""What a scorer returns: scores, what to warn of, and the signature that says how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.signatures import differences

RESCALED = "rescaled"


@dataclass(frozen=True, eq=False, repr=False)
class Result(Mapping[str, Any]):
    """Scores of every pair, by the full name of each kind of score that was asked for.

    Reads like the dictionary that `compute` returns.

    Attributes:
        metric: its name, under which the mean stands.
        scores: those of every pair, by the kind of score.
        signature: all that can change them, with the versions.
        higher_is_better: the direction.
        remarks: counts of texts that are not scored quite as they were written.
        several: True if a list of kinds was asked for, even of one.
        rescaled: the scores as 1 for a copy and 0 for unrelated texts, where that was asked for.
        baseline: what unrelated texts score, by the kind of score, where scores are rescaled.
        beside: more numbers of each pair, by their key in the dictionary and the kind of score.

    >>> result = Result("infolm", {"l1_distance": [0.5, 1.5]}, "...", higher_is_better=False)
    >>> result["infolm"], list(result)
    (1.0, ['infolm', 'scores', 'higher_is_better', 'signature', 'remarks'])
    >>> result
    <Result of 2 pairs: l1_distance 1 (lower is better), '...'>
    """

    metric: str
    scores: dict[str, list[float]]
    signature: str
    higher_is_better: bool
    remarks: Remarks = Remarks()
    several: bool = False
    rescaled: Mapping[str, list[float]] = field(default_factory=dict)
    baseline: Mapping[str, Mapping[str, Any]] | None = None  # by name, with the rescaled scores
    beside: Mapping[str, Mapping[str, Mapping[str, list[float]]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        pairs = len(next(iter(self.scores.values())))
        means = ", ".join(f"{name} {self.mean(name):.6g}" for name in self.names)
        better = "higher" if self.higher_is_better else "lower"
        noun = "pair" if pairs == 1 else "pairs"
        return f"<Result of {pairs} {noun}: {means} ({better} is better), {self.signature!r}>"

    @property
    def names(self) -> tuple[str, ...]:
        """Full names of the kinds of score."""
        return tuple(self.scores)

    def mean(self, name: str) -> float:
        """The corpus score: the mean of the pairs' scores.

        Args:
            name: of the kind of score.

        Returns:
            A finite number between the smallest and the largest score.
        """
        return mean(self.scores[name])

    def columns(self) -> dict[str, list[float]]:
        """All that stands beside a pair, [pairs] each: the scores, then the rescaled ones.

        >>> rescaled = {"l1_distance": [0.75]}
        >>> Result("infolm", {"l1_distance": [0.5]}, "...", False, rescaled=rescaled).columns()
        {'l1_distance': [0.5], 'l1_distance_rescaled': [0.75]}
        """
        more = {f"{name}_{RESCALED}": column for name, column in self.rescaled.items()}
        for key, by_name in self.beside.items():
            for name, numbers in by_name.items():
                more |= {f"{name}_{key}_{part}": column for part, column in numbers.items()}
        return {**self.scores, **more}

    def as_dict(self, return_scores: bool = True) -> dict[str, Any]:
        """The result as `compute` returns it.

        Args:
            return_scores: whether to give the scores of each pair.

        Returns:
            Means, scores, direction, signature and remarks, each by its name.

        >>> Result("infolm", {"l1_distance": [0.5, 1.5]}, "...", False).as_dict(return_scores=False)
        {'infolm': 1.0, 'higher_is_better': False, 'signature': '...', 'remarks': {...}}
        """
        result: dict[str, Any] = {}
        columns: dict[str, Mapping[str, list[float]]] = {self.metric: self.scores}
        if self.rescaled:
            columns[RESCALED] = self.rescaled
        for key, by_name in columns.items():
            result[key] = self._plain({name: mean(column) for name, column in by_name.items()})
        if return_scores:
            result["scores"] = self._plain(self.scores)
            if self.rescaled:
                result["rescaled_scores"] = self._plain(self.rescaled)
            for key, numbers in self.beside.items():
                result[key] = self._plain(numbers)
        result["higher_is_better"] = self.higher_is_better
        result["signature"] = self.signature
        result["remarks"] = self.remarks.as_dict()
        if self.baseline:
            result["baseline"] = self._plain(self.baseline)
        return result

    def _plain(self, by_name: Mapping[str, Any]) -> Any:
        """The dictionary, or its only value if one kind was asked for by name."""
        return dict(by_name) if self.several else next(iter(by_name.values()))

    def __getitem__(self, name: str) -> Any:
        return self.as_dict()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.as_dict())

    def __len__(self) -> int:
        return len(self.as_dict())


def joined(parts: Sequence[Result]) -> Result:
    """The results of consecutive parts of a corpus as one.

    Raises ValueError if they were not scored alike.

    >>> half = Result("infolm", {"l1_distance": [0.5]}, "...", False, Remarks(texts=2))
    >>> whole = joined([half, half])
    >>> whole.scores, whole.remarks.texts
    ({'l1_distance': [0.5, 0.5]}, 4)
    """
    first = parts[0]
    for part in parts:
        if difference := differences(first.signature, part.signature):
            raise ValueError(f"the parts were not scored alike: {difference}; score them again")
    beside = {
        key: {name: _appended([part.beside[key][name] for part in parts]) for name in by_name}
        for key, by_name in first.beside.items()
    }
    scores = _appended([part.scores for part in parts])
    rescaled = _appended([part.rescaled for part in parts])
    remarks = sum((part.remarks for part in parts), Remarks())
    return replace(first, scores=scores, rescaled=rescaled, beside=beside, remarks=remarks)


def mean(values: Sequence[float]) -> float:
    """The mean; finite where the plain sum would overflow, and never beyond the values."""
    found = sum(value / len(values) for value in values)
    return min(max(found, min(values)), max(values))


def _appended(parts: Sequence[Mapping[str, list[float]]]) -> dict[str, list[float]]:
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}
