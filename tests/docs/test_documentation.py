"""The examples in docstrings and in the README print the output that they show."""

import doctest
import importlib
import pkgutil

import pytest

import infolm_metric
import space.page
from tests import pages
from tests.project_files import ROOT

HARNESSES = (".lm_eval", ".inspect_ai")  # these need libraries that only nox installs
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


def test_readme_examples_print_the_documented_output(page_folder, capsys):
    assert pages.check(ROOT / "README.md") > 5
    assert capsys.readouterr().out == ""
