"""Answers with the words of a reference but another meaning: exchanged roles and opposite words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from infolm_metric.answer_check.tokens import UNIT_WORDS, Overlap, Token, answer_tokens, decides

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
    "sunday, heavier lighter, hotter colder warmer cooler, taller shorter, stronger weaker, richer "
    "poorer, better worse, deeper shallower, always never, legal illegal, alive dead, guilty "
    "innocent, convicted acquitted, accepted rejected, allowed forbidden, opened closed, january "
    "february march april may june july august september october november "
    "december"
)
OPPOSITES = [frozenset(group.split()) for group in WORDS.split(", ")]
# Capitalized words before a name that make another name.
QUALIFIERS = "new north south east west northern southern eastern western democratic equatorial"
# Words after a name that make another name.
SEQUELS = "Part II III IV V VI VII VIII Bissau"
# Names that "City" makes names of cities.
REGIONS = "kansas quebec mexico panama guatemala oklahoma jersey"
# Capitalized words that are no part of a name.
NOT_NAMES = (
    "mr mrs ms dr sir lord lady saint king queen prince princess pope emperor "
    "president general captain senator professor chancellor minister the a an in on at by of "
    "to from for with and but so if as then when while although after before since both only "
    "even yes no it he she they this that who which was is are were"
)
# Nouns after "no" in an answer that does not decide.
UNANSWERED = (
    "mention information evidence indication record reference way data details specific "
    "explicit direct clear"
)
# Answers such as "That is false", which mean yes or no.
JUDGED = re.compile(
    r"(?i)(?:(?:that|this|it|(?:the|this|that) (?:claim|statement|idea))(?:'s| is) )?(?:\w+ly )?"
    r"(?:(?P<no>(?:definitely|absolutely|certainly|of course|surely|probably) not|nope|false|"
    r"incorrect|untrue|wrong|not (?:true|correct|right|allowed|permitted|possible)|an? (?:\w+ )?"
    r"(?:myth|misconception)|there(?:'s| is) no evidence that)|yep|yeah|correct|right|true|indeed|"
    r"(?:definitely|absolutely)(?=,))\b"
)
FAILING = frozenset(
    ("fail", "fails", "failed", "failing", "unable", "refuses", "refused", "never", "hardly")
)
LISTED = frozenset(("and", "or", "&", "plus"))
# Words after which a name may be the agent.
TURNING = "by to from of is was are were with and or than lost fell joined in at on as not"
PASSIVE = frozenset(("was", "were", "is", "are", "been", "got"))
# Words that an answer often replaces by a noun.
PRONOUNS = frozenset(("it", "them", "him", "her", "he", "she", "they", "his", "its", "their"))
AUXILIARIES = "by is was are were has had have did does do will must to"
PARTICIPLES = ("ed", "en", "wn", "un", "ung", "ght", "old", "ade", "und")


def find_lack(answer: Sequence[Token], reference: Sequence[Token], overlap: Overlap) -> str:
    """Return a part of a reference without which an answer differs, or "".

    It is a number, letter, symbol or unit, a word that the answer replaces by an opposite, or a
    part of a name.
    """
    missing = (token.text for token in overlap.missing if decides(token, reference))
    return (
        next(missing, "")
        or (opposite(answer, overlap) if overlap.matched else "")
        or other_person(answer, overlap)
        or split_name(answer, reference)
        or raised_unit(answer, reference)
    )


def opposite(answer: Sequence[Token], overlap: Overlap) -> str:
    """Return the word of a reference that an answer replaces by an opposite, or "".

    >>> from infolm_metric.answer_check.tokens import compare, reference_tokens
    >>> answer = answer_tokens("It is in North Korea.")
    >>> opposite(answer, compare(answer, reference_tokens("South Korea")))
    'South'
    """
    keys = {token.key for token in answer}
    known = {token.key for token in overlap.matched}
    if _turned_around(answer, overlap.matched):
        return ""
    for token in overlap.missing:
        if any(token.key in group and group & (keys - known) for group in OPPOSITES):
            return token.text
    return ""


def _turned_around(answer: Sequence[Token], matched: Sequence[Token]) -> bool:
    """Return True if the sides of "than" are exchanged, as in a comparison by the opposite word."""
    sides = []
    for tokens in (answer, sorted(matched, key=lambda token: token.start)):
        keys = [token.key for token in tokens]
        place = keys.index("than") if "than" in keys else 0
        sides.append((set(keys[:place]), set(keys[place + 1 :])))
    (before, after), (first, second) = sides
    return bool(first and second and second & before and first & after)


def longer_name(answer: Sequence[Token], reference: Sequence[Token]) -> str:
    """Return the word that makes each mention of a reference part of another name, or "".

    >>> from infolm_metric.answer_check.tokens import reference_tokens
    >>> longer_name(answer_tokens("She lives in New York."), reference_tokens("York"))
    'New'
    >>> longer_name(answer_tokens("From York to New York"), reference_tokens("York"))
    ''
    """
    keys, wanted = [token.key for token in answer], [token.key for token in reference]
    places = [
        place
        for place in range(len(keys) - len(wanted) + 1)
        if all(
            key in (token.key, token.other)
            for key, token in zip(wanted, answer[place : place + len(wanted)], strict=True)
        )
    ]
    words = [answer[place - 1] if place else None for place in places]
    if words and all(x and x.key in QUALIFIERS.split() and x.text[0].isupper() for x in words):
        return words[0].text if words[0] else ""
    following = [answer[place + len(wanted)] for place in places if place + len(wanted) < len(keys)]
    is_name = all(token.text[:1].isupper() for token in reference)
    if is_name and following and len(following) == len(places):
        endings = [*SEQUELS.split(), *(["City"] if reference[-1].key in REGIONS.split() else [])]
        sequel = all(x.text in endings for x in following)
        return following[0].text if sequel else ""
    return ""


def split_name(answer: Sequence[Token], reference: Sequence[Token]) -> str:
    """Return the first word of a name such as South Africa if an answer separates it, or "".

    >>> from infolm_metric.answer_check.tokens import reference_tokens
    >>> split_name(answer_tokens("in the south of Africa"), reference_tokens("South Africa"))
    'South'
    """
    is_name = len(reference) == 2 and all(token.text[0].isupper() for token in reference)
    if not is_name or reference[0].key not in QUALIFIERS.split():
        return ""
    wanted = {token.key for token in reference}
    near = any({first.key, second.key} == wanted for first, second in pairwise(answer))
    return "" if near or not wanted <= {token.key for token in answer} else reference[0].text


def raised_unit(answer: Sequence[Token], reference: Sequence[Token]) -> str:
    """Return the unit of a reference that an answer only has with an exponent, or "".

    >>> from infolm_metric.answer_check.tokens import reference_tokens
    >>> raised_unit(answer_tokens("12 cm^2"), reference_tokens("12 cm"))
    'cm'
    """
    if any(token.key.startswith("^") for token in reference):
        return ""
    keys = [token.key for token in answer]
    for token in reference:
        followers = [after for word, after in pairwise([*keys, ""]) if word == token.key]
        if token.key in UNIT_WORDS and followers and all(x.startswith("^") for x in followers):
            return token.text
    return ""


def other_person(answer: Sequence[Token], overlap: Overlap) -> str:
    """Return the missing part of a name that an answer replaces by another one, or "".

    >>> from infolm_metric.answer_check.tokens import compare, reference_tokens
    >>> answer = answer_tokens("Michelle Obama did.")
    >>> other_person(answer, compare(answer, reference_tokens("Barack Obama")))
    'Barack'
    """
    name = sorted(overlap.matched + overlap.missing, key=lambda token: token.start)
    ends = (name[0], name[-1]) if len(name) in (2, 3) and all(map(_is_name, name)) else ()
    if len(ends) == 2 and len(name) == 3 and name[1].text.isupper() and name[1] in overlap.missing:
        for first, initial, last in zip(answer, answer[1:], answer[2:], strict=False):
            if (first.key, last.key) == (ends[0].key, ends[1].key) and initial.text.isupper():
                return name[1].text
    for missing, other, step in zip(ends, ends[::-1], (-1, 1), strict=False):
        if missing in overlap.missing and other in overlap.matched:
            places = [place for place, token in enumerate(answer) if token.key == other.key]
            near = [answer[p + step] for p in places if 0 <= p + step < len(answer)]
            known = {token.key for token in overlap.matched}
            if near and all(
                _is_name(x) and x.key not in known and x.key[0].lower() != missing.key[0]
                for x in near
            ):
                return missing.text
    return ""


def _is_name(token: Token) -> bool:
    return (
        token.text[:1].isupper()
        and re.sub("[. ]", "", token.text).isalpha()
        and token.key not in NOT_NAMES.split()
    )


def is_determiner(answer: Sequence[Token], reference: Sequence[Token]) -> bool:
    """Return whether each "no" of an answer belongs to a noun, if the reference is "no".

    Without "yes" in the answer, only the nouns in UNANSWERED count: "no albums" may mean "no".

    >>> is_determiner(answer_tokens("There is no doubt: yes"), answer_tokens("No"))
    True
    >>> is_determiner(answer_tokens("The text has no mention of it."), answer_tokens("No"))
    True
    """
    keys = [token.key for token in answer]
    if [token.key for token in reference] != ["no"]:
        return False
    followers = [after for word, after in pairwise(keys) if word == "no"]
    nouns = "yes" in keys or set(followers) <= set(UNANSWERED.split())
    return bool(followers) and nouns and "yes" not in followers and "no" not in (keys[0], keys[-1])


def polarity(statements: Sequence[str]) -> str:
    """Return "yes" or "no" if an answer says so in any words, otherwise "".

    >>> polarity(["That is false."]), polarity(["Yes."]), polarity(["They differ."])
    ('no', 'yes', '')
    """
    keys = {token.key for statement in statements for token in answer_tokens(statement)}
    if keys & {"yes", "no"}:
        return "yes" if "no" not in keys else "no" if "yes" not in keys else ""
    match = JUDGED.match(" ".join(statements[:1]))
    return "" if match is None else "no" if match["no"] else "yes"


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
    lost = set(wanted) - set(common) - PRONOUNS - {*AUXILIARIES.split()}
    if lost or LISTED.intersection(wanted) or len(order) < 3:
        return False
    passive = [_participle(words, common) for words in (keys, wanted)]
    if passive[0] != passive[1]:
        common, order = ([x for x in words if x != "by"] for words in (common, order))
        return common == order and len(set(order)) == len(order)
    repeated = {x for x in common if common.count(x) > 1} | {x for x in order if order.count(x) > 1}
    common, order = ([x for x in words if x not in repeated] for words in (common, order))
    if sorted(common) != sorted(order):
        return False
    different = [i for i, (a, b) in enumerate(zip(common, order, strict=True)) if a != b]
    if not different:
        return False
    first, last = different[0], different[-1] + 1
    between = exchanged_around(order[first:last], common[first:last])
    between -= {"of", *PASSIVE}
    return any(x.key in between and x.text.islower() for x in reference)


def exchanges_names(statement: str, reference: Sequence[Token]) -> bool:
    """Return True if a statement exchanges the two names around a verb, also with another verb.

    >>> from infolm_metric.answer_check.tokens import reference_tokens
    >>> expected = reference_tokens("Rome defeated Carthage")
    >>> exchanges_names("Carthage crushed Rome.", expected)
    True
    >>> exchanges_names("Rome was beaten by Carthage.", expected)
    True
    >>> exchanges_names("Carthage lost to Rome.", expected)
    False
    """
    verbs = [index for index, x in enumerate(reference) if x.text.islower() and x.key.isalpha()]
    if not verbs or not 0 < verbs[0] <= verbs[-1] < len(reference) - 1 or len(verbs) > 2:
        return False
    turning = {*TURNING.split()}
    if verbs[-1] - verbs[0] + 1 > len(verbs) or turning & {reference[i].key for i in verbs}:
        return False
    tokens = answer_tokens(statement)
    names = [reference[: verbs[0]], reference[verbs[-1] + 1 :]]
    places = [
        [i for i in range(len(tokens)) if _equals(tokens[i : i + len(name)], name)]
        for name in names
    ]
    if [len(place) for place in places] != [1, 1]:
        return False
    (first,), (second,) = places
    exchanged = second < first
    end = second + len(names[1]) if exchanged else first + len(names[0])
    between = [token.key for token in tokens[end : max(first, second)]]
    if exchanged:
        return 0 < len(between) < 4 and turning.isdisjoint(between)
    passive = len(between) < 6 and between[-1:] == ["by"]
    return passive and not PASSIVE.isdisjoint(between[:1])


def _equals(tokens: Sequence[Token], name: Sequence[Token]) -> bool:
    return len(tokens) == len(name) and all(
        {x.key, x.other} & {y.key, y.other} - {""} for x, y in zip(tokens, name, strict=True)
    )


def exchanged_around(words: Sequence[str], others: Sequence[str]) -> set[str]:
    """Return the words around which the first and the last ones are exchanged, or none.

    >>> sorted(exchanged_around("a b was in c".split(), "c was in a b".split()))
    ['in', 'was']
    """
    for start in range(1, len(words)):
        for end in range(start + 1, len(words)):
            if [*words[end:], *words[start:end], *words[:start]] == [*others]:
                return set(words[start:end])
    return set()


def fails(statement: str, reference: Sequence[Token]) -> bool:
    """Return True if a statement denies an action that a reference asserts, as in "fails to act".

    >>> from infolm_metric.answer_check.tokens import reference_tokens
    >>> fails("The drug fails to reduce pain.", reference_tokens("The drug reduces pain"))
    True
    """
    wanted = {token.key for token in reference}
    words = [x for x in reference if x.text.islower() and x.key.isalpha() and len(x.key) > 3]
    if len(reference) < 3 or not words or wanted & (FAILING | {"not", "no", "none", "cannot"}):
        return False
    return not FAILING.isdisjoint(token.key for token in answer_tokens(statement))


def _participle(words: Sequence[str], common: Sequence[str]) -> str:
    """Return the common participle before "by", or ""."""
    for word, following in pairwise(words):
        if following == "by" and word in common and word.endswith(PARTICIPLES):
            return word
    return ""
