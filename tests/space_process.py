"""The Space as a process of its own, as a user starts it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.project_files import ROOT

PATIENCE_SECONDS = 180


@contextmanager
def running_space(
    home: Path,
    app: Path = ROOT / "space" / "app.py",
    python: str | Path = sys.executable,
    imported: Path | None = ROOT,
) -> Iterator[str]:
    """The address of the Space, started by `python app.py` in the folder `home` and ended after.

    `imported` is where the package comes from, if it is not beside the page.
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
    with open(home / "output.txt", "w") as output:
        process = subprocess.Popen(
            [python, app],
            cwd=home,
            env=os.environ | environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}/"
    try:
        _wait_for(url, process, home / "output.txt")
        yield url
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_for(url: str, process: subprocess.Popen[bytes], output: Path) -> None:
    """Wait until the address answers; fail with the output if the process has ended."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            break
        with suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            opener.open(url, timeout=5).read()
            return
        time.sleep(0.2)
    raise AssertionError(f"the Space did not start:\n{output.read_text()}")
