"""The text that answers: without thinking, Markdown, LaTeX and typographic variants.

Only marks are removed. The rules are a subset of CommonMark, pandoc's `$...$` and GitHub's tables.
Each step takes linear time, because answers come from models and may repeat any character.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter

from infolm_metric.core.inputs import has_thinking, strip_thinking

__all__ = ["final_answer", "has_thinking", "plain_reference"]

FENCE = re.compile(r"[ \t]*(```+|~~~+)[^`]*$")
# Quotes before digits are comparisons ("> 5"). Numbers in the second group may be answers.
BLOCK_MARK = re.compile(
    r"[ \t]*(?:(?:>+(?=[ \t]+\D|$)|[-*+•](?=[ \t]|$)|#{1,6}(?=[ \t]|$))[ \t]*)*"
    r"(?:(\d{1,3})[.)][ \t]+)?"
)
MATH = re.compile(r"(?<!\\)\$([^\s$](?:[^$\n]*[^\s$\\])?)\$(?!\d)")
LINK = re.compile(r"!?\[([^\[\]\n]*)\]\((?:[^()\s]|\([^()\s]*\))*(?:[ \t]+\"[^\"\n]*\")?\)")
STRUCK_OUT = re.compile(r"~~[^~\n]+~~")
DELIMITERS = re.compile(r"(?<!\\)(?:\*+|_+)")
JSON_OBJECT = re.compile(r"\s*(?:```(?:json)?\s*)?(\{.*\})\s*(?:```\s*)?", re.DOTALL)
BOX = re.compile(r"\\boxed\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
# Words in bold, and a colon at their end or after them.
BOLD = re.compile(
    r"(?<![\w*])\*\*(?! )([^*\n:]+?)(:?)(?<! )\*\*(?!\w)(?!:)|(?<![\w*])\*\*[^*\n]+\*\*:?"
)
# Keys of JSON objects that do not answer.
NOTES = "reasoning explanation rationale analysis thinking thought thoughts steps confidence source"
UNMARKED = (
    "not no yes never only always also and or answer note important correct incorrect true false "
    "explanation reasoning conclusion warning however"
)
HTML = re.compile(r"</?(?:b|i|u|em|strong|sub|code|p|span)>", re.IGNORECASE)

LATEX_TEXT = re.compile(
    r"\\(?:boxed|fbox|text(?:bf|it|rm)?|math(?:rm|bf|it|sf)|operatorname)\s*(?=\{)"
)
LATEX = [
    (re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"\1/\2"),
    (re.compile(r"\\sqrt\s*\{([^{}]*)\}"), r"√\1"),
    (re.compile(r"\{,\}"), ","),
    (re.compile(r"\\[,;:!](?!\d)"), " "),
    (re.compile(r"\^\s*\{?\s*\\circ\b\s*\}?"), "°"),
    (re.compile(r"\\(?:left|right)(?![a-zA-Z])"), ""),
    (re.compile(r"\\leq?(?![a-zA-Z])"), "≤"),
    (re.compile(r"\\geq?(?![a-zA-Z])"), "≥"),
    (re.compile(r"\\(?:times|cdot)(?![a-zA-Z])"), "×"),
    (re.compile(r"\\pi(?![a-zA-Z])"), "π"),
]
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
SUPERSCRIPTS = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿⁱ]+")
FRACTIONS = re.compile("[¼-¾⅐-⅞↉]")
SPACE_IN_NUMBER = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")
INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


def final_answer(text: str, strip: bool = True) -> str:
    """Return the plain text of an answer, without its thinking if `strip` is True.

    >>> final_answer("<think>Rome?</think>The capital is **Paris**.")
    'The capital is Paris.'
    """
    return plain_reference(_remove_comments(_read_json(strip_thinking(text) if strip else text)))


def _read_json(text: str) -> str:
    """Return the value of "answer" in an answer that is a JSON object without other content.

    >>> _read_json('{"reasoning": "not Rome", "answer": "Paris"}')
    'Paris'
    """
    match = JSON_OBJECT.fullmatch(text)
    try:
        values = json.loads(match[1]) if match else {}
    except (ValueError, RecursionError):
        return text
    names = [name for name in ("answer", "final_answer") if name in values]
    if not names or not values.keys() <= {*names, *NOTES.split()}:
        return text
    value = values[names[0]]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return text
    found = str(value)
    return text if any("\ud800" <= letter <= "\udfff" for letter in found) else found


def marked_answer(text: str, strip: bool = True) -> tuple[str, bool]:
    r"""Return the content of the last \boxed{} or the only bold words, and True for a box.

    Bold titles, labels, words such as "not" and phrases over six words are ignored.

    >>> marked_answer(r"It is \boxed{64}."), marked_answer("It is **Lyon**."), marked_answer("Lyon")
    (('64', True), ('Lyon', False), ('', False))
    """
    text = _read_json(strip_thinking(text) if strip else text)
    if boxes := BOX.findall(text):
        return plain_reference(boxes[-1]), True
    lines = text.rstrip().split("\n")
    titles = {line.strip() for line in lines[:-1]}
    bold = {
        match[1]
        for match in BOLD.finditer(text)
        if match[1] and not match[2] and match[0] not in titles
    }
    marked = plain_reference(bold.pop()) if len(bold) == 1 else ""
    words = marked.lower().split()
    return "" if len(words) > 6 or {*UNMARKED.split()}.issuperset(words) else marked, False


def _remove_comments(text: str) -> str:
    """Remove comments of HTML and Markdown, which no reader of the answer sees.

    >>> _remove_comments("Rome<!-- or Paris -->.")
    'Rome.'
    """
    first, *others = re.sub(r"(?m)^\[//\]: #.*$", "", text).split("<!--")
    return first + "".join(other.partition("-->")[2] for other in others)


def plain_reference(text: str) -> str:
    r"""Return the plain text of a reference: without Markdown, LaTeX and typographic variants.

    >>> plain_reference(r"$\boxed{x²}$"), plain_reference("2*3*4 in snake_case costs $5 or $6")
    ('x^2', '2*3*4 in snake_case costs $5 or $6')
    """
    plain = _remove_latex(_remove_inline_marks(_remove_block_marks(text)))
    if not plain.strip() and not any(map(str.isalnum, text)):
        plain = text  # marks alone are content, such as a plus sign
    return _normalize_characters(plain).strip()


def _remove_block_marks(text: str) -> str:
    """Remove headings, bullets, quote marks, list numbers, tables and fences, line by line."""
    lines = text.splitlines()
    numbers = Counter(int(match[1] or 0) for line in lines if (match := BLOCK_MARK.match(line)))
    has_table = any(map(_is_table_rule, lines))
    kept, fence = [], ""
    for line in lines:
        mark = FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
            kept.append("```")  # _remove_inline_marks protects the lines and removes the marks
        elif fence:
            kept.append(line)
        elif not _is_break(line) and not _is_table_rule(line):
            match = BLOCK_MARK.match(line)
            assert match is not None  # the pattern matches the empty string
            number = int(match[1] or 0)
            # A single number at the start, as in "7. So many continents exist.", is content.
            is_item = number and (
                numbers[number] > 1 or numbers[number + 1] or (number > 1 and numbers[number - 1])
            )
            start = match.end() if is_item or not number else match.start(1)
            line = line[start:].rstrip()
            if "#" in match[0] and line.rstrip("#").endswith((" ", "\t")):
                line = line.rstrip("#").rstrip()
            kept.append(line.replace("|", " ").strip() if has_table else line)
    return "\n".join([*kept, "```"] if fence else kept)


def _is_break(line: str) -> bool:
    """Return True for a thematic break or the underline of a heading."""
    marks = line.replace(" ", "")
    return len(marks) > 2 and len(set(marks)) == 1 and marks[0] in "-*_="


def _is_table_rule(line: str) -> bool:
    """Return True for the line between the header of a table and its body."""
    return set(line) <= set("|:- \t") and "|" in line and "-" in line


def _remove_inline_marks(text: str) -> str:
    """Remove emphasis, links, code marks and dollar signs of formulas, but not inside code."""
    text = STRUCK_OUT.sub(" ", HTML.sub("", re.sub(r"(?i)<br\s?/?>", "\n", text)))
    text = re.sub("(?i)</sup>", "", re.sub("(?i)<sup>", "^", text))
    dropped = bytearray(len(text))  # 1 for characters that are marks
    hidden = list(text)  # the text, with letters in place of code and formulas
    for start, end, width in _code_spans(text):
        dropped[start : start + width] = dropped[end - width : end] = b"\1" * width
        hidden[start + width : end - width] = "x" * (end - start - 2 * width)
    for match in re.finditer(r"\$\$", "".join(hidden)):
        dropped[match.start() : match.end()] = b"\1\1"
        hidden[match.start() : match.end()] = "  "
    for match in MATH.finditer("".join(hidden)):
        dropped[match.start()] = dropped[match.end() - 1] = 1
        hidden[match.start(1) : match.end(1)] = "x" * len(match[1])
    masked = "".join(hidden)
    for match in LINK.finditer(masked):
        dropped[match.start() : match.start(1)] = b"\1" * (match.start(1) - match.start())
        dropped[match.end(1) : match.end()] = b"\1" * (match.end() - match.end(1))
    for start, end in _emphasis(masked):
        dropped[start:end] = b"\1" * (end - start)
    return "".join(letter for letter, drop in zip(text, dropped, strict=True) if not drop)


def _code_spans(text: str) -> list[tuple[int, int, int]]:
    """Find code between runs of equally many backquotes: (start, end, length of a run)."""
    runs = [match.span() for match in re.finditer("`+", text)]
    following: dict[int, int] = {}
    partner = [0] * len(runs)
    for number in reversed(range(len(runs))):
        width = runs[number][1] - runs[number][0]
        partner[number] = following.get(width, 0)
        following[width] = number
    spans, number = [], 0
    while number < len(runs):
        if partner[number]:
            start, end = runs[number]
            spans.append((start, runs[partner[number]][1], end - start))
            number = partner[number]
        number += 1
    return spans


def _emphasis(text: str) -> list[tuple[int, int]]:
    """Find the spans of matching emphasis marks by CommonMark's flanking rules.

    Unlike in CommonMark, a single asterisk inside a word and asterisks next to a digit are
    content (a*b*c, 2**3**4), and marks of different characters may overlap.
    """
    openers: dict[str, list[list[int]]] = {"*": [], "_": []}
    spans = []
    for match in DELIMITERS.finditer(text):
        start, end = match.span()
        before, after = text[start - 1 : start] or " ", text[end : end + 1] or " "
        if before.isalnum() and after.isalnum():
            single = match[0][0] == "_" or end - start == 1
            if single or before.isdigit() or after.isdigit():
                continue
        opens = not after.isspace() and (after.isalnum() or not before.isalnum())
        closes = not before.isspace() and (before.isalnum() or not after.isalnum())
        stack = openers[match[0][0]]
        while closes and stack and start < end:
            opener = stack[-1]
            width = min(opener[1] - opener[0], end - start)
            spans += [(opener[1] - width, opener[1]), (start, start + width)]
            opener[1] -= width
            start += width
            if opener[0] == opener[1]:
                stack.pop()
        if opens and start < end:
            stack.append([start, end])
    return spans


def _remove_latex(text: str) -> str:
    """Remove LaTeX's marks for text and formulas, and write common commands as characters."""
    if "\\" not in text:
        return text
    for pattern, replacement in LATEX:
        text = pattern.sub(replacement, text)
    text, count = LATEX_TEXT.subn("", text)
    if count:
        text = re.sub(r"(?<!\\)[{}]", "", text)
    return ESCAPED.sub(r"\1", re.sub(r"\\[()\[\]]", "", text))


def _normalize_characters(text: str) -> str:
    """Write superscripts as ^n and fractions with a slash, and apply NFKC."""
    text = SPACE_IN_NUMBER.sub("", INVISIBLE.sub("", text))
    text = SUPERSCRIPTS.sub(lambda match: "^" + match[0], text)
    text = FRACTIONS.sub(lambda match: " " + match[0], text)
    return unicodedata.normalize("NFKC", text).replace("\u2044", "/")
