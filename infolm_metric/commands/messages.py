"""Flags in messages: the package names settings as in Python, and a command as flags."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping

# A quoted value, such as a text or a path, which may resemble a setting.
QUOTED = r"""(?<![\w=])(?P<quote>['"])(?:\\.|(?!(?P=quote)).)*(?P=quote)(?!\w)"""
VALUE = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\s,;:()]*[^\s,;:().]"""
# Words such as "alpha" and "device" are names of settings only in certain positions.
BEFORE = r"(?<!\S)(?i:unknown|set|omit|pass|without|requires)\s"
AFTER = r"\s(?:must|requires|needs|is|applies)\s"
INDEX = r"(?:\[\d+\])?"


class FailedError(Exception):
    """Raised if a command ran and its result is a failure, such as a worse system."""


def name_flags(message: str, flags: Mapping[str, str]) -> str:
    """Replace the names of settings in a message by flags, except in quoted values.

    >>> flags = {"long_text": "--long-text", "idf": "--idf", "device": "--device"}
    >>> name_flags("the text 'long_text=' is too long. Use long_text='window'", flags)
    "the text 'long_text=' is too long. Use --long-text window"
    >>> name_flags("device must be a name or None, got 5. Set idf=False", flags)
    '--device must be a name, got 5. Set --idf none'
    """
    names, end = "|".join(flags), r"(?![\w/]|\.\w| \+)"
    underscored = "|".join(name for name in flags if "_" in name) or r"(?!)"
    pattern = (
        rf"{QUOTED}|(?P<none> or None(?=, got ))|(?P<before>{BEFORE})?(?<![\w./-])"
        rf"(?:(?P<set>{names})=(?P<value>{VALUE})|(?P<name>{underscored}){INDEX}{end}"
        rf"|(?P<word>{names}){INDEX}(?(before){end}|(?={AFTER})))"
    )

    def replace(match: re.Match[str]) -> str:
        if match["quote"] or match["none"]:
            return "" if match["none"] else match[0]
        name = match["set"] or match["name"] or match["word"]
        words = _assignment(flags[name], match["value"]) if match["set"] else flags[name]
        return (match["before"] or "") + words

    return re.sub(pattern, replace, message) if flags else message


def _assignment(flag: str, value: str) -> str:
    """Return the words of a command line that set a flag to a Python value."""
    if value == "True":
        return flag
    word = "none" if value == "False" else value
    if word[0] in "'\"":
        word = str(ast.literal_eval(word))
    return f"{flag}{'=' if word.startswith('-') else ' '}{shlex.quote(word)}"
