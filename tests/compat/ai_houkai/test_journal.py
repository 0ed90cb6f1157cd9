"""H14 and H15: the journal, undo, archives."""

from __future__ import annotations

import gzip
import json
import threading
import time
from pathlib import Path

import pytest

from nacre import Link
from nacre.compat.ai_houkai.memory_system import ImportConflictError, Journal, JournalEntry, MemoryStore
from tests.compat.ai_houkai.conftest import Opened


def entry(number: int = 0) -> JournalEntry:
    return JournalEntry(1000.0 + number, "remember", "test", f"id-{number}", None, {"text": "x" * 200}, {})


def last(store: MemoryStore, op: str) -> JournalEntry:
    return list(store.journal.read(op=op))[-1]


@pytest.mark.accepts("H3.9", "H14.1")
def test_every_change_is_journaled_with_its_actor(store: MemoryStore, tmp_path: Path) -> None:
    a, b = store.remember("one"), store.remember("two")
    store.link(a.id, b.id)
    store.unlink(a.id, b.id)
    store.supersede(a.id, b.id)
    store.restore(a.id)
    with store.as_actor("reflection"):
        store.forget(a.id)
    result = [(each.op, each.actor) for each in store.journal.read()]
    ops = "remember remember link unlink supersede restore".split()
    assert result == [*((op, "lib") for op in ops), ("forget", "reflection")]
    assert store.journal.path == tmp_path / "journal.log"
    assert last(store, "forget").before == {**a.to_dict(), "access_count": 0}
    assert last(store, "supersede").meta == {"old_id": a.id, "new_id": b.id}
    assert "one" in next(store.journal.read()).summary()


@pytest.mark.accepts("H3.9", "H14.1")
def test_a_journal_that_is_off_writes_nothing(opened: Opened, tmp_path: Path) -> None:
    store = opened(journal_enabled=False, journal_path=tmp_path / "own.log")
    store.remember("silent")
    assert not store.journal.path.exists()


