"""The twelve attacks, by name: each spoils a text so that a metric should notice.

Nine of adequacy change what is said, three of fluency how (Chen and Eger 2023, MENLI; Sai et al.
2021). A text is always attacked in the same way: the random numbers are seeded by what it says.
Where a rule is not sure of its index, the attack does not apply.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from infolm_metric.core.inputs import check_text
from infolm_metric.core.settings import check_known, check_whole
from infolm_metric.robustness import grammar
from infolm_metric.robustness.words import (
    BE,
    DETERMINERS,
    DO,
    FUNCTION_WORDS,
    HAVE,
    MODALS,
    PREPOSITIONS,
    PRONOUNS,
    WORDS,
    Text,
    cased,
)

ADEQUACY, FLUENCY = "adequacy", "fluency"
KINDS = (ADEQUACY, FLUENCY)


# Words and numbers.

NO_NOUNS, CLAUSE_VERBS = WORDS["no_nouns"], WORDS["clause_verbs"]
NO_ADJECTIVES = FUNCTION_WORDS.union(WORDS["no_adjectives"], WORDS["ones"], WORDS["tens"])
GOVERNORS = frozenset(WORDS["governing"])
PARTICIPLE_PREPOSITIONS = PREPOSITIONS - {"of", "out", "off", "over", "up", "down", "to", "into", "like"}
"""What may stand after any participle: "painted in", not "painted up"."""
MAX_DROPPED = 0.2  # of the words left out
MIN_WORDS = 5  # of a text that loses one
MIN_DISTINCT_WORDS = 4  # of different words to shuffle


def add_noun(text: str, random: Random) -> str | None:
    """Turns "the city" into "the city and lamp", but no subject of a singular verb."""
    return _replaced(Text.parse(text), _objects, WORDS["nouns"], "NOUN", random, joined=True)


def other_noun(text: str, random: Random) -> str | None:
    """Turns "the city" into "the lamp"."""
    return _replaced(Text.parse(text), _nouns, WORDS["nouns"], "NOUN", random)


def other_verb(text: str, random: Random) -> str | None:
    """Turns "was located in" into "was painted in", and "visited the" into "measured the"."""
    return _replaced(Text.parse(text), _verbs, WORDS["verbs"], "VERB", random)


def other_adjective(text: str, random: Random) -> str | None:
    """Turns "a large city" into "a wooden city"."""
    return _replaced(Text.parse(text), _adjectives, WORDS["adjectives"], "ADJ", random)


def _nouns(text: Text) -> list[int]:
    """Places of nouns that another noun in the same number can stand for."""
    nouns = (index for index in text.words if grammar.is_noun(text, index))
    return [index for index in nouns if text.tokens[index] not in NO_NOUNS]


def _objects(text: Text) -> list[int]:
    """Places of those nouns to which "and lamp" can be added."""
    return [index for index in _nouns(text) if _is_object(text, index)]


def _is_object(text: Text, index: int) -> bool:
    """False for a noun in the singular whose verb "and lamp" would put in the plural."""
    start = grammar.determiner(text, index)
    if start is None or grammar.find_tag(text.tokens[index], "NOUN") == "NNS":
        return True
    relative = {"which", "who", "that"} & {text.lower(index + 1), text.lower(index + 2)}
    before = text.lower(start - 1)
    governed = before in GOVERNORS | BE | HAVE or grammar.is_content(before, "VERB")
    return governed and not relative and not text.capitalised(index + 1)


def _verbs(text: Text) -> list[int]:
    """Places of verbs that any transitive verb can stand for: passive, or before an object."""
    verbs = (index for index in text.words if grammar.is_content(text.tokens[index], "VERB"))
    return [
        index
        for index in verbs
        if grammar.lemmas_by_pos(text.tokens[index])["VERB"] not in CLAUSE_VERBS
        if _passive(text, index) or (grammar.object_follows(text, index) and _active(text, index))
    ]


def _active(text: Text, index: int) -> bool:
    """True for a finite verb, an infinitive and "visiting"."""
    tag = grammar.find_tag(text.tokens[index], "VERB")
    finite = grammar.third_person(text, index) or grammar.past_tense(text, index)
    base = tag == "VB" and text.lower(index - 1) in MODALS | {"to"}
    return finite or base or (tag == "VBG" and text.lower(index - 1) not in DETERMINERS)


def _passive(text: Text, index: int) -> bool:
    """True for "was located in" and "a film directed by"."""
    after, helper = text.lower(index + 1), grammar.past_adverbs(text, index, -1)
    passive = helper in BE | {"been", "being"} and (
        after in PARTICIPLE_PREPOSITIONS | {"and"} or not after.isalnum()
    )
    participle = grammar.find_tag(text.tokens[index], "VERB") in ("VBD", "VBN")
    return participle and (passive or after == "by")


def _adjectives(text: Text) -> list[int]:
    """Places of adjectives: before a noun, or after "is" without a complement."""
    indices = []
    for index in text.words:
        word, before, after = text.tokens[index], text.lower(index - 1), text.lower(index + 1)
        adjective = {"ADJ"} <= {*grammar.lemmas_by_pos(word)} <= {"ADJ", "NOUN"} and word.islower()
        noun_follows = "NOUN" in grammar.lemmas_by_pos(after) and not text.capitalised(index + 1)
        predicate = before in BE and after in ("", ".", ",", "and", "but")
        age = before in ("year", "years")  # "two years old"
        if adjective and word not in NO_ADJECTIVES and (noun_follows or predicate) and not age:
            indices.append(index)
    return indices


def _replaced(
    text: Text,
    find: Callable[[Text], list[int]],
    pool: Sequence[str],
    part: str,
    random: Random,
    joined: bool = False,
) -> str | None:
    """The text with a word of the pool, in the same form, for one that `find` gives or after it."""
    indices = find(text)
    if not indices:
        return None
    index = random.choice(indices)
    word = text.tokens[index]
    tag, lemma = grammar.find_tag(word, part), grammar.lemmas_by_pos(word)[part]
    forms = (grammar.inflected(entry, part, tag) for entry in pool if tag and entry != lemma)
    choices = [form for form in forms if form]
    if not choices:
        return None
    replacement = random.choice(choices)
    edits = {index: f"{word} and {replacement}" if joined else replacement}
    if text.lower(index - 1) in ("a", "an") and not joined:
        edits[index - 1] = cased(grammar.article_for(replacement), text.tokens[index - 1][0])
    return text.replaced(edits)


def other_name(text: str, random: Random) -> str | None:
    """One first name replaced by another of the same gender, wherever it occurs."""
    words = Text.parse(text)
    bare = [token.replace("’", "'").removesuffix("'s") for token in words.tokens]
    male, female = WORDS["male"], WORDS["female"]
    names = [name for name in dict.fromkeys(bare) if name in male + female]
    if not names:
        return None
    name = random.choice(names)
    pool = male if name in male else female
    new_name = random.choice([entry for entry in pool if entry not in bare])
    indices = [index for index, token in enumerate(bare) if token == name]
    return words.replaced({index: new_name + words.tokens[index][len(name) :] for index in indices})


def drop_words(text: str, random: Random) -> str | None:
    """The text without 1% to 20% of its words, at least one of which says something."""
    words = text.split()
    targets = [index for index, word in enumerate(words) if word.lower() not in FUNCTION_WORDS]
    if len(words) < MIN_WORDS or not targets:
        return None
    count = max(1, round(random.uniform(0.01, MAX_DROPPED) * len(words)))
    target = random.choice(targets)
    indices = [index for index in range(len(words)) if index != target]
    gaps = {target, *random.sample(indices, count - 1)}
    return " ".join(word for index, word in enumerate(words) if index not in gaps)


def jumble(text: str, random: Random) -> str | None:
    """The words in another order."""
    words = text.split()
    if len(set(words)) < MIN_DISTINCT_WORDS:
        return None
    permutation = list(words)
    while permutation == words:
        random.shuffle(permutation)
    return " ".join(permutation)


def typo(text: str, random: Random) -> str | None:
    """Two different neighbours among a word's letters swapped; not its first."""
    words = Text.parse(text)
    swaps = {
        index: [at for at in range(1, len(word) - 1) if word[at].lower() != word[at + 1].lower()]
        for index, word in enumerate(words.tokens)
        if len(word) >= 4 and word.isalpha() and word.isascii()
    }
    indices = [index for index, positions in swaps.items() if positions]
    if not indices:
        return None
    index = random.choice(indices)
    word, at = words.tokens[index], random.choice(swaps[index])
    return words.replaced({index: word[:at] + word[at + 1] + word[at] + word[at + 2 :]})


