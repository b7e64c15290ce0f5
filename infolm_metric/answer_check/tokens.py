"""Tokens that carry the meaning of a short answer: words, letters, numbers by value and symbols.

Texts are prepared with `final_answer` first. RULES is the table of patterns, with an example each.
The first rule that matches at a position decides.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

LETTER, ALNUM = r"[^\W\d_]", r"[^\W_]"
NUMBER = (
    r"(?:\d+(?:\.\d+){2,}"  # 1.2.3
    r"|(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,3}(?![\w.]))?"
    r"|(?<![\w.])\.\d+)"
)
DASHES = "-\u2013\u2212"
JOINED = rf"{NUMBER}(?:(?: [{DASHES}] |[{DASHES}/:]){NUMBER})*"
ONES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
ONES += " sixteen seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORD_VALUES = {"zero": 0} | {word: value for value, word in enumerate(ONES.split(), 1)}
TEN_VALUES = {word: 10 * value for value, word in enumerate(TENS.split(), 2)}
POWERS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "bn": 9, "trillion": 12}
UNITS = (
    "km m cm mm nm kg g mg lb lbs oz l ml ft mi ms h min hr hrs w kw mw gw kwh v hz khz mhz ghz "
    "kb mb gb tb k c f mph kmh am pm"
)
# Other names of tokens, which match each other.
OTHER_NAMES = {
    other: name
    for name, others in {
        "km": "kilometre kilometer kilometres kilometers",
        "m": "metre meter metres meters",
        "cm": "centimetre centimeter centimetres centimeters",
        "kg": "kilogram kilograms kilogramme kilogrammes",
        "g": "gram grams gramme grammes",
        "l": "litre liter litres liters",
        "ml": "millilitre milliliter millilitres milliliters",
        "°": "degree degrees",
        "£": "pound pounds gbp",
        "$": "usd",
        "€": "eur",
    }.items()
    for other in others.split()
}
UNIT_WORDS = frozenset(
    f"{UNITS} {' '.join(OTHER_NAMES)} {' '.join(OTHER_NAMES.values())} mile miles foot feet inch "
    "inches yard yards acre acres hour hours minute minutes second seconds day days week weeks "
    "month months year years ounce ounces ton tons tonne tonnes celsius fahrenheit kelvin".split()
)
SYMBOLS = {"<=": "≤", ">=": "≥", "!=": "≠", "=\u0338": "≠"}
ARTICLE = re.compile(r"(?:a|an|the)(?=\s+\w)", re.IGNORECASE)
# "A" before one of these words is a key, a blood type or a verb's subject, not an article.
AFTER_LETTER = re.compile(
    r"A\s+(?:minor|major|flat|sharp|negative|positive|is|was|because|since|as|and|or|would|seems|"
    r"fits|states|says|describes|refers)\b"
)
# Letters without a decomposition. The vocabulary keeps them, but answers often replace them.
BASE_LETTERS = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "ı": "i"})


@dataclass(frozen=True)
class Token:
    """A token: the text in `simplify(text)[start:end]`, and the names that are compared."""

    text: str
    key: str
    start: int
    end: int
    other: str = ""  # another name, such as 9 for 9th


@dataclass(frozen=True)
class Overlap:
    """Tokens of a reference that an answer contains, and the others. Repeated tokens count."""

    matched: tuple[Token, ...]
    missing: tuple[Token, ...]
    answer_length: int

    @property
    def recall(self) -> float:
        """Fraction of the reference's tokens in the answer, 0 without tokens."""
        return len(self.matched) / max(1, len(self.matched) + len(self.missing))

    @property
    def precision(self) -> float:
        """Fraction of the answer's tokens in the reference, 0 without tokens."""
        return len(self.matched) / max(1, self.answer_length)

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        lengths = self.answer_length + len(self.matched) + len(self.missing)
        return 2 * len(self.matched) / max(1, lengths)


def simplify(text: str) -> str:
    """Strip accents, and move a minus before a currency sign to the number.

    >>> simplify("Beyoncé lost -$5")
    'Beyonce lost $-5'
    """
    if not text.isascii():
        decomposed = unicodedata.normalize("NFD", text.translate(BASE_LETTERS))
        letters = (x for x in decomposed if x == "\u0338" or unicodedata.category(x) != "Mn")
        text = "".join(letters)
    return re.sub(rf"(?<!\S)([{DASHES}])([$€£])(?=\d)", r"\2\1", text)


def _decimal(text: str, power: int = 0) -> str:
    """Return a canonical form of a number. Numbers with leading zeros (007) keep their form."""
    text = text.replace(",", "")
    if text.count(".") > 1 or (len(text) > 1 and text[0] == "0" and text[1].isdigit()):
        return text
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)  # neither infinite nor NaN
    significant = "".join(map(str, digits)).lstrip("0").rstrip("0")
    if not significant:
        return "0"
    exponent += power + len("".join(map(str, digits)).lstrip("0")) - len(significant)
    if -20 < exponent < 20:
        return f"{Decimal(significant).scaleb(exponent):f}" if len(significant) < 20 else text
    return f"{significant}e{exponent}"


