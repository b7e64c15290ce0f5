"""The examples on the pages of docs/ run, and print what they show; each page by itself."""

import pytest

from tests import pages
from tests.project_files import ROOT, project_files

PAGES = [path for path in project_files() if path.match("docs/*.md")]
WITHOUT = {"docs/settings.md"}  # which is a table


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_examples_of_a_page_print_what_they_show(page, page_folder, capsys):
    assert (pages.check(ROOT / page) == 0) == (str(page) in WITHOUT)
    assert capsys.readouterr().out == ""
