"""A real browser: Debian's Chromium, driven by Playwright. Nothing is mocked."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # nothing else can be reached
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


@pytest.fixture(scope="session")
def context(browser) -> Iterator[BrowserContext]:
    """What the pages of all tests share: above all the cache, which a route would turn off."""
    context = browser.new_context(color_scheme="light")
    context.set_default_timeout(PATIENCE_MILLISECONDS)
    yield context
    context.close()


@pytest.fixture
def page(context, width, space_url) -> Iterator[Page]:
    """The Space in a window of its own, loaded.

    `page.elsewhere` lists the requests to other addresses, `page.problems` the errors of scripts.
    """
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.elsewhere, page.problems = [], []

    def note(request):
        if not request.url.startswith((space_url, "data:", "blob:")):
            page.elsewhere.append(request.url)

    page.on("request", note)
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.goto(space_url)
    page.locator(".score").wait_for()
    yield page
    page.close()
