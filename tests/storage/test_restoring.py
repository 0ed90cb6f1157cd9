"""A copy takes the place of a store: checked first, at once, only when nobody else has it open."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from nacre.errors import InvalidInput, NotAStore, StoreBusy, StoreUnreachable, WrongKey
from nacre.model import Filter
from nacre.storage.sqlite import Key, SQLiteBackend, connection
from nacre.storage.sqlite import backup as restoring
from nacre.storage.sqlite.backup import restore, verify
from tests.samples import SPACE, derived, entry, memory, put, unit

KEY, OTHER = Key("walnut under the snow"), Key("5a" * 32)


def written(path: Path, key: Key | None, *ids: str) -> Path:
    store = SQLiteBackend(path, key)
    put(store, *((memory(id), derived(id, unit(1))) for id in ids))
    with store.transaction() as transaction:
        transaction.append([entry(ids[0])])
    store.close()
    return path


def held(path: Path, key: Key | None) -> list[str]:
    store = SQLiteBackend(path, key)
    try:
        assert store.health(thorough=True).problems == ()
        return sorted(each.id for each in store.select(SPACE, Filter()))
    finally:
        store.close()


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
    assert [each.id for each in other.select(SPACE, Filter())] == ["now"]
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
    with pytest.raises(StoreUnreachable):
        verify(tmp_path / "nowhere.db", None)
    with pytest.raises(InvalidInput, match="the store itself"):
        restore(store, store, tmp_path / "kept.db", None, None)
    with pytest.raises(NotAStore, match="another program"):
        restore(tmp_path / "other.db", store, tmp_path / "kept.db", None, None)


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
