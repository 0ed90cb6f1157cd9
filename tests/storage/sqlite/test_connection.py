"""Threads, descriptors and races on one file."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import (
    NotAStore,
    SchemaMismatch,
    StorageError,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from nacre.lifecycle import doctor
from nacre.settings import Settings
from nacre.storage.sqlite import SQLiteBackend, connection, schema
from nacre.storage.sqlite.backup import restore
from nacre.storage.sqlite.connection import make_private
from nacre.storage.sqlite.damage import one_snapshot
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_path
from tests.embedders import WordBag
from tests.former_model import TEXTS, fill, model, settle


def descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors where Linux shows them")
def test_many_stores_opened_and_closed_leave_no_descriptor_behind(tmp_path: Path) -> None:
    for number in range(3):
        with MemoryStore(tmp_path / f"{number}.db", embedder=WordBag()) as store:
            store.remember("x")
    before = descriptors()
    for number in range(40):
        with MemoryStore(tmp_path / f"{number}.db", embedder=WordBag()) as store:
            store.remember("x")
    assert descriptors() <= before


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors where Linux shows them")
def test_threads_that_end_take_their_connections_with_them(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        before = descriptors()
        for number in range(60):
            thread = threading.Thread(target=store.remember, args=(f"thread {number}",))
            thread.start()
            thread.join()
        assert store.count() == 60
        assert descriptors() <= before + 6


@pytest.mark.slow
def test_threads_remember_recall_and_forget_at_once_without_losing_anything(tmp_path: Path) -> None:
    faults: list[BaseException] = []
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:

        def work(number: int) -> None:
            try:
                for step in range(15):
                    kept = store.remember(f"thread {number} step {step} unique{number}x{step}")
                    found = store.recall(f"unique{number}x{step}", k=3)
                    assert kept.id in [hit.memory.id for hit in found]
                    if step % 3 == 0:
                        store.forget(kept.id)
            except BaseException as fault:  # noqa: BLE001 - a thread's failure must reach the test
                faults.append(fault)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert (store.count(), store.count(include_trashed=True)) == (60, 90)
        assert store.health(thorough=True).problems == ()


OPEN_AT_ONCE = """
import sys
from nacre import MemoryStore
with MemoryStore(sys.argv[1], embedder="hashing") as store:
    store.remember(f"from process {sys.argv[2]}")
"""


@pytest.mark.slow
def test_processes_that_create_one_store_at_the_same_moment_all_succeed(tmp_path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", OPEN_AT_ONCE, tmp_path / "s.db", str(i)], stderr=subprocess.PIPE)
        for i in range(6)
    ]
    assert [(process.communicate()[1], process.returncode) for process in started] == [(b"", 0)] * 6
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        assert store.count() == 6


FORKED = """
import os, sys
from nacre import MemoryStore
with MemoryStore(sys.argv[1], embedder="hashing") as store:
    store.remember("from the parent before")
    child = os.fork()
    if child == 0:
        store.remember("from the child")
        os._exit(0 if store.recall("child", strategy="keyword") else 1)
    store.remember("from the parent after")
    assert os.waitpid(child, 0)[1] == 0
    assert store.count() == 3
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_and_its_parent_both_go_on_writing(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", FORKED, tmp_path / "s.db"], capture_output=True)
    assert (done.stderr, done.returncode) == (b"", 0)
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        assert store.count() == 3
        assert store.health(thorough=True).problems == ()


def opened(path: Path | str) -> MemoryStore:
    return MemoryStore(path, embedder=WordBag())


def filled(path: Path, count: int = 50) -> Path:
    with opened(path) as store:
        store.remember_many([f"memory number {i} " + "word " * 50 for i in range(count)])
    return path


def test_a_directory_gets_a_store_inside(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        store.remember("x")
    assert (tmp_path / "nacre.db").is_file()
    with opened(f"{tmp_path}/new/") as store:
        store.remember("x")
    assert (tmp_path / "new" / "nacre.db").is_file()


def test_the_backend_itself_refuses_a_directory(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="it is a directory"):
        SQLiteBackend(tmp_path)


def test_missing_folders_are_made(tmp_path: Path) -> None:
    with opened(tmp_path / "a" / "b" / "s.db") as store:
        store.remember("x")
    assert (tmp_path / "a" / "b" / "s.db").is_file()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreUnreachable, match="Check the path"):
        opened(tmp_path / "file" / "s.db")


@pytest.mark.parametrize(
    "content",
    [b"just some text, longer than a header " * 99, b"short", b"\x00" * 5000, b"SQLite format 3\x00" + b"\xff" * 500],
)
def test_another_file_is_refused_and_left_as_it_was(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "s.db"
    file.write_bytes(content)
    with pytest.raises(NotAStore, match="Restore a backup, or choose another file"):
        opened(file)
    assert file.read_bytes() == content
    assert [each.name for each in tmp_path.iterdir()] == ["s.db"]


def test_a_foreign_database_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    with sqlite3.connect(file) as foreign:
        foreign.execute("CREATE TABLE memory(id)")
    foreign.close()
    content = file.read_bytes()
    with pytest.raises(NotAStore, match="another program"):
        opened(file)
    assert file.read_bytes() == content


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "s.db").touch()
    with opened(tmp_path / "s.db") as store:
        assert store.count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5, 0.9])
