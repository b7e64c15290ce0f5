"""Token recall: the fraction of a reference's tokens that occur in the candidate."""

from __future__ import annotations

import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np

from infolm_metric.core.idf import CorpusStatistics
from infolm_metric.core.inputs import Pairs

ARTICLES = ("a", "an", "the")


class TokenRecall:
    """Token recall as the other metric in a combination, without a model or a baseline."""

    def with_statistics(self, statistics: CorpusStatistics) -> TokenRecall:
        """Return this object, which needs no statistics."""
        return self

    def count(self, texts: Mapping[str, Iterable[str]]) -> CorpusStatistics:
        """Collect no statistics."""
        return CorpusStatistics()

    def check(self, pairs: Pairs) -> None:
        """Accept all pairs."""

    def score(self, pairs: Pairs) -> tuple[np.ndarray, Mapping[str, int]]:
        """Return the highest recall over the references, float64 [pairs], and no warnings."""
        values = [max(token_recall(text, other) for other in group) for text, group in pairs]
        return np.array(values), {}

    def signature_fields(self) -> dict[str, str]:
        """Return no fields, because there are no settings."""
        return {}


def token_recall(candidate: str, reference: str) -> float:
    """Return the fraction of the reference's tokens that occur in the candidate.

    A repeated token counts once per occurrence. A reference without tokens scores 1 if the
    stripped texts are equal, else 0.

    >>> token_recall("It was Neil Armstrong, in 1969.", "the astronaut Neil Armstrong")
    0.6666666666666666
    """
    expected = Counter(normalized_tokens(reference))
    if not expected:
        return float(candidate.strip() == reference.strip())
    return (expected & Counter(normalized_tokens(candidate))).total() / expected.total()


def normalized_tokens(text: str) -> list[str]:
    """Return the lowercased words without punctuation; drop articles unless no other words remain.

    >>> normalized_tokens("The U.S. Senate"), normalized_tokens("A")
    (['u', 's', 'senate'], ['a'])
    """
    words = "".join(" " if _is_punctuation(letter) else letter for letter in text.lower()).split()
    return [word for word in words if word not in ARTICLES] or words


def _is_punctuation(letter: str) -> bool:
    return letter in string.punctuation or unicodedata.category(letter).startswith("P")
