"""Examples in docstrings match their output. The first commands of pages print no warnings."""

import doctest
import importlib
import pkgutil
import shlex

import pytest

import infolm_metric
import space.page
from infolm_metric.commands.main import main
from tests import pages
from tests.project_files import ROOT

HARNESSES = (".lm_eval", ".inspect_ai", ".mlflow")  # these need libraries that only nox installs
MODULES = [infolm_metric.__name__] + [
    module.name
    for package in (infolm_metric, space.page)
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    if not module.name.endswith(("__main__", *HARNESSES))
]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_print_the_documented_output(name, page_folder):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=pages.OPTIONS).failed == 0


@pytest.mark.parametrize("page", ["README.md", "docs/getting_started.md"])
def test_first_scoring_command_prints_no_warning(page, page_folder, capsys):
    text = (ROOT / page).read_text(encoding="utf-8")
    commands = (match["command"] for match in pages.COMMAND.finditer(text))
    first = next(command for command in commands if "infolm score" in command)
    words = shlex.split(first[first.index("infolm score") :].replace("\\\n", ""))
    assert main(words[1:]) == 0
    assert capsys.readouterr().err == ""
