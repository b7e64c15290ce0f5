"""The command line, `infolm`: a file a command, each with its options and what it does.

Results go to standard output; warnings, progress and errors to standard error. Exit codes: 0 done;
1 failed while running, such as a model that is not there; 2 the arguments or the input are wrong;
130 interrupted; 141 the reader of the output went away.

The commands import torch, transformers, datasets and evaluate when they need them: help, and
mistakes in the arguments or the files, are answered at once.
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

FAILED, WRONG_INPUT, INTERRUPTED, BROKEN_PIPE = 1, 2, 130, 141
COMMANDS = {
    "score": "score texts against references",
    "compare": "compare systems, with intervals and significance",
    "correlate": "correlate metrics with human scores",
    "estimate": "estimate mean human scores from few ratings and a metric",
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
    """The exit code of `infolm` with these arguments, by default those of the process.

    >>> main(["score", "a text without a reference"])  # says so on standard error
    2
    """
    program, interrupts = argv is None, list[int]()
    if argv is None:
        argv = sys.argv[1:]
        _write_utf8()
        signal.signal(signal.SIGINT, lambda *_: _interrupt(interrupts))
        # Importing makes a million objects that stay; to look for garbage among them again and
        # again, as Python would, takes a third of the start.
        gc.set_threshold(300_000)
    try:
        code = _run(argv)
        if interrupts:  # a library that was being imported took it for an error of its own
            raise KeyboardInterrupt
        if sys.stdout:  # which may be closed
            sys.stdout.flush()
        if program:
            gc.freeze()  # nor is there a use in looking at the end, which takes a second
        return code
    except OSError as error:  # of standard output
        # What is left in the buffer has nowhere to go; without this the interpreter complains.
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
    """The exit code; an error is shown as one message."""
    name, *words = argv or ["--help"]
    if name in ("-h", "--help"):
        lines = (f"  {command:<12}{summary}" for command, summary in COMMANDS.items())
        print(HELP.format("\n".join(lines)), end="")
        return 0
    from infolm_metric.core import __version__
    from infolm_metric.core.settings import nearest

    if name == "--version":
        print(f"infolm {__version__}")
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
    """Shows a warning without the line of code it came from, which says nothing here."""
    print(f"infolm: warning: {str(message).removeprefix('infolm: ')}", file=sys.stderr)


def _parse(name: str, command: Any, words: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command; options may stand among texts, unless -- ends them."""
    from infolm_metric.commands.options import chosen_settings
    from infolm_metric.core.settings import nearest

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
    arguments.as_texts = words[words.index("--") + 1 :] if "--" in words else []
    return arguments


def _metrics_with(flag: str, command: Any) -> list[str]:
    """Return the names of the metrics for which the command has an option."""
    from infolm_metric.metrics import METRICS, find

    names = []
    for name in METRICS:
        parser = argparse.ArgumentParser(add_help=False)
        command.add_options(parser, [find(name).settings_type()])
        if flag in parser._option_string_actions:
            names.append(name)
    return names


class _Help(argparse.RawDescriptionHelpFormatter):
    """Lines of 100 characters, in which the value stands after the last flag only."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=27, width=100)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        text = super()._format_action_invocation(action)
        *aliases, last = text.split(", ")
        return ", ".join([*(flag.partition(" ")[0] for flag in aliases), last])


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One line, without the usage."""
        argument, _, problem = message.partition(": ")
        if problem.startswith("expected"):
            flag = argument.split("/")[-1].removeprefix("argument ")
            message += f"; a value that begins with a dash is given as {flag}=VALUE"
        self.exit(WRONG_INPUT, f"{self.prog}: error: {message}\n")
