"""A real browser: Debian's Chromium, driven by Playwright. Nothing is mocked."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MILLISECONDS = 60_000


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium without a window; where there is none the tests are skipped, but not in CI."""
    found = shutil.which("chromium")
    if found is None:
        missing = "no chromium: install it, on Debian with `apt-get install chromium`"
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def width() -> int:
    """How wide the window is, in pixels."""
    return 1280


@pytest.fixture
def page(browser, width, space_url) -> Iterator[Page]:
    """The Space in a window of its own, loaded, with every other address out of reach.

    `page.elsewhere` lists the requests to other addresses, `page.problems` the errors of scripts.
    """
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="light")
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    page = context.new_page()
    page.elsewhere, page.problems = [], []

    def guard(route):
        if route.request.url.startswith((space_url, "data:", "blob:")):
            route.continue_()
        else:
            page.elsewhere.append(route.request.url)
            route.abort()

    context.route("**/*", guard)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(space_url)
    page.locator(".score").wait_for()
    yield page
    context.close()
