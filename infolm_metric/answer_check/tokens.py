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
from itertools import pairwise

LETTER, ALNUM = r"[^\W\d_]", r"[^\W_]"
NUMBER = (
    r"(?:\d+(?:\.\d+){2,}"  # 1.2.3
    r"|(?:\d{1,3}(?:,\d{3})+(?!\d)|[1-9]\d{0,2}(?: \d{3}){1,5}(?!\d)|\d+)(?:\.\d+)?"
    r"(?:[eE][+-]?\d{1,3}(?![\w.]))?"
    r"|(?<![\w.])\.\d+)"
)
DASHES = "-\u2013\u2212"
JOINED = rf"{NUMBER}(?:(?: [{DASHES}] |[{DASHES}/:]){NUMBER}){{0,9}}"  # bounded for speed
ONES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
ONES += " sixteen seventeen eighteen nineteen"
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORD_VALUES = {"zero": 0} | {word: value for value, word in enumerate(ONES.split(), 1)}
WORD_VALUES |= {word: 10 * value for value, word in enumerate(TENS.split(), 2)}
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
ORDINALS += " " + " ".join(f"{word}th" for word in ONES.split()[12:])
FRACTIONS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4} | {
    f"{word}{ending}": value
    for value, word in enumerate(ORDINALS.split()[2:10], 3)
    for ending in ("", "s")
}
MONTHS = "january february march april may june july august september october november december"
ROMAN_TENS, ROMAN_ONES = " X XX XXX XL L LX LXX LXXX", " I II III IV V VI VII VIII IX"
ROMANS = {
    tens + ones: str(10 * i + j)
    for i, tens in enumerate(ROMAN_TENS.split(" "))
    for j, ones in enumerate(ROMAN_ONES.split(" "))
    if tens + ones
}
POWERS = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "bn": 9, "trillion": 12}
UNITS = (
    "km m cm mm nm kg g mg lb lbs oz l ml ft mi ms h min hr hrs w kw mw gw kwh v hz khz mhz ghz "
    "kb mb gb tb k c f mph kmh am pm in"
)
# Other names of units, which match each other.
UNIT_NAMES = {
    other: name
    for name, others in {
        "km": "kilometre kilometer kilometres kilometers",
        "m": "metre meter metres meters",
        "cm": "centimetre centimeter centimetres centimeters",
        "mm": "millimetre millimeter millimetres millimeters",
        "mi": "mile miles",
        "ft": "foot feet",
        "in": "inch inches",
        "kg": "kilogram kilograms kilogramme kilogrammes kilo kilos",
        "mg": "milligram milligrams",
        "g": "gram grams gramme grammes",
        "l": "litre liter litres liters",
        "ml": "millilitre milliliter millilitres milliliters",
        "mb": "megabyte megabytes",
        "gb": "gigabyte gigabytes",
        "tb": "terabyte terabytes",
        "h": "hour hours hr hrs",
        "min": "minute minutes mins",
        "s": "seconds sec secs",
        "kω": "kilohm kilohms kiloohm kiloohms",
        "ω": "ohm ohms",
        "kw": "kilowatt kilowatts",
        "mw": "megawatt megawatts",
        "hz": "hertz",
        "khz": "kilohertz",
        "mhz": "megahertz",
        "ghz": "gigahertz",
        "kb": "kilobyte kilobytes",
        "mib": "mebibyte mebibytes",
        "gib": "gibibyte gibibytes",
        "ev": "electronvolt electronvolts",
        "kcal": "kilocalorie kilocalories",
        "μg": "microgram micrograms mcg",
        "v": "volt volts",
        "w": "watt watts",
        "C": "celsius centigrade",
        "F": "fahrenheit",
        "K": "kelvin",
        "°": "degree degrees",
        "£": "pound pounds gbp",
        "$": "usd",
        "€": "eur",
    }.items()
    for other in others.split()
}
UNIT_WORDS = frozenset(
    f"{UNITS} {' '.join(UNIT_NAMES)} {' '.join(UNIT_NAMES.values())} yard yards acre acres second "
    "day days week weeks month months year years ounce ounces ton tons tonne tonnes".split()
) - {"in"}
OTHER_NAMES = {
    **UNIT_NAMES,
    **{month[:3]: month for month in MONTHS.split()},
    **{"sept": "september", "bce": "bc", "ce": "ad", "quarter": "1/4", "half": "1/2"},
    **{word: str(value) for value, word in enumerate(ORDINALS.split(), 1)},
    **{f"{word[:-1]}ieth": str(WORD_VALUES[word]) for word in TENS.split()},
    "first": "1st",  # the first of several is hardly ever 1
    **{
        f"{tens}{ones}": str(WORD_VALUES[tens] + value)
        for tens in TENS.split()
        for value, ones in enumerate(ORDINALS.split()[:9], 1)
    },
}
# Adjectives of countries, which name the country unless a capitalized noun follows.
COUNTRY_WORDS = (
    "american:america african:africa asian:asia european:europe argentine:argentina "
    "australian:australia austrian:austria belgian:belgium brazilian:brazil british:britain "
    "bulgarian:bulgaria canadian:canada chilean:chile chinese:china colombian:colombia "
    "croatian:croatia cuban:cuba czech:czechia danish:denmark dutch:netherlands egyptian:egypt "
    "english:england ethiopian:ethiopia finnish:finland french:france german:germany "
    "greek:greece hungarian:hungary icelandic:iceland indian:india iranian:iran iraqi:iraq "
    "irish:ireland israeli:israel italian:italy japanese:japan kenyan:kenya korean:korea "
    "mexican:mexico moroccan:morocco nigerian:nigeria norwegian:norway pakistani:pakistan "
    "peruvian:peru polish:poland portuguese:portugal romanian:romania russian:russia "
    "scottish:scotland serbian:serbia spanish:spain swedish:sweden swiss:switzerland "
    "thai:thailand turkish:turkey ukrainian:ukraine vietnamese:vietnam welsh:wales"
)
COUNTRIES = dict(pair.split(":") for pair in COUNTRY_WORDS.split())
SYMBOLS = {"<=": "≤", ">=": "≥", "!=": "≠", "=\u0338": "≠"}
ARTICLE = re.compile(r"(?:a|an|the)(?=\s+\w)", re.IGNORECASE)
# "A" before one of these words is a key, a blood type or a verb's subject, not an article.
AFTER_LETTER = re.compile(
    r"A\s+(?:minor|major|flat|sharp|negative|positive|is|was|because|since|as|and|or|would|seems|"
    r"fits|states|says|describes|refers)\b"
)
LONGEST_WORD = 50  # characters of a word with another name
SHORTEST_JOINED = 5  # letters of two words that may be written as one
NAME = re.compile(r"[A-Z][a-z]{2,}")
# Chat systems append the number of a source without a space: "Walsh1.", "in 19871."
FOOTNOTE = re.compile(r"([a-z]{3,})[1-9]\d?|(1[5-9]\d\d|20[0-2]\d)[1-9]\d?")
PLURAL = re.compile(r"(\w+)ies|(\w+(?:o|ch|sh|x|ss|z))es|(\w\w+[^suix])s")
# Chat systems join words around the source that they remove: "sung byNorah Jones".
GLUED = re.compile(
    r"\b(by|is|was|are|were|as|in|at|of|on|to|from|and|the|named|called|about|actor|actress|singer)"
    r"(?=[A-Z][a-z]|\d\d)|(?<=\d\d\d\d)(?=(?:and|after|before|when|until|as|by)\b)"
)
APPROXIMATE = frozenset(["about", "approximately", "approx", "around", "roughly", "circa", "ca"])
# An explanation in brackets or the form of a company at the end of a name.
APPENDIX = re.compile(r"(?<=\w)(?: \([^()]*\)|,? (?:Inc|Ltd|LLC|Corp|Co|plc|PLC|GmbH)\.?)$")
# Letters without a decomposition. The vocabulary keeps them, but answers often replace them.
BASE_LETTERS = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "đ": "d", "ı": "i"})


