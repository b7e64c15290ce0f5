"""Attacks that put in a word of another meaning: a noun, a verb, an adjective, or one noun more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from infolm_metric.robustness.articles import with_article
from infolm_metric.robustness.lexicon import (
    SHORTEST,
    content_words,
    forms,
    inflected,
    is_content,
    readings,
    tag_of,
)
from infolm_metric.robustness.number_words import ONES, TENS
from infolm_metric.robustness.numbers import UNIT
from infolm_metric.robustness.verbs import BE, RELATIVE, third_person
from infolm_metric.robustness.word_pools import ADJECTIVES, NOUNS, VERBS
from infolm_metric.robustness.words import (
    AUXILIARIES,
    DETERMINERS,
    FUNCTION_WORDS,
    PREPOSITIONS,
    Word,
    changed,
    listed,
    lower_words,
    neighbour,
    outside_quotes,
    sentence_of,
    stands_alone,
    words_of,
)

QUANTITIES = frozenset(
    listed(
        """
        other many more most much same own such several few fewer less least last next first
        second third seventh ninth eleventh seventeenth nineteenth hundred only former latter very
        due able square cubic certain entire whole
        """
    )
    + ONES
    + TENS
)
"""Adjectives for the dictionary that no other adjective can stand for."""
NO_THINGS = frozenset(
    listed(
        """
        people police few million billion trillion thousand hundred dozen lot lots kind kinds sort
        sorts type types others number couple pair plenty deal rest majority percent responsible
        """
    )
)
"""Nouns for the dictionary that no other noun can stand for."""
COMPLEMENTS = frozenset(listed("to for of with from that"))
"""What an adjective has that asks for it: "famous for"."""
SINGULAR = frozenset(listed("is was has does isn't wasn't hasn't doesn't isn’t wasn’t hasn’t"))
PARTED = re.compile(r"[,;:]|\b(?:and|but|while|where|when|because|although)\b")
OWNING = DETERMINERS - {"that", "which", "all", "both", "either", "neither"}
"""What a noun follows, sooner or later, and no verb."""


def add_noun(text: str, random: Random) -> str | None:
    """Turns "city" into "city and lamp"."""
    words = words_of(text)
    places = {word: place for place, word in enumerate(words)}
    found = [word for word in _heads(text) if not _counted(text, words, places[word])]
    if not found:
        return None
    word = random.choice(found)
    new = _draw(NOUNS, "NOUN", word.text, random)
    return new and changed(text, [(word, f"{word.text} and {new}")])


def other_noun(text: str, random: Random) -> str | None:
    """Turns "city" into "lamp"."""
    return _replace(text, _heads(text), NOUNS, "NOUN", random)


def other_verb(text: str, random: Random) -> str | None:
    """Turns "located" into "painted"."""
    words, content = words_of(text), set(content_words(text, "VERB"))
    found = [
        word
        for place, word in enumerate(words)
        if word in content and tag_of(word.text, "VERB", _before(text, words, place))
    ]
    return _replace(text, found, VERBS, "VERB", random)


def other_adjective(text: str, random: Random) -> str | None:
    """Turns "large" into "wooden"."""
    return _replace(text, _adjectives(text), ADJECTIVES, "ADJ", random)


def _replace(
    text: str, found: Sequence[Word], pool: Sequence[str], part: str, random: Random
) -> str | None:
    """The text with one of the words found replaced by one of the pool in the same form."""
    if not found:
        return None
    word = random.choice(found)
    words = words_of(text)
    new = _draw(pool, part, word.text, random, _before(text, words, words.index(word)))
    return new and changed(text, with_article(text, word, new))


def _draw(
    pool: Sequence[str], part: str, word: str, random: Random, before: str = ""
) -> str | None:
    """A word of the pool in the form that this word has; None if its form is not known."""
    tag = tag_of(word, part, before)
    if tag is None:
        return None
    own = readings(word)[part]
    fitting = [new for lemma in pool if lemma != own and (new := inflected(lemma, part, tag))]
    return random.choice(fitting)


def _before(text: str, words: Sequence[Word], index: int) -> str:
    """The word before another one, or nothing."""
    found = neighbour(text, words, index, -1)
    return "" if found is None else found.text


def _counted(text: str, words: Sequence[Word], index: int) -> bool:
    """True for one thing before a verb that "and lamp" would put in the plural.

    Not for the object of a verb before, if what follows is parted from it: "saw a city and is".
    """
    word = words[index]
    if tag_of(word.text, "NOUN") != "NN":
        return False
    before, after = (len(words_of(side)) for side in sentence_of(text, word))
    verbs = [
        place
        for place in range(max(0, index - before), min(len(words), index + after + 1))
        if words[place].lower in SINGULAR or third_person(text, words, place)
    ]
    following = next((words[place] for place in verbs if place > index), None)
    if following is None:
        return False
    between = text[word.end : following.start]
    parted = PARTED.search(between) and not RELATIVE & {*lower_words(between)}
    return not (parted and verbs[0] < index)


def _heads(text: str) -> list[Word]:
    """The nouns that end their phrase: not "genre" in "genre rock", nor "year" in "year 1999".

    A name may follow, as in "the song Imagine": "the song and lamp Imagine" is none the worse.
    """
    words = words_of(text)
    plain = set(outside_quotes(text, words))
    return [
        word
        for place, word in enumerate(words)
        if word in plain and stands_alone(text, word) and word.text not in NO_THINGS
        if tag_of(word.text, "NOUN")
        if is_content(word.text, "NOUN") or _stands_as_noun(text, words, place)
        if _ends_phrase(text, words, place)
    ]


def _stands_as_noun(text: str, words: Sequence[Word], index: int) -> bool:
    """True for what can be a noun and also something else, where only a noun can stand.

    So "band" in "the band Train": an article or an adjective comes before.
    """
    word, before = words[index].text, neighbour(text, words, index, -1)
    found = readings(word)
    if "NOUN" not in found or len(word) < SHORTEST or not word.islower() or not word.isalpha():
        return False
    if word in FUNCTION_WORDS or before is None or "ADV" in found:
        return False
    if before.lower not in OWNING and not is_content(before.text, "ADJ"):
        return False
    if "VERB" in found and tag_of(word, "VERB") not in ("VB", "VBZ"):  # "the known", "a running"
        return False
    after = neighbour(text, words, index, 1)
    return "ADJ" not in found or after is None or after.lower in PREPOSITIONS | AUXILIARIES


def _ends_phrase(text: str, words: Sequence[Word], index: int) -> bool:
    after = neighbour(text, words, index, 1)
    if after is None:
        return not text[words[index].end :].lstrip()[:1].isalnum()
    if after.lower in FUNCTION_WORDS or after.capitalised:
        return True
    found = readings(after.text)
    if "VERB" in found and after.text in forms(found["VERB"], "VERB").get("VBN", ()):
        return after.text != found["VERB"]  # "the city known as"
    return bool(found) and not {"NOUN", "ADJ"} & set(found)


def _adjectives(text: str) -> list[Word]:
    """Adjectives: words that can be nothing else, or that stand where an adjective does."""
    words = words_of(text)
    return [
        word
        for place, word in enumerate(words)
        if word.text.islower() and word.text not in QUANTITIES | FUNCTION_WORDS
        if stands_alone(text, word) and word in outside_quotes(text, [word])
        if is_content(word.text, "ADJ") or _in_its_place(text, words, place)
        if not UNIT.fullmatch(_before(text, words, place))  # "two years old"
        if (after := neighbour(text, words, place, 1)) is None or after.lower not in COMPLEMENTS
    ]


def _in_its_place(text: str, words: Sequence[Word], index: int) -> bool:
    """True for what can be an adjective, before a content noun or after "is"."""
    word = words[index]
    if "ADJ" not in readings(word.text) or not word.text.isalpha():
        return False
    before, after = (neighbour(text, words, index, step) for step in (-1, 1))
    verb = "VERB" in readings(word.text)
    if after is not None and is_content(after.text, "NOUN"):
        return not verb or (before is not None and before.lower in DETERMINERS)
    # In "is resident of" it is a noun, in "was born" a verb, in "is light rock" before a noun.
    if before is None or before.lower not in BE or verb:
        return False
    return after is None or after.lower in FUNCTION_WORDS - {"of"}
