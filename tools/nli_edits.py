"""Small changes of English sentences that keep, weaken or change their meaning.

`EDITS` change the meaning: each rule returns a sentence that does not follow from the original
one. `vary` keeps the meaning, and `shorten` returns a sentence that follows from the original one.
All of them return None for sentences to which they do not apply. They are made for training, so a
few mistakes are acceptable. The rules differ from the attacks of infolm_metric.robustness, which
serve as a test, except for the rule for negations.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import NamedTuple

from infolm_metric.robustness import grammar
from infolm_metric.robustness.attacks import NEGATIONS, negate
from infolm_metric.robustness.words import (
    FUNCTION_WORDS,
    SUBJECTS,
    TOKEN,
    WORD_LISTS,
    Text,
    match_case,
)
from tools.wordnet import WordNet

TABLES = tomllib.loads(Path(__file__).with_name("nli_words.toml").read_text(encoding="utf-8"))
LISTS = {
    name: tuple(word.replace("%", " ") for word in words.split())
    for name, words in TABLES["words"].items()
}
MONTHS, DAYS = LISTS["months"], LISTS["days"]
ONES, TENS = WORD_LISTS["ones"], WORD_LISTS["tens"]
NUMBER_WORDS = (*ONES[2:], *TENS)
CENTURIES = tuple(
    f"{number}{ending} {word}"
    for word in ("century", "centuries")
    for number, ending in [*((number, "th") for number in range(11, 21)), (21, "st")]
)
NOT_DROPPED, UNSAFE = frozenset(LISTS["kept"]), NEGATIONS.union(LISTS["unsafe"])
NAME = re.compile(r"\b[A-Z][a-zé]+(?:[ -][A-Z][a-zé]+){0,3}\b")
NAME_CONTEXTS = frozenset(
    ["in", "at", "by", "of", "from", "to", "with", "for", "and", "near", "the"]
)
NOT_NAMES = frozenset([*MONTHS, *DAYS, *(name[:3] for name in MONTHS), *LISTS["titles"]])
MONTH = "|".join(MONTHS)
ADVERBIAL = re.compile(
    r"((?:In|On|At|During|After|Before|By|Since|Until|From|Throughout|Following|Near|For) "
    r"(?:[\w'’-]+ ){0,5}[\w'’-]+), ([^,;:]+)\.$"
)


EMPTY = WordNet()


class Names(NamedTuple):
    """Names and words of a corpus that can replace others of the same kind."""

    names: Mapping[str, list[str]]  # by the word before them, "" for all
    words: Mapping[tuple[str, str], list[str]]  # by part of speech and tag
    wordnet: WordNet = EMPTY


class Edit(NamedTuple):
    """Change of a sentence.

    Attributes:
        label: label of the original sentence as the premise and the edited sentence as the
            hypothesis, or the other way round.
        rule: function that returns None if it does not apply.
        frequency: an edit with a lower value is tried before others more often.
    """

    label: str
    rule: Callable[[str, Random, Names], str | None]
    frequency: float = 1.0


def collect_names(sentences: Iterable[str], wordnet: WordNet = EMPTY) -> Names:
    """Collect the names and content words of a corpus, with repetitions."""
    names: dict[str, list[str]] = {"": []}
    words: dict[tuple[str, str], list[str]] = {}
    for sentence in sentences:
        for match in find_names(sentence):
            for context in {"", word_before(sentence, match.start())}:
                names.setdefault(context, []).append(match[0])
        for token in Text.parse(sentence).tokens:
            for part in grammar.TAGS:
                tag = find_form(token, part)
                if tag:
                    words.setdefault((part, tag), []).append(token)
    return Names(names, words, wordnet)


def find_form(word: str, part: str) -> str | None:
    """Return the tag of a word that can only be this part of speech, and None for others."""
    return grammar.find_tag(word, part) if grammar.is_content(word, part) else None


def find_names(text: str) -> list[re.Match[str]]:
    """Return the capitalized names that do not open a sentence, other than dates.

    >>> [name[0] for name in find_names("The poet Ann Lee met Bo in Paris on Monday. Then I left.")]
    ['Ann Lee', 'Bo', 'Paris']
    """
    opening = {0, *(match.end() for match in re.finditer(r"[.!?:]\W+", text))}
    return [
        name
        for name in NAME.finditer(text)
        if (
            name.start() not in opening
            or name[0].split()[0] in WORD_LISTS["male"] + WORD_LISTS["female"]
        )
        and not NOT_NAMES & {*re.split("[ -]", name[0])}
        and name[0].lower() not in FUNCTION_WORDS
    ]


def word_before(text: str, position: int) -> str:
    """Return the word before a position if it says something about the kind of name after it."""
    word = text[:position].split()[-1:]
    return word[0].lower() if word and word[0].lower() in NAME_CONTEXTS else ""


def difference(text: str, edited: str) -> tuple[str, str] | None:
    """Return the words that differ, without punctuation. None if either text has none.

    >>> difference("He was born in May 1950.", "He was born in May 1951.")
    ('1950', '1951')
    """
    a, b = text.split(), edited.split()
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    values = (" ".join(words[start : len(words) - end]).strip(".,;:!?()\"'“”") for words in (a, b))
    old, new = values
    return (old, new) if old and new else None


def read_pairs(name: str) -> dict[str, list[str]]:
    """Return the replacements of each word or phrase in a table."""
    partners: dict[str, list[str]] = {}
    for entry in TABLES["replacements"][name].split():
        first, separator, second = re.split("([/>])", entry.replace("%", " "))
        partners.setdefault(first, []).append(second)
        if separator == "/":
            partners.setdefault(second, []).append(first)
    return partners


def replace_pair(partners: Mapping[str, list[str]]) -> Callable[..., str | None]:
    """Return a rule that replaces one word or phrase with a partner."""
    phrases = sorted(partners, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, phrases))})(?![\w-])", re.I)

    def rule(text: str, random: Random, names: Names) -> str | None:
        matches = [
            m for m in pattern.finditer(text) if m[0].lower() in partners or m[0] in partners
        ]
        if not matches:
            return None
        match = random.choice(matches)
        choices = partners.get(match[0]) or partners[match[0].lower()]
        return substitute(text, match, match_case(random.choice(choices), match[0]))

    return rule


def substitute(text: str, match: re.Match[str], replacement: str) -> str:
    """Replace a match in a text."""
    return text[: match.start()] + replacement + text[match.end() :]


def choose_match(pattern: str, text: str, random: Random) -> re.Match[str] | None:
    """Return a random match of a pattern."""
    matches = list(re.finditer(pattern, text))
    return random.choice(matches) if matches else None


# Edits that change the meaning.


def edit_number(text: str, random: Random, names: Names) -> str | None:
    """Replace a number, in digits or words, or exchange two numbers."""
    numbers = [number for number in grammar.find_numbers(text) if number[0] != "1"]
    words = [
        match
        for match in re.finditer(r"\b[A-Za-z]+\b", text)
        if match[0].lower() in NUMBER_WORDS and not text[: match.start()].endswith("-")
    ]
    if len(numbers) > 1 and random.random() < 0.15 and numbers[0][0] != numbers[-1][0]:
        return substitute(substitute(text, numbers[-1], numbers[0][0]), numbers[0], numbers[-1][0])
    if not numbers and not words:
        return None
    match = random.choice([*numbers, *words])
    number = match[0]
    if number.lower() in NUMBER_WORDS:
        pool = [word for word in NUMBER_WORDS if word != number.lower()]
        return substitute(text, match, match_case(random.choice(pool), number))
    while True:
        changed = change_number(number, random)
        if float(re.sub(r"[.,]", "", changed)) not in (1, float(re.sub(r"[.,]", "", number))):
            return substitute(text, match, changed)


def change_number(number: str, random: Random) -> str:
    """Change one digit or all digits, or the size of a number."""
    positions = [index for index, symbol in enumerate(number) if symbol.isdigit()]
    kind = random.random()
    if kind < 0.4:
        positions = [random.choice(positions)]
    elif kind < 0.6 and number.isdigit() and number != "0":
        return random.choice(
            (f"{number}0", str(max(2, int(number) + random.choice((-2, -1, 1, 2)))))
        )
    digits = list(number)
    for index in positions:
        digits[index] = str(random.randrange(index == 0, 10))
    return "".join(digits)


def edit_date(text: str, random: Random, names: Names) -> str | None:
    """Replace a year, decade, century, month, weekday, day or time."""
    rules = [year, month_or_day, day_of_month, time_of_day]
    random.shuffle(rules)
    for rule in rules:
        edited = rule(text, random)
        if edited and edited != text:
            return edited
    return None


def year(text: str, random: Random) -> str | None:
    match = choose_match(r"(?<![\d.,$€£-])(?:1\d|20)\d\d(?=s?\b)(?![.,]\d)(?!-\d{3})", text, random)
    if match is None:
        return None
    number = int(match[0])
    if text[match.end() :].startswith("s"):
        shift = random.choice((-40, -30, -20, -10, 10, 20, 30, 40))
    else:
        shift = random.choice((-1, 1)) * random.choice((1, 1, 2, 3, 5, 8, 10, 17, 20, 31, 50, 100))
    return substitute(text, match, str(number + shift))


def month_or_day(text: str, random: Random) -> str | None:
    month = rf"\b(?:{MONTH})\b(?=[ ,.]+\d)|(?<=\d )(?:{MONTH})\b|(?<=[Ii]n )(?:{MONTH})\b"
    week = rf"\b(?:{'|'.join(DAYS)})(?=s?\b)"
    match = choose_match(rf"{month}|{week}|\b(?:{'|'.join(CENTURIES)})\b", text, random)
    if match is None:
        return None
    word = match[0]
    pool = next(group for group in (MONTHS, DAYS, CENTURIES) if word in group)
    return substitute(
        text,
        match,
        random.choice([w for w in pool if w != word and w.split()[1:] == word.split()[1:]]),
    )


def day_of_month(text: str, random: Random) -> str | None:
    pattern = rf"(?<=\b)\d{{1,2}}(?= (?:{MONTH})\b)|(?<=[a-z] )(?<=\b)\d{{1,2}}(?=, [12]\d{{3}}\b)"
    match = choose_match(pattern, text, random)
    if match is None:
        return None
    return substitute(
        text, match, random.choice([str(n) for n in range(1, 29) if str(n) != match[0]])
    )


def time_of_day(text: str, random: Random) -> str | None:
    match = choose_match(r"\b(\d{1,2}):(\d\d)\b", text, random)
    if match is None:
        return None
    minutes = random.choice([m for m in ("00", "15", "20", "30", "45", "50") if m != match[2]])
    return substitute(text, match, f"{match[1]}:{minutes}")


def edit_negation(text: str, random: Random, names: Names) -> str | None:
    """Insert "not", or deny the sentence as a whole."""
    if random.random() < 0.2 and not NEGATIONS & {*text.lower().split()} and "?" not in text:
        statement = text.rstrip(".!")
        denials = ("It is not true that {}.", "It is false that {}.", "It is not the case that {}.")
        return random.choice(denials).format(statement)
    edited = negate(text, random)
    if edited and random.random() < 0.4:
        edited = re.sub(
            r"\b(is|are|was|were|did|does|do|has|have|could|would) not\b", r"\1n't", edited
        )
    elif edited and random.random() < 0.15:
        edited = re.sub(r"\b(is|are|was|were|has|have|could|would) not\b", r"\1 never", edited)
    return None if edited == text else edited


def edit_name(text: str, random: Random, names: Names) -> str | None:
    """Replace a name, at all its occurrences, with a name that follows the same word."""
    found = find_names(text)
    if not found:
        return None
    name = random.choice(found)
    pool = names.names.get(word_before(text, name.start()), [])
    choices = [n for n in (pool or names.names[""]) if n not in text and name[0] not in n]
    if not choices:
        return None
    new, old = random.choice(choices), name[0]
    parts = old.split()
    if len(parts) > 1 and random.random() < 0.4:
        place = random.randrange(len(parts))  # another first or last name
        new = " ".join([*parts[:place], new.split()[-1], *parts[place + 1 :]])
    return re.sub(rf"\b{re.escape(old)}\b", lambda _: new, text)


def edit_role(text: str, random: Random, names: Names) -> str | None:
    """Exchange two names or nouns that are not in a list, or the parts of a passive sentence.

    >>> edit_role("The dog chased the cat.", Random(0), Names({}, {}))
    'The cat chased the dog.'
    """
    if random.random() < 0.6 and (parts := passive_parts(text)):
        patient, helper, participle, agent, rest = parts
        first = match_case(agent, "X")
        return f"{first} {helper} {participle} by {lower_first(patient)}{rest}"
    found = [
        (a, b)
        for entities in (find_entities(text), *find_nouns(text))
        for a, b in pairwise(entities)
        if a[0] != b[0] and not LISTED.fullmatch(text[a.end() : b.start()])
    ]
    if not found:
        return None
    a, b = random.choice(found)
    return substitute(substitute(text, b, a[0]), a, b[0])


def find_entities(text: str) -> list[re.Match[str]]:
    """Return names, including the first words of a text if they cannot be ordinary words."""
    first, names = NAME.match(text), find_names(text)
    if first and first.start() not in {name.start() for name in names}:
        words = first[0].split()
        known = grammar.lemmas_by_pos(words[0].lower()) or words[0].lower() in FUNCTION_WORDS
        if not known and words[0] not in NOT_NAMES:
            names.insert(0, first)
    return names


def find_nouns(text: str) -> tuple[list[re.Match[str]], list[re.Match[str]]]:
    """Return the singular and the plural nouns that end a noun phrase."""
    parsed = Text.parse(text)
    tokens = list(TOKEN.finditer(text))
    nouns = [tokens[index] for index in parsed.words if grammar.is_noun(parsed, index)]
    tags = [grammar.find_tag(noun[0], "NOUN") for noun in nouns]
    singular, plural = (
        [noun for noun, tag in zip(nouns, tags, strict=True) if tag == wanted]
        for wanted in ("NN", "NNS")
    )
    return singular, plural


LISTED = re.compile(r"\W*(?:(?:and|or|the|a|an|both|as|well|to)\W+)*")
PASSIVE = re.compile(
    r"((?:[\w'’-]+ ){1,5}?)(was|were) ([a-z]+) by "
    r"((?:(?:the|a|an|his|her|their|its) )?(?:[\w'’-]+ ?){1,3}?)"
    r"((?: (?:in|on|at|for|after|during) .*)?[.])"
)


def passive_parts(text: str) -> tuple[str, ...] | None:
    """Return patient, auxiliary, participle, agent and rest of a short passive sentence."""
    match = PASSIVE.fullmatch(text)
    if not match or not grammar.is_participle(match[3]) or match[1].strip().lower() in SUBJECTS:
        return None
    agent = match[4].strip()
    determined = agent.split()[0] in ("the", "a", "an", "his", "her", "their", "its")
    if agent.split()[-1].endswith("ing") or not (agent[0].isupper() or determined):
        return None
    return match[1].strip(), match[2], match[3], agent, match[5]


def lower_first(text: str) -> str:
    """Lower the first letter if the first word is a function word."""
    word = text.split()[0]
    return text[0].lower() + text[1:] if word.lower() in FUNCTION_WORDS and word != "I" else text


def edit_unit(text: str, random: Random, names: Names) -> str | None:
    """Replace the unit or currency of a number."""
    match = choose_match(r"[$€£](?=\d)|(?<=\d)(?: ?°[CF]|%)", text, random)
    if match and random.random() < 0.6:
        symbol = match[0].strip()
        groups = (("$", "€", "£"), ("°C", "°F"), ("%", " degrees", " per thousand"))
        group = next(group for group in groups if symbol in group)
        return substitute(text, match, random.choice([unit for unit in group if unit != symbol]))
    after_number = re.compile(
        rf"(?:\d|\b(?:{'|'.join(NUMBER_WORDS)}|several|few|many|hundred|thousand))[ -]"
        rf"({'|'.join(sorted(UNIT_PARTNERS, key=len, reverse=True))})\b"
    )
    matches = list(after_number.finditer(text))
    if not matches:
        return None
    match = random.choice(matches)
    unit = random.choice(UNIT_PARTNERS[match[1]])
    return text[: match.start(1)] + unit + text[match.end(1) :]


def edit_word(text: str, random: Random, names: Names) -> str | None:
    """Replace a noun, verb or adjective with an unrelated word, or one of a neighboring meaning."""
    words = names.wordnet.siblings if random.random() < 0.5 else names.words
    return replace_word(text, random, words)


def replace_word(
    text: str, random: Random, words: Mapping[tuple[str, str], list[str]]
) -> str | None:
    """Replace a noun, verb or adjective with another one in the same form.

    `words` contains either forms by part of speech and tag, or lemmas by part of speech and lemma.
    """
    parsed = Text.parse(text)
    indices = list(parsed.words)
    random.shuffle(indices)
    for index in indices:
        word = parsed.tokens[index]
        for part in grammar.TAGS:
            if not (tag := find_form(word, part)):
                continue
            lemmas = words.get((part, grammar.lemmas_by_pos(word)[part]), [])
            forms = [grammar.inflect(lemma, part, tag) for lemma in lemmas if lemma.isalpha()]
            choices = [
                form for form in forms or words.get((part, tag), []) if form and form != word
            ]
            if choices:
                new = random.choice(choices)
                edits = {index: new}
                if parsed.lower(index - 1) in ("a", "an"):
                    article = grammar.choose_article(new)
                    edits[index - 1] = match_case(article, parsed.tokens[index - 1][0])
                return parsed.replace(edits)
    return None


def edit_order(text: str, random: Random, names: Names) -> str | None:
    """Shuffle the words, or drop a third of them, so that no statement is left."""
    words = text.split()
    if len(words) < 5:
        return None
    if random.random() < 0.6:
        random.shuffle(words)
    else:
        kept = sorted(random.sample(range(len(words)), len(words) - max(2, len(words) // 3)))
        words = [words[index] for index in kept]
    return " ".join(words)


UNIT_PARTNERS = read_pairs("units")
EDITS: dict[str, Edit] = {
    "number": Edit("contradiction", edit_number, 0.3),
    "date": Edit("contradiction", edit_date, 0.4),
    "unit": Edit("contradiction", edit_unit, 0.15),
    "antonym": Edit("contradiction", replace_pair(read_pairs("antonyms")), 1.3),
    "role": Edit("not_entailment", edit_role, 0.2),
    "name": Edit("not_entailment", edit_name, 0.7),
    "negation": Edit("contradiction", edit_negation, 0.9),
    "word": Edit("not_entailment", edit_word, 1.2),
    "order": Edit("not_entailment", edit_order, 2.0),
}


# Changes that keep the meaning.


def vary_punctuation(text: str, random: Random, names: Names) -> str | None:
    """Remove the final punctuation or all commas and quotes, or add final punctuation."""
    kind = random.random()
    if kind < 0.5:
        return text[:-1] if text[-1] in ".!" else f"{text}."
    if kind < 0.75:
        return re.sub(r",(?=\s)|[\"“”]", "", text)
    return text[:-1] + random.choice(("!", " .", ";", "...")) if text[-1] == "." else None


def vary_case(text: str, random: Random, names: Names) -> str | None:
    """Change the case of all letters."""
    return random.choice((text.lower(), text.upper()))


def vary_number(text: str, random: Random, names: Names) -> str | None:
    """Write number words as digits, or add or remove separators of thousands."""
    changed = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    if changed == text:
        changed = re.sub(
            r"(?<![\d.,-])\d{5,9}(?![\d.,-])", lambda match: f"{int(match[0]):,}", text
        )
    if changed == text:
        changed = re.sub(
            rf"(?<![\w-])(?:{'|'.join(NUMBER_WORDS)})(?![\w-])",
            lambda match: str(digits(match[0])),
            text,
        )
    return changed


def digits(word: str) -> int:
    """Return the value of a number word."""
    return ONES.index(word) if word in ONES else 10 * (TENS.index(word) + 2)


def vary_date(text: str, random: Random, names: Names) -> str | None:
    """Write "4 March 2020" as "March 4, 2020" or "4 Mar 2020", or the reverse."""
    day_first = rf"\b(\d{{1,2}})(?:st|nd|rd|th)? ({MONTH})\b"
    if random.random() < 0.3:
        return re.sub(rf"(?<=\d )({MONTH})\b", lambda match: match[0][:3], text)
    changed = re.sub(rf"{day_first},? (\d{{4}})\b", r"\2 \1, \3", text)
    changed = re.sub(day_first, r"\2 \1", changed)
    if changed == text:
        changed = re.sub(rf"\b({MONTH}) (\d{{1,2}}), (\d{{4}}),?", r"\2 \1 \3", text)
    return changed


def move_adverbial(text: str, random: Random, names: Names) -> str | None:
    """Turn "In 1955, he left." into "He left in 1955."."""
    match = ADVERBIAL.fullmatch(text)
    if match is None:
        return None
    clause = match_case(match[2], "X")
    return f"{clause} {lower_first(match[1])}."


def exchange_listed(text: str, random: Random, names: Names) -> str | None:
    """Turn "Ann and Bo" into "Bo and Ann", and "cats and dogs" into "dogs and cats".

    >>> exchange_listed("He has two cats and dogs.", Random(0), Names({}, {}))
    >>> exchange_listed("He likes cats and dogs.", Random(0), Names({}, {}))
    'He likes dogs and cats.'
    """
    name = choose_match(
        rf"(?<=[a-z] )({NAME.pattern})( (?:and|or) )({NAME.pattern})(?! [A-Z]|['’])", text, random
    )
    if name:
        return substitute(text, name, name[3] + name[2] + name[1])
    noun = choose_match(
        r"(?<= )([a-z]+)( (?:and|or) )([a-z]+)(?=[,.;]| (?:in|at|on|for|to)\b)", text, random
    )
    before = text[: noun.start()].split()[-1:] if noun else []
    if noun is None or not before or before[0] in FUNCTION_WORDS:
        return None
    plural = all(grammar.find_tag(noun[group], "NOUN") == "NNS" for group in (1, 3))
    verb = "VERB" in grammar.lemmas_by_pos(before[0])
    return substitute(text, noun, noun[3] + noun[2] + noun[1]) if plural and verb else None


def vary_voice(text: str, random: Random, names: Names) -> str | None:
    """Turn "The book was written by Ann." into "Ann wrote the book."."""
    parts = passive_parts(text)
    if parts is None:
        return None
    patient, _, participle, agent, rest = parts
    past = grammar.inflect(grammar.lemmas_by_pos(participle)["VERB"], "VERB", "VBD")
    return past and f"{match_case(agent, 'X')} {past} {lower_first(patient)}{rest}"


def drop_connective(text: str, random: Random, names: Names) -> str | None:
    """Drop "However," and similar words at the beginning."""
    changed = re.sub(rf"^(?:{'|'.join(LISTS['connectives'])}),? (?=\w)", "", text)
    return match_case(changed, "X") if changed else None


def vary_word(text: str, random: Random, names: Names) -> str | None:
    """Replace a word with a synonym."""
    return replace_word(text, random, names.wordnet.synonyms)


def vary_articles(text: str, random: Random, names: Names) -> str | None:
    """Drop or exchange an article."""
    article = choose_match(r"\b(?:the|an?) (?=[a-z])", text, random)
    return article and substitute(text, article, random.choice(("", "the ", "a ")))


SURFACE_VARIATIONS = (vary_punctuation, vary_case)
VARIATIONS = (
    vary_number,
    vary_date,
    move_adverbial,
    exchange_listed,
    vary_voice,
    drop_connective,
    vary_word,
    vary_word,
    vary_word,
    vary_articles,
    replace_pair(read_pairs("synonyms")),
    replace_pair(read_pairs("contractions")),
)


def vary(text: str, random: Random, names: Names) -> str | None:
    """Apply one to four changes that keep the meaning."""
    rules = random.sample(VARIATIONS, len(VARIATIONS))
    surface = random.sample(SURFACE_VARIATIONS, len(SURFACE_VARIATIONS))
    rules = [*surface[:1], *rules] if random.random() < 0.2 else [*rules, *surface]
    changed, wanted = text, random.choice((1, 1, 2, 3, 4))
    for rule in rules:
        varied = rule(changed, random, names)
        if varied and varied != changed:
            changed, wanted = varied, wanted - 1
        if not wanted:
            break
    return None if changed == text else changed


# Shorter sentences.

CLAUSE = re.compile(
    r", (?:(?:but|while|although|though|whereas|because|which|who|where|when|with|including|"
    r"such as|especially|particularly)|and (?:he|she|it|they|the|this|there|we|his|her|its|their|"
    r"was|is|were|has|had)) [^.;:]*(?=[.!]$)"
)
PARENTHESIS = re.compile(
    r" \([^()]*\)|, (?:which|who|where|whose) [^,.;]*,(?= [a-z])"
    r"|, [^,.;]* [^,.;]*,(?= (?:is|was|has) )"
)
FINAL_PHRASE = re.compile(
    r" (?:in|on|since|during|after|before|until|by|from|at|near|for|with|to|through) "
    r"(?:(?:the|a|an|its|his|her|their|early|late) )?[\w’'-]+(?: \d{4}| [A-Z]\w+)?(?=[.!]$)"
)
OPENING = re.compile(
    r"^(?:In|On|At|During|After|Since|By|Until|For|With|Throughout) [^,;]{3,40}, (?=\w)"
)
MODIFIER = re.compile(r"\b(?:very|quite|rather|extremely|highly|also|[a-z]{3,}ly)\s(?=[a-z])")


def is_safe(text: str) -> bool:
    """Return whether dropping or widening words of a sentence usually gives a weaker statement."""
    words = {*re.findall(r"[a-z']+", text.lower())}
    return not UNSAFE & words and "n't" not in text and text[-1] in ".!"


def widen(text: str, random: Random, names: Names) -> str | None:
    """Replace a noun or verb with a word of a wider meaning, such as "dog" with "animal"."""
    return replace_word(text, random, names.wordnet.hypernyms) if is_safe(text) else None


def shorten(text: str, random: Random) -> str | None:
    """Drop a clause, phrase, adverb or adjective, so that the rest follows from the sentence."""
    if not is_safe(text):
        return None
    rules = [CLAUSE, PARENTHESIS, FINAL_PHRASE, OPENING, MODIFIER]
    random.shuffle(rules)
    for rule in rules:
        matches = [
            match
            for match in rule.finditer(text)
            if rule is not MODIFIER or match[0].strip() not in NOT_DROPPED
        ]
        if matches:
            match = random.choice(matches)
            short = substitute(text, match, "").strip()
            if len(short.split()) >= 3:
                return match_case(short, "X")
    parsed = Text.parse(text)
    adjectives = [
        index
        for index in parsed.words
        if grammar.is_content(parsed.tokens[index], "ADJ")
        and parsed.tokens[index] not in NOT_DROPPED
        and parsed.lower(index - 1) in ("the", "his", "her", "their", "its")
        and grammar.is_content(parsed.lower(index + 1), "NOUN")
    ]
    return parsed.replace({random.choice(adjectives): ""}) if adjectives else None


def extend(text: str, random: Random, names: Names) -> str | None:
    """Insert an adjective, or "and" and another noun, so that the result says more."""
    nouns = [
        (noun, tag)
        for group, tag in zip(find_nouns(text), ("NN", "NNS"), strict=True)
        for noun in group
    ]
    if not nouns:
        return None
    noun, tag = random.choice(nouns)
    part, form = random.choice((("NOUN", tag), ("ADJ", "JJ")))
    choices = names.words.get((part, form), [])
    if not choices:
        return None
    word = random.choice(choices)
    return substitute(text, noun, f"{word} {noun[0]}" if part == "ADJ" else f"{noun[0]} and {word}")
