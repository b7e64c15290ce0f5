"""Python in a process of its own, which finds the package and the tests of this checkout."""

import os
import signal
import subprocess
import sys

from tests.project_files import ROOT

TWO_RANKS = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


def started(*arguments: object, **options: object) -> subprocess.Popen[str]:
    """The process of `python ARGUMENTS`; `env` is added to the environment.

    It hears interrupts, which what a shell runs in the background ignores, and so would this.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    command = [options.pop("python", sys.executable), *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        command,
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        **{**pipes, **options},
    )


def printed(*arguments: object, **options: object) -> str:
    """What `python ARGUMENTS` printed; fails with what it complained of if it did not end well."""
    with started(*arguments, **options) as process:
        output, errors = process.communicate()
    assert process.returncode == 0, output + errors
    return output
