"""Detection of texts other than English prose, the domain of the bundled models.

A subword vocabulary can spell nearly any text, so unknown tokens do not reveal other languages,
program code or random letters. As in naive Bayes, each token has a weight for or against English,
and a text is out of domain if the sum exceeds a limit. Weights, int64 [vocab], are rounded
coefficients of a logistic regression on token classes. docs/reading_a_score.md reports the accuracy
of the classification.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

MAX_EVIDENCE = 4  # maximum sum of weights of an English text
FEWEST = 6  # tokens. Shorter texts, such as a foreign name, cannot be classified
COMMON = 2.0  # maximum IDF of common words (the, of, in, is), found in over 13% of paragraphs
# Fingerprint of BERT's uncased English vocabulary.
ENGLISH_VOCABULARY = "b5a6ff3efec197f8"
UNKNOWN = "[UNK]"
BRACKETS = frozenset('():"')
SYMBOLS = frozenset("={}[]<>_;|\\+*#@&^~`/")
# Common words of other languages and of program code, without accents because the vocabulary has
# none. Words that are also common in English are omitted.
FOREIGN_WORDS = {
    "German": "der das und ist nicht ein eine einen den dem des mit auf von zu wir sie er ich im "
    "fur sich auch nach bei uber aus wird sind um zum zur vor oder haben wie werden als wenn "
    "noch nur aber mein sein ihr uns es mir mich sehr kein schon",
    "French": "le la les une un du est dans que qui sur pas au aux et il elle je nous vous ce "
    "sont avec se ont ne cette mon ma sa leur sans mais ou tout tres deux y fait etre",
    "Spanish": "el los las una con del en su para lo al como mas pero ha mi sus sin esta este "
    "muy hay ya ser fue hasta desde donde dos",
    "Italian": "di che della gli non dei nel alla si piu sono ho da ed anche delle dal questo ci "
    "sua suo tre molto dopo",
    "Portuguese, Dutch, Swedish": "de os um uma em nao com ao het een van niet op te dat voor "
    "met zijn aan och att det som jag ett av til",
    "code": "int str len def const std var null args kwargs void func init self cls bool char "
    "uint enum dict tuple struct foo param src json html css href div obj num elif async php sql "
    "ptr xml ls py js np stdout printf sudo pip npm git usr tmp cfg env sys idx config url http "
    "https",
}
ELSEWHERE = frozenset(" ".join(FOREIGN_WORDS.values()).split())


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


def count_out_of_domain(texts: Iterable[np.ndarray], weights: np.ndarray | None) -> int:
    """Count texts, int64 [tokens] each, that are not English prose. 0 if `weights` is None."""
    if weights is None:
        return 0
    return sum(
        len(tokens) >= FEWEST and int(weights[tokens].sum()) > MAX_EVIDENCE for tokens in texts
    )
