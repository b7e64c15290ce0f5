"""The attack that denies: "is" becomes "is not", and "is not" becomes "is"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from infolm_metric.robustness.lexicon import forms, readings
from infolm_metric.robustness.verbs import (
    BE,
    DO,
    HAVE,
    MODALS,
    NEGATIVE,
    ONLY,
    helps,
    past_tense,
    third_person,
)
from infolm_metric.robustness.words import (
    DETERMINERS,
    FUNCTION_WORDS,
    Edit,
    Word,
    cased,
    changed,
    common_words,
    listed,
    neighbour,
    opens_sentence,
    outside_quotes,
    sentence_of,
    words_of,
)

CONTRACTED = {"wo": "will", "ca": "can", "sha": "shall"}
HELPERS = BE | HAVE | DO | MODALS | {"am"}
JOINED = tuple(mark + end for mark in "'’" for end in ("m", "re", "s", "ve", "d", "ll"))
"""What helpers are in "I'm" and "we've"."""
ASKING = re.compile(
    r"(?i)(?:\?|,\s*[a-z]+(?:\s?n['’]t)?\s+(?:i|you|he|she|it|we|they|there)(?:\s+not)?)"
    r"[\s.!\"'”’)]*$"
)
"""The end of a question, or of a statement with a tag: ", isn't it."."""
FRONTED = frozenset(
    listed(
        """
        how when where why what whom here nor neither never so such thus than as little few only
        rarely seldom hardly scarcely or
        """
    )
)
"""After these a helper may come before its subject, or stand for what was said: "as did Ann"."""
INVERTED = frozenset(listed("i you he she it we they this that these those there"))
DEPENDENT = frozenset(
    listed("any anyone anybody anything anywhere anymore ever yet either until whether neither nor")
)
"""What needs the "not" of its sentence, or what needs none."""
IDIOM = re.compile(
    r"(?i)\b(?:(?:at all|help but|let alone|much of a|least bit|care less|that is to say)\b"
    r"|that is\s*,)"
)
"""Phrases that go with a "not" or without it, and "that is", an aside with no clause to deny."""
OWNABLE = DETERMINERS - {"all", "both", "each", "any", "either", "neither", "which", "that", "no"}


def negate(text: str, random: Random) -> str | None:
    """A negation taken away if there is one, else one put in, by the first rule that fits.

    Not in questions, before a subject ("Had he"), nor where the sentence denies already or has an
    idiom that would break.
    """
    words = words_of(text)
    plain = {
        word.start
        for word in outside_quotes(text, words)
        if not IDIOM.search(word.text.join(sentence_of(text, word)))
    }
    for rule, allowed in RULES:
        for place, word in enumerate(words):
            edits = rule(text, words, place) if word.start in plain else []
            if edits and allowed(text, words, place):
                return changed(text, edits)
    return None


def _removable(text: str, words: Sequence[Word], index: int) -> bool:
    """True if the sentence is true or false without its "not": no question, no "or not"."""
    before, after = sentence_of(text, words[index])
    previous = neighbour(text, words, index, -1)
    if ASKING.search(after) or (previous is not None and previous.lower == "or"):
        return False
    if DEPENDENT & _said(before, after):
        return False
    return not any(each.lower in INVERTED for each in _following(text, words, index))


def _said(before: str, after: str) -> set[str]:
    """The words around a word, names apart."""
    return {*common_words(before), *common_words(f"it {after}")}


def _following(text: str, words: Sequence[Word], index: int) -> list[Word]:
    """The next word, or the one after a "not"."""
    after = neighbour(text, words, index, 1)
    if after is not None and after.lower in ("not", "n't", "n’t"):
        after = neighbour(text, words, index + 1, 1)
    return [] if after is None else [after]


def _deniable(text: str, words: Sequence[Word], index: int) -> bool:
    """True if a "not" makes a statement a denial: the subject stands before, and nothing denies."""
    before, after = sentence_of(text, words[index])
    around = _said(before, after)
    if ASKING.search(after) or "whether" in around or NEGATIVE & around:
        return False
    if any(word.endswith(("n't", "n’t")) for word in around) or opens_sentence(text, words[index]):
        return False
    previous = neighbour(text, words, index, -1)
    if previous is None:
        return not any(each.lower in INVERTED for each in _following(text, words, index))
    return previous.lower not in FRONTED


def _contracted(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    """Turns "isn't" into "is", and "ca n't" into "can"."""
    word = words[index]
    if not word.lower.endswith(("n't", "n’t")):
        return []
    if len(word.text) == 3:  # a tokeniser cut it off
        stem = neighbour(text, words, index, -1)
        if stem is None:
            return []
        word = Word(text[stem.start : word.end], stem.start, word.end)
    old = word.text[:-3].rstrip()
    new = CONTRACTED.get(old.lower(), old)
    return [(word, cased(new, word.text))] if new.lower() in HELPERS | {"shall"} else []


def _not_removed(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    """Turns "is not" into "is" and "I'm not" into "I'm", but not in "is not only"."""
    word = words[index]
    denied = neighbour(text, words, index, 1)
    helper = word.lower in HELPERS or word.lower.endswith(JOINED)
    if not helper or denied is None or denied.text != "not":
        return []
    after = neighbour(text, words, index + 1, 1)
    if after is not None and after.lower in ONLY:
        return []
    return [(Word(text[word.start : denied.end], word.start, denied.end), word.text)]


def _cannot(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    word = words[index]
    return [(word, word.text[:3])] if word.lower == "cannot" else []


def _not_added(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    """Turns "is" into "is not"."""
    word = words[index]
    return [(word, f"{word.text} not")] if helps(text, words, index) else []


def _did_not(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    """Turns "wrote" into "did not write"."""
    itself = words[index].text in ("had", "did") and _has_an_object(text, words, index)
    return _denied(words[index], "did") if itself or past_tense(text, words, index) else []


def _does_not(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    """Turns "writes" into "does not write"."""
    itself = words[index].text in ("has", "does") and _has_an_object(text, words, index)
    return _denied(words[index], "does") if itself or third_person(text, words, index) else []


def _denied(word: Word, helper: str) -> list[Edit]:
    return [(word, f"{helper} not {readings(word.text)['VERB']}")]


def _has_an_object(text: str, words: Sequence[Word], index: int) -> bool:
    """True for "has", "had" and the like as the verb itself: what is surely a thing follows."""
    after = neighbour(text, words, index, 1)
    if after is None:
        rest = text[words[index].end :].lstrip()[:1]
        return rest.isalnum() or rest in tuple('$€£"“')
    if after.lower in FUNCTION_WORDS:
        return after.lower in OWNABLE
    found = readings(after.lower)
    participle = "VERB" in found and after.lower in forms(found["VERB"], "VERB").get("VBN", ())
    return after.capitalised or not (participle or "ADV" in found)


Rule = Callable[[str, Sequence[Word], int], list[Edit]]
Condition = Callable[[str, Sequence[Word], int], bool]
RULES: tuple[tuple[Rule, Condition], ...] = (
    (_contracted, _removable),
    (_not_removed, _removable),
    (_cannot, _removable),
    (_not_added, _deniable),
    (_did_not, _deniable),
    (_does_not, _deniable),
)
"""In this order, each where its condition holds, from the first word to the last."""