def other_numbers(text: str, random: Random) -> str | None:
    """Every number by another of the same form, the same by the same; "1" before a noun stays."""
    numbers = [
        number
        for number in grammar.find_numbers(text)
        if number[0] != "1" or not re.match(r"[\s-]+[a-z]", text[number.end() :])
    ]
    spellings = dict.fromkeys(number[0] for number in numbers)
    replacements = {number: _other_number(number, random) for number in spellings}
    for number in reversed(numbers):
        text = text[: number.start()] + replacements[number[0]] + text[number.end() :]
    return text if numbers else None


def _other_number(number: str, random: Random) -> str:
    """Other digits in the same indices; the first is not 0, and the whole neither 1 nor the same."""
    replacement = number
    while replacement in (number, "1"):
        digits = [str(random.randrange(10)) if symbol.isdigit() else symbol for symbol in number]
        digits[0] = str(random.randrange(1, 10))
        replacement = "".join(digits)
    return replacement


# Negation.

NEGATIONS, POLARITY_WORDS, FRONTED_WORDS = (frozenset(WORDS[name]) for name in ("negative", "polar", "fronted"))
NEGATION_BLOCKERS = frozenset(WORDS["only"] + WORDS["inverted"])
CONTRACTIONS = {"wo": "will", "ca": "can", "sha": "shall"}


