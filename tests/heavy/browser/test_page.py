"""The Space as a visitor meets it, in a real browser."""

import csv
import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from infolm_metric import BaryScorer, InfoLMScorer, MENLIScorer
from space.page.appearance import number
from space.page.compare_tab import EXAMPLES
from space.page.settings import CONTROLS, LABELS
from tests.random_pairs import write_lines

pytestmark = pytest.mark.xdist_group("space")
SCORERS = {"infolm": InfoLMScorer, "baryscore": BaryScorer, "menli": MENLIScorer}
CANDIDATE, REFERENCE = "The cat slept on the sofa.", "A cat was asleep on the couch."
ATTACK = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
PLOTS = {
    "infolm": ["#expected-candidate", "#expected-reference", "#drivers"],
    "baryscore": ["#moves"],
    "menli": [],
}
WORDS = {"infolm": "nine measures", "baryscore": "All moves", "menli": "Accuracy of the model"}
BEYOND_THE_EDGE = """
() => [...document.querySelectorAll('.gradio-container *')]
    .filter(element => element.checkVisibility({opacityProperty: true, visibilityProperty: true}))
    .map(element => [element, element.getBoundingClientRect()])
    .filter(([_, box]) => box.width > 1 && box.height > 1)
    .filter(([_, box]) => box.right > innerWidth + 1 || box.left < -1)
    .map(([element, box]) =>
        `${element.tagName} ${element.id} ${element.textContent.slice(0, 40)} ${box.right}`)
"""


def visible(page, selector):
    return page.locator(selector).locator("visible=true")


def write(page, candidate, reference):
    page.locator("#candidate textarea").fill(candidate)
    page.locator("#reference-1 textarea").fill(reference)


def choose(page, label, option):
    """Choose an option of a drop-down list that is on show."""
    page.get_by_label(label, exact=True).locator("visible=true").first.click()
    page.get_by_role("option", name=option).locator("visible=true").click()


def compare_by(page, metric):
    page.get_by_label(LABELS[metric]).locator("visible=true").check()
    title = LABELS[metric].partition(":")[0]
    expect(page.locator("#score .score-line")).to_contain_text(title)
    for plot in PLOTS[metric]:
        expect(page.locator(f"{plot} svg.marks, {plot} canvas").first).to_be_visible()


def open_details(page):
    visible(page, "text='Details'").click()
    visible(page, ".code").scroll_into_view_if_needed()


def check(page):
    """All text can be read, nothing reaches beyond the edge, and nothing slides sideways."""
    page.mouse.move(0, 0)
    for _ in range(20):  # until colours have faded
        page.wait_for_timeout(150)
        response = Axe().run(page, options={"runOnly": ["color-contrast", "label"]}).response
        violations = [
            (rule["id"], node["html"]) for rule in response["violations"] for node in rule["nodes"]
        ]
        slides = page.evaluate("document.documentElement.scrollWidth") > page.viewport_size["width"]
        overflow = page.evaluate(BEYOND_THE_EDGE)
        if not violations and not overflow and not slides:
            return
    assert (violations, overflow, slides) == ([], [], False)


# What is on the page.


def test_the_first_view_shows_an_answer_above_the_fold(page):
    for part in ("#candidate", "#reference-1", "#compare", "#score"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 800, part
    expect(page.locator("#score")).to_contain_text("closer than unrelated texts")
    compare_by(page, "infolm")
    check(page)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("light", 390), ("dark", 390)])
def test_every_metric_and_a_file_can_be_read_and_fit(page, scheme, width):
    assert page.locator("body.dark").count() == (scheme == "dark")
    button, card = (page.locator(part).bounding_box() for part in ("#compare", "#score"))
    if width == 390:
        assert 0 <= card["y"] - button["y"] - button["height"] < 50
    for metric in SCORERS:
        compare_by(page, metric)
        open_details(page)
        expect(page.locator(f"#why-{metric}")).to_contain_text(WORDS[metric])
        visible(page, "text='Settings'").click()
        check(page)
        visible(page, "text='Settings'").click()
    score_the_sample(page)
    check(page)


