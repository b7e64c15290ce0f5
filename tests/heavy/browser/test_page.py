"""The Space as a visitor sees it, in a real browser."""

import csv
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from infolm_metric import AnswerCheckScorer, BaryScorer, InfoLMScorer, MENLIScorer
from space.page.appearance import number
from space.page.compare_tab import EXAMPLES
from space.page.settings import CONTROLS, METRIC_LABELS
from tests.random_pairs import write_lines

FOLDER = Path(__file__).parent
SCORERS = {"infolm": InfoLMScorer, "baryscore": BaryScorer, "menli": MENLIScorer}
SCORERS["answer_check"] = AnswerCheckScorer
CANDIDATE, REFERENCE = "The cat slept on the sofa.", "A cat was asleep on the couch."
ATTACK = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
PLOTS = {
    "infolm": ["#expected-candidate", "#expected-reference", "#drivers"],
    "baryscore": ["#moves"],
    "menli": [],
    "answer_check": [],
}
WORDS = {"infolm": "nine measures", "baryscore": "All moves", "menli": "Accuracy of the model"}
WORDS["answer_check"] = "Tokens in the answer"
OVERFLOWING_ELEMENTS = (FOLDER / "overflowing_elements.js").read_text()
RECORD_FRAMES = (FOLDER / "record_frames.js").read_text()


def visible(page, selector):
    return page.locator(selector).locator("visible=true")


def write(page, candidate, reference):
    page.locator("#candidate textarea").fill(candidate)
    page.locator("#reference-1 textarea").fill(reference)


def choose(page, label, option):
    """Choose an option of a visible drop-down list."""
    page.get_by_label(label, exact=True).locator("visible=true").first.click()
    page.get_by_role("option", name=option).locator("visible=true").click()


def compare_by(page, metric):
    page.get_by_label(METRIC_LABELS[metric]).locator("visible=true").check()
    title = METRIC_LABELS[metric].partition(":")[0]
    expect(page.locator("#score .score-line")).to_contain_text(title)
    for plot in PLOTS[metric]:
        expect(page.locator(f"{plot} svg.marks, {plot} canvas").first).to_be_visible()


def open_details(page):
    visible(page, "text=Reproduce the score").wait_for()
    if visible(page, "text='Details'").count():
        visible(page, "text='Details'").click()
    if not visible(page, ".code").count():  # shared by all metrics
        visible(page, "text=Reproduce the score").click()
    visible(page, ".code").scroll_into_view_if_needed()


def check_layout(page):
    """Check that text is readable, elements stay within the window and nothing scrolls sideways."""
    page.mouse.move(0, 0)
    for _ in range(20):  # until color transitions have ended
        page.wait_for_timeout(150)
        response = Axe().run(page, options={"runOnly": ["color-contrast", "label"]}).response
        violations = [
            (rule["id"], node["html"]) for rule in response["violations"] for node in rule["nodes"]
        ]
        scrolls = (
            page.evaluate("document.documentElement.scrollWidth") > page.viewport_size["width"]
        )
        overflow = page.evaluate(OVERFLOWING_ELEMENTS)
        if not violations and not overflow and not scrolls:
            return
    assert (violations, overflow, scrolls) == ([], [], False)


# Content of the page


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_every_metric_and_a_file_are_readable_and_fit_the_window(page, scheme, width):
    expect(page.locator("#score")).to_contain_text("closer than unrelated texts")
    assert page.locator("body.dark").count() == (scheme == "dark")
    button, card = (page.locator(part).bounding_box() for part in ("#compare", "#score"))
    if width == 390:
        assert 0 <= card["y"] - button["y"] - button["height"] < 50
    else:  # a result is above the fold
        assert max(box["y"] + box["height"] for box in (button, card)) <= 800
    for metric in SCORERS:
        compare_by(page, metric)
        open_details(page)
        expect(page.locator(f"#why-{metric}")).to_contain_text(WORDS[metric])
        expect(visible(page, "text='Settings'")).to_have_count(int(bool(CONTROLS[metric])))
        if CONTROLS[metric]:
            visible(page, "text='Settings'").click()
        check_layout(page)
        if CONTROLS[metric]:
            visible(page, "text='Settings'").click()
    score_the_sample(page)
    check_layout(page)


@pytest.mark.parametrize("metric", SCORERS)
def test_enter_compares_two_texts_by_every_metric(metric, page):
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
    expect(visible(page, ".command")).to_contain_text(f"infolm score --metric={metric}")
    if metric == "menli":
        expect(page.locator("#follows-rh")).to_contain_text("yes (entailment)")


def test_examples_are_scored_and_menli_reports_a_contradiction(page):
    example = next(entry for entry in EXAMPLES if "negation" in entry["name"])
    page.get_by_role("button", name=example["name"]).click()
    expect(page.locator("#score .lesson")).to_contain_text("A blind spot")
    expect(page.locator("#candidate textarea")).to_have_value(example["candidate"])
    expect(page.locator("#score .verdict")).to_contain_text("unrelated texts")
    compare_by(page, "menli")
    expect(page.locator("#score .verdict")).to_have_text("The texts contradict each other")


