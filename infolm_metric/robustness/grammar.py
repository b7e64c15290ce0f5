"""English grammar for the attacks: word forms from a dictionary, and the roles of words in a text.

Functions return False or None for ambiguous words, so that attacks skip them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import lemminflect

from infolm_metric.robustness import words
from infolm_metric.robustness.words import FUNCTION_WORDS, Text

SHORTEST = 3  # minimum number of letters in a content word
# Tags of the inflections of each part of speech. A form that is both VBD and VBN counts as VBD.
TAGS = {
    "NOUN": ("NN", "NNS"),
    "VERB": ("VBZ", "VBG", "VBD", "VBN", "VB"),
    "ADJ": ("JJ", "JJR", "JJS"),
}
SILENT_H = re.compile(r"(?:hour|hono|heir|honest)")


@lru_cache(maxsize=1 << 16)
def lemmas_by_pos(word: str) -> Mapping[str, str]:
    """Return a word's possible parts of speech, each with its lemma.

    >>> lemmas_by_pos("ran"), lemmas_by_pos("of")
    ({'VERB': 'run'}, {})
    """
    return {part: lemmas[0] for part, lemmas in sorted(lemminflect.getAllLemmas(word).items())}


@lru_cache(maxsize=1 << 16)
def inflect(lemma: str, tag: str) -> tuple[str, ...]:
    """Return a lemma's forms for a tag in the dictionary, the most common one first.

    >>> inflect("measure", "VBD"), inflect("wooden", "JJS")
    (('measured',), ())
    """
    forms: tuple[str, ...] = lemminflect.getInflection(lemma, tag, inflect_oov=False)
    return forms


def find_tag(word: str, part: str) -> str | None:
    """Return the tag of an inflected word, or None if it is unknown or ambiguous, as for "sheep".

    >>> find_tag("cities", "NOUN"), find_tag("located", "VERB"), find_tag("city", "VERB")
    ('NNS', 'VBD', None)
    """
    lemma = lemmas_by_pos(word).get(part)
    tags = [tag for tag in TAGS[part] if lemma and word in inflect(lemma, tag)[:1]]
    return tags[0] if len(tags) == 1 or tags == ["VBD", "VBN"] else None


def is_content(word: str, part: str) -> bool:
    """Return True for a lower-case content word that can only be this part of speech.

    >>> is_content("city", "NOUN"), is_content("rock", "NOUN"), is_content("was", "VERB")
    (True, False, False)
    """
    return _can_be_content(word) and list(lemmas_by_pos(word)) == [part]


def _can_be_content(word: str) -> bool:
    # Function words are excluded, because the dictionary lists "which" as a noun, for example.
    letters = len(word) >= SHORTEST and word.isalpha() and word.islower()
    return letters and word not in FUNCTION_WORDS


def choose_article(word: str) -> str:
    """Return the indefinite article for a word.

    >>> [choose_article(word) for word in ("umbrella", "hour", "lamp")]
    ['an', 'an', 'a']
    """
    return "an" if word[0] in "aeiou" or SILENT_H.match(word) else "a"


# Nouns.


def is_noun(text: Text, index: int) -> bool:
    """Return True for a noun that ends its phrase and is plural or has a determiner.

    >>> text = Text.parse("The rock band went to bed with songs; its genre rock music is old.")
    >>> [text.tokens[index] for index in text.words if is_noun(text, index)]
    ['band', 'songs']
    """
    word = text.tokens[index]
    if not _can_be_content(word):
        return False
    if find_tag(word, "NOUN") == "NNS":
        return is_content(word, "NOUN") and _ends_phrase(text, index)
    modifier = {"ADJ", "ADV"} & {*lemmas_by_pos(word)}
    only_noun = not modifier and find_tag(word, "VERB") in (None, "VB")
    name_follows = text.is_capitalised(index + 1)
    has_determiner = find_tag(word, "NOUN") == "NN" and find_determiner(text, index) is not None
    return only_noun and has_determiner and (name_follows or _ends_phrase(text, index))


def _ends_phrase(text: Text, index: int) -> bool:
    """Return False if the noun phrase continues, as after "genre" in "genre rock"."""
    after = text.lower(index + 1)
    if after in FUNCTION_WORDS or not after.isalnum():
        return after not in ("that", "to", "'", "’", "-")
    return bool(lemmas_by_pos(after)) and not {"NOUN", "ADJ"} & {*lemmas_by_pos(after)}


def find_determiner(text: Text, index: int) -> int | None:
    """Return the index of the determiner ("the", "her", "Ann's") of a noun with modifiers."""
    while index > 0:
        index -= 1
        word = text.lower(index)
        if word in words.DETERMINERS or word.endswith(("'s", "’s")):
            return index
        adjective = find_tag(word, "ADJ") is not None
        modifier = adjective or find_tag(word, "NOUN") == "NN" or word.isdigit()
        if not text.is_capitalised(index) and (word in FUNCTION_WORDS or not modifier):
            return None
    return None


# Verbs.


def object_follows(text: Text, index: int) -> bool:
    """Return True if the next token is a determiner, a capitalized word or a number."""
    after = text.lower(index + 1)
    return text.is_capitalised(index + 1) or after in words.DETERMINERS or after[:1].isdigit()


def is_participle(word: str) -> bool:
    """Return True for a past participle that is neither a noun nor a base form, unlike "run"."""
    lemmas = lemmas_by_pos(word)
    verb = lemmas.get("VERB", word)
    return verb != word and "NOUN" not in lemmas and word in inflect(verb, "VBN")


def is_base(word: str) -> bool:
    """Return True for the base form of a verb."""
    verb = word not in FUNCTION_WORDS and lemmas_by_pos(word).get("VERB") == word
    return verb or word in ("be", "have", "do")


def takes_not(text: Text, index: int) -> bool:
    """Return True if "not" can follow, as in "have" with a participle or "can" with a base form.

    >>> text = Text.parse("It has run time; it has grown for years; a can of it will run.")
    >>> [index for index in text.words if takes_not(text, index)]
    [6, 15]
    """
    word, verb = text.tokens[index], text.lower(index + 1)
    if word in words.HAVE:
        return is_participle(verb)
    return word in words.BE or (word in words.DO | words.MODALS and is_base(verb))


def is_third_person(text: Text, index: int) -> bool:
    """Return True for a finite verb in the third person singular.

    >>> text = Text.parse("Ann plays the old plays that she likes.")
    >>> [text.tokens[index] for index in text.words if is_third_person(text, index)]
    ['plays', 'likes']
    """
    word = text.tokens[index]
    finite = word not in FUNCTION_WORDS and find_tag(word, "VERB") == "VBZ"
    return finite and (is_content(word, "VERB") or _has_subject(text, index))


def is_past_tense(text: Text, index: int) -> bool:
    """Return True for a finite verb in the past tense, but not for a participle.

    >>> text = Text.parse("The town founded by Ann grew; she loved a poet.")
    >>> [text.tokens[index] for index in text.words if is_past_tense(text, index)]
    ['loved']
    """
    word = text.tokens[index]
    finite = word not in FUNCTION_WORDS and find_tag(word, "VERB") == "VBD"
    return finite and _has_subject(text, index)


def _has_subject(text: Text, index: int) -> bool:
    """Return True after "she" or "which", and between a name and an object."""
    before = text.lower(index - 1)
    name = text.is_capitalised(index - 1) and before not in FUNCTION_WORDS
    return before in words.SUBJECTS or (name and object_follows(text, index))


# Numbers.

MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b\.?"
)
DAYS = r"\d{1,2}(?:st|nd|rd|th)?(?:[-–]\d{1,2}(?:st|nd|rd|th)?)?"
DATES = re.compile(
    rf"\b{DAYS}\s+(?:of\s+)?{MONTH}(?:\s*,?\s*\d{{3,4}}\b)?"
    rf"|\b{MONTH}\s+{DAYS}\b(?!,\d{{3}}\b)(?:\s*,?\s*\d{{3,4}}\b)?"
    rf"|\b{MONTH}\s*,?\s+(?:of\s+)?\d{{3,4}}\b"
    r"|\b\d+(?:-\d+){2,}"  # also ISBNs and telephone numbers
    r"|\b\d{1,4}([./])\d{1,2}\1\d{1,4}\b"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?\b"
    r"|\b[12]\d{3}[-–/]\d{2,4}\b"  # a season, such as 1985-86
)
NUMBER = re.compile(r"(?<![\w.,])(?<![A-Za-z][-–])\d+(?:[.,]\d+)*(?!\w)")
YEAR = re.compile(r"[12]\d{3}(?<!2[1-9]\d\d)")


def find_numbers(text: str) -> list[re.Match[str]]:
    """Return the numbers in a text, except in dates and in words such as "A380".

    A number from 1000 to 2099 without separators is treated as a year.

    >>> text = "On 3 May 1999 the B-2 flew 1,250.5 km, in 1850 2,000 km, with 3 of 20 on board."
    >>> [number[0] for number in find_numbers(text)]
    ['1,250.5', '2,000', '3', '20']
    """
    dates = [date.span() for date in DATES.finditer(text)]
    return [
        number
        for number in NUMBER.finditer(text)
        if not any(start <= number.start() < end for start, end in dates)
        if not YEAR.fullmatch(number[0])
    ]
