"""Runs what a page of Markdown shows, in order, and compares what it prints with what is shown.

The convention, for whoever writes a page:

- ```python blocks run in one namespace. With `>>>` prompts a block is a doctest: what each
  statement prints is compared. Without prompts it is plain code, and must print nothing; if its
  first line is a comment that names a file (`# overlap.py`), it is written there instead, for
  later blocks to import or run.
- ```console blocks hold commands, each after `$ ` and continued after a backslash, and under each
  what it prints: to standard output, and if it fails to standard error as well. Of the parts that
  `&&` joins, those that install or test the project do not run.
- Blocks in any other language (```bash, ```text, ...) are for the reader alone.

White space may differ, and `...` stands for anything; numbers are compared as they are written.
"""

import contextlib
import doctest
import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

from sybil import Document, Example, Region, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from infolm_metric.commands.main import main as infolm

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FILE = re.compile(r"# (?P<file>\w+\.py)\n")
COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
NOT_RUN = {"git", "pip", "pytest"}


def python_blocks(document: Document) -> Iterator[Region]:
    """Doctests, plain code, and files."""
    for region in PythonCodeBlockParser(doctest_optionflags=OPTIONS)(document):
        if isinstance(region.parsed, str) and FILE.match(region.parsed):
            region.evaluator = write
        yield region


def write(example: Example) -> None:
    """Put a module into the working folder."""
    Path(FILE.match(example.parsed)["file"]).write_text(example.parsed, encoding="utf-8")


def run_commands(example: Example) -> str | None:
    """What a command printed, if it is not what is shown."""
    for example_command in COMMAND.finditer(f"{example.parsed}\n"):
        output = shell(example_command["command"])
        if not doctest.OutputChecker().check_output(example_command["output"], output, OPTIONS):
            return f"{example_command['command']} printed\n{output}"
    return None


def shell(command: str) -> str:
    """What the command prints; `infolm` alone, its streams as they are, answers in this process."""
    run = "&&".join(part for part in command.split("&&") if part.split()[0] not in NOT_RUN)
    words = shlex.split(run.replace("\\\n", ""))
    if words[:1] != ["infolm"] or set("|&;<>") & set(run):
        process = subprocess.run(["bash", "-c", run], capture_output=True, text=True)
        return process.stdout + (process.stderr if process.returncode else "")
    with (
        contextlib.redirect_stdout(io.StringIO()) as output,
        contextlib.redirect_stderr(io.StringIO()) as errors,
    ):
        code = infolm(words[1:])
    return output.getvalue() + (errors.getvalue() if code else "")


PAGES = Sybil([python_blocks, CodeBlockParser("console", run_commands)])


def check(page: Path) -> int:
    """How many examples a page has; an exception tells of one that prints something else."""
    return sum(example.evaluate() is None for example in PAGES.parse(page))
