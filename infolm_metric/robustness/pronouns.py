"""The attack that gives every personal pronoun to another person: "he" becomes "she"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from infolm_metric.robustness.lexicon import readings
from infolm_metric.robustness.verbs import BE, after_adverbs
from infolm_metric.robustness.words import (
    AUXILIARIES,
    FUNCTION_WORDS,
    JOINING,
    PREPOSITIONS,
    Edit,
    Word,
    cased,
    changed,
    listed,
    neighbour,
    opens_sentence,
    outside_quotes,
    stands_alone,
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
VERBS_AFTER = {
    "i": {"am": "are", "was": "were", "wasn't": "weren't", "wasn’t": "weren’t"},
    "you": {"are": "am", "were": "was", "weren't": "wasn't", "weren’t": "wasn’t"},
}
NO_PARTNER = frozenset(listed("aren't aren’t ain't ain’t be being been"))
UNSURE_JOINED = ("you", "her")
JOINTS = frozenset(listed("and or nor"))
UNSURE_AFTER = frozenset(
    listed("then past near inside outside off up down over under like here there all no")
)
"""Function words that may belong to what is owned: "his then wife", "her past life"."""
GIVEN = frozenset(
    listed(
        """
        give gives gave given giving send sends sent sending tell tells told telling show shows
        showed shown offer offers offered teach teaches taught buy buys bought bring brings brought
        make makes made making call calls called calling name names named let lets see sees saw seen
        hear hears heard watch watches watched help helps helped helping find finds found keep keeps
        kept leave leaves left consider considers considered get gets got ask asks asked
        """
    )
)
"""Verbs that have more after an object: "gave her flowers", "saw her run"."""
CLAUSES = JOINING - {"not", "also", "here", "there", "than"} | frozenset(
    listed("as since before after until what how why whether")
)
"""Words after which a clause may begin, and so its subject."""
JOINED = re.compile(r"(?i)(he|she|we|they|i|you)(['’](?:ll|ve|d|s|re|m))")
ENDINGS_AFTER = {"i": {"m": "re"}, "you": {"re": "m"}}
"""As VERBS_AFTER, for "I'm" and "you're"."""


def swap_pronouns(text: str, random: Random) -> str | None:
    """All pronouns swapped, with the verb after "I" and "you"; not those in titles."""
    words = words_of(text)
    edits: list[Edit] = []
    plain = {word.start for word in outside_quotes(text, words)}
    for place, word in enumerate(words):
        if word.start not in plain or _coordinated(text, words, place):
            continue
        if joined := JOINED.fullmatch(word.text):
            edits += _joined(text, word, *joined.groups())
            continue
        new = _swapped(text, words, place) if _pronoun(text, words, place) else None
        if new is None:
            continue
        edits.append((word, _cased(new, text, word)))
        verb = _verb(text, words, place)
        if verb is not None and (form := VERBS_AFTER.get(word.lower, {}).get(verb.text)):
            edits.append((verb, form))
    return changed(text, edits) if edits else None


def _coordinated(text: str, words: Sequence[Word], index: int) -> bool:
    """True for a half of "he or she", "he / she" or "you and me", which say as much the other way.

    And where the case is in doubt ("her and"), or the verb is plural: "you and Ann are".
    """
    word = words[index]
    if "/" in (text[: word.start].rstrip()[-1:], text[word.end :].lstrip()[:1]):
        return True
    for step in (-1, 1):
        joint = neighbour(text, words, index, step)
        if joint is None or joint.lower not in JOINTS:
            continue
        other = neighbour(text, words, index + step, step)
        if word.lower in UNSURE_JOINED and (step == 1 or other is not None):
            return True
        if other is not None and (other.lower in SWAPS or other.lower in BY_PLACE):
            return True
    return False


def _verb(text: str, words: Sequence[Word], index: int) -> Word | None:
    """The next word but for adverbs: the verb, if this is its subject."""
    place = after_adverbs(text, words, index)
    return None if place is None else words[place]


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
    bound = tuple("-–&@")
    if text[word.start - 1 : word.start] in (*bound, ".") or text[word.end : word.end + 1] in bound:
        return False
    before, after = (neighbour(text, words, index, step) for step in (-1, 1))
    if word.lower == "mine":
        return _owned_by_me(before, after)
    if word.lower == "i" and not _subject(text, words, index):
        return False
    if not word.capitalised or word.text == "I":
        return True
    opens = opens_sentence(text, word) and not word.text.isupper()
    return opens and (after is None or not after.capitalised or word.lower in ("his", "her"))


def _owned_by_me(before: Word | None, after: Word | None) -> bool:
    """True for "mine" in "is mine" and "a friend of mine", not in "the coal mine"."""
    free = after is None or "NOUN" not in readings(after.lower) or after.lower in FUNCTION_WORDS
    return free and before is not None and before.lower in BE | {"of", "than"}


def _subject(text: str, words: Sequence[Word], index: int) -> bool:
    """True for "I" and "you" before a verb that is theirs, not for "Elizabeth I" and "are you"."""
    before, verb = neighbour(text, words, index, -1), _verb(text, words, index)
    if verb is None or verb.lower in NO_PARTNER:
        return False
    if before is not None:
        if before.lower in AUXILIARIES or before.lower.endswith(("n't", "n’t")):
            return False
        if before.capitalised and before.lower not in FUNCTION_WORDS:
            return opens_sentence(text, before) and list(readings(before.lower)) == ["ADV"]
    return _finite(verb)


def _finite(word: Word) -> bool:
    """True for what can be the verb of "I" and "you"."""
    helper = word.lower in AUXILIARIES or word.lower.endswith(("n't", "n’t"))
    return helper or (word.text.islower() and "VERB" in readings(word.lower))


def _swapped(text: str, words: Sequence[Word], index: int) -> str | None:
    """The other person's pronoun; None where its case is in doubt."""
    word = words[index].lower
    if word not in BY_PLACE:
        return SWAPS[word]
    first, second = BY_PLACE[word]
    if word == "you":
        return _you(text, words, index)
    after = neighbour(text, words, index, 1)
    if after is None:
        rest = text[words[index].end :].lstrip()[:1]
        # What is written in digits or in another script is owned, too, and a title may be.
        if rest.isalnum():
            return first
        if rest in tuple(".,;:!?"):
            return second
        return first if word == "his" and rest in tuple("\"“‘'") else None
    if after.capitalised or after.lower == "own" or not stands_alone(text, after):
        return first
    if after.lower in UNSURE_AFTER:
        return None
    if word == "his":
        return second if after.lower in FUNCTION_WORDS else first
    if after.lower in FUNCTION_WORDS:
        return second
    before, found = neighbour(text, words, index, -1), readings(after.lower)
    if not {"NOUN", "ADJ"} & set(found) or (before is not None and before.lower in GIVEN):
        return None
    governed = before is None or before.lower in FUNCTION_WORDS
    return first if governed or "ADV" not in found else None


def _you(text: str, words: Sequence[Word], index: int) -> str | None:
    """What stands for "you": "I" where a clause begins, "me" after what governs it, else None."""
    before, after = (neighbour(text, words, index, step) for step in (-1, 1))
    subject = _subject(text, words, index)
    if before is None or before.lower in CLAUSES:
        return "I" if subject else None
    if before.lower in AUXILIARIES or before.lower.endswith(("n't", "n’t")):
        return None
    verb = _verb(text, words, index)
    if verb is not None and verb.lower not in ("to", "how") and _finite(verb):
        return None
    governs = before.lower in PREPOSITIONS or "VERB" in readings(before.lower)
    return "me" if governs else None


def _cased(new: str, text: str, word: Word) -> str:
    if new == "I":
        return new
    if word.text == "I":
        return cased(new, "X" if opens_sentence(text, word) else "x")
    return cased(new, word.text)
