"""Each view's main task, in a real browser against a real server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, Request, Route, expect

from nacre import MemoryStore
from nacre.model import Link
from tests.browser.conftest import Opener, Site, Watched, opener
from tests.browser.store import HOSTILE, SPACE
from tests.server.running import serving, tokens

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = ("search", "memory/ferry", "timeline", "review", "graph/memory/n1", "journal", "health", "files", "settings")


def test_a_token_lets_in_and_signing_out_ends_it(context: BrowserContext, site: Site, watched: Watched) -> None:
    watched.allowed = {401}
    page = context.new_page()
    watched.watch(page, site.url)
    page.goto(site.url)
    page.get_by_label("Your token").fill("nonsense")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("not known")
    page.get_by_label("Your token").fill(site.token)
    page.keyboard.press("Enter")
    expect(page.get_by_role("searchbox")).to_be_focused()
    (cookie,) = context.cookies()
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    assert cookie["value"] not in site.token and site.token not in cookie["value"]
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Your token")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Your token")).to_be_visible()


def test_the_frame_is_there_before_the_script_and_keeps_what_was_typed(opened: Opener, context: BrowserContext) -> None:
    """The script is held back until something was typed."""
    held: list[Route] = []
    context.route(re.compile("/assets/main-"), lambda route: held.append(route))
    page = opened("search")
    box = page.get_by_role("searchbox")
    expect(box).to_be_focused()
    names = page.locator("header nav a").all_inner_texts()
    page.keyboard.type("ferry to the island")
    expect(page.locator("#shell")).to_be_visible()
    assert held
    other = opened("graph")
    expect(other.locator("header nav")).to_be_visible()
    expect(other.get_by_role("searchbox")).to_be_hidden()  # it belongs to one view
    other.close()
    context.unroute_all()  # which lets through what was held
    expect(page.locator("#shell")).to_have_count(0)
    expect(page.locator(".hits .row").first).to_contain_text("leaves at 11")
    expect(box).to_be_focused()
    page.keyboard.type(" leaves")
    expect(box).to_have_value("ferry to the island leaves")
    for name, link in zip(names, page.locator("header nav a").all(), strict=True):
        expect(link).to_have_text(re.compile(name))  # one of them has a badge behind it


def reads(request: Request, query: str) -> bool:
    """Whether it asks for the model's order of this query's hits."""
    sent = json.loads(request.post_data or "{}")
    return sent.get("query") == query and bool(sent["rerank"])


def test_hits_come_at_once_and_in_the_order_of_the_model_when_typing_stops(opened: Opener) -> None:
    """The model's order is stood for by the reverse of the server's."""
    page = opened("search")
    expect(page.get_by_role("heading", name="Newest")).to_be_visible()
    asked: list[tuple[str, bool]] = []

    def answer(route: Route) -> None:
        sent = json.loads(route.request.post_data or "")
        asked.append((sent["query"], sent["rerank"]))
        if not sent["rerank"] or sent["query"] != "the boiler service":
            route.continue_()
            return
        expect(first).to_contain_text("boiler service is booked")
        real = route.fetch()
        route.fulfill(response=real, json={**real.json(), "hits": real.json()["hits"][::-1]})

    first = page.locator(".hits .row").first
    page.route(re.compile("/recall$"), answer)
    with page.expect_request_finished(lambda request: reads(request, "the boiler service")):
        page.get_by_role("searchbox").press_sequentially("the boiler service", delay=0)
    expect(first).not_to_contain_text("boiler service is booked")
    assert asked.index(("the boiler service", False)) < asked.index(("the boiler service", True)) == len(asked) - 1


def test_a_question_finds_a_changed_fact_by_keyboard_and_no_address_has_the_question(opened: Opener) -> None:
    page = opened("search")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("When does the ferry to the island leave?")
    first = page.locator(".hits .row").first
    expect(first).to_contain_text("leaves at 11")
    expect(first).to_contain_text("was: The ferry to the island leaves at 9")
    expect(first.locator(".strength")).to_have_text(re.compile("strong|fair"))
    expect(first.locator("meter").first).to_be_visible()
    page.get_by_text("What an agent would read").click()
    expect(page.locator("pre")).to_contain_text("leaves at 11")
    expect(page.locator(".pack")).to_contain_text("tokens of 800")
    assert "ferry" not in page.url
    page.get_by_role("searchbox").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/memory/ferry$"))
    expect(page.locator(".full")).to_contain_text("leaves at 11")


@pytest.mark.slow
def test_filters_narrow_the_list_and_stay_in_the_address(opened: Opener) -> None:
    page = opened("search?tag=kitchen")
    rows = page.locator(".rows .row")
    expect(rows.first).to_contain_text("kitchen")
    page.get_by_label("Mentions").fill("Mira")
    page.keyboard.press("Tab")
    expect(page).to_have_url(re.compile("entity=Mira"))
    expect(rows).to_have_count(8)  # of 30 in the kitchen on this page; while it loads there are none
    expect(rows.filter(has_text="Mira")).to_have_count(8)
    page.get_by_role("button", name="Clear all").click()
    expect(rows.filter(has_text="harbour").first).to_be_visible()


@pytest.mark.slow
def test_an_edit_is_saved_explained_and_undone(opened: Opener) -> None:
    page = opened("memory/boiler")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Text", exact=True)).to_be_focused()
    page.get_by_label("Text", exact=True).fill("The boiler service is booked with Berg Heating.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".full")).to_contain_text("Berg Heating")
    expect(page.locator("ins").first).to_have_text("Berg Heating")
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".full")).to_contain_text("Holm and Sons")


@pytest.mark.slow
def test_what_is_forgotten_can_be_restored_and_the_key_undoes_it(opened: Opener) -> None:
    page = opened("memory/n7")
    page.get_by_role("button", name="Forget").click()
    expect(page.locator(".mark.warn")).to_have_text("in the trash")
    page.get_by_role("button", name="Restore").click()
    expect(page.get_by_role("button", name="Forget")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(page.locator(".mark.warn")).to_have_text("in the trash")
    page.keyboard.press("Control+z")  # an undo is not undone: what was done before it is
    expect(page.get_by_role("button", name="Forget")).to_be_visible()
    page.keyboard.press("Control+z")
    expect(page.locator(".toast").filter(has_text="nothing to undo")).to_be_visible()


@pytest.mark.slow
def test_two_browsers_see_each_others_changes_and_a_version_conflict_shows_both(
    opened: Opener, opened_elsewhere: Opener, watched: Watched
) -> None:
    watched.allowed = {412}
    mine, theirs = opened("memory/n12"), opened_elsewhere("memory/n12")
    for page, text in ((mine, "Mine stands here."), (theirs, "Theirs stands here.")):
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text", exact=True).fill(text)
    theirs.get_by_role("button", name="Save").click()
    expect(theirs.locator(".full")).to_contain_text("Theirs")
    expect(mine.get_by_text("changed this memory while you edit")).to_be_visible()
    mine.get_by_role("button", name="Save").click()
    expect(mine.get_by_role("alert")).to_contain_text("Theirs stands")
    mine.get_by_role("button", name="Save mine over it").click()
    expect(mine.locator(".full")).to_contain_text("Mine stands")
    expect(theirs.locator(".full")).to_contain_text("Mine stands")


@pytest.mark.slow
def test_review_is_decided_by_keys_and_undone_and_the_badge_counts(opened: Opener) -> None:
    page = opened("review")
    badge = page.locator(".badge")
    expect(page.locator(".side")).to_have_count(2)
    expect(page.locator("mark").first).to_be_visible()
    before = int((badge.inner_text()).split()[0])
    why = page.locator(".review > p.quiet").first.inner_text()
    assert not re.search("[0-9a-f]{8}-[0-9a-f]{4}|_model|update of", why), why
    item = page.locator(".review").get_attribute("data-item")
    page.keyboard.press("n")
    expect(page.locator(".toast")).to_contain_text("The newer one replaced the older")
    expect(badge).to_contain_text(str(before - 1))
    page.keyboard.press("Control+z")
    expect(badge).to_contain_text(str(before))
    expect(page.locator(f".review[data-item='{item}']")).to_be_visible()
    page.keyboard.press("l")
    expect(page.locator(f".review[data-item='{item}']")).to_have_count(0)
    expect(page.get_by_role("button", name="Newer holds")).to_be_visible()
    page.keyboard.press("m")
    expect(page.get_by_label("What they say together")).to_be_focused()
    page.get_by_label("What they say together").fill("The door code was changed from one to the other.")
    page.keyboard.press("Control+Enter")
    expect(badge).to_contain_text(str(before - 1))


@pytest.mark.slow
def test_the_journal_shows_what_blocks_an_undo(opened: Opener, site: Site) -> None:
    caller = site.served.caller(site.token)
    caller.remember("The lamp in the hall is broken.", SPACE, id="lamp")
    caller("PATCH", f"/v1/spaces/{SPACE}/memories/lamp", {"text": "The lamp in the hall works again."})
    page = opened("journal?actor=ada")
    page.locator(".rows a", has_text="Edited").first.click()
    expect(page.locator("ins").first).to_contain_text("works again")
    page.goto(f"{site.url}/#/{SPACE}/journal?actor=ada&kind=remember")
    page.locator(".rows a", has_text="Remembered: The lamp in the hall").first.click()
    expect(page.get_by_text("depend on it")).to_be_visible()
    page.get_by_role("button", name="Undo these too").click()
    expect(page.locator(".toast")).to_contain_text("Undone")
    page.goto(f"{site.url}/#/{SPACE}/journal?kind=undo")
    undone = page.locator(".row", has_text="Undone").first
    expect(undone.get_by_role("link", name=re.compile("^operation [0-9a-f]{8}$")).first).to_be_visible()
    assert caller("GET", f"/v1/spaces/{SPACE}/memories/lamp").status == 404


@pytest.mark.slow
def test_where_nothing_fits_the_page_says_so(context: BrowserContext, watched: Watched, tmp_path: Path) -> None:
    """With the shipped model: only a calibrated one knows which hits are weak."""
    store = tmp_path / "memory.db"
    with MemoryStore(store, space=SPACE) as opened_store:
        for text in ("The ferry leaves at nine", "The spare key hangs behind the clock", "Mira waters the tomatoes"):
            opened_store.remember(text, on_conflict="ignore")
    (token,) = tokens(store, ("ada", "reader", ()))
    with serving(store, tmp_path, NACRE_EMBEDDER="auto", NACRE_SPACE=SPACE) as served:
        page = opener(context, Site(served, token, served.session(token)), watched)("search")
        expect(page.get_by_role("searchbox")).to_be_focused()
        page.keyboard.type("What is the dividend of the zinc mine?")
        expect(page.get_by_text("Nothing fits")).to_be_visible()
        page.close()


def test_who_sees_one_space_alone_sees_its_health(context: BrowserContext, watched: Watched, tmp_path: Path) -> None:
    store = tmp_path / "memory.db"
    with MemoryStore(store, space=SPACE, embedder="hashing") as opened_store:
        opened_store.remember("The ferry leaves at nine")
    (token,) = tokens(store, ("ada", "reader", (SPACE,)))
    with serving(store, tmp_path, NACRE_EMBEDDER="hashing") as served:
        page = opener(context, Site(served, token, served.session(token)), watched)("health")
        expect(page.get_by_text("No problem was found.")).to_be_visible()
        expect(page.get_by_text("Vectors")).to_have_count(0)
        page.close()


@pytest.mark.slow
def test_the_server_filters_the_journal(opened: Opener, site: Site) -> None:
    caller = site.served.caller(site.token)
    for number in range(60):  # more than a page of other operations
        caller("POST", f"/v1/spaces/{SPACE}/memories/n20/{'pin' if number % 2 else 'unpin'}", {})
    page = opened("journal?kind=supersede")
    expect(page.locator(".rows")).to_contain_text("new timetable")
    page.get_by_label("Until").fill("2001-01-01")
    page.get_by_label("Until").press("Tab")
    expect(page.get_by_text("No operation fits these filters.")).to_be_visible()


@pytest.mark.slow
def test_the_timeline_says_what_was_changed_and_in_which_memory(opened: Opener, site: Site) -> None:
    caller = site.served.caller(site.token)
    caller("POST", f"/v1/spaces/{SPACE}/memories/boiler/tag", {"add": ["warm"], "why": "winter"})
    page = opened("timeline")
    row = page.locator(".row", has_text="The boiler service").filter(has_text="Tagged")
    expect(row).to_contain_text("tags")
    expect(row).to_contain_text("winter")
    expect(page.get_by_text("heights are square roots")).to_be_visible()


@pytest.mark.slow
def test_the_timeline_is_scrubbed_by_keys(opened: Opener) -> None:
    page = opened("timeline")
    expect(page.locator(".chart canvas")).to_be_visible()
    expect(page.get_by_role("heading", name="Stored")).to_be_visible()
    expect(page.get_by_text("A memory counts at the time that it is dated")).to_be_visible()
    page.get_by_role("slider").focus()
    page.keyboard.press("Home")
    expect(page.get_by_text("Nothing was written at that time.")).to_be_visible()


@pytest.mark.slow
def test_the_graph_is_drawn_and_says_why_when_there_is_nothing_to_draw(opened: Opener) -> None:
    page = opened("graph/memory/n1")
    expect(page.locator(".graph[data-drawn='3'] canvas").first).to_be_visible()
    page.get_by_label("Depth").select_option("3")
    expect(page.locator(".graph[data-drawn='5']")).to_be_visible()
    page.get_by_label("Relation").select_option("refines")
    expect(page.locator(".graph[data-drawn='2']")).to_be_visible()
    page.get_by_label("Relation").select_option("")
    page.get_by_label("Type").select_option("episodic")  # n1, n2 and n4 of n1 to n4; the boiler is semantic
    expect(page.locator(".graph[data-drawn='3']")).to_be_visible()
    page = opened("graph/memory/n40")
    expect(page.get_by_text("none of them is linked")).to_be_visible()


# Where the canvas has a colour of the style: the middle of all such pixels, in pixels of the page.
MIDDLE = """([name]) => {
  const canvas = document.querySelector('.graph canvas');
  const wanted = parseInt(getComputedStyle(document.documentElement).getPropertyValue(name).trim().slice(1), 16);
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data, width } = copy.getImageData(0, 0, canvas.width, canvas.height);
  const found = [];
  for (let at = 0; at < data.length; at += 4)
    if (data[at] * 65536 + data[at + 1] * 256 + data[at + 2] === wanted && data[at + 3] === 255) found.push(at / 4);
  const box = canvas.getBoundingClientRect();
  const mean = (values) => values.reduce((sum, each) => sum + each, 0) / values.length;
  const scale = box.width / canvas.width;
  return found.length && { count: found.length, x: box.x + scale * mean(found.map((at) => at % width)),
    y: box.y + scale * mean(found.map((at) => Math.floor(at / width))) };
}"""


# How many pixels of the canvas have the colour of links, more or less dark.
LINED = """() => {
  const canvas = document.querySelector('.graph canvas');
  const wanted = parseInt(getComputedStyle(document.documentElement).getPropertyValue('--edge').trim().slice(1), 16);
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  const near = (value, part) => Math.abs(value - part) < 6;
  let count = 0;
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] && near(data[at], wanted >> 16) && near(data[at + 1], (wanted >> 8) & 255)
        && near(data[at + 2], wanted & 255)) count++;
  return count;
}"""


@pytest.mark.slow
def test_a_memory_of_the_graph_is_found_dragged_and_opened(opened: Opener) -> None:
    page = opened("graph/memory/n1")
    expect(page.locator(".graph[data-settled]")).to_be_visible()
    centre = page.evaluate(MIDDLE, ["--accent"])
    page.mouse.move(centre["x"], centre["y"])
    page.mouse.down()
    page.mouse.move(centre["x"] + 60, centre["y"] + 40, steps=4)
    page.mouse.up()
    expect(page.locator(".graph[data-still]")).to_be_visible()  # it was dragged, and not opened
    moved = page.evaluate(MIDDLE, ["--accent"])
    assert abs(moved["x"] - centre["x"] - 60) < 3 and abs(moved["y"] - centre["y"] - 40) < 3
    zoom(page, -400, "2.7")  # what is under the pointer stays there
    assert abs(page.evaluate(MIDDLE, ["--accent"])["x"] - moved["x"]) < 3
    page.get_by_label("Find in the graph").fill("boiler")
    expect(page.locator(".graph[data-still][data-marked='1']")).to_be_visible()
    assert page.evaluate(MIDDLE, ["--accent"]) == 0  # the others are pale
    zoom(page, 4_000, "0.3")
    boiler = page.evaluate(MIDDLE, ["--third"])
    page.mouse.click(boiler["x"], boiler["y"])
    expect(page).to_have_url(re.compile("/memory/boiler$"))


@pytest.mark.slow
def test_a_large_space_is_drawn_before_it_is_laid_out(
    context: BrowserContext, watched: Watched, tmp_path: Path
) -> None:
    count, store = 2_100, tmp_path / "memory.db"
    with MemoryStore(store, space=SPACE, embedder="hashing") as opened_store:
        rows = [
            {
                "text": f"Crate {at} stands in row {at % 70}",
                "id": f"c{at}",
                "links": [Link(f"c{at // 2}")] if at else [],
            }
            for at in range(count)
        ]
        opened_store.remember_many(rows, on_conflict="ignore")
    (token,) = tokens(store, ("ada", "reader", ()))
    with serving(store, tmp_path, NACRE_EMBEDDER="hashing", NACRE_SPACE=SPACE) as served:
        page = opener(context, Site(served, token, served.session(token)), watched)("graph/space")
        expect(page.locator(f".graph[data-drawn='{count}']")).to_be_visible()
        first = page.evaluate(MIDDLE, ["--second"])
        assert first["count"] > 1_000
        assert page.evaluate(LINED) > 1_000
        expect(page.get_by_text("2,100 memories, 2,099 links")).to_be_visible()
        page.get_by_label("Find in the graph").fill("crate 77 stands")
        expect(page.locator(".graph[data-marked='1']")).to_be_visible()
        expect(page.locator(".graph[data-settled][data-still]")).to_be_visible()
        crate = page.evaluate(MIDDLE, ["--third"])
        page.mouse.move(crate["x"], crate["y"])
        zoom(page, -1_200, "20.1")  # nearer, until the memories stand apart
        crate = page.evaluate(MIDDLE, ["--third"])
        page.mouse.click(crate["x"], crate["y"])
        expect(page).to_have_url(re.compile("/memory/c77$"))
        page.close()


def zoom(page: Page, by: int, times: str) -> None:
    page.mouse.wheel(0, by)
    expect(page.locator(f".graph[data-still][data-zoom='{times}']")).to_be_visible()


@pytest.mark.slow
def test_health_shows_what_is_kept_and_what_the_doctor_finds(opened: Opener) -> None:
    page = opened("health")
    expect(page.locator(".figures")).to_contain_text("active")
    expect(page.get_by_role("heading", name="Doctor")).to_be_visible()
    expect(page.locator(".strength.ok").first).to_be_visible()


@pytest.mark.parametrize("name", sorted(HOSTILE))
@pytest.mark.slow
def test_hostile_texts_are_shown_as_text(name: str, opened: Opener) -> None:
    page = opened(f"memory/hostile-{name}")
    expect(page.locator(".full")).to_contain_text(HOSTILE[name].strip()[:60].replace("\x1b", "").split("[0m")[0][:40])
    assert page.evaluate("window.broken") is None
    assert page.locator("#injected").count() == 0


@pytest.mark.slow
def test_a_text_that_gives_orders_says_why_it_is_not_trusted(opened: Opener) -> None:
    row = opened("memory/hostile-orders").locator(".about div").filter(has_text="Why it is not trusted")
    expect(row.locator("dd")).to_contain_text("overrides earlier instructions")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.slow
def test_every_view_fits_a_narrow_screen(view: str, opened: Opener) -> None:
    page = opened(view)
    page.set_viewport_size({"width": 360, "height": 700})
    wait_for_view(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_accessible(view: str, scheme: str, opened: Opener) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed; run make web.")
    page = opened(view)
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    wait_for_view(page)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run().then((result) => result.violations)")
    serious = [
        (each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in ("serious", "critical")
    ]
    assert serious == []


def wait_for_view(page: Page) -> None:
    expect(page.locator("main h1").first).to_be_attached()
    expect(page.get_by_text("Loading…")).to_have_count(0)
