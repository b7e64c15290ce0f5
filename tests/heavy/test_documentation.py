"""The examples on the pages of docs/ print the output that they show."""

import re

import pytest

from infolm_metric import score
from tests import pages
from tests.project_files import ROOT, project_files

PAGES = [path for path in project_files() if path.match("docs/*.md")]
PAGES_WITHOUT_EXAMPLES = {"docs/settings.md"}  # a table


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page_examples_print_the_documented_output(page, page_folder, capsys):
    assert (pages.check(ROOT / page) == 0) == (str(page) in PAGES_WITHOUT_EXAMPLES)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("metric", ["InfoLM", "BaryScore", "BERTScore", "MENLI"])
def test_page_on_scores_shows_the_baselines_of_the_package(metric):
    page = (ROOT / "docs/reading_a_score.md").read_text(encoding="utf-8")
    row = re.search(
        rf"^\| {metric} \|.* mean (\S+), 80% from (\S+) to (\S+) \|$", page, re.MULTILINE
    )
    settings = {"model_name_or_path": "bundled", "rescale_with_baseline": True}
    if metric in ("InfoLM", "BaryScore"):
        settings["idf"] = False
    texts = ["The cat slept on the sofa."], ["It will rain tomorrow."]
    baseline = score(*texts, metric=metric.lower(), **settings)["baseline"]
    values = baseline["mean"], baseline["deciles"][0], baseline["deciles"][-1]
    assert [float(cell) for cell in row.groups()] == pytest.approx(values, abs=0.0051)