@pytest.mark.parametrize("metric", SCORERS)
def test_two_texts_are_compared_by_every_metric_with_enter(metric, page):
    compare_by(page, metric)
    write(page, CANDIDATE, REFERENCE)
    expect(page.locator("#score .waiting")).to_contain_text("Press")
    expect(visible(page, "#why")).to_have_count(0)
    page.locator("#reference-1 textarea").press("Enter")
    result = SCORERS[metric](model_name_or_path="bundled").score([CANDIDATE], [REFERENCE])
    expect(page.locator(".score")).to_have_text(number(result[metric]))
    open_details(page)
    expect(visible(page, ".signature textarea")).to_have_value(result["signature"])
    expect(visible(page, ".code")).to_contain_text(CANDIDATE)
    if metric == "menli":
        expect(page.locator("#follows-rh")).to_contain_text("yes (entailment)")


def test_an_example_is_answered_and_menli_says_that_it_contradicts(page):
    example = next(entry for entry in EXAMPLES if "negation" in entry["name"])
    page.get_by_role("button", name=example["name"]).click()
    expect(page.locator("#score .lesson")).to_contain_text("A blind spot")
    expect(page.locator("#candidate textarea")).to_have_value(example["candidate"])
    expect(page.locator("#score .verdict")).to_contain_text("unrelated texts")
    compare_by(page, "menli")
    expect(page.locator("#score .verdict")).to_have_text("The texts contradict each other")


def test_another_measure_is_answered_at_once_and_a_wrong_parameter_is_refused(page):
    write(page, CANDIDATE, REFERENCE)
    visible(page, "text='Settings'").click()
    alpha = page.get_by_label("alpha", exact=True).locator("visible=true")
    expect(alpha).to_have_count(0)
    choose(page, CONTROLS["infolm"]["information_measure"].label, "renyi_divergence")
    settings = {"information_measure": "renyi_divergence", "alpha": 0.5}
    scorer = InfoLMScorer(model_name_or_path="bundled", **settings)
    expected = scorer.score([CANDIDATE], [REFERENCE])
    expect(page.locator("#score .score-line")).to_contain_text("(renyi_divergence)")
    expect(page.locator(".score")).to_have_text(number(expected["infolm"]))
    alpha.fill("-1")
    page.locator("#compare").click()
    expect(page.locator("#score .refused")).to_contain_text("any number > 0 but 1")
    expect(visible(page, "#why")).to_have_count(0)
    alpha.fill("0.5")
    page.locator("#compare").click()
    expect(page.locator(".score")).to_have_text(number(expected["infolm"]))
    compare_by(page, "infolm")
    open_details(page)
    expect(page.locator("#by-alpha svg.marks, #by-alpha canvas").first).to_be_visible()


@pytest.mark.parametrize(
    ("candidate", "reference", "words"),
    [
        ("", REFERENCE, "the candidate is empty"),
        (f"{ATTACK} cat", f"{ATTACK} **dog**", "This score is not meaningful"),
    ],
)
def test_what_is_refused_or_cannot_be_read_is_said_and_markup_is_text(
    candidate, reference, words, page
):
    title = page.title()
    write(page, candidate, reference)
    page.locator("#compare").click()
    expect(page.locator("#score")).to_contain_text(words)
    check(page)
    assert (page.title(), page.locator("img[src=x]").count()) == (title, 0)


def test_more_references_can_be_given_and_the_closest_counts(page):
    write(page, CANDIDATE, REFERENCE)
    visible(page, "text='More references'").click()
    page.get_by_label("Reference 2").fill(CANDIDATE)
    page.get_by_label("Reference 2").press("Enter")
    expect(page.locator(".verdict")).to_have_text("Same score as an identical text")


# Stale answers.


