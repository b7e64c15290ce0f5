"""Words with the same, a wider or a neighboring meaning, from the files of WordNet 3.0.

The folder contains `index.noun`, `data.noun` and so on, such as /usr/share/wordnet of the Debian
package wordnet-base. Only the first (most frequent) sense of each word is used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

PARTS = {"NOUN": "noun", "VERB": "verb", "ADJ": "adj"}
Words = Mapping[tuple[str, str], list[str]]  # by part of speech and lemma


class Synset(NamedTuple):
    """Set of synonyms."""

    lemmas: list[str]
    hypernyms: list[str]  # offsets of synsets


@dataclass(frozen=True)
class WordNet:
    """Related words by part of speech and lemma, both for first senses.

    Attributes:
        synonyms: lemmas that share the synset.
        hypernyms: lemmas with a wider meaning, such as "animal" for "dog".
        siblings: lemmas with the same hypernym and another meaning, such as "cat" for "dog".
    """

    synonyms: Words = field(default_factory=dict)
    hypernyms: Words = field(default_factory=dict)
    siblings: Words = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path) -> "WordNet":
        """Read the files of WordNet."""
        synonyms, hypernyms, siblings = {}, {}, {}
        for part, name in PARTS.items():
            first, common = read_index(folder / f"index.{name}")
            synsets = dict(read_synsets(folder / f"data.{name}"))
            # Lemmas of each synset that is their first sense.
            lemmas = {
                offset: [lemma for lemma in synset.lemmas if first.get(lemma) == offset]
                for offset, synset in synsets.items()
            }
            hyponyms: dict[str, list[str]] = {}
            for offset, synset in synsets.items():
                for hypernym in synset.hypernyms:
                    hyponyms.setdefault(hypernym, []).append(offset)
            for lemma, offset in first.items():
                above = synsets[offset].hypernyms
                beside = [other for h in above for other in hyponyms[h] if other != offset]
                synonyms[part, lemma] = [other for other in lemmas[offset] if other != lemma]
                hypernyms[part, lemma] = [other for h in above for other in lemmas[h]]
                siblings[part, lemma] = [
                    word for other in beside for word in lemmas[other] if word in common
                ]
        return cls(synonyms, hypernyms, siblings)


def read_lines(file: Path) -> Iterator[str]:
    """Yield the lines of a file after the license."""
    with file.open(encoding="utf-8") as lines:
        yield from (line for line in lines if not line.startswith("  "))


def read_index(file: Path) -> tuple[dict[str, str], set[str]]:
    """Return the offset of each word's first sense, and words that occur in WordNet's texts."""
    first, common = {}, set()
    for line in read_lines(file):
        lemma, _, senses, pointers, *fields = line.split()
        if lemma.isalpha():
            first[lemma] = fields[-int(senses)]
            if int(fields[int(pointers) + 1]):
                common.add(lemma)
    return first, common


def read_synsets(file: Path) -> Iterator[tuple[str, Synset]]:
    """Yield the offset of each synset, and the synset."""
    for line in read_lines(file):
        offset, _, _, count, *fields = line.partition("|")[0].split()
        size = 2 * int(count, 16)
        lemmas = [word.partition("(")[0].lower() for word in fields[:size:2]]
        pointers = fields[size + 1 : size + 1 + 4 * int(fields[size])]
        symbols = zip(pointers[::4], pointers[1::4], strict=True)
        yield offset, Synset(lemmas, [target for symbol, target in symbols if symbol == "@"])
