"""The examples on the pages of docs/ run, and print what they show.

How a page marks what runs is said in tests/readme_examples.py. Every page that shows an example
is run by itself, so that a reader can begin anywhere; all in this process, which is a long one.
"""

import sys
from unittest.mock import patch

import pytest

from infolm_metric.infolm.measures import MEASURES
from infolm_metric.metrics import METRICS
from tests import readme_examples
from tests.project_files import ROOT, project_files

PAGES = [
    path
    for path in project_files()
    if path.suffix == ".md"
    and path.parts[0] == "docs"
    and readme_examples.examples((ROOT / path).read_text(encoding="utf-8"))
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder, which looks like the checkout; what a page adds goes with it."""
    (tmp_path / "infolm_metric").symlink_to(ROOT / "infolm_metric")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INFOLM_MODEL", "bundled")
    monkeypatch.syspath_prepend(tmp_path)
    with patch.dict(METRICS), patch.dict(MEASURES):
        yield tmp_path
    for page_module in tmp_path.glob("*.py"):
        sys.modules.pop(page_module.stem, None)


def test_most_pages_show_examples():
    assert len(PAGES) > 7


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_examples_of_a_page_print_what_they_show(page, folder, capsys):
    failed = readme_examples.main(str(ROOT / page), readme_examples.shell_within)
    assert not failed, capsys.readouterr().out
