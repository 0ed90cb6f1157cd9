"""Drives the Chromium of the operating system; without one the tests are skipped. Each page must stay without errors
and may ask nobody but its own server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from nacre.server.sessions import cookie_name
from tests.browser.store import SPACE, fill
from tests.server.running import Served, serving, tokens

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_MS = 30_000  # for what takes a moment on an idle machine
FAILED = "Failed to load resource"  # what a browser itself says of an answer with an error


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One process runs them all, so that one browser suffices."""
    folder = Path(__file__).parent
    for item in items:
        if item.path.parent == folder:
            item.add_marker(pytest.mark.xdist_group("browser"))
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="There is no Chromium here; install the package chromium."))


@dataclass
class Watched:
    """What the pages of a test did wrong; `allowed` are statuses of answers that the test provokes."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    allowed: set[int] = field(default_factory=set)

    def watch(self, page: Page, url: str) -> None:
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.note(message.type, message.text))
        page.on(
            "request",
            lambda request: None if request.url.startswith((url, "data:")) else self.foreign.append(request.url),
        )

    def note(self, kind: str, text: str) -> None:
        expected = FAILED in text and any(f" {status} " in text for status in self.allowed)
        if kind in ("error", "warning") and not expected:
            self.errors.append(text)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Not for the session: while it runs, tests of other modules could start no event loop of their own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Storing the long text takes longer than all the rest, and only slow tests look at it."""
    file = tmp_path_factory.mktemp("browser") / "memory.db"
    fill(file, long_text=any(item.get_closest_marker("slow") for item in request.session.items))
    return file


@dataclass(frozen=True)
class Site:
    """`session` is the cookie of a page that signed in: doing that in every test would exceed its limit."""

    served: Served
    token: str
    session: str

    @property
    def url(self) -> str:
        return self.served.url


@pytest.fixture(scope="module")
def site(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over a copy of the filled store, for the tests of one module."""
    home = tmp_path_factory.mktemp("site")
    store = home / "memory.db"
    shutil.copy(filled, store)
    (token,) = tokens(store, ("ada", "admin", ()))
    with serving(store, home, NACRE_EMBEDDER="hashing", NACRE_SPACE=SPACE) as served:
        yield Site(served, token, served.session(token))


@pytest.fixture
def watched() -> Iterator[Watched]:
    watched = Watched()
    yield watched
    assert watched.errors == []
    assert watched.foreign == []


def new_context(browser: Browser, timezone_id: str = "UTC") -> BrowserContext:
    context = browser.new_context(viewport={"width": 1100, "height": 800}, timezone_id=timezone_id)
    context.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    return context


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = new_context(browser)
    yield context
    context.close()


Opener = Callable[[str], Page]


def opener(context: BrowserContext, site: Site, watched: Watched) -> Opener:
    cookie = {"name": cookie_name(site.url), "value": site.session, "url": site.url}
    context.add_cookies([{**cookie, "httpOnly": True, "sameSite": "Strict"}])  # type: ignore[typeddict-item]

    def open_view(view: str) -> Page:
        page = context.new_page()
        watched.watch(page, site.url)
        page.goto(f"{site.url}/#/{SPACE}/{view}")
        return page

    return open_view


@pytest.fixture
def opened(context: BrowserContext, site: Site, watched: Watched) -> Opener:
    """Opens a view, signed in."""
    return opener(context, site, watched)


@pytest.fixture
def opened_elsewhere(browser: Browser, site: Site, watched: Watched) -> Iterator[Opener]:
    """As `opened`, in another browser: nothing is shared but the server."""
    context = new_context(browser)
    yield opener(context, site, watched)
    context.close()