def _number(match: re.Match[str]) -> Iterable[str]:
    """Split a date, score or range at hyphens next to four digits, and keep others as one token."""
    sign = "-" if match["sign"] else ""
    parts = re.split(rf"((?<![eE]) ?[{DASHES}] ?|[/:])", match["number"])
    if len(parts) == 1:
        power = sum(POWERS[word.lower()] for word in re.findall(r"\w+", match["power"] or ""))
        return [sign + _decimal(parts[0], power)]
    numbers, keys = [_decimal(part) for part in parts[::2]], []
    if "/" in parts:
        numbers = [number.lstrip("0") or "0" for number in numbers]
    elif ":" in parts:  # 08:15 is 8:15, but 4:01 is not 4:1
        numbers[0] = numbers[0].lstrip("0") or "0"
    current = sign + numbers[0]
    for index, separator in enumerate(parts[1::2]):
        long = any(re.search(r"\d{4}", number) for number in numbers[index : index + 2])
        if long and separator not in "/:":
            keys.append(current)
            current = numbers[index + 1]
        else:
            current += ("-" if separator not in "/:" else separator) + numbers[index + 1]
    return [*keys, current]


def _number_word(match: re.Match[str]) -> Iterable[str]:
    tens, _, ones = match["words"].lower().replace("-", " ").partition(" ")
    value = TEN_VALUES.get(tens, WORD_VALUES.get(tens, 0)) + WORD_VALUES.get(ones, 0)
    power = sum(POWERS[word.lower()] for word in re.findall(r"\w+", match["word_power"]))
    return [_decimal(str(value), power)]


def _word(match: re.Match[str]) -> Iterable[str]:
    return [re.sub("['’ʼ`]", "", match[0]).casefold()]


