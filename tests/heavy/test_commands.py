"""The command line as a process: a terminal, a pipe, an interrupt, what it imports, the Hub."""

import functools
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from infolm_metric import InfoLMScorer
from tests.project_files import ROOT

CANDIDATES = ["the cat sat on the mat", "a dog ran in the garden", "rain fell for 12 days"]
REFERENCES = ["the cat slept on the chair", "a small dog barked", "the river rose by 3.5 metres"]
FILES = ("-c", "sys.txt", "-r", "ref.txt")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The working folder, with the texts above in plain files."""
    monkeypatch.chdir(tmp_path)
    for name, texts in (("sys", CANDIDATES), ("ref", REFERENCES)):
        Path(f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    return tmp_path


def start(*arguments: object) -> subprocess.Popen:
    """`infolm` in a process of its own, its streams open as pipes."""
    return subprocess.Popen(
        [sys.executable, "-m", "infolm_metric", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell that runs tests in the background has them, and so this, ignore interrupts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def test_standard_streams_are_written_where_they_stand(tiny_bert):
    score = f"{sys.executable} -m infolm_metric score --model {tiny_bert} a b --idf none"
    run = functools.partial(
        subprocess.run, shell=True, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    run(f"{score} > plain.txt")
    plain = Path("plain.txt").read_text()
    run(f"{{ echo HEADER; {score} -o /dev/stdout; echo FOOTER; }} > both.txt")
    assert Path("both.txt").read_text() == f"HEADER\n{plain}FOOTER\n"
    run(f"echo older > my.log; {score} -q -o /dev/stderr 2>> my.log")
    log = Path("my.log").read_text()
    assert log.startswith("older\n") and log.endswith(plain)
    run(f"{score} -o /dev/stdout | cat > piped.txt")
    assert Path("piped.txt").read_text() == plain


SEVERAL = """
import json, sys
from infolm_metric.commands.main import main
for options in json.loads(sys.argv[1]):
    code = main([*sys.argv[2:], *options])
    print("exit", code, file=sys.stderr, flush=True)
"""


def several(tiny_bert, options):
    """A process that runs `infolm score` with each of the options, and tells each exit code."""
    score = ["score", "--model", tiny_bert, *FILES]
    return [sys.executable, "-c", SEVERAL, json.dumps(options), *map(str, score)]


def test_progress_is_shown_on_a_terminal_unless_told_otherwise(tiny_bert):
    fcntl, pty, termios = map(pytest.importorskip, ("fcntl", "pty", "termios"))
    main_end, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    command = several(tiny_bert, [[], ["-q"], ["-o", "s.jsonl"], ["-o", "q.jsonl", "--quiet"]])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stderr=terminal, env=environment):
        os.close(terminal)
        shown = b""
        with suppress(OSError):  # the terminal closes with the process
            while part := os.read(main_end, 1 << 16):
                shown += part
    os.close(main_end)
    *runs, last = re.sub(rb"warning.*", b"", shown).split(b"exit 0")
    assert [b"pair" in run for run in runs] == [True, False, True, False], shown
    assert not last.strip()


def test_no_progress_is_shown_in_a_pipe(tiny_bert):
    command = several(tiny_bert, [[], ["--verbose"], ["-o", "s.jsonl"]])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if not line.startswith("infolm: warning:")]
    assert lines == ["exit 0"] * 3


def test_one_pair_needs_neither_datasets_nor_evaluate_nor_pandas():
    program = """
import sys
from infolm_metric.commands.main import main
code = main(["score", "--model", "bundled", "the cat sat", "a cat sat"])
heavy = {"datasets", "evaluate", "pandas", "sklearn", "pyarrow", "ray"} & set(sys.modules)
sys.exit(f"{code} {heavy}" if heavy or code else 0)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


@pytest.mark.parametrize("kind", ["closed", "silent"])
def test_the_hub_out_of_reach_is_said_once_and_soon(kind):
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes connections, answers none
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        if kind == "closed":
            server.close()
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_ENDPOINT": address}
        environment |= {"HF_HUB_OFFLINE": "", "HF_HOME": os.getcwd(), "HF_HUB_ETAG_TIMEOUT": "1"}
        command = [sys.executable, "-m", "infolm_metric", "score", "a cat", "the cat"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    for part in (
        "model_name_or_path='bundled'",
        "INFOLM_MODEL=bundled",
        "HF_HUB_OFFLINE=1",
    ):
        assert part in line


def test_help_and_wrong_arguments_load_no_heavy_library():
    program = """
import sys
from infolm_metric.commands.main import main
codes = [main(arguments.split()) for arguments in ("--help", "--version", "score --help")]
codes += [main(arguments.split()) for arguments in ("score -t 0 a b", "score --alpha x")]
codes += [main(arguments.split()) for arguments in ("score -c no -r no", "idf", "scor")]
heavy = {"torch", "transformers", "datasets", "evaluate"} & set(sys.modules)
sys.exit(f"{codes} {heavy}" if heavy or codes != [0, 0, 0, 2, 2, 2, 2, 2] else 0)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_a_process_prints_results_only_on_standard_output(tiny_bert):
    scorer = InfoLMScorer(model_name_or_path=str(tiny_bert))
    with start("score", "--model", tiny_bert, *FILES, "--json", "--verbose") as process:
        output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert json.loads(output) == scorer.score(CANDIDATES, REFERENCES).as_dict()


def test_a_reader_that_goes_away_is_no_error(tiny_bert):
    with start("score", "--model", tiny_bert, *FILES, "--per-pair") as process:
        process.stdout.close()
        errors = process.stderr.read().decode()
        process.wait()
    assert process.returncode == 141
    assert "BrokenPipe" not in errors
    assert "Traceback" not in errors


def test_an_interrupt_gives_exit_code_130_and_no_stack_trace(folder):
    os.mkfifo("pipe.txt")
    with start("score", "-c", "pipe.txt", "-r", "ref.txt") as process:
        writer = open_when_read("pipe.txt", process)  # infolm is then in the midst of its work
        interrupt(process)
        os.close(writer)  # a process that heard nothing ends here, with another exit code
        errors = process.stderr.read().decode()
    assert process.returncode == 130
    assert errors == "infolm: interrupted\n"


def test_a_closed_standard_output_ends_without_a_stack_of_calls():
    command = f"{sys.executable} -m infolm_metric score --model bundled a b >&-"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
    assert done.returncode == 0 and "Traceback" not in done.stderr


def test_a_full_disk_behind_standard_output_is_named_without_a_stack_of_calls():
    command = f"{sys.executable} -m infolm_metric --help > /dev/full"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1 and "cannot write standard output: No space left" in line


@pytest.mark.parametrize("seconds", [0.1, 0.3, 0.6, 1.2])
def test_an_interrupt_at_any_moment_gives_no_stack_trace(folder, seconds):
    with start("score", "--model", "bundled", *FILES, "--idf", "none") as process:
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read().decode()
    if seconds > 0.2:  # before, Python itself is starting
        assert "Traceback" not in errors
    assert process.returncode in (130, -signal.SIGINT, 1, 0)
    assert "cannot load the model" not in errors


def interrupt(process: subprocess.Popen) -> None:
    """Interrupts a process, again if the signal came just before it began to wait for input."""
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)


def open_when_read(pipe: str, process: subprocess.Popen) -> int:
    """The descriptor of the writing end of a named pipe, once the process reads from it."""
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
