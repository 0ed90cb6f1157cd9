"""Files that are dropped on the page or downloaded: every format by one call, a rehearsal first, and a way back."""

from __future__ import annotations

import io
import json
import os
import shutil
import socket
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import pytest

from nacre import MemoryStore
from nacre.access.capabilities import Role
from nacre.errors import ArchiveRefused, InvalidInput, UnknownName
from nacre.server import files
from nacre.server.api import ServerApi
from nacre.server.files import export_download, import_upload, safe_name, temporary_prefix
from nacre.server.jobs import Jobs
from nacre.server.users import Identity, Registry
from tests.server.running import Caller, Served, serving, tokens
from tests.transfer.chroma_folders import folder, houkai
from tests.waiting import wait_for


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", space="team", embedder="hashing") as opened:
        yield opened


def zipped(entries: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries.items():
            archive.writestr(name, text)
    return out.getvalue()


def test_an_export_comes_back_as_it_was(store: MemoryStore, tmp_path: Path) -> None:
    store.remember("The tide table hangs in the hall", id="tide", tags=["hall"])
    for format in files.EXPORTS:
        (tmp_path / format).mkdir()
        made = export_download(store, format, tmp_path / format, 1_800_000_000.0)
        assert made.name.startswith("team-2027") and made.file.stat().st_size
        with MemoryStore(":memory:", space="team", embedder="hashing") as other:
            done = import_upload(other, made.file)
            assert (done.new, done.broken) == (1, 0), format
            memory = other.get("tide")
            assert memory is not None and memory.text == "The tide table hangs in the hall"
    with pytest.raises(UnknownName):
        export_download(store, "nacr", tmp_path, 0.0)


def test_a_rehearsal_changes_nothing_and_counts_the_same(store: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    file.write_text(
        "".join(json.dumps({"text": f"The crate {n} is on shelf {n}"}) + "\n" for n in range(5)) + "{broken\n"
    )
    would = import_upload(store, file, dry_run=True)
    assert store.count() == 0 and (would.kind, would.new, would.broken) == ("jsonl", 5, 1)
    done = import_upload(store, file)
    assert (done.new, done.broken, done.faults) == (5, 1, would.faults) and store.count() == 5
    assert (import_upload(store, file).new, store.count()) == (0, 5)


def test_a_zip_of_notes_is_known_again_when_a_note_was_edited(store: MemoryStore, tmp_path: Path) -> None:
    first = {"house/roof.md": "# Roof\n\n- The gutter leaks\n- The tiles are new\n", "house/plan.png": "no text"}
    for number, text in enumerate((first, {**first, "house/roof.md": "# Roof\n\n- The gutter is mended\n"})):
        folder = tmp_path / str(number)  # an upload has another place each time
        folder.mkdir()
        (folder / "notes.zip").write_bytes(zipped(text))
        done = import_upload(store, folder / "notes.zip")
        counts = (done.files, done.new, done.changed, done.removed)
        assert counts == ((1, 2, 0, 0) if number == 0 else (1, 0, 1, 1))
    texts = [memory.text for memory in store.list_recent(10)]
    assert texts == ["The gutter is mended"]
    assert "upload" not in repr(store.list_recent(10)) and str(tmp_path) not in repr(store.list_recent(10))


def test_a_file_in_a_zip_is_imported_as_it_would_be_alone(store: MemoryStore, tmp_path: Path) -> None:
    inside = {"log.txt": b"in no format", ".hidden.md": b"- A hidden note\n", "bad.csv": b"Thing\nrope\n"}
    for format in ("nacre", "csv", "jsonl"):
        with MemoryStore(":memory:", space="team", embedder="hashing") as other:
            other.remember(f"The {format} crate is on the quay", id=f"crate-{format}", title="A crate")
            made = export_download(other, format, tmp_path, 1_800_000_000.0)
        inside[f"all/{format}{made.file.suffix}"] = made.file.read_bytes()
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, content in inside.items():
            archive.writestr(name, content)
        archive.writestr("roof.md", "# Roof\n\n- The gutter leaks\n")
    done = import_upload(store, tmp_path / "all.zip")
    assert (done.files, done.new, done.broken, done.left_out) == (4, 4, 1, {"in no known format": 1})
    assert [fault for fault in done.faults if "bad.csv was not taken: no column of it" in fault]
    for format in ("nacre", "csv", "jsonl"):
        memory = store.get(f"crate-{format}")
        assert memory is not None and memory.title == "A crate", format


def test_one_of_several_collections_of_chroma_is_chosen(store: MemoryStore, tmp_path: Path) -> None:
    folder(tmp_path / "c", alice=[houkai("a", "The ferry is late")], bob=[houkai("b", "The bus is on time")])
    shutil.make_archive(str(tmp_path / "chroma"), "zip", tmp_path, "c")
    file = tmp_path / "chroma.zip"
    with pytest.raises(InvalidInput, match=r"^chroma.zip holds 2 collections of Chroma \(alice, bob\).*in a terminal"):
        import_upload(store, file)
    shutil.rmtree(tmp_path / "chroma.zip.unpacked")
    assert import_upload(store, file, collections=["bob"]).new == 1
    assert [memory.text for memory in store.list_recent()] == ["The bus is on time"]


def test_what_an_import_remarks_names_no_option_of_the_command_line(store: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("text,Colour\nThe rope is long,red\n,blue\n")
    done = import_upload(store, file)
    assert (done.new, done.broken) == (1, 1) and "Colour" in done.notes[0]
    assert "--" not in repr((done.notes, done.faults))


def test_a_zip_writes_nowhere_else_and_follows_no_link(store: MemoryStore, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.md").write_text("- A text outside\n")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("../../escaped.md", "- It stays inside\n")
        link = zipfile.ZipInfo("link.md")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "../../secret.md")
    (inside / "a.zip").write_bytes(out.getvalue())
    assert import_upload(store, inside / "a.zip").new == 1
    assert not (tmp_path / "escaped.md").exists() and [each.text for each in store.list_recent()] == ["It stays inside"]


def test_what_cannot_be_imported_says_so(store: MemoryStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, content: bytes, kind: type[Exception] = InvalidInput) -> str:
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_bytes(content)
        with pytest.raises(kind) as refused:
            import_upload(store, folder / name)
        return str(refused.value)

    assert "no format that is known" in refuse("picture.png", b"\x89PNG....")
    assert "more than 60 deep" in refuse("deep.zip", zipped({"a/" * 400 + "x.md": "- A note"}))
    assert not any(tmp_path.rglob("*-files"))
    assert "no file in a known format" in refuse("empty.zip", zipped({"a.png": "x"}))
    assert refuse("cut.nacre", b"\x1f\x8b\x08\x00broken", ArchiveRefused).startswith("cut.nacre was not taken: ")
    table = refuse("things.csv", b"Thing,Colour\nrope,red\n", ArchiveRefused)
    assert "it has: Thing, Colour" in table and "`text` in the first line" in table and "--" not in table
    only = refuse("table.zip", zipped({"a/things.csv": "Thing,Colour\nrope,red\n"}))
    assert "a/things.csv was not taken: no column of it" in only
    damaged_chroma = refuse("store.zip", zipped({"c/chroma.sqlite3": "no database at all" * 100}), ArchiveRefused)
    assert damaged_chroma.startswith("store.zip was not taken: ") and "SQLite" in damaged_chroma
    damaged = bytearray(zipped({"a.md": "- one\n" * 5_000}))
    damaged[60:70] = b"0123456789"
    assert "cannot be unpacked" in refuse("damaged.zip", bytes(damaged))
    monkeypatch.setattr(files, "MOST_BYTES", 1_000)
    assert "import it in parts" in refuse("bomb.zip", zipped({"a.md": "- one\n" * 5_000}))
    assert store.count() == 0


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("notes.md", "notes.md"),
        ("../../etc/passwd", "passwd"),
        ("C:\\x\\a b.csv", "a b.csv"),
        ("..", "upload"),
        ("", "upload"),
    ],
)
def test_a_name_stays_in_its_folder(name: str, kept: str) -> None:
    assert safe_name(name) == kept


# Over HTTP


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def callers(place: Path) -> Iterator[tuple[Served, Caller, Caller]]:
    admin, reader = tokens(place / "memory.db", ("ada", "admin", ()), ("bea", "reader", ("team",)))
    with serving(place / "memory.db", place, NACRE_EMBEDDER="hashing", NACRE_SPACE="team") as served:
        yield served, served.caller(admin), served.caller(reader)


def finished(call: Caller, job: Any) -> Any:
    def look() -> Any:
        state = call("GET", f"/v1/jobs/{job['id']}").json
        return None if state["state"] == "running" else state

    state = wait_for(look, "the end of the job")
    assert state["state"] == "done", state
    return state["result"]


def test_a_file_is_imported_undone_and_downloaded(callers: tuple[Served, Caller, Caller]) -> None:
    _, admin, reader = callers
    body = b"# Stove\n\n- The stove needs dry wood\n- The chimney is swept in May\n"
    query = {"name": "stove.md"}
    assert reader("POST", "/v1/spaces/team/jobs/import", body, query).status == 403
    of_one = admin("POST", "/v1/tokens", {"user": "ada", "role": "admin", "spaces": ["team"]}).json["secret"]
    refused = Caller(admin.url, of_one)("POST", "/v1/spaces/team/jobs/import", body, query)
    assert refused.status == 403 and "admin in all spaces" in refused.json["message"]
    rehearsed = finished(admin, admin("POST", "/v1/spaces/team/jobs/import", body, {**query, "dry_run": "true"}).json)
    assert rehearsed["new"] == 2 and rehearsed["operations"] == []
    done = finished(admin, admin("POST", "/v1/spaces/team/jobs/import", body, query).json)
    assert done["new"] == 2 and len(done["operations"]) == 1
    sent = reader("GET", "/v1/spaces/team/export")
    assert sent.status == 200 and 'filename="team-' in sent.headers["content-disposition"]
    assert sent.body[:2] == b"\x1f\x8b" and int(sent.headers["content-length"]) == len(sent.body)
    assert reader("GET", "/v1/spaces/home/export").status == 404
    assert admin("POST", f"/v1/spaces/team/operations/{done['operations'][0]}/undo", {}).status == 200
    assert admin("GET", "/v1/spaces/team/count").result == 0
    assert {"archive", "markdown"} <= set(reader("GET", "/v1/formats").json["imported"])


def test_a_backup_is_made_and_restored_while_the_server_runs(callers: tuple[Served, Caller, Caller]) -> None:
    served, admin, reader = callers
    admin.remember("The anchor lies at the slipway", id="anchor")
    revoked = admin("POST", "/v1/tokens", {"user": "bea", "role": "reader"}).json
    made = finished(admin, admin("POST", "/v1/jobs/backup", {}).json)["name"]
    admin.remember("The anchor was painted", id="paint")
    assert admin("DELETE", f"/v1/tokens/{revoked['token']['id']}").status == 200
    admin("POST", "/v1/users", {"name": "cleo"})
    newer = admin("POST", "/v1/tokens", {"user": "cleo", "role": "reader"}).json
    assert reader("GET", "/v1/backups").status == reader("POST", f"/v1/backups/{made}/restore", {}).status == 403
    (note,) = admin("GET", "/v1/backups").result
    assert note["name"] == made and not note["replaced"]
    for name in ("nothing.db", "..%2Fmemory.db"):
        assert admin("POST", f"/v1/backups/{name}/restore", {}).status == 400
    assert admin("GET", "/v1/spaces/team/memories/paint").status == 200
    assert admin("POST", f"/v1/backups/{made}/restore", {}).result == made
    assert admin("GET", "/v1/spaces/team/memories/paint").status == 404
    assert reader("GET", "/v1/spaces/team/memories/anchor").status == 200
    by_token = [served.caller(each["secret"])("GET", "/v1/me").status for each in (revoked, newer)]
    assert by_token == [401, 200]  # a copy brings memories back, not tokens
    assert "cleo" in {each["name"] for each in admin("GET", "/v1/users").result}
    replaced = next(each["name"] for each in admin("GET", "/v1/backups").result if each["replaced"])
    assert admin("POST", f"/v1/backups/{replaced}/restore", {}).status == 200
    assert admin("GET", "/v1/spaces/team/memories/paint").status == 200
    with MemoryStore(served.store, space="team", embedder="hashing"):  # somebody else has it open
        refused = admin("POST", f"/v1/backups/{made}/restore", {})
    assert refused.status == 503 and "memory.db" in refused.json["message"]
    assert admin("GET", "/v1/spaces/team/memories/paint").status == 200
    shutil.rmtree(served.store.parent / "backups")


def test_names_that_become_the_same_do_not_replace_each_other(store: MemoryStore, tmp_path: Path) -> None:
    file = tmp_path / "unpacked"
    file.write_bytes(zipped({"C#.md": "- A note on sharps\n", "C$.md": "- A note on dollars\n"}))
    assert import_upload(store, file).new == 2
    assert len(safe_name("文" * 300 + ".md").encode()) <= 200


def test_a_key_belongs_to_what_was_uploaded_and_no_file_is_left_behind(tmp_path: Path) -> None:
    store, temporary = tmp_path / "s.db", tmp_path / "temporary"
    temporary.mkdir()
    (token,) = tokens(store, ("ada", "admin", ()))
    with serving(store, tmp_path, NACRE_EMBEDDER="hashing", TMPDIR=str(temporary)) as served:
        caller = served.caller(token)
        path, key = "/v1/spaces/team/jobs/import?name=n.jsonl", "one-upload-0123456789"
        first = caller("POST", path, b'{"text": "The first row"}\n', idempotency_key=key)
        second = caller("POST", path, b'{"text": "Another row"}\n', idempotency_key=key)
        assert (first.status, second.status) == (202, 409)
        finished(caller, first.json)
        again = caller("POST", path, b'{"text": "The first row"}\n', idempotency_key=key)
        assert again.json == first.json
        assert caller("GET", "/v1/spaces/team/export", query={"format": "xyz"}).status == 400
        assert caller("GET", "/v1/spaces/team/export").status == 200
        wait_for(lambda: not any(temporary.glob("nacre-*")))  # an export is removed after it was sent
        kept = caller.remember("A row")
        for version in ("9" * 5_000, "9" * 30):
            sent = caller("PATCH", f"/v1/spaces/team/memories/{kept['id']}", {"title": "t"}, if_match=f'"{version}"')
            assert sent.status == 400


@pytest.mark.slow
def test_a_job_or_an_export_that_fails_leaves_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with MemoryStore(":memory:", space="team", embedder="hashing") as store:
        backend = store.acting_as("server").store
        root, jobs = Identity("root", Role.ADMIN, (), "1"), Jobs(backend, store.now)
        (tmp_path / "sent").write_text("- A note\n")
        api = ServerApi(root, store, Registry(backend, store.now), jobs, tmp_path / "sent")
        jobs.close()
        with pytest.raises(RuntimeError):
            api.start_import("a.md")
        jobs.demand_none("restore a backup")

        def fail(_store: MemoryStore, file: Path) -> None:
            file.write_text("half of it")
            raise InvalidInput("The disk is full; make room.")

        monkeypatch.setitem(cast("dict[str, object]", files.EXPORTS), "csv", (".csv", fail))
        with pytest.raises(InvalidInput, match="disk is full"):
            api.export("csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_what_a_killed_server_left_behind_goes_with_the_next_start(tmp_path: Path) -> None:
    held = tmp_path / "temporary"
    held.mkdir()
    (token,) = tokens(tmp_path / "s.db", ("ada", "admin", ()))
    with serving(tmp_path / "s.db", tmp_path, new_interpreter=True, TMPDIR=str(held)) as served:
        place = urlsplit(served.url)
        with socket.create_connection((place.hostname, place.port), timeout=60) as sending:
            head = f"Authorization: Bearer {token}\r\nHost: {place.netloc}\r\nContent-Length: 1000"
            sending.sendall(f"POST /v1/spaces/x/jobs/import?name=a.md HTTP/1.1\r\n{head}\r\n\r\nThe first".encode())
            wait_for(lambda: any(file.read_bytes() for file in held.iterdir()), "a part of the upload")
            served.process.kill()
            served.process.wait()
    mine = held / f"{temporary_prefix('export')}x"  # of a process that lives
    elsewhere = [held / f"nacre-upload-00000000-{number}-files" for number in (1, 2)]
    for each in (mine, *elsewhere):
        each.mkdir()
    os.utime(elsewhere[0], (0, 0))
    assert len(list(held.iterdir())) == 4
    with serving(tmp_path / "s.db", tmp_path, TMPDIR=str(held)):
        assert set(held.iterdir()) == {mine, elsewhere[1]}
