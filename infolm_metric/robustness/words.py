"""Tokenized texts and lists of English words, including the words that attacks insert."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Token pattern: a word or number ("well-known", "3,400.5", "example.org"), or one symbol.
TOKEN = re.compile(r"(\w(?:(?:[\w@#&/_–'’.-]|(?<=\d),(?=\d))*\w)?|[^\w\s])")
WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)?")


@dataclass(frozen=True)
class Text:
    """Text as a sequence of words, numbers and punctuation marks, and the spaces before each token.

    >>> Text.parse("Ann's well-known cat, in 3rd place.").tokens
    ("Ann's", 'well-known', 'cat', ',', 'in', '3rd', 'place', '.')
    """

    tokens: tuple[str, ...]
    blanks: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Text:
        """Split a text into tokens. The last entry of `blanks` is at the end of the text."""
        parts = TOKEN.split(text)
        return cls(tuple(parts[1::2]), tuple(parts[::2]))

    def replace(self, edits: Mapping[int, str]) -> str:
        """Return the text with some tokens replaced.

        >>> Text.parse("A cat did run.").replace({1: "dog"})
        'A dog did run.'
        """
        tokens = [edits.get(index, token) for index, token in enumerate(self.tokens)]
        pairs = zip(self.blanks, [*tokens, ""], strict=True)
        return "".join(blank + token for blank, token in pairs)

    def lower(self, index: int) -> str:
        """Return the token in lower case, or an empty string if the index is out of range."""
        return self.tokens[index].lower() if 0 <= index < len(self.tokens) else ""

    def is_capitalised(self, index: int) -> bool:
        """Return True for a token that begins with a capital letter."""
        return 0 <= index < len(self.tokens) and self.tokens[index][0].isupper()

    @cached_property
    def words(self) -> list[int]:
        """Indices of words outside of double quotation marks."""
        indices, quoted = [], False
        for index, token in enumerate(self.tokens):
            quoted = not quoted if token == '"' else (quoted or token == "“") and token != "”"
            if WORD.fullmatch(token) and not quoted:
                indices.append(index)
        return indices

    def sentence(self, index: int) -> tuple[list[str], list[str]]:
        """Return the tokens before and after a token in its sentence. The first one is lowercased.

        >>> Text.parse("He saw St. Ives. Is it in Hull?").sentence(7)
        (['is'], ['in', 'Hull', '?'])
        """
        ends = [-1, *(index for index in range(len(self.tokens)) if self._ends_sentence(index))]
        start = max(end for end in ends if end < index) + 1
        stop = min((end for end in ends if end >= index), default=len(self.tokens) - 1) + 1
        tokens = [self.lower(start), *self.tokens[start + 1 : stop]]
        return tokens[: index - start], tokens[index - start + 1 :]

    def opens_sentence(self, index: int) -> bool:
        """Return True for the first word of a sentence."""
        return not any(word[0].isalnum() for word in self.sentence(index)[0])

    def _ends_sentence(self, index: int) -> bool:
        """Return True for "!", "?" and full stops, except after a capital letter, as in "U.S."."""
        initial = index > 0 and self.tokens[index - 1][-1].isupper()
        return self.tokens[index] in "!?" or (self.tokens[index] == "." and not initial)


LISTS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
PRONOUNS: dict[str, str] = LISTS.pop("pronouns")
FUNCTION_LISTS: dict[str, str] = LISTS.pop("function_words")
FUNCTION_WORDS = frozenset(" ".join(FUNCTION_LISTS.values()).split())
# Lists of words by name, described in words.toml.
WORD_LISTS: dict[str, tuple[str, ...]] = {
    name: tuple(words.split()) for name, words in (LISTS | FUNCTION_LISTS).items()
}
