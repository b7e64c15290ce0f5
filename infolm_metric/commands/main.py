"""The command line, `infolm`: a table of sub-commands, each a function with the options it takes.

Results go to standard output; warnings, progress and errors to standard error. Exit codes: 0 done;
1 failed while running, such as a model that is not there; 2 the arguments or the input are wrong;
130 interrupted; 141 the reader of the output went away.

The sub-commands import torch, transformers, datasets and evaluate when they need them: help, and
mistakes in the arguments or the files, are answered at once.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

from infolm_metric.commands import (
    attack,
    baseline,
    compare,
    correlate,
    idf,
    register,
    robustness,
    score,
)
from infolm_metric.commands.options import Command, chosen_settings
from infolm_metric.kernel.settings import Settings
from infolm_metric.kernel.version import __version__

FAILED, WRONG_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141

FILES = (score, compare, correlate, attack, robustness, idf, baseline, register)
COMMANDS = tuple(file.COMMAND for file in FILES)


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of `infolm` with these arguments, by default those of the process.

    >>> main(["score", "a text without a reference"])  # says so on standard error
    2
    """
    if argv is None:  # the process is ours
        # Importing makes a million objects that stay; to look for garbage among them again and
        # again, as Python would, takes a third of the start.
        gc.set_threshold(300_000)
    try:
        code = _run(argv)
        sys.stdout.flush()
        if argv is None:
            gc.freeze()  # nor is there a use in looking at the end, which takes a second
        return code
    except BrokenPipeError:
        # What is left in the buffer has nowhere to go; without this the interpreter complains.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt as interrupt:
        # A job says what is kept.
        print(f"infolm: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return INTERRUPTED


def _run(argv: Sequence[str] | None) -> int:
    """The exit code; an error is shown as one message."""
    try:
        arguments = _parser(chosen_settings(argv)).parse_args(argv)
    except SystemExit as stop:
        return int(stop.code or 0)
    command: Command = arguments.command
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            command.run(arguments)
        except BrokenPipeError:
            raise
        except Exception as error:
            if getattr(arguments, "verbose", False):
                traceback.print_exc()
            print(f"infolm {command.name}: error: {str(error) or repr(error)}", file=sys.stderr)
            return WRONG_INPUT if isinstance(error, ValueError | TypeError) else FAILED
    return 0


def _show_warning(message: Warning | str, *where: Any, **more: Any) -> None:
    """Shows a warning without the line of code it came from, which says nothing here."""
    print(f"infolm: warning: {str(message).removeprefix('infolm: ')}", file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        argument, _, problem = message.partition(": ")
        if problem.startswith("expected"):
            flag = argument.split("/")[-1].removeprefix("argument ")
            message += f"; a value that begins with a dash is given as {flag}=VALUE"
        super().error(message)


def _parser(types: Sequence[type[Settings]]) -> argparse.ArgumentParser:
    """The parser of all commands, with the settings of the chosen metrics among their options.

    It takes no abbreviated flags: a new flag must break none.
    """
    parser = _Parser(
        prog="infolm",
        description="Compares texts with references through what a masked language model predicts.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"infolm {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        added = commands.add_parser(
            command.name,
            help=command.summary,
            description=f"{command.summary[0].upper()}{command.summary[1:]}.",
            epilog=command.epilogue,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        added.set_defaults(command=command)
        for heading, options in command.options(*types).items():
            group = added.add_argument_group(heading)
            for entry in options:
                group.add_argument(*entry.flags, **entry.keywords)
    return parser
