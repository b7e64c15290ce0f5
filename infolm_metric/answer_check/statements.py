"""Statements and words of a text. Statements are sentences, list items and lines."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Sequence

# Possessive quantifiers keep the time linear.
END = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?=\s++[\"'“‘(\[]?[^\W_])|(?<![。！？])[。！？]++"
)
# The last word before a period that ends an abbreviation, an initial or the number of an item.
ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:mrs?|ms|[dj]r|prof|rev|gen|col|capt|lt|sgt|st|mt|vs|etc|e\.g|i\.e|cf|al|ca|"
    r"approx|dept|est|fig|inc|co|ltd|vol|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$"
    r"|^\s*\d+\.$",
    re.IGNORECASE,
)
# An initial of a name, which follows another word of the name, or a word before names.
INITIAL = re.compile(
    r"(?:^\s*|\b(?:[A-Z]\w*[.,]?|and|by|with|&) )(?:[A-Z]\. ?)*[A-Z]\.$|\b(?:[A-Za-z]\.){2,}$"
)
# Numbers with separators, words and symbols. Other punctuation is not compared.
WORD = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[^\s\w.,;:!?'\"’“”()\[\]{}…-]")
ARTICLES = frozenset(("a", "an", "the"))


def split_statements(text: str) -> list[str]:
    """Split a plain text into its sentences, list items and lines.

    >>> split_statements("Dr. J. Smith paid $3.50. It was cheap!")
    ['Dr. J. Smith paid $3.50.', 'It was cheap!']
    """
    statements = []
    for line in text.splitlines():
        start = 0
        for match in END.finditer(line):
            before = line[max(start, match.start() - 30) : match.end()]
            after = line[match.end() : match.end() + 30].lstrip(" \t\"'“‘([")
            if match[0][0] in ".…" and after[:1].islower():
                continue
            if match[0] == "." and (ABBREVIATION.search(before) or INITIAL.search(before)):
                continue
            statements.append(line[start : match.end()])
            start = match.end()
        statements.append(line[start:])
    joined = (" ".join(statement.split()) for statement in statements)
    return [statement for statement in joined if any(map(str.isalnum, statement))]


def split_words(text: str) -> list[str]:
    """Return the words, numbers and symbols of a text without case, accents and articles.

    >>> split_words("The café's 12,500 guests (5% of them)")
    ['cafe', '12500', 'guests', '5', '%', 'of', 'them']
    """
    plain = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in plain if unicodedata.category(letter) != "Mn")
    words = [word.replace(",", "") for word in WORD.findall(plain)]
    words = [re.sub("['’]s?$", "", word).replace("’", "'") for word in words]
    return [word for word in words if word not in ARTICLES] or words


def fraction(known: Sequence[Hashable], expected: Sequence[Hashable]) -> float:
    """Return the fraction of expected items that are known, 0 without expected items.

    >>> fraction(["a", "b", "b"], ["b", "b", "c", "d"])
    0.5
    """
    return (Counter(known) & Counter(expected)).total() / max(1, len(expected))


def trigrams(words: Sequence[str]) -> list[str]:
    """Return the sequences of three characters in each word, with marks at its ends.

    >>> trigrams(["to", "sun"])
    ['^to', 'to$', '^su', 'sun', 'un$']
    """
    marked = (f"^{word}$" for word in words)
    return [word[i : i + 3] for word in marked for i in range(len(word) - 2)]
