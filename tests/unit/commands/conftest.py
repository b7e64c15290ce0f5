"""Fixtures that run the command line in this process, in a temporary directory, on a tiny model."""

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from infolm_metric.commands.main import main
from infolm_metric.commands.parser import Parser
from infolm_metric.metrics import METRICS
from tests.toy import TOY

TEXTS = {
    "sys": ["the cat sat on the mat", "a dog ran in the garden", "rain fell for 12 days"],
    "ref": ["the cat slept on the chair", "a small dog barked", "the river rose by 3.5 metres"],
    "ref2": ["the old cat sat", "the dog ran", "it was cold outside"],
}


def make_parser(command: str) -> Parser:
    """Return a parser with the options of a command."""
    parser = Parser(prog="infolm")
    importlib.import_module(f"infolm_metric.commands.{command}").add_options(parser)
    return parser


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Working directory with TEXTS in plain files. The toy metric is registered."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(METRICS, "toy", TOY)
    for name, texts in TEXTS.items():
        Path(f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
    return tmp_path


@pytest.fixture
def infolm(capsys, monkeypatch, tiny_bert) -> Callable[..., tuple[int, str, str]]:
    """Function that runs `infolm` and returns its exit code, standard output and standard error."""
    monkeypatch.setenv("INFOLM_MODEL", str(tiny_bert))

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def infolm_output(infolm) -> Callable[..., str]:
    """Function that runs `infolm`, which must succeed, and returns its standard output."""

    def run(*arguments: object) -> str:
        code, output, errors = infolm(*arguments)
        assert code == 0, errors
        return output

    return run


@pytest.fixture
def infolm_error(infolm) -> Callable[..., str]:
    """Function that runs `infolm`, which must reject its arguments, and returns the message."""

    def run(*arguments: object) -> str:
        code, output, errors = infolm(*arguments)
        assert (code, output) == (2, ""), errors
        return errors

    return run
