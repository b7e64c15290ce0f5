"""The Space as a visitor meets it, in a real browser."""

import csv
import json
import re

import pytest
from playwright.sync_api import expect

from infolm_metric import InfoLM
from infolm_metric.infolm.measures import MEASURES
from space.page import charts, limits
from space.page.choices import CONTROLS
from space.page.examples import EXAMPLES, PARAPHRASE

pytestmark = pytest.mark.xdist_group("space")
CANDIDATE, REFERENCE = "The cat slept on the sofa.", "A cat was asleep on the couch."
ATTACK = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
LONG = {"timeout": 60_000}
MEASURE = CONTROLS["information_measure"].label
BEYOND_THE_EDGE = """
() => [...document.querySelectorAll('.gradio-container *')]
    .filter(element => element.checkVisibility({opacityProperty: true, visibilityProperty: true}))
    .map(element => [element, element.getBoundingClientRect()])
    .filter(([_, box]) => box.width > 1 && box.height > 1)
    .filter(([_, box]) => box.right > innerWidth + 1 || box.left < -1)
    .map(([element, box]) =>
        `${element.tagName} ${element.id} ${element.textContent.slice(0, 40)} ${box.right}`)
"""


@pytest.fixture(scope="module")
def infolm():
    return InfoLM(model_name_or_path="bundled")


def write(page, candidate, reference):
    page.locator("#candidate textarea").fill(candidate)
    page.locator("#reference-1 textarea").fill(reference)


def compare(page, candidate=CANDIDATE, reference=REFERENCE):
    """Write the texts and wait for the answer that is about them."""
    write(page, candidate, reference)
    page.locator("#compare").click()
    expect(page.locator("#code")).to_contain_text(candidate[-5:], **LONG)


def open_settings(page):
    page.get_by_text("Settings", exact=True).locator("visible=true").click()


def choose(page, label, option):
    """Choose an option of a drop-down list that is on show."""
    page.get_by_label(label, exact=True).locator("visible=true").first.click()
    page.get_by_role("option", name=option).locator("visible=true").click()


def shown_by_compute(infolm, measure="fisher_rao_distance", **settings):
    result = infolm.compute(
        predictions=[CANDIDATE],
        references=[REFERENCE],
        information_measure=measure,
        idf=False,
        **settings,
    )
    return charts.shown(result["infolm"])


def message(page):
    """The text of the message that pops up."""
    return page.locator(".toast-body").last


# What is on the page.


def test_the_page_needs_nothing_from_elsewhere_and_shows_an_example(page):
    expect(page.locator("#code")).to_contain_text(PARAPHRASE.candidate)
    expected = ("#expected-candidate", "#expected-reference", "#drivers")
    for plot in (*expected, "#by-temperature", "#by-interpolation"):
        expect(page.locator(f"{plot} svg, {plot} canvas").first).to_be_visible()
    assert (page.elsewhere, page.problems) == ([], [])


def test_two_texts_are_compared(page, infolm):
    compare(page)
    expect(page.locator(".score")).to_have_text(shown_by_compute(infolm))
    expect(page.locator("#signature textarea")).to_have_value(re.compile("bundled@sha256"))
    expect(page.locator("#tokens-candidate")).to_contain_text("sofa")


def test_another_measure_is_answered_at_once_with_its_parameters(page, infolm):
    compare(page)
    open_settings(page)
    alpha = page.get_by_label("alpha", exact=True).locator("visible=true")
    expect(alpha).to_have_count(0)
    for name, measure in MEASURES.items():
        choose(page, MEASURE, name)
        expect(page.locator(".score-card .measure")).to_contain_text(f"({name})", **LONG)
        given = {parameter.name: 0.5 for parameter in measure.parameters}
        expect(page.locator(".score")).to_have_text(shown_by_compute(infolm, name, **given))
        row = page.locator("#measures").get_by_role("row").filter(has_text=name)
        expect(row.last).to_contain_text(shown_by_compute(infolm, name, **given))
        expect(alpha).to_have_count(int("alpha" in given))
        beta = page.get_by_label("beta", exact=True).locator("visible=true")
        expect(beta).to_have_count(int("beta" in given))


def test_a_parameter_outside_its_domain_is_refused_in_words(page):
    open_settings(page)
    choose(page, MEASURE, "renyi_divergence")
    expect(page.locator("#code")).to_contain_text("renyi_divergence", **LONG)
    alpha = page.get_by_label("alpha", exact=True).locator("visible=true")
    alpha.fill("-1")
    alpha.press("Enter")
    expect(page.locator("#score .refused")).to_contain_text("any number > 0 but 1", **LONG)
    expect(page.locator("#why, #lesson").locator("visible=true")).to_have_count(0)


def test_an_example_fills_the_boxes_and_is_answered(page):
    example = EXAMPLES[1]
    page.get_by_role("button", name=example.name).click()
    expect(page.locator("#candidate textarea")).to_have_value(example.candidate)
    expect(page.locator("#code")).to_contain_text(example.candidate, **LONG)
    expect(page.get_by_text(example.lesson[-30:])).to_be_visible()


