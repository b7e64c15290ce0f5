"""The attack on grammar that makes subject and verb disagree: "is" becomes "are"."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from infolm_metric.robustness.lexicon import readings
from infolm_metric.robustness.verbs import BE, DO, MODALS, third_person
from infolm_metric.robustness.words import Word, changed, neighbour, outside_quotes, words_of

PARTNERS = {"is": "are", "was": "were", "has": "have", "does": "do"}
PARTNERS |= {plural: singular for singular, plural in PARTNERS.items()}


def disagree(text: str, random: Random) -> str | None:
    """The first finite auxiliary in the other number, else the first verb without its "s"."""
    words = words_of(text)
    plain = {word.start for word in outside_quotes(text, words)}
    for place, word in enumerate(words):
        if word.start in plain and word.text in PARTNERS and _finite(text, words, place):
            return changed(text, [(word, PARTNERS[word.text])])
    for place, word in enumerate(words):
        if word.start in plain and third_person(text, words, place):
            return changed(text, [(word, readings(word.text)["VERB"])])
    return None


def _finite(text: str, words: Sequence[Word], index: int) -> bool:
    """False for the "have" of "would have", "did not have" and "to have"."""
    before = neighbour(text, words, index, -1)
    if before is None or words[index].text in BE:
        return True
    if before.lower == "not" or before.lower.endswith(("n't", "n’t")):
        return False
    return before.lower not in MODALS | DO | {"to", "shall", "also", "cannot"}
