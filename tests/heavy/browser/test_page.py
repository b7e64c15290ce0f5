"""The Space as a visitor sees it, in a real browser."""

import csv
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from infolm_metric import InfoLMScorer
from infolm_metric.metrics import METRICS
from space.page.appearance import number
from space.page.settings import SHOWN

FOLDER = Path(__file__).parent
CANDIDATE, REFERENCE = "The cat slept on the sofa.", "A cat was asleep on the couch."
ATTACK = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
WORDS = {
    "infolm": "All measures for this pair",
    "baryscore": "Most expensive moves",
    "bertscore": "Weakest matches",
    "menli": "Entailment in both directions",
    "answer_check": "Check of the answer",
}
OVERFLOWING_ELEMENTS = (FOLDER / "overflowing_elements.js").read_text()
RECORD_FRAMES = (FOLDER / "record_frames.js").read_text()


def visible(page, selector):
    return page.locator(selector).locator("visible=true")


def row(page, metric):
    return page.locator(f"#score button[data-metric={metric}]")


def write(page, candidate, reference):
    page.locator("#candidate textarea").fill(candidate)
    page.locator("#reference-1 textarea").fill(reference)


def choose(page, label, option):
    """Choose an option of a visible drop-down list."""
    page.get_by_label(label, exact=True).locator("visible=true").first.click()
    page.get_by_role("option", name=option).locator("visible=true").click()


def compare(page):
    page.locator("#compare").click()
    expect(page.locator("#score .done")).to_have_count(1)
    expect(visible(page, "#why .explanation")).to_have_count(1)


def open_row(page, metric):
    """Open the explanation of a metric, with all its details."""
    if metric == "answer_check" and page.locator("details.folded:not([open])").count():
        page.locator("details.folded > summary").click()
    row(page, metric).click()
    expect(row(page, metric)).to_have_attribute("aria-pressed", "true")
    expect(visible(page, f"#why-{metric}")).to_contain_text(WORDS[metric])
    for summary in page.locator("#why summary").all():
        summary.click()


