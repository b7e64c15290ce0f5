"""The examples on the pages of docs/ print the output that they show."""

import pytest

from tests import pages
from tests.project_files import ROOT, project_files

PAGES = [path for path in project_files() if path.match("docs/*.md")]
PAGES_WITHOUT_EXAMPLES = {"docs/settings.md"}  # a table


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_examples_print_the_documented_output(page, page_folder, capsys):
    assert (pages.check(ROOT / page) == 0) == (str(page) in PAGES_WITHOUT_EXAMPLES)
    assert capsys.readouterr().out == ""
