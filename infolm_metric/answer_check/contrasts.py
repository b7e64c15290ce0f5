"""Answers with the words of a reference but another meaning: exchanged roles and opposite words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from infolm_metric.answer_check.tokens import Overlap, Token, answer_tokens

# Words of a group exclude each other.
WORDS = (
    "north south east west, northern southern eastern western, northeast northwest southeast "
    "southwest, left right, upper lower higher, inner outer, internal external, anterior "
    "posterior, increase decrease, increases decreases, increased decreased, increasing "
    "decreasing, rises falls, more less fewer, most least, larger smaller, largest smallest, "
    "longest shortest, highest lowest, faster slower, older younger, oldest youngest, earlier "
    "later, before after, above below, maximum minimum, positive negative, male female, father "
    "mother, son daughter, brother sister, husband wife, uncle aunt, king queen, prince "
    "princess, true false, hot cold, summer winter spring autumn, first second third fourth "
    "fifth sixth seventh eighth ninth tenth, monday tuesday wednesday thursday friday saturday "
    "sunday, january february march april may june july august september october november "
    "december"
)
OPPOSITES = [frozenset(group.split()) for group in WORDS.split(", ")]
LISTED = frozenset(("and", "or", "&", "plus"))
# Words that an answer often replaces by a noun.
PRONOUNS = frozenset(("it", "them", "him", "her", "he", "she", "they", "his", "its", "their"))
PARTICIPLES = ("ed", "en", "wn", "un", "ung", "ght", "old", "ade", "und")


def opposite(answer: Sequence[Token], overlap: Overlap) -> str:
    """Return the word of a reference that an answer replaces by an opposite, or "".

    >>> from infolm_metric.answer_check.tokens import compare, reference_tokens
    >>> answer = answer_tokens("It is in North Korea.")
    >>> opposite(answer, compare(answer, reference_tokens("South Korea")))
    'South'
    """
    keys = {token.key for token in answer}
    known = {token.key for token in overlap.matched}
    for token in overlap.missing:
        if any(token.key in group and group & (keys - known) for group in OPPOSITES):
            return token.text
    return ""


def is_determiner(answer: Sequence[Token], reference: Sequence[Token]) -> bool:
    """Return whether each "no" of an answer with "yes" belongs to a noun, if the reference is "no".

    >>> is_determiner(answer_tokens("There is no doubt: yes"), answer_tokens("No"))
    True
    """
    keys = [token.key for token in answer]
    if [token.key for token in reference] != ["no"] or "yes" not in keys:
        return False
    followers = [after for word, after in pairwise(keys) if word == "no"]
    return bool(followers) and "yes" not in followers and "no" not in (keys[0], keys[-1])


def exchanges_roles(statement: str, reference: Sequence[Token]) -> bool:
    """Return True if a statement exchanges two words of a reference around the others.

    An order of the words is an exchange if both are active or both are passive.

    >>> from infolm_metric.answer_check.tokens import reference_tokens
    >>> expected = reference_tokens("Rome defeated Carthage")
    >>> exchanges_roles("Carthage defeated Rome.", expected)
    True
    >>> exchanges_roles("Carthage was defeated by Rome.", expected)
    False
    """
    tokens = answer_tokens(statement)
    keys, wanted = [token.key for token in tokens], [token.key for token in reference]
    common, order = [x for x in keys if x in wanted], [x for x in wanted if x in keys]
    lost = set(wanted) - set(common) - PRONOUNS - {"by"}
    if lost or LISTED.intersection(wanted) or len(order) < 3:
        return False
    passive = [_participle(words, common) for words in (keys, wanted)]
    if passive[0] != passive[1]:
        common, order = ([x for x in words if x != "by"] for words in (common, order))
        return common == order and len(set(order)) == len(order)
    if len(set(common)) < len(common) or sorted(common) != sorted(order):
        return False
    different = [i for i, (a, b) in enumerate(zip(common, order, strict=True)) if a != b]
    if len(different) != 2 or common[different[0]] != order[different[1]]:
        return False
    between = set(order[different[0] + 1 : different[1]])
    return any(x.key in between and x.text.islower() and x.key != "of" for x in reference)


def _participle(words: Sequence[str], common: Sequence[str]) -> str:
    """Return the common participle before "by", or ""."""
    for word, following in pairwise(words):
        if following == "by" and word in common and word.endswith(PARTICIPLES):
            return word
    return ""