@pytest.mark.accepts("H14.2", "H14.6")
def test_reading_narrows_and_passes_over_what_is_damaged(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.log")
    for number in range(5):
        journal.append(entry(number))
    with journal.path.open("a") as file:
        file.write('{"ts": 2.0, "op": "forg')
    assert [each.id for each in journal.read(since=1001, until=1003)] == ["id-1", "id-2", "id-3"]
    assert [each.id for each in journal.read(limit=2)] == ["id-0", "id-1"]
    assert [each.id for each in journal.read(memory_id="id-4", actor="test", op="remember")] == ["id-4"]
    matches = journal.find_by_ts(1002.0005)
    assert matches is not None and matches == entry(2)
    assert journal.find_by_ts(7.0) is None
    assert JournalEntry.from_dict(json.loads(entry().to_line())) == entry()


@pytest.mark.accepts("H14.1", "H14.5", "H14.6")
def test_what_has_grown_is_set_aside_and_packed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.log", rotate_mb=0.001)
    for number in range(10):
        journal.append(entry(number))
    journal._writes_since_check = journal._ROTATE_CHECK_EVERY
    journal.append(entry(10))
    (archive,) = tmp_path.glob("j-*.log.gz")
    assert [each.id for each in journal.read()] == []
    journal.append(entry(11))
    assert [each.id for each in journal.read(include_archives=True)] == [f"id-{number}" for number in range(12)]
    with gzip.open(archive, "rt") as packed:
        assert json.loads(packed.readline())["op"] == "remember"


@pytest.mark.accepts("H14.5")
def test_archives_that_are_too_old_are_removed(tmp_path: Path) -> None:
    import os

    journal = Journal(tmp_path / "j.log", keep_days=90)
    journal.append(entry())
    journal._rotate()
    (archive,) = tmp_path.glob("j-*.log.gz")
    past = time.time() - 91 * 86_400
    os.utime(archive, (past, past))
    journal._writes_since_check = journal._ROTATE_CHECK_EVERY
    journal.append(entry(1))
    assert not archive.exists()


@pytest.mark.accepts("H14.5")
def test_a_journal_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    Journal(tmp_path / "file" / "j.log").append(entry())


@pytest.mark.accepts("H14.7")
def test_undoing_takes_each_change_back(store: MemoryStore) -> None:
    a, b = store.remember("alpha", tags=["x"]), store.remember("beta")
    store.link(a.id, b.id, "refines")
    assert store.undo(last(store, "link")) and store.neighbors(a.id) == []
    store.link(a.id, b.id, "refines")
    store.unlink(a.id, b.id)
    assert store.undo(last(store, "unlink")) and len(store.neighbors(a.id)) == 1
    store.supersede(a.id, b.id)
    assert store.undo(last(store, "supersede"))
    store.supersede(a.id, b.id)
    store.restore(a.id)
    assert store.undo(last(store, "restore"))
    hidden = store._get_by_id(a.id)
    assert hidden is not None and hidden.superseded_by == b.id
    store.forget(b.id)
    assert store.undo(last(store, "forget"))
    again = store._get_by_id(b.id)
    assert again is not None and again.text == "beta"
    assert store.recall("beta", k=1)[0][0].id == b.id
    assert store.undo(last(store, "forget")) is False
    c = store.remember("gamma")
    assert store.undo(last(store, "remember")) and store._get_by_id(c.id) is None
    assert store.undo(last(store, "undo")) is False


@pytest.mark.accepts("H15.1", "H15.2")
def test_an_archive_carries_memories_to_another_store(store: MemoryStore, opened: Opened, tmp_path: Path) -> None:
    a = store.remember("first", tags=["x"], importance=0.7)
    b = store.remember("second")
    store.link(a.id, b.id, "refines")
    file = tmp_path / "dump.ahkai"
    result = store.export(file)
    assert (result.path, result.count, result.bytes) == (file, 2, file.stat().st_size)
    other = opened("other")
    assert other.import_(file, dry_run=True).imported == 2 and other.count() == 0
    done = other.import_(file)
    assert (done.imported, done.skipped, done.errors, done.vectors_regenerated) == (2, 0, [], False)
    moved = other._get_by_id(a.id)
    stood = store._get_by_id(a.id)
    assert moved == stood
    assert [(each.op, each.actor) for each in other.journal.read(op="import")] == [("import", "import")] * 2
    assert last(store, "export").meta["count"] == 2


@pytest.mark.accepts("H15.3")
def test_the_first_line_says_what_the_file_is(store: MemoryStore, tmp_path: Path) -> None:
    store.remember("one")
    store.export(tmp_path / "dump.bin")
    with gzip.open(tmp_path / "dump.bin", "rt") as file:
        header, row = json.loads(file.readline()), json.loads(file.readline())
    assert (header["format"], header["version"]) == ("ai-houkai/export", 1)
    source = header["source"]
    assert (source["collection"], source["embedding_model"], source["count"]) == ("tests", store.embedding_model, 1)
    assert source["embedding_dim"] == len(row["vector"]) > 0


@pytest.mark.accepts("H15.1", "H15.3")
def test_an_export_is_narrowed_by_type_tag_time_and_succession(store: MemoryStore, tmp_path: Path) -> None:
    store.remember("one", type="episodic", tags=["keep"])
    old, new = store.remember("two", tags=["keep"]), store.remember("three", tags=["drop"])
    store.supersede(old.id, new.id)
    file = tmp_path / "x.ahkai"
    assert store.export(file).count == 2
    assert store.export(file, include_superseded=True).count == 3
    assert store.export(file, types=["semantic"], tags=["keep"], include_superseded=True).count == 1
    assert store.export(file, since=time.time() + 60).count == 0


@pytest.mark.accepts("H15.1", "H15.2", "H15.4")
def test_ids_that_are_here_already_are_handled_as_asked(store: MemoryStore, tmp_path: Path) -> None:
    memory = store.remember("original")
    store.export(tmp_path / "x.ahkai")
    assert store.import_(tmp_path / "x.ahkai").skipped == 1
    store.edit(memory.id, text="changed here")
    assert store.import_(tmp_path / "x.ahkai", on_conflict="overwrite").overwritten == 1
    stands = store._get_by_id(memory.id)
    assert stands is not None and stands.text == "original"
    with pytest.raises(ImportConflictError) as caught:
        store.import_(tmp_path / "x.ahkai", on_conflict="error")
    assert caught.value.collisions == [memory.id]
    assert store.import_(tmp_path / "x.ahkai", on_conflict="rename").renamed == 1
    assert store.count() == 2


@pytest.mark.accepts("H15.1", "H15.4")
def test_vectors_of_another_model_are_taken_only_when_they_may_be_computed_again(
    store: MemoryStore, opened: Opened, tmp_path: Path
) -> None:
    store.remember("hello there")
    file = tmp_path / "x.ahkai"
    store.export(file)
    changed(file, lambda header: header["source"].update(embedding_model="another"))
    other = opened("other")
    with pytest.raises(ImportError, match="regenerate_vectors"):
        other.import_(file)
    done = other.import_(file, regenerate_vectors=True)
    assert (done.imported, done.vectors_regenerated) == (1, True)
    assert other.recall("hello", k=1)


@pytest.mark.accepts("H15.4")
def test_a_newer_or_foreign_file_is_refused_and_a_bad_line_is_counted(
    store: MemoryStore, opened: Opened, tmp_path: Path
) -> None:
    store.remember("hello")
    file = tmp_path / "x.ahkai"
    store.export(file)
    with gzip.open(file, "at") as more:
        more.write("no json\n")
    done = opened("other").import_(file)
    assert (done.imported, len(done.errors)) == (1, 1)
    changed(file, lambda header: header.update(version=2))
    with pytest.raises(ImportError):
        store.import_(file)
    file.write_text("plain text")
    with pytest.raises(ImportError):
        store.import_(file)


def changed(file: Path, change: object) -> None:
    with gzip.open(file, "rt") as packed:
        first, *rest = packed.readlines()
    header = json.loads(first)
    change(header)  # type: ignore[operator]
    with gzip.open(file, "wt") as packed:
        packed.writelines([json.dumps(header) + "\n", *rest])


def test_a_forget_taken_back_brings_links_and_successions_back(store: MemoryStore) -> None:
    old, note = store.remember("Deploys happen on Friday"), store.remember("See the day of deploys")
    new = store.remember("Deploys happen on Monday")
    store.supersede(old.id, new.id)
    store.link(note.id, new.id, "refines")
    store.forget(new.id)
    assert store.undo(last(store, "forget"))
    linked, replaced = store.get(note.id), store.get(old.id)
    assert linked is not None and [(link.to, link.rel) for link in linked.links] == [(new.id, "refines")]
    assert replaced is not None and replaced.superseded_by == new.id
    assert store.undo(last(store, "supersede"))


def test_a_remember_is_not_taken_back_once_the_memory_was_edited(store: MemoryStore) -> None:
    edited = store.remember("The ferry leaves at nine", tags=["ferry"])
    added = last(store, "remember")
    store.edit(edited.id, text="The ferry leaves at ten in winter")
    assert store.undo(added) is False
    kept = store.get(edited.id)
    assert kept is not None and kept.text == "The ferry leaves at ten in winter"
    assert list(store.journal.read(op="undo")) == []
    store.edit(edited.id, text="The ferry leaves at nine")
    store.recall("ferry")
    assert store.undo(added) and store.get(edited.id) is None
    assert store.undo(added) is False


def test_a_forget_taken_back_brings_back_what_only_other_programs_write(store: MemoryStore) -> None:
    target = store.remember("The pier is closed")
    written = store.native.remember(
        "The pier opens again in May", title="Pier", metadata={"gate": 2}, confidence=0.4, contexts=["harbour"],
        occurred_at="2026-05-01", links=[Link(target.id, "refines", weight=0.3)],
    )  # fmt: skip
    store.forget(written.id)
    assert store.undo(last(store, "forget"))
    again = store.native.get(written.id)
    assert again is not None and again.to_dict() == written.to_dict()


def test_each_thread_acts_under_its_own_name(store: MemoryStore) -> None:
    entered, left = threading.Barrier(2, timeout=60), threading.Event()

    def act(name: str) -> None:
        with store.as_actor(name):
            entered.wait()
            if name == "second":  # entered last or not, it leaves last
                left.wait(60)
            store.remember(f"by the {name}")
        left.set()

    threads = [threading.Thread(target=act, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    with store.as_actor("outer"), store.as_actor("inner"):
        store.remember("by the inner")
    for thread in threads:
        thread.join()
    store.remember("by the lib")
    assert store.actor == "lib"
    assert {(each.after or {})["text"] for each in store.journal.read()} == {
        f"by the {each.actor}" for each in store.journal.read()
    }
    actors = {entry.operation.actor for entry in store.native.journal(limit=None)}
    assert actors == {"first", "second", "inner", "lib"} == {each.actor for each in store.journal.read()}