@dataclass(frozen=True)
class Token:
    """A token: the text in `simplify(text)[start:end]`, and the names that are compared."""

    text: str
    key: str
    start: int
    end: int
    other: str = ""  # another name, such as 9 for 9th or ninth


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
    """Strip accents, separate joined words, and move a minus before a currency sign to the number.

    >>> simplify("sung byBeyoncé"), simplify("-$5")
    ('sung by Beyonce', '$-5')
    """
    if not text.isascii():
        decomposed = unicodedata.normalize("NFD", text.translate(BASE_LETTERS))
        letters = (x for x in decomposed if x == "\u0338" or unicodedata.category(x) != "Mn")
        text = "".join(letters)
    text = GLUED.sub(lambda match: f"{match[1] or ''} ", text)
    return re.sub(rf"(?<!\S)([{DASHES}])([$€£])(?=\d)", r"\2\1", text)


def _decimal(text: str, power: int = 0) -> str:
    """Return a canonical form of a number. Numbers with leading zeros (007) keep their form."""
    text = re.sub("[, ]", "", text)
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
    sign = "-" if match["sign"] or match["minus"] else ""
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
    total = current = 0
    for word in re.split(r"\W+", match["words"].lower()):
        if word == "hundred" and current:
            current *= 100
        elif word in POWERS:
            total, current = (total + current) * 10 ** POWERS[word], 0
        else:
            current += WORD_VALUES.get(word, 0)
    half = Decimal("0.5") if match["and_half"] else 0
    power = POWERS[match["half_power"].lower()] if match["half_power"] else 0
    return [("-" if match["word_minus"] else "") + _decimal(str(total + current + half), power)]


