"""The attack on grammar that makes subject and verb disagree: "is" becomes "are"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from infolm_metric.robustness.lexicon import ONE_FORM, readings
from infolm_metric.robustness.verbs import BE, DO, MODALS, RELATIVE, third_person
from infolm_metric.robustness.words import (
    FUNCTION_WORDS,
    PREPOSITIONS,
    Word,
    changed,
    listed,
    lower_words,
    neighbour,
    outside_quotes,
    sentence_of,
    words_of,
)

PARTNERS = {"is": "are", "was": "were", "has": "have", "does": "do"}
PLURAL = frozenset(PARTNERS.values())
PARTNERS |= {plural: singular for singular, plural in PARTNERS.items()}
COLLECTIVE = frozenset(
    listed(
        """
        team family staff committee government police data media club band group orchestra choir
        crew company firm army navy parliament council board cabinet jury couple pair crowd audience
        public majority minority variety range lot rest remainder percent half trio duo quartet
        third quarter party union press clergy enemy faculty squad side cast management opposition
        administration department agency community population generation class gang herd flock
        fleet congress senate youth united states nations netherlands philippines
        bacteria criteria following latter former total handful bunch host set string array mix
        mixture combination portion proportion fraction bulk dozen hundred thousand million billion
        thirds quarters fifth fifths tenth tenths airline elite nobility aristocracy electorate
        """
    )
)
"""Nouns whose verb may stand in either number, or in one that is hard to tell."""
QUANTITIES = frozenset(
    listed(
        """
        none half either neither all some most any many more less each enough plenty such same
        others lot rest majority variety or nor
        """
    )
)
"""Words that leave the number open wherever they stand in a subject."""
NUMBER_OF = re.compile(r"(?i)\ba (?:\w+ )?number of\b")
COMPARING = frozenset(("as", "than"))
UNREAL = frozenset(listed("if wish wishes wished though unless suppose supposing imagine"))
"""After these "he were" is as good as "he was"."""
STOP = re.compile(r"[,;:()\"“”–]|\s-+\s")
CLAUSE = re.compile(r"\b(?:and|but|while|when|because|where|although|so)\b")


def disagree(text: str, random: Random) -> str | None:
    """The first finite auxiliary in the other number, else the first verb without its "s".

    Not where the subject may take either number, as a team or a series does.
    """
    words = words_of(text)
    plain = {word.start for word in outside_quotes(text, words)}
    for rule in (_partner, _base):
        for place, word in enumerate(words):
            new = rule(text, words, place) if word.start in plain else None
            if new is not None and _one_number(text, words, place):
                return changed(text, [(word, new)])
    return None


def _partner(text: str, words: Sequence[Word], index: int) -> str | None:
    """The other number of a finite auxiliary."""
    return PARTNERS.get(words[index].text) if _finite(text, words, index) else None


def _base(text: str, words: Sequence[Word], index: int) -> str | None:
    """The base of a verb in the third person."""
    return readings(words[index].text)["VERB"] if third_person(text, words, index) else None


def _finite(text: str, words: Sequence[Word], index: int) -> bool:
    """False for the "have" of "would have", "did not have" and "to have"."""
    before = neighbour(text, words, index, -1)
    if before is None or words[index].text in BE:
        return True
    if before.lower == "not" or before.lower.endswith(("n't", "n’t")):
        return False
    return before.lower not in MODALS | DO | {"to", "shall", "also", "cannot"}


def _one_number(text: str, words: Sequence[Word], index: int) -> bool:
    """True unless what stands before may be a subject of either number."""
    word, previous = words[index], neighbour(text, words, index, -1)
    before, after = sentence_of(text, word)
    there = previous is not None and previous.lower == "there"
    clause = STOP.split(before)[-1].strip() if previous is not None else before
    joined = "and" in lower_words(after if there else clause)[not there :]
    if (joined and word.text not in PLURAL) or NUMBER_OF.search(clause):
        return False
    if word.text in ("was", "were") and UNREAL & {*lower_words(before)}:
        return False
    if "%" in clause or (previous is not None and previous.lower in RELATIVE | COMPARING):
        return False
    subject = _subject(clause)
    last = (subject or words_of(before))[-1:]
    if word.text in PLURAL and not joined and any(map(_one_name, last)):
        return False
    said = [each.lower for each in subject] or lower_words(before)
    # Of "the band Train" the head is no name; of "the team captain" it is the last word.
    heads = said[-1:] if subject and not subject[-1].capitalised else said
    return not (QUANTITIES & {*said} or any(map(_either_number, heads)))


def _one_name(word: Word) -> bool:
    """True for a name in the singular form, which a plural verb takes for its people: "Hull"."""
    plural = word.lower[1:].endswith("s")  # the whole "S" of "U.S." is no ending
    return word.capitalised and word.lower not in FUNCTION_WORDS and not plural


def _either_number(word: str) -> bool:
    return word in COLLECTIVE | ONE_FORM or word.endswith("ics")


def _subject(clause: str) -> list[Word]:
    """The words of the last clause, up to a preposition that does not open it: "the king of"."""
    words = words_of(CLAUSE.split(clause)[-1])
    places = [place for place, word in enumerate(words) if word.lower in PREPOSITIONS]
    return words if not places or places[0] == 0 else words[: places[0]]
