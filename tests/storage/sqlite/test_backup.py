"""A store gets a key, another one, or none: whole, at once, and only when nobody else has it open."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, NotAStore, NotEncrypted, StorageError, StoreBusy, StoreUnreachable, WrongKey
from nacre.model import Filter
from nacre.protocols import EmbedderIdentity
from nacre.storage.sqlite import Key, SQLiteBackend, connection, schema
from nacre.storage.sqlite import backup as rekeying
from nacre.storage.sqlite import backup as restoring
from nacre.storage.sqlite.backup import encrypted, rekey, restore, verify
from nacre.storage.sqlite.connection import unlock
from tests.samples import SPACE, derived, entry, ids, listed, memory, put, unit, writing

FIRST, SECOND = Key("walnut under the snow"), Key("5a" * 32)
TOLD = "heliotrope"
EVERYTHING = Filter()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    store = SQLiteBackend(tmp_path / "s.db")
    with writing(store) as transaction:
        transaction.bind_embedder(EmbedderIdentity("first", 8))
        transaction.put(memory("a", TOLD, tags=("x",)), derived("old word", unit(1)))
        transaction.put(memory("b", "b" * 9000), derived("new word", unit(0, 1)))
        transaction.append([entry("a")])
        transaction.put_term("type", "dream", {"seen": 1})
    put(store, memory("c"))
    with writing(store) as transaction:
        transaction.remove(SPACE, "c")  # leaves a gap in the numbers of rows
    store.close()
    return tmp_path / "s.db"


def told(file: Path, key: Key | None) -> tuple[object, ...]:
    store = SQLiteBackend(file, key)
    try:
        assert store.health(thorough=True).problems == ()
        return (
            listed(store, SPACE, EVERYTHING),
            store.journal(SPACE),
            store.terms("type"),
            ids(store.by_words(SPACE, ["old"], EVERYTHING, 5)),
            ids(store.by_vector(SPACE, unit(0, 1), EVERYTHING, 5)),
        )
    finally:
        store.close()


@pytest.mark.slow
def test_nothing_is_lost_on_the_way_to_a_key_to_another_and_back(file: Path) -> None:
    before = told(file, None)
    for old, new in pairwise((None, FIRST, SECOND, FIRST, None)):
        rekey(file, old, new)
        assert [each.name for each in file.parent.iterdir()] == ["s.db"]
        assert encrypted(file) is (new is not None)
        assert (TOLD.encode() in file.read_bytes()) is (new is None)
        assert told(file, new) == before
        with pytest.raises((WrongKey, NotEncrypted)):
            SQLiteBackend(file, old)


def test_the_new_file_is_shared_by_many_again(file: Path) -> None:
    rekey(file, None, SECOND)
    first, second = SQLiteBackend(file, SECOND), SQLiteBackend(file, SECOND)
    put(first, (memory("d"), derived("word")))
    assert second.health().memories == first.health().memories == 3
    assert (file.parent / "s.db-wal").exists()
    first.close()
    second.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "error"), [(FIRST, WrongKey), (None, WrongKey), (Key("6b" * 32), WrongKey)], ids=["other", "none", "raw"]
)
def test_the_old_key_must_be_right(file: Path, old: Key | None, error: type[Exception]) -> None:
    rekey(file, None, SECOND)
    content = file.read_bytes()
    with pytest.raises(error):
        rekey(file, old, FIRST)
    assert file.read_bytes() == content


def test_a_store_that_is_open_is_busy_and_stays_as_it_is(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    store = SQLiteBackend(file)
    with pytest.raises(StoreBusy, match="nothing was changed"):
        rekey(file, None, FIRST)
    put(store, (memory("d"), derived("word")))
    store.close()
    assert len(told(file, None)[0]) == 3  # type: ignore[arg-type]
    assert [each.name for each in file.parent.iterdir()] == ["s.db"]


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before its first look", "after it"])
@pytest.mark.parametrize(("old", "new"), [(None, FIRST), (SECOND, FIRST), (SECOND, None)])
def test_who_was_about_to_open_the_old_file_does_not_rely_on_it(
    file: Path, monkeypatch: pytest.MonkeyPatch, old: Key | None, new: Key | None, moment: str
) -> None:
    rekey(file, None, old)
    while_opening(monkeypatch, file, old, moment, lambda: rekey(file, old, new))
    with pytest.raises((WrongKey, NotEncrypted)):
        SQLiteBackend(file, old)
    assert len(told(file, new)[0]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize("moment", ["before its first look", "after it"])
def test_who_was_about_to_open_the_old_file_writes_to_the_new_one(
    file: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    rekey(file, None, SECOND)
    before = file.stat().st_ino
    while_opening(monkeypatch, file, SECOND, moment, lambda: rekey(file, SECOND, Key(SECOND.secret.upper())))
    store = SQLiteBackend(file, SECOND)
    assert file.stat().st_ino != before
    put(store, (memory("d"), derived("word")))
    store.close()
    assert ids(told(file, SECOND)[0]) == ["d", "b", "a"]  # type: ignore[arg-type]


def while_opening(
    monkeypatch: pytest.MonkeyPatch, file: Path, key: Key | None, moment: str, act: Callable[[], None]
) -> None:
    """Lets the next opening be overtaken. A look leaves the file unlocked only where it is not in WAL mode."""
    where, name = (connection, "header") if moment == "before its first look" else (schema, "has_tables")
    if where is schema:
        raw = apsw.Connection(str(file))
        unlock(raw, file, key)
        assert raw.pragma("journal_mode", "delete") == "delete"
        raw.close()
    real, waiting = getattr(where, name), [act]

    def overtaken(*given: object) -> object:
        found = real(*given)
        if waiting:
            waiting.pop()()
        return found

    monkeypatch.setattr(where, name, overtaken)


def test_a_store_left_out_of_wal_mode_by_a_crash_is_shared_again(file: Path) -> None:
    raw = apsw.Connection(str(file))
    assert raw.pragma("journal_mode", "delete") == "delete"
    raw.close()
    store = SQLiteBackend(file)
    put(store, (memory("d"), derived("word")))
    assert (file.parent / "s.db-wal").exists()
    store.close()


@pytest.mark.slow
def test_what_a_broken_off_change_left_is_swept_away(file: Path) -> None:
    left = file.parent / ".s.db.0123abcd.rekeyed"
    left.write_text("half of a copy")
    (file.parent / ".other.db.0123abcd.rekeyed").write_text("of another store")
    rekey(file, None, FIRST)
    assert sorted(each.name for each in file.parent.iterdir()) == [".other.db.0123abcd.rekeyed", "s.db"]


def test_a_copy_that_cannot_be_written_leaves_the_store_and_tells_no_key(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rekeying, "UNFINISHED_REKEY", "x" * 300)
    with pytest.raises(StorageError) as caught:
        rekey(file, None, SECOND)
    shown: BaseException | None = caught.value
    while shown is not None:
        assert SECOND.secret not in str(shown) and SECOND.secret.encode().hex() not in str(shown)
        shown = shown.__cause__ or shown.__context__
    assert len(told(file, None)[0]) == 2  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="links and modes are of POSIX")
def test_a_link_stays_a_link_and_the_file_keeps_its_mode(file: Path, tmp_path: Path) -> None:
    file.chmod(0o600)
    link = tmp_path / "deep" / "link.db"
    link.parent.mkdir()
    link.symlink_to(file)
    rekey(link, None, FIRST)
    assert link.is_symlink() and encrypted(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(told(link, FIRST)[0]) == 2  # type: ignore[arg-type]


def test_only_a_store_gets_a_key(tmp_path: Path) -> None:
    with pytest.raises(StoreUnreachable, match="no such file"):
        rekey(tmp_path / "none.db", None, FIRST)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()
    (tmp_path / "list.db").write_text("a shopping list\n" * 100)
    for name in ("empty.db", "list.db"):
        with pytest.raises(NotAStore):
            rekey(tmp_path / name, None, FIRST)
    assert (tmp_path / "list.db").read_text() == "a shopping list\n" * 100


KEY, OTHER = Key("walnut under the snow"), Key("5a" * 32)


def written(path: Path, key: Key | None, *ids: str) -> Path:
    store = SQLiteBackend(path, key)
    put(store, *((memory(id), derived(id, unit(1))) for id in ids))
    with writing(store) as transaction:
        transaction.append([entry(ids[0])])
    store.close()
    return path


def held(path: Path, key: Key | None) -> list[str]:
    store = SQLiteBackend(path, key)
    try:
        assert store.health(thorough=True).problems == ()
        return sorted(each.id for each in listed(store, SPACE))
    finally:
        store.close()


@pytest.mark.slow
@pytest.mark.parametrize(("key", "copy_key"), [(None, None), (KEY, KEY), (KEY, None), (KEY, OTHER), (None, KEY)])
def test_the_store_becomes_the_copy_under_its_own_key_and_what_was_there_is_kept(
    tmp_path: Path, key: Key | None, copy_key: Key | None
) -> None:
    store, copy = written(tmp_path / "s.db", key, "now"), written(tmp_path / "copy.db", copy_key, "then", "too")
    before = copy.read_bytes()
    assert restore(store, copy, tmp_path / "kept.db", key, copy_key) == tmp_path / "kept.db"
    assert held(store, key) == ["then", "too"]
    assert held(tmp_path / "kept.db", key) == ["now"]
    assert copy.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "kept.db", "s.db"]


@pytest.mark.parametrize("empty", [False, True])
def test_a_restore_keeps_the_log_of_a_store_whose_file_is_gone(file: Path, tmp_path: Path, empty: bool) -> None:
    gone, kept = tmp_path / "gone" / "s.db", tmp_path / "gone" / "kept.db"
    gone.parent.mkdir()
    store = SQLiteBackend(file)
    put(store, memory("d"))
    log = (tmp_path / "s.db-wal").read_bytes()
    store.close()
    (tmp_path / "gone" / "s.db-wal").write_bytes(log)
    if empty:
        gone.touch()
    assert restore(gone, file, kept, None, None) == tmp_path / "gone" / "kept.db-wal"
    assert (tmp_path / "gone" / "kept.db-wal").read_bytes() == log and told(gone, None) == told(file, None)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_a_store_that_a_group_shares_is_still_shared_when_it_is_restored(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    store, copy = written(shared / "s.db", None, "now"), written(tmp_path / "copy.db", None, "then")
    store.chmod(0o660)
    restore(store, copy, tmp_path / "kept.db", None, None)
    assert (held(store, None), store.stat().st_mode & 0o777) == (["then"], 0o660)


def test_a_store_that_was_lost_comes_back(tmp_path: Path) -> None:
    copy = written(tmp_path / "copy.db", None, "a")
    assert restore(tmp_path / "new" / "s.db", copy, tmp_path / "kept.db", None, None) is None
    assert held(tmp_path / "new" / "s.db", None) == ["a"]
    assert not (tmp_path / "kept.db").exists()


@pytest.mark.parametrize("damage", [b"rubbish" * 1000, b"SQLite format 3\x00" + b"\xff" * 9000])
def test_a_damaged_store_is_replaced_and_kept_as_it_is(tmp_path: Path, damage: bytes) -> None:
    store, copy = tmp_path / "s.db", written(tmp_path / "copy.db", None, "a")
    store.write_bytes(damage)
    restore(store, copy, tmp_path / "kept.db", None, None)
    assert held(store, None) == ["a"]
    assert (tmp_path / "kept.db").read_bytes() == damage


def test_nothing_is_changed_while_somebody_has_the_store_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    store, copy = written(tmp_path / "s.db", None, "now"), written(tmp_path / "copy.db", None, "then")
    other = SQLiteBackend(store)
    with pytest.raises(StoreBusy):
        restore(store, copy, tmp_path / "kept.db", None, None)
    assert [each.id for each in listed(other, SPACE)] == ["now"]
    put(other, (memory("later"), derived("later")))
    other.close()
    assert held(store, None) == ["later", "now"]
    assert not (tmp_path / "kept.db").exists()


def test_a_damaged_copy_is_refused_before_anything_happens(tmp_path: Path) -> None:
    store = written(tmp_path / "s.db", None, "now")
    copy = written(tmp_path / "copy.db", None, *(f"m{number}" for number in range(200)))
    with copy.open("rb+") as file:
        file.seek(copy.stat().st_size // 2)
        file.write(b"\x00\xff" * 4000)
    for attempt in (lambda: verify(copy, None), lambda: restore(store, copy, tmp_path / "kept.db", None, None)):
        with pytest.raises(NotAStore):
            attempt()
    assert held(store, None) == ["now"]


def test_what_is_no_copy_is_refused(tmp_path: Path) -> None:
    store = written(tmp_path / "s.db", None, "now")
    other = apsw.Connection(str(tmp_path / "other.db"))
    other.execute("CREATE TABLE t(x)")
    other.close()
    with pytest.raises(NotAStore, match="another program"):
        verify(tmp_path / "other.db", None)
    with pytest.raises(StorageError, match=r"There is no copy .*nowhere\.db"):
        verify(tmp_path / "nowhere.db", None)
    with pytest.raises(InvalidInput, match="the store itself"):
        restore(store, store, tmp_path / "kept.db", None, None)
    with pytest.raises(NotAStore, match="another program"):
        restore(tmp_path / "other.db", store, tmp_path / "kept.db", None, None)


@pytest.mark.slow
def test_a_check_tells_what_is_there_and_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "still").mkdir()
    copy = written(tmp_path / "still" / "copy.db", KEY, "a", "b")
    before = copy.read_bytes()
    found = verify(copy, KEY)
    assert (found.memories, found.spaces, found.encrypted) == (2, {SPACE: 2}, True)
    assert copy.read_bytes() == before
    assert [each.name for each in (tmp_path / "still").iterdir()] == ["copy.db"]
    with pytest.raises(WrongKey):
        verify(copy, OTHER)
    with pytest.raises(WrongKey):
        verify(copy, None)


def test_a_store_in_use_is_checked_with_what_its_log_holds(tmp_path: Path) -> None:
    store = SQLiteBackend(tmp_path / "s.db")
    put(store, memory("a"))
    assert verify(tmp_path / "s.db", None).memories == 1
    store.close()


def test_a_failure_on_the_way_leaves_the_store_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, copy = written(tmp_path / "s.db", None, "now"), written(tmp_path / "copy.db", None, "then")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(restoring, "write_copy", fail)
    with pytest.raises(OSError, match="as it was"):
        restore(store, copy, tmp_path / "kept.db", None, None)
    assert held(store, None) == ["now"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "s.db"]


NAME = b"somebodys-own-id"


def with_damaged_index(path: Path) -> Path:
    """Changes one letter of the memory's id where an index holds it, and not where its table does."""
    with MemoryStore(path, embedder="hashing") as store:
        store.remember("The barn stores hay", id=NAME.decode())
    connection = apsw.Connection(str(path))
    (size,) = connection.execute("PRAGMA page_size").fetchone() or (0,)
    roots = connection.execute("SELECT rootpage FROM sqlite_master WHERE type = 'index' AND tbl_name = 'memory'")
    starts = [(int(root) - 1) * int(size) for (root,) in roots]
    connection.close()
    held = bytearray(path.read_bytes())
    at = next(place for start in starts if (place := held.find(NAME, start, start + int(size))) >= 0)
    held[at] ^= 1
    path.write_bytes(held)
    return path


