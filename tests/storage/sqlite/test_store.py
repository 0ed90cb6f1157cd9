"""One file that many use: what is purged leaves the disk, closing is clean, and the log stays small."""

from __future__ import annotations

import gc
import threading
import time
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from nacre import MemoryStore
from nacre.errors import NacreError, StoreDamaged
from nacre.model import Filter
from nacre.storage import pages
from nacre.storage.sqlite import SQLiteBackend
from nacre.storage.sqlite import connection as connection_module
from nacre.storage.sqlite import store as store_module
from tests.embedders import WordBag
from tests.samples import SPACE, derived, memory, put, unit, written

SECRET = "xyzzyplugh"


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.iterdir()))


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 50, 3000])
@pytest.mark.parametrize("fellows", [0, 200])
def test_no_byte_of_a_purged_text_is_left_in_the_files(tmp_path: Path, length: int, fellows: int) -> None:
    """Short ones lie in a row, long ones on pages of their own; its stems lie in the word index."""
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        store.remember_many([f"fellow number {i} speaks of many things" for i in range(fellows)])
        kept = store.remember(
            f"{SECRET}a " * length, title=f"{SECRET}b", tags=[f"{SECRET}c"], metadata={"k": f"{SECRET}d"}
        )
        store.edit(kept.id, text=f"{SECRET}e {SECRET}f " * length, why=f"{SECRET}g")
        store.recall(f"{SECRET}e")
        store.forget(kept.id)
        assert SECRET.encode() in bytes_of(tmp_path)
        store.purge(kept.id)
        assert SECRET.encode() not in bytes_of(tmp_path)
        assert store.health(thorough=True).problems == ()
        assert len(store.recall("fellow", k=5)) == min(5, fellows)
    assert SECRET.encode() not in bytes_of(tmp_path)


def test_a_purge_beside_an_open_reader_says_what_remains_and_the_next_write_finishes_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        kept = store.remember(f"{SECRET} is the word")
        reader = apsw.Connection(str(tmp_path / "s.db"))
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memory").fetchall()
        began = time.monotonic()
        assert store.purge(kept.id) == 1
        assert time.monotonic() - began < connection_module.BUSY_SECONDS / 2
        assert SECRET.encode() in bytes_of(tmp_path)
        assert "still in its write-ahead log" in caplog.text
        assert "still in its write-ahead log" in store.health().notes[0]
        assert store.health().problems == ()
        with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as other:
            other.remember("something else")
            assert other.health().notes
        reader.execute("COMMIT")
        reader.close()
        store.remember("another thing")
        assert SECRET.encode() not in bytes_of(tmp_path)
        assert store.health().notes == ()


def test_nothing_of_a_purged_space_is_left_in_any_table(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", space=SECRET, embedder=WordBag()) as store:
        kept = store.remember(f"{SECRET} words", tags=[f"{SECRET}-tag"], entities=[f"{SECRET}-entity"])
        store.edit(kept.id, text=f"other {SECRET} words")
        store.link(kept.id, store.remember("another one").id)
        store.delete_space(purge=True)
        with store.backend._connected() as connection:  # type: ignore[attr-defined]
            number = connection.execute("SELECT number FROM space WHERE name = ?", (SECRET,)).fetchall()[0][0]
            for table in ("memory", "version", "label", "link", "counter", "chunk"):
                rows = connection.execute(f"SELECT * FROM {table} WHERE space = ?", (number,)).fetchall()
                assert rows == [], table
            for table in ("content", "vector", "signs", "centre", "word_docsize"):
                assert connection.execute(f"SELECT * FROM {table}").fetchall() == [], table


def test_closing_a_store_while_other_threads_read_ends_all_of_them_cleanly(tmp_path: Path) -> None:
    store = SQLiteBackend(tmp_path / "s.db")
    put(store, *((memory(f"m{i}", tags=("t",)), derived(f"word{i}", unit(1, i))) for i in range(300)))
    reading, failures = threading.Barrier(4), list[BaseException]()

    def read() -> None:
        reading.wait()
        try:
            while True:
                list(store.iterate(SPACE, Filter.where(tags="t")))
                store.by_vector(SPACE, unit(1), Filter(), 5)
        except NacreError as error:
            assert "closed" in str(error)
        except BaseException as error:  # noqa: BLE001 - whatever else comes is the failure
            failures.append(error)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    reading.wait()
    store.close()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.slow
def test_the_log_is_given_back_after_a_bulk_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "LOG_BYTES", 1 << 20)
    store = SQLiteBackend(tmp_path / "s.db")
    for batch in range(5):
        written(store, *(memory(f"m{batch}-{i}", "long text " * 200) for i in range(100)))
    assert (tmp_path / "s.db-wal").stat().st_size <= 1 << 20
    store.close()


