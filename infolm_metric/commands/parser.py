"""Argument parser of the commands: one-line messages with suggestions, and stricter options."""

from __future__ import annotations

import argparse
import os
import textwrap
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

from infolm_metric.core.checks import NAMES_ELSEWHERE, nearest

WRONG_INPUT = 2
TEXT = "TEXT"  # placeholder of arguments that may be empty


class Help(argparse.RawDescriptionHelpFormatter):
    """Help formatter with 100 columns and a single placeholder for all aliases of a flag."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=27, width=100)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)  # whole flags

    def _format_action_invocation(self, action: argparse.Action) -> str:
        text = super()._format_action_invocation(action)
        *aliases, last = text.split(", ")
        return ", ".join([*(flag.partition(" ")[0] for flag in aliases), last])


class Parser(argparse.ArgumentParser):
    """Parser that rejects abbreviations, empty values and options that are passed twice."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, formatter_class=Help, allow_abbrev=False, add_help=False)
        self.owners: dict[str, list[str]] = {}  # metrics that have a setting
        for action in ("store", "store_true", "store_false", "store_const", "append"):
            plain = self._registry_get("action", action)
            attributes = {"repeatable": action == "append"}
            self.register("action", action, type("Strict", (_Strict, plain), attributes))
        self.register("action", None, self._registry_get("action", "store"))
        self.register("type", int, partial(_parse, int, "a whole number"))
        self.register("type", float, partial(_parse, float, "a number"))

    def flags(self) -> dict[str, str]:
        """Return the flags of all options by the names of their values in Python."""
        options = [action for action in self._actions if action.option_strings]
        return {action.dest: action.option_strings[-1] for action in options}

    def option_strings(self) -> list[str]:
        """Return the flags of all options, with their short names."""
        return [flag for action in self._actions for flag in action.option_strings]

    def suggest(self, flag: str) -> str:
        """Return a question that names a similar flag, or "" if there is none.

        The flag may also resemble the name of a setting, here or in other libraries.
        """
        flags = {name.replace("_", "-"): option for name, option in self.flags().items()}
        flags |= {name.lstrip("-"): name for name in self.option_strings()}
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

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Suggest the nearest choice for an unknown word."""
        if action.choices is not None and value not in action.choices:
            hint = nearest(value, [*action.choices], every=True)
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}. {hint}")


class _Strict(argparse.Action):
    """Action that expands tildes, and rejects empty values and values that replace another."""

    passed = repeatable = False

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if self.metavar != TEXT:
            values = [*map(_path, values)] if isinstance(values, list) else _path(values)
            if "" in (values if isinstance(values, list) else [values]):
                raise argparse.ArgumentError(self, "got an empty string. Pass a value, or omit it")
        if self.passed and option_string and not self.repeatable:
            raise argparse.ArgumentError(self, "passed twice. Remove one of them")
        self.passed = True
        super().__call__(parser, namespace, values, option_string)


def _path(value: Any) -> Any:
    """Expand a tilde, as in --references=~/references.txt, which shells pass on unchanged."""
    is_path = isinstance(value, str) and value.startswith("~/")
    return os.path.expanduser(value) if is_path else value


def _parse(kind: Callable[[str], object], description: str, word: str) -> object:
    try:
        return kind(word)
    except ValueError:
        message = f"must be {description}, got {word!r}"
        raise argparse.ArgumentTypeError(message) from None
