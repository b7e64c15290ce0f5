"""What is worth a warning about the texts of a call: counted as they are read, said once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from infolm_metric.couples import Reading


@dataclass
class Remarks:
    """Counts of texts that are not scored quite as they were written."""

    texts: int = 0
    too_long: int = 0
    without_tokens: int = 0
    weightless: int = 0

    def of(self, readings: Sequence[Reading]) -> Remarks:
        """These remarks, with those on some more texts."""
        self.texts += len(readings)
        self.too_long += sum(reading.text.too_long for reading in readings)
        self.without_tokens += sum(not reading.text.maskable.any() for reading in readings)
        self.weightless += sum(reading.weightless for reading in readings)
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
                warnings.warn(
                    f"infolm: {count} of {self.texts} texts {what}", stacklevel=stacklevel + 1
                )
