"""What a scorer returns: scores, what to warn of, and the signature that says how it was made."""

from __future__ import annotations

import warnings
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from infolm_metric.kernel.version import __version__
from infolm_metric.kernel.wording import spelled

UNKNOWN = 0.1  # share of the tokens, or texts, beyond which scores say little
RESCALED = "rescaled"
FEW = 10  # distinct documents
OF_A_READER = ("too_long", "empty", "unknown_tokens", "tokens")
"""Counts that two models have of the same texts, each its own."""


@dataclass(frozen=True)
class Remarks:
    """Counts of a call's texts that are not scored quite as they were written.

    Attributes:
        texts: all of the call's.
        too_long: those longer than the model reads.
        empty: those without a token that can be masked.
        one_token: those of one.
        zero_weight: those whose every token has the weight 0.
        unknown_tokens: tokens that can be masked and that the model does not know.
        tokens: tokens that can be masked.
        distinct_documents: what idf rests on, of the side with fewest; 10 stands for any more, 0
            for weights that rest on no corpus of the call.
        limit: the tokens that too long texts were cut to, or None where nothing was cut.
        words: a metric's own for a count.
        beside: the remarks of another metric that is combined, on the same texts, by its name.
    """

    texts: int = 0
    too_long: int = 0
    empty: int = 0
    one_token: int = 0
    zero_weight: int = 0
    unknown_tokens: int = 0
    tokens: int = 0
    distinct_documents: int = 0
    limit: int | None = None
    words: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, Remarks] = field(default_factory=dict)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Remarks:
        """The remarks that `dataclasses.asdict` made a dictionary of.

        Args:
            stored: that dictionary, perhaps of another process.

        Returns:
            Equal remarks.

        >>> from dataclasses import asdict
        >>> remarks = Remarks(texts=2, beside={"infolm": Remarks(texts=2, empty=1)})
        >>> Remarks.of(asdict(remarks)) == remarks
        True
        """
        beside = {name: cls.of(each) for name, each in stored.get("beside", {}).items()}
        return cls(**{**stored, "beside": beside})

    def __add__(self, other: Remarks) -> Remarks:
        """The remarks on both parts of a corpus, on which idf rests as a whole.

        >>> total = Remarks(texts=3, empty=1) + Remarks(texts=5, empty=2)
        >>> total.texts, total.empty
        (8, 3)
        """
        counts = {name: count + other.counts()[name] for name, count in self.counts().items()}
        counts["distinct_documents"] = max(self.distinct_documents, other.distinct_documents)
        limit, words = self.limit or other.limit, self.words or other.words
        beside = {
            name: self.beside.get(name, Remarks()) + other.beside.get(name, Remarks())
            for name in {**self.beside, **other.beside}
        }
        return Remarks(**counts, limit=limit, words=words, beside=beside)

    @classmethod
    def most(cls, remarks: Sequence[Remarks]) -> Remarks:
        """The most there is to remark on the same texts, scored in several ways.

        Args:
            remarks: those of each way, at least one.

        Returns:
            The largest of each count; of distinct documents the smallest.

        >>> most = Remarks.most([Remarks(texts=3, empty=1), Remarks(texts=3, one_token=2)])
        >>> most.texts, most.empty, most.one_token
        (3, 1, 2)
        """
        counts = {name: max(each.counts()[name] for each in remarks) for name in cls().counts()}
        rested = [each.distinct_documents for each in remarks if each.distinct_documents]
        counts["distinct_documents"] = min(rested, default=0)
        beside = {
            name: cls.most([each.beside[name] for each in remarks if name in each.beside])
            for name in {name: None for each in remarks for name in each.beside}
        }
        return cls(**counts, limit=remarks[0].limit, words=remarks[0].words, beside=beside)

    def counts(self) -> dict[str, int]:
        """The counts by name."""
        others = ("limit", "words", "beside")
        names = [each.name for each in fields(self) if each.name not in others]
        return {name: getattr(self, name) for name in names}

    def as_dict(self) -> dict[str, int]:
        """The counts as a result has them: another metric's own ones under its name.

        >>> remarks = Remarks(texts=2, beside={"infolm": Remarks(texts=2, too_long=1)}).as_dict()
        >>> remarks["too_long"], remarks["infolm.too_long"], "infolm.texts" in remarks
        (0, 1, False)
        """
        beside = {
            f"{name}.{kind}": getattr(each, kind)
            for name, each in self.beside.items()
            for kind in OF_A_READER
        }
        return {**self.counts(), **beside}

    @property
    def judged(self) -> bool:
        """True if the model could read nearly all of the texts, and so could another metric's."""
        known = self.unknown_tokens <= UNKNOWN * self.tokens
        read = self.one_token + self.empty <= UNKNOWN * self.texts
        return known and read and all(each.judged for each in self.beside.values())

    def sentences(self) -> list[str]:
        """What there is to warn of, a sentence for each kind.

        >>> Remarks(texts=8, empty=3).sentences()
        ['3 of 8 texts without a token of their own: scored by what the model makes of no text']
        """
        whole = spelled("long_text", "window")
        cut = f"longer than {self.limit} tokens: cut there; {whole} reads texts whole"
        kinds = {
            "too_long": cut,
            "empty": "without a token of their own: scored by what the model makes of no text",
            "one_token": "of one token: the model reads a lone mask, whatever the token, so that "
            "'yes' and 'no' score as copies",
            "zero_weight": "with an inverse document frequency of 0 for every token: weighed "
            "uniformly; a table from a larger corpus (IDF.from_corpus, infolm idf) tells their "
            "tokens apart",
        }
        counts = {**self.counts(), "too_long": self.too_long if self.limit is not None else 0}
        found = [
            f"{counts[name]} of {self.texts} texts {what}"
            for name, what in {**kinds, **self.words}.items()
            if counts[name]
        ]
        if self.unknown_tokens > UNKNOWN * self.tokens:
            share = self.unknown_tokens / self.tokens
            found.append(
                f"{share:.0%} of the tokens are unknown to the model, as another script or emoji "
                "are: it cannot tell them apart; use a model that knows them"
            )
        if 0 < self.distinct_documents < FEW:
            found.append(self._on_the_corpus())
        for name, each in self.beside.items():
            found += [f"{name}'s part of the score: {sentence}" for sentence in each.sentences()]
        return found

    def _on_the_corpus(self) -> str:
        """What idf rests on, where that is little."""
        number = self.distinct_documents
        remedy = f"give {spelled('idf')} a table of a larger corpus (IDF.from_corpus, infolm idf)"
        if number == 1:
            return (
                "one distinct text does not tell rare tokens from common ones: all are weighed "
                f"alike, as by {spelled('idf', False)}; {remedy} to tell them apart"
            )
        return (
            f"which tokens are rare is known from {number} distinct texts only; {remedy}, or "
            f"{spelled('idf', False)} to weigh all alike"
        )

    def warn(self, stacklevel: int = 1) -> None:
        """Warn once for each kind.

        Args:
            stacklevel: 1 points at the line that called the caller, 2 at that above it, and so on.
        """
        for sentence in self.sentences():
            warnings.warn(f"infolm: {sentence}", stacklevel=stacklevel + 2)


