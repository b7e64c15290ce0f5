"""The Space in a separate process, started as a user would start it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.processes import started
from tests.project_files import ROOT

PATIENCE_SECONDS = 180


@contextmanager
def running_space(
    home: Path,
    app: Path = ROOT / "space" / "app.py",
    python: str | Path = sys.executable,
    imported: Path | None = ROOT,
) -> Iterator[str]:
    """Run `python app.py` in the folder `home` and yield the URL of the Space.

    `imported` is the folder of the package, unless the package is next to the app.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        "GRADIO_SERVER_PORT": str(port),
        "GRADIO_SERVER_NAME": "127.0.0.1",
        "GRADIO_TEMP_DIR": str(home / "gradio"),
        "NO_PROXY": "127.0.0.1,localhost",
        "PYTHONPATH": "" if imported is None else str(imported),
    }
    with open(home / "output.txt", "w+") as output:
        pipes = {"stdout": output, "stderr": subprocess.STDOUT, "start_new_session": True}
        process = started(app, python=python, cwd=home, env=environment, **pipes)
        try:
            end = time.monotonic() + PATIENCE_SECONDS
            while not answers(port):
                if process.poll() is not None or time.monotonic() > end:
                    output.seek(0)
                    raise AssertionError(f"the Space did not start:\n{output.read()}")
                time.sleep(0.2)
            yield f"http://127.0.0.1:{port}/"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def answers(port: int) -> bool:
    """Return whether a server listens on the port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
