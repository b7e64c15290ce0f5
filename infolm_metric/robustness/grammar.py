"""English grammar for the attacks: word forms from a dictionary, and the roles of words in a text.

Functions return False, None or "" for ambiguous words, so that attacks skip them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import lemminflect

from infolm_metric.robustness.words import FUNCTION_WORDS, WORD_LISTS, Text

SHORTEST = 3  # minimum number of letters in a content word
# Tags of the inflections of each part of speech. A form that is both VBD and VBN counts as VBD.
TAGS = {
    "NOUN": ("NN", "NNS"),
    "VERB": ("VBZ", "VBG", "VBD", "VBN", "VB"),
    "ADJ": ("JJ", "JJR", "JJS"),
}
VOWEL = re.compile(r"[aeiou]|hour|hono|heir|honest")


@lru_cache(maxsize=1 << 16)
def lemmas_by_pos(word: str) -> Mapping[str, str]:
    """Return a word's possible parts of speech, each with its lemma.

    >>> lemmas_by_pos("ran"), lemmas_by_pos("of")
    ({'VERB': 'run'}, {})
    """
    return {part: lemmas[0] for part, lemmas in lemminflect.getAllLemmas(word).items()}


@lru_cache(maxsize=1 << 16)
def inflect(lemma: str, tag: str) -> tuple[str, ...]:
    """Return a lemma's forms for a tag in the dictionary, the most common one first.

    >>> inflect("measure", "VBD"), inflect("wooden", "JJS")
    (('measured',), ())
    """
    forms: tuple[str, ...] = lemminflect.getInflection(lemma, tag, inflect_oov=False)
    return forms


def find_tag(word: str, part: str) -> str:
    """Return the tag of an inflected word, or "" if it is unknown or ambiguous, as for "sheep".

    >>> find_tag("cities", "NOUN"), find_tag("located", "VERB"), find_tag("city", "VERB")
    ('NNS', 'VBD', '')
    """
    lemma = lemmas_by_pos(word).get(part)
    tags = [tag for tag in TAGS[part] if lemma and word in inflect(lemma, tag)[:1]]
    return tags[0] if len(tags) == 1 or tags == ["VBD", "VBN"] else ""


def content_parts(word: str) -> set[str]:
    """Return the possible parts of speech of a lower-case content word, or an empty set.

    >>> content_parts("city"), sorted(content_parts("rock")), content_parts("which")
    ({'NOUN'}, ['NOUN', 'VERB'], set())
    """
    # The dictionary also contains function words. It lists "which" as a noun, for example.
    is_content = len(word) >= SHORTEST and word.isalpha() and word.islower()
    return {*lemmas_by_pos(word)} if is_content and word not in FUNCTION_WORDS else set()


def choose_article(word: str) -> str:
    """Return the indefinite article for a word.

    >>> [choose_article(word) for word in ("umbrella", "hour", "lamp")]
    ['an', 'an', 'a']
    """
    return "an" if VOWEL.match(word) else "a"


# Nouns.


def is_noun(text: Text, index: int) -> bool:
    """Return True for a noun that ends its phrase and is plural or has a determiner.

    >>> text = Text.parse("The rock band went to bed with songs; its genre rock music is old.")
    >>> [text.tokens[index] for index in text.words if is_noun(text, index)]
    ['band', 'songs']
    """
    word = text.tokens[index]
    tag, verb_form = find_tag(word, "NOUN"), find_tag(word, "VERB") not in ("", "VB")
    if verb_form or {"ADJ", "ADV"} & content_parts(word) or word in WORD_LISTS["no_nouns"]:
        return False
    determined = tag == "NNS" or (tag == "NN" and find_determiner(text, index) is not None)
    return bool(content_parts(word)) and determined and _ends_phrase(text, index)


def _ends_phrase(text: Text, index: int) -> bool:
    """Return False if the noun phrase continues, as after "genre" in "genre rock"."""
    after = text.lower(index + 1)
    if text.is_capitalised(index + 1) or after in FUNCTION_WORDS or not after.isalnum():
        return after not in ("that", "to", "'", "’", "-")
    return bool(lemmas_by_pos(after)) and not {"NOUN", "ADJ"} & {*lemmas_by_pos(after)}


def find_determiner(text: Text, index: int) -> int | None:
    """Return the index of a noun's determiner ("the", "Ann's") before any modifiers, or None."""
    for place in range(index - 1, -1, -1):
        word = text.lower(place)
        if word in WORD_LISTS["determiners"] or word.endswith(("'s", "’s")):
            return place
        modifier = find_tag(word, "ADJ") or find_tag(word, "NOUN") == "NN" or word.isdigit()
        if not modifier and not text.is_capitalised(place):
            break
    return None


