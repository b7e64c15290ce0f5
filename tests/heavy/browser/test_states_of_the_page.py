"""The states of the page: contrast as rendered, nothing beyond the edge, nothing stale."""

import json
import re
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from space.page.examples import EXAMPLES, PARAPHRASE
from tests.heavy.browser.test_space_in_a_browser import (
    BEYOND_THE_EDGE,
    LONG,
    MEASURE,
    choose,
    open_settings,
    write,
)

pytestmark = pytest.mark.xdist_group("space")
LEAST = 4.5  # contrast of text, by WCAG 2
CONTRASTS = """
() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const parts = colour => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
  };
  const over = (top, ground) => [0, 1, 2].map(i => top[i] * top[3] + ground[i] * (1 - top[3]));
  const ancestors = e => e ? [...ancestors(e.parentElement), e] : [];
  const light = c => c.map(v => v / 255)
      .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
      .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const contrast = (e, colour) => {
    const ground = ancestors(e).map(n => parts(getComputedStyle(n).backgroundColor))
        .reduce((below, top) => over(top, below), [255, 255, 255]);
    const opacity = ancestors(e).reduce((o, n) => o * getComputedStyle(n).opacity, 1);
    const [r, g, b, a] = parts(colour);
    const pair = [light(over([r, g, b, a * opacity], ground)), light(ground)];
    return (Math.max(...pair) + .05) / (Math.min(...pair) + .05);
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    const e = node.parentElement, box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (!node.data.trim() || box.width < 2 || box.height < 2 || /SCRIPT|STYLE/.test(e.tagName) ||
        !e.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const colour = e instanceof SVGElement ? style.fill : style.color;
    found.push([contrast(e, colour), node.data.trim().slice(0, 40)]);
  }
  const written = 'textarea, input:not([type=file], [type=checkbox], [type=radio])';
  for (const e of document.querySelectorAll(written))
    if (e.checkVisibility() && e.value)
      found.push([contrast(e, getComputedStyle(e).color), e.value]);
  for (const e of document.querySelectorAll('.plan path'))
    if (e.checkVisibility()) found.push([contrast(e, getComputedStyle(e).stroke), 'a move']);
  return found;
}
"""


def ask(page, candidate, reference):
    write(page, candidate, reference)
    expect(page.locator("#score .waiting")).to_contain_text("Press", **LONG)
    page.locator("#compare").click()
    expect(page.locator("#score .verdict, #score .refused")).to_be_visible(**LONG)


def score_the_sample(page):
    page.get_by_role("tab", name="Score a file").click()
    page.locator("#sample").click()
    expect(page.locator("#candidate-column input")).to_have_value("prediction", **LONG)
    page.locator("#score-file").click()
    expect(page.locator("#file-summary")).to_be_visible(**LONG)


def refuse_a_file(page):
    score_the_sample(page)
    page.locator("#upload").get_by_label("Clear").or_(
        page.locator("#upload").get_by_label("Remove")
    ).first.click()
    expect(page.locator("#file-summary")).to_be_hidden(**LONG)
    content = b"prediction,reference\na,b\nc\n"
    page.locator("#upload input[type=file]").set_input_files(
        {"name": "bad.csv", "mimeType": "text/csv", "buffer": content}
    )
    # Gradio writes the name in one piece while the file goes up, and in two when it is there.
    expect(page.locator("#upload")).to_contain_text(re.compile(r"bad\s*\.csv"), **LONG)
    page.locator("#score-file").click()
    expect(page.locator(".toast-body").last).to_contain_text("line 3", **LONG)
    expect(page.locator("#file-summary")).to_be_hidden()


def use_example(number):
    def use(page):
        page.get_by_role("button", name=EXAMPLES[number].name).click()
        expect(page.locator("#code")).to_contain_text(EXAMPLES[number].candidate, **LONG)
        blind = EXAMPLES[number].name.startswith("Blind spot")
        words = "A blind spot." if blind else EXAMPLES[number].lesson.replace("*", "")[:30]
        expect(page.locator("#lesson")).to_contain_text(words, **LONG)

    return use


def ask_with_two_references(page):
    page.get_by_role("button", name="Add a reference").click()
    page.locator("#reference-2 textarea").fill("Rain put the streets under water.")
    expect(page.locator("#score")).to_contain_text("Press", **LONG)
    page.locator("#compare").click()
    expect(page.locator("#score .verdict")).to_have_text("No verdict", **LONG)


def ask_after_an_error(page):
    ask(page, "", "A cat slept.")
    expect(page.locator("#why, #lesson").locator("visible=true")).to_have_count(0)
    ask(page, "The cat slept.", "A cat slept.")


def compare_by_transport(page):
    page.locator("#compared-by").get_by_label("BaryScore").check()
    expect(page.locator("#plan svg")).to_be_visible(**LONG)
    expect(page.locator("#score .measure")).to_contain_text("(baryscore)", **LONG)
    expect(page.locator("#why, #lesson").locator("visible=true")).to_have_count(0)


def compare_by_inference(page):
    page.locator("#compared-by").get_by_label("MENLI").check()
    expect(page.locator("#score .measure")).to_contain_text("higher is closer (menli)", **LONG)
    expect(page.locator("#said")).to_contain_text("denied", **LONG)
    expect(page.locator("#why, #moved, #lesson").locator("visible=true")).to_have_count(0)