def negate(text: str, random: Random) -> str | None:
    """A negation taken away if there is one, else one put in, by the first rule that fits."""
    words = Text.parse(text)
    for rule, allowed in (
        (_without_not, _removable),
        (_with_not, _deniable),
        (_did_not, _deniable),
        (_does_not, _deniable),
    ):
        for index in words.words:
            if (edits := rule(words, index)) and allowed(words, index):
                return words.replaced(edits)
    return None


def _without_not(text: Text, index: int) -> dict[int, str]:
    """Turns "isn't" and "is not" into "is", and "cannot" into "can"."""
    word = text.tokens[index]
    if word.lower() == "cannot":
        return {index: word[:3]}
    short = word.lower().endswith(("n't", "n’t"))
    stem = word[:-3] if short else word
    helper = CONTRACTIONS.get(stem.lower(), stem) if short else stem
    if helper.lower() not in BE | HAVE | DO | MODALS | {"am", "shall"}:
        return {}
    if short:
        return {index: cased(helper, stem)}
    return {index + 1: ""} if text.lower(index + 1) == "not" else {}


def _removable(text: Text, index: int) -> bool:
    """True if the sentence is a statement without its "not", too: no "or not", no "not any"."""
    before, after = text.sentence(index)
    next_words = {word for word in after[:2] if word != "not"}
    polar = POLARITY_WORDS & {*before, *after} or "or" in before[-1:]
    return not ("?" in after or polar or NEGATION_BLOCKERS & next_words)


def _deniable(text: Text, index: int) -> bool:
    """True if a "not" makes a statement a denial: the subject stands before, and nothing denies."""
    before, after = text.sentence(index)
    words = {*before, *after}
    negation = NEGATIONS & words or any(word.endswith(("n't", "n’t")) for word in words)
    if "?" in after or negation or not before:
        return False
    return before[-1] not in FRONTED_WORDS and not NEGATION_BLOCKERS & {*after[:1]}


def _with_not(text: Text, index: int) -> dict[int, str]:
    """Turns "is" into "is not"."""
    return {index: f"{text.tokens[index]} not"} if grammar.helps(text, index) else {}


def _did_not(text: Text, index: int) -> dict[int, str]:
    """Turns "wrote" into "did not write", and "had a" into "did not have a"."""
    owns = text.tokens[index] in ("had", "did") and grammar.object_follows(text, index)
    return _denied(text, index, "did") if owns or grammar.past_tense(text, index) else {}


def _does_not(text: Text, index: int) -> dict[int, str]:
    """Turns "writes" into "does not write", and "has a" into "does not have a"."""
    owns = text.tokens[index] in ("has", "does") and grammar.object_follows(text, index)
    return _denied(text, index, "does") if owns or grammar.third_person(text, index) else {}


def _denied(text: Text, index: int, helper: str) -> dict[int, str]:
    return {index: f"{helper} not {grammar.lemmas_by_pos(text.tokens[index])['VERB']}"}


# Pronouns.

POSSESSIVES = {"his": ("her", "hers"), "her": ("his", "him")}
"""What stands before a noun, and what stands elsewhere."""
AMBIGUOUS = re.compile(
    r"(?i)\b(?:you|he['’]\w+|she['’]\w+|we['’]\w+|they['’]\w+|i['’]\w+"
    r"|(?:he|she|his|hers?|him|us|we|me|i)\s*(?:or|and|/)\s*\w+)\b|\b(?:his|her)\s*[\"“‘'(]"
)
"""Subject or object, "has" or "is", owned or not, or two persons who would only change indices."""


