"""The command line as a process: streams, interrupts, imports and an unreachable Hub."""

import json
import os
import socket
import struct
import sys
from pathlib import Path

import pytest

from infolm_metric import InfoLMScorer
from infolm_metric.commands.main import main
from tests.nearly_equal import assert_nearly_equal
from tests.processes import started

CANDIDATES = ["the cat sat on the mat", "a dog ran in the garden", "rain fell for 12 days"]
REFERENCES = ["the cat slept on the chair", "a small dog barked", "the river rose by 3.5 metres"]
FILES = ("-c", "sys.txt", "-r", "ref.txt")
INFOLM = ("-m", "infolm_metric")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Working directory with the texts above in plain files."""
    monkeypatch.chdir(tmp_path)
    for name, texts in (("sys", CANDIDATES), ("ref", REFERENCES)):
        Path(f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    return tmp_path


def test_progress_is_shown_on_a_terminal(tiny_bert, monkeypatch):
    fcntl, pty, termios = map(pytest.importorskip, ("fcntl", "pty", "termios"))
    main_end, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    with open(terminal, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        assert main(["score", "--model", str(tiny_bert), *FILES]) == 0
        output = os.read(main_end, 1 << 16)
    os.close(main_end)
    assert b"pair" in output and b"3/3" in output


def test_closed_pipe_is_not_reported_as_an_error():
    with started(*INFOLM, "--help") as process:
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 141
    assert "BrokenPipe" not in errors and "Traceback" not in errors


def test_full_disk_is_reported_without_a_traceback():
    with open("/dev/full", "w") as full, started(*INFOLM, "--help", stdout=full) as process:
        (line,) = process.stderr.read().splitlines()
    assert process.returncode == 1 and "cannot write standard output: No space left" in line


IMPORTED = """
import sys
from infolm_metric.commands.main import main
codes = [main(arguments.split()) for arguments in sys.argv[2:]]
print(*codes, *set(sys.argv[1].split()) & set(sys.modules), file=sys.stderr)
"""
HELP = ("--help", "--version", "score --help")
INVALID = ("score -t 0 a b", "score --alpha x", "score -c no -r no", "idf", "scor")


def test_process_in_a_pipe_prints_results_without_progress_or_unneeded_imports(tiny_bert):
    # Counting IDF in several documents imports datasets.
    line = " ".join(["score", "--model", str(tiny_bert), "--json", "--verbose", "cat", "dog"])
    heavy = "datasets evaluate pandas sklearn pyarrow ray"
    with started("-c", IMPORTED, heavy, line) as process:
        output, errors = process.communicate()
    expected = InfoLMScorer(model_name_or_path=str(tiny_bert)).score(["cat"], ["dog"])
    *warnings, codes = errors.splitlines()
    assert codes == "0"
    assert_nearly_equal(json.loads(output), expected.as_dict())
    assert all(line.startswith("infolm: warning:") for line in warnings)


def test_help_and_usage_errors_import_no_heavy_library():
    heavy = "torch transformers datasets evaluate"
    with started("-c", IMPORTED, heavy, *HELP, *INVALID) as process:
        errors = process.communicate()[1]
    assert errors.splitlines()[-1] == "0 0 0 2 2 2 2 2"


def test_unreachable_hub_is_reported_once_and_quickly():
    with socket.create_server(("127.0.0.1", 0)) as server:  # accepts connections, never answers
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        hub = {"HF_ENDPOINT": address, "HF_HUB_OFFLINE": "", "HF_HUB_ETAG_TIMEOUT": "1"}
        hub |= {"HF_HOME": os.getcwd()}
        with started(*INFOLM, "score", "a cat", "the cat", env=hub) as process:
            (line,) = process.stderr.read().splitlines()
    assert process.returncode == 1
    assert "timed out" in line and "INFOLM_MODEL=bundled" in line


INTERRUPTED = """
import os, signal, sys
from infolm_metric.commands.main import main

class Interruption:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

module = sys.argv.pop(1)
sys.meta_path.insert(0, Interruption())
sys.exit(main())
"""


@pytest.mark.parametrize("module", ["torch", "transformers"])
def test_interrupt_during_an_import_prints_no_traceback(module):
    with started("-c", INTERRUPTED, module, "score", "--model", "bundled", *FILES) as process:
        errors = process.stderr.read()
    assert (process.returncode, errors) == (130, "infolm: interrupted\n")
