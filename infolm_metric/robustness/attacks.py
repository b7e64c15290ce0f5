"""The twelve attacks, by name: each spoils a text so that a metric should notice.

Nine of adequacy change what is said, three of fluency how (Chen and Eger 2023, MENLI; Sai et al.
2021). A text is always attacked in the same way: the random numbers are seeded by what it says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from infolm_metric.kernel.checks import check_known, natural_number
from infolm_metric.kernel.pairs import check_text
from infolm_metric.robustness.agreement import disagree
from infolm_metric.robustness.negation import negate
from infolm_metric.robustness.numbers import other_numbers
from infolm_metric.robustness.person_names import other_name
from infolm_metric.robustness.pronouns import swap_pronouns
from infolm_metric.robustness.substitutions import (
    add_noun,
    other_adjective,
    other_noun,
    other_verb,
)
from infolm_metric.robustness.surface import drop_words, jumble, typo

ADEQUACY, FLUENCY = "adequacy", "fluency"
KINDS = (ADEQUACY, FLUENCY)


@dataclass(frozen=True)
class Attack:
    """A way to spoil a text.

    Attributes:
        name: as in `ATTACKS`.
        kind: "adequacy", which changes what is said, or "fluency", which changes how.
        summary: what it does, in a few words.
        rule: gives for a text and a source of random numbers the spoiled text, or None where it
            does not apply.
    """

    name: str
    kind: str
    summary: str
    rule: Callable[[str, Random], str | None]


ATTACKS: dict[str, Attack] = {
    each.name: each
    for each in (
        Attack("add", ADEQUACY, "one noun more: “city and lamp”", add_noun),
        Attack("drop", ADEQUACY, "1% to 20% of the words left out", drop_words),
        Attack("num", ADEQUACY, "every number another one, dates apart", other_numbers),
        Attack("neg", ADEQUACY, "“is” becomes “is not”, or “is not” “is”", negate),
        Attack("name", ADEQUACY, "another first name of the same gender", other_name),
        Attack("noun", ADEQUACY, "another noun in the same number", other_noun),
        Attack("verb", ADEQUACY, "another verb in the same form", other_verb),
        Attack("adj", ADEQUACY, "another adjective", other_adjective),
        Attack("pron", ADEQUACY, "“he” becomes “she”, “we” “they”", swap_pronouns),
        Attack("jumble", FLUENCY, "the words in another order", jumble),
        Attack("typo", FLUENCY, "two letters of a word swapped", typo),
        Attack("agreement", FLUENCY, "“is” becomes “are”", disagree),
    )
}


def attack(text: str, name: str, seed: int = 0) -> str | None:
    """The text spoiled by an attack.

    Args:
        text: in English.
        name: one of `ATTACKS`.
        seed: a whole number, at least 0; the same text, attack and seed give the same, in any order
            and on any machine.

    Returns:
        The spoiled text, or None if the attack does not apply or changes nothing.

    Raises:
        TypeError, ValueError: the text is no string, there is no such attack, or the seed is no
            whole number of at least 0.

    >>> attack("Alan Bean was born in Wheeler.", "neg")
    'Alan Bean was not born in Wheeler.'
    >>> attack("Hello.", "num") is None
    True
    """
    check_text("text", text)
    check_known("attack", name, list(ATTACKS))
    natural_number("seed", seed)
    spoiled = ATTACKS[name].rule(text, Random(number_of(seed, name, text)))
    return None if spoiled is None or spoiled == text else spoiled


def check_attacks(names: Sequence[str]) -> list[str]:
    """The names of attacks, each once, in the order of the table; all of them if none is given.

    >>> check_attacks(["nuns"])
    Traceback (most recent call last):
    ValueError: unknown attack 'nuns'; did you mean 'noun'?
    """
    for name in names:
        check_known("attack", name, list(ATTACKS))
    return [name for name in ATTACKS if not names or name in names]


def number_of(seed: int, name: str, text: str) -> int:
    """A number that any machine makes of these, whatever came before."""
    return int.from_bytes(hashlib.sha256(f"{seed}\n{name}\n{text}".encode()).digest(), "big")