def contradict_by_inference(page):
    compare_by_inference(page)
    page.get_by_role("button", name="Blind spot: a negation").click()
    expect(page.locator("#score .verdict")).to_have_text("Each text denies the other", **LONG)
    page.get_by_text("Settings", exact=True).locator("visible=true").click()
    rule = page.get_by_label("Which of several references counts", exact=True)
    expect(rule.locator("visible=true").first).to_have_value("max: the closest reference")
    page.locator("#compared-by").get_by_label("BaryScore").check()
    expect(rule.locator("visible=true").first).to_have_value("min: the closest reference")
    compare_by_inference(page)


STATES = {
    "a contradiction by MENLI": (contradict_by_inference, "denies the other"),
    "by MENLI": (compare_by_inference, "unrelated texts"),
    "by BaryScore": (compare_by_transport, "unrelated texts"),
    "empty": (lambda page: ask(page, "", ""), "The candidate is empty"),
    **{example.name: (use_example(i), "unrelated") for i, example in enumerate(EXAMPLES)},
    "a copy": (lambda page: ask(page, "A cat sat.", "A cat sat."), "The same as a copy"),
    "one token": (lambda page: ask(page, "yes", "no"), "cannot be judged"),
    "unknown script": (lambda page: ask(page, "ᏣᎳᎩ ᎦᏬᏂ", "ᚠᚢᚦ ᚨᚱᚲ"), "cannot be judged"),
    "too long": (lambda page: ask(page, "word " * 90, "A cat."), "92 tokens, and at most 64"),
    "file scored": (score_the_sample, ""),
    "file refused": (refuse_a_file, ""),
    "two references": (ask_with_two_references, "is not known"),
    "after an error": (ask_after_an_error, "closer than unrelated texts"),
}


@pytest.mark.parametrize("state", STATES)
def test_a_state_can_be_read_and_fits(state, page):
    reach, words = STATES[state]
    reach(page)
    expect(page.locator("#score")).to_contain_text(words, **LONG)
    check(page)


def test_a_sample_changes_the_file_once(page):
    # A second change, which may come late, would stop the scoring that it finds at work.
    asked = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    page.get_by_role("tab", name="Score a file").click()
    page.locator("#sample").click()
    expect(page.locator("#candidate-column input")).to_have_value("prediction", **LONG)
    page.locator("#score-file").click()
    expect(page.locator("#file-summary")).to_be_visible(**LONG)
    events = [json.loads(each)["fn_index"] for each in asked if "sample.csv" in each]
    assert events and len(events) == len(set(events))


@pytest.mark.parametrize("width", [390])
def test_on_a_phone_the_answer_is_right_below_the_button(page, width):
    button, card = (page.locator(each).bounding_box() for each in ("#compare", "#score"))
    assert 0 <= card["y"] - button["y"] - button["height"] < 50
    check(page)
    compare_by_transport(page)
    check(page)
    score_the_sample(page)
    check(page)


def test_the_answer_is_above_the_fold(page):
    for part in ("#candidate", "#reference-1", "#compare", "#score", "#lesson"):
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] <= 800, part


def test_in_the_dark_all_can_be_read(page):
    page.emulate_media(color_scheme="dark")
    page.reload()
    page.locator("#score .verdict").wait_for()
    assert page.locator("body.dark").count()
    check(page)
    compare_by_transport(page)
    check(page)
    score_the_sample(page)
    check(page)


@contextmanager
def late(page, words):
    """What is asked first within is let through after it, and answered.

    The page checks an answer, and each edit, by a request of what it holds: `words` are in those
    that come last.
    """

    def is_check(response):
        return "/run/" in response.url and words in (response.request.post_data or "")

    def ask(route):
        asked.append(route)
        if len(asked) > 1:
            route.continue_()

    asked = []
    page.route("**/queue/join*", ask)
    with page.expect_response(is_check):
        yield
    with page.expect_response(is_check):
        asked[0].continue_()


def test_an_edit_clears_the_answer_even_one_that_is_on_its_way(page):
    box = page.locator("#candidate textarea")
    box.press("Backspace")
    expect(page.locator("#score .waiting")).to_be_visible(**LONG)
    expect(page.locator("#why, #lesson").locator("visible=true")).to_have_count(0)
    box.fill("The river was high.")
    with late(page, "Today."):
        page.locator("#compare").click()
        box.fill(PARAPHRASE.candidate + " Today.")
    expect(page.locator("#score .waiting")).to_contain_text("Press")


def test_a_late_answer_does_not_take_the_place_of_a_refusal(page):
    ask(page, "The river was high.", "The river was wide.")
    open_settings(page)
    with late(page, '"renyi_divergence",-1'):
        choose(page, MEASURE, "renyi_divergence")
        alpha = page.get_by_label("alpha", exact=True).locator("visible=true")
        alpha.fill("-1")
        alpha.press("Enter")  # which is refused
    expect(page.locator("#score .refused, #score .waiting")).to_have_count(1)
    expect(page.locator("#score")).not_to_contain_text("Comparing")
    expect(page.locator("#why, #lesson").locator("visible=true")).to_have_count(0)


def check(page):
    """Once colours have faded, all text can be read, and nothing reaches beyond the edge."""
    page.mouse.move(0, 0)
    for _ in range(40):
        page.wait_for_timeout(250)
        pale = [each for each in page.evaluate(CONTRASTS) if each[0] < LEAST]
        beyond = page.evaluate(BEYOND_THE_EDGE)
        if not pale and not beyond:
            return
    assert (pale, beyond) == ([], [])


def test_back_at_infolm_its_answer_is_shown_again(page):
    compare_by_transport(page)
    page.locator("#compared-by").get_by_label("InfoLM").check()
    expect(page.locator("#score .measure")).to_contain_text("fisher_rao_distance", **LONG)
    expect(page.locator("#drivers")).to_be_visible(**LONG)
    expect(page.locator("#moved").locator("visible=true")).to_have_count(0)