@pytest.mark.parametrize("metric", ["infolm", "menli"])
def test_charts_arrive_after_the_verdict_without_moving_the_page(metric, page):
    compare_by(page, metric)
    visible(page, f"#why-{metric}").wait_for()
    page.evaluate(RECORD_FRAMES)
    page.locator("#candidate textarea").fill("A cat slept in the old village school.")
    expect(visible(page, "#why, #why *")).to_have_count(0)
    page.locator("#compare").click()
    expect(visible(page, "#why")).to_have_count(1)
    page.wait_for_timeout(1000)  # until all charts are drawn
    frames = page.evaluate("frames_")
    states = [[blank, verdict] for blank, verdict, *_ in frames]
    assert [False, False] not in states  # charts without the verdict
    # MENLI's charts need no further encoding, and may arrive within the same frame.
    assert [True, True] in states or metric == "menli"
    assert len({(top, height) for *_, top, height in frames}) == 1


def test_examples_of_answers_select_answer_check_and_get_verdicts(page):
    for name, verdict, words in (
        ("LLM answer", "Likely correct", "Neil"),
        ("LLM answer: denial", "Unclear", "Canberra"),
    ):
        page.get_by_role("button", name=name, exact=True).click()
        expect(page.locator("#score .verdict")).to_have_text(verdict)
        expect(page.locator("#score .score-line")).to_contain_text("answer_check")
        expect(
            page.get_by_label(METRIC_LABELS["answer_check"]).locator("visible=true")
        ).to_be_checked()
        expect(visible(page, "text='Settings'")).to_have_count(0)
        expect(page.locator("#reference-tokens")).to_contain_text(words)
        expect(page.locator("#statements")).to_contain_text(words)
        check_layout(page)


def test_closest_reference_determines_the_verdict_and_task_the_score(page):
    write(page, CANDIDATE, REFERENCE)
    visible(page, "text='More references'").click()
    page.get_by_label("Reference 2").fill(CANDIDATE)
    page.get_by_label("Reference 2").press("Enter")
    expect(page.locator(".verdict")).to_have_text("Same score as an identical text")
    page.get_by_label("Reference 2").fill("")
    write(page, "The cat slept on the red sofa.", CANDIDATE)
    compare_by(page, "menli")
    score = page.locator(".score").inner_text()
    visible(page, "text='Settings'").click()
    choose(page, CONTROLS["menli"]["task"].label, "Summary")
    scorer = MENLIScorer(model_name_or_path="bundled", task="summary")
    expected = scorer.score(["The cat slept on the red sofa."], [CANDIDATE])
    expect(page.locator(".score")).to_have_text(number(expected["menli"]))
    assert score != number(expected["menli"])


def test_new_measure_updates_the_score_and_invalid_alpha_is_rejected(page):
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
    expect(page.locator("#score .refused")).to_contain_text("any number > 0 except 1")
    expect(visible(page, "#why")).to_have_count(0)
    alpha.fill("0.5")
    page.locator("#compare").click()
    expect(page.locator(".score")).to_have_text(number(expected["infolm"]))
    compare_by(page, "infolm")
    open_details(page)
    expect(page.locator("#by-alpha svg.marks, #by-alpha canvas").first).to_be_visible()


def test_rejected_and_unreadable_texts_are_reported_and_markup_is_escaped(page):
    title = page.title()
    for candidate, reference, words in (
        ("", REFERENCE, "the candidate is empty"),
        (f"{ATTACK} cat", f"{ATTACK} **dog**", "This score is not meaningful"),
    ):
        write(page, candidate, reference)
        page.locator("#compare").click()
        expect(page.locator("#score")).to_contain_text(words)
        check_layout(page)
    assert (page.title(), page.locator("img[src=x]").count()) == (title, 0)


# Stale results


def test_late_result_for_other_texts_is_not_shown(page):
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


# Uploaded files


def score_the_sample(page):
    page.get_by_role("tab", name="Score a file").click()
    page.locator("#sample").click()
    expect(page.locator("#candidate-column input")).to_have_value("prediction")
    page.locator("#score-file").click()
    expect(page.locator("#file-summary textarea")).to_have_value(re.compile("mean of 12 pairs"))


def test_uploaded_file_is_scored_and_the_scores_can_be_downloaded(page, tmp_path):
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
    first = page.locator("#pairs").get_by_role("row").nth(1)  # after the header
    expect(first).to_contain_text(number(max(expected["scores"])))
    with page.expect_download() as download:
        page.locator("#download").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == texts
    assert [float(row["infolm"]) for row in rows] == pytest.approx(expected["scores"], abs=1e-6)
    page.get_by_label(METRIC_LABELS["answer_check"]).locator(
        "visible=true"
    ).check()  # clears the results
    expect(visible(page, "#file-summary")).to_have_count(0)
    page.locator("#score-file").click()
    expect(page.locator("#file-summary textarea")).to_have_value(re.compile("Verdicts: "))
    expect(page.locator("#pairs").get_by_role("row").nth(1)).to_contain_text(
        re.compile("likely|unclear")
    )
    page.get_by_label(METRIC_LABELS["menli"]).locator("visible=true").check()  # clears the results
    expect(visible(page, "#file-summary")).to_have_count(0)
    page.locator("#score-file").click()
    expect(page.locator("#file-summary textarea")).to_have_value(re.compile("MENLI, mean of 4"))


def test_rejected_file_is_reported_and_markup_in_a_file_is_escaped(page, tmp_path):
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


# Keyboard


def test_all_controls_are_reachable_by_keyboard(page):
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