def check_layout(page):
    """Check that text is readable, elements stay within the window and nothing scrolls sideways."""
    page.mouse.move(0, 0)
    for _ in range(20):  # until color transitions have ended
        page.wait_for_timeout(150)
        violations = [
            (rule["id"], node["html"])
            for rule in Axe().run(page).response["violations"]
            for node in rule["nodes"]
            if rule["impact"] in ("serious", "critical")
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
    if width == 1280:  # the card is above the fold
        assert max(box["y"] + box["height"] for box in (button, card)) <= 800
    for metric in METRICS:
        open_row(page, metric)
        check_layout(page)
    score_the_sample(page)
    check_layout(page)
    page.get_by_label("answer_check").locator("visible=true").check()
    page.locator("#score-file").click()
    expect(page.locator("#file-summary")).to_contain_text("Verdicts: ")
    download, table = (page.locator(part).bounding_box() for part in ("#download", ".table"))
    assert download["y"] < table["y"]
    check_layout(page)


def test_enter_compares_two_texts_by_every_metric(page):
    write(page, CANDIDATE, REFERENCE)
    expect(page.locator("#score .waiting")).to_contain_text("Press")
    expect(visible(page, "#why")).to_have_count(0)
    page.locator("#reference-1 textarea").press("Enter")
    expect(page.locator("#score .done")).to_have_count(1)
    for metric, entry in METRICS.items():
        result = entry.scorer_type()(model_name_or_path="bundled").score([CANDIDATE], [REFERENCE])
        expect(row(page, metric).locator(".score")).to_have_text(number(result[metric]))
        open_row(page, metric)
        for part in (str(result["signature"]), CANDIDATE, f"infolm score --metric={metric}"):
            expect(page.locator("#why")).to_contain_text(part)


def test_rows_arrive_one_by_one_and_the_explanation_without_moving_the_page(page):
    page.evaluate(RECORD_FRAMES)
    for number_of_cats in range(2, 22):  # a busy browser can miss the rows of one comparison
        text = f"{number_of_cats} cats slept in the old village school."
        page.locator("#candidate textarea").fill(text)
        expect(visible(page, "#why")).to_have_count(0)
        compare(page)
        frames = page.evaluate("frames_")
        states = [(hidden, rows) for hidden, rows, _ in frames]
        if len({rows for _, rows in states}) > 2:
            break
    assert (True, 0) in states and (False, 5) in states
    assert all(rows == 5 for hidden, rows in states if not hidden)
    assert {rows for _, rows in states} - {0, 5}
    assert len({top for *_, top in frames}) == 1


@pytest.mark.parametrize("width", [390])
def test_a_result_scrolls_into_view_on_a_phone(page):
    page.get_by_role("button", name="Blind spot: negation").click()
    expect(page.locator("#score .headline")).to_be_in_viewport()
    row(page, "menli").click()
    expect(page.locator("#why-menli h2")).to_be_in_viewport()


LONG = "The river rose at night, and the village on the other side was cut off from the road. "


@pytest.mark.parametrize("width", [390])
def test_long_text_shows_progress_while_another_visitor_gets_an_answer(
    page, width, context, space_url
):
    other = context.new_page()
    other.goto(space_url)
    other.locator("#score .done").wait_for()
    text = LONG * 8  # 162 tokens
    write(page, text, text.replace("river", "water"))
    page.locator("#compare").click()
    page.wait_for_function("document.querySelector('#score progress')?.value > 0")
    assert page.locator("#score progress").bounding_box()["width"] > 100
    other.locator("#candidate textarea").fill("The dog slept.")
    other.locator("#compare").click()
    expect(other.locator("#score .done")).to_have_count(1)
    expect(page.locator("#score .running")).to_have_count(1)  # still encoding
    other.close()
    expect(page.locator("#score .done")).to_have_count(1)
    expect(row(page, "infolm").locator(".name")).to_contain_text("InfoLM")
    check_layout(page)
    write(page, LONG * 15, LONG)
    compare(page)
    expect(row(page, "infolm")).to_contain_text("InfoLM, one pass")
    expect(page.locator("#why")).to_contain_text("This is another metric")
    check_layout(page)


def test_closest_reference_is_explained_and_named(page):
    write(page, CANDIDATE, REFERENCE)
    visible(page, "text='More references'").click()
    page.get_by_label("Reference 2").fill(CANDIDATE)
    page.get_by_label("Reference 2").press("Enter")
    expect(page.locator("#score .headline")).to_contain_text("identical")
    open_row(page, "baryscore")
    expect(page.locator("#why")).to_contain_text(f"number 2: “{CANDIDATE}”")


def test_controls_update_scale_table_and_charts_and_invalid_alpha_leaves_the_other_rows(page):
    write(page, CANDIDATE, REFERENCE)
    compare(page)
    field = {name: page.get_by_label(control.label, exact=True) for name, control in SHOWN.items()}
    score = row(page, "infolm").locator(".score")
    settings = {}
    for name, value in {
        "temperature": 2.0,
        "alpha": 0.25,
        "interpolation": 0.5,
        "symmetrize": "jensen",
        "idf": "bundled",
        "information_measure": "renyi_divergence",
    }.items():
        chart = visible(page, "#why .bars").first.inner_text()
        before = visible(page, "#why .table").first.inner_text()
        settings[name] = value
        if isinstance(value, float):
            field[name].fill(str(value))
        else:
            choose(page, SHOWN[name].label, dict(SHOWN[name].values)[value])
        used = settings if name == "information_measure" else {**settings, "alpha": None}
        scorer = InfoLMScorer(model_name_or_path="bundled", **used)
        expect(score).to_have_text(number(scorer.score([CANDIDATE], [REFERENCE])["infolm"]))
        if name != "information_measure":
            expect(visible(page, "#why .table").first).not_to_have_text(before)
        if name in ("temperature", "interpolation", "idf"):
            expect(visible(page, "#why .bars").first).not_to_have_text(chart)
    expect(page.locator("#why .marked")).to_contain_text("renyi_divergence")
    field["alpha"].fill("-1")
    expect(page.locator("#score .failed")).to_contain_text("any number > 0 except 1")
    expect(row(page, "menli")).to_have_count(1)
    expect(field["alpha"]).to_be_visible()
    open_row(page, "menli")  # whose settings replace the settings of InfoLM
    expect(field["alpha"]).to_be_hidden()
    expect(field["task"]).to_be_visible()


def test_address_restores_texts_and_settings(page, context, space_url):
    write(page, CANDIDATE, REFERENCE)
    compare(page)
    page.get_by_label(SHOWN["temperature"].label, exact=True).fill("2")
    expected = InfoLMScorer(model_name_or_path="bundled", temperature=2.0)
    words = number(expected.score([CANDIDATE], [REFERENCE])["infolm"])
    expect(row(page, "infolm").locator(".score")).to_have_text(words)
    page.wait_for_function("location.hash.includes('temperature=2')")
    other = context.new_page()
    other.goto(page.url)
    expect(row(other, "infolm").locator(".score")).to_have_text(words)
    expect(other.locator("#candidate textarea")).to_have_value(CANDIDATE)
    other.close()


def test_rejected_and_unreadable_texts_are_reported_and_markup_is_escaped(page):
    title, templates = page.title(), "${document.title=1} {{value}}"
    for candidate, reference, words in (
        ("", REFERENCE, "the candidate is empty"),
        (f"{ATTACK} {templates} cat", f"{ATTACK} **dog**", "This score is not meaningful"),
    ):
        write(page, candidate, reference)
        page.locator("#compare").click()
        expect(page.locator("#score")).to_contain_text(words)
        check_layout(page)
    for metric in METRICS:
        open_row(page, metric)
        expect(visible(page, f"#why-{metric}")).to_contain_text(templates)
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
    expect(page.locator("#score .done")).to_have_count(1)


def test_click_on_a_row_before_the_explanation_of_a_comparison_wins(page):
    write(page, CANDIDATE, REFERENCE)
    page.locator("#compare").click()
    page.locator("#score .done").wait_for()
    row(page, "menli").click()
    page.wait_for_timeout(2000)
    expect(row(page, "menli")).to_have_attribute("aria-pressed", "true")
    expect(visible(page, "#why-menli")).to_have_count(1)


def test_click_on_another_row_during_an_explanation_wins(page):
    row(page, "menli").click()
    row(page, "baryscore").click()
    expect(visible(page, "#why-baryscore")).to_have_count(1)
    page.locator("#compare").click()  # opens the same explanation
    expect(visible(page, "#why-baryscore")).to_have_count(1)
    expect(row(page, "baryscore")).to_have_attribute("aria-pressed", "true")


# Uploaded files


def score_the_sample(page):
    page.get_by_role("tab", name="Score a file").click()
    page.locator("#sample").click()
    expect(page.locator("#upload")).to_contain_text(re.compile(r"sample\s*\.csv"))
    page.locator("#score-file").click()
    expect(page.locator("#file-summary")).to_contain_text("mean of 12 pairs")


def test_uploaded_file_is_scored_and_the_scores_can_be_downloaded(page, tmp_path):
    texts = [CANDIDATE, "It rained all day.", REFERENCE, 'a "quoted", text\nin two lines']
    with open(tmp_path / "pairs.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["prediction", "reference"], *([t, REFERENCE] for t in texts)])
    page.get_by_role("tab", name="Score a file").click()
    page.locator("#upload input[type=file]").set_input_files(tmp_path / "pairs.csv")
    expect(page.locator("#upload")).to_contain_text(re.compile(r"pairs\s*\.csv"))
    expected = InfoLMScorer(model_name_or_path="bundled").score(texts, [REFERENCE] * 4)
    page.wait_for_timeout(1000)  # a new file also cancels the previous scoring, which may be late
    page.locator("#score-file").click()
    mean = re.compile(f"mean of 4 pairs: {re.escape(number(expected['infolm']))}")
    expect(page.locator("#file-summary")).to_contain_text(mean)
    first = page.locator("#file-state .table tbody tr").first
    expect(first).to_contain_text(number(max(expected["scores"])))
    with page.expect_download() as download:
        page.locator("#download").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["prediction"] for row in rows] == texts
    assert [float(row["infolm"]) for row in rows] == pytest.approx(expected["scores"], abs=1e-6)
    page.get_by_label("answer_check").locator("visible=true").check()  # clears the results
    expect(visible(page, "#file-summary")).to_have_count(0)
    page.locator("#score-file").click()
    expect(page.locator("#file-summary")).to_contain_text("Verdicts: ")
    expect(page.locator("#file-state .table tbody tr").first).to_contain_text(
        re.compile("likely|unclear")
    )


# Keyboard


def test_all_controls_are_reachable_by_keyboard_with_visible_focus(page):
    stops, requests = {}, []
    page.on("request", lambda request: requests.append(request.url))
    for _ in range(60):
        page.keyboard.press("Tab")
        stop, outline = page.evaluate(
            "() => { const e = document.activeElement; return ["
            "e.dataset.metric ?? e.closest('#candidate, #reference-1, #compare')?.id"
            " ?? e.textContent.trim().slice(0, 20), getComputedStyle(e).outlineStyle]; }"
        )
        stops[stop] = outline
        if stop.startswith("Reproduce the"):
            break
    targets = {"candidate", "reference-1", "compare", *METRICS} - {"answer_check"}  # folded
    assert targets <= {*stops}
    assert {stops[target] for target in targets} == {"solid"}
    for words in ("Compare", "Unrelated texts", "More references", "Copy link", "answer_check"):
        assert any(stop.startswith(words) for stop in stops), (words, stops)
    assert not any("queue/join" in url for url in requests)  # passing a control changes nothing
    row(page, "menli").press("Enter")
    expect(visible(page, "#why-menli")).to_have_count(1)
