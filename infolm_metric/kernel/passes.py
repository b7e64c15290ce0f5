"""Scores whose texts a model reads first: what several settings share, and chunk by chunk."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from infolm_metric.kernel.idf.statistics import (
    Statistics,
    count,
    signed_weights,
    weighting,
)
from infolm_metric.kernel.pairs import Pair, Pairs
from infolm_metric.kernel.progress import bar
from infolm_metric.kernel.remarks import Remarks
from infolm_metric.kernel.results import Result
from infolm_metric.kernel.scorer import Report, Scorer, silent
from infolm_metric.kernel.signatures import make_signature
from infolm_metric.kernel.weighed_texts import Reader

Told = Callable[[float], object]
"""Told the share of a chunk that is done."""
Compare = Callable[[Sequence[Pair], np.ndarray[Any, Any], Told], list[Remarks]]
"""Fills in the scores of a chunk, float64 [rows, pairs], and gives the remarks by weighting."""


class Passes(Scorer):
    """Scores pairs under any settings, in as few passes of the model as these allow."""

    def __init__(self, reader: Reader[Any]) -> None:
        self.reader = reader

    def count(self, pairs: Iterable[Pair], settings: Any) -> Statistics:
        """The document frequencies that the setting `idf` asks for."""
        if not settings.counted:
            return Statistics()
        return count(pairs, settings, self.reader.opened(settings))

    def check(self, pairs: Pairs, settings: Any, statistics: Statistics) -> None:
        """Raise what would keep `score` from its work: of the model, the weights, the lengths."""
        weighting(settings, statistics, self.reader.opened(settings))
        self.reader.limit(settings)
        self.check_lengths(pairs, settings)
        self.reader.model(settings)

    def check_lengths(self, pairs: Pairs, settings: Any) -> None:
        """Raise ValueError if a text is too long and the settings refuse such ones."""
        if settings.long_text == "error":
            self.reader.tokenize(pairs.texts, settings)

    def score(self, pairs: Pairs, settings: Any, statistics: Statistics) -> Result:
        """The result for the pairs of a corpus, or of a part of one, of which `statistics` tell."""
        return self.score_many(pairs, [settings], [statistics])[0]

    def score_many(
        self,
        pairs: Pairs,
        settings: Sequence[Any],
        statistics: Sequence[Statistics],
        report: Report = silent,
    ) -> list[Result]:
        """The results for several settings; texts are read once by all that read them alike."""
        alike: dict[Any, list[int]] = {}
        for index, each in enumerate(settings):
            alike.setdefault(self.read_by(each), []).append(index)
        results: dict[int, Result] = {}
        for read, indices in alike.items():
            asked = [(settings[index], statistics[index]) for index in indices]
            found = self.score_alike(pairs, read, asked, report)
            results |= dict(zip(indices, found, strict=True))
        return [results[index] for index in range(len(settings))]

    @abstractmethod
    def read_by(self, settings: Any) -> Any:
        """What the model does for these settings: the same for all that one reading serves."""

    @abstractmethod
    def score_alike(
        self, pairs: Pairs, read: Any, asked: Sequence[tuple[Any, Statistics]], report: Report
    ) -> list[Result]:
        """The results for settings that one reading serves, each with its statistics."""

    def signature(self, settings: Any, statistics: Statistics | None = None) -> str:
        """All that can change a score; the model's files are hashed for it, and not loaded."""
        read = self.reader.opened(settings).signed(settings)
        signed = signed_weights(settings, statistics)
        return make_signature(settings.metric, {**signed, **read})

    def unload(self) -> None:
        """Free the model and what is kept of texts."""
        self.reader.unload()

    def score_chunks(
        self,
        pairs: Pairs,
        read: Any,
        cut: Callable[[], Iterator[list[Pair]]],
        shape: tuple[int, int],
        compare: Compare,
        report: Report,
    ) -> tuple[np.ndarray[Any, Any], list[Remarks]]:
        """Scores of every pair, chunk by chunk, float64 [rows, pairs].

        And what there is to remark on the texts by each weighting; `cut` gives the chunks once no
        text is refused any more, and `shape` are the numbers of rows and of weightings.
        """
        self.check_lengths(pairs, read)  # before time goes into the model
        rows, weightings = shape
        table = np.empty((rows, len(pairs)))
        remarks = [Remarks()] * weightings
        done = 0
        shown = read.verbose and len(pairs) > 1
        with bar(shown, total=len(pairs), unit="pair", desc="infolm") as drawn:
            for chunk in cut():

                def told(share: float, done: int = done, size: int = len(chunk)) -> None:
                    drawn.update(done + int(size * share) - drawn.n)

                found = compare(chunk, table[:, done : done + len(chunk)], told)
                remarks = [one + other for one, other in zip(remarks, found, strict=True)]
                done += len(chunk)
                report(len(chunk) * rows)
        return table, remarks