def test_a_copy_whose_index_lost_a_row_is_refused_and_the_store_stays(tmp_path: Path) -> None:
    copy = with_damaged_index(tmp_path / "copy.db")
    with pytest.raises(NotAStore, match="damaged"):
        verify(copy, None)
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        store.remember("The cat sleeps", id="cat")
    with pytest.raises(NotAStore, match="damaged"):
        restore(tmp_path / "s.db", copy, tmp_path / "kept.db", None, None)
    with MemoryStore(tmp_path / "s.db", embedder="hashing") as store:
        assert [memory.id for memory in store.list_recent()] == ["cat"]
    assert not (tmp_path / "kept.db").exists()


DELETES_ALL = "CREATE TRIGGER e AFTER INSERT ON memory BEGIN DELETE FROM memory WHERE rowid < new.rowid; END"


@pytest.mark.parametrize(
    ("statements", "named"),
    [
        (DELETES_ALL, "the trigger 'e'"),
        ("CREATE VIEW seen AS SELECT text FROM content", "the view 'seen'"),
        (f"DROP TRIGGER content_deleted; {DELETES_ALL.replace('TRIGGER e', 'TRIGGER content_deleted')}", "content_del"),
    ],
)
def test_a_copy_with_a_trigger_or_view_of_somebody_else_is_neither_sound_nor_restored(
    file: Path, tmp_path: Path, statements: str, named: str
) -> None:
    before, copy = told(file, None), tmp_path / "copy.db"
    rekeying.write_copy(file, file, None, copy, None)
    apsw.Connection(str(copy)).execute(statements)
    with pytest.raises(StorageError, match=named) as refused:
        verify(copy, None)
    assert "nacre doctor --salvage" in str(refused.value)
    with pytest.raises(StorageError, match=named):
        restore(file, copy, tmp_path / "before.db", None, None)
    assert told(file, None) == before


@pytest.mark.parametrize("statement", ["CREATE TABLE notes(text)", "CREATE INDEX texts ON content(text)"])
def test_a_copy_of_a_store_that_opens_can_be_restored(file: Path, tmp_path: Path, statement: str) -> None:
    copy = tmp_path / "copy.db"
    apsw.Connection(str(file)).execute(statement)
    store = SQLiteBackend(file)
    store.copy_to(copy)
    store.close()
    before = verify(copy, None).spaces
    restore(file, copy, tmp_path / "before.db", None, None)
    SQLiteBackend(file).close()
    assert before and verify(file, None).spaces == before


def test_a_copy_replaces_a_store_that_has_a_trigger_of_somebody_else(file: Path, tmp_path: Path) -> None:
    before, copy = told(file, None), tmp_path / "copy.db"
    rekeying.write_copy(file, file, None, copy, None)
    apsw.Connection(str(file)).execute(DELETES_ALL)
    restore(file, copy, tmp_path / "before.db", None, None)
    assert told(file, None) == before