def test_what_another_space_holds_changes_neither_rank_nor_score(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag(), clock=lambda: 1.8e9) as store:
        store.remember_many(["The red kettle is in the kitchen", "The kettle was repaired", "A garden with a red gate"])
        before = [(hit.memory.id, hit.score, hit.relevance) for hit in store.recall("red kettle")]
        other = store.in_space("other")
        other.remember_many([f"red kettle number {i}" for i in range(60)])
        assert [(hit.memory.id, hit.score, hit.relevance) for hit in store.recall("red kettle")] == before


@pytest.mark.parametrize("space", [SPACE, "nowhere"])
def test_all_that_is_read_for_one_answer_is_of_one_state(tmp_path: Path, space: str) -> None:
    store = SQLiteBackend(tmp_path / "s.db")
    put(store, memory("a"))
    count = "SELECT count(*) FROM memory"
    with store._reading(space) as (connection, _):
        writer = threading.Thread(target=lambda: put(store, memory("b")))
        writer.start()
        writer.join()
        assert connection.execute(count).fetchall() == [(1,)]
    assert connection.execute(count).fetchall() == [(2,)]
    store.close()


def test_uses_while_somebody_writes_are_counted_with_the_next_use_or_write(tmp_path: Path) -> None:
    with (
        MemoryStore(tmp_path / "s.db", embedder="hashing") as reader,
        MemoryStore(tmp_path / "s.db", embedder="hashing") as writer,
    ):
        memory = writer.remember("The kettle is blue")
        other = writer.remember("Tom likes tea")
        writer.link(memory.id, other.id)
        with writer.backend.transaction():  # type: ignore[attr-defined]
            for _ in range(2):
                assert reader.recall("kettle", k=1)[0].memory.id == memory.id
            assert len(reader.neighbors(memory.id)) == 1
        assert [each.access_count for each in reader.get_many([memory.id])] == [0]
        reader.pin(other.id)
        assert [each.access_count for each in reader.get_many([memory.id])] == [2]
        assert [edge.walks for edge in reader.edges()] == [1]
        with writer.backend.transaction():  # type: ignore[attr-defined]
            reader.recall("kettle", k=1)
        reader.recall("kettle", k=1)
        assert [each.access_count for each in reader.get_many([memory.id])] == [4]


class Later(tuple[float, ...]):
    """A place in an order that lies behind whatever a page ends with, as where an index leads back."""

    def __ge__(self, other: object) -> bool:
        return True


def test_a_walk_along_an_index_that_leads_back_ends_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SQLiteBackend(tmp_path / "s.db")) as store:
        for number in range(5):
            written(store, (memory(f"m{number}"), derived("tea")))
        walked = pages.iterate_pages(store, SPACE, Filter(), size=2)
        assert [each.id for each in walked] == [f"m{number}" for number in range(5)]
        read = pages.read_cursor
        monkeypatch.setattr(store_module, "read_cursor", lambda *args: (at := read(*args)) and Later(at))
        with pytest.raises(StoreDamaged, match="out of order"):
            list(pages.iterate_pages(store, SPACE, Filter(), size=2))


def test_no_call_leaves_a_cursor_behind(tmp_path: Path) -> None:
    """APSW 3.54.0 never frees a cursor beside which another one is used, or that is closed."""

    def cursors() -> int:
        gc.collect()
        return sum(type(each) is apsw.Cursor for each in gc.get_objects())

    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        first = store.remember("The ferry to Oslo leaves at nine.", tags=["travel"])

        def use_all() -> None:
            made = store.remember(f"The ferry has number {store.count()}.")
            store.edit(made.id, tags=["travel"])
            store.link(made.id, first.id)
            store.recall("when does the ferry leave?")
            store.undo()
            for read in (store.stats, store.journal, store.review, store.health, store.spaces):
                read()
            for _ in zip(store.iterate(), range(1), strict=False):  # which is not read to its end
                pass

        use_all()
        before = cursors()
        for _ in range(3):
            use_all()
        assert cursors() <= before


def test_all_that_a_snapshot_reads_is_of_one_state_and_it_ends_with_the_call(tmp_path: Path) -> None:
    with closing(SQLiteBackend(tmp_path / "s.db")) as backend, closing(SQLiteBackend(tmp_path / "s.db")) as other:
        put(backend, memory("one"))
        with backend._reading(SPACE) as (connection, _):
            put(other, memory("two"))
            seen = connection.execute("SELECT count(*) FROM memory").fetchall()
        assert seen == [(1,)]
        assert backend.count(SPACE, Filter()) == 2
        with backend._connected() as connection:
            assert not connection.in_transaction


def test_a_snapshot_inside_a_write_sees_what_was_written_and_leaves_it_open(tmp_path: Path) -> None:
    with closing(SQLiteBackend(tmp_path / "s.db")) as backend:
        put(backend, memory("one"))
        with backend.transaction(), backend._connected() as connection:
            connection.execute("UPDATE main.memory SET access_count = 7")
            assert [read.access_count for read in backend.page(SPACE, Filter(), limit=9).memories] == [7]
            assert connection.in_transaction
