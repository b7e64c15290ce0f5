"""Limits of the demo, which are checked before any computation.

A text of n tokens requires n passes over n tokens, so the cost of a file is measured in squared
tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from infolm_metric.core.checks import InputError

MAX_REFERENCES = 5  # per candidate
CHARACTERS = 3_000  # per text
# Maximum tokens per text in "Compare", including special tokens. All references together may have
# twice as many. InfoLM has a lower limit, because it encodes a text once per token.
COMPARED_TOKENS = 480
INFOLM_TOKENS = {"bundled": 64, "google-bert/bert-base-uncased": 24}
FILE_TOKENS = 128  # per text in a file
FILE_ROWS = 500
FILE_MEGABYTES = 1
FILE_BYTES = FILE_MEGABYTES * 1_000_000
FILE_WORK = FILE_ROWS * 2 * 32**2  # squared tokens
PART_WORK = 5_000  # squared tokens of a part, for which other visitors wait (half a second)
BODY_BYTES = 4_000_000  # per request. An upload is slightly larger than its file
MAX_WAITING = 64  # requests in the queue
MAX_RUNNING = 4  # concurrent requests
CACHE_SECONDS = 3600  # until uploads and downloads are deleted
# Options of events that score texts.
QUEUE: dict[str, Any] = {"concurrency_limit": MAX_RUNNING, "concurrency_id": "models"}


def at_most(template: str, count: int, limit: int, remedy: str = "Shorten it.") -> None:
    """Raise InputError if `count` exceeds `limit`.

    >>> at_most("the candidate has {} tokens", 65, 64)
    Traceback (most recent call last):
    infolm_metric.InputError: the candidate has 65 tokens, but at most 64 are allowed. Shorten it.
    """
    if count > limit:
        raise InputError(
            f"{template.format(f'{count:,}')}, but at most {limit:,} are allowed. {remedy}"
        )


def check_group(position: str, candidate: str, references: Sequence[str]) -> None:
    """Raise InputError if there are no or too many references, or if a text is too long."""
    if not references:
        raise InputError(f"{position} needs at least one reference, got none")
    at_most(f"{position} has {{}} references", len(references), MAX_REFERENCES, "Remove some.")
    for index, text in enumerate((candidate, *references)):
        name = _name(index, len(references))
        at_most(f"the {name} in {position} has {{}} characters", len(text), CHARACTERS)


def _name(index: int, references: int) -> str:
    """Return the name of the candidate, which has the index 0, or of one of its references."""
    return f"reference {index}" if index and references > 1 else ("candidate", "reference")[index]


def check_compared(counts: Sequence[int], limit: int) -> None:
    """Raise InputError if `counts`, the tokens of candidate and references, exceed the limits."""
    for index, count in enumerate(counts):
        at_most(f"the {_name(index, len(counts) - 1)} has {{}} tokens", count, limit)
    at_most("the references have {} tokens together", sum(counts[1:]), 2 * limit, "Remove one.")


def check_file(counts: Sequence[Sequence[int]]) -> None:
    """Raise InputError if `counts`, the tokens of each text by row, exceed the limits of a file."""
    for index, row in enumerate(counts, 1):
        at_most(f"a text in row {index} has {{}} tokens", max(row), FILE_TOKENS)
    work = sum(count**2 for row in counts for count in row) / FILE_WORK
    if work > 1:
        raise InputError(
            f"the file requires {max(work, 1.1):.1f} times the computation that the demo allows. "
            f"Remove about {max(1, round(100 - 100 / work))}% of its rows."
        )
