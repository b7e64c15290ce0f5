"""The part of an answer that counts, as plain text: without thinking, Markdown and LaTeX.

Each step takes linear time, because answers come from models and may repeat any character.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property

from infolm_metric.answer_check.statements import split_statements, split_words
from infolm_metric.core.inputs import strip_thinking

KEYS = ("answer", "final_answer", "result", "output", "response", "prediction", "value")
JSON = re.compile(r"\s*(?:```(?:json)?\s*)?(\{.*\})\s*(?:```\s*)?", re.DOTALL)
COMMENT = re.compile(r"(?ms)<!--.*?(?:-->|\Z)|^\[//\]: #[^\n]*")  # which no reader sees
BOX = re.compile(r"\\(?:boxed|fbox)\s*\{(?P<box>(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")
MARK = re.compile(
    rf"{BOX.pattern}"
    r"|^[ \t]*####[ \t]+(?P<hashes>[^\n]+)"
    r"|^[ \t>#*_]*(?:(?:the|my)[ ])?(?:(?:final|correct)[ ])?answer(?:[ ]is)?[ \t*_]*:[ \t*_]*+"
    r"(?P<line>[^\n]*[^\n*_ \t])",
    re.IGNORECASE | re.MULTILINE,
)
# Marks of Markdown and HTML, and what remains of each. Code keeps its asterisks.
MARKDOWN: list[tuple[re.Pattern[str], str]] = [
    (re.compile(r"(?m)^[ \t]*(?:```|~~~)[^\n]*\n?"), ""),
    (re.compile(r"(?m)^[ \t]*(?:[|:]?[-=_*]{3}[-|: \t=_*]*+)$"), ""),
    (re.compile(r"(?m)^[ \t]*(?:(?:#{1,6}|[-*+•]|>+(?!\s*\d))[ \t]+)+(?=\S)"), ""),
    (re.compile(r"(?i)<!--[^<>]*-->|</?(?:b|i|u|em|strong|sub|code|p|span)>|</sup>"), ""),
    (re.compile(r"(?i)<sup>"), "^"),
    (re.compile(r"!?\[([^\[\]\n]*)\]\((?:[^()\n]|\([^()\s]*\))*\)"), r"\1"),
    (re.compile(r"`([^`\n]*)`"), r"\1"),
    (re.compile(r"(?<!\d)\*\*(?!\s)([^*\n]+)(?<!\s)\*\*(?!\d)"), r"\1"),
    (re.compile(r"(?<![\w*\\])\*(?!\s)([^*\n]+)(?<!\s)\*(?![\w*])"), r"\1"),
    (re.compile(r"(?<!\w)_(?!\s)([^_\n]+)(?<!\s)_(?!\w)"), r"\1"),
]
LATEX = [
    (re.compile(r"\^\s*+\{?\s*+\\circ\s*\}?"), "°"),
    (re.compile(r"\\leq?(?![a-zA-Z])"), "≤"),
    (re.compile(r"\\geq?(?![a-zA-Z])"), "≥"),
    (re.compile(r"\\(?:text|math|operatorname)[a-z]{0,2}\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"\1/\2"),
    (re.compile(r"\\sqrt\s*\{([^{}]*)\}"), r"√\1"),
    (re.compile(r"(?<!\\)\$([^\s$](?:[^$\n]*[^\s$\\])?)\$(?!\d)"), r"\1"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\[,;:!](?!\d)|\\ |~"), " "),
    (re.compile(r"\\(?:times|cdot)(?![a-zA-Z])"), "×"),
    (re.compile(r"\\(?:left|right|displaystyle)(?![a-zA-Z])|\\[()\[\]]|\$\$"), ""),
    (re.compile(r"([_^])\{(\w+)\}"), r"\1\2"),
    (re.compile(r"\\([!-/:-@\[-`{-~])"), r"\1"),
    (re.compile(r"\\([a-zA-Z]+)"), r"\1"),
]
NUMBERED = re.compile(r"(?m)^[ \t]*\d{1,2}[.)][ \t]+(?=\S)")
FRACTIONS = re.compile("(?<=[0-9])(?=[¼-¾⅐-⅞])")
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
SUPERSCRIPTS = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ]+")


@dataclass(frozen=True)
class Text:
    """An answer or a reference: `source` without Markdown, `plain` without Markdown and LaTeX."""

    source: str

    @cached_property
    def plain(self) -> str:
        text = self.source
        if "\\" in text or "$" in text:
            for pattern, replacement in LATEX:
                text = pattern.sub(replacement, text)
        return fold(INVISIBLE.sub("", text)).strip()

    @cached_property
    def statements(self) -> list[str]:
        """Statements, or the text itself if it has none, such as a symbol."""
        return split_statements(self.plain) or [self.plain] * bool(self.plain)

    @cached_property
    def words(self) -> list[str]:
        return split_words(self.plain)

    @property
    def is_long(self) -> bool:
        """True if the text has several statements. They are compared one by one."""
        return len(self.statements) > 1


def final_answer(text: str, strip: bool = True) -> Text:
    r"""Return the part of an answer that counts, without its thinking if `strip` is True.

    In a JSON object, it is the value of a key such as "answer". Comments in HTML and Markdown do
    not count. Then the last mark decides: a box, `####`, or a line that starts with "Answer:".
    Without a mark, all of the text counts.

    >>> final_answer("<think>Rome?</think>The capital is **Paris**.").plain
    'The capital is Paris.'
    >>> final_answer("We need 15 kg.\nAnswer: 12 kg").plain, final_answer(r"\boxed{x^{2}}").source
    ('12 kg', 'x^{2}')
    """
    text = COMMENT.sub("", _read_json(strip_thinking(text) if strip else text))
    marks = list(MARK.finditer(text))
    return plain_text(next(filter(None, marks[-1].groups()), text) if marks else text)


def fold(text: str) -> str:
    """Write superscripts as ^n, fractions as 1/2, and letters and digits in their usual form."""
    text = SUPERSCRIPTS.sub(lambda match: "^" + match[0], FRACTIONS.sub(" ", text))
    return unicodedata.normalize("NFKC", text).replace("\u2044", "/")


def plain_text(text: str) -> Text:
    """Remove Markdown, simple HTML, boxes and list numbers. Keep a lone symbol, such as "+".

    >>> plain_text("2*3*4 in `snake_case` costs **$5**").source
    '2*3*4 in snake_case costs $5'
    """
    plain = BOX.sub(r"\g<box>", text)
    if len(NUMBERED.findall(plain)) > 1:
        plain = NUMBERED.sub("", plain)
    for pattern, replacement in MARKDOWN:
        plain = pattern.sub(replacement, plain)
    is_mark = not plain.strip() and not any(map(str.isalnum, text))
    return Text(text.strip("`~ \n") if is_mark else plain.strip())


def _read_json(text: str) -> str:
    """Return the answer in a JSON object as text, or the whole text if there is no answer.

    >>> _read_json('{"reasoning": "not Rome", "answer": "Paris"}')
    'Paris'
    """
    match = JSON.fullmatch(text)
    try:
        value = json.loads(match[1]) if match else {}
    except (ValueError, RecursionError):
        return text
    answer = next((value[key] for key in KEYS if key in value), text)
    found = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return text if any("\ud800" <= letter <= "\udfff" for letter in found) else found
