"""Statements of a text: its sentences, list items and lines."""

from __future__ import annotations

import re

from infolm_metric.answer_check.tokens import reference_tokens

SHORT = 12  # tokens of a short reference

# Possessive quantifiers and the lookbehind keep the time linear.
END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s++[\"'“‘(\[]?[^\W_])|(?<![。！？])[。！？]++"
)
ABBREVIATIONS = (
    "mr mrs ms dr prof rev gen col capt lt sgt st mt ft vs etc eg ie cf al ca approx dept est fig "
    "gov hon inc co jr ltd nos op pp rep sen sr vol jan feb mar apr jun jul aug sep sept oct nov "
    "dec"
)
BEFORE_DIGITS = ("no", "p", "art", "sec", "ch")  # abbreviations before a digit, otherwise words
# Words that start a sentence but hardly ever continue a name after an initial or "U.S.".
STARTERS = re.compile(
    r"(?:The|This|That|These|Those|It|Its|He|She|They|We|You|In|On|At|As|If|But|And|So|A|An|"
    r"However|Because|Since|When|While|Although|There|Here|Both|For|His|Her|Their|Other|Option)\b"
)
LAST_WORD = re.compile(r"([\w.&]+)\.$")


def split_statements(text: str) -> list[str]:
    """Split a prepared text into its sentences, list items and lines.

    >>> split_statements("Dr. J. Smith paid $3.50. It was cheap!")
    ['Dr. J. Smith paid $3.50.', 'It was cheap!']
    """
    statements = []
    for line in text.splitlines():
        start = 0
        for match in END.finditer(line):
            if _ends_sentence(line, start, match):
                statements.append(line[start : match.end()])
                start = match.end()
        statements.append(line[start:])
    joined = (" ".join(statement.split()) for statement in statements)
    return [statement for statement in joined if any(map(str.isalnum, statement))]


def _ends_sentence(line: str, start: int, match: re.Match[str]) -> bool:
    """Return False for a period after an abbreviation, an initial or a number of a list."""
    following = line[match.end() : match.end() + 30].lstrip("\"'“‘([ \t")
    if match[0] != ".":
        return match[0][:1] not in ".…" or not following[:1].islower()
    window = line[max(start, match.start() - 30) : match.end()]
    word = LAST_WORD.search(window)
    if following[:1].islower():
        return False
    if word is None:
        return True
    name = word[1].lower()
    before = window[: word.start()].rstrip()
    if name in BEFORE_DIGITS:
        return not following[:1].isdigit()
    if name.isdigit():  # the number of a list item
        return bool(before)
    initial = len(name) == 1 or re.fullmatch(r"\w(?:\.\w)+", name) is not None
    joined = before.rpartition(" ")[2] in ("and", "&", "by", "with")
    if initial and (re.match(r"[A-Z]\.", following) or (joined and not STARTERS.match(following))):
        return False  # "by J. Berg and C. S. Holm"
    if initial and name.isalpha() and before and not before.split()[-1][:1].isupper():
        return True  # a letter after a common word: "The answer is B. Others fail."
    if initial and before.endswith(":"):
        return True
    return not (initial or name in ABBREVIATIONS.split()) or STARTERS.match(following) is not None


def is_short(reference: str) -> bool:
    """Return True if a prepared reference is one statement of at most 12 tokens.

    >>> is_short("Neil Armstrong"), is_short("It rained. The match was postponed.")
    (True, False)
    """
    return len(split_statements(reference)) <= 1 and len(reference_tokens(reference)) <= SHORT
