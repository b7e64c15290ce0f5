"""What English words can be, and their forms: a thin side of lemminflect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import lemminflect

from infolm_metric.robustness.words import (
    FUNCTION_WORDS,
    Word,
    listed,
    outside_quotes,
    stands_alone,
    words_of,
)

SHORTEST = 3  # letters of a content word
TAGS = {
    "NOUN": ("NN", "NNS"),
    "VERB": ("VBZ", "VBG", "VBD", "VBN", "VB"),
    "ADJ": ("JJ", "JJR", "JJS"),
}
"""The inflections of a part of speech; of past and participle the first counts."""
ONE_FORM = frozenset(
    listed(
        """
        fish sheep series species means deer aircraft spacecraft offspring headquarters crossroads
        barracks corps salmon trout bison moose dice data
        """
    )
)
"""Nouns with one form for both numbers."""
BEFORE_BASE = frozenset(
    listed("to can could will would shall should may might must do does did cannot")
)


@lru_cache(maxsize=1 << 16)
def readings(word: str) -> Mapping[str, str]:
    """The parts of speech that a word can be, each with its lemma.

    >>> readings("ran"), readings("of")
    ({'VERB': 'run'}, {})
    """
    found = lemminflect.getAllLemmas(word)
    return {part: lemmas[0] for part, lemmas in sorted(found.items())}


@lru_cache(maxsize=1 << 16)
def forms(lemma: str, part: str) -> Mapping[str, Sequence[str]]:
    """The forms of a lemma by tag.

    >>> forms("city", "NOUN")["NNS"]
    ('cities',)
    """
    found: dict[str, Sequence[str]] = lemminflect.getAllInflections(lemma, upos=part)
    if "VBD" in found:  # the dictionary leaves a participle out that is the past tense
        found.setdefault("VBN", found["VBD"])
    return found


def inflected(lemma: str, part: str, tag: str) -> str | None:
    """The usual form of a lemma for a tag, or None if the dictionary has none.

    >>> inflected("measure", "VERB", "VBD"), inflected("wooden", "ADJ", "JJS")
    ('measured', None)
    """
    found = forms(lemma, part).get(tag)
    return found[0] if found else None


def tag_of(word: str, part: str, before: str = "") -> str | None:
    """Which form of its lemma a word is; None if it cannot be this part of speech.

    What has one form for both numbers, as "sheep", or for the base and the past, as "put", has a
    tag only where the word before tells: the base after "to" and "will".

    >>> tag_of("cities", "NOUN"), tag_of("located", "VERB"), tag_of("city", "VERB")
    ('NNS', 'VBD', None)
    >>> tag_of("sheep", "NOUN"), tag_of("become", "VERB"), tag_of("become", "VERB", "to")
    (None, None, 'VB')
    """
    lemma = readings(word).get(part)
    if lemma is None:
        return None
    found = forms(lemma, part)
    tags = [tag for tag in TAGS[part] if word in found.get(tag, ())]
    if len(tags) > 1 and "VB" in tags:
        return "VB" if before.lower() in BEFORE_BASE else None
    one_form = part == "NOUN" and (word in ONE_FORM or found.get("NN") == found.get("NNS"))
    return None if one_form else next(iter(tags), None)


def is_content(word: str, part: str) -> bool:
    """True if a word in lower case can be nothing but this part of speech.

    >>> is_content("city", "NOUN"), is_content("rock", "NOUN"), is_content("was", "VERB")
    (True, False, False)
    """
    if len(word) < SHORTEST or not (word.isalpha() and word.islower()) or word in FUNCTION_WORDS:
        return False  # for the dictionary "which" is a noun
    found = readings(word)
    return list(found) == [part] and found[part] not in FUNCTION_WORDS


def content_words(text: str, part: str) -> list[Word]:
    """The words of a text that can be nothing but this part of speech.

    Not the capitalised ones, nor what stands in a title in quotes or in a compound with a hyphen.

    >>> found = content_words("Her city rock band left the city-state.", "NOUN")
    >>> [word.text for word in found]
    ['city']
    """
    found = outside_quotes(text, words_of(text))
    return [word for word in found if is_content(word.text, part) and stands_alone(text, word)]
