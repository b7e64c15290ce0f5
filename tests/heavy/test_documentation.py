"""The examples on the pages of docs/ run, and print what they show.

How a page marks what runs is said in tests/readme_examples.py. Every page that shows an example
is run by itself, so that a reader can begin anywhere.
"""

import pytest

from tests import readme_examples
from tests.docs.test_documentation import fails_of
from tests.project_files import ROOT, project_files

PAGES = [
    path
    for path in project_files()
    if path.suffix == ".md"
    and path.parts[0] == "docs"
    and readme_examples.examples((ROOT / path).read_text(encoding="utf-8"))
]


def test_most_pages_show_examples():
    assert len(PAGES) > 7


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_the_examples_of_a_page_print_what_they_show(page, tmp_path):
    assert fails_of(page, tmp_path) == ""
