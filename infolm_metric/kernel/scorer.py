"""The scorer of a metric: the protocol that everything above the metrics works on.

A `Scorer` scores checked pairs under checked settings; it is what ranks, jobs, Ray and the
meta-evaluation's grid use. A `MetricScorer` is what users call, and holds one.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from infolm_metric.kernel.idf.statistics import Statistics
from infolm_metric.kernel.pairs import Pair, Pairs, check_pairs, iterate_pairs
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.rescaling import score_part
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.settings import Settings
from infolm_metric.kernel.signatures import make_signature

if TYPE_CHECKING:
    from typing import Self

LOWER, HIGHER = "lower", "higher"
READ_AHEAD = 256  # pairs of a stream

Report = Callable[[int], object]
"""Told of scores as they are done: how many more."""


def silent(scores: int) -> None:
    """The report that tells nobody."""


class Scorer(ABC):
    """Scores pairs under settings. Statistics of a corpus add up over its parts."""

    settings_type: ClassVar[type[Any]]
    best_means: ClassVar[str] = ""
    """What the best score says of two texts, if it can be said in a few words."""

    @abstractmethod
    def score(self, pairs: Pairs, settings: Any, statistics: Statistics) -> Result:
        """The result for the pairs of a corpus, or of a part of one, of which `statistics` tell."""

    def score_many(
        self,
        pairs: Pairs,
        settings: Sequence[Any],
        statistics: Sequence[Statistics],
        report: Report = silent,
    ) -> list[Result]:
        """The results for several settings, each with its statistics."""
        results = []
        for each, counted in zip(settings, statistics, strict=True):
            results.append(self.score(pairs, each, counted))
            report(len(pairs))
        return results

    def count(self, pairs: Iterable[Pair], settings: Any) -> Statistics:
        """What has to be known of a whole corpus before a part of it is scored."""
        return Statistics()

    def check(self, pairs: Pairs, settings: Any, statistics: Statistics) -> None:  # noqa: B027
        """Raise what would keep `score` from its work; no text is read by a model for it."""

    def direction(self, settings: Any) -> str:
        """LOWER or HIGHER: which scores are better."""
        return LOWER

    def bounds(self, settings: Any, name: str) -> tuple[float, float]:
        """The smallest and the largest value that the score of this name can have."""
        return -math.inf, math.inf

    def signature(self, settings: Any, statistics: Statistics | None = None) -> str:
        """All that can change a score under these settings; nothing is loaded for it."""
        return make_signature(settings.metric, settings.signed())

    def unload(self) -> None:  # noqa: B027 (most metrics that keep nothing need none)
        """Free what is kept between calls."""

    def higher_is_better(self, settings: Any) -> bool:
        """True if better texts score higher."""
        return self.direction(settings) == HIGHER


class MetricScorer:
    """Scores candidates against references; a model is loaded at the first use and kept.

    Args:
        **settings: the metric's settings, by name; every method takes them too, for one call.

    Raises:
        TypeError, ValueError: a setting is unknown or wrong.
    """

    inner_type: ClassVar[type[Scorer]]

    def __init__(self, **settings: Any) -> None:
        self.settings = self.inner_type.settings_type.of(**settings)
        self.inner = self.inner_type()
        self.lock = threading.RLock()  # one pass at a time; the model and the store are shared

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The scorer with settings that were checked and resolved before.

        Args:
            settings: the metric's own.

        Returns:
            A scorer that has loaded nothing yet.
        """
        scorer = cls()
        scorer.settings = settings
        return scorer

    def __repr__(self) -> str:
        """The scorer with the settings that are not the defaults."""
        plain = type(self.settings)()
        given = (
            f"{name}={getattr(self.settings, name)!r}"
            for name in self.settings.choices()
            if getattr(self.settings, name) != getattr(plain, name)
        )
        return f"{type(self).__name__}({', '.join(given)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles carry the settings; they load the model themselves."""
        return type(self), (), {"settings": self.settings}

    def score(self, predictions: Any, references: Any, **settings: Any) -> Result:
        """The scores of each prediction against its reference or references.

        Args:
            predictions: the candidates, a list of strings.
            references: for each its reference, or a list of its references.
            **settings: override the scorer's own for this call.

        Returns:
            A mapping: the mean under the metric's name, "scores" of each pair,
            "higher_is_better", "signature" and "remarks".

        Raises:
            TypeError, ValueError: an argument is wrong; nothing was loaded yet.
            OSError: the model cannot be found.
        """
        chosen = self.settings.replace(**settings)
        result = self.score_pairs(check_pairs(predictions, references), chosen)
        result.remarks.warn()
        return result

    def score_pairs(self, pairs: Pairs, settings: Settings) -> Result:
        """What `score` gives for checked pairs; what there is to warn of is in the result alone.

        Args:
            pairs: at least one.
            settings: all of them, checked; the scorer's own do not count.

        Returns:
            What `score` returns.

        Raises:
            ValueError: there are no pairs, or too few for the settings.
            OSError: the model cannot be found.
        """
        if not len(pairs):
            raise ValueError("predictions and references are empty; give at least one pair")
        with self.lock:
            return score_part(self.inner, pairs, settings, self.inner.count(pairs, settings))

    def stream(self, pairs: Iterable[Any], **settings: Any) -> Iterator[dict[str, float]]:
        """The scores of each pair by name, in order, as the pairs come; for any number of them.

        A few hundred pairs are read ahead. With idf "references" or "separate" they are read twice,
        so that they must not be an iterator, which can be read only once; `idf=False` or a table
        needs one reading.

        Args:
            pairs: gives (candidate, reference) or (candidate, list of references).
            **settings: override the scorer's own for this call.

        Returns:
            An iterator of dictionaries, the scores of a pair by name.

        Raises:
            TypeError, ValueError: an argument is wrong, or, later, a pair.
        """
        chosen = self.settings.replace(**settings)
        if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
            raise TypeError(f"pairs must be an iterable of (candidate, reference), got {pairs!r}")
        if isinstance(pairs, Iterator) and chosen.counted:
            raise ValueError(
                f"idf={chosen.idf!r} reads the pairs twice, once to count, and "
                f"pairs is an iterator ({type(pairs).__name__}), which can be read only once; give "
                f"idf=False, a table made before with IDF.from_corpus or `infolm "
                "idf`, or pairs that can be read again, such as a list or a data set"
            )
        return self._stream(pairs, chosen)

    def _stream(self, pairs: Iterable[Any], settings: Settings) -> Iterator[dict[str, float]]:
        with self.lock:
            statistics = self.inner.count(_Again(pairs), settings)
        rows, remarks = iterate_pairs(pairs), Remarks()
        while part := list(islice(rows, READ_AHEAD)):
            with self.lock:
                result = score_part(self.inner, Pairs.of(part), settings, statistics)
            remarks += result.remarks
            columns = result.columns()
            for row in zip(*columns.values(), strict=True):
                yield dict(zip(columns, row, strict=True))
        remarks.warn()

    def signature(self, **settings: Any) -> str:
        """The signature of scores with these settings: all that can change them.

        Args:
            **settings: override the scorer's own for this call.

        Returns:
            "name:value" for each, joined by "|", versions included; no model is loaded for it.

        Raises:
            TypeError, ValueError: a setting is unknown or wrong.
        """
        with self.lock:
            return self.inner.signature(self.settings.replace(**settings))

    def unload(self) -> None:
        """Free the model and what is kept; the next call loads the model again."""
        with self.lock:
            self.inner.unload()


class _Again:
    """Pairs that are checked at every reading."""

    def __init__(self, pairs: Iterable[Any]) -> None:
        self.pairs = pairs

    def __iter__(self) -> Iterator[Pair]:
        return iterate_pairs(self.pairs)
