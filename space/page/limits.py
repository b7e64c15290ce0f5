"""Limits of the demo, which are checked before any computation.

With masks, InfoLM requires n passes over n tokens for a text of n tokens.
"""

from __future__ import annotations

from collections.abc import Sequence

from infolm_metric.core.checks import InputError

MAX_REFERENCES = 5  # per candidate
CHARACTERS = 3_000  # per text
# Maximum tokens per text in "Compare", including special tokens. All references together may have
# twice as many. InfoLM has a lower limit with masks, because it encodes a text once per token.
COMPARED_TOKENS = 480
INFOLM_TOKENS = {"bundled": 192, "google-bert/bert-base-uncased": 64}
SHORT_TOKENS = 64  # longer texts of InfoLM are long jobs
FILE_TOKENS = 64  # per text in a file
FILE_ROWS = 100
FILE_BYTES = 1_000_000
BODY_BYTES = 4_000_000  # per request. An upload is slightly larger than its file
MAX_WAITING = 64  # requests in the queue
MAX_RUNNING = 16  # requests that wait for a worker
CACHE_SECONDS = 3600  # until uploads and downloads are deleted


def at_most(template: str, count: int, limit: int, remedy: str = "Shorten the text.") -> None:
    """Raise InputError if `count` exceeds `limit`.

    >>> at_most("the candidate has {} tokens", 65, 64)
    Traceback (most recent call last):
    infolm_metric.InputError: the candidate has 65 tokens, but at most 64 are allowed. Shorten ...
    """
    if count > limit:
        found = template.replace("{}", f"{count:,}")
        raise InputError(f"{found}, but at most {limit:,} are allowed. {remedy}")


def check_group(position: str, references: Sequence[str], texts: Sequence[str]) -> None:
    """Check the number of references and the lengths of the texts."""
    at_most(f"{position} has {{}} references", len(references), MAX_REFERENCES, "Remove some.")
    for text in texts:
        at_most(f"a text in {position} has {{}} characters", len(text), CHARACTERS)


def check_tokens(counts: Sequence[int], limit: int, remedy: str = "Shorten the text.") -> None:
    """Check the token counts of candidate and references against the limits."""
    at_most("the candidate has {} tokens", counts[0], limit, remedy)
    at_most("a reference has {} tokens", max(counts[1:]), limit, remedy)
    remove = "Shorten or remove references."
    at_most("the references have {} tokens together", sum(counts[1:]), 2 * limit, remove)
