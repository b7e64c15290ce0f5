"""Detection of texts other than English prose, the domain of the bundled models.

A subword vocabulary can spell nearly any text, so unknown tokens do not reveal other languages,
program code or random letters. As in naive Bayes, each token has a weight for or against English,
and a text of at least `FEWEST` tokens is out of domain if the sum exceeds `MAX_EVIDENCE`. Weights,
int64 [vocab], are rounded coefficients of a logistic regression on token classes.
docs/reading_a_score.md reports the accuracy of the classification.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

MAX_EVIDENCE = 4  # maximum sum of weights of an English text
FEWEST = 6  # tokens. Shorter texts, such as a foreign name, cannot be classified
COMMON = 2.0  # maximum IDF of common words (the, of, in, is), found in over 13% of paragraphs
# Fingerprint of BERT's uncased English vocabulary.
ENGLISH_VOCABULARY = "b5a6ff3efec197f8"
UNKNOWN = "[UNK]"
BRACKETS = frozenset('():"')
SYMBOLS = frozenset("={}[]<>_;|\\+*#@&^~`/")
# Common words of other languages and of program code.
LISTS = tomllib.loads(Path(__file__).with_name("foreign_words.toml").read_text(encoding="utf-8"))
ELSEWHERE = frozenset(" ".join(LISTS.values()).split())


def token_weights(vocabulary: Mapping[str, int], idf: np.ndarray) -> np.ndarray:
    """Return each token's weight of evidence that a text is not English (may be negative).

    `vocabulary` is BERT's uncased English WordPiece vocabulary, and `idf` contains the inverse
    document frequencies of its ids in English paragraphs, [vocab].
    """
    weights = np.zeros(len(idf), dtype=np.int64)
    for entry, token in vocabulary.items():
        word = entry.removeprefix("##")
        if entry in ELSEWHERE or entry in SYMBOLS:
            weight = 8
        elif entry in BRACKETS:
            weight = 5
        elif entry == UNKNOWN or (word.isalnum() and not word.isascii()):
            weight = 4
        elif not word.isalnum():  # other punctuation, special strings
            weight = 1
        elif not word.isalpha():
            weight = -2
        elif word != entry:  # a piece within a word
            weight = 4
        elif idf[token] < COMMON:
            weight = -6
        else:
            weight = -3 if len(word) > 1 else -2
        weights[token] = weight
    return weights


def count_out_of_domain(texts: Iterable[np.ndarray], weights: np.ndarray) -> int:
    """Count out-of-domain texts, int64 [tokens] each. Texts below `FEWEST` tokens never count."""
    return sum(len(ids) >= FEWEST and int(weights[ids].sum()) > MAX_EVIDENCE for ids in texts)
