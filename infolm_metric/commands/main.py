"""Command line `infolm`: parses the arguments, runs a command and reports its errors.

Each command is a module of this package that defines USAGE, add_options and run. The module's
docstring, without its first line, is printed at the end of the command's help. Commands import
torch, transformers, scipy, datasets and evaluate only when needed, so that help and error messages
about arguments or files appear without delay.

Results are written to standard output, and warnings, progress and errors to standard error. The
exit code is 0 for success, 1 if the command fails (for example because a model is missing), 2 for
invalid arguments or input, 130 after an interrupt and 141 for a broken pipe.
"""

from __future__ import annotations

import argparse
import atexit
import gc
import io
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType

from infolm_metric import core
from infolm_metric.commands.options import check_metrics
from infolm_metric.commands.parser import WRONG_INPUT, FailedError, Parser, name_flags
from infolm_metric.core.checks import InputError, nearest

FAILED, INTERRUPTED, BROKEN_PIPE = 1, 130, 141
# To add a command, add it here and create the module of this name with USAGE, add_options and run.
COMMANDS = {
    "score": "score texts against references",
    "compare": "compare systems, with confidence intervals and significance tests",
    "correlate": "correlate metrics with human scores",
    "estimate": "estimate mean human scores from a few ratings and a metric",
    "select": "select the best of several candidates by minimum Bayes risk",
    "attack": "perturb references in twelve ways to create test cases for infolm robustness",
    "robustness": "measure how often metrics detect attacks",
    "idf": "compute the inverse document frequencies of a corpus",
    "baseline": "score unrelated texts, as a baseline for interpreting and rescaling scores",
    "register": 'make evaluate.load("infolm") work from any folder',
}
HELP = """\
usage: infolm COMMAND [options]

Score generated text against references with metrics based on language models.

commands:
{}

Run infolm COMMAND --help for a command's options, or infolm --version for the version.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `infolm` and return its exit code. `argv` defaults to the process's arguments.

    Exceptions are raised only for bugs in infolm or a library. Other errors are printed.

    >>> main(["score", "a text without a reference"])  # prints the error to standard error
    2
    """
    if argv is None:
        argv = sys.argv[1:]
        _write_utf8()
        # Imports create a million permanent objects. With the default threshold, the garbage
        # collector scans them repeatedly, which takes a third of the startup time.
        gc.set_threshold(300_000)
        atexit.register(gc.freeze)  # the final garbage collection would take a second
    try:
        code = _run(argv)
        print(end="", flush=True)  # does nothing if standard output is closed
        return code
    except OSError as error:  # standard output could not be written
        # Prevents a second error when the interpreter flushes the rest of the buffer at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            return BROKEN_PIPE
        reason = f"{error.strerror}. Check available disk space."
        print(f"infolm: error: cannot write standard output: {reason}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("infolm: interrupted", file=sys.stderr)
        return INTERRUPTED


def _write_utf8() -> None:
    """Write UTF-8 to files and pipes in any locale. Escape characters a terminal cannot encode."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # None if it is closed
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _run(argv: Sequence[str]) -> int:
    """Run a command and return its exit code. Print an error as a one-line message."""
    name, *words = argv or ["--help"]
    if name in ("-h", "--help"):
        lines = (f"  {command:<12}{summary}" for command, summary in COMMANDS.items())
        print(HELP.format("\n".join(lines)), end="")
        return 0
    if name == "--version":
        print(f"infolm {core.__version__}")
        return 0
    if name not in COMMANDS:
        hint = "Options follow the command." if name[:1] == "-" else nearest(name, list(COMMANDS))
        print(f"infolm: error: unknown command {name!r}. {hint}", file=sys.stderr)
        return WRONG_INPUT
    command = import_module(f"infolm_metric.commands.{name}")
    try:
        arguments = _parse(name, command, words)
    except SystemExit as stop:
        return int(stop.code or 0)

    def show_warning(message: Warning | str, *location: object, **stream: object) -> None:
        """Print a warning without the line of code that raised it."""
        text = name_flags(str(message).removeprefix("infolm: "), arguments.flags)
        print(f"infolm: warning: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show_warning
        try:
            command.run(arguments)
        except BrokenPipeError:
            raise
        except (InputError, OSError, ImportError, FailedError) as error:
            if arguments.verbose:
                traceback.print_exc()
            setting = getattr(error, "setting", "")
            message = name_flags(str(error) or repr(error), arguments.flags, setting)
            print(f"infolm {name}: error: {message}", file=sys.stderr)
            return WRONG_INPUT if isinstance(error, InputError) else FAILED
    return 0


def _parse(name: str, command: ModuleType, words: Sequence[str]) -> argparse.Namespace:
    """Parse a command's arguments. Options may appear between texts, but not after `--`."""
    parser = Parser(
        prog=f"infolm {name}",
        usage=command.USAGE,
        description=f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.",
        epilog=(command.__doc__ or "").partition("\n\n")[2],
    )
    command.add_options(parser)
    as_texts = words[words.index("--") + 1 :] if "--" in words else []
    parser.set_defaults(as_texts=as_texts, flags=parser.flags())
    parse = parser.parse_known_args if "--" in words else parser.parse_known_intermixed_args
    arguments, unknown = parse(words)
    if unknown:
        # Values of unknown options are not reported, because some were taken as arguments.
        unknown = [word for word in unknown if word.startswith("-")] or unknown
        flag = unknown[0].partition("=")[0]
        hint = parser.suggest(flag) if flag.startswith("-") else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint and f'. {hint}'}")
    check_metrics(parser, arguments)
    return arguments