def _alternatives(words: Iterable[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


def _power(name: str) -> str:
    return rf"(?P<{name}>(?:[ -]?(?:{_alternatives(POWERS)})\b)*)"


@dataclass(frozen=True)
class Rule:
    """A pattern, the keys of its tokens, and an example: a text and its keys."""

    pattern: str
    keys: Callable[[re.Match[str]], Iterable[str]]
    text: str
    expected: str


ONES_PATTERN = _alternatives(ONES.split()[:9])
RULES = (
    Rule(rf"\^ ?[({{]*[+{DASHES}]?{ALNUM}+", lambda m: [re.sub(
        rf"[{DASHES}]", "-", re.sub(r"[ ({+]", "", m[0]))], "10^-5", "10 ^-5"),
    Rule(rf"(?P<sign>(?<![^\s(\[{{=<>≤≥^$€£\"'“×*])[{DASHES}](?={NUMBER}))?(?P<number>{JOINED})"
         rf"(?i:{_power('power')}(?!{ALNUM})|(?=(?:{_alternatives(UNITS.split())})(?!{ALNUM})))",
         _number, "-5.0 to 12,500 or 3-1", "-5 to 12500 or 3-1"),
    Rule(rf"(?i:(?P<words>(?:{_alternatives(TENS.split())})(?:[- ](?:{ONES_PATTERN}))?|zero"
         rf"|{_alternatives(ONES.split())})(?!{ALNUM}){_power('word_power')})",
         _number_word, "twenty-five million", "25000000"),
    Rule(rf"[A-Z]\.(?: {{0,2}}[A-Z]\.)+|[A-Za-z](?:\.[A-Za-z])+(?!{ALNUM})\.?",
         lambda m: [re.sub("[. ]", "", m[0]).casefold()], "the U.S. at 5 a.m.", "the us at 5 am"),
    Rule(rf"[A-Z][{DASHES}](?!{ALNUM})", lambda m: [m[0][0].lower() + "-"], "a B-.", "a b-"),
    Rule(rf"{ALNUM}*{LETTER}[+#]+(?!{ALNUM})", lambda m: [m[0].casefold()], "C++, F#", "c++ f#"),
    Rule(r"(?i:per ?cent)(?!\w)", lambda m: ["%"], "5 per cent", "5 %"),
    Rule(r"(?i:dollars?)(?!\w)", lambda m: ["$"], "five dollars", "5 $"),
    Rule(r"(?i:euros?)(?!\w)", lambda m: ["€"], "5 euros", "5 €"),
    Rule(rf"{ALNUM}+(?:['’ʼ`]{LETTER}+)*", _word, "O’Brien", "obrien"),
    Rule("<=|>=|!=|=\u0338|[%$€£¥<>≤≥≠=°]", lambda m: [SYMBOLS.get(m[0], m[0])], "≥5°", "≥ 5 °"),
)  # fmt: skip
SCANNER = re.compile("|".join(f"(?P<rule{i}>{rule.pattern})" for i, rule in enumerate(RULES)))


@lru_cache(256)  # rules of denials read a statement once per alias
def scan(text: str, has_capitals: bool | None = None) -> tuple[Token, ...]:
    """Return all tokens of a simplified text, including articles.

    In texts without capitals, lower-case letters can be designators.

    >>> [token.key for token in scan("The U.S. won 3-1 on the 9th.")]
    ['the', 'us', 'won', '3-1', 'on', 'the', '9th']
    """
    tokens = []
    if has_capitals is None:
        has_capitals = text != text.lower()
    for match in SCANNER.finditer(text):
        rule = RULES[int(str(match.lastgroup)[4:])]
        for key in filter(None, rule.keys(match)):  # a lone apostrophe has no key
            token = Token(match[0], key, match.start(), match.end(), OTHER_NAMES.get(key, ""))
            if len(key) == 1 and "a" <= key <= "z" and len(match[0]) == 1:
                if _is_designator(text, match, has_capitals):
                    token = replace(token, key=key.upper(), other=key)
            elif ordinal := re.fullmatch(r"(\d+)(?:st|nd|rd|th)", key):
                token = replace(token, other=ordinal[1])
            elif re.search(r"['’ʼ`]s$", match[0], re.IGNORECASE):
                token = replace(token, other=key[:-1])
            tokens.append(token)
    return tuple(tokens)


def _is_designator(text: str, match: re.Match[str], has_capitals: bool) -> bool:
    """Return True for a letter that is a name (option B), not an article, pronoun or variable."""
    before = text[max(0, match.start() - 12) : match.start()].rstrip()
    after = text[match.end() : match.end() + 24]
    if match[0] == "A":  # an article at the start of a sentence
        starts = not before or before[-1] in ".!?\n"
        article = starts and re.match(r"\s+[a-z]", after)
        return not article or AFTER_LETTER.match("A" + after) is not None
    if match[0] == "I":  # a pronoun, unless after a name (Elizabeth I)
        return not re.match(r"\s+[a-z]", after) or re.search(r"[A-Z]\w*$", before) is not None
    if match[0].isupper():
        return True
    alone = not before and not after.strip(" .")
    return alone or not has_capitals or after[:1] in tuple(")]") or before[-1:] in tuple("([")


def answer_tokens(text: str) -> list[Token]:
    """Return the tokens of a prepared answer without lower-case articles.

    >>> [token.key for token in answer_tokens("A dentist recommends the option D.")]
    ['a', 'dentist', 'recommends', 'option', 'D']
    """
    text = simplify(text)
    return [
        token for token in scan(text) if not (token.text.islower() and _is_article(text, token))
    ]


def reference_tokens(text: str) -> list[Token]:
    """Return the tokens of a prepared reference without articles, unless nothing else remains.

    >>> [token.key for token in reference_tokens("The A-Team on a train")]
    ['A', 'team', 'on', 'train']
    """
    text = simplify(text)
    tokens = [
        replace(token, other="") if token.key.isupper() else token
        for token in scan(text, has_capitals=True)
    ]
    return [
        token
        for index, token in enumerate(tokens)
        if not ((index == 0 or token.text.islower()) and _is_article(text, token))
    ] or tokens


def _is_article(text: str, token: Token) -> bool:
    match = ARTICLE.match(text, token.start)
    is_word = match is not None and match.end() == token.end
    return is_word and not AFTER_LETTER.match(text, token.start)


def compare(answer: Sequence[Token], reference: Sequence[Token]) -> Overlap:
    """Match tokens of a reference with tokens of an answer, first by key, then by other names.

    >>> compare(answer_tokens("May 3rd, 1999"), reference_tokens("3 May 1998")).recall
    0.6666666666666666
    """
    positions: dict[str, list[int]] = defaultdict(list)
    for index, token in enumerate(answer):
        positions[token.key].append(index)
    used, found = set(), set()
    for index, token in enumerate(reference):
        if positions[token.key]:
            used.add(positions[token.key].pop())
            found.add(index)
    for index, token in enumerate(answer):
        if token.other and index not in used:
            positions[token.other].append(index)
    for index, token in enumerate(reference):
        for name in (token.key, token.other):
            while index not in found and name and positions[name]:
                position = positions[name].pop()
                if position not in used:
                    used.add(position)
                    found.add(index)
    matched = tuple(token for index, token in enumerate(reference) if index in found)
    missing = tuple(token for index, token in enumerate(reference) if index not in found)
    return Overlap(matched, missing, len(answer))


def decides(token: Token, reference: Sequence[Token]) -> bool:
    """Return True for a token without which an answer differs from the reference.

    These are numbers, single letters and symbols, and units if the reference has a number.

    >>> reference = reference_tokens("5 km of vitamin A")
    >>> [token.key for token in reference if decides(token, reference)]
    ['5', 'km', 'A']
    """
    has_number = any(any(map(str.isdigit, other.key)) for other in reference)
    return (
        any(map(str.isdigit, token.key))
        or (len(token.key) == 1 and token.key.isalpha())
        or not any(map(str.isalnum, token.key))
        or (has_number and token.key in UNIT_WORDS)
    )


def is_copy(answer: str, reference: str) -> bool:
    """Return True if two prepared texts have equal tokens in the same order.

    >>> is_copy("The U.S.", "the US"), is_copy("Vitamin C", "Vitamin A")
    (True, False)
    """
    first, second = reference_tokens(answer), reference_tokens(reference)
    if not first and not second:
        return answer.strip() == reference.strip()
    return [token.key for token in first] == [token.key for token in second]
