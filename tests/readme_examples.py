"""Runs what a Markdown file shows, in order, and compares what it prints with what is shown.

    python readme_examples.py README.md

The convention, for whoever writes the file:

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
import sys
from collections.abc import Callable
from pathlib import Path

from infolm_metric.commands.main import main as infolm

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (?P<file>\w+\.py)\n")
COMMAND = re.compile(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<output>(?:(?!\$ ).*\n)*)", re.MULTILINE)
NOT_RUN = {"git", "pip", "pytest"}


def python_examples(body: str) -> list[doctest.Example]:
    """The statements of a ```python block, or the whole block as one if it has no prompts."""
    if re.search(r"^>>> ", body, re.MULTILINE):
        return doctest.DocTestParser().get_examples(body)
    if name := FILE.match(body):
        return [doctest.Example(f"write({name['file']!r}, {body!r})\n", want="")]
    return [doctest.Example(f"exec({body!r}, globals())\n", want="")]


def console_examples(body: str) -> list[doctest.Example]:
    """The commands of a ```console block, each as a call of `shell`."""
    return [
        doctest.Example(
            f"print(shell({match['command']!r}), end='')\n",
            want=match["output"],
            lineno=body.count("\n", 0, match.start()),
        )
        for match in COMMAND.finditer(body)
    ]


READERS = {"python": python_examples, "console": console_examples}


def shell(command: str) -> str:
    """What the command prints; with standard error if it fails."""
    parts = [part for part in command.split("&&") if part.split()[0] not in NOT_RUN]
    result = subprocess.run(["bash", "-c", "&&".join(parts)], capture_output=True, text=True)
    return result.stdout + (result.stderr if result.returncode else "")


def shell_within(command: str) -> str:
    """The same, where `infolm` alone, its streams as they are, is answered by this process."""
    words = shlex.split(command.replace("\\\n", ""))
    if words[0] != "infolm" or set("|&;<>") & set(command):
        return shell(command)
    with (
        contextlib.redirect_stdout(io.StringIO()) as output,
        contextlib.redirect_stderr(io.StringIO()) as errors,
    ):
        code = infolm(words[1:])
    return output.getvalue() + (errors.getvalue() if code else "")


def write(file: str, content: str) -> None:
    """Put a module into the working folder, where imports then find it."""
    Path(file).write_text(content, encoding="utf-8")
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, folder)


def examples(markdown: str) -> list[doctest.Example]:
    """Every example of the file, in order, with the line that it stands on."""
    found = []
    for block in FENCE.finditer(markdown):
        if read := READERS.get(block["language"]):
            first_line = markdown.count("\n", 0, block.start("body"))
            for example in read(block["body"]):
                example.lineno += first_line
                found.append(example)
    return found


def main(path: str, answer: Callable[[str], str] = shell) -> int:
    """1 if an example of the file failed or there is none, else 0; failures are printed.

    `answer` says what a command prints.
    """
    name = Path(path).name
    shown = examples(Path(path).read_text(encoding="utf-8"))
    if not shown:
        print(f"{name} shows no example that runs; see the convention in {Path(__file__).name}")
        return 1
    test = doctest.DocTest(shown, {"shell": answer, "write": write}, name, path, 0, None)
    return int(doctest.DocTestRunner(optionflags=OPTIONS).run(test).failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
