"""Plain denials of a reference, and choices that include it, in English.

An NLI model with a short hypothesis accepts some of them. `python -m tools.answers patterns`
counts the answers that each pattern denies. In the patterns, X is the reference.
"""

from __future__ import annotations

import re

from infolm_metric.answer_check.final_answer import Text

GAP = r"[^.,;:!?\nX]{0,60}"  # bounds keep the time linear
ITEM = r"(?:[^\s,.;:!?/X]{1,30} ){0,3}[^\s,.;:!?/X]{1,30}"
LINK = r"(?:is|was|by|in|of|at|on|from|to|with|for|called|named|really|actually)"
PATTERNS = (  # a pattern and an example each
    (
        r"\b(?:not|never|isn't|wasn't|aren't|weren't|neither|nor|rather than|instead of|"
        rf"anything but|any\w* (?:but|other than|except))(?: {LINK}){{0,3}} \W?X",
        "It is not X.",
    ),
    (
        rf"X\W?(?: {ITEM})? (?:(?:but |no, )?(?:that|this|it) )?(?:is|was|are|were|would be) "
        r"(?:\w+ )?(?:wrong|incorrect|false|mistaken|untrue|a (?:myth|mistake|misconception))\b",
        "X is wrong.",
    ),
    (
        r"\bX (?:(?:is|was|did|does|are|were|has|had)(?:n't| not)|never|cannot) (?!only|just|to )",
        "X did not do it.",
    ),
    (
        rf"\beither {ITEM},? or X|\beither X,? or\b|{ITEM}, (?:{ITEM},? )?or (?:maybe )?X|"
        rf"{ITEM}, X,? or {ITEM}|^(?:it is |it's |it was )?(?:X,? or {ITEM}|{ITEM},? or X)[.!]?$|"
        rf"\b(?:could|might|may) be {GAP}(?:X,? or\b|X, {ITEM}, or|\bor X)",
        "It is Y, Z or X.",
    ),
    (
        r"\b(?:(?:know|sure|say|tell|unclear|unknown|uncertain|confirm|determine|decide)"
        r"(?: for (?:sure|certain))? (?:if|whether)|(?:cannot|can't|could not|couldn't|unable to) "
        rf"(?:confirm|verify|rule out|say|tell|determine))\b{GAP}X",
        "I don't know whether it is X.",
    ),
    (
        r"X\W{1,5}(?:(?:oh|no|hmm|uh|er|actually|well),? ){0,2}(?:wait|scratch that|strike that|"
        r"correction|sorry|edit\b|on (?:second thought|reflection)|my bad|my mistake|i meant?)\b",
        "X. No, wait, it is Y.",
    ),
)
NEGATIONS = frozenset(("no", "not", "none", "never", "neither", "nor", "false", "or", "yes"))


def find_denial(answer: Text, reference: Text) -> str:
    """Return the first statement with the reference if all such statements deny it, or "".

    A statement is read with the following one, unless that one also contains the reference.
    Questions assert nothing. References with a word in NEGATIONS, such as "yes", are never denied.

    >>> from infolm_metric.answer_check.final_answer import Text
    >>> find_denial(Text("It isn't Rome. It is Bari."), Text("Rome"))
    "It isn't Rome."
    """
    name = re.sub("^(?:the|an?) ", "", reference.plain.lower())
    if not name or name not in answer.plain.lower() or not NEGATIONS.isdisjoint(reference.words):
        return ""
    mention = re.compile(rf"(?<!\w)(?:(?:the|an?) )?{re.escape(name)}(?![\w+#])")
    texts = [mention.sub("X", re.sub("[’`]", "'", raw.lower())) for raw in answer.statements]
    places = [i for i, text in enumerate(texts) if "X" in text and not text.endswith("?")]
    for place in places:
        following = "".join(texts[place + 1 : place + 2])
        text = texts[place] if "X" in following else f"{texts[place]} {following}"
        if not any(re.search(pattern, text) for pattern, _ in PATTERNS):
            return ""
    return answer.statements[places[0]] if places else ""
