"""How much the page takes at once, and the checks that say so before any work begins.

A text of n tokens costs n passes over n tokens, so what a request may cost is counted in tokens
squared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

CHARACTERS = 1_000  # of a text
TOKENS = 128  # of a text in a file, special ones included
COMPARED_TOKENS = {"bundled": 64, "google-bert/bert-base-uncased": 24}
"""Of a text that is explained, by model: its cost grows with their square."""
REFERENCES = 5  # of a candidate; explained, they may have twice COMPARED_TOKENS together
ROWS = 500  # of a file
FILE_BYTES = 1_000_000
TYPICAL_TOKENS = 32  # what a file's texts may have on average, if it has ROWS rows of two texts
TOKENS_SQUARED = ROWS * 2 * TYPICAL_TOKENS**2  # of a file
TEMPERATURES = (0.01, 100.0)
BODY_BYTES = 4_000_000  # of a request; a file comes with a little around it
WAITING = 64  # requests in the queue
AT_ONCE = 4  # comparisons under way, and files

TEXT_LIMITS = "Up to {} tokens (about 45 words), references together {}; more in a file.".format(
    COMPARED_TOKENS["bundled"], 2 * COMPARED_TOKENS["bundled"]
)
FILE_LIMITS = (
    f"CSV, TSV or JSON Lines in UTF-8, up to {FILE_BYTES // 1_000_000} MB and {ROWS} rows. A text "
    f"may have {CHARACTERS:,} characters and {TOKENS} tokens (about 90 words); {ROWS} rows fit if "
    f"their texts have about {TYPICAL_TOKENS} tokens each, fewer if they are longer. For more, use "
    "`infolm score` on your own machine."
)


def check_characters(name: str, text: str) -> None:
    """Raise ValueError if the text is longer than CHARACTERS.

    >>> check_characters("The candidate", "x" * 1001)
    Traceback (most recent call last):
    ValueError: The candidate has 1,001 characters, and at most 1,000 are taken here; shorten it
    """
    _check(name, len(text), CHARACTERS, "characters", "shorten it")


def check_tokens(names: Sequence[str], counts: Sequence[int], most: int = TOKENS) -> None:
    """Raise ValueError that names the first text of more than `most` tokens, if one is.

    >>> check_tokens(["The candidate"], [129])
    Traceback (most recent call last):
    ValueError: The candidate has 129 tokens, and at most 128 are taken here; shorten it
    """
    for name, count in zip(names, counts, strict=True):
        _check(name, count, most, "tokens", "shorten it")


def check_compared(names: Sequence[str], counts: Sequence[int], model: str) -> None:
    """Raise ValueError unless a candidate and its references are short enough to be explained.

    >>> check_compared(["The candidate", "Reference 1", "Reference 2"], [9, 64, 65], "bundled")
    Traceback (most recent call last):
    ValueError: Reference 2 has 65 tokens, and at most 64 are taken here; shorten it
    """
    most = COMPARED_TOKENS[model]
    check_tokens(names, counts, most)
    _check("the text of all references", sum(counts[1:]), 2 * most, "tokens", "leave one out")


def check_rows(count: int) -> None:
    """Raise ValueError unless there are between 1 and ROWS rows.

    >>> check_rows(501)
    Traceback (most recent call last):
    ValueError: more than 500 rows, and at most 500 are taken here; split the file
    """
    if not count:
        raise ValueError("there are no rows; give one row for each pair of texts")
    if count > ROWS:
        raise ValueError(
            f"more than {ROWS} rows, and at most {ROWS} are taken here; split the file"
        )


def check_work(counts: Iterable[int]) -> None:
    """Raise ValueError if texts of so many tokens would take too long together.

    >>> check_work([128] * 100)
    Traceback (most recent call last):
    ValueError: these texts take 1.6 times the work that is done here; give about 38% fewer rows
    """
    work = sum(count**2 for count in counts) / TOKENS_SQUARED
    if work > 1:
        raise ValueError(
            f"these texts take {max(work, 1.1):.1f} times the work that is done here; "
            f"give about {max(1, round(100 - 100 / work))}% fewer rows"
        )


def check_references(count: int, place: str = "") -> None:
    """Raise ValueError unless there are between 1 and REFERENCES references, at the place named.

    >>> check_references(6, "line 3")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: line 3: a candidate needs at least one reference, and at most 5 are taken ...
    """
    if not 1 <= count <= REFERENCES:
        where = f"{place}: " if place else ""
        raise ValueError(
            f"{where}a candidate needs at least one reference, and at most {REFERENCES} are taken "
            f"here; got {count}"
        )


def _check(name: str, count: int, most: int, unit: str, remedy: str) -> None:
    if count > most:
        raise ValueError(
            f"{name} has {count:,} {unit}, and at most {most:,} are taken here; {remedy}"
        )
