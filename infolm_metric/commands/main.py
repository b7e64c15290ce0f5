"""The command line, `infolm`. Each command is a module with USAGE, add_options and run.

Results go to standard output; warnings, progress and errors to standard error. Exit codes: 0
success; 1 failure while running, such as a missing model; 2 wrong arguments or input; 130
interrupted; 141 broken pipe.

The commands import torch, transformers, datasets and evaluate only when they need them, so that
help and messages about wrong arguments or files appear without delay.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from infolm_metric import core
from infolm_metric.commands.options import chosen_settings
from infolm_metric.core.checks import nearest
from infolm_metric.metrics import METRICS, find

FAILED, WRONG_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
COMMANDS = {
    "score": "score texts against references",
    "compare": "compare systems, with intervals and significance",
    "correlate": "correlate metrics with human scores",
    "select": "choose among candidates the one that the others agree with most",
    "attack": "spoil references in twelve ways, as cases for infolm robustness",
    "robustness": "tell which attacks metrics notice",
    "idf": "count inverse document frequencies, and save them",
    "baseline": "score unrelated texts, to tell what a score means",
    "register": 'make evaluate.load("infolm") work from any folder',
}
HELP = """\
usage: infolm COMMAND [options]

Compares texts with references through what a language model makes of them.

commands:
{}

infolm COMMAND --help shows the options of a command, infolm --version the version.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `infolm` with these arguments (default: of the process) and return its exit code.

    >>> main(["score", "a text without a reference"])  # says so on standard error
    2
    """
    program, interrupts = argv is None, list[int]()
    if argv is None:
        argv = sys.argv[1:]
        _write_utf8()
        signal.signal(signal.SIGINT, lambda *_: _interrupt(interrupts))
        # Imports create a million permanent objects, and Python's repeated search for garbage
        # among them takes a third of the start.
        gc.set_threshold(300_000)
    try:
        code = _run(argv)
        if interrupts:  # a library swallowed the interrupt while it was being imported
            raise KeyboardInterrupt
        if sys.stdout:  # which may be closed
            sys.stdout.flush()
        if program:
            gc.freeze()  # a last search for garbage would take a second
        return code
    except OSError as error:  # of standard output
        # Otherwise the interpreter complains that it cannot flush the rest of the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        reason = f"{error.strerror}; see that it has room"
        print(f"infolm: error: cannot write standard output: {reason}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("infolm: interrupted", file=sys.stderr)
        return INTERRUPTED


def _write_utf8() -> None:
    """Write UTF-8 to files and pipes in any locale; escape characters unknown to a terminal."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # and not None, because it is closed
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _interrupt(interrupts: list[int]) -> NoReturn:
    interrupts.append(signal.SIGINT)
    raise KeyboardInterrupt


def _run(argv: Sequence[str]) -> int:
    """Run a command and return its exit code; an error is shown as one message."""
    name, *words = argv or ["--help"]
    if name in ("-h", "--help"):
        lines = (f"  {command:<12}{summary}" for command, summary in COMMANDS.items())
        print(HELP.format("\n".join(lines)), end="")
        return 0
    if name == "--version":
        print(f"infolm {core.__version__}")
        return 0
    if name not in COMMANDS:
        hint = nearest(name, list(COMMANDS))
        print(f"infolm: error: unknown command {name!r}; {hint}", file=sys.stderr)
        return WRONG_INPUT
    command = import_module(f"infolm_metric.commands.{name}")
    try:
        arguments = _parse(name, command, words)
    except SystemExit as stop:
        return int(stop.code or 0)
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            command.run(arguments)
        except BrokenPipeError:
            raise
        except Exception as error:
            if arguments.verbose:
                traceback.print_exc()
            print(f"infolm {name}: error: {str(error) or repr(error)}", file=sys.stderr)
            return WRONG_INPUT if isinstance(error, ValueError | TypeError) else FAILED
    return 0


def _show_warning(message: Warning | str, *location: Any, **stream: Any) -> None:
    """Show a warning without the line of code that raised it."""
    print(f"infolm: warning: {str(message).removeprefix('infolm: ')}", file=sys.stderr)


def _parse(name: str, command: Any, words: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments of a command; options may follow texts, unless -- ends them."""
    parser = _Parser(
        prog=f"infolm {name}",
        usage=command.USAGE,
        description=f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.",
        epilog=(command.__doc__ or "").partition("\n\n")[2],
        formatter_class=_Help,
        allow_abbrev=False,  # a new flag must break none
        add_help=False,
    )
    command.add_options(parser, chosen_settings(words))
    parser.set_defaults(as_texts=words[words.index("--") + 1 :] if "--" in words else [])
    parse = parser.parse_known_args if "--" in words else parser.parse_known_intermixed_args
    arguments, unknown = parse(words)
    if unknown:
        flag = unknown[0].partition("=")[0]
        hint = nearest(flag, list(parser._option_string_actions))
        if owners := _metrics_with(flag, command):
            hint = f"{flag} is an option of --metric {' and '.join(owners)}"
        elif not hint.startswith("did you mean"):
            hint = ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint and f'; {hint}'}")
    return arguments


def _metrics_with(flag: str, command: Any) -> list[str]:
    """Return the names of the metrics for which the command has an option."""
    names = []
    for name in METRICS:
        parser = argparse.ArgumentParser(add_help=False)
        command.add_options(parser, [find(name).settings_type()])
        if flag in parser._option_string_actions:
            names.append(name)
    return names


class _Help(argparse.RawDescriptionHelpFormatter):
    """Help with lines of 100 characters, in which only the last flag shows the value."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=27, width=100)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        text = super()._format_action_invocation(action)
        *aliases, last = text.split(", ")
        return ", ".join([*(flag.partition(" ")[0] for flag in aliases), last])


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print the message in one line, without the usage, and exit."""
        argument, _, problem = message.partition(": ")
        if problem.startswith("expected"):
            flag = argument.split("/")[-1].removeprefix("argument ")
            message += f"; a value that begins with a dash is given as {flag}=VALUE"
        self.exit(WRONG_INPUT, f"{self.prog}: error: {message}\n")