def test_a_truncated_store_is_told_whatever_is_asked(tmp_path: Path, share: float) -> None:
    file = filled(tmp_path / "s.db", 200)
    with file.open("rb+") as raw:
        raw.truncate(int(file.stat().st_size * share))
    with pytest.raises(NotAStore), opened(file) as store:
        store.list_recent(1000)
        store.recall("memory")
        store.remember("x")
        problems = store.health(thorough=True).problems
        raise NotAStore(file, problems[0])


@pytest.mark.slow
def test_a_damaged_page_is_told_by_the_examination(tmp_path: Path) -> None:
    file = filled(tmp_path / "s.db", 300)
    with file.open("rb+") as raw:
        raw.seek(4096 * 20)
        raw.write(os.urandom(4096 * 8))
    try:
        with opened(file) as store:
            problems = store.health(thorough=True).problems
    except NotAStore as error:
        problems = (str(error),)
    assert problems
    assert "nacre doctor --fix" in problems[0] and "backup" in problems[0]


@pytest.mark.parametrize("version", [1, 99, 0])
def test_another_schema_is_refused_unchanged_and_the_export_named(tmp_path: Path, version: int) -> None:
    file = filled(tmp_path / "s.db", 1)
    raw = apsw.Connection(str(file))
    raw.pragma("user_version", version)
    raw.close()
    before = file.read_bytes()
    with pytest.raises(SchemaMismatch, match=rf"schema {version};.*`nacre export` with that version"):
        opened(file)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("part", "other", "same"),
    [
        ("seq_to INTEGER,", "", False),
        ("INDEX memory_accessed ON memory(space,", "INDEX memory_accessed ON memory(", False),
        ("-- A space,", "-- Some space,", True),
        ("    worded INTEGER", "  worded  INTEGER", True),
    ],
)
def test_any_change_of_a_statement_is_another_schema(part: str, other: str, same: bool) -> None:
    assert part in schema.STATEMENTS
    assert (schema.digest(schema.STATEMENTS.replace(part, other)) == schema.CURRENT) is same


@pytest.mark.slow
def test_the_limit_of_pages_reads_as_a_full_disk_and_changes_nothing(tmp_path: Path) -> None:
    with opened(filled(tmp_path / "s.db")) as store:
        driver = store.backend._connections.get()  # type: ignore[attr-defined]
        driver.pragma("max_page_count", driver.pragma("page_count"))
        before = (store.count(), store.journal(limit=None))
        with pytest.raises(StoreFull, match="nothing was changed"):
            store.remember_many(["another " * 100 for _ in range(100)])
        assert (store.count(), store.journal(limit=None)) == before
        driver.pragma("max_page_count", 1_000_000)
        store.remember("room again")
        assert store.count() == before[0] + 1
        assert store.health(thorough=True).problems == ()


