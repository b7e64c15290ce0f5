"""The attack that denies: "is" becomes "is not", and "is not" becomes "is"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from infolm_metric.robustness.lexicon import readings
from infolm_metric.robustness.verbs import (
    BE,
    DO,
    HAVE,
    MODALS,
    helps,
    past_tense,
    third_person,
)
from infolm_metric.robustness.words import (
    Edit,
    Word,
    cased,
    changed,
    neighbour,
    outside_quotes,
    words_of,
)

CONTRACTED = {"wo": "will", "ca": "can", "sha": "shall"}
HELPERS = BE | HAVE | DO | MODALS | {"am"}
JOINED = tuple(mark + end for mark in "'’" for end in ("m", "re", "s", "ve", "d", "ll"))
"""What helpers are in "I'm" and "we've"."""


def negate(text: str, random: Random) -> str | None:
    """A negation taken away if there is one, else one put in, by the first rule that fits."""
    words = words_of(text)
    plain = {word.start for word in outside_quotes(text, words)}
    for rule in RULES:
        for place, word in enumerate(words):
            if word.start in plain and (edits := rule(text, words, place)):
                return changed(text, edits)
    return None


def _contracted(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    """Turns "isn't" into "is"."""
    word = words[index]
    if not word.lower.endswith(("n't", "n’t")) or word.lower.startswith("ai"):
        return []
    stem = word.text[:-3]
    return [(word, cased(CONTRACTED.get(stem.lower(), stem), word.text))]


def _not_removed(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    """Turns "is not" into "is" and "I'm not" into "I'm", but not in "is not only"."""
    word = words[index]
    denied = neighbour(text, words, index, 1)
    helper = word.lower in HELPERS or word.lower.endswith(JOINED)
    if not helper or denied is None or denied.text != "not":
        return []
    after = neighbour(text, words, index + 1, 1)
    if after is not None and after.lower in ("only", "just", "merely"):
        return []
    return [(Word(text[word.start : denied.end], word.start, denied.end), word.text)]


def _cannot(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    word = words[index]
    return [(word, word.text[:3])] if word.lower == "cannot" else []


def _not_added(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    """Turns "is" into "is not"."""
    word = words[index]
    return [(word, f"{word.text} not")] if helps(text, words, index) else []


def _did_not(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    """Turns "wrote" into "did not write"."""
    itself = words[index].text in ("had", "did") and _has_an_object(text, words, index)
    return _denied(words[index], "did") if itself or past_tense(text, words, index) else []


def _does_not(text: str, words: Sequence[Word], index: int) -> list[Edit]:
    """Turns "writes" into "does not write"."""
    itself = words[index].text in ("has", "does") and _has_an_object(text, words, index)
    return _denied(words[index], "does") if itself or third_person(text, words, index) else []


def _denied(word: Word, helper: str) -> list[Edit]:
    return [(word, f"{helper} not {readings(word.text)['VERB']}")]


def _has_an_object(text: str, words: Sequence[Word], index: int) -> bool:
    """True for "has", "had" and the like as the verb itself: no "to" follows, and no negation."""
    after = neighbour(text, words, index, 1)
    return after is None or after.lower not in ("to", "no", "not", "never", "n't")


RULES: tuple[Callable[[str, Sequence[Word], int], list[Edit]], ...] = (
    _contracted,
    _not_removed,
    _cannot,
    _not_added,
    _did_not,
    _does_not,
)
"""In this order; each from the first word to the last."""