def test_more_references_can_be_added_and_the_closest_counts(page):
    write(page, CANDIDATE, REFERENCE)
    page.get_by_role("button", name="Add a reference").click()
    page.locator("#reference-2 textarea").fill(CANDIDATE)
    page.locator("#compare").click()
    expect(page.locator(".score")).to_have_text("0.0000", **LONG)
    expect(page.locator("#tokens-reference")).to_contain_text("Reference 2, the closest")


def test_a_token_is_chosen_by_a_click(page):
    compare(page)
    page.locator("#tokens-reference").get_by_text("couch").click()
    expect(page.locator("#token input")).to_have_value(re.compile("Reference 7: couch"))


# What is refused, and what is dangerous.


def test_an_empty_text_gets_a_message(page):
    write(page, "", REFERENCE)
    page.locator("#compare").click()
    expect(page.locator("#score .refused")).to_contain_text("The candidate is empty", **LONG)


def test_a_text_over_the_limit_gets_a_message(page):
    write(page, "x" * (limits.CHARACTERS + 1), REFERENCE)
    page.locator("#compare").click()
    expect(page.locator("#score .refused")).to_contain_text("1,001 characters", **LONG)


def test_markup_in_a_text_is_shown_as_text(page):
    title = page.title()
    compare(page, f"{ATTACK} cat", f"{ATTACK} **dog**")
    expect(page.locator("#code")).to_contain_text("<script>document.title")
    assert (page.title(), page.locator("img[src=x]").count()) == (title, 0)


def test_markup_in_a_file_and_in_messages_is_shown_as_text(page, tmp_path):
    title = page.title()
    rows = [{"prediction": ATTACK, ATTACK: "a **dog**"}, {"prediction": "a cat", ATTACK: ATTACK}]
    path = tmp_path / "attack.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    page.get_by_role("tab", name="Score a file").click()
    page.locator("#upload input[type=file]").set_input_files(path)
    expect(page.locator("#candidate-column input")).to_have_value("prediction", **LONG)
    page.locator("#score-file").click()
    expect(message(page)).to_contain_text("<script>document.title", **LONG)
    choose(page, "Columns of references", "<script>")
    page.locator("#score-file").click()
    expect(page.locator("#pairs")).to_contain_text("<script>document.title", **LONG)
    assert (page.title(), page.locator("img[src=x]").count()) == (title, 0)


# A file.


def test_a_file_is_scored_and_its_download_holds_the_scores_of_compute(page, infolm, tmp_path):
    texts = [CANDIDATE, "It rained all day.", REFERENCE, 'a "quoted", text\nin two lines']
    with open(tmp_path / "pairs.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["prediction", "reference"], *([t, REFERENCE] for t in texts)])
    page.get_by_role("tab", name="Score a file").click()
    expect(page.locator("#file-limits")).to_contain_text("500 rows")
    page.locator("#upload input[type=file]").set_input_files(tmp_path / "pairs.csv")
    expect(page.locator("#candidate-column input")).to_have_value("prediction", **LONG)
    page.locator("#score-file").click()
    expect(page.locator("#file-summary textarea")).to_have_value(
        re.compile("Mean of 4 pairs"), **LONG
    )
    expected = infolm.compute(predictions=texts, references=[REFERENCE] * 4)
    expect(page.locator("#file-summary textarea")).to_have_value(
        re.compile(re.escape(charts.shown(expected["infolm"])))
    )
    expect(page.locator("#histogram svg, #histogram canvas").first).to_be_visible()
    first = page.locator("#pairs").get_by_role("row").nth(1)  # under the headings
    worst = max(expected["scores"])
    expect(first).to_contain_text(charts.shown(worst))
    with page.expect_download() as download:
        page.locator("#download").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == texts
    assert [float(row["score"]) for row in rows] == pytest.approx(
        expected["scores"], rel=1e-6, abs=1e-6
    )
    page.locator("#pairs").get_by_role("columnheader", name="score").click()
    expect(first).to_contain_text(REFERENCE)  # the best: a copy


# Without a mouse, and on a telephone.


def test_two_texts_are_compared_with_the_keyboard_alone(page, infolm):
    page.keyboard.press("Tab")
    for _ in range(30):  # past the tabs, into the first box
        if page.evaluate("document.activeElement.closest('#candidate') !== null"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type(CANDIDATE)
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type(REFERENCE)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "compare":
            break
    page.keyboard.press("Enter")
    expect(page.locator("#code")).to_contain_text(CANDIDATE, **LONG)
    expect(page.locator(".score")).to_have_text(shown_by_compute(infolm))
    page.locator("#token input").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#token input")).not_to_have_value("Candidate 1: the")


@pytest.mark.parametrize("width", [390])
def test_nothing_is_cut_off_in_a_narrow_window(page):
    compare(page)
    open_settings(page)
    choose(page, MEASURE, "ab_divergence")
    expect(page.locator("#by-beta svg, #by-beta canvas").first).to_be_visible(**LONG)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(BEYOND_THE_EDGE) == []
    page.get_by_role("tab", name="Score a file").click()
    expect(page.locator("#upload")).to_be_visible()
    expect(page.get_by_text("Use via API")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(BEYOND_THE_EDGE) == []
