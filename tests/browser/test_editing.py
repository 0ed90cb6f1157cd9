"""What somebody has written is saved as meant, kept until it is, and shown to nobody else."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from nacre import MemoryStore
from nacre.model.validate import CHECKS, required_label
from tests.browser.conftest import Opener, Site, Watched, new_context, opener
from tests.browser.store import SPACE
from tests.server.running import Caller, serving, tokens

MEMORIES = f"/v1/spaces/{SPACE}/memories"
pytestmark = pytest.mark.slow


@pytest.fixture
def caller(site: Site) -> Caller:
    return site.served.caller(site.token)


def edit(page: Page, text: str) -> None:
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Text", exact=True).fill(text)


def test_what_others_changed_besides_the_text_stays_when_mine_is_saved(
    opened: Opener, caller: Caller, watched: Watched
) -> None:
    watched.allowed = {412}
    page = opened("memory/n30")
    edit(page, "Mine stands here.")
    caller("PATCH", f"{MEMORIES}/n30", {"tags": ["moved"], "title": "A new title", "importance": 0.9})
    page.get_by_role("button", name="Save").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("tags")
    expect(alert).to_contain_text("moved")
    expect(alert).to_contain_text("A new title")
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.locator(".full")).to_contain_text("Mine stands here.")
    stored = caller("GET", f"{MEMORIES}/n30").json
    assert (stored["tags"], stored["title"], stored["importance"]) == (["moved"], "A new title", 0.9)


def test_their_text_is_not_shown_as_replaced_where_only_tags_were_edited(
    opened: Opener, caller: Caller, watched: Watched
) -> None:
    watched.allowed = {412}
    page = opened("memory/n32")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Tags, by commas").fill("mine")
    caller("PATCH", f"{MEMORIES}/n32", {"text": "Their text stands here."})
    page.get_by_role("button", name="Save").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("They changed what follows.")
    expect(alert).to_contain_text("Their text stands here.")
    expect(alert).not_to_contain_text("yours below")
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.locator(".full")).to_contain_text("Their text stands here.")
    assert caller("GET", f"{MEMORIES}/n32").json["tags"] == ["mine"]


def test_what_is_written_while_an_edit_is_sent_is_kept(opened: Opener) -> None:
    page = opened("memory/n33")
    held: list[Route] = []
    page.route("**/memories/n33/edit", lambda route: held.append(route))
    edit(page, "The first half.")
    page.keyboard.press("Control+Enter")
    page.keyboard.type(" The second half.")
    held.pop().continue_()
    expect(page.locator(".toast")).to_contain_text("Saved.")
    expect(page.get_by_label("Text", exact=True)).to_have_value("The first half. The second half.")


def test_who_saves_over_a_forgotten_memory_learns_that_it_is_in_the_trash(
    opened: Opener, caller: Caller, watched: Watched
) -> None:
    watched.allowed = {412}
    page = opened("memory/n31")
    edit(page, "Mine stands here.")
    caller("DELETE", f"{MEMORIES}/n31")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("Somebody forgot this memory meanwhile: it is in the trash.")
    page.get_by_role("button", name="Save mine over it").click()
    expect(page.locator(".toast")).to_contain_text("The memory is in the trash; restore it to recall it.")


def test_a_tag_with_a_comma_survives_an_edit(opened: Opener, caller: Caller) -> None:
    caller.remember("The paint is in the shed.", SPACE, id="paint", tags=["red, green", '"old"'], on_conflict="ignore")
    page = opened("memory/paint")
    edit(page, "The paint is in the cellar.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".full")).to_contain_text("cellar")
    assert caller("GET", f"{MEMORIES}/paint").json["tags"] == ["red, green", '"old"']
    page.get_by_role("button", name="Edit").click()
    tags = page.get_by_label("Tags, by commas")
    tags.fill(f"{tags.input_value()}, dry")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".full")).to_be_visible()
    assert caller("GET", f"{MEMORIES}/paint").json["tags"] == ["red, green", '"old"', "dry"]


def test_an_importance_that_was_emptied_is_refused_and_not_taken_for_nothing(opened: Opener, caller: Caller) -> None:
    page = opened("memory/n32")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Importance").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".toast.bad")).to_contain_text("The importance is empty; give a number from 0 to 1.")
    assert caller("GET", f"{MEMORIES}/n32").json["importance"] > 0


def test_an_edit_is_kept_by_keys_and_links_that_lead_elsewhere(opened: Opener) -> None:
    page = opened("memory/n33")
    edit(page, "Half of a sentence")
    page.get_by_role("button", name="Save").focus()
    page.keyboard.press("3")
    expect(page).to_have_url(re.compile("/memory/n33$"))
    page.get_by_role("link", name="Journal").click()
    expect(page.locator(".toast")).to_contain_text("Your edit is not saved. It is kept")
    page.go_back()
    expect(page.get_by_label("Text", exact=True)).to_have_value("Half of a sentence")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".full")).not_to_contain_text("Half of a sentence")


def test_escape_leaves_an_edit_alone_and_closes_one_without_changes(opened: Opener) -> None:
    page = opened("memory/n35")
    page.get_by_role("button", name="Edit").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Edit")).to_be_focused()
    edit(page, "Twenty minutes of notes")
    page.keyboard.press("Escape")
    expect(page.locator(".toast")).to_contain_text("Your edit is not saved. Ctrl-Enter saves it, Cancel drops it.")
    expect(page.get_by_label("Text", exact=True)).to_have_value("Twenty minutes of notes")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".full")).to_contain_text("Twenty minutes of notes")
    expect(page.get_by_role("button", name="Edit")).to_be_focused()


def test_escape_leaves_a_merged_text_alone(opened: Opener) -> None:
    page = opened("review")
    page.get_by_role("button", name="Merge…").click()
    field = page.get_by_label("What they say together")
    page.keyboard.press("Escape")
    expect(field).to_have_count(0)
    page.get_by_role("button", name="Merge…").click()
    field.fill("The door code is in the safe.")
    page.keyboard.press("Escape")
    expect(page.locator(".toast")).to_contain_text("What you wrote is not saved.")
    expect(field).to_have_value("The door code is in the safe.")


def pin(page: Page, *ids: str) -> None:
    for id in ids:
        page.evaluate(f"location.hash = '#/{SPACE}/memory/{id}'")
        page.get_by_role("heading", name=f"Memory {id}").wait_for()
        page.get_by_role("button", name="Pin", exact=True).click()
        expect(page.locator(".toast", has_text="Pinned.").last).to_be_visible()
        expect(page.get_by_role("button", name="Unpin")).to_be_visible()


def take_back(page: Page) -> None:
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Control+z")


def is_pinned(caller: Caller, id: str) -> bool:
    return bool(caller("GET", f"{MEMORIES}/{id}").json["pinned"])


def test_an_undo_that_is_refused_can_be_done_with_what_depends_on_it_and_forgets_nothing(
    opened: Opener, caller: Caller, watched: Watched
) -> None:
    watched.allowed = {409}
    page = opened("search")
    pin(page, "n40", "n41")
    caller("POST", f"{MEMORIES}/n41/tag", {"add": ["later"]})
    for _ in range(2):  # it stays the next one
        take_back(page)
        refused = page.locator(".toast.bad").last
        expect(refused).to_contain_text("Not undone.")
        expect(refused).not_to_contain_text("--cascade")
        expect(page.locator(".toast.bad")).to_have_count(1)
    refused.get_by_role("button", name="Undo these too").click()
    expect(page.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    take_back(page)  # the undo of all is taken back: it was not done by this key
    expect(page.get_by_role("button", name="Unpin")).to_be_visible()
    take_back(page)
    expect(page.locator(".toast", has_text="Undone: Pinned.")).to_be_visible()
    assert not is_pinned(caller, "n40") and is_pinned(caller, "n41")


def test_what_was_undone_elsewhere_does_not_stand_in_the_way_of_what_was_done_before(
    opened: Opener, caller: Caller, watched: Watched
) -> None:
    watched.allowed = {409}
    page = opened("search")
    pin(page, "n42", "n43")
    (last, *_) = caller("GET", f"/v1/spaces/{SPACE}/operations", query={"limit": "1"}).result
    caller("POST", f"/v1/spaces/{SPACE}/operations/{last['operation']['batch']}/undo", {})
    take_back(page)
    expect(page.locator(".toast.bad")).to_contain_text("undone already")
    take_back(page)
    expect(page.locator(".toast", has_text="Undone: Pinned.")).to_be_visible()
    assert not is_pinned(caller, "n42")


def test_an_undo_of_several_operations_counts_as_one(opened: Opener, caller: Caller, tmp_path: Path) -> None:
    notes = tmp_path / "notes.zip"
    with ZipFile(notes, "w") as packed:
        packed.writestr("a.md", "# A\n\n- The winch needs oil\n")
        packed.writestr("b.md", "# B\n\n- The anchor chain was painted\n")
    page = opened("search")
    pin(page, "n44")
    for undone_by_key in (True, False):
        page.evaluate(f"location.hash = '#/{SPACE}/files'")
        page.get_by_label("File to import").set_input_files(notes)
        page.get_by_role("button", name="Import it").click()
        expect(page.get_by_text("is imported:")).to_be_visible()
        if undone_by_key:
            take_back(page)
        else:
            page.get_by_role("button", name="Undo the import").click()
        expect(page.locator(".toast", has_text=re.compile("^Undone: .*mport")).last).to_be_visible()
        page.evaluate(f"location.hash = '#/{SPACE}/search'")
        expect(page.get_by_role("searchbox")).to_be_visible()
        page.locator(".toast").get_by_label("Dismiss").last.click()
    take_back(page)
    expect(page.locator(".toast", has_text="Undone: Pinned.")).to_be_visible()
    assert not is_pinned(caller, "n44")


def sign_in(page: Page, token: str) -> None:
    page.get_by_label("Your token").fill(token)
    page.keyboard.press("Enter")


def test_an_edit_outlives_a_session_for_the_same_user_alone(
    opened: Opener, context: BrowserContext, site: Site, watched: Watched
) -> None:
    watched.allowed = {401, 403}
    (other,) = tokens(site.served.store, ("bea", "writer", ()))
    page = opened("memory/n34")
    edit(page, "Written by ada")
    context.clear_cookies()
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".toast").first).to_have_text(re.compile("Your session has ended; sign in again."))
    sign_in(page, site.token)
    expect(page.get_by_label("Text", exact=True)).to_have_value("Written by ada")
    context.clear_cookies()
    page.get_by_role("button", name="Save").click()
    sign_in(page, other)
    expect(page.get_by_role("searchbox")).to_be_visible()
    expect(page.get_by_label("Space")).to_have_value("personal@bea")
    page.goto(f"{site.url}/#/{SPACE}/memory/n34")
    expect(page.locator(".full")).not_to_contain_text("Written by ada")


def test_the_next_person_finds_no_question_and_their_own_space(
    context: BrowserContext, site: Site, watched: Watched
) -> None:
    token, other = tokens(site.served.store, ("cem", "writer", ()), ("dana", "writer", ()))
    own = Site(site.served, token, site.served.session(token))  # the others need the session of `site`
    page = opener(context, own, watched)("search")
    page.get_by_role("searchbox").fill("Where is the spare key?")
    expect(page.locator(".hits .row").first).to_be_visible()
    page.get_by_label("Remember something").fill("Half of a note")
    page.get_by_role("button", name="Sign out").click()
    sign_in(page, other)
    expect(page.get_by_role("searchbox")).to_have_value("")
    expect(page.get_by_label("Remember something")).to_have_value("")
    expect(page.get_by_label("Space")).to_have_value("personal@dana")
    expect(page.get_by_label("Space").locator("option", has_text="personal@dana")).to_have_count(1)


def test_the_page_says_what_became_of_a_text(opened: Opener) -> None:
    page = opened("search")
    field = page.get_by_label("Remember something")
    for text, told in (
        ("The buoy at the sandbank is red.", "Remembered."),
        ("The buoy at the sandbank is red.", "Known already; it was not stored again."),
        ("The pier answers at ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8", "looked like a secret"),
    ):
        field.fill(text)
        page.keyboard.press("Control+Enter")
        expect(page.locator(".toast", has_text=told)).to_be_visible()
        expect(field).to_have_value("")


def test_an_undo_is_of_the_space_in_which_it_was_done(opened: Opener, caller: Caller) -> None:
    page = opened("search")
    held: list[Route] = []
    page.route(re.compile("/memories$"), lambda route: held.append(route))
    page.get_by_label("Remember something").fill("The tide table hangs at the pier.")
    with page.expect_request(re.compile("/memories$")):
        page.keyboard.press("Control+Enter")
    page.evaluate("location.hash = '#/elsewhere/health'")
    expect(page.get_by_label("Space")).to_have_value("elsewhere")
    assert held
    page.unroute_all()  # which lets through what was held
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(page.locator(".toast", has_text="Undone: Remembered.")).to_be_visible()
    found = caller("GET", MEMORIES, query={"limit": "5"}).json["memories"]
    assert not any("tide table" in each["text"] for each in found)


def test_a_key_that_is_held_down_decides_one_item(opened: Opener) -> None:
    page = opened("review")
    waiting = page.locator(".review h1 .quiet")
    expect(page.locator(".side")).to_have_count(2)
    before = int(waiting.inner_text().split()[0])
    page.keyboard.down("n")
    expect(page.locator(".toast")).to_be_visible()
    expect(waiting).to_have_text(f"{before - 1} waiting")
    for _ in range(5):
        page.keyboard.down("n")  # held down
    page.keyboard.up("n")
    page.keyboard.press("l")
    expect(waiting).to_have_text(f"{before - 2} waiting")
    expect(page.locator(".toast")).to_have_count(1)


def test_more_of_the_list_stays_when_somebody_writes_and_says_who_must_sign_in(
    opened: Opener, context: BrowserContext, caller: Caller, watched: Watched
) -> None:
    watched.allowed = {401}
    page = opened("search")
    rows = page.locator(".rows .row")
    for shown in (30, 60):
        expect(rows).to_have_count(shown)
        page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(90)
    caller.remember("A note by somebody else", SPACE, on_conflict="ignore")
    expect(rows.first).to_contain_text("A note by somebody else")
    expect(rows).to_have_count(90)
    context.clear_cookies()
    page.get_by_role("button", name="Show more").click()
    expect(page.locator(".toast").first).to_contain_text("Your session has ended; sign in again.")
    expect(page.get_by_label("Your token")).to_be_visible()


def test_an_address_that_cannot_be_read_says_so(opened: Opener) -> None:
    for view in ("memory/100%", "constructor"):
        page = opened(view)
        expect(page.get_by_text("There is no such view.")).to_be_visible()


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Tokyo"])
def test_a_date_is_the_same_in_every_zone(
    browser: Browser, site: Site, caller: Caller, watched: Watched, zone: str
) -> None:
    id = f"fair-{zone[:4].lower()}"
    caller.remember(
        f"The fair is at the quay ({zone}).", SPACE, id=id, occurred_at="2026-03-30", valid_from="2026-03-31",
        valid_until="2026-04-05", on_conflict="ignore",
    )  # fmt: skip
    caller("PATCH", f"{MEMORIES}/{id}", {"valid_until": "2026-04-07"})
    context = new_context(browser, timezone_id=zone)
    page = opener(context, site, watched)(f"memory/{id}")
    about = page.locator("dl.about")
    for day in ("Mar 30, 2026", "Mar 31, 2026", "Apr 7, 2026"):
        expect(about).to_contain_text(day)
    expect(page.locator(".changes", has_text="valid until").first).to_contain_text("Apr 5, 2026")
    context.close()


def test_a_memory_whose_id_means_a_folder_can_be_read_and_forgotten(
    context: BrowserContext, watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids like this were taken once."""
    store = tmp_path / "memory.db"
    with MemoryStore(store, space=SPACE, embedder="hashing") as opened_store, monkeypatch.context() as before:
        before.setitem(CHECKS, "id", required_label)
        opened_store.remember("The ferry leaves at nine", id="..")
        opened_store.remember("The spare key hangs behind the clock", id="key")
    (token,) = tokens(store, ("ada", "admin", ()))
    with serving(store, tmp_path, NACRE_EMBEDDER="hashing") as served:
        page = opener(context, Site(served, token, served.session(token)), watched)("memory/..")
        edit(page, "The ferry leaves at ten")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".full")).to_contain_text("leaves at ten")
        page.get_by_role("button", name="Forget").click()
        expect(page.locator(".toast", has_text="Forgotten")).to_be_visible()
        kept = served.caller(token)("GET", MEMORIES).json["memories"]
        assert [each["id"] for each in kept] == ["key"]
        page.close()
