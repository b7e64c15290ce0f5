"""Argument parser of the commands: one-line messages with suggestions, and stricter options."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

from infolm_metric.core.checks import NAMES_ELSEWHERE, nearest

WRONG_INPUT = 2
# A name in a message, outside of quotes, file names and flags, with the start of an assignment.
SETTING = re.compile(r"(?<![^\s(])(\w+)(?:\[\d+\])?(?![-/\w[]|\.\w)(=False\b|=True\b|=|)")


class FailedError(Exception):
    """Raised if a command ran and its result is a failure, such as a worse system."""


class Parser(argparse.ArgumentParser):
    """Parser that rejects abbreviations and options that are passed twice."""

    def __init__(self, **options: Any) -> None:
        help_format = partial(argparse.RawDescriptionHelpFormatter, max_help_position=27, width=100)
        super().__init__(**options, formatter_class=help_format, allow_abbrev=False, add_help=False)
        self.owners: dict[str, list[str]] = {}  # metrics that have a setting
        self.passed: set[str] = set()

    def flags(self) -> dict[str, str]:
        """Return the flags of all options by the names of their values in Python."""
        return {x.dest: x.option_strings[-1] for x in self._actions if x.option_strings}

    def suggest(self, flag: str) -> str:
        """Return a question that names a similar flag, or "" if there is none.

        The flag may also resemble the name of a setting, here or in other libraries.
        """
        flags = {name.replace("_", "-"): option for name, option in self.flags().items()}
        flags |= {name.lstrip("-"): name for name in self._option_string_actions}
        name = flag.lstrip("-")
        elsewhere = NAMES_ELSEWHERE.get(name.replace("-", "_"), name)
        hint = nearest(elsewhere.replace("_", "-"), flags)
        return hint if hint.startswith("Did you mean") else ""

    def error(self, message: str) -> NoReturn:
        """Print the message on one line, without the usage line, and exit."""
        argument, _, problem = message.partition(": ")
        if problem.startswith("expected"):
            flag = argument.split("/")[-1].removeprefix("argument ")
            message += f". To pass a value that starts with a dash, use {flag}=VALUE."
        self.exit(WRONG_INPUT, f"{self.prog}: error: {message}\n")

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """Reject an empty value, and a second value of an option that is not repeatable."""
        flags, single = action.option_strings, not isinstance(action, argparse._AppendAction)
        if flags and ("" in arg_strings or (single and flags[0] in self.passed)):
            why = "empty. Pass a value" if "" in arg_strings else "passed twice. Remove one of them"
            raise argparse.ArgumentError(action, why)
        self.passed.update(flags)
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Suggest the nearest choice for an unknown word."""
        if action.choices is not None and value not in action.choices:
            hint = nearest(value, [*action.choices], every=True)
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}. {hint}")


def name_flags(message: str, flags: Mapping[str, str], setting: str = "") -> str:
    """Replace the Python names of settings in a message by command-line flags.

    Outside of quotes, replace names in assignments, names with an underscore, and the first
    occurrence of `setting`.

    >>> name_flags("idf must be a word. Use idf=False.", {"idf": "--idf"}, "idf")
    '--idf must be a word. Use --idf=none.'
    """

    def replace(match: re.Match[str]) -> str:
        nonlocal setting
        name, mark = match.groups()
        if name not in flags or not (mark or "_" in name or name == setting):
            return match[0]
        setting = "" if name == setting else setting
        return flags[name] + {"=True": "", "=False": "=none"}.get(mark, mark)

    return SETTING.sub(replace, message)
