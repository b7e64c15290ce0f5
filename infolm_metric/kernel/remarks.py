"""What there is to warn of in a call's texts, as counts, and the sentences made of them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

UNKNOWN = 0.1  # share of the tokens, or texts, beyond which scores say little
FEW = 10  # distinct documents
OF_A_READER = ("too_long", "empty", "unknown_tokens", "tokens", "unread")
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
        unread: texts of another kind than the English that the model was trained on.
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
    unread: int = 0
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
        return (
            known
            and read
            and not self._foreign
            and all(each.judged for each in self.beside.values())
        )

    @property
    def _foreign(self) -> bool:
        """True if more of the texts are unread than a few that may be so by mistake."""
        return self.unread > UNKNOWN * self.texts

    def sentences(self) -> list[str]:
        """What there is to warn of, a sentence for each kind.

        >>> Remarks(texts=8, empty=3).sentences()
        ['3 of 8 texts without a token of their own: scored by what the model makes of no text']
        """
        whole = "long_text='window'"
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
        if self._foreign:
            found.append(
                f"{self.unread} of {self.texts} texts seem to be another language than English, "
                "program code or random letters: the model was trained on English prose alone, and "
                "what it makes of them says nothing; use a model of their kind"
            )
        if 0 < self.distinct_documents < FEW:
            found.append(self._on_the_corpus())
        for name, each in self.beside.items():
            found += [f"{name}'s part of the score: {sentence}" for sentence in each.sentences()]
        return found

    def _on_the_corpus(self) -> str:
        """What idf rests on, where that is little."""
        number = self.distinct_documents
        remedy = "give idf a table of a larger corpus (IDF.from_corpus, infolm idf)"
        if number == 1:
            return (
                "one distinct text does not tell rare tokens from common ones: all are weighed "
                f"alike, as by idf=False; {remedy} to tell them apart"
            )
        return (
            f"which tokens are rare is known from {number} distinct texts only; {remedy}, or "
            f"idf=False to weigh all alike"
        )

    def warn(self, stacklevel: int = 1) -> None:
        """Warn once for each kind.

        Args:
            stacklevel: 1 points at the line that called the caller, 2 at that above it, and so on.
        """
        for sentence in self.sentences():
            warnings.warn(f"infolm: {sentence}", stacklevel=stacklevel + 2)