def _fraction(match: re.Match[str]) -> Iterable[str]:
    return [f"{WORD_VALUES[match['top'].lower()]}/{FRACTIONS[match['bottom'].lower()]}"]


def _iso_date(match: re.Match[str]) -> Iterable[str]:
    return [match["year"], MONTHS.split()[int(match["month"]) - 1], str(int(match["day"]))]


def _clock(match: re.Match[str]) -> Iterable[str]:
    """Return the time on a 12-hour clock."""
    hour, minute = match["hour"] or match["hour24"], match["minute"] or match["minute24"]
    half = f"{match['half'][0].lower()}m" if match["half"] else "pm"
    number = int(hour) if match["half"] else int(hour) - 12
    return [str(number) if minute in (None, "00") else f"{number}:{minute}", half]


def _world_war(match: re.Match[str]) -> Iterable[str]:
    second = (match["war"] or match["wars"]).lower() in ("second", "ii", "two", "2")
    return ["world", "war", "2" if second else "1"]


def _decade(match: re.Match[str]) -> Iterable[str]:
    tens = re.sub("ies$", "y", match["decade"].lower())
    return [f"{WORD_VALUES[match['century'].lower()]}{WORD_VALUES.get(tens, 10)}s"]


def _dozen(match: re.Match[str]) -> Iterable[str]:
    return [str((6 if match["half_dozen"] else 12) * WORD_VALUES.get(match["dozens"] or "", 1))]


def _not(match: re.Match[str]) -> Iterable[str]:
    verb = (match["verb"] or "ca").lower()
    return [{"ca": "can", "wo": "will", "sha": "shall"}.get(verb, verb), "not"]


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