def swap_pronouns(text: str, random: Random) -> str | None:
    """All pronouns swapped, with the verb after "I"; not those in titles."""
    words = Text.parse(text)
    edits: dict[int, str] = {}
    for index in () if AMBIGUOUS.search(text) else words.words:
        word, after = words.lower(index), words.lower(index + 1)
        if word not in PRONOUNS | POSSESSIVES:
            continue
        opens = words.opens_sentence(index)
        title = words.capitalised(index) and not opens and word != "i"
        king = word == "i" and (words.capitalised(index - 1) or not _finite(after))
        if title or king:
            continue
        possessive = after[:1].isalnum() and after not in FUNCTION_WORDS
        pronoun = POSSESSIVES[word][not possessive] if word in POSSESSIVES else PRONOUNS[word]
        edits[index] = cased(pronoun, "X" if opens else "x")
        if word == "i" and after in ("am", "was"):
            edits[index + 1] = "are" if after == "am" else "were"
    return words.replaced(edits)


def _finite(word: str) -> bool:
    """True for what can be the verb of "I", which is a number after the name of a king."""
    helper = word in {"am", "was"} | HAVE | DO | MODALS
    return helper or grammar.is_base(word) or grammar.find_tag(word, "VERB") == "VBD"


# Agreement.

PARTNERS = {"is": "are", "was": "were", "has": "have", "does": "do"}
PARTNERS |= {plural: singular for singular, plural in PARTNERS.items()}
GROUPS, AMOUNTS = frozenset(WORDS["groups"]), frozenset(WORDS["amounts"])


def disagree(text: str, random: Random) -> str | None:
    """The first finite auxiliary in the other number, else the first verb without its "s".

    Only where the subject is sure to have one number: not for teams, and for no name in the plural.
    """
    words = Text.parse(text)
    verbs = [index for index in words.words if grammar.third_person(words, index)]
    partners = {index: PARTNERS.get(words.tokens[index], "") for index in words.words}
    bases = {index: grammar.lemmas_by_pos(words.tokens[index])["VERB"] for index in verbs}
    for index, verb in [*partners.items(), *bases.items()]:
        if verb and _one_number(words, index):
            return words.replaced({index: verb})
    return None


def _one_number(text: Text, index: int) -> bool:
    """True if the verb is wrong in the other number."""
    subject, predicate = text.sentence(index)
    groups = GROUPS & {word.lower().removesuffix("s") for word in [*subject, *predicate]}
    if not subject or groups or AMOUNTS & {*subject}:
        return False
    if text.tokens[index] in ("are", "were", "have", "do"):
        before = text.tokens[index - 1]
        plural = grammar.is_content(before, "NOUN") and grammar.find_tag(before, "NOUN") == "NNS"
        return plural or before.lower() in ("they", "we", "these", "those")
    return "and" not in subject


@dataclass(frozen=True)
class Attack:
    """A way to spoil a text.

    Attributes:
        name: as in `ATTACKS`.
        kind: "adequacy", which changes what is said, or "fluency", which changes how.
        rule: gives for a text and a source of random numbers the spoiled text, or None where it
            does not apply.
    """

    name: str
    kind: str
    rule: Callable[[str, Random], str | None]


ATTACKS: dict[str, Attack] = {
    entry.name: entry
    for entry in (
        Attack("add", ADEQUACY, add_noun),
        Attack("drop", ADEQUACY, drop_words),
        Attack("num", ADEQUACY, other_numbers),
        Attack("neg", ADEQUACY, negate),
        Attack("name", ADEQUACY, other_name),
        Attack("noun", ADEQUACY, other_noun),
        Attack("verb", ADEQUACY, other_verb),
        Attack("adj", ADEQUACY, other_adjective),
        Attack("pron", ADEQUACY, swap_pronouns),
        Attack("jumble", FLUENCY, jumble),
        Attack("typo", FLUENCY, typo),
        Attack("agreement", FLUENCY, disagree),
    )
}


def attack(text: str, name: str, seed: int = 0) -> str | None:
    """The text spoiled by an attack.

    Args:
        text: in English.
        name: one of `ATTACKS`.
        seed: a whole number, at least 0; the same text, attack and seed give the same, in any order
            and on any machine.

    Returns:
        The spoiled text, or None if the attack does not apply or changes nothing.

    Raises:
        TypeError, ValueError: the text is no string, there is no such attack, or the seed is no
            whole number of at least 0.

    >>> attack("Alan Bean was born in Wheeler.", "neg")
    'Alan Bean was not born in Wheeler.'
    >>> attack("Hello.", "num") is None
    True
    """
    check_text("text", text)
    check_known("attack", name, list(ATTACKS))
    check_whole("seed", seed, least=0)
    adversary = ATTACKS[name].rule(text, Random(stable_hash(seed, name, text)))
    return None if adversary == text else adversary


def stable_hash(seed: int, name: str, text: str) -> int:
    """A number that any machine makes of these, whatever came before."""
    return int.from_bytes(hashlib.sha256(f"{seed}\n{name}\n{text}".encode()).digest(), "big")
