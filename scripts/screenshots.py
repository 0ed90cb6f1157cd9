"""Pictures of every view of the page, into docs/images: a throw-away store, a real server, Chromium.

Light and dark; `screenshots.py --narrow FOLDER` makes those of a narrow window, only to be looked at.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.server.running import Served, serving, tokens  # noqa: E402

from nacre import MemoryStore  # noqa: E402
from nacre.hooks.inject import Injected  # noqa: E402
from nacre.server.sessions import cookie_name  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SPACE = "workshop"
QUESTION = "Which port does the staging database use?"
# By view: its address, and what is there when it is drawn.
VIEWS = {
    "search": ("search", ".hits .row"),
    "memory": ("memory/port", ".full"),
    "timeline": ("timeline", ".chart[data-drawn]"),
    "review": ("review", ".side"),
    "graph": ("graph/memory/api?depth=3", ".graph[data-drawn]"),
    "journal": ("journal", ".rows .row"),
    "health": ("health", ".chart[data-drawn]"),
    "files": ("files", ".exports .row"),
    "settings": ("settings", ".setting"),
}
PATIENCE_MS = 60_000
DAY = 86_400.0
NOTES = (
    ("The staging database listens on port 5433.", "port", "semantic", ["staging", "database"]),
    ("Releases are cut on Thursdays, after the smoke tests.", "release", "procedural", ["release"]),
    ("The smoke tests need the environment variable SMOKE_TARGET.", "smoke", "procedural", ["release", "tests"]),
    ("Ines looks after the billing service, Tomas after the search index.", "owners", "semantic", ["team"]),
    ("The public API answers in JSON, and dates are always UTC.", "api", "semantic", ["api"]),
    ("Rate limits of the public API are 100 requests a minute for each key.", "limits", "semantic", ["api"]),
    ("The API gateway was moved behind the load balancer in spring.", "gateway", "episodic", ["api", "network"]),
    ("A migration that locked the orders table stopped the shop for nine minutes.", "lock", "episodic", ["database"]),
    ("Always create indexes concurrently on the orders table.", "indexes", "procedural", ["database"]),
    ("The invoices are rendered by a worker that needs 2 GB of memory.", "invoices", "semantic", ["billing"]),
    ("Mira prefers short pull requests, one topic each.", "mira", "semantic", ["team", "style"]),
    ("Tests that touch the clock use the fixture frozen_time.", "clock", "procedural", ["tests"]),
    ("The search index is rebuilt every night at two.", "nightly", "semantic", ["search"]),
    ("The nightly rebuild of the search index takes about forty minutes.", "minutes", "semantic", ["search"]),
    ("The design of the checkout page is in the folder design/checkout.", "design", "semantic", ["design"]),
    ("Feature flags are removed two weeks after a launch.", "flags", "procedural", ["release"]),
)
LINKS = (
    ("limits", "api", "refines"), ("gateway", "api", "related"), ("indexes", "lock", "derived_from"),
    ("smoke", "release", "supports"), ("minutes", "nightly", "refines"), ("flags", "release", "related"),
    ("lock", "port", "related"), ("gateway", "limits", "supports"), ("release", "api", "related"),
    ("clock", "smoke", "supports"), ("design", "flags", "related"), ("owners", "nightly", "related"),
    ("owners", "invoices", "related"), ("mira", "release", "related"), ("port", "api", "supports"),
)  # fmt: skip


def fill(file: Path) -> None:
    """Some weeks of a small team's memory."""
    now = [time.time() - 40 * DAY]
    with MemoryStore(file, space=SPACE, actor="claude-code", clock=lambda: now[0]) as store:
        store.remember(
            "The staging database listens on port 5432.", id="port-old", tags=["staging"], on_conflict="ignore"
        )
        for number, (text, id, type, tags) in enumerate(NOTES):
            now[0] += 2.1 * DAY if number % 3 else 0.2 * DAY
            store.remember(text, id=id, type=type, tags=tags, source="conversation", on_conflict="ignore")
            if number % 2:
                Injected(store, f"session {number}").add([store.get_many([id])[0]], 90 + 35 * (number % 5))
        store.supersede("port-old", "port", why="moved when the replica was added")
        for source, target, rel in LINKS:
            store.link(source, target, rel)
        now[0] += DAY
        store.edit(
            "invoices", text="The invoices are rendered by a worker that needs 4 GB of memory.", why="it ran out"
        )
        store.tag("nightly", add=["schedule"])
        store.remember("Lunch was late on Tuesday.", id="lunch", on_conflict="ignore")
        store.forget("lunch")
        store.remember("Deploys to production need two approvals.", id="two", on_conflict="ignore")
        store.remember("Deploys to production need one approval.", id="one", on_conflict="ignore")
        store.link("one", "two", "conflicts", data={"kind": "contradiction", "reason": "two and one differ"})


def picture(page: Page, served: Served, name: str, file: Path) -> None:
    address, drawn = VIEWS[name]
    page.goto(f"{served.url}/#/{SPACE}/{address}")
    if name == "search":
        page.get_by_role("searchbox").fill(QUESTION)
    expect(page.locator(drawn).first).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("Loading…")).to_have_count(0, timeout=PATIENCE_MS)
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    page.mouse.move(0, 0)
    page.screenshot(path=file)


def pictures(
    browser: Browser, served: Served, session: str, folder: Path, scheme: str, *, width: int, height: int
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if scheme == "dark" else "light"
    )
    context.add_cookies([{"name": cookie_name(served.url), "value": session, "url": served.url}])
    page = context.new_page()
    for name in VIEWS:
        picture(page, served, name, folder / f"page-{name}-{scheme}.png")
    context.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        fill(home / "memory.db")
        (token,) = tokens(home / "memory.db", ("ada", "admin", ()))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with serving(home / "memory.db", home, NACRE_EMBEDDER="auto", NACRE_SPACE=SPACE) as served:
            session = served.session(token)
            if sys.argv[1:2] == ["--narrow"]:
                pictures(browser, served, session, Path(sys.argv[2]), "narrow", width=360, height=700)
            else:
                IMAGES.mkdir(exist_ok=True)
                for scheme in ("light", "dark"):
                    pictures(browser, served, session, IMAGES, scheme, width=1000, height=700)
        browser.close()


if __name__ == "__main__":
    main()