ONES_PATTERN, TENS_PATTERN = _alternatives(ONES.split()[:9]), _alternatives(TENS.split())
LENGTHS = (
    r"(?:[kcm]?m|(?:kilo|centi)?met(?:er|re)s?|miles?|feet|foot|ft|inch(?:es)?|in|yards?)(?!\w)"
)
# "5 minus 3" and "x minus 3" have no negative number.
MINUS = r"(?<![\w)])(?<![\d)] )(?<!\b\w )(?:minus|negative) "
BELOW_100 = rf"(?:(?:{TENS_PATTERN})(?:[- ](?:{ONES_PATTERN}))?|{_alternatives(ONES.split())}|zero)"
BELOW_1000 = (
    rf"{BELOW_100}(?!{ALNUM})(?:[ -]hundred(?!{ALNUM})(?: (?:and )?{BELOW_100}(?!{ALNUM}))?)?"
)
NUMBER_WORDS = (
    rf"{BELOW_1000}(?:(?:[ -](?:{_alternatives(POWERS)})(?!{ALNUM}))+"
    rf"(?:,? (?:and )?{BELOW_1000})?){{0,4}}"
)
RULES = (
    Rule(rf"\^ ?[({{]*[{DASHES}+]?{ALNUM}+", lambda m: [re.sub(
        rf"[{DASHES}]", "-", re.sub(r"[ ({+]", "", m[0]))], "10^-5", "10 ^-5"),
    Rule(r"(?<![\w-])(?P<year>\d{4})[-/](?P<month>0[1-9]|1[0-2])[-/]"
         r"(?P<day>[0-2]\d|3[01])(?![\w-])",
         _iso_date, "2024-03-05", "2024 march 5"),
    Rule(r"(?<![\w:.])(?:(?P<hour>2[0-4]|1\d|0?\d)(?:[:.](?P<minute>[0-5]\d))?\s?(?i:(?P<half>[ap]"
         r"(?:m\b|\.m\b\.?)))|(?P<hour24>1[3-9]|2[0-3]):(?P<minute24>[0-5]\d)(?![\w:]))",
         _clock, "20:15, 8:15 p.m., 8:00 am", "8:15 pm 8:15 pm 8 am"),
    Rule(rf"(?:(?<=\d )|(?<=\b\w )|(?<=\d\w )|(?<=\) ))[{DASHES}+×*÷](?= (?:\d|\w\b|\())"
         rf"|(?<=\d[xyzn])[{DASHES}+](?=\d)", lambda m: [re.sub(rf"[{DASHES}]", "-", m[0])],
         "2x - 1, 2x+1", "2x - 1 2x + 1"),
    Rule(r"(?<![\w./])\d+ (?:and )?\d{1,2}/\d{1,2}(?![\w/])",
         lambda m: [re.sub(" (?:and )?", "+", m[0])], "1 1/2 cups", "1+1/2 cups"),
    Rule(rf"(?:(?P<minus>(?i:{MINUS}))(?={NUMBER})|(?P<sign>(?<![^\s(\[{{=<>≤≥^$€£\"'“×*])"
         rf"[{DASHES}](?={NUMBER})))?(?P<number>{JOINED})"
         rf"(?i:{_power('power')}(?!{ALNUM})|(?=(?:{_alternatives(UNITS.split())})(?!{ALNUM})))",
         _number, "-5.0 to 12,500 or 3-1", "-5 to 12500 or 3-1"),
    Rule(r"(?i:(?P<century>eighteen|nineteen|twenty)[ -](?P<decade>tens|(?:twent|thirt|fort|fift|"
         r"sixt|sevent|eight|ninet)ies))(?!\w)", _decade, "the nineteen-twenties", "the 1920s"),
    Rule(rf"(?i:(?P<half_dozen>half a )?(?:(?P<dozens>{ONES_PATTERN}|an?) )?dozen)(?!{ALNUM})",
         _dozen, "a dozen, two dozen", "12 24"),
    Rule(rf"(?i:(?P<top>{ONES_PATTERN})[- ](?P<bottom>{_alternatives(FRACTIONS)}))(?!{ALNUM})",
         _fraction, "two thirds", "2/3"),
    Rule(rf"(?i:(?:{TENS_PATTERN})[- ](?:{_alternatives(ORDINALS.split()[:9])}))(?!{ALNUM})",
         lambda m: [re.sub("[- ]", "", m[0].lower())], "twenty-first", "twentyfirst"),
    Rule(rf"(?i:(?P<word_minus>{MINUS})?(?P<words>{NUMBER_WORDS})(?P<and_half> and a half"
         rf"(?!{ALNUM})(?: (?P<half_power>{_alternatives(POWERS)})(?!{ALNUM}))?)?)(?!{ALNUM})",
         _number_word, "minus one hundred and five, two and a half million", "-105 2500000"),
    Rule(rf"[A-Z]\.(?: {{0,2}}[A-Z]\.)+|[A-Za-z](?:\.[A-Za-z])+(?!{ALNUM})\.?",
         lambda m: [re.sub("[. ]", "", m[0]).casefold()], "the U.S. at 5 a.m.", "the us at 5 am"),
    Rule(rf"(?i:first)(?= (?:of )?(?i:{_alternatives(MONTHS.split())})(?!\w))", lambda m: ["1"],
         "the first of May", "the 1 of may"),
    Rule(r"[A-F] (?:minus|plus(?=[.,;!]|$))(?!\w)",
         lambda m: [m[0][0].lower() + ("-" if "minus" in m[0] else "+")], "an A minus", "an a-"),
    Rule(r"(?:(?:AB|(?<=type )[ABO]|(?<=group )[ABO]|(?<=blood )[ABO]) |[ABO],? Rh[ -])"
         r"(?:positive|negative)(?!\w)",
         lambda m: [re.split("[ ,]", m[0])[0].lower() + ("+" if "pos" in m[0] else "-")],
         "AB positive, O Rh-negative", "ab+ o-"),
    Rule(rf"[A-Z][{DASHES}](?!{ALNUM})", lambda m: [m[0][0].lower() + "-"], "a B-.", "a b-"),
    Rule(rf"{ALNUM}*{LETTER}[+#]+(?!{ALNUM})", lambda m: [m[0].casefold()], "C++, F#", "c++ f#"),
    Rule(rf"(?i:(?P<verb>ca|wo|sha|is|are|was|were|do|does|did|has|have|had|could|would|should|must)"
         rf"n['’ʼ`]t|cannot)(?!{ALNUM})", _not, "aren't, can't", "are not can not"),
    Rule(r"[A-G][ -]sharp(?!\w)", lambda m: [m[0][0].lower() + "#"], "F sharp", "f#"),
    Rule(r"[B-G](?:[ -]flat(?!\w)|♭)|A(?:♭|[ -]flat(?= (?:major|minor)|[.,;]|$))",
         lambda m: [m[0][0].lower() + "♭"], "B-flat", "b♭"),
    Rule(r"(?i:per ?cent)(?!\w)", lambda m: ["%"], "5 per cent", "5 %"),
    Rule(rf"(?i:(?:square|sq\.?) (?={LENGTHS}))", lambda m: ["^2"], "square miles", "^2 miles"),
    Rule(rf"(?i:cubic (?={LENGTHS}))", lambda m: ["^3"], "5 cubic metres", "5 ^3 metres"),
    Rule(r"(?i:miles (?:per|an) hour|mi/h)(?!\w)", lambda m: ["mph"], "5 miles per hour", "5 mph"),
    Rule(r"(?i:kilomet(?:re|er)s (?:per|an) hour|km/h|kph)(?!\w)", lambda m: ["kmh"],
         "5 km/h", "5 kmh"),
    Rule(rf"(?i:(?P<war>first|second) world war|(?:world war|ww) ?(?P<wars>i{{1,2}}|one|two|[12]))"
         rf"(?!{ALNUM})", _world_war, "the First World War, WW2", "the world war 1 world war 2"),
    Rule(r"(?i:dollars?)(?!\w)", lambda m: ["$"], "five dollars", "5 $"),
    Rule(r"(?i:euros?)(?!\w)", lambda m: ["€"], "5 euros", "5 €"),
    Rule("[\u3040-\u30ff\u3400-\u9fff]", lambda m: [m[0]], "東京の人", "東 京 の 人"),
    Rule(rf"{ALNUM}+(?:['’ʼ`]{LETTER}+)*", _word, "O’Brien", "obrien"),
    Rule(r"(?<!\S)[#@&](?!\S)", lambda m: ["and" if m[0] == "&" else m[0]],
         "the # key & the @ key", "the # key and the @ key"),
    Rule("<=|>=|!=|=\u0338|[%$€£¥<>≤≥≠=°]", lambda m: [SYMBOLS.get(m[0], m[0])], "≥5°", "≥ 5 °"),
)  # fmt: skip
SCANNER = re.compile("|".join(f"(?P<rule{i}>{rule.pattern})" for i, rule in enumerate(RULES)))


