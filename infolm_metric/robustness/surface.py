"""Attacks that need no grammar: words left out, words in disorder, letters swapped."""

from __future__ import annotations

import re
from random import Random

from infolm_metric.robustness.words import changed, words_of

LARGEST_SHARE = 0.2  # of the words left out
FEWEST_WORDS = 5  # of a text that loses one
FEWEST_KINDS = 4  # of different words to shuffle
LONGEST_SKIPPED = 3  # letters of the words that are too short for a typo
OTHER_SPELLING = re.compile(r"(?i)(?:re|er)(?:['’]?s)?")
"""The end of "centre", which is no typo as "center"."""


def drop_words(text: str, random: Random) -> str | None:
    """The text without 1% to 20% of its words, and at least one."""
    words = text.split()
    if len(words) < FEWEST_WORDS:
        return None
    count = max(1, round(random.uniform(0.01, LARGEST_SHARE) * len(words)))
    dropped = set(random.sample(range(len(words)), count))
    return " ".join(word for place, word in enumerate(words) if place not in dropped)


def jumble(text: str, random: Random) -> str | None:
    """The words in another order."""
    words = text.split()
    if len(set(words)) < FEWEST_KINDS:
        return None
    shuffled = list(words)
    while shuffled == words:
        random.shuffle(shuffled)
    return " ".join(shuffled)


def typo(text: str, random: Random) -> str | None:
    """Two different neighbours of a word's letters swapped; not its first, nor "-re" to "-er"."""
    places = {
        word: [
            place
            for place in range(1, len(word.text) - 1)
            if word.text[place].isalpha()
            and word.text[place + 1].isalpha()
            and word.lower[place] != word.lower[place + 1]
            and not OTHER_SPELLING.fullmatch(word.text[place:])
        ]
        for word in words_of(text)
        if len(word.text) > LONGEST_SKIPPED
    }
    found = [word for word, own in places.items() if own]
    if not found:
        return None
    word = random.choice(found)
    place = random.choice(places[word])
    letters = list(word.text)
    letters[place], letters[place + 1] = letters[place + 1], letters[place]
    return changed(text, [(word, "".join(letters))])