# Verbs.


def object_follows(text: Text, index: int) -> bool:
    """Return True if the next token is a determiner, a capitalized word or a number."""
    after = text.lower(index + 1)
    determiner = after in WORD_LISTS["determiners"]
    return determiner or text.is_capitalised(index + 1) or after[:1].isdigit()


def takes_not(text: Text, index: int) -> bool:
    """Return True if "not" can follow, as in "have" with a participle or "can" with a base form.

    >>> text = Text.parse("It has run time; it has grown for years; a can of it will run.")
    >>> [index for index in text.words if takes_not(text, index)]
    [6, 15]
    """
    word, verb = text.tokens[index], text.lower(index + 1)
    base = lemmas_by_pos(verb).get("VERB")
    if word in WORD_LISTS["have"]:
        return base is not None and base != verb and verb in inflect(base, "VBN")
    before_base = word in WORD_LISTS["do"] + WORD_LISTS["modals"]
    return word in WORD_LISTS["be"] or (before_base and base == verb)


def is_finite(text: Text, index: int, tag: str) -> bool:
    """Return True for a finite main verb in the third person singular (VBZ) or past tense (VBD).

    Participles and nouns can have the same form. Therefore, a VBD must follow a subject such as
    "she" or "which", or be between a name and an object, and so must a VBZ that can be a noun.
    Forms of "have" and "do" must precede an object.

    >>> text = Text.parse("The town founded by Ann grew; she loved a poet who plays old plays.")
    >>> [[text.tokens[i] for i in text.words if is_finite(text, i, tag)] for tag in ("VBD", "VBZ")]
    [['loved'], ['plays']]
    """
    word, before = text.tokens[index], text.lower(index - 1)
    if word in WORD_LISTS["have"] + WORD_LISTS["do"]:
        return find_tag(word, "VERB") == tag and object_follows(text, index)
    if word in FUNCTION_WORDS or find_tag(word, "VERB") != tag:
        return False
    name = text.is_capitalised(index - 1) and before not in FUNCTION_WORDS
    has_subject = before in WORD_LISTS["subjects"] or (name and object_follows(text, index))
    return has_subject or (tag == "VBZ" and content_parts(word) == {"VERB"})


# Numbers.

MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b\.?"
)
DAYS = r"\d{1,2}(?:st|nd|rd|th)?(?:[-–]\d{1,2}(?:st|nd|rd|th)?)?"
# Dates, or else a number.
NUMBERS = re.compile(
    rf"\b{DAYS}\s+(?:of\s+)?{MONTH}(?:\s*,?\s*\d{{3,4}}\b)?"
    rf"|\b{MONTH}\s+{DAYS}\b(?!,\d{{3}}\b)(?:\s*,?\s*\d{{3,4}}\b)?"
    r"|\b\d+(?:-\d+){2,}"  # also ISBNs and telephone numbers
    r"|\b\d{1,4}([./])\d{1,2}\1\d{1,4}\b"
    r"|\b\d{1,2}:\d{2}(?::\d{2})?\b"
    r"|\b[12]\d{3}[-–/]\d{2,4}\b"  # a season, such as 1985-86
    r"|(?P<number>(?<![\w.,])(?<![A-Za-z][-–])(?!1[\s-]+[a-z])\d+(?:[.,]\d+)*(?!\w))"
)
YEAR = re.compile(r"(?:1\d|20)\d\d")


def find_numbers(text: str) -> list[re.Match[str]]:
    """Return the numbers in a text, except in dates, times, codes and words such as "A380".

    "1" in "1 km" and years (numbers from 1000 to 2099 without separators) are also left out.

    >>> text = "On 3 May 1999 the B-2 flew 1,250.5 km, in 1850 2,000 km, with 3 of 20 on board."
    >>> [number[0] for number in find_numbers(text)]
    ['1,250.5', '2,000', '3', '20']
    """
    matches = NUMBERS.finditer(text)
    return [match for match in matches if match["number"] and not YEAR.fullmatch(match[0])]
