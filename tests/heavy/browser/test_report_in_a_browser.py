"""The page of `infolm report`, as a browser shows it to its reader."""

import pytest

from infolm_metric.meta_evaluation import write_report
from tests.heavy.browser.test_states_of_the_page import CONTRASTS, LEAST
from tests.made_ratings import rated
from tests.toy import ToyScorer


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The address of a report."""
    folder = tmp_path_factory.mktemp("report")
    return write_report(rated(), ToyScorer(), folder, against=["bleu"], resamples=20).as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_report_can_be_read_and_fits(report, browser, scheme, width):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    page = context.new_page()
    page.goto(report)
    contrasts = page.evaluate(CONTRASTS)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    widest = page.evaluate("document.documentElement.scrollWidth")
    context.close()
    assert len(contrasts) > 50
    assert [each for each in contrasts if each[0] < LEAST] == []
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    assert widest <= width  # tables scroll on their own
