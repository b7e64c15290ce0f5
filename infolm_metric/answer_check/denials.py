"""Answers that contain a reference without asserting it: denials, doubts and lists of candidates.

An NLI model with a short hypothesis misses these. The tables prefer precision: a rule that often
matched answers that annotators judged correct was left out. In patterns, X is the reference. Texts
are in lower case, without accents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from infolm_metric.answer_check.tokens import Token, compare, reference_tokens, scan, simplify

GAP = r"(?:[^.;:!?\nX]{0,60}\b)?"  # words without X in the same clause
NOT = r"(?:not|never|isn't|wasn't|aren't|weren't)"
WRONG = (
    r"(?:(?:\w+ ){0,2}(?:wrong|incorrect|false|mistaken|untrue)|not (?:correct|right|true|the case)"
    r"|an? (?:\w+ )?(?:mistake|misconception|myth|error|guess|assumption))\b"
)
LINK = (
    r"(?:is|was|are|were|as|in|by|of|at|on|from|to|with|for|the|an?|called|named|actually|really)"
)
IS = r"(?: ?is| ?was| ?are| ?were|'s| ?would be| ?would have been)"
CORRECT = r"(?:correct|right|actual|real|true)"
SOON = r"[^.!?\nX]{0,60}"


@dataclass(frozen=True)
class Rule:
    """A pattern in which X is the reference, and an example."""

    pattern: str
    example: str


# The start of a statement that replaces what was said before.
OOPS = (
    r"(?:(?:hmm|oh|uh),? )?(?:correction|wait|scratch that|actually,? no|no,? (?:wait|it)|sorry,|"
    r"on second thought|on reflection|it should (?:be|read|say)|oops|whoops|my (?:bad|mistake)|"
    r"i take that back|make that|or rather|edit(?=: it)|i now (?:think|believe)|"
    r"(?:actually,? )?let me (?:correct|count|re(?:check|compute|calculate|consider|think)))"
    r"(?!\w)"
)
DENIALS = (
    Rule(
        rf"\b(?:{NOT}|rather than|instead of|as opposed to)(?: {LINK}){{0,3}} \W?X",
        "It is not X.",
    ),
    Rule(
        rf"\b(?:cannot|can't|couldn't|could not) (?:be|have been)(?: {LINK}){{0,3}} X",
        "It can't have been X.",
    ),
    Rule(rf"\b{NOT},[^,.;X]{{1,40}}, (?:{LINK} )?X", "It isn't, as some say, X."),
    Rule(r"\b(?:do|does|did)(?:n't| not) (?!matter|include|mention)\w+ X", "They do not use X."),
    Rule(rf"(?:\bnot|n't) \w+ (?:by|in|on|at|through|from) (?:{LINK} )?X", "It wasn't built by X."),
    Rule(
        r"\b(?:no evidence (?:that|for)|forget|strike|ignore|no(?:body| one) (?:named|called))"
        rf"(?: (?:about|{LINK})){{0,2}} X",
        "There is no evidence that X did it.",
    ),
    Rule(rf"X\W? (?:\w+ )?{IS} {WRONG}", "X is wrong."),
    Rule(
        rf"X\b{GAP}\b(?:but|however),? (?:that|this|it|they){IS} {WRONG}", "X, but that is wrong."
    ),
    Rule(
        rf"(?:^that|\b(?:claim|idea|belief|notion|answer)) {GAP}X{GAP}{IS} {WRONG}",
        "The answer X is wrong.",
    ),
    Rule(
        rf"\b(?:every(?:one|body)|many|most|people|you|some)\b[^.;X]{{0,20}}\b(?:think|assume|say|"
        rf"guess|believe|name)\b{GAP}X{GAP}\b(?:but|yet)\b",
        "You might think of X, yet it is Y.",
    ),
    Rule(
        r"\b(?:often|commonly|usually|sometimes|widely|frequently) (?:\w+ )?(?:said|thought|named|"
        rf"believed|assumed|claimed|reported|cited|given|called)\b{GAP}X{SOON}\b(?:but|yet|though)\b",
        "It is often said to be X, but it is Y.",
    ),
    Rule(
        r"\b(?:once|long|previously|formerly) (?:thought|believed|assumed) to (?:be|have been)"
        rf"(?: {LINK}){{0,2}} X|(?:would have|would've|'d have|used to) "
        rf"(?:guessed?|said|say|thought|think|assumed?|expect(?:ed)?|believed?)\b{GAP}X",
        "I would have guessed X.",
    ),
    Rule(
        r"\b(?:false|untrue|incorrect|wrong|not true|myth|misconception|mistake)"
        r" (?:to (?:say|think|claim|assume|believe) )?that [^.,;:!?\nX]{0,60}X",
        "It is false that X did it.",
    ),
    Rule(
        rf"X{SOON}[,;:] (?:but |and )?(?:the|its|his|her|their) {CORRECT} "
        r"(?:answer|one|year|date|name|place|city|capital|number|value|person|author|word|term) "
        r"(?:is|was)\b",
        "While many name X, the correct answer is Y.",
    ),
    Rule(
        rf"X{SOON}[,;] (?:but |and |yet )?(?:it|the \w+) (?:turned|turns) out",
        "I expected X, but it turned out to be Y.",
    ),
    Rule(
        r"\b(?:confused|mistaken|mixed up|confuse it|mistake it) (?:with|for)"
        rf"(?: {LINK})? X|\banything but(?: {LINK})? X",
        "It is not to be confused with X.",
    ),
    Rule(
        rf"\b(?:X used to be|used to be X)\b{SOON}[,;] (?:but )?(?:now|today|it)\b",
        "X used to be right, but now it is Y.",
    ),
    Rule(
        rf"\b(?:neither|nor|except|excluding|any(?:one|thing|where) but)(?: {LINK})? X",
        "It is neither X nor Y.",
    ),
    Rule(
        rf"X{IS} (?:(?:my|the) (?:first|initial|original) (?:thought|guess|idea|answer|instinct)"
        r"|ruled out|excluded|eliminated|out of the question|impossible)\b",
        "X was my first thought.",
    ),
    Rule(
        rf"\b(?:almost|nearly|considered)(?: {LINK}){{0,2}} X{SOON}\bbut\b",
        "I considered X, but it is Y.",
    ),
    Rule(
        r"X (?:did|does|do|was|is|were|are|has|had)(?:n't| not) [^.,;X]{1,40}[,;] [^.,;X]{1,40} "
        r"(?:did|does|do|was|is|were|are|has|had)[.!]?$",
        "X did not do it; Y did.",
    ),
    Rule(r"X had nothing to do with", "X had nothing to do with it."),
    Rule(
        r"^(?:no, )?X (?:is|was)(?: \w+ly)?(?:n't| not) (?:the|correct|right|it|what|who)\b",
        "X isn't it.",
    ),
    Rule(
        rf"\b(?:first|earlier|initially|previously|originally|looks? like)\b{GAP}X{GAP}"
        r"\b(?:but|wrong|incorrect|correction)\b",
        "I first said X, but it is Y.",
    ),
    Rule(rf"X\W{{1,4}}(?:{OOPS}|i (?:mean|meant)\b)", "X, sorry, it is Y."),
    Rule(rf"\b(?:misspoke|i said) {GAP}X[;,.]? (?:but )?i meant", "I said X, but I meant Y."),
)
DOUBTS = (
    Rule(
        r"\b(?:not sure|unsure|uncertain|unclear|unknown|no idea|say|tell|know|confirm|verify|"
        rf"look up|check|wonder|determine|decide) (?:if|whether)\b{GAP}X",
        "I don't know whether X did it.",
    ),
    Rule(
        r"\b(?:cannot|can't|can neither|could not|unable to) (?:confirm|verify|rule out|give|"
        rf"provide|help|discuss|answer|find)\b(?!{GAP}\bbut\b){GAP}X",
        "I can neither confirm that it is X.",
    ),
    Rule(
        rf"\b(?:don't|do not) have (?:any |enough )?information (?:about|on){GAP}X",
        "I don't have any information about X.",
    ),
    Rule(rf"^please (?:provide|tell|give|specify|clarify){GAP}X", "Please tell me more about X."),
    Rule(rf"X{GAP}\bno (?:clue|idea)\b|\bmay or may not{GAP}X", "It may or may not be X."),
    Rule(
        r"\b(?:passage|text|context|document|article|question|sources?) (?:does|do|did)(?:n't| not)"
        rf" (?:mention|say|state|specify|contain|include)(?: (?:whether|if|that|{LINK})){{0,3}} X",
        "The passage does not mention X.",
    ),
    Rule(
        rf"\bno (?:access|information|knowledge|record|mention)\b(?!{GAP}\bbut\b){GAP}X",
        "I have no information about X.",
    ),
    Rule(
        r"\b(?:or|but|and|though) (?:it )?(?:could|might|may) (?:\w+ ){0,3}(?:be|have been)"
        rf"(?: {LINK})? X",
        "I guess Y, but it could equally be X.",
    ),
    Rule(
        rf"X{SOON}[,;.] (?:but |though |although |however,? )?(?:it (?:is|was) )?"
        r"(?:(?:much |far )?more likely|i(?:'d| would) rather)\b",
        "Perhaps it is X, though it is more likely Y.",
    ),
    Rule(
        rf"X\W?{IS} (?:hardly|scarcely|unlikely|doubtful|disputed|probably not)\b"
        rf"|\b(?:hardly|unlikely to be|unlikely that|doubtful that)\b{GAP}X",
        "X is hardly the answer.",
    ),
    Rule(
        rf"X{SOON}\bbut (?:this|that|it){IS} (?:\w+ )?(?:disputed|debated|uncertain|unclear|"
        r"unconfirmed|doubtful|unproven)\b",
        "Some claim X, but this is disputed.",
    ),
    Rule(
        rf"\b(?:could|might|may|possibly|perhaps|maybe)\b{GAP}X,? (?:or|but it (?:could|might))\b",
        "It might be X, or someone else.",
    ),
)
REPLACED = re.compile(
    OOPS
    + r"|(?:in truth|in reality),? |(?:or )?it (?:could|might|may) (?:also|equally) (?:be|have)\b"
)
ITS_WRONG = re.compile(rf"^(?:but |however,? |no,? )?(?:that|this|it|they){IS} {WRONG}")
# The start of a statement that is the answer, whatever came before.
CONCLUSION = re.compile(
    r"(?:(?:so|therefore|thus|hence),? )?(?:(?:the|my) )?(?:(?:final|correct|right) )?"
    r"answer(?::| is:?| must be) (?!\W*[a-z]\b|(?:based|supported|found|given|clear|in|on|from|"
    r"also|yes|no|true|correct|right|therefore|thus)\b)"
)
NEGATIVES = frozenset(("no", "not", "none", "never", "neither", "nor", "false", "or"))
# Bounds keep the time linear. Longer items are clauses, as in "X, a city or province of Y".
WORD = r"[^\s,.;:!?/]{1,30}"
ITEM = rf"(?:{WORD} ){{0,3}}{WORD}"
CHOICES = (
    Rule(rf"\beither (?:{ITEM},? or (?:{LINK} )?X|(?:{LINK} )?X,? or\b)", "It is either Y or X."),
    Rule(
        rf"{ITEM}, (?:{ITEM}, ){{0,8}}(?:X,? or {ITEM}|{ITEM},? or (?:{LINK} )?X)",
        "It is Y, X or Z.",
    ),
    Rule(
        rf"X, (?!not\b)(?:{ITEM}, ){{0,8}}{ITEM},? or (?:{LINK} )?{ITEM}[.!]?$", "It is X, Y or Z."
    ),
    Rule(
        rf"X(?:,? or (?:{LINK} )?{ITEM}){{2}}|{ITEM},? or X,? or {ITEM}|\bor {ITEM},? or X",
        "It is X, or Y, or Z.",
    ),
    Rule(
        rf"^(?:{LINK} )?(?:X,? (?:and/)?or (?:{LINK} )?{ITEM}|{ITEM},? (?:and/)?or (?:{LINK} )?X)"
        r"[.!]?$",
        "Y or X.",
    ),
    Rule(
        r"\bsome\b[^.;!?\n]{0,60}(?:X[^.;!?\n]{0,60}\bothers?\b|\bothers?\b[^.;!?\n]{0,60}X)",
        "Some say X, others say Y.",
    ),
    Rule(
        r"X,? or (?:maybe|perhaps|possibly)\b|\bor (?:maybe|perhaps|possibly) X",
        "It is Y or maybe X.",
    ),
    Rule(
        rf"\b(?:toss-up|undecided|torn|decide|50/50) between {GAP}X", "I am torn between X and Y."
    ),
    Rule(
        r"\b(?:candidates|possibilities|options) (?:include|are|were)\b[^.;:!?]{0,99}"
        r"(?:X,|X and|and X)",
        "The options are X, Y and Z.",
    ),
    Rule(rf"\b(?:could|might|may) (?:also )?be {GAP}(?:X,? or\b|\bor X)", "It could be Y or X."),
    Rule(
        r"\b(?:one of|possible|candidates|options)\b[^.!?\n]{0,60}:[^.!?\n]{0,200}X",
        "One of: Y, X",
    ),
)
SLASHES = re.compile(rf"(?:{ITEM} ?/ ?)*X(?: ?/ ?{ITEM})+\W*|(?:{ITEM} ?/ ?)+X\W*")
HEADER = re.compile(r"\b(?:possible|candidates?|options?|could be|might be|one of)\b.{0,80}:$")


def mark_mentions(statement: str, reference: Sequence[Token]) -> str:
    """Lower a statement's case, and write X for each mention of the reference in it.

    A mention is a run of tokens of the reference. Runs with fewer tokens than the fullest run, or
    with less than half of the tokens, are not mentions.

    >>> mark_mentions("It isn't Lake Baikal.", reference_tokens("Lake Baikal"))
    "it isn't X."
    """
    text = simplify(statement)
    tokens = [token for token in scan(text) if token.key not in ("the", "an", "a")]
    wanted = {token.key for token in reference} | {token.other for token in reference} - {""}
    runs: list[list[Token]] = [[]]
    for token in tokens:
        if token.key in wanted or token.other in wanted:
            runs[-1].append(token)
        elif runs[-1]:
            runs.append([])
    fullest = max(len(compare(run, reference).matched) for run in runs)
    if 2 * fullest < len(reference) or not fullest:
        return _plain(text)
    pieces, end = [], 0
    for run in runs:
        if len(compare(run, reference).matched) == fullest:
            pieces += [_plain(text[end : run[0].start]), "X"]
            end = run[-1].end
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
    texts = [mark_mentions(statement, expected) for statement in statements]
    if len(texts) > 1 and all(text.endswith("?") for text in texts):
        return next((raw for raw, text in zip(statements, texts, strict=True) if "X" in text), None)
    denial = None
    for index, text in enumerate(texts):
        if "X" not in text or text.endswith("?"):
            continue
        if text.count("X") > 1:  # one mention may be denied, the other not
            return None
        denied = any(re.search(rule.pattern, text) for rule in DENIALS + DOUBTS)
        following = texts[index + 1 :]
        if not denied and not any("X" in other for other in following):
            starts = (ITS_WRONG, REPLACED, CONCLUSION)
            denied = any(start.match(other) for other in following for start in starts)
        if not denied:
            return None
        denial = denial or statements[index]
    return denial


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
    texts = [mark_mentions(statement, reference) for statement in statements]
    mentions = [text for text in texts if "X" in text and not text.endswith("?")]
    if len(mentions) != 1 or mentions[0].count("X") > 1:
        return False
    listed = len(texts) > 2 and HEADER.search(texts[0]) is not None
    sentence = mentions[0]
    bare = all(len(text.split()) < 4 for text in texts) and sentence.strip(" .") == "X"
    return (
        (len(texts) > 2 and bare)
        or (len(texts) == 1 and _is_bare_list(sentence))
        or (listed and "X" not in texts[0] and all(len(text.split()) < 7 for text in texts[1:]))
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