@dataclass(frozen=True)
class View:
    """The scores seen in another way: the names of their mean and of their column, and values."""

    mean: str
    column: str
    values: Mapping[str, list[float]]


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
        views: the scores seen in other ways, as similarities or rescaled.
        baseline: what unrelated texts score, by the kind of score, where scores are rescaled.
        beside: more numbers of each pair, by their key in the dictionary and the kind of score.
        facts: what holds for all pairs, likewise.

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
    views: tuple[View, ...] = ()
    baseline: Mapping[str, Mapping[str, Any]] | None = None  # by name, with the rescaled scores
    beside: Mapping[str, Mapping[str, Mapping[str, list[float]]]] = field(default_factory=dict)
    facts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

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

    def plain(self) -> Result:
        """The result as it is without a baseline."""
        views = tuple(view for view in self.views if view.mean != RESCALED)
        signature = without(self.signature, ["baseline"])
        return replace(self, views=views, signature=signature, baseline=None)

    def mean(self, name: str) -> float:
        """The corpus score: the mean of the pairs' scores.

        Args:
            name: of the kind of score.

        Returns:
            A finite number between the smallest and the largest score.
        """
        return mean(self.scores[name])

    def columns(self) -> dict[str, list[float]]:
        """All that stands beside a pair, [pairs] each: the scores, then the other views of them.

        >>> view = View("similarity", "similarities", {"l1_distance": [0.75]})
        >>> Result("infolm", {"l1_distance": [0.5]}, "...", False, views=(view,)).columns()
        {'l1_distance': [0.5], 'l1_distance_similarity': [0.75]}
        """
        more = {f"{name}_{view.mean}": v for view in self.views for name, v in view.values.items()}
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
        views = (View(self.metric, "scores", self.scores), *self.views)
        result: dict[str, Any] = {}
        for view in views:
            means = {name: mean(column) for name, column in view.values.items()}
            result[view.mean] = self._plain(means)
        for view in views if return_scores else ():
            result[view.column] = self._plain(view.values)
        for key, by_name in {**(self.beside if return_scores else {}), **self.facts}.items():
            result[key] = self._plain(by_name)
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
    views = tuple(
        replace(view, values=_appended([part.views[index].values for part in parts]))
        for index, view in enumerate(first.views)
    )
    beside = {
        key: {name: _appended([part.beside[key][name] for part in parts]) for name in by_name}
        for key, by_name in first.beside.items()
    }
    scores = _appended([part.scores for part in parts])
    remarks = sum((part.remarks for part in parts), Remarks())
    return replace(first, scores=scores, views=views, beside=beside, remarks=remarks)


def make_signature(metric: str, values: Mapping[str, object]) -> str:
    """All that can change a score, and the versions, as `name:value|...`.

    Equal signatures mean equal scores for the same inputs, within float32's tolerance.
    """
    import torch
    import transformers

    versions = {"transformers": transformers.__version__, "torch": torch.__version__}
    named = {"metric": metric, **values, "infolm": __version__, **versions}
    return "|".join(f"{name}:{_shown(value)}" for name, value in named.items())


def without(signature: str, names: Container[str]) -> str:
    """The signature without the fields of these names.

    >>> without("measure:l1_distance|idf:no", ["idf"])
    'measure:l1_distance'
    """
    parts = signature.split("|")
    return "|".join(part for part in parts if part.partition(":")[0] not in names)


def differences(then: str, now: str) -> str:
    """What is different between two signatures, or nothing.

    >>> differences("temperature:1.0|model:m", "temperature:2.0|model:m")
    'temperature was 1.0 and is 2.0 now'
    """
    old, new = (
        dict(part.split(":", 1) for part in text.split("|") if ":" in part) for text in (then, now)
    )
    return "; ".join(
        f"{name} was {old.get(name, 'not given')} and is {new.get(name, 'not given')} now"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    )


def mean(values: Sequence[float]) -> float:
    """The mean; finite where the plain sum would overflow, and never beyond the values."""
    found = sum(value / len(values) for value in values)
    return min(max(found, min(values)), max(values))


def _shown(value: object) -> str:
    """A value as the signature shows it: a float with all digits, False and None as words."""
    return "no" if value is False else "none" if value is None else str(value)


def _appended(parts: Sequence[Mapping[str, list[float]]]) -> dict[str, list[float]]:
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}
