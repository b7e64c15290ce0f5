"""Reasoning that models write before the answer, such as <think>...</think>."""

from __future__ import annotations

import re

TAG = r"(?:think|thinking|thoughts?|reasoning|scratchpad|seed:think)"
CLOSING = re.compile(
    rf"</{TAG}\s*>|\[/THINK\]|<\|channel\|>\s*final\s*(?:<\|message\|>)?"
    r"|<\|end_(?:of_thought|thinking)\|>|\u25c1/think\u25b7",
    re.IGNORECASE,
)
OPENING = re.compile(
    rf"\s*(?:<{TAG}\s*>|\[THINK\]|(?:<\|start\|>assistant)?<\|channel\|>"
    r"|<\|(?:begin_of_thought|start_thinking)\|>|\u25c1think\u25b7)",
    re.IGNORECASE,
)
ANSWER = re.compile(r"<(/?)answer\s*>", re.IGNORECASE)
CONTROL = re.compile(r"<\|\w{1,30}\|>")


def has_thinking(text: str) -> bool:
    """Return True if a text contains reasoning that `strip_thinking` removes.

    >>> has_thinking("<think>Rome?</think>Paris"), has_thinking("I think Paris.")
    (True, False)
    """
    return bool(OPENING.match(text) or CLOSING.search(text))


def strip_thinking(text: str) -> str:
    """Remove reasoning, and keep only the content of the last <answer> if there is one.

    Reasoning ends with the last closing tag, and its opening tag may be missing. If reasoning at
    the start is never closed, the result is empty.

    >>> strip_thinking("Rome?</think> It is <answer>Paris</answer>.")
    'Paris'
    """
    end = max((match.end() for match in CLOSING.finditer(text)), default=0)
    text = text[end:]
    if OPENING.match(text):
        return ""
    tags = list(ANSWER.finditer(text))
    closing = [number for number, tag in enumerate(tags) if tag[1]]
    last = closing[-1] if closing else len(tags)
    starts = [tag.end() for tag in tags[:last] if not tag[1]]
    if starts:
        text = text[starts[-1] : tags[last].start() if closing else len(text)]
    return CONTROL.sub("", ANSWER.sub("", text)).strip()
