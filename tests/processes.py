"""Separate Python processes that import the package and the tests of this checkout."""

import os
import signal
import subprocess
import sys

from tests.project_files import ROOT

TWO_RANKS = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


class Process(subprocess.Popen[str]):
    """Process that is killed if its `with` statement fails, for example because of a time limit."""

    def __exit__(self, kind, *details):
        if kind is not None:
            self.kill()
        super().__exit__(kind, *details)


def started(*arguments: object, **options: object) -> Process:
    """Start `python ARGUMENTS` with `env` added to the environment.

    The process handles interrupts, although background jobs of a shell ignore them by default.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    command = [options.pop("python", sys.executable), *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return Process(
        command,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **{**pipes, **options},
    )


def printed(*arguments: object, **options: object) -> str:
    """Run `python ARGUMENTS` and return its output. Fail with all output if the process fails."""
    with started(*arguments, **options) as process:
        output, errors = process.communicate()
    assert process.returncode == 0, output + errors
    return output
