"""The examples in docstrings and in the README run, and print what they show."""

import doctest
import importlib
import pkgutil

import pytest

import infolm_metric
from tests import pages
from tests.project_files import ROOT

HARNESSES = (".lm_eval", ".inspect_ai")  # which need the libraries that nox has
MODULES = [infolm_metric.__name__] + [
    module.name
    for module in pkgutil.walk_packages(infolm_metric.__path__, "infolm_metric.")
    if not module.name.endswith(("__main__", *HARNESSES))
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_print_what_they_show(name, page_folder):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=pages.OPTIONS).failed == 0


def test_the_examples_of_the_readme_print_what_they_show(page_folder, capsys):
    assert pages.check(ROOT / "README.md") > 5
    assert capsys.readouterr().out == ""
