"""The attack that gives every personal pronoun to another person: "he" becomes "she"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from infolm_metric.robustness.lexicon import readings
from infolm_metric.robustness.words import (
    AUXILIARIES,
    FUNCTION_WORDS,
    Edit,
    Word,
    cased,
    changed,
    neighbour,
    opens_sentence,
    outside_quotes,
    words_of,
)

SWAPS = {
    "he": "she",
    "she": "he",
    "him": "her",
    "himself": "herself",
    "herself": "himself",
    "hers": "his",
    "we": "they",
    "they": "we",
    "us": "them",
    "them": "us",
    "our": "their",
    "their": "our",
    "ours": "theirs",
    "theirs": "ours",
    "ourselves": "themselves",
    "themselves": "ourselves",
    "i": "you",
    "me": "you",
    "my": "your",
    "your": "my",
    "mine": "yours",
    "yours": "mine",
    "myself": "yourself",
    "yourself": "myself",
}
BY_PLACE = {"his": ("her", "hers"), "her": ("his", "him"), "you": ("I", "me")}
"""Words that stand for two: before a noun or, for "you", before its verb; else."""
VERBS_AFTER = {"i": {"am": "are", "was": "were"}, "you": {"are": "am", "were": "was"}}
JOINED = re.compile(r"(?i)(he|she|we|they|i|you)(['’](?:ll|ve|d|s|re|m))")
ENDINGS_AFTER = {"i": {"m": "re"}, "you": {"re": "m"}}
"""As VERBS_AFTER, for "I'm" and "you're"."""


def swap_pronouns(text: str, random: Random) -> str | None:
    """All pronouns swapped, with the verb after "I" and "you"; not those in titles."""
    words = words_of(text)
    edits: list[Edit] = []
    plain = {word.start for word in outside_quotes(text, words)}
    for place, word in enumerate(words):
        if word.start not in plain:
            continue
        if joined := JOINED.fullmatch(word.text):
            edits += _joined(text, word, *joined.groups())
            continue
        if not _pronoun(text, words, place):
            continue
        new = _swapped(text, words, place)
        edits.append((word, _cased(new, text, word)))
        verb = neighbour(text, words, place, 1)
        if verb is not None and (form := VERBS_AFTER.get(word.lower, {}).get(verb.text)):
            edits.append((verb, form))
    return changed(text, edits) if edits else None


def _joined(text: str, word: Word, pronoun: str, ending: str) -> list[Edit]:
    """The edit of "he's", "you'll" and the like."""
    lower = pronoun.lower()
    new = "I" if lower == "you" else SWAPS[lower]
    end = ENDINGS_AFTER.get(lower, {}).get(ending[1:], ending[1:])
    if word.capitalised and lower != "i" and not opens_sentence(text, word):
        return []
    stem = Word(pronoun, word.start, word.start + len(pronoun))
    return [(word, _cased(new, text, stem) + ending[0] + end)]


def _pronoun(text: str, words: Sequence[Word], index: int) -> bool:
    """True unless the word is no pronoun, or a part of a name: "Kiss Me Kate", "World War I"."""
    word = words[index]
    if word.lower not in SWAPS and word.lower not in BY_PLACE:
        return False
    bound = "-–/&.@"
    if text[word.start - 1 : word.start] in tuple(bound) or text[word.end : word.end + 1] == "-":
        return False
    before, after = (neighbour(text, words, index, step) for step in (-1, 1))
    if not word.capitalised:
        return True
    if word.text == "I":
        named = before is not None and before.capitalised and not opens_sentence(text, before)
        return after is not None and after.text.islower() and not named
    opens = opens_sentence(text, word) and not word.text.isupper()
    return opens and (after is None or not after.capitalised or word.lower in ("his", "her"))


def _swapped(text: str, words: Sequence[Word], index: int) -> str:
    word = words[index].lower
    if word not in BY_PLACE:
        return SWAPS[word]
    first, second = BY_PLACE[word]
    after = neighbour(text, words, index, 1)
    if after is None:
        # What is written in digits or in another script is owned, too.
        owned = word != "you" and text[words[index].end :].lstrip()[:1].isalnum()
        return first if owned else second
    if word == "his":
        return second if after.lower in FUNCTION_WORDS else first
    if word == "you":
        found = readings(after.lower)
        object_before = _takes_an_object(text, words, index)
        finite = after.lower in AUXILIARIES or {"VERB", "ADV"} & set(found)
        return first if finite and not object_before else second
    if after.capitalised:
        return first
    noun = after.lower not in FUNCTION_WORDS and {"NOUN", "ADJ"} & set(readings(after.lower))
    return first if noun and "ADV" not in readings(after.lower) or after.text == "own" else second


def _takes_an_object(text: str, words: Sequence[Word], index: int) -> bool:
    """True if a preposition or an infinitive comes before: "for you", "to see you"."""
    before = neighbour(text, words, index, -1)
    if before is None or opens_sentence(text, words[index]):
        return False
    return before.lower in {"for", "to", "with", "of", "by", "from", "at", "about", "see", "let"}


def _cased(new: str, text: str, word: Word) -> str:
    if new == "I":
        return new
    if word.text == "I":
        return cased(new, "X" if opens_sentence(text, word) else "x")
    return cased(new, word.text)
