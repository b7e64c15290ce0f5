"""What a verb form does where it stands: helps another verb, or is finite itself."""

from __future__ import annotations

from collections.abc import Sequence

from infolm_metric.robustness.lexicon import forms, readings, tag_of
from infolm_metric.robustness.words import (
    AUXILIARIES,
    DETERMINERS,
    FUNCTION_WORDS,
    PREPOSITIONS,
    Word,
    listed,
    neighbour,
)

BE = frozenset({"is", "are", "was", "were"})
HAVE = frozenset({"has", "have", "had"})
DO = frozenset({"do", "does", "did"})
MODALS = frozenset(listed("can could will would should may might must"))
SUBJECTS = frozenset(listed("i you he she it we they who which that"))
RELATIVE = frozenset(listed("who which what that"))
NEGATIVE = frozenset(
    listed(
        """
        no not never neither nor none nobody nothing nowhere cannot hardly scarcely barely rarely
        seldom n't n’t
        """
    )
)
ONLY = frozenset(listed("only just merely simply even necessarily so much until"))
"""What denies nothing after "not": "not only"."""
BETWEEN = frozenset(listed("since long once ever still now then first later"))
"""Adverbs that can be other words, too, and stand between a helper and its verb."""


def after_adverbs(text: str, words: Sequence[Word], index: int) -> int | None:
    """The place of the next word that is no adverb, if nothing but blanks lies between."""
    following = neighbour(text, words, index, 1)
    while following is not None:
        index += 1
        if not _adverb(following.lower):
            return index
        following = neighbour(text, words, index, 1)
    return None


def helps(text: str, words: Sequence[Word], index: int) -> bool:
    """True if the word is an auxiliary that "not" can follow: the verb it helps comes next.

    A form of "be" always is one; "have" needs a participle, the others an infinitive.

    >>> from infolm_metric.robustness.words import words_of
    >>> text = "It has run time; it has run for years; a can of it will run."
    >>> found = words_of(text)
    >>> [word.start for place, word in enumerate(found) if helps(text, found, place)]
    [20, 51]
    """
    word = words[index].text
    following = neighbour(text, words, index, 1)
    if following is not None and following.lower in NEGATIVE | ONLY:
        return False
    if word in BE:
        return True
    place = after_adverbs(text, words, index)
    if place is None:
        return False
    if word in HAVE:
        return _participle(text, words, place)
    return (word in DO or word in MODALS) and _infinitive(words[place].lower)


def third_person(text: str, words: Sequence[Word], index: int) -> bool:
    """True if the word is a finite verb in the third person singular, and not a plural noun.

    >>> from infolm_metric.robustness.words import words_of
    >>> text = "Ann plays the old plays that she likes."
    >>> found = words_of(text)
    >>> [word.text for place, word in enumerate(found) if third_person(text, found, place)]
    ['plays', 'likes']
    """
    word = words[index]
    if word.text in AUXILIARIES | {"thirds"}:  # for the dictionary "thirds" is a verb
        return False
    if not word.text.islower() or tag_of(word.text, "VERB") != "VBZ":
        return False
    if list(readings(word.text)) == ["VERB"]:
        return True
    before, after = (neighbour(text, words, index, step) for step in (-1, 1))
    if before is None or "'" in before.text or "’" in before.text:
        return False
    if before.text.lower() in SUBJECTS:
        return True
    fits = after is not None and (
        after.capitalised or after.lower in DETERMINERS | PREPOSITIONS - {"of"}
    )
    return before.capitalised and before.lower not in FUNCTION_WORDS and fits


def past_tense(text: str, words: Sequence[Word], index: int) -> bool:
    """True if the word is a finite verb in the past tense, and not a participle.

    >>> from infolm_metric.robustness.words import words_of
    >>> text = "The town founded by Ann grew; she loved a poet."
    >>> found = words_of(text)
    >>> [word.text for place, word in enumerate(found) if past_tense(text, found, place)]
    ['grew', 'loved']
    """
    word = words[index]
    if not word.text.islower() or word.text in AUXILIARIES or "VERB" not in readings(word.text):
        return False
    found = forms(readings(word.text)["VERB"], "VERB")
    if word.text not in found.get("VBD", ()) or word.text in found.get("VB", ()):
        return False
    if word.text not in found["VBN"]:
        return list(readings(word.text)) == ["VERB"]
    before, after = (neighbour(text, words, index, step) for step in (-1, 1))
    if before is not None and before.lower in SUBJECTS:
        return True
    if after is None:
        object_follows = text[word.end :].lstrip()[:1] in tuple("0123456789$€£")
    else:
        object_follows = after.capitalised or after.lower in DETERMINERS
    return before is not None and before.lower not in FUNCTION_WORDS and object_follows


def _adverb(word: str) -> bool:
    if word in BETWEEN:
        return True
    return word not in FUNCTION_WORDS - {"also"} | {"yet"} and list(readings(word)) == ["ADV"]


def _infinitive(word: str) -> bool:
    if word in ("be", "have", "do"):
        return True
    found = readings(word).get("VERB")
    return found == word and word not in FUNCTION_WORDS


def _participle(text: str, words: Sequence[Word], index: int) -> bool:
    """True for a past participle; "run" in "has run time" is none."""
    word = words[index].lower
    if word == "been":
        return True
    found = readings(word)
    if "VERB" not in found or word not in forms(found["VERB"], "VERB").get("VBN", ()):
        return False
    if "NOUN" not in found and word != found["VERB"]:
        return True
    after = neighbour(text, words, index, 1)
    if after is None:  # the end, or a number: a thing that is had, and a thing that was done
        return word != found["VERB"]
    return after.lower in (DETERMINERS | PREPOSITIONS) - {"of"}
