"""What a corpus says about its tokens: counted for the settings, added up over parts, and used.

What ties pairs together is only the inverse document frequencies of the corpus. Counts add up: so
each part of a corpus is counted, the counts are added, and every part is scored with the sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from infolm_metric.kernel.checkpoints import Checkpoint
from infolm_metric.kernel.idf.counting import is_small
from infolm_metric.kernel.idf.table import IDF
from infolm_metric.kernel.pairs import Pair, Pairs

CANDIDATES, REFERENCES = "candidates", "references"
Weighting = tuple[IDF | None, IDF | None]
"""What weighs the candidates' tokens, and what the references'; None: uniformly."""


@dataclass(frozen=True)
class Statistics:
    """The table of each side that was counted; empty where nothing is counted."""

    tables: Mapping[str, IDF] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.tables)

    def __add__(self, other: Statistics) -> Statistics:
        """The statistics of both parts together.

        >>> import numpy as np
        >>> half = Statistics({"references": IDF(1, np.array([1, 0]), "5f2e")})
        >>> (half + Statistics() + half).tables["references"].documents
        2
        """
        total = dict(self.tables)
        for side, table in other.tables.items():
            total[side] = total[side] + table if side in total else table
        return Statistics(total)

    @property
    def distinct(self) -> int:
        """Distinct documents of the side that has fewest; 10 stands for any more, 0 for no count.

        >>> import numpy as np
        >>> table = IDF(2, np.array([2]), "5f2e", digests=("a0",))
        >>> Statistics({"references": table}).distinct
        1
        """
        return min((len(table.digests) for table in self.tables.values()), default=0)

    @property
    def tell(self) -> bool:
        """True if the counts say which tokens are rare."""
        return self.distinct > 1

    @property
    def fingerprints(self) -> dict[str, str]:
        """What stands for the counts of each side."""
        return {side: table.fingerprint for side, table in self.tables.items()}


def count(pairs: Iterable[Pair], settings: Any, checkpoint: Checkpoint) -> Statistics:
    """The statistics of pairs that `settings` say to count; pairs are read once for each side.

    >>> from infolm_metric.infolm.masked_lm import open_masked_lm
    >>> from infolm_metric.infolm.settings import Settings
    >>> pairs = Pairs(["a"], [["a", "b"]])
    >>> found = count(pairs, Settings(), open_masked_lm("bundled"))
    >>> found.tables["references"].documents
    2
    """
    if isinstance(pairs, Pairs) and not len(pairs):  # such as a rank that has none
        return Statistics()
    limit = checkpoint.text_limit(settings.max_length)  # texts are cut as in scoring
    sides: dict[str, Callable[[], Iterable[str]]] = {
        CANDIDATES: lambda: (candidate for candidate, _ in pairs),
        REFERENCES: lambda: (text for _, group in pairs for text in group),
    }
    tables = {}
    for side in settings.counted:
        texts = list(sides[side]()) if isinstance(pairs, Pairs) else sides[side]()
        with nullcontext() if is_small(texts) else _bars(settings.verbose):
            table = IDF.from_corpus(
                texts,
                checkpoint.tokenizer,
                max_length=None if settings.long_text == "window" else limit,
                processes=settings.tokenize_processes,
            )
        tables[side] = replace(table, tokenizer_name=checkpoint.name)
    return Statistics(tables)


def weighting(settings: Any, statistics: Statistics, checkpoint: Checkpoint) -> Weighting:
    """What weighs each side: the table that was given, those that were counted, or nothing.

    A corpus of fewer than two distinct documents says nothing of its tokens, and is not used.
    Raises ValueError if a table belongs to another tokenizer.
    """
    if set(statistics.tables) != set(settings.counted):
        raise ValueError(
            f"idf={settings.idf!r} needs the counts of {settings.counted or 'nothing'}, got those "
            f"of {tuple(statistics.tables) or 'nothing'}; count the corpus with the same settings"
        )
    tables: Sequence[IDF] = list(statistics.tables.values())
    if isinstance(settings.idf, IDF):
        tables = [settings.idf]
    for table in dict.fromkeys(tables):
        checkpoint.check_table(table)
    if settings.counted and not statistics.tell:
        return None, None
    return (tables[0], tables[-1]) if tables else (None, None)


def used_weights(settings: Any, statistics: Statistics) -> str:
    """What weighs the tokens of texts: "idf" or "uniform"."""
    if settings.counted:
        return "idf" if statistics.tell else "uniform"
    return "idf" if isinstance(getattr(settings, "idf", False), IDF) else "uniform"


def signed_weights(settings: Any, statistics: Statistics | None) -> dict[str, object]:
    """What a signature shows, and after `idf` what weighed the texts of the corpus counted.

    >>> from infolm_metric.infolm.settings import Settings
    >>> import numpy as np
    >>> table = IDF(2, np.array([2]), "5f2e", digests=("a0",))
    >>> signed = signed_weights(Settings(), Statistics({"references": table}))
    >>> signed["idf"], signed["weights"], list(signed).index("weights") - list(signed).index("idf")
    ('references', 'uniform', 1)
    """
    fields: dict[str, object] = {}
    for name, value in settings.signed().items():
        fields[name] = value
        if name == "idf" and statistics and settings.counted:
            fields["weights"] = used_weights(settings, statistics)
    return fields


@contextmanager
def _bars(shown: bool) -> Iterator[None]:
    """Keeps the bars of `datasets` away unless `shown`; leaves its switch as it was."""
    from datasets.utils import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    quiet = not shown and not are_progress_bars_disabled()
    if quiet:
        disable_progress_bars()
    try:
        yield
    finally:
        if quiet:
            enable_progress_bars()