def test_an_answer_that_comes_late_for_other_texts_is_not_shown(page):
    routes = []
    page.route("**/queue/join*", lambda route: routes.append(route))
    box = page.locator("#candidate textarea")
    box.fill("The river was high.")
    page.locator("#compare").click()
    page.wait_for_timeout(300)
    box.fill("The river was low.")
    page.wait_for_timeout(300)
    assert len(routes) == 1
    with page.expect_response("**/queue/data*"):
        for route in routes:
            route.continue_()
    page.wait_for_timeout(3000)
    page.unroute("**/queue/join*")
    expect(page.locator("#score .waiting")).to_contain_text("Press")
    expect(visible(page, "#why")).to_have_count(0)
    box.press("Enter")
    expect(page.locator(".verdict")).to_be_visible()


# A file.


def score_the_sample(page):
    page.get_by_role("tab", name="Score a file").click()
    page.locator("#sample").click()
    expect(page.locator("#candidate-column input")).to_have_value("prediction")
    page.locator("#score-file").click()
    expect(page.locator("#file-summary textarea")).to_have_value(re.compile("mean of 12 pairs"))


def test_a_file_goes_up_and_its_scores_come_down(page, tmp_path):
    texts = [CANDIDATE, "It rained all day.", REFERENCE, 'a "quoted", text\nin two lines']
    with open(tmp_path / "pairs.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["prediction", "reference"], *([t, REFERENCE] for t in texts)])
    page.get_by_role("tab", name="Score a file").click()
    page.locator("#upload input[type=file]").set_input_files(tmp_path / "pairs.csv")
    expect(page.locator("#candidate-column input")).to_have_value("prediction")
    page.locator("#score-file").click()
    expected = InfoLMScorer(model_name_or_path="bundled").score(texts, [REFERENCE] * 4)
    mean = re.compile(f"mean of 4 pairs: {re.escape(number(expected['infolm']))}")
    expect(page.locator("#file-summary textarea")).to_have_value(mean)
    expect(page.locator("#histogram svg.marks, #histogram canvas").first).to_be_visible()
    first = page.locator("#pairs").get_by_role("row").nth(1)  # under the headings
    expect(first).to_contain_text(number(max(expected["scores"])))
    with page.expect_download() as download:
        page.locator("#download").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == texts
    assert [float(row["score"]) for row in rows] == pytest.approx(expected["scores"], abs=1e-6)
    page.get_by_label(LABELS["menli"]).locator("visible=true").check()  # which clears it
    expect(visible(page, "#file-summary")).to_have_count(0)
    page.locator("#score-file").click()
    expect(page.locator("#file-summary textarea")).to_have_value(re.compile("MENLI, mean of 4"))


def test_a_file_that_is_refused_is_told_of_and_markup_in_one_is_text(page, tmp_path):
    title = page.title()
    rows = [{"prediction": ATTACK, ATTACK: "a **dog**"}, {"prediction": "a cat", ATTACK: ATTACK}]
    path = write_lines(tmp_path / "attack.jsonl", rows)
    page.get_by_role("tab", name="Score a file").click()
    page.locator("#upload input[type=file]").set_input_files(path)
    expect(page.locator("#candidate-column input")).to_have_value("prediction")
    page.locator("#score-file").click()
    expect(page.locator("#file-state .refused")).to_contain_text("<script>document.title")
    choose(page, "Reference columns (one or more)", "<script>")
    page.locator("#score-file").click()
    expect(page.locator("#pairs")).to_contain_text("<script>document.title")
    assert (page.title(), page.locator("img[src=x]").count()) == (title, 0)


# Without a mouse.


def test_everything_is_reached_by_keyboard(page):
    stops = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        stops.add(
            page.evaluate(
                "() => { const e = document.activeElement; return e.value && e.type === 'radio'"
                " ? 'metric' : e.closest('#candidate, #reference-1, #compare')?.id"
                " ?? e.textContent.trim().slice(0, 20); }"
            )
        )
        if "Details" in "".join(stops):
            break
    targets = {"candidate", "reference-1", "metric", "compare"}
    assert targets <= stops
    for words in ("Compare", "Unrelated texts", "More references", "Settings", "Details"):
        assert any(stop.startswith(words) for stop in stops), (words, stops)
    page.locator("input[type=radio]").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("#score .score-line")).to_contain_text("BaryScore")
