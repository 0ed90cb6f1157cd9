"""Import and export, settings and backups, in a real browser. These change the whole store: a server of their own."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import FilePayload, expect

from tests.browser.conftest import Opener, Site
from tests.browser.store import SPACE
from tests.waiting import wait_for

pytestmark = pytest.mark.slow


def notes() -> FilePayload:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("garden/beds.md", "# Beds\n\n- The north bed has leeks\n- The south bed has beans\n")
        archive.writestr("garden/broken.jsonl", '{"text": "Compost is turned in March"}\n{broken\n')
    return {"name": "garden.zip", "mimeType": "application/zip", "buffer": packed.getvalue()}


def test_a_file_is_looked_through_imported_and_taken_out_again(opened: Opener, site: Site) -> None:
    count = f"/v1/spaces/{SPACE}/count"
    caller = site.served.caller(site.token)
    before = caller("GET", count).result
    page = opened("files")
    page.get_by_label("File to import").set_input_files(notes())
    note = page.locator(".note", has_text="This would happen")
    expect(note.locator(".figures")).to_contain_text("3")
    expect(note).to_contain_text("cannot be read")
    assert caller("GET", count).result == before
    page.get_by_role("button", name="Import it").click()
    expect(page.get_by_text("is imported:")).to_be_visible()
    assert caller("GET", count).result == before + 3
    page.get_by_label("File to import").set_input_files(notes())
    expect(page.get_by_role("button", name="Nothing to import")).to_be_disabled()
    page.get_by_role("button", name="Cancel").click()
    page.keyboard.press("Control+z")
    expect(page.locator(".toast")).to_contain_text(re.compile("Undone: Imported"))
    assert caller("GET", count).result == before


def test_a_file_that_is_nothing_says_so(opened: Opener) -> None:
    page = opened("files")
    page.get_by_label("File to import").set_input_files(
        {"name": "cat.png", "mimeType": "image/png", "buffer": b"\x89PNG"}
    )
    expect(page.get_by_role("alert")).to_contain_text("no format that is known")


def test_a_download_can_be_imported_again(opened: Opener, tmp_path: Path) -> None:
    page = opened("files")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download").first.click()
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    assert file.name.startswith(SPACE) and file.stat().st_size > 1_000
    page.get_by_label("File to import").set_input_files(file)
    expect(page.get_by_role("button", name="Nothing to import")).to_be_disabled()


def test_settings_show_meaning_source_and_default(opened: Opener) -> None:
    page = opened("settings")
    line = page.locator("[data-key=embedder]")
    expect(line).to_contain_text("hashing")
    expect(line).to_contain_text("default: auto")
    expect(line).to_contain_text("NACRE_EMBEDDER")
    page.get_by_label("Find").fill("trash")
    expect(page.locator("[data-key=trash_days]")).to_be_visible()
    expect(line).to_have_count(0)
    page.get_by_label("Find").fill("")
    page.get_by_label("Only what differs").check()
    expect(line).to_be_visible()
    expect(page.locator("[data-key=trash_days]")).to_have_count(0)


def test_health_plans_maintenance_and_a_backup_brings_the_store_back(opened: Opener, site: Site) -> None:
    caller = site.served.caller(site.token)
    page = opened("health")
    page.get_by_role("button", name="What would each do now?").click()
    expect(page.locator("[data-job=decay] .would")).to_contain_text(re.compile("Nothing|would"))
    page.get_by_role("button", name="Make a backup now").click()
    expect(page.get_by_text("Copied and checked")).to_be_visible()
    caller.remember("Written after the backup.", SPACE, id="after")
    page.get_by_role("button", name="Restore…").first.click()
    page.get_by_role("button", name="Restore it").click()
    expect(page.get_by_text("the store before a restore")).to_be_visible()
    assert caller("GET", f"/v1/spaces/{SPACE}/memories/after").status == 404


def test_a_page_that_is_open_follows_a_store_that_is_restored(opened: Opener, site: Site) -> None:
    caller = site.served.caller(site.token)
    page = opened("search")
    first = page.locator(".rows .row").first
    expect(first).to_be_visible()
    job = caller("POST", "/v1/jobs/backup", {}).json["id"]
    wait_for(lambda: caller("GET", f"/v1/jobs/{job}").json["state"] == "done", "the backup")
    caller.remember("Gone with the restored store.", SPACE, on_conflict="ignore")
    expect(first).to_contain_text("Gone with the restored store.")
    name = caller("GET", f"/v1/jobs/{job}").json["result"]["name"]
    assert caller("POST", f"/v1/backups/{name}/restore", {}).status == 200
    expect(first).not_to_contain_text("Gone with the restored store.")
    caller.remember("Written into the restored store.", SPACE, on_conflict="ignore")
    expect(first).to_contain_text("Written into the restored store.")
