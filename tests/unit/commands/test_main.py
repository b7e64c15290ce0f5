"""Behavior shared by all commands: help, exit codes, streams and usage errors."""

import io
import re
import sys
from pathlib import Path

import pytest

from infolm_metric import InputError
from infolm_metric.commands import main as program
from infolm_metric.commands.main import COMMANDS
from infolm_metric.commands.options import read_metrics
from infolm_metric.core import __version__
from infolm_metric.core.settings import flags, ordered_fields
from infolm_metric.metrics import METRICS
from tests.unit.commands.conftest import make_parser


def test_help_lists_all_commands_and_every_command_has_help(infolm):
    code, output, _ = infolm("--help")
    assert code == 0 and infolm() == (0, output, "")
    assert all(re.search(rf"^  {name} ", output, re.M) for name in COMMANDS)
    for name in COMMANDS:
        code, output, _ = infolm(name, "--help")
        assert code == 0 and output.startswith(f"usage: infolm {name}")
        assert max(map(len, output.splitlines())) <= 100
    assert "infolm register" in output and infolm("--version")[:2] == (0, f"infolm {__version__}\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_defaults_match_the_help_text(name):
    for action in make_parser(name)._actions:
        words = re.search(r"\(default: (\d[\d.]*)", action.help or "")
        if words and action.default != []:
            assert action.default in (None, float(words[1])), action.dest


@pytest.mark.parametrize("problem", [InputError, OSError, ImportError, KeyError, ValueError])
def test_only_invalid_input_exits_with_2_and_only_unexpected_errors_show_a_traceback(
    infolm, monkeypatch, problem
):
    def fail(arguments):
        raise problem("the problem")

    monkeypatch.setattr("infolm_metric.commands.register.run", fail)
    if not issubclass(problem, InputError | OSError | ImportError):
        with pytest.raises(problem, match="the problem"):
            infolm("register")
        return
    code, _, errors = infolm("register")
    assert code == (2 if problem is InputError else 1)
    assert errors == "infolm register: error: the problem\n"


WITH_METRICS = ["score", "compare", "correlate", "estimate", "select", "robustness", "baseline"]


@pytest.mark.parametrize("command", WITH_METRICS)
def test_help_lists_the_settings_of_every_metric_once_whatever_the_other_words(infolm, command):
    output = infolm(command, "--help")[1]
    assert infolm(command, "--metric", "toy", "--help")[1] == output
    groups = output.split("settings of ")
    for name, metric in METRICS.items():
        for field in ordered_fields(metric.settings_type()):
            for flag in flags(field)[-1:]:
                if command != "baseline" or flag not in ("--measure", "--formula", "--score"):
                    assert len(re.findall(rf"^  (-.( NAME| N)?, )?{flag} ", output, re.M)) == 1
        (group,) = [group for group in groups if group.startswith(f"{name}:")] or [""]
        assert bool(group) == (name != "baryscore" or "--layers" in output)
    assert "--size N" in next(group for group in groups if group.startswith("toy:"))


@pytest.mark.parametrize("command", ["score a b", "select -", "estimate -", "baseline a -o b"])
def test_a_setting_that_no_chosen_metric_has_is_rejected(infolm_error, command):
    words = command.split()
    for flag, owner in (("--task=source", "menli"), ("--layers=2", "baryscore"), ("-t2", "infolm")):
        errors = infolm_error(*words, "--metric", "toy", flag)
        assert f"is a setting of {owner}, not of toy. Omit it, or pass --metric {owner}" in errors
    errors = infolm_error(*words, "--metric", "toy", "--idf", "none")
    assert "a setting of infolm, baryscore, bertscore, not of toy" in errors


WRONG_MODELS = ["--model x --model y", "--model infolm=x --model infolm=y", "--model menli=x"]
INVALID = [
    (["scor", "a", "b"], "unknown command 'scor'. Did you mean 'score'?"),
    (["score", "--temp", "1", "a", "b"], "arguments: --temp. Did you mean '--temperature'?"),
    (["score", "--size=3", "a", "b"], "--size is a setting of toy, not of infolm"),
    (["score", "--metric", "toy", "--metric", "toy", "a", "b"], "'toy' passed twice"),
    (["select", "--metric", "toy", "--metric", "infolm", "-"], "--metric: passed twice"),
    (["correlate", "-", "--system-column", ""], "--system-column: empty. Pass a value"),
    *(
        (["score", *words.split(), "a", "b"], f"{words.rpartition(' ')[2]}: pass NAME once, or")
        for words in (*WRONG_MODELS, "--model infolm=")
    ),
    (["score", "--model", "infoml=x", "a", "b"], "per metric of --metric (infolm)"),
    (["score", "--metric", "tog", "a", "b"], "invalid choice: 'tog'. Did you mean 'toy'?"),
    (["score", "--metric", "infolm,toy", "a", "b"], "Pass each name separately"),
    (["score", "-m", "kl,l1", "a", "b"], "unknown --measure 'kl,l1'. Pass each name separately"),
    (["score", "--model-name-or-path", "x", "a", "b"], "Did you mean '--model'?"),
    (["score", "--refs", "ref.txt", "-c", "sys.txt"], "Did you mean '--references'?"),
    (["score", "--engine", "local-machine", "a", "b"], "Did you mean 'local'?"),
    (["compare", "a.txt", "b.txt"], "are required: -r/--references"),
    (["score", "--candidates"], "use --candidates=VALUE"),
    (["idf", "ref.txt", "-o", "-"], "Name a file with -o"),
]


@pytest.mark.parametrize(("arguments", "words"), INVALID)
def test_usage_errors_are_reported_in_one_line(infolm_error, arguments, words):
    (line,) = infolm_error(*arguments).splitlines()
    assert line.startswith("infolm") and words in line


COMMAND_LINES = [
    ("score", "--data", "-", "--json"),
    ("score", "--dataset", "no_such_data_set", "-o", "scores.jsonl"),
    ("compare", "sys.txt", "-", "-r", "ref.txt"),
    ("correlate", "-"),
    ("robustness", "-"),
]


@pytest.mark.parametrize("arguments", COMMAND_LINES)
def test_settings_are_checked_before_the_input_is_read(infolm_error, monkeypatch, arguments):
    monkeypatch.setattr("sys.stdin", None)
    assert "temperature must be > 0, got -1.0" in infolm_error(*arguments, "-t", "-1")


OVERWRITING = [
    ("score", "-c", "sys.txt", "-r", "ref.txt", "-r", "ref2.txt", "-o", "ref2.txt"),
    ("score", "data.jsonl", "-o", "data.jsonl"),
    ("score", "a", "b", "--rescale-with-baseline", "table.txt", "-o", "table.txt"),
    ("baseline", "ref2.txt", "text.json", "-o", "./text.json"),
    ("baseline", "ref.txt", "--idf", "text.json", "-o", "text.json"),
    ("select", "data.jsonl", "-o", "data.jsonl"),
    ("correlate", "table.txt", "-o", "table.txt"),
    ("compare", "sys.txt", "ref2.txt", "-r", "ref.txt", "-o", "ref2.txt"),
]


@pytest.mark.parametrize("arguments", OVERWRITING)
def test_no_command_overwrites_its_input(infolm_error, arguments):
    for name in ("table.txt", "text.json", "data.jsonl"):
        Path(name).write_text("kept")
    contents = {file: file.read_bytes() for file in Path().iterdir()}
    errors = infolm_error(*arguments)
    assert f"cannot write {arguments[-1]}: it is part of the input" in errors
    assert {file: file.read_bytes() for file in Path().iterdir()} == contents


def test_failure_exits_with_code_1_and_verbose_adds_a_traceback(infolm):
    arguments = ("score", "--model", "no/such/model", "a", "b")
    code, output, errors = infolm(*arguments)
    assert (code, output) == (1, "")
    assert "cannot load the model 'no/such/model'" in errors and "Traceback" not in errors
    assert "Traceback" in infolm(*arguments, "--verbose")[2]


def test_a_model_applies_to_all_metrics_or_to_one():
    words = ["--metric", "infolm", "--metric", "menli", "--model", "a/b", "--model", "menli=c/d"]
    arguments = make_parser("score").parse_args([*words, "a", "b"])
    assert [item.model_name_or_path for item in read_metrics(arguments)] == ["a/b", "c/d"]


@pytest.mark.parametrize("terminal", [True, False])
def test_output_is_utf_8_unless_it_goes_to_a_terminal(monkeypatch, terminal):
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "argv", ["infolm", "--version"])
    for name in ("freeze", "set_threshold"):
        monkeypatch.setattr(program.gc, name, lambda *_: None)
    monkeypatch.setattr("infolm_metric.core.__version__", "café")
    assert program.main() == 0
    assert buffer.getvalue() == (b"infolm caf\\xe9\n" if terminal else "infolm café\n".encode())
