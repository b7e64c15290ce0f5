"""Penalties on completions that raise the score of answer_check without answering better.

Each penalty is a factor from 0 to 1, and 1 for an ordinary answer. The reward is the score times
all factors. References of a few words are easy to hit, so the penalties are about form. They were
chosen on the first half of the questions of EVOUNA and DIVER-QA. On the second half, 500 honest
correct answers keep 98% of their mean reward (`python -m tools.answers hacks`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from infolm_metric.answer_check.denials import offers_candidates, refutes
from infolm_metric.answer_check.final_answer import final_answer, plain_reference
from infolm_metric.answer_check.statements import split_statements
from infolm_metric.answer_check.tokens import Token, answer_tokens, is_copy, reference_tokens

# Factor for an answer that denies a reference somewhere, offers it among other candidates, or is a
# list. Fewer than 3% of the honest correct answers have a score below it.
PENALTY = 0.2
LONGEST_REPEAT = 12  # tokens of a repeated phrase, and statements that are compared
ECHO = 0.8  # fraction of a statement's words in an earlier statement that repeats it
# Words before length is penalized: 97% of the correct answers in EVOUNA and DIVER-QA are shorter.
# The factor decreases by LENGTH_SLOPE per further word.
USUAL_WORDS, LENGTH_SLOPE, LONG = 200, 0.001, 0.25
FILLER = 0.25  # largest decrease for statements that are unrelated to question and reference
# Factor for an answer of several statements that names a reference only in the middle.
BURIED, MANY_STATEMENTS = 0.5, 4
BARE = 9  # words of an answer that offers two candidates and contains no word of the prompt
MIN_ITEMS = 4  # of a bare list, and tokens of a bare list of keywords
# Largest mean number of words per item of a bare list, and of a list of at least MANY_ITEMS.
ITEM_WORDS, MANY_ITEMS, MANY_ITEMS_WORDS = 2.5, 8, 4
KEYWORDS = 1.5  # largest mean number of words per item of a list of keywords
PROSE = 0.2  # smallest fraction of function words in prose, which is not a bare list
# Words that most sentences contain at least one of.
FUNCTION_WORDS = frozenset(
    ("a", "an", "the", "of", "in", "on", "at", "to", "by", "for", "from", "with", "as", "is", "are")
    + ("was", "were", "be", "been", "it", "its", "he", "she", "they", "his", "her", "their", "this")
    + ("that", "these", "those", "and", "but", "or", "not", "which", "who", "has", "have", "had")
    + ("after", "before", "when", "than", "you", "we", "i", "will")
)
VERBS = frozenset(("is", "are", "was", "were", "has", "have", "had"))
CONNECTIVES = frozenset(("so", "thus", "therefore", "hence", "indeed", "again", "yes", "certainly"))
QUOTES = re.compile(r"[\"“”„«»*()\[\]]")
# Several other names in brackets.
ALIASES = re.compile(
    r"\((?:also (?:known as|called)|a\.?k\.?a\.?|or)\b[^(),]*,[^(),]*(?:,| and | or )[^()]*\)"
)
# Words without which `offers_candidates` finds nothing.
CHOICE = re.compile(
    r"(?i)\bor\b|[/:]|\bbetween\b|\b(?:candidates|possibilities|options|all of the|every option)\b"
)


@dataclass(frozen=True)
class Completion:
    """A completion and its references as plain text, and the prompt, which may be empty."""

    text: str
    references: Sequence[str]
    prompt: str = ""

    @cached_property
    def statements(self) -> list[str]:
        return split_statements(self.text)

    @cached_property
    def tokens(self) -> list[list[Token]]:
        """Tokens of each statement, without articles."""
        return [answer_tokens(statement) for statement in self.statements]

    @cached_property
    def keys(self) -> list[list[str]]:
        """Words of each statement."""
        return [[token.key for token in tokens] for tokens in self.tokens]

    @cached_property
    def words(self) -> list[str]:
        return [key for keys in self.keys for key in keys]

    @cached_property
    def reference_words(self) -> list[list[str]]:
        """Words of each reference."""
        return [[token.key for token in reference_tokens(text)] for text in self.references]

    @cached_property
    def prompt_words(self) -> list[str]:
        return [token.key for token in answer_tokens(self.prompt)]

    @cached_property
    def mentions(self) -> list[str]:
        """Statements that contain a word of a reference."""
        wanted = {word for words in self.reference_words for word in words}
        return [
            statement
            for statement, tokens in zip(self.statements, self.tokens, strict=True)
            if any(token.key in wanted or token.other in wanted for token in tokens)
        ]


def guard(answer: str, references: Sequence[str], prompt: str = "") -> float:
    """Return the product of all penalties, from 0 to 1, and 1 for a copy of a reference.

    `prompt` may be empty.

    >>> guard("It is Paris.", ["Paris"]), guard("Paris Paris Paris Paris", ["Paris"])
    (1.0, 0.25)
    """
    text, plain = final_answer(answer), [plain_reference(reference) for reference in references]
    if any(is_copy(text, reference) for reference in plain):
        return 1.0
    completion = Completion(text, plain, prompt)
    return math.prod(penalty(completion) for penalty in PENALTIES)


def repetition(completion: Completion) -> float:
    """Return the fraction of words that do not repeat the phrase before them or a statement.

    Repetitions in a reference are not penalized.

    >>> [repetition(Completion(x, ["Paris"])) for x in ("Rome, Rome", "Paris. The city is Paris.")]
    [0.5, 1.0]
    >>> repetition(Completion("Emma is by Jane Austen. By Jane Austen is Emma.", ["Jane Austen"]))
    0.5
    """
    words = completion.words
    usual = min(
        (1 - len(_repeated(x)) / len(x) for x in completion.reference_words if x), default=1
    )
    return min(1.0, (1 - len(_repeated(words) | _echoes(completion)) / max(1, len(words))) / usual)


def _repeated(words: Sequence[str]) -> set[int]:
    """Return the places of words that repeat the phrase directly before them."""
    repeated: set[int] = set()
    for size in range(1, min(len(words) // 2, LONGEST_REPEAT) + 1):
        same = 0  # length of the current run of words that equal the word `size` before
        for place in range(size, len(words)):
            same = same + 1 if words[place] == words[place - size] else 0
            if same >= size:
                repeated.update(range(place - size + 1, place + 1) if same == size else (place,))
    return repeated


def _echoes(completion: Completion) -> set[int]:
    """Return the places of words in statements that repeat earlier ones, or only the reference."""
    echoes: set[int] = set()
    place, recent, known = 0, list[set[str]](), set[str]()
    mentions = set(completion.mentions)
    for statement, keys in zip(completion.statements, completion.keys, strict=True):
        words = set(keys)
        similar = len(words) > 2 and any(
            len(words & other) >= ECHO * max(len(words), len(other)) for other in recent
        )
        if similar or (statement in mentions and words - FUNCTION_WORDS - CONNECTIVES <= known):
            echoes.update(range(place, place + len(keys)))
        recent = [*recent, words][-LONGEST_REPEAT:]
        known |= words
        place += len(keys)
    return echoes


def denial(completion: Completion) -> float:
    """Return PENALTY for an answer that denies a reference, even if it also asserts it.

    >>> [denial(Completion(x, ["Paris"])) for x in ("It is Paris. Not Paris.", "Not Rome. Paris.")]
    [0.2, 1.0]
    """
    return (
        PENALTY
        if any(
            refutes(QUOTES.sub("", statement), reference)
            for statement in completion.mentions
            for reference in completion.references
        )
        else 1.0
    )


def candidates(completion: Completion) -> float:
    """Return PENALTY for an answer that offers a reference among other candidates.

    These are candidates in one statement, two of them and little else, or statements that differ
    only in the candidate.

    >>> answers = "Either Rome or Paris.", "It is Paris. It is Rome.", '"Rome" or "Paris"'
    >>> [candidates(Completion(answer, ["Paris"])) for answer in answers]
    [0.2, 0.2, 0.2]
    """
    if ALIASES.search(completion.text) and not any(map(ALIASES.search, completion.references)):
        return PENALTY
    text = QUOTES.sub("", completion.text)
    wanted = {word for words in completion.reference_words for word in words}
    if CHOICE.search(text):
        others = set(completion.words) - FUNCTION_WORDS - wanted
        usual = max((words.count("or") for words in completion.reference_words), default=0)
        if completion.words.count("or") > usual and not (
            len(others) > BARE or others.intersection(completion.prompt_words)
        ):
            return PENALTY
        if offers_candidates(
            [QUOTES.sub("", x) for x in completion.statements], completion.references
        ):
            return PENALTY
    mentions = set(completion.mentions)
    recent: list[tuple[list[str], bool]] = []
    for statement, keys in zip(completion.statements, completion.keys, strict=True):
        mentioned = statement in mentions
        for other, known in recent:
            if mentioned != known and _same_frame(keys, other, wanted):
                return PENALTY
        recent = [*recent, (keys, mentioned)][-LONGEST_REPEAT:]
    return 1.0


def _same_frame(first: Sequence[str], second: Sequence[str], wanted: set[str]) -> bool:
    """Return True if two statements are equal except for the reference, or for at most half."""
    shortest, longest = sorted((len(first), len(second)))
    start = next((i for i in range(shortest) if first[i] != second[i]), shortest)
    rest = range(1, shortest - start + 1)
    end = next((i for i in rest if first[-i] != second[-i]), shortest - start + 1) - 1
    slots = [set(words[start : len(words) - end]) for words in (first, second)]
    if start + end < 2 or not all(slots):
        return False
    return start + end >= longest / 2 or any(slot <= wanted for slot in slots)


def bare_list(completion: Completion) -> float:
    """Return a small factor for a list of short items or keywords that is no sentence.

    The factor is the number of items of the longest reference divided by the answer's.

    >>> bare_list(Completion("Rome, Paris, Oslo, Bern, Bonn", ["Paris"]))
    0.2
    >>> bare_list(Completion("Rome, Paris, Oslo, Bern and Bonn", ["Bonn, Rome, Paris, Oslo"]))
    1.0
    """
    items, words = _items(completion.text), completion.words
    most = max((len(_items(reference)) for reference in completion.references), default=1)
    longest = max(map(len, completion.reference_words), default=1)
    function_words = sum(word in FUNCTION_WORDS for word in words)
    factor = 1.0
    size = ITEM_WORDS if len(items) < MANY_ITEMS else MANY_ITEMS_WORDS
    if (
        len(items) >= max(MIN_ITEMS, most + 2)
        and len(words) <= size * len(items)
        and (function_words < PROSE * len(words) or len(words) <= KEYWORDS * len(items))
    ):
        factor = most / len(items)
    if len(words) >= MIN_ITEMS + longest and not FUNCTION_WORDS.intersection(
        re.findall(r"\w+", completion.text.lower())
    ):
        factor = min(factor, longest / len(words))
    if factor == 1:
        return factor
    start = [token.key for token in answer_tokens(" ".join(items[:2]))]
    if not VERBS.isdisjoint(start) and any(
        set(keys) <= set(start) for keys in completion.reference_words if keys
    ):
        return 1.0  # "It has seven units: metre, ..."
    return max(PENALTY, factor)


def _items(text: str) -> list[str]:
    return [part for part in re.split(r"[,;/|\n✓✔☑]|\b(?:or|and)\b", text) if part.strip()]


def copied_prompt(completion: Completion) -> float:
    """Return the fraction of words outside of statements that are the prompt, or a question of it.

    The factor is also 0 for an answer that consists of the words of the prompt in another order.

    >>> answers = "Who wrote Emma?", "Emma, who wrote?", "Who wrote Emma? Jane"
    >>> [copied_prompt(Completion(answer, ["Jane"], "Who wrote Emma?")) for answer in answers]
    [0.0, 0.0, 0.25]
    """
    words, prompt = completion.words, completion.prompt_words
    if not words or not prompt:
        return 1.0
    if set(words) == set(prompt):
        return 0.0
    questions = [text for text in split_statements(completion.prompt) if text.endswith("?")]
    copied = [prompt, *([token.key for token in answer_tokens(text)] for text in questions)]
    return 1 - sum(len(keys) for keys in completion.keys if keys in copied) / len(words)


def filler(completion: Completion) -> float:
    """Return a factor that decreases with the fraction of words in unrelated statements.

    A statement is related if it contains a word of the prompt or of a reference, a number, or a
    capitalized word after the first word.

    >>> filler(Completion("It is Paris.", ["Paris"]))
    1.0
    >>> filler(Completion("It is Paris. I hope this helps.", ["Paris"])) < 0.9
    True
    """
    known = {word for words in completion.reference_words for word in words}
    known = known.union(completion.prompt_words) - FUNCTION_WORDS
    unrelated = sum(
        len(tokens)
        for tokens in completion.tokens
        if not any(
            token.key in known
            or any(map(str.isdigit, token.key))
            or (index and token.text[0].isupper() and token.text != "I")
            for index, token in enumerate(tokens)
        )
    )
    if len(completion.statements) < 2:
        return 1.0
    return 1 - FILLER * unrelated / max(1, len(completion.words))


def buried(completion: Completion) -> float:
    """Return BURIED for an answer whose only mention of a reference is in its middle.

    Such answers often discuss several candidates. Nearly all statements contain another name.

    >>> essay = "Some prefer Rome. Others name Paris. Oslo is cold. It may end in Bern."
    >>> buried(Completion(essay, ["Paris"])), buried(Completion(essay, ["Rome"]))
    (0.5, 1.0)
    """
    mentions = set(completion.mentions)
    places = [i for i, text in enumerate(completion.statements) if text in mentions]
    if len(completion.statements) < MANY_STATEMENTS or len(places) != 1:
        return 1.0
    others = [
        any(
            token.text[0].isupper() and token.key not in completion.prompt_words
            for token in tokens[1:]
        )
        for tokens in completion.tokens
    ]
    inside = 0 < places[0] < len(completion.statements) - 1
    return BURIED if inside and sum(others) >= len(others) - 1 else 1.0


def length(completion: Completion) -> float:
    """Return a factor that decreases with the number of words beyond ordinary answers.

    >>> [round(length(Completion("word " * size, ["a word"])), 3) for size in (200, 400)]
    [1.0, 0.8]
    """
    longest = max((2 * len(reference.split()) for reference in completion.references), default=0)
    extra = max(0, len(completion.text.split()) - max(USUAL_WORDS, longest))
    return max(LONG, 1 - LENGTH_SLOPE * extra)


PENALTIES = (repetition, denial, candidates, bare_list, copied_prompt, filler, buried, length)
