"""How long a call takes and how much memory, measured in a process of its own."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def median_seconds(call: Callable[[], object], repeats: int = 1) -> float:
    """The median wall clock of so many calls."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def peak_memory() -> float:
    """The largest resident size of this process, MB (Linux); getrusage counts its parent's, too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def in_process(module: str, job: Mapping[str, Any], threads: int | None = None) -> dict[str, Any]:
    """What `python -m module --worker`, given the job as JSON, prints as its last line of JSON."""
    environment = dict(os.environ) | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    process = subprocess.run(
        [sys.executable, "-m", module, "--worker"],
        input=json.dumps(job),
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return answer


def of_a_worker(work: Callable[..., Mapping[str, Any]]) -> bool:
    """True in a process of `in_process`, where the job's entries were given to `work`."""
    if sys.argv[1:] != ["--worker"]:
        return False
    print(json.dumps(work(**json.load(sys.stdin))))
    return True