@lru_cache(4096)  # rules of denials and the guard read a statement several times
def scan(text: str, has_capitals: bool | None = None) -> tuple[Token, ...]:
    """Return all tokens of a simplified text, including articles.

    In texts without capitals, lower-case letters can be designators.

    >>> [token.key for token in scan("The U.S. won 3-1 on the 9th.")]
    ['the', 'us', 'won', '3-1', 'on', 'the', '9th']
    """
    tokens: list[Token] = []
    if has_capitals is None:
        has_capitals = text != text.lower()
    for match in SCANNER.finditer(text):
        rule = RULES[int(str(match.lastgroup)[4:])]
        for key in filter(None, rule.keys(match)):  # a lone apostrophe has no key
            other = OTHER_NAMES.get(key, "") or _other_name(text, match, key)
            token = Token(match[0], key, match.start(), match.end(), other)
            letter = len(match[0]) == len(key) == 1 and "a" <= key <= "z"
            if letter and _is_designator(text, match, has_capitals):
                token = replace(token, key=key.upper(), other=other or key)
            if len(tokens) > 1 and tokens[-1].key == "to" and _is_small(key, tokens[-2].key):
                tokens[-1] = replace(tokens[-1], other=f"{tokens[-2].key}-{key}")  # 10 to 20
            tokens.append(token)
    return tuple(tokens)


