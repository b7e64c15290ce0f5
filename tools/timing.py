"""Measurement of time and peak memory, and worker processes."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def median_seconds(call: Callable[[], object], repeats: int = 1) -> float:
    """Return the median wall-clock time of repeated calls."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def cpu_name() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def memory(kind: str) -> float:
    """Return the resident set size (VmRSS) of this process or its peak (VmHWM) in MB (Linux).

    `getrusage` is unsuitable, because a new process inherits its parent's peak.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{kind}:")[2].split()[0]) / 1024


def peak_memory() -> float:
    return memory("VmHWM")


def in_process(module: str, job: Mapping[str, Any], **environment: str) -> dict[str, Any]:
    """Run `python -m MODULE --worker` with a job as JSON, and return its JSON result.

    Keyword arguments set environment variables.
    """
    process = subprocess.run(
        [sys.executable, "-m", module, "--worker"],
        input=json.dumps(job),
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return answer


def run_worker(work: Callable[..., Mapping[str, Any]]) -> bool:
    """Call `work` with the job and return True if `in_process` started this process, else False."""
    if sys.argv[1:] != ["--worker"]:
        return False
    print(json.dumps(work(**json.load(sys.stdin))))
    return True
