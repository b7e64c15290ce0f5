"""The attack that calls one person by another's name."""

from __future__ import annotations

from random import Random

from infolm_metric.robustness.first_names import FEMALE, MALE
from infolm_metric.robustness.words import changed, stands_alone, words_of


def other_name(text: str, random: Random) -> str | None:
    """One first name replaced by another of the same gender, wherever it occurs."""
    words = [word for word in words_of(text) if stands_alone(text, word)]
    bare = {word: word.text.replace("’", "'").removesuffix("'s") for word in words}
    there = list(dict.fromkeys(bare.values()))
    found = [(name, names) for name in there for names in (MALE, FEMALE) if name in names]
    if not found:
        return None
    name, names = random.choice(found)
    new = random.choice([other for other in names if other not in there])
    return changed(
        text, [(word, new + word.text[len(name) :]) for word in words if bare[word] == name]
    )
