"""Limits of the demo in one table, and checks of requests before any work begins.

A text of n tokens costs n passes over n tokens, so the cost of a file is counted in tokens squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

REFERENCES = 5  # of a candidate
CHARACTERS = 1_000  # of a text
COMPARED_TOKENS = {"bundled": 64, "google-bert/bert-base-uncased": 24}
"""Of a text that is explained, by model, special ones included; all references: twice as many."""
FILE_TOKENS = 128  # of a text in a file
FILE_ROWS = 500
FILE_BYTES = 1_000_000
FILE_WORK = FILE_ROWS * 2 * 32**2  # tokens squared
PART_WORK = 20_000  # tokens squared between two reports of progress: a second or two
BODY_BYTES = 4_000_000  # of any request; a file comes with a little around it
MAX_WAITING = 64  # requests in the queue
MAX_RUNNING = 4  # requests under way
CACHE_SECONDS = 3600  # that uploads and downloads are kept
QUEUE: dict[str, Any] = {"concurrency_limit": MAX_RUNNING, "concurrency_id": "models"}
"""Of events that score."""

COMPARED_WORDS = "Up to {} tokens, about 45 words.".format(COMPARED_TOKENS["bundled"])
FILE_WORDS = (
    f"CSV, TSV or JSON Lines in UTF-8, up to {FILE_BYTES // 1_000_000} MB and {FILE_ROWS} rows. A "
    f"text may have {CHARACTERS:,} characters and {FILE_TOKENS} tokens (about 90 words); a file of "
    f"{FILE_ROWS} rows may have about 32 tokens a text. For more, run `infolm score` on your own "
    "machine."
)


def at_most(template: str, count: int, limit: int, remedy: str = "shorten it") -> None:
    """Raise ValueError if the count is above `limit`.

    >>> at_most("The candidate has {} tokens", 65, 64)
    Traceback (most recent call last):
    ValueError: The candidate has 65 tokens, and at most 64 are taken here; shorten it
    """
    if count > limit:
        raise ValueError(
            f"{template.format(f'{count:,}')}, and at most {limit:,} are taken here; {remedy}"
        )


def check_group(position: str, candidate: str, references: Sequence[str]) -> None:
    """Raise ValueError if a candidate has too many or no references, or too long a text."""
    if not references:
        raise ValueError(f"{position} needs at least one reference")
    at_most(f"{position} has {{}} references", len(references), REFERENCES, "leave some out")
    for text in (candidate, *references):
        at_most(f"a text of {position} has {{}} characters", len(text), CHARACTERS)


def check_compared(counts: Sequence[int], model: str) -> None:
    """Raise ValueError unless a candidate and its references are short enough to be explained.

    Args:
        counts: the tokens of the candidate and of each reference.
        model: its name.
    """
    limit = COMPARED_TOKENS[model]
    for index, count in enumerate(counts):
        name = "reference" if index and len(counts) == 2 else f"reference {index}"
        at_most(f"the {name if index else 'candidate'} has {{}} tokens", count, limit)
    at_most("the references have {} tokens together", sum(counts[1:]), 2 * limit, "leave one out")


def check_file(counts: Sequence[Sequence[int]]) -> None:
    """Raise ValueError if a text of a file has too many tokens, or all of them are too much work.

    Args:
        counts: the tokens of each text of each row.
    """
    for index, row in enumerate(counts, 1):
        at_most(f"a text in row {index} has {{}} tokens", max(row), FILE_TOKENS)
    work = sum(count**2 for row in counts for count in row) / FILE_WORK
    if work > 1:
        raise ValueError(
            f"this file is {max(work, 1.1):.1f} times the work that is done here; give about "
            f"{max(1, round(100 - 100 / work))}% fewer rows"
        )
