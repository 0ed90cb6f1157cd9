"""A memory moves to another space in one operation, which undo takes back from either side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.engine.removal import purge
from nacre.errors import InvalidInput, MemoryNotFound, UndoBlocked, UndoRefused
from nacre.model.journal import UNATTENDED
from nacre.settings import Settings
from nacre.storage.journal_mirror import lines
from tests.embedders import WordBag
from tests.stores_in_postgres import stored_in as stored_in

TEXT = "The spare key hangs behind the clock"
OLD, NEW = "The boat is red", "The boat is blue"


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path, stored_in: str) -> Iterator[MemoryStore]:  # noqa: ARG001
    place = ":memory:" if request.param == "memory" else tmp_path / "s"
    with MemoryStore(place, embedder=WordBag(), space="here") as store:
        yield store


def texts(store: MemoryStore) -> list[str]:
    return sorted(memory.text for memory in store.iterate(include_superseded=True, include_trashed=True))


def test_a_moved_memory_is_found_there_with_all_fields_and_no_longer_here(store: MemoryStore) -> None:
    first = store.remember(TEXT, id="key", tags=["home"], source="me", importance=0.9, occurred_at="2026-01-01")
    store.touch("key")
    (moved,) = store.move("key", to="there")
    there = store.in_space("there")
    kept = there.get("key")
    assert kept == moved and store.get("key") is None and texts(store) == []
    assert kept is not None and (kept.tags, kept.source, kept.importance) == (("home",), "me", 0.9)
    assert (kept.created_at, kept.occurred_at, kept.access_count) == (first.created_at, first.occurred_at, 1)
    assert [hit.memory.id for hit in there.recall("where is the spare key")] == ["key"]
    assert not store.recall("where is the spare key", min_relevance=0.0)
    batches = {each.journal(limit=1)[0].operation.batch for each in (store, there)}
    assert len(batches) == 1, "one operation"


@pytest.mark.parametrize("side", ["here", "there"])
def test_one_undo_from_either_space_takes_it_back_and_another_does_it_again(store: MemoryStore, side: str) -> None:
    store.remember(TEXT, id="key", tags=["home"])
    before = store.get("key")
    store.move("key", to="there")
    there = store.in_space("there")
    undone = store.in_space(side).undo()
    back = store.get("key")
    assert back is not None and before is not None and texts(there) == []
    assert (back.text, back.tags, back.created_at) == (before.text, before.tags, before.created_at)
    assert store.recall("spare key") and not there.recall("spare key", min_relevance=0.0)
    with pytest.raises(UndoRefused, match="undone already"):
        store.undo(there.journal(operation="move", limit=1)[0])
    store.in_space(side).undo(undone[0].operation.batch)
    assert texts(store) == [] and texts(there) == [TEXT]


def test_all_versions_of_a_fact_move_together(store: MemoryStore) -> None:
    store.remember(OLD, id="old")
    store.remember(NEW, id="new", replaces="old")
    store.remember("The kettle is on", id="other")
    assert {memory.id for memory in store.move("old", to="there")} == {"old", "new"}
    there = store.in_space("there")
    assert texts(store) == ["The kettle is on"]
    assert [memory.id for memory in there.list_recent()] == ["new"]
    assert [version.id for version in there.history("new").versions] == ["old", "new"]
    store.undo()
    assert [version.id for version in store.history("new").versions] == ["old", "new"]


def test_what_cannot_move_is_refused_and_nothing_changes(store: MemoryStore) -> None:
    there = store.in_space("there")
    store.remember(TEXT, id="key")
    there.remember("Another text", id="key")
    with pytest.raises(InvalidInput, match="has a memory 'key' already"):
        store.move("key", to="there")
    with pytest.raises(InvalidInput, match="in the space 'here' already"):
        store.move("key", to="here")
    with pytest.raises(MemoryNotFound):
        store.move("nobody", to="there")
    store.forget("key")
    with pytest.raises(InvalidInput, match="in the trash"):
        store.move("key", to="elsewhere")
    assert texts(store) == [TEXT] and texts(there) == ["Another text"] and "elsewhere" not in store.spaces()


def test_a_move_whose_memory_was_changed_since_names_what_comes_first(store: MemoryStore) -> None:
    store.remember(TEXT, id="key")
    store.move("key", to="there")
    there = store.in_space("there")
    there.edit("key", text="The spare key is lost")
    move = store.journal(operation="move", limit=1)[0].operation.batch
    for cascade in (False, True):
        with pytest.raises(UndoBlocked, match="undo the later operations in the space 'there' first"):
            store.undo(move, cascade=cascade)
    assert not store.operation(move).undoable
    assert texts(store) == [] and texts(there) == ["The spare key is lost"]
    there.undo()
    store.undo()
    assert texts(store) == [TEXT] and texts(there) == []


def test_a_move_is_undone_alone(store: MemoryStore) -> None:
    store.remember(TEXT, id="key")
    store.move("key", to="there")
    with pytest.raises(UndoRefused, match="alone"):
        store.undo(last=2)
    with pytest.raises(UndoRefused, match="alone"):  # the move would be taken back here, and not there
        store.undo(store.journal(operation="remember", limit=1)[0], cascade=True)
    assert texts(store) == [] and texts(store.in_space("there")) == [TEXT]


@pytest.mark.parametrize("side", ["here", "there"])
def test_an_undo_passes_over_the_move_of_what_maintenance_has_removed(store: MemoryStore, side: str) -> None:
    there = store.in_space("there")
    for each in (store, there):
        each.remember("The kettle is on", id="kettle")
    store.remember(TEXT, id="key")
    store.move("key", to="there")
    purge(there.acting_as("trash"), "there", ["key"], why=UNATTENDED)
    store.in_space(side).undo()
    kept = {"here": there, "there": store}[side]
    assert texts(store.in_space(side)) == [] and texts(kept) == ["The kettle is on"]


def test_a_move_of_nothing_is_no_operation(store: MemoryStore) -> None:
    assert store.move(to="there") == []
    assert store.journal() == [] and store.in_space("there").journal() == []


def test_what_is_asked_of_an_earlier_time_is_answered_by_the_space_that_had_it(store: MemoryStore) -> None:
    store.remember(TEXT, id="key")
    before = store.now()
    store.move("key", to="there")
    assert [memory.id for memory in store.list_recent(as_of=before)] == ["key"]
    assert store.in_space("there").count() == 1


@pytest.mark.parametrize("way", ["purge", "compact", "space"])
def test_what_is_deleted_for_good_is_gone_where_it_was_before_whatever_is_left_of_the_journal(
    store: MemoryStore, way: str
) -> None:
    there = store.in_space("there")
    store.remember(TEXT, id="key")
    store.remember("The kettle is on", id="kettle")
    there.remember("Another text", id="other")
    store.move("key", "kettle", to="there")
    there.move("kettle", to="third")
    if way == "compact":
        there.compact(older_than_days=0)
    if way == "space":
        there.delete_space(purge=True)
    else:
        there.purge("key")
    kept = str([(entry.before, entry.after) for entry in store.journal(limit=None)])
    assert "spare" not in kept and "The kettle is on" in kept, "the kettle is in the third space"
    assert texts(store.in_space("third")) == ["The kettle is on"]


@pytest.mark.parametrize("way", ["purge", "redact"])
@pytest.mark.parametrize("back", [False, True])
def test_what_is_deleted_for_good_is_gone_from_both_journals(tmp_path: Path, way: str, back: bool) -> None:
    with MemoryStore(tmp_path / "s", embedder=WordBag(), space="here") as store:
        store.remember(TEXT, id="key")
        store.move("key", to="there")
        store.in_space("there").move("key", to="third")
        if back:
            store.in_space("third").undo()
        last = store.in_space("there" if back else "third")
        getattr(last, way)("key")
        for space in ("here", "there", "third"):
            for entry in store.in_space(space).journal(limit=None):
                assert "spare" not in f"{entry.before} {entry.after}", space
        with pytest.raises(UndoRefused):
            store.undo(store.journal(operation="move", limit=1)[0])
        assert texts(store) == []
    assert not [each for each in tmp_path.iterdir() if b"spare key" in each.read_bytes()]


def test_a_move_is_undone_and_its_past_is_purged_whatever_the_other_space_is_called_now(store: MemoryStore) -> None:
    there = store.in_space("there")
    for space in (store, there):  # one without memories has no name that could be changed
        space.remember("The kettle is on", id="kettle")
    store.remember(TEXT, id="key")
    store.move("key", to="there")
    store.rename_space("home")
    there.undo(there.journal(operation="move", limit=1)[0])
    assert TEXT in texts(store) and TEXT not in texts(there)
    store.move("key", to="there")
    there.rename_space("shed")
    there.purge("key")
    for space in (store, there):
        assert not any("spare" in f"{entry.before} {entry.after}" for entry in space.journal(limit=None))
    assert set(store.spaces()) == {"home", "shed"} == {note.name for note in store.space_notes()}


def test_what_is_deleted_for_good_is_gone_from_the_mirror_of_the_journal_too(tmp_path: Path) -> None:
    mirror = tmp_path / "mirror.jsonl"
    settings = replace(Settings(), store=str(tmp_path / "s"), journal_mirror=str(mirror), conflict_judge="rules")
    with MemoryStore(settings=settings, embedder=WordBag(), space="here") as store:
        store.remember(TEXT, id="key")
        store.move("key", to="there")
        assert "spare" in mirror.read_text()
        store.in_space("there").purge("key")
        assert "spare" not in mirror.read_text()
        for id, text in (("key", TEXT), ("kettle", "The kettle is on")):
            store.remember(text, id=id)
        store.move("key", to="there")
        store.in_space("there").delete_space(purge=True)
        packed = b"".join(line for archive in tmp_path.glob("mirror*.gz") for line in lines(archive))
        rest = packed + mirror.read_bytes()
        assert b"spare" not in rest and b"kettle is on" in rest
