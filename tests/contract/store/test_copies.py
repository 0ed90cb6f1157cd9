"""A copy of the whole, while others write, and another file in the store's place, where a backend has a file."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from nacre.errors import InvalidInput, StorageError, StoreUnreachable
from nacre.model import Filter
from nacre.protocols import Backend, EmbedderIdentity, FileFeatures
from nacre.storage.sqlite import Key, SQLiteBackend
from tests.samples import SPACE, derived, entry, ids, listed, memory, put, unit, writing

EVERYTHING = Filter()
PAIRS = 300


@pytest.fixture
def copied(store: Backend) -> Backend:
    if store.files is None:
        pytest.skip("kept nowhere")
    return store


def in_file(store: Backend) -> FileFeatures:
    assert store.files is not None
    return store.files


def test_a_copy_holds_all_that_the_store_holds(copied: Backend, key: Key | None, tmp_path: Path) -> None:
    with writing(copied) as transaction:
        transaction.bind_embedder(EmbedderIdentity("first", 8))
        transaction.put(memory("a", tags=("x",)), derived("old word", unit(1)))
        transaction.put(memory("a", space="there"), derived("new word", unit(0, 1)))
        transaction.append([entry("a")])
        transaction.put_term("type", "dream", {"seen": 1})
    in_file(copied).copy_to(tmp_path / "deep" / "copy.db")
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["copy.db"]
    copy = SQLiteBackend(tmp_path / "deep" / "copy.db", key)
    try:
        for space in (SPACE, "there"):
            assert listed(copy, space, EVERYTHING) == listed(copied, space, EVERYTHING)
        assert copy.journal(SPACE) == copied.journal(SPACE)
        assert (copy.terms("type"), copy.embedder().name) == ({"dream": {"seen": 1}}, "first")
        assert ids(copy.by_words(SPACE, ["old"], EVERYTHING, 5)) == ["a"]
        assert ids(copy.by_vector(SPACE, unit(1), EVERYTHING, 5)) == ["a"]
        assert copy.health(thorough=True).problems == ()
        put(copy, memory("only in the copy"))
        assert copied.get_many(SPACE, ["only in the copy"]) == []
    finally:
        copy.close()


def test_a_copy_made_while_others_write_parts_no_transaction(copied: Backend, key: Key | None, tmp_path: Path) -> None:
    written, stop = threading.Event(), threading.Event()

    def write() -> None:
        for number in range(PAIRS):
            put(copied, (memory(f"{number}a", "x" * 5_000), derived("word")), (memory(f"{number}b"), derived("word")))
            written.set()
            if stop.is_set():
                return

    writer = threading.Thread(target=write)
    writer.start()
    written.wait(30)
    try:
        for number in range(5):
            in_file(copied).copy_to(tmp_path / f"copy-{number}.db")
    finally:
        stop.set()
        writer.join()
    counts = []
    for number in range(5):
        copy = SQLiteBackend(tmp_path / f"copy-{number}.db", key)
        kept = ids(listed(copy, SPACE, EVERYTHING))
        assert {id[:-1] + "b" for id in kept if id.endswith("a")} == {id for id in kept if id.endswith("b")}
        assert copy.health(thorough=True).problems == ()
        counts.append(len(kept))
        copy.close()
    assert counts[0] > 0 and counts == sorted(counts)


def test_a_copy_never_replaces_anything(copied: Backend, tmp_path: Path) -> None:
    for name in ("other.db", "other.db-wal"):
        (tmp_path / name).write_text("of somebody")
        with pytest.raises(InvalidInput, match="never replaces"):
            in_file(copied).copy_to(tmp_path / "other.db")
        assert (tmp_path / name).read_text() == "of somebody"
        (tmp_path / name).unlink()


def test_a_copy_that_cannot_be_made_leaves_nothing_behind(copied: Backend, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError):
        in_file(copied).copy_to(tmp_path / "file" / "copy.db")
    before = sorted(file.name for file in tmp_path.iterdir())
    with pytest.raises((StorageError, InvalidInput)):
        in_file(copied).copy_to(tmp_path / ("x" * 300))
    assert sorted(file.name for file in tmp_path.iterdir()) == before


def take_away(file: Path, to: Path) -> None:
    to.mkdir()
    for part in file.parent.glob(f"{file.name}*"):
        part.rename(to / part.name)


def test_what_is_done_after_the_file_was_replaced_is_done_in_the_new_file(
    copied: Backend, key: Key | None, tmp_path: Path
) -> None:
    file = tmp_path / "store.db"
    with writing(copied) as transaction:
        transaction.bind_embedder(EmbedderIdentity("first", 8))
        transaction.put(memory("kept"), derived("old word", unit(1)))
    in_file(copied).copy_to(tmp_path / "copy.db")
    with writing(copied) as transaction:
        transaction.put(memory("lost"), derived("other word", unit(1)))
    with ThreadPoolExecutor(1) as other_thread:
        read = partial(copied.by_vector, SPACE, unit(1), EVERYTHING, 5)
        assert sorted(ids(other_thread.submit(read).result())) == ["kept", "lost"]
        take_away(file, tmp_path / "away")
        (tmp_path / "copy.db").rename(file)
        assert ids(other_thread.submit(read).result()) == ["kept"]
    assert ids(copied.by_words(SPACE, ["word"], EVERYTHING, 5)) == ["kept"]
    put(copied, memory("new"))
    beside = SQLiteBackend(file, key)
    try:
        assert sorted(each.id for each in beside.iterate(SPACE, EVERYTHING)) == ["kept", "new"]
        assert beside.health(thorough=True).problems == ()
    finally:
        beside.close()


def test_a_file_that_is_gone_takes_nothing_is_not_made_anew_and_may_come_back(copied: Backend, tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    put(copied, memory("kept"))
    take_away(file, tmp_path / "away")
    for left in (False, True):
        with pytest.raises(StoreUnreachable, match=r"deleted or moved while it was open.*Put the file back"):
            put(copied, memory("new"))
        with pytest.raises(StoreUnreachable, match="deleted or moved"):
            copied.get(SPACE, "kept")
        assert file.exists() is left
        file.touch()  # as a program does that is about to write a copy there
    for part in (tmp_path / "away").iterdir():
        part.rename(tmp_path / part.name)
    put(copied, memory("new"))
    assert sorted(each.id for each in copied.iterate(SPACE, EVERYTHING)) == ["kept", "new"]
