"""Twelve attacks that perturb a text in a way that a metric should detect.

Nine attacks change the meaning (adequacy), and three degrade the fluency, as in Chen and
Eger 2023 (MENLI) and Sai et al. 2021. Attacks are deterministic, because the random numbers are
seeded with the text. An attack that cannot be applied unambiguously is skipped.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from infolm_metric.core.checks import check_known, check_whole
from infolm_metric.core.inputs import check_text
from infolm_metric.robustness import grammar
from infolm_metric.robustness.words import FUNCTION_WORDS, PRONOUNS, WORD_LISTS, Text

ATTACK_KINDS = ADEQUACY, FLUENCY = "adequacy", "fluency"


# Words and numbers.

POOLS = {"NOUN": WORD_LISTS["nouns"], "VERB": WORD_LISTS["verbs"], "ADJ": WORD_LISTS["adjectives"]}
# A word that can be a first name, with or without "'s", but not a part of "Jean-Paul".
NAME = re.compile(r"(?<![\w'’.-])[A-Z][a-z]+(?![\w-])")
MAX_DROPPED = 0.2  # maximum of the drawn fraction of words, before rounding
MIN_WORDS = 5  # minimum number of words in a text from which words are dropped
MIN_DISTINCT_WORDS = 4  # minimum number of distinct words in a text that is shuffled


def _is_object(text: Text, index: int) -> bool:
    """Return True for a noun after which "and lamp" can be inserted.

    After some singular nouns, "and lamp" would require a plural verb.
    """
    start, noun = grammar.find_determiner(text, index), grammar.is_noun(text, index)
    if start is None or grammar.find_tag(text.tokens[index], "NOUN") == "NNS":
        return noun
    before = text.lower(start - 1)
    governed = before in WORD_LISTS["before_objects"] or grammar.content_parts(before) == {"VERB"}
    relative = {"which", "who", "that"} & {text.lower(index + 1), text.lower(index + 2)}
    return noun and governed and not relative and not text.is_capitalised(index + 1)


def _is_verb(text: Text, index: int) -> bool:
    """Return True for a verb that can be replaced by any transitive verb.

    It is a participle, as in "was located in" and "a film directed by", or precedes an object, as
    in "visits Rome", "visited Rome" and "visiting Rome".
    """
    before, after = text.lower(index - 1), text.lower(index + 1)
    tag = grammar.find_tag(text.tokens[index], "VERB")
    if grammar.content_parts(text.tokens[index]) != {"VERB"}:
        return False
    passive = before in (*WORD_LISTS["be"], "been", "being") and (
        after in WORD_LISTS["after_participles"] or not after.isalnum()
    )
    if tag in ("VBD", "VBN") and (passive or after == "by"):
        return True
    active = tag in ("VBZ", "VBD") and grammar.is_finite(text, index, tag)
    active |= tag == "VBG" and before not in WORD_LISTS["determiners"]
    return active and grammar.object_follows(text, index)


def _is_adjective(text: Text, index: int) -> bool:
    """Return True for an adjective before a noun."""
    word, noun_follows = text.tokens[index], "NOUN" in grammar.lemmas_by_pos(text.lower(index + 1))
    if word in FUNCTION_WORDS or word in WORD_LISTS["no_adjectives"] or not word.islower():
        return False
    adjective = grammar.find_tag(word, "ADJ") and {*grammar.lemmas_by_pos(word)} <= {"ADJ", "NOUN"}
    return bool(adjective) and noun_follows and not text.is_capitalised(index + 1)


def _replace_word(
    text: str, random: Random, fits: Callable[[Text, int], bool], part: str, join: bool = False
) -> str | None:
    """Replace a random word for which `fits` is True with another word in the same form.

    If `join` is True, keep the word, and insert "and" and the other word after it.
    """
    parsed = Text.parse(text)
    indices = [index for index in parsed.words if fits(parsed, index)]
    if not indices:
        return None
    index = random.choice(indices)
    word = parsed.tokens[index]
    tag, lemma = grammar.find_tag(word, part), grammar.lemmas_by_pos(word)[part]
    entries = [entry for entry in POOLS[part] if entry != lemma]
    choices = [form for entry in entries for form in grammar.inflect(entry, tag)[:1]]
    replacement = random.choice(choices)
    edits = {index: f"{word} and {replacement}" if join else replacement}
    if parsed.lower(index - 1) in ("a", "an") and not join:
        article = grammar.choose_article(replacement)
        edits[index - 1] = article.capitalize() if parsed.is_capitalised(index - 1) else article
    return parsed.replace(edits)


def replace_name(text: str, random: Random) -> str | None:
    """Replace every occurrence of a first name with another first name of the same gender."""
    found = dict.fromkeys(NAME.findall(text))
    names = [name for name in found if name in WORD_LISTS["male"] + WORD_LISTS["female"]]
    if not names:
        return None
    name = random.choice(names)
    pool = WORD_LISTS["male" if name in WORD_LISTS["male"] else "female"]
    new_name = random.choice([entry for entry in pool if entry not in found])
    return NAME.sub(lambda match: new_name if match[0] == name else match[0], text)


def drop_words(text: str, random: Random) -> str | None:
    """Drop about 1% to 20% of the words, including at least one content word."""
    tokens = text.split()
    targets = [index for index, word in enumerate(tokens) if word.lower() not in FUNCTION_WORDS]
    if len(tokens) < MIN_WORDS or not targets:
        return None
    count = max(1, round(random.uniform(0.01, MAX_DROPPED) * len(tokens)))
    target = random.choice(targets)
    indices = [index for index in range(len(tokens)) if index != target]
    gaps = {target, *random.sample(indices, count - 1)}
    return " ".join(word for index, word in enumerate(tokens) if index not in gaps)


def jumble(text: str, random: Random) -> str | None:
    """Shuffle the words."""
    tokens = text.split()
    if len(set(tokens)) < MIN_DISTINCT_WORDS:
        return None
    permutation = list(tokens)
    while permutation == tokens:
        random.shuffle(permutation)
    return " ".join(permutation)


def swap_letters(text: str, random: Random) -> str | None:
    """Swap two different adjacent letters of a word, excluding its first letter."""
    parsed = Text.parse(text)
    swaps = {
        index: [at for at in range(1, len(word) - 1) if word[at].lower() != word[at + 1].lower()]
        for index, word in enumerate(parsed.tokens)
        if len(word) >= 4 and word.isalpha() and word.isascii()
    }
    indices = [index for index, positions in swaps.items() if positions]
    if not indices:
        return None
    index = random.choice(indices)
    word, at = parsed.tokens[index], random.choice(swaps[index])
    return parsed.replace({index: word[:at] + word[at + 1] + word[at] + word[at + 2 :]})


def replace_numbers(text: str, random: Random) -> str | None:
    """Replace each distinct number with another number in the same form.

    Keep "1" before a noun, years, dates and other numbers that `find_numbers` leaves out.
    """
    numbers = grammar.find_numbers(text)
    spellings = dict.fromkeys(number[0] for number in numbers)
    replacements = {number: _draw_number(number, random) for number in spellings}
    for number in reversed(numbers):
        text = text[: number.start()] + replacements[number[0]] + text[number.end() :]
    return text


def _draw_number(number: str, random: Random) -> str:
    """Draw a different number in the same form that is not 1 and does not start with 0."""
    replacement = number
    while replacement in (number, "1"):
        digits = [str(random.randrange(10)) if symbol.isdigit() else symbol for symbol in number]
        digits[0] = str(random.randrange(1, 10))
        replacement = "".join(digits)
    return replacement


# Negation.


def negate(text: str, random: Random) -> str | None:
    """Insert "not" after the first auxiliary, or else "did not" or "does not" before a verb."""
    parsed = Text.parse(text)
    indices = [index for index in parsed.words if _allows_negation(parsed, index)]
    for index in indices:
        if grammar.takes_not(parsed, index):
            return parsed.replace({index: f"{parsed.tokens[index]} not"})
    for tag, auxiliary in (("VBD", "did"), ("VBZ", "does")):
        for index in indices:
            if grammar.is_finite(parsed, index, tag):
                base = grammar.lemmas_by_pos(parsed.tokens[index])["VERB"]
                return parsed.replace({index: f"{auxiliary} not {base}"})
    return None


def _allows_negation(text: Text, index: int) -> bool:
    """Return True if the sentence is a statement with a subject and without a negation."""
    before, after = text.sentence(index)
    negative = WORD_LISTS["negative"]
    negation = any(word in negative or word.endswith(("n't", "n’t")) for word in before + after)
    return bool(before) and not negation and "?" not in after


# Pronouns.

# Replacements for possessives before a noun and in other positions.
POSSESSIVES = {"his": ("her", "hers"), "her": ("his", "him")}
# Pronouns with an unclear replacement: "I" (a pronoun or a numeral), "you" (subject or object),
# "he's" ("is" or "has"), "he and she", and "his" before a quotation (possessive or not).
AMBIGUOUS = re.compile(
    r"(?i)\b(?:i|you|(?:he|she|we|they)['’]\w+|(?:he|she|his|hers?|him|us|we)\s*(?:or|and|/)\s*\w+)\b"
    r"|\b(?:his|her)\s*[\"“‘'(]"
)


def swap_pronouns(text: str, random: Random) -> str | None:
    """Change the gender or person of all pronouns outside titles, unless one is ambiguous."""
    parsed = Text.parse(text)
    edits: dict[int, str] = {}
    for index in () if AMBIGUOUS.search(text) else parsed.words:
        word, after = parsed.lower(index), parsed.lower(index + 1)
        capitalised = parsed.is_capitalised(index)
        title = capitalised and not parsed.opens_sentence(index)
        if title or word not in PRONOUNS | POSSESSIVES:
            continue
        possessive = after[:1].isalnum() and after not in FUNCTION_WORDS
        pronoun = POSSESSIVES[word][not possessive] if word in POSSESSIVES else PRONOUNS[word]
        edits[index] = pronoun.capitalize() if capitalised else pronoun
    return parsed.replace(edits)


# Agreement.

PARTNERS = {"is": "are", "was": "were", "has": "have", "does": "do"}
PARTNERS |= {plural: singular for singular, plural in PARTNERS.items()}


def disagree(text: str, random: Random) -> str | None:
    """Change the number of the first auxiliary, or else drop the "s" from the first verb."""
    parsed = Text.parse(text)
    indices = [index for index in parsed.words if _has_one_number(parsed, index)]
    verbs = [index for index in indices if grammar.is_finite(parsed, index, "VBZ")]
    tokens = parsed.tokens
    edits = [(index, PARTNERS[tokens[index]]) for index in indices if tokens[index] in PARTNERS]
    edits += [(index, grammar.lemmas_by_pos(tokens[index])["VERB"]) for index in verbs]
    return parsed.replace(dict(edits[:1]))


def _has_one_number(text: Text, index: int) -> bool:
    """Return True if the subject is clearly singular or plural, so a changed verb is an error."""
    subject, predicate = text.sentence(index)
    nouns = {word.lower().removesuffix("s") for word in subject + predicate}
    amounts = {*subject}.intersection(WORD_LISTS["amounts"])
    if not subject or amounts or nouns.intersection(WORD_LISTS["groups"]):
        return False
    if text.tokens[index] in ("are", "were", "have", "do"):
        before = text.tokens[index - 1]
        tag, parts = grammar.find_tag(before, "NOUN"), grammar.content_parts(before)
        pronoun = before.lower() in ("they", "we", "these", "those")
        return pronoun or (tag == "NNS" and parts == {"NOUN"})
    return "and" not in subject


@dataclass(frozen=True)
class Attack:
    """A way to perturb a text.

    Attributes:
        kind: "adequacy" (changes the meaning) or "fluency" (damages the language).
        rule: function that attacks a text. If it does not apply, it returns None or the same text.
    """

    kind: str
    rule: Callable[[str, Random], str | None]


ATTACKS: dict[str, Attack] = {
    # "the city" -> "the city and lamp", unless it is the subject of a singular verb
    "add": Attack(ADEQUACY, partial(_replace_word, fits=_is_object, part="NOUN", join=True)),
    "drop": Attack(ADEQUACY, drop_words),
    "num": Attack(ADEQUACY, replace_numbers),
    "neg": Attack(ADEQUACY, negate),
    "name": Attack(ADEQUACY, replace_name),
    # "the city" -> "the lamp"
    "noun": Attack(ADEQUACY, partial(_replace_word, fits=grammar.is_noun, part="NOUN")),
    # "was located in" -> "was painted in", "visited the" -> "measured the"
    "verb": Attack(ADEQUACY, partial(_replace_word, fits=_is_verb, part="VERB")),
    # "a large city" -> "a wooden city"
    "adj": Attack(ADEQUACY, partial(_replace_word, fits=_is_adjective, part="ADJ")),
    "pron": Attack(ADEQUACY, swap_pronouns),
    "jumble": Attack(FLUENCY, jumble),
    "typo": Attack(FLUENCY, swap_letters),
    "agreement": Attack(FLUENCY, disagree),
}


def attack(text: str, name: str, seed: int = 0) -> str | None:
    """Attack an English text, or return None if the attack does not apply or changes nothing.

    The same `text`, `name` (one of `ATTACKS`) and `seed` always give the same result. Raises
    InputError if the text is not a string, the attack is unknown, or the seed is not a
    whole number >= 0.

    >>> attack("Alan Bean was born in Wheeler.", "neg")
    'Alan Bean was not born in Wheeler.'
    """
    check_text("text", text)
    check_known("attack", name, list(ATTACKS))
    check_whole("seed", seed, least=0)
    adversary = ATTACKS[name].rule(text, Random(stable_hash(seed, name, text)))
    return None if adversary == text else adversary


def stable_hash(seed: int, name: str, text: str) -> int:
    """Return a hash that is the same in every process and on every machine."""
    return int.from_bytes(hashlib.sha256(f"{seed}\n{name}\n{text}".encode()).digest(), "big")
