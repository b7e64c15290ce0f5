"""The words of a text and where they stand; what is changed in a text, and how it is spelled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache


def listed(words: str) -> tuple[str, ...]:
    """The words between blanks, in order.

    >>> listed("a an the")
    ('a', 'an', 'the')
    """
    return tuple(words.split())


DETERMINERS = frozenset(
    listed(
        """
        a an the this that these those his her its their our my your some any each every no
        another both all either neither which whose
        """
    )
)
PREPOSITIONS = frozenset(
    listed(
        """
        about above across after against along among around as at before behind below beneath
        beside between beyond by despite down during except for from in inside into like near of
        off on onto out outside over past per since through throughout to toward towards under
        until up upon via with within without
        """
    )
)
PRONOUNS = frozenset(listed("i you he she it we they me him us them who whom"))
JOINING = frozenset(
    listed(
        """
        and or but nor so yet because although though while whereas if unless when where that
        which who than not also there here then
        """
    )
)
AUXILIARIES = frozenset(
    listed(
        """
        am is are was were be been being has have had having do does did can could will would
        shall should may might must
        """
    )
)
NAME_PARTICLES = frozenset(listed("van von de der den del della di da do dos du la le el bin ibn"))
"""Parts of names in lower case, which the dictionary may take for nouns: "Armin van Buuren"."""
FUNCTION_WORDS = DETERMINERS | PREPOSITIONS | PRONOUNS | JOINING | AUXILIARIES | NAME_PARTICLES

WORD = re.compile(r"(?<!\w)[A-Za-z]+(?:['’][A-Za-z]+)?(?!\w)")
QUOTED = re.compile(r"\"[^\"]{1,60}\"|“[^”]{1,60}”")
BOUND = "-–/_@#&"
"""What binds a word to its neighbour: of "well-known" neither half is a word to change."""
SENTENCE_END = re.compile(
    r"(?:[!?]|(?:(?<=[a-z]{3})|(?<=\b[a-z]{2})|(?<=[\s\d)\"”’%]))\.)[\"'”’)]*(?=\s|$)|\n"
)
"""Not the full stop of "St." or of "A.C."."""
ENDED = re.compile(r"(?:^|[.!?][\"'”’)]*\s)\W*$")


@dataclass(frozen=True)
class Word:
    """A word of letters, with at most one apostrophe, and where it stands."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The word in lower case."""
        return self.text.lower()

    @property
    def capitalised(self) -> bool:
        """True if it begins with a capital."""
        return self.text[0].isupper()


Edit = tuple[Word, str]
"""A word and what is put in its place."""


def words_of(text: str) -> list[Word]:
    """The words of a text, in order.

    >>> [word.text for word in words_of("Ann's cat isn't 3rd, says café B-2.")]
    ["Ann's", 'cat', "isn't", 'says', 'B']
    """
    return [Word(found[0], *found.span()) for found in WORD.finditer(text)]


def changed(text: str, edits: Iterable[Edit]) -> str:
    """The text with words replaced.

    >>> cat, dog = words_of("cat dog")
    >>> changed("cat dog", [(dog, "cow"), (cat, "hen")])
    'hen cow'
    """
    for word, new in sorted(edits, key=lambda edit: edit[0].start, reverse=True):
        text = text[: word.start] + new + text[word.end :]
    return text


def cased(new: str, old: str) -> str:
    """The new word with the case of the old one.

    >>> cased("lamp", "Table"), cased("lamp", "TABLE"), cased("lamp", "table")
    ('Lamp', 'LAMP', 'lamp')
    """
    if len(old) > 1 and old.isupper():
        return new.upper()
    return new[0].upper() + new[1:] if old[0].isupper() else new


def neighbour(text: str, words: Sequence[Word], index: int, step: int) -> Word | None:
    """The word before (-1) or after (1), if nothing but blanks lies between."""
    other = index + step
    if not 0 <= other < len(words):
        return None
    first, second = sorted((words[index], words[other]), key=lambda word: word.start)
    return words[other] if text[first.end : second.start].isspace() else None


def opens_sentence(text: str, word: Word) -> bool:
    """True if the word is the first one of a sentence.

    >>> text = 'He left. "They" did not.'
    >>> [word.text for word in words_of(text) if opens_sentence(text, word)]
    ['He', 'They']
    """
    return bool(ENDED.search(text[: word.start]))


def sentence_of(text: str, word: Word) -> tuple[str, str]:
    """What the sentence of a word has before it, and after it.

    >>> text = "He saw St. Ives. Is it big?"
    >>> [sentence_of(text, word) for word in words_of(text) if word.text in ("St", "it")]
    [('He saw ', '. Ives.'), (' Is ', ' big?')]
    """
    ends = _sentence_ends(text)
    start = max((end for end in ends if end <= word.start), default=0)
    end = min((end for end in ends if end >= word.end), default=len(text))
    return text[start : word.start], text[word.end : end]


@lru_cache(maxsize=4)
def _sentence_ends(text: str) -> tuple[int, ...]:
    return tuple(found.end() for found in SENTENCE_END.finditer(text))


def lower_words(text: str) -> list[str]:
    """The words of a text in lower case, in order.

    >>> lower_words("If Ann wins.")
    ['if', 'ann', 'wins']
    """
    return [word.lower for word in words_of(text)]


def common_words(text: str) -> list[str]:
    """The words of a text in lower case, but for the capitalised ones after the first: names.

    >>> common_words("If Ann wins.")
    ['if', 'wins']
    """
    return [
        word.lower
        for place, word in enumerate(words_of(text))
        if stands_alone(text, word) and not (place and word.capitalised)
    ]


def stands_alone(text: str, word: Word) -> bool:
    """True unless the word is a part of a longer one or of an address.

    >>> text = "A well-known dog of example.org."
    >>> [word.text for word in words_of(text) if stands_alone(text, word)]
    ['A', 'dog', 'of']
    """
    before, after = text[: word.start][-1:], text[word.end :][:2]
    bound = before and before in BOUND + ".'’"
    return not (
        bound or (after and after[0] in BOUND) or (after[:1] == "." and after[1:].isalnum())
    )


def quoted(text: str) -> list[tuple[int, int]]:
    """Where something short stands in double quotes: a title, most often.

    >>> quoted('He wrote "On me".')
    [(9, 16)]
    """
    return [found.span() for found in QUOTED.finditer(text)]


def outside_quotes(text: str, words: Iterable[Word]) -> list[Word]:
    """The words that stand in no title in quotes."""
    spans = quoted(text)
    return [word for word in words if not any(start < word.start < end for start, end in spans)]
