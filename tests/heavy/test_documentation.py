"""Examples in the README and in docs/ match their output."""

import re

import pytest

from infolm_metric.metrics import find
from tests import pages
from tests.project_files import ROOT, project_files

PAGES = ["README.md", *(path for path in project_files() if path.match("docs/*.md"))]
PAGES_WITHOUT_EXAMPLES = {"docs/settings.md"}  # a table


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_examples_print_the_documented_output(page, page_folder, capsys):
    assert (pages.check(ROOT / page) == 0) == (str(page) in PAGES_WITHOUT_EXAMPLES)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("metric", ["InfoLM", "BaryScore", "BERTScore", "MENLI"])
def test_page_on_scores_shows_the_baselines_of_the_package(metric):
    page = (ROOT / "docs/reading_a_score.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {metric} \|.* \|$", page, re.MULTILINE)
    scorer = find(metric.lower()).scorer_type()(model_name_or_path="bundled")
    run = scorer.prepare(scorer.settings.replace(**({} if metric == "MENLI" else {"idf": False})))
    ((stats,),) = (by_name.values() for by_name in run.unrelated([1]).values())
    ranges = [sorted(stats.at(tokens).percentiles[2::2]) for tokens in (10, 25, 63)]
    assert [f"{low:.2f} to {high:.2f}" for low, high in ranges] == row.strip("| ").split(" | ")[-3:]