def _other_name(text: str, match: re.Match[str], key: str) -> str:
    """Return another name (9 for 9th or IX, 0.5 for 1/2, 3:1 for 3-1, bee for bees), or ""."""
    word = match[0]
    if len(word) > LONGEST_WORD:  # several tokens, such as many joined dates
        return ""
    if word in ROMANS and (
        len(word) > 1 or re.search(r"[A-Z]\w* $", text[max(0, match.start() - 20) : match.start()])
    ):
        return ROMANS[word]
    if ordinal := re.fullmatch(r"(\d+)(?:st|nd|rd|th)", key):
        return ordinal[1]
    if re.fullmatch(r"\d{1,2}-\d{1,3}", key):
        return key.replace("-", ":")
    if fraction := re.fullmatch(r"(\d{1,2})/(2|4|5|8|10|20|25|50|100)", key):
        return _decimal(f"{int(fraction[1]) / int(fraction[2]):g}")
    if re.search(r"['’ʼ`]s$", word, re.IGNORECASE):
        return key[:-1]
    if key in COUNTRIES and not re.match(r"[ -][A-Z]", text[match.end() :][:2]):
        return COUNTRIES[key]
    if (note := FOOTNOTE.fullmatch(key)) and text[match.end() : match.end() + 1] in ("", *".,;:\n"):
        return note[1] or note[2]
    if word.islower() and key.isalpha() and (plural := PLURAL.fullmatch(key)):
        return f"{plural[1]}y" if plural[1] else plural[2] or plural[3]
    return ""


def _is_small(*keys: str) -> bool:
    return all(key.isdigit() and len(key) < 4 for key in keys)


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
    alone |= re.search(r"(?i)\b(?:option|choice|letter)$", before) is not None
    return alone or not has_capitals or after[:1] in tuple(")]") or before[-1:] in tuple("([")


def answer_tokens(text: str) -> list[Token]:
    """Return the tokens of a prepared answer without lower-case articles.

    >>> [token.key for token in answer_tokens("A dentist recommends the option D.")]
    ['a', 'dentist', 'recommends', 'option', 'D']
    """
    text = simplify(text)
    return [
        token for token in scan(text) if not (_is_article(text, token) and token.text.islower())
    ]


def reference_tokens(text: str) -> list[Token]:
    """Return the tokens of a prepared reference that an answer must contain.

    Articles do not count if something else remains, and neither does "about" before a number.

    >>> [token.key for token in reference_tokens("The A-Team, about 5 men on a train")]
    ['A', 'team', '5', 'men', 'on', 'train']
    """
    text = simplify(text)
    tokens = [
        replace(token, other="") if token.other == token.key.lower() else token
        for token in _join_ranges(scan(text, True) if text == text.lower() else scan(text))
    ]
    return [
        token
        for index, token in enumerate(tokens)
        if not (_is_article(text, token) and (index == 0 or token.text.islower()))
        and not (
            token.key in APPROXIMATE and any(x.key[:1].isdigit() for x in tokens[index + 1 :][:1])
        )
    ] or tokens


