"""The indefinite article that fits the word after it."""

from __future__ import annotations

import re

from infolm_metric.robustness.words import Edit, Word, cased, words_of

VOWELS = "aeiou"
SOUNDS_LIKE_YOU = re.compile(r"(?:eu|ew|one|once|ubiq|uni(?!n|m)|us[aeu]|ut[ei]|ur[aeio]n)")
SILENT_H = re.compile(r"(?:hour|hono|heir|honest)")


def article_for(word: str) -> str:
    """The form of the indefinite article before a word.

    >>> [article_for(word) for word in ("umbrella", "university", "hour", "lamp", "one")]
    ['an', 'a', 'an', 'a', 'a']
    """
    lower = word.lower()
    vowel = lower[0] in VOWELS and not SOUNDS_LIKE_YOU.match(lower)
    return "an" if vowel or SILENT_H.match(lower) else "a"


def with_article(text: str, word: Word, new: str) -> list[Edit]:
    """The edits that put a new word in the place of another, and repair "a" or "an" before it.

    >>> from infolm_metric.robustness.words import changed
    >>> text = "An apple fell."
    >>> changed(text, with_article(text, words_of(text)[1], "lamp"))
    'A lamp fell.'
    """
    before = [each for each in words_of(text) if each.end < word.start][-1:]
    edits: list[Edit] = [(word, new)]
    for each in before:
        if each.lower in ("a", "an") and text[each.end : word.start].isspace():
            capital = "A" if each.capitalised else "a"
            edits.append((each, cased(article_for(new), capital)))
    return edits
