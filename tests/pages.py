"""Runner of the examples on a Markdown page, which compares their output with the page.

Conventions for pages:

- ```python blocks share a namespace. A block with `>>>` prompts is a doctest: the output of each
  statement is compared. A block without prompts is plain code and must print nothing. If its first
  line is a comment with a file name (`# overlap.py`), the block is written to that file instead,
  so that later blocks can import or run it.
- ```console blocks contain commands, each after `$ ` and continued after a backslash, followed by
  their output: standard output and, if the command fails, standard error. Parts of a command,
  joined by `&&`, that install or test the project are skipped.
- Blocks in other languages (```bash, ```text, ...) are not run.

Whitespace may differ, and `...` matches any text. Numbers are compared as text.
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
SKIPPED = {"git", "pip", "pytest"}


def python_blocks(document: Document) -> Iterator[Region]:
    """Yield doctests, plain code, and files."""
    for region in PythonCodeBlockParser(doctest_optionflags=OPTIONS)(document):
        if isinstance(region.parsed, str) and FILE.match(region.parsed):
            region.evaluator = write
        yield region


def write(example: Example) -> None:
    """Write a module into the working folder."""
    Path(FILE.match(example.parsed)["file"]).write_text(example.parsed, encoding="utf-8")


def run_commands(example: Example) -> str | None:
    """Return the first command whose output differs from the page, with its output."""
    for example_command in COMMAND.finditer(f"{example.parsed}\n"):
        output = shell(example_command["command"])
        if not doctest.OutputChecker().check_output(example_command["output"], output, OPTIONS):
            return f"{example_command['command']} printed\n{output}"
    return None


def shell(command: str) -> str:
    """Return the output of a command. Run `infolm` in this process if no shell is needed."""
    run = "&&".join(part for part in command.split("&&") if part.split()[0] not in SKIPPED)
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
    """Run and count the examples of a page. Fail if an example prints something else."""
    return sum(example.evaluate() is None for example in PAGES.parse(page))
