"""The examples in docstrings and in the README run, and print what they show.

How a page marks what runs is said in tests/readme_examples.py.
"""

import doctest
import importlib
import os
import pkgutil
import subprocess
import sys

import pytest

import infolm_metric
from tests import readme_examples
from tests.project_files import ROOT

HARNESSES = (".lm_eval", ".inspect_ai")  # which need the libraries that nox has
MODULES = [infolm_metric.__name__] + [
    module.name
    for module in pkgutil.walk_packages(infolm_metric.__path__, "infolm_metric.")
    if not module.name.endswith(("__main__", *HARNESSES))
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings_print_what_they_show(name, monkeypatch, tmp_path):
    monkeypatch.setenv("INFOLM_MODEL", "bundled")
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=readme_examples.OPTIONS).failed == 0


def test_the_examples_of_the_readme_print_what_they_show(tmp_path):
    """In a folder that looks like the checkout, with processes and caches of their own."""
    (tmp_path / "infolm_metric").symlink_to(ROOT / "infolm_metric")
    environment = {
        "HF_HOME": str(tmp_path / "huggingface"),
        "INFOLM_MODEL": "bundled",
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
    }
    result = subprocess.run(
        [sys.executable, readme_examples.__file__, ROOT / "README.md"],
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr


TRUE = {
    "prompts, one namespace": "```python\nx = 1\n```\n```python\n>>> x / 8\n0.125\n```\n",
    "commands": "```console\n$ echo 0.125 \\\n    0.25\n0.125 0.25\n$ echo 1\n1\n```\n",
    "a file": "```python\n# two.py\nx = 2\n```\n```python\n>>> from two import x\n>>> x\n2\n```\n",
    "a command that installs": "```console\n$ pip install . && echo 1\n1\n$ pytest\n```\n",
    "a command that fails": "```console\n$ echo wrong >&2; exit 2\nwrong\n```\n",
}
FALSE = {
    "a wrong number": "```python\n>>> 1 / 8\n0.126\n```\n",
    "output without prompts": "```python\nprint(1 / 8)\n```\n",
    "an error": "```python\nimport no_such_module\n```\n",
    "wrong output of a command": "```console\n$ echo 0.125\n0.126\n```\n",
    "no such command": "```console\n$ no-such-command\n```\n",
    "output of a command that does not run": "```console\n$ pytest\n100 passed\n```\n",
    "a file that is not what is shown": "```python\n# one.py\nx = 1\n```\n```python\n"
    ">>> import one\n>>> one.x\n2\n```\n",
    "nothing that runs": "```bash\necho 1\n```\n",
}


@pytest.mark.parametrize("document", TRUE.values(), ids=TRUE)
def test_a_true_example_passes(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "document.md").write_text(document)
    assert readme_examples.main(str(tmp_path / "document.md")) == 0


@pytest.mark.parametrize("document", FALSE.values(), ids=FALSE)
def test_a_false_or_unchecked_example_fails(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "document.md").write_text(document)
    assert readme_examples.main(str(tmp_path / "document.md")) == 1
