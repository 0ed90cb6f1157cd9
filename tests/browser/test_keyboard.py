"""The main task of every view by the keyboard alone, in a store of 2,000 memories; and `nacre web` as a process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import PATIENCE_MS, Opener, Site, Watched, new_context
from tests.browser.store import SPACE, fill
from tests.mcp.agents import environment
from tests.server.running import PATIENCE, serving, tokens

pytestmark = pytest.mark.slow
MOST_TABS = 120
NAMED = """() => { const at = document.activeElement;
  return at.getAttribute('aria-label') || at.closest('label')?.textContent || at.textContent || at.tagName; }"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("large")
    fill(home / "memory.db", 2_000)
    (token,) = tokens(home / "memory.db", ("ada", "admin", ()))
    with serving(home / "memory.db", home, NACRE_EMBEDDER="hashing", NACRE_SPACE=SPACE) as served:
        yield Site(served, token, served.session(token))


def tab_to(page: Page, name: str) -> None:
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if re.search(name, page.evaluate(NAMED)):
            return
    raise AssertionError(f"the key Tab does not lead to {name!r}")


def show(page: Page, key: str, heading: str) -> None:
    """Another view, by its key. A field that has the focus would take the key."""
    expect(page.locator("main h1").first).to_be_attached()
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press(key)
    expect(page.locator("main h1").first).to_contain_text(heading)
    expect(page.get_by_text("Loading…")).to_have_count(0)


def test_a_fact_is_found_edited_and_put_back(opened: Opener) -> None:
    page = opened("review")
    expect(page.locator(".side").first).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("Who does the boiler service?")
    expect(page.locator(".hits .row").first).to_contain_text("Holm and Sons")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator(".full")).to_contain_text("Holm and Sons")
    tab_to(page, "^Edit$")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Text", exact=True)).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type("The boiler service is booked with Berg Heating.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".full")).to_contain_text("Berg Heating")
    page.keyboard.press("Control+z")
    expect(page.locator(".full")).to_contain_text("Holm and Sons")


def test_every_other_view_by_its_key(opened: Opener, tmp_path: Path) -> None:
    page = opened("search")
    show(page, "2", "Timeline")
    tab_to(page, "dated then, .* forgotten")
    page.keyboard.press("Home")
    expect(page.get_by_text("Nothing was written at that time.")).to_be_visible()

    show(page, "3", "Review")
    expect(page.locator(".side").first).to_be_visible()
    badge = page.locator(".badge")
    before = badge.inner_text()
    page.keyboard.press("o")
    expect(page.locator(".toast")).to_contain_text("The older one replaced the newer")
    expect(badge).not_to_have_text(before)
    page.keyboard.press("Control+z")
    expect(badge).to_have_text(before)

    show(page, "4", "Graph")
    expect(page.get_by_label("Tag").locator("option")).not_to_have_count(1)
    tab_to(page, "^Tag")
    page.keyboard.press("ArrowDown")
    expect(page).to_have_url(re.compile("/graph/tag/"))

    show(page, "5", "Journal")
    tab_to(page, "^Undone")
    page.keyboard.press("Enter")
    tab_to(page, "^Undo this$")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("Undone")

    show(page, "6", "Health")
    tab_to(page, "^Make a backup now$")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Copied and checked")).to_be_visible()

    show(page, "7", "Import and export")
    (tmp_path / "shed.md").write_text("# Shed\n\n- The shed has a new lock\n")
    tab_to(page, "^File to import$")
    with page.expect_file_chooser() as chooser:
        page.keyboard.press("Space")
    chooser.value.set_files(tmp_path / "shed.md")
    expect(page.get_by_role("button", name="Import it")).to_be_visible()
    tab_to(page, "^Import it$")
    page.keyboard.press("Enter")
    expect(page.get_by_text("is imported:")).to_be_visible()

    show(page, "8", "Settings")
    tab_to(page, "^Find")
    page.keyboard.type("decay_rate")
    expect(page.locator(".setting")).to_have_count(1)


def test_spaces_are_gone_through_by_the_arrow_keys(opened: Opener, site: Site) -> None:
    caller = site.served.caller(site.token)
    for name in ("a1", "a2", "a3"):
        caller.remember("The pier opens at nine.", name)
    page = opened("search")
    page.evaluate("location.hash = '#/a1/search'")
    choice = page.get_by_label("Space")
    expect(choice).to_have_value("a1")
    expect(choice.locator("option", has_text="a3")).to_have_count(1)
    choice.focus()
    for name, key in (("a2", "ArrowDown"), ("a3", "ArrowDown"), ("a2", "ArrowUp")):
        page.keyboard.press(key)
        expect(page).to_have_url(re.compile(f"#/{name}/search$"))
        expect(page.locator(".rows")).to_contain_text("The pier opens")
        expect(choice).to_be_focused()


def test_who_is_asked_again_answers_or_declines_by_keys(opened: Opener) -> None:
    page = opened("memory/n50")
    for _ in range(2):
        page.get_by_role("button", name="Redact…").focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("alertdialog", name="Redact this memory")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.get_by_role("alertdialog")).to_have_count(0)
        expect(page.get_by_role("button", name="Redact…")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, "^Redact for good$")
    page.keyboard.press("Enter")
    expect(page.locator(".toast")).to_contain_text("gone for good")
    expect(page.get_by_role("button", name="Restore")).to_be_visible()
    expect(page.locator(".memory .buttons > button:focus")).to_have_count(1)


def test_the_whole_space_can_be_drawn(opened: Opener) -> None:
    page = opened("graph/space")
    expect(page.locator(".graph[data-drawn] canvas").first).to_be_visible()
    page.get_by_label("Find in the graph").fill("boiler")
    expect(page.locator(".graph")).to_have_attribute("data-marked", "1")


def test_nacre_web_lets_one_browser_in_once_and_ends_when_told(
    browser: Browser, context: BrowserContext, watched: Watched, tmp_path: Path
) -> None:
    env = {**os.environ, **environment(tmp_path, NACRE_EMBEDDER="hashing", NACRE_SPACE=SPACE)}
    command = [sys.executable, "-m", "nacre", "--store", str(tmp_path / "own.db"), "web", "--no-open"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env, cwd=tmp_path
    )
    try:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        assert re.match(r"http://127\.0\.0\.1:\d+/#login=", link)
        watched.allowed = {401}
        page = context.new_page()
        watched.watch(page, link.partition("/#")[0])
        page.goto(link)
        expect(page.get_by_text("This space holds nothing yet.")).to_be_visible()
        assert "login" not in page.url
        expect(page.get_by_role("button", name="Sign out")).to_have_count(0)
        page.get_by_label("Remember something").fill("The page remembers this.")
        page.get_by_role("button", name="Remember").click()
        expect(page.locator(".rows")).to_contain_text("The page remembers this.")
        page.reload()
        expect(page.locator(".rows")).to_contain_text("The page remembers this.")
        second = new_context(browser)
        late = second.new_page()
        late.goto(link)
        expect(late.get_by_text("used before")).to_be_visible(timeout=PATIENCE_MS)
        second.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
        expect(page.get_by_text("no connection")).to_be_visible()
        page.close()
        watched.errors.clear()  # the browser tells that the stream of changes was cut off
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        if process.stdout is not None:
            process.stdout.close()
