"""Pictures of every view of the page, light and dark, into docs/images: a throw-away store, a real server, Chromium."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.browser.store import SPACE, fill  # noqa: E402
from tests.server.running import serving, tokens  # noqa: E402

from nacre.server.sessions import cookie_name  # noqa: E402

IMAGES = ROOT / "docs" / "images"
VIEWS = {
    "search": "search",
    "memory": "memory/ferry",
    "timeline": "timeline",
    "review": "review",
    "graph": "graph/memory/n3?depth=3",
    "journal": "journal",
    "health": "health",
}
SETTLED_MS = 1_500  # until charts and graphs are drawn


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder)
        fill(home / "memory.db")
        (token,) = tokens(home / "memory.db", ("ada", "admin", ()))
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with serving(home / "memory.db", home, NACRE_EMBEDDER="hashing", NACRE_SPACE=SPACE) as served:
            session = served.session(token)
            for scheme in ("light", "dark"):
                context = browser.new_context(
                    viewport={"width": 1000, "height": 700}, color_scheme="dark" if scheme == "dark" else "light"
                )
                context.add_cookies([{"name": cookie_name(served.url), "value": session, "url": served.url}])
                page = context.new_page()
                for name, address in VIEWS.items():
                    page.goto(f"{served.url}/#/{SPACE}/{address}")
                    if name == "search":
                        page.get_by_role("searchbox").fill("When does the ferry to the island leave?")
                    page.wait_for_timeout(SETTLED_MS)
                    page.screenshot(path=IMAGES / f"page-{name}-{scheme}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