def _join_ranges(tokens: Sequence[Token]) -> list[Token]:
    """Replace the three tokens of "10 to 20" by one token."""
    joined: list[Token] = []
    for token in tokens:
        if len(joined) > 1 and joined[-1].key == "to" and "-" in joined[-1].other:
            word, first = joined.pop(), joined.pop()
            token = Token(f"{first.text} to {token.text}", word.other, first.start, token.end)
        joined.append(token)
    return joined


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
    written_apart = _match_joined(answer, used, reference, found)
    written_together = _match_joined(reference, found, answer, used)
    matched = tuple(token for index, token in enumerate(reference) if index in found)
    missing = tuple(token for index, token in enumerate(reference) if index not in found)
    return Overlap(matched, missing, len(answer) - written_apart + written_together)


def _match_joined(
    parts: Sequence[Token], used: set[int], wholes: Sequence[Token], found: set[int]
) -> int:
    """Match words with two neighbours that form them (Spider-Man, Spiderman), and count them."""
    count = 0
    pairs = {
        first.key + second.key: index
        for index, (first, second) in enumerate(pairwise(parts))
        if len(first.key + second.key) >= SHORTEST_JOINED and first.key.isalpha()
    }
    for index, token in enumerate(wholes):
        place = pairs.get(token.key)
        if index not in found and place is not None and not used.intersection((place, place + 1)):
            used.update((place, place + 1))
            found.add(index)
            count += 1
    return count


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
        or token.text in ROMANS
        or (len(token.key) == 1 and token.key.isalpha())
        or not any(map(str.isalnum, token.key))
        or (has_number and token.key in UNIT_WORDS)
    )


def compare_name(
    answer: Sequence[Token], name: str, tokens: Sequence[Token], overlap: Overlap
) -> Overlap:
    """Compare with a name without explanation in brackets, form of a company, or middle names.

    `tokens` and `overlap` are of the whole reference. Initials are not omitted, because they often
    distinguish persons.

    >>> answer, name = answer_tokens("It was Helen Adams."), "Helen Adams (writer)"
    >>> expected = reference_tokens(name)
    >>> compare_name(answer, name, expected, compare(answer, expected)).recall
    1.0
    """
    bare = reference_tokens(APPENDIX.sub("", name))
    if len(bare) < len(tokens):
        overlap = max(overlap, compare(answer, bare), key=lambda item: item.recall)
    initials = _initials(answer, bare)
    if initials:
        return compare([*answer, *initials], bare)
    is_name = 3 <= len(bare) <= 4 and all(NAME.fullmatch(token.text) for token in bare)
    ends = bare[0].key, bare[-1].key
    if is_name and any((a.key, b.key) == ends for a, b in pairwise(answer)):
        overlap = compare(answer, [bare[0], bare[-1]])
    if overlap.matched and all(token.key == "and" for token in overlap.missing):  # a list of items
        overlap = Overlap(overlap.matched, (), overlap.answer_length)
    return overlap


def _initials(answer: Sequence[Token], name: Sequence[Token]) -> list[Token]:
    """Return the names that an answer abbreviates (JFK, J. F. Kennedy), or nothing."""
    acronym = "".join(token.text[:1] for token in name)
    if len(name) == 1 and len(name[0].text) > 2 and name[0].text.isupper():
        initials = "".join(token.text[:1] for token in answer)
        return list(name) if name[0].text in initials else []
    if len(acronym) > 2 and acronym.isupper() and acronym in {token.text for token in answer}:
        return list(name)
    if len(name) < 2 or not all(NAME.fullmatch(token.text) for token in name):
        return []
    *given, surname = name
    letters = "".join(token.key[0] for token in given)
    for before, token in pairwise(answer):
        if token.key == surname.key and before.key.lower() == letters and before.text.isupper():
            return list(given)
    for index, token in enumerate(answer):
        near = answer[max(0, index - len(given)) : index]
        if token.key == surname.key and [x.text for x in near] == [*letters.upper()]:
            return list(given)
    return []


def is_copy(answer: str, reference: str) -> bool:
    """Return True if two prepared texts have equal tokens in the same order.

    >>> is_copy("The U.S.", "the US"), is_copy("Vitamin C", "Vitamin A")
    (True, False)
    """
    first, second = reference_tokens(answer), reference_tokens(reference)
    if not first and not second:
        return answer.strip() == reference.strip()
    return [token.key for token in first] == [token.key for token in second]
