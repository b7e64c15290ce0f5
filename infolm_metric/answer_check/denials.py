"""Answers that contain a reference without asserting it: denials, doubts and lists of candidates.

An NLI model with a short hypothesis misses these. The patterns are in `denial_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from infolm_metric.answer_check.denial_rules import (
    ADDITION,
    ALTERNATIVE,
    ASKED,
    BUT,
    CHOICES,
    CLARIFY,
    CONCLUDED,
    CONCLUDING,
    CONCLUSION,
    DECIDED,
    DENIALS,
    DOUBTS,
    FOLLOWED,
    HEADER,
    ITS_WRONG,
    LABELLED,
    LETTERED,
    LETTERS,
    LONG_WORD,
    MYTH,
    NEGATIVES,
    NO,
    NUMBERED,
    OOPS,
    OPTION,
    ORDINAL_CHOICE,
    OUTDONE,
    REFUSAL,
    REFUTATIONS,
    REPLACED,
    SLASHES,
    SO,
    YES,
)
from infolm_metric.answer_check.tokens import Token, compare, reference_tokens, scan, simplify

POSSESSIVE = re.compile(r"['’]s$")


def mark_statements(statements: Sequence[str], reference: Sequence[Token]) -> list[str]:
    """Mark the mentions of a reference in each statement, as `mark_mentions` does.

    If a statement contains the whole reference, runs without its last token are not mentions.

    >>> mark_statements(["Lake Garda?", "No, Lake Como."], reference_tokens("Lake Garda"))
    ['X?', 'no, lake como.']
    """
    whole = len(statements) > 1 < len(reference) and any(
        not compare(scan(simplify(text)), reference).missing for text in statements
    )
    return [mark_mentions(text, reference, whole) for text in statements]


def mark_mentions(statement: str, reference: Sequence[Token], whole: bool = False) -> str:
    """Lower a statement's case, and write X for each mention of the reference in it.

    A mention is a run of tokens of the reference. Runs with fewer tokens than the fullest run, or
    with less than half of the tokens, are not mentions. With `whole`, neither are runs without the
    last token.

    >>> mark_mentions("It isn't Lake Baikal.", reference_tokens("Lake Baikal"))
    "it isn't X."
    """
    text = simplify(statement)
    tokens = [token for token in scan(text) if token.key not in ("the", "an", "a")]
    keys = {token.key for token in reference}
    wanted = keys | {token.other for token in reference} - {""}
    first = reference[0].key if reference else ""
    runs: list[list[Token]] = [[]]
    for token in tokens:
        if token.key in wanted or token.other in wanted:
            if runs[-1] and token.key == first and "," in text[runs[-1][-1].end : token.start]:
                runs.append([])  # "Anna Berg, Ida Berg" are two names
            runs[-1].append(token)
        elif runs[-1]:
            runs.append([])
    if whole:
        last = {reference[-1].key, reference[-1].other} - {""}
        runs = [
            run for run in runs if last & {x for token in run for x in (token.key, token.other)}
        ]
    fullest = max((len(compare(run, reference).matched) for run in runs), default=0)
    if 2 * fullest < len(reference) or not fullest:
        return _plain(text)
    pieces, end = [], 0
    for run in runs:
        if len(compare(run, reference).matched) == fullest:
            pieces += [_plain(text[end : run[0].start]), "X"]
            end = run[-1].end
            if run[-1].key not in keys and POSSESSIVE.search(text, run[-1].start, end):
                end -= len("'s")
    return "".join([*pieces, _plain(text[end:])])


def _plain(text: str) -> str:
    return re.sub("[’ʼ`]", "'", text).lower()


def find_denial(statements: Sequence[str], reference: str) -> str | None:
    """Return the first statement that denies or doubts a reference that no statement asserts.

    Questions assert nothing, and an answer of several questions is a doubt. References with a
    negation are never denied.

    >>> find_denial(["It isn't Rome.", "It is Paris."], "Rome")
    "It isn't Rome."
    >>> find_denial(["Not Rome but Paris is the capital."], "Paris")
    """
    expected = reference_tokens(reference)
    if NEGATIVES.intersection(token.key for token in expected):
        return None
    texts = mark_statements(statements, expected)
    if any(map(CLARIFY.match, texts)) and any("X" in text for text in texts):
        return next(raw for raw, text in zip(statements, texts, strict=True) if "X" in text)
    labelled = [text for text in texts if LABELLED.match(text)]
    if labelled and not any("X" in text for text in labelled):
        return next((raw for raw, text in zip(statements, texts, strict=True) if "X" in text), None)
    mentions = [index for index, text in enumerate(texts) if "X" in text]
    if mentions:
        place = _other_answer(statements, texts, mentions, expected)
        if place is not None:
            return statements[place]
    denial = None
    for index, text in enumerate(texts):
        if "X" not in text or text.endswith("?"):
            continue
        if text.count("X") > 1:  # one mention may be denied, the other not
            return None
        following = texts[index + 1 :]
        if re.search(OUTDONE.pattern, text) and not any(
            "X" in other and SO.match(other) for other in following
        ):
            return statements[index]
        denied = any(re.search(rule.pattern, text) for rule in DENIALS + DOUBTS)
        if not denied and not any("X" in other for other in following):
            starts = (ITS_WRONG, REPLACED, CONCLUSION)
            denied = any(start.match(other) for other in following for start in starts)
            denied |= any(
                about.search(text) and any(map(other.match, following[:1]))
                for about, other in FOLLOWED
            )
        if not denied:
            return None
        denial = denial or statements[index]
    return denial


def _other_answer(
    statements: Sequence[str],
    texts: Sequence[str],
    mentions: Sequence[int],
    reference: Sequence[Token],
) -> int | None:
    """Return the index of a statement with a mention if the answer gives another answer, or None.

    `mentions` are the indices of all statements with a mention. The other answer is a conclusion,
    follows a question or is the letter of an option. Mentions after a refusal or in a list of myths
    do not answer either.
    """
    first, last = mentions[0], mentions[-1]
    concluded = max((index for index in mentions if SO.match(texts[index])), default=first)
    for raw, text in zip(statements[concluded + 1 :], texts[concluded + 1 :], strict=True):
        asks = ASKED.search(text) and not re.search(r"\bnot\b|n't", text)
        if "X" not in text and (asks or CONCLUDED.match(raw) or DECIDED.search(text)):
            return first
    for index in mentions:
        clause = CONCLUDING.search(statements[index])
        if clause and "X" not in mark_mentions(clause[0], reference):
            return index
    if first and REFUSAL.match(texts[0]) and not BUT.search(texts[first]):
        return first
    if all(texts[index].endswith("?") for index in mentions):
        following = texts[last + 1 :][:1]
        asks_only = len(texts) > 1 and all(text.endswith("?") for text in texts)
        words = {*LONG_WORD.findall(texts[last])} if " or " in texts[last] else set()
        if asks_only or any(
            NO.match(text)
            or ITS_WRONG.match(text)
            or (not YES.match(text) and words.intersection(LONG_WORD.findall(text)))
            for text in following
        ):
            return last
    is_letter = len(reference) == 1 and len(reference[0].key) == 1
    is_myth = first and all(MYTH.search(texts[index - 1]) for index in mentions)
    return first if is_myth or (first and is_letter and OPTION.fullmatch(texts[0])) else None


def refutes(statement: str, reference: str) -> bool:
    """Return True if a statement denies a reference plainly, whatever the others say.

    >>> refutes("It is not Rome.", "Rome"), refutes("While Rome is larger, it is Turin.", "Rome")
    (True, False)
    """
    expected = reference_tokens(reference)
    if NEGATIVES.intersection(token.key for token in expected):
        return False
    text = mark_mentions(statement, expected)
    return text.count("X") == 1 and any(re.search(rule.pattern, text) for rule in REFUTATIONS)


def is_corrected_to(statements: Sequence[str], reference: str) -> bool:
    """Return True if an answer corrects itself and then names a reference.

    >>> is_corrected_to(["Hull... wait, no, Leeds."], "Leeds")
    True
    """
    expected = reference_tokens(reference)
    texts = mark_statements(statements, expected)
    start = rf"(?<!\w){OOPS}(?:(?!misspoke|i said)[^.!?\nX]){{0,40}}X"
    return any(re.search(start, text) for text in texts)


def is_about_another(statements: Sequence[str], reference: str) -> bool:
    """Return True if the only mention of a name is in an addition to another name.

    >>> is_about_another(["It was Rome, the old rival of Carthage."], "Carthage")
    True
    >>> is_about_another(["Rome, the old rival of Carthage, lost to Carthage."], "Carthage")
    False
    """
    if not reference[:1].isupper():
        return False  # not a name
    expected = reference_tokens(reference)
    mentions = [text for text in statements if "X" in mark_mentions(text, expected)]
    match = ADDITION.fullmatch(mentions[0].rstrip(".!")) if len(mentions) == 1 else None
    return match is not None and "X" not in mark_mentions(match["name"], expected)


def marks_another(marked: str, boxed: bool, statements: Sequence[str], reference: str) -> bool:
    """Return True if an answer marks words of the same kind that are not the reference.

    The kinds are texts with digits and others. Words in a statement that contains the reference
    are ignored, except for another number in a box.

    >>> marks_another("Lyon", False, ["Paris is larger.", "The city is Lyon."], "Paris")
    True
    >>> marks_another("capital", False, ["The capital is Paris."], "Paris")
    False
    """
    expected = reference_tokens(reference)
    texts = mark_statements(statements, expected)
    mentions = [raw for raw, text in zip(statements, texts, strict=True) if "X" in text]
    digits, other_digits = (any(map(str.isdigit, text)) for text in (marked, reference))
    if not marked or not mentions or digits != other_digits:
        return False
    tokens = reference_tokens(marked)
    if len(compare(expected, tokens).matched) == len(tokens) or (
        len(tokens) == len(tokens[0].key) == 1 and len(expected) + len(expected[0].key) > 2
    ):
        return False  # a part of the reference, or the letter of an option
    if "X" in mark_statements([*statements, marked], expected)[-1]:
        return False
    return (boxed and digits) or not any(marked in text for text in mentions)


def offers_candidates(statements: Sequence[str], references: Sequence[str]) -> bool:
    """Return True if an answer lists a reference with other candidates, and does not choose.

    >>> offers_candidates(["It is either Rome or Paris."], ["Paris"])
    True
    >>> offers_candidates(["Rome or Paris?", "It is Paris."], ["Paris"])
    False
    """
    return any(_offers(statements, reference_tokens(reference)) for reference in references)


def _offers(statements: Sequence[str], reference: Sequence[Token]) -> bool:
    if NEGATIVES.intersection(token.key for token in reference):
        return False
    texts = mark_statements(statements, reference)
    mentions = [text for text in texts if "X" in text and not text.endswith("?")]
    if ordinal := ORDINAL_CHOICE.search(texts[-1]) if texts and "X" not in texts[-1] else None:
        pair = next((text for text in texts if "X or" in text or "or X" in text), "")
        if pair.count("X") == 1:
            return (ordinal[1] in ("former", "first")) != ("X or" in pair)
    if len(mentions) != 1 or mentions[0].count("X") > 1:
        return False
    listed = len(texts) > 2 and HEADER.search(texts[0]) is not None
    sentence = mentions[0]
    bare = all(len(text.split()) < 4 for text in texts) and sentence.strip(" .") == "X"
    is_letter = len(reference) == 1 and len(reference[0].key) == 1
    return (
        (len(texts) > 2 and bare)
        or (is_letter and LETTERS.search(sentence) is not None)
        or len(LETTERED.findall(sentence)) > 2
        or len(list(filter(NUMBERED.match, texts))) > 1
        or any(ALTERNATIVE.match(text) for text in texts[texts.index(sentence) + 1 :][:1])
        or (len(texts) == 1 and _is_bare_list(sentence))
        or (listed and "X" not in texts[0] and all(len(text.split()) < 7 for text in texts[1:3]))
        or SLASHES.fullmatch(sentence) is not None
        or any(re.search(rule.pattern, sentence) for rule in CHOICES)
    )


def _is_bare_list(sentence: str) -> bool:
    """Return True for a list of short items after the name of the list, or after nothing.

    A place is often followed by its region and country, so the first of three items is asserted.
    """
    items = [
        item.strip(" .!") for item in re.split("[,;]", re.sub(r"^[\w ]{1,25}: ", "", sentence))
    ]
    short = all(0 < len(item.split()) < 4 for item in items)
    return short and "X" in items and len(items) > 2 and (len(items) > 3 or items[0] != "X")
