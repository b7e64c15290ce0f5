"""Fixtures for tests in a real browser: Debian's Chromium, driven by Playwright."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
FLAGS += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]  # only this machine
TIMEOUT_MILLISECONDS = 60_000


@pytest.fixture(scope="session")
def context() -> Iterator[BrowserContext]:
    """Headless Chromium. Without Chromium, the tests are skipped, or fail in CI."""
    program = shutil.which("chromium")
    if program is None:
        message = "Chromium is not installed. On Debian, run `apt-get install chromium`."
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(message)
        pytest.skip(message)
    expect.set_options(timeout=TIMEOUT_MILLISECONDS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        context = browser.new_context(color_scheme="light")  # one cache for all pages
        context.set_default_timeout(TIMEOUT_MILLISECONDS)
        yield context
        browser.close()


@pytest.fixture
def width() -> int:
    """Width of the window in pixels."""
    return 1280


@pytest.fixture
def scheme() -> str:
    """Preferred color scheme of the visitor."""
    return "light"


@pytest.fixture
def page(context, width, scheme, space_url) -> Iterator[Page]:
    """The loaded Space in a new window. Requests to other hosts and script errors fail the test."""
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    foreign_urls, problems = [], []

    def record_request(request):
        if not request.url.startswith((space_url, "data:", "blob:")):
            foreign_urls.append(request.url)

    page.on("request", record_request)
    page.on("pageerror", lambda error: problems.append(error.stack or str(error)))
    page.goto(space_url)
    page.locator("#score .done").wait_for()
    yield page
    page.close()
    # Gradio's drop-down lists still measure themselves after they have been removed.
    problems = [x for x in problems if not ("getBoundingClientRect" in x and "/assets/" in x)]
    assert (foreign_urls, problems) == ([], [])
