"""What is worth a warning about the texts of a call: counted as they are read, said once."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from infolm_metric.infolm.comparison import Reading

COUNTED = re.compile(r"infolm: (\d+) of (\d+) texts (.*)", re.DOTALL)


@dataclass
class Remarks:
    """Counts of texts that are not scored quite as they were written."""

    texts: int = 0
    too_long: int = 0
    without_tokens: int = 0
    weightless: int = 0

    def of(self, *weighed: Sequence[Reading]) -> Remarks:
        """These remarks, with those on some more texts, each way to weigh them [texts]."""
        first = weighed[0]
        self.texts += len(first)
        self.too_long += sum(reading.text.too_long for reading in first)
        self.without_tokens += sum(not reading.text.maskable.any() for reading in first)
        self.weightless += sum(
            any(reading.weightless for reading in same) for same in zip(*weighed, strict=True)
        )
        return self

    def warn(self, long_text: str, limit: int | None, stacklevel: int) -> None:
        """One warning for each kind of such texts; `limit` is what the others were cut to."""
        counts = {
            f'longer than {limit} tokens: cut there; long_text="window" reads texts whole': (
                self.too_long if long_text == "truncate" else 0
            ),
            "without a token to mask: scored by the prediction for a lone mask": (
                self.without_tokens
            ),
            "with an inverse document frequency of 0 for every token: weighed uniformly; a table "
            "from a larger corpus, idf=IDF.from_corpus(...), tells their tokens apart": (
                self.weightless
            ),
        }
        for what, count in counts.items():
            if count:
                warnings.warn(_sentence(count, self.texts, what), stacklevel=stacklevel + 1)


def _sentence(count: int, texts: int, what: str) -> str:
    """What COUNTED reads."""
    return f"infolm: {count} of {texts} texts {what}"


@contextmanager
def summed_warnings() -> Iterator[None]:
    """Gives the warnings of many calls as one of each kind, with the sums of their counts.

    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with summed_warnings():
    ...         Remarks(texts=3, without_tokens=1).warn("truncate", 512, stacklevel=1)
    ...         Remarks(texts=5, without_tokens=2).warn("truncate", 512, stacklevel=1)
    >>> [str(warning.message) for warning in caught]
    ['infolm: 3 of 8 texts without a token to mask: scored by the prediction for a lone mask']
    """
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    finally:
        sums: dict[str, list[int]] = {}
        for warning in caught:
            if found := COUNTED.fullmatch(str(warning.message)):
                known = sums.setdefault(found[3], [0, 0])
                known[0] += int(found[1])
                known[1] += int(found[2])
            else:
                warnings.warn_explicit(
                    warning.message, warning.category, warning.filename, warning.lineno
                )
        for what, (count, texts) in sums.items():
            warnings.warn(_sentence(count, texts, what), stacklevel=4)