@pytest.mark.parametrize("how", ["remember_many", "import"])
def test_a_long_operation_on_a_full_disk_says_what_is_kept_and_one_undo_takes_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr("nacre.engine.operation_parts.PART_GROWTH", 1)
    for module in ("memory_store", "engine.undo", "transfer.import_archive"):
        monkeypatch.setattr(f"nacre.{module}.PART", 16)
    texts = [f"{number} boats " + "word " * 40 for number in range(160)]
    (tmp_path / "texts.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts), "utf-8")
    with opened(filled(tmp_path / "s.db")) as store:
        driver, before = store.backend._connections.get(), store.count()  # type: ignore[attr-defined]

        def leave_room(pages: int) -> None:
            driver.pragma("max_page_count", driver.pragma("page_count") + pages)

        def write() -> object:
            return (
                store.remember_many(texts) if how == "remember_many" else import_path(store, tmp_path / "texts.jsonl")
            )

        leave_room(40)
        ways = {"import": "Free some space and repeat it to go on, or `", "remember_many": "Free some space; `"}
        with pytest.raises(StoreFull, match=rf"is kept\. {ways[how]}") as full:
            write()
        kept, batch = store.count() - before, store.journal()[0].operation.batch
        assert 0 < kept < 160 and f"`nacre undo {batch[:8]}` takes that back" in str(full.value)
        leave_room(1_000_000)
        store.undo(any_actor=True)
        assert store.count() == before
        write()
        assert store.count() == before + 160
        store.undo(any_actor=True)
        assert store.count() == before
        assert store.health(thorough=True).problems == ()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if (
        not mount
        or subprocess.run([mount, "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], capture_output=True).returncode
    ):
        pytest.skip("this machine does not let a test mount a disk of its own")
    yield disk
    subprocess.run(["umount", "-l", disk], check=True)


@pytest.mark.slow
def test_a_full_disk_says_so_and_keeps_what_was_there(small_disk: Path) -> None:
    with opened(small_disk / "s.db") as store:
        store.remember("the first")
        with pytest.raises(StoreFull, match="Free some space"):
            for number in range(1000):
                store.remember(f"filler {number} " + "word " * 500)
        assert store.recall("first")[0].memory.text == "the first"
        assert len(store.journal(limit=None)) == store.count()
        assert store.health(thorough=True).problems == ()


@contextmanager
def no_file_may_grow() -> Iterator[None]:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, hard))  # SQLite shortens a file of its own to 3 bytes first
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_where_no_file_may_grow_a_store_is_read_by_every_thread_and_written_again_later(tmp_path: Path) -> None:
    file = filled(tmp_path / "s.db", 3)
    answers: list[str] = []

    def ask() -> None:
        answers.append(store.list_recent()[0].text)

    with no_file_may_grow(), opened(file) as store:
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert answers == [store.list_recent()[0].text] * 4
        assert store.health(thorough=True).problems == ()
    with opened(file) as store:
        with no_file_may_grow():
            assert store.count() == 3
        store.remember("room again")
        assert store.count() == 4


READ_LOCK = """
import fcntl, sys
with open(sys.argv[1], "rb") as file:
    fcntl.lockf(file, fcntl.LOCK_SH, 510, 0x40000002)  # as SQLite locks a file that it reads
    print("locked", flush=True)
    sys.stdin.readline()
"""


def test_where_no_file_may_grow_two_that_waited_for_a_third_do_not_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = filled(tmp_path / "s.db", 1)
    answers: list[str] = []
    waiting = dict[int, int]()  # how often each thread has tried
    both_wait = threading.Event()
    pause = time.sleep

    def note_that_it_waits(seconds: float) -> None:
        thread = threading.get_ident()
        waiting[thread] = waiting.get(thread, 0) + 1
        if len(waiting) == 2 and min(waiting.values()) > 2:
            both_wait.set()
        pause(seconds)

    def ask() -> None:
        answers.append(store.list_recent()[0].text)

    third = [sys.executable, "-c", READ_LOCK, str(file)]
    with no_file_may_grow(), opened(file) as store:
        with subprocess.Popen(third, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
            assert reader.stdout is not None
            assert reader.stdout.readline() == b"locked\n"
            monkeypatch.setattr(time, "sleep", note_that_it_waits)
            threads = [threading.Thread(target=ask) for _ in range(2)]
            for thread in threads:
                thread.start()
            assert both_wait.wait(60)
            reader.communicate(b"\n")
        for thread in threads:
            thread.join()
    assert len(answers) == 2


def test_where_no_file_may_grow_the_log_that_a_crash_left_is_read_too(tmp_path: Path) -> None:
    with opened(filled(tmp_path / "s.db", 1)) as store:
        store.remember("only in the log")
        for end in ("", "-wal"):
            shutil.copy(tmp_path / f"s.db{end}", tmp_path / f"left.db{end}")
    with no_file_may_grow(), opened(tmp_path / "left.db") as store:
        assert "only in the log" in [memory.text for memory in store.list_recent()]


def test_on_a_full_disk_a_store_opens_and_answers_and_a_write_says_why_not(small_disk: Path) -> None:
    filled(small_disk / "s.db", 3)
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
        while file.write(b"x" * 512):
            pass
    with opened(small_disk / "s.db") as store:
        assert store.count() == 3
        assert store.recall("memory number 1", k=1)
        with pytest.raises(StoreFull, match="nothing was changed"):
            store.remember("no room for this")
        filler.unlink()
        store.remember("room again")
        assert store.count() == 4


def test_a_store_cannot_be_made_on_a_full_disk(small_disk: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "filler").write_bytes(b"x" * 1_000_000)
    with pytest.raises(StorageError):
        opened(small_disk / "s.db")


def test_a_read_only_disk_is_told_on_writing(small_disk: Path) -> None:
    filled(small_disk / "s.db", 3)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    with pytest.raises(StoreReadOnly, match="read-only"), opened(small_disk / "s.db") as store:
        store.remember("x")


def test_a_disk_made_read_only_under_an_open_store_still_answers(small_disk: Path) -> None:
    with opened(small_disk / "s.db") as store:
        kept = store.remember("something")
        store.backend._connections.get().pragma("query_only", 1)  # type: ignore[attr-defined]
        assert store.recall("something")[0].memory.id == kept.id
        with pytest.raises(StoreReadOnly):
            store.remember("x")


def test_a_writer_that_never_ends_is_told_after_the_patience(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.2)
    with opened(filled(tmp_path / "s.db", 3)) as store:
        other = apsw.Connection(str(tmp_path / "s.db"))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="nothing was changed"):
            store.remember("x")
        assert store.recall("memory number 1", k=1)[0].memory.access_count == 0
        other.execute("ROLLBACK")
        other.close()
        store.remember("x")
        assert store.count() == 4


def test_a_waiting_writer_tries_again_every_few_milliseconds_however_long_it_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(filled(tmp_path / "s.db", 3)) as store:
        other = apsw.Connection(str(tmp_path / "s.db"))
        other.execute("BEGIN IMMEDIATE")
        pauses: list[float] = []

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 200:
                other.execute("ROLLBACK")

        monkeypatch.setattr("nacre.storage.sqlite.connection.time.sleep", pause)
        store.remember("x")
        other.close()
        assert len(pauses) == 200
        assert max(pauses) <= 0.005


def test_every_connection_overwrites_what_it_deletes_and_keeps_cache_and_log_small(tmp_path: Path) -> None:
    expected = {
        "cache_size": -8192, "temp_store": 2, "synchronous": 1, "secure_delete": 1, "journal_size_limit": 16 << 20,
    }  # fmt: skip
    connections = connection.Connections(tmp_path / "s.db")
    writing, reading = connections.get(), connections._connect_to_read()
    assert reading is not None
    for opened in (writing, reading):
        assert {name: opened.pragma(name) for name in expected} == expected
    reading.close()
    connections.close()


def test_a_store_of_a_relative_path_is_used_from_another_folder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with opened(Path("s.db")) as store:
        store.remember("before")
        monkeypatch.chdir(tmp_path / "elsewhere")
        thread = threading.Thread(target=store.remember, args=("after",))
        thread.start()
        thread.join()
        assert store.count() == 2
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = opened(tmp_path / "s.db")
    store.close()
    store.close()
    with pytest.raises(StorageError, match="closed; open it again"):
        store.count()


@pytest.mark.parametrize("call", ["get", "resolve_id", "purge", "restore", "journal", "forget"])
def test_an_id_that_no_text_can_hold_is_not_found_or_refused(tmp_path: Path, call: str) -> None:
    from nacre import NacreError

    with opened(filled(tmp_path / "s.db", 1)) as store:
        try:
            found = getattr(store, call)("\ud800")
        except NacreError:
            found = None
        assert not found
        assert store.count() == 1


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """Made read-only by `lock`; root may write into any folder, and needs a disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = os.name != "nt" and os.geteuid() == 0
    if mounted:
        mount = shutil.which("mount")
        asked = [mount or "", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
        if mount is None or subprocess.run(asked, capture_output=True, check=False).returncode:
            pytest.skip("this machine does not let a test mount a disk of its own")
    yield folder
    if mounted:
        subprocess.run(["umount", "-l", folder], check=True)
    else:
        folder.chmod(0o700)


def lock(folder: Path) -> None:
    if os.geteuid() == 0:
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    else:
        (folder / "s.db").chmod(0o400)
        folder.chmod(0o500)


@pytest.mark.skipif(os.name == "nt", reason="folders have no such permission there")
@pytest.mark.parametrize("secret", ["", "5a" * 32], ids=["plain", "encrypted"])
def test_a_read_only_store_is_read_and_only_writing_is_refused(disk: Path, tmp_path: Path, secret: str) -> None:
    (tmp_path / "key").write_text(secret)
    (tmp_path / "key").chmod(0o600)
    known = Settings(
        store=str(disk / "s.db"), embedder="hashing", key=f"file:{tmp_path / 'key'}" if secret else ""
    )  # fmt: skip
    with MemoryStore(settings=known) as store:
        kept = store.remember("The harbour opens at dawn")
    lock(disk)
    with MemoryStore(settings=known) as store:
        assert [memory.id for memory in store.list_recent()] == [kept.id]
        assert store.recall("harbour")[0].memory.text == kept.text
        assert (store.count(), len(store.journal())) == (1, 1)
        assert store.recall("harbour")[0].memory.access_count == 0, "a use is not noted"
        assert export_archive(store, tmp_path / "all.nacre").count == 1
        assert store.backup(tmp_path / "copy.db").exists()
        with pytest.raises(StoreReadOnly, match="read-only"):
            store.remember("The harbour is closed")
    assert [each for each in doctor.examine(known) if each.level == "problem" and each.check != "disk"] == []


@pytest.mark.skipif(os.name == "nt", reason="folders have no such permission there")
def test_a_read_only_store_of_a_former_model_is_searched_by_words(disk: Path) -> None:
    fill(disk / "s.db")
    lock(disk)
    with MemoryStore(disk / "s.db", embedder=model()) as store:
        for _ in range(2):
            found = store.recall("kettle")
            assert found[0].memory.text == TEXTS[0] and "words alone" in found.notes[0]
            settle()
        with pytest.raises(StoreReadOnly):
            store.remember("The harbour is closed")


@pytest.mark.skipif(os.name == "nt", reason="side files have no such mode there")
def test_a_store_that_was_read_only_can_be_written_after_chmod(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    with MemoryStore(file, embedder="hashing") as store:
        store.remember("The harbour opens at dawn")
    shared = tmp_path / "s.db-shm"
    shared.write_bytes(bytes(32_768))  # as SQLite leaves it after reading a store of this mode
    shared.chmod(0o400)
    with MemoryStore(file, embedder="hashing") as store:
        assert shared.stat().st_mode & 0o777 == 0o600
        store.remember("The harbour is closed")
        assert store.count() == 2


@pytest.mark.skipif(os.name == "nt", reason="side files have no such mode there")
def test_the_side_files_of_a_read_only_store_stay_read_only(tmp_path: Path) -> None:
    file, side = tmp_path / "s.db", tmp_path / "s.db-shm"
    for each in (file, side):
        each.touch()
        each.chmod(0o400)
    make_private(file)
    assert side.stat().st_mode & 0o777 == 0o400


def test_the_log_of_a_replaced_file_is_kept_and_not_written_into_the_new_one(tmp_path: Path) -> None:
    file, copy = tmp_path / "s.db", tmp_path / "copy.db"
    with MemoryStore(file, embedder="hashing") as store:
        store.remember_many([{"text": f"The lamp {number} burns oil."} for number in range(30)])
    shutil.copy(file, copy)
    with MemoryStore(file, embedder="hashing") as store:
        store.remember_many([{"text": f"The tree {number} bears walnuts."} for number in range(40)])
    for ends_first in (False, True):
        store = MemoryStore(file, embedder="hashing")
        store.remember("This stands in the log alone.")
        shutil.copy(copy, tmp_path / "again.db")
        (tmp_path / "again.db").replace(file)
        if not ends_first:
            assert len(list(store.iterate())) == 30
            store.remember("This is written to the new file.")
        store.close()
        with MemoryStore(file, embedder="hashing") as opened:
            assert len(list(opened.iterate())) == (30 if ends_first else 31)
            assert opened.health().problems == ()
    assert len(list(tmp_path.glob("s.db.replaced-*-wal"))) == 2


def test_a_file_that_was_replaced_while_it_was_opened_is_not_taken_for_one_replaced_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log is in use by others, and must stay with it."""
    file, copy = filled(tmp_path / "s.db", 3), filled(tmp_path / "copy.db", 5)
    connect = connection.Connections._connect

    stores: list[MemoryStore] = []

    def connect_late(connections: connection.Connections) -> apsw.Connection:
        monkeypatch.setattr(connection.Connections, "_connect", connect)
        restore(file, copy, tmp_path / "kept.db", None, None)
        stores.append(opened(file))
        stores[0].remember("The harbour opens at dawn.")
        return connections._connect()

    monkeypatch.setattr(connection.Connections, "_connect", connect_late)
    stores.append(opened(file))
    assert [store.count() for store in stores] == [6, 6]
    assert not list(tmp_path.glob("s.db.replaced-*"))
    for store in stores:
        store.close()


def test_a_fault_of_the_disk_during_an_examination_is_told_as_such(tmp_path: Path) -> None:
    """SQLite ends the transaction at some faults by itself, which must not hide what happened."""
    own = connection.Connections(filled(tmp_path / "s.db", 1)).get()

    def fail(*_: object) -> None:
        own.execute("ROLLBACK")
        raise apsw.IOError("disk I/O error")

    with pytest.raises(apsw.IOError, match="disk"), one_snapshot(own):
        fail()
    assert not own.in_transaction
    own.close()


def test_a_store_with_a_trigger_of_somebody_else_is_not_opened(tmp_path: Path) -> None:
    file = filled(tmp_path / "s.db", 3)
    keeps = "CREATE TRIGGER k AFTER DELETE ON content BEGIN INSERT INTO kept VALUES (old.text); END"
    apsw.Connection(str(file)).execute(f"CREATE TABLE kept(text); {keeps}")
    with pytest.raises(StoreDamaged, match=r"trigger 'k' in it was not made by Nacre.*nacre doctor --fix"):
        opened(file)


def test_a_view_in_the_file_calls_no_function_that_could_do_harm(tmp_path: Path) -> None:
    connections = connection.Connections(filled(tmp_path / "s.db", 1))
    own = connections.get()
    own.create_scalar_function("harmful", lambda *given: len(given))
    own.execute("CREATE VIEW seen AS SELECT harmful() FROM memory")
    with pytest.raises(apsw.SQLError, match="unsafe use of harmful"):
        own.execute("SELECT * FROM seen").fetchall()
    connections.close()
