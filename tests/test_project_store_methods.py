"""Which spaces each method of a project's store is about."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore
from nacre.errors import InvalidInput, MemoryNotFound, UndoRefused, VersionMismatch
from nacre.model import Listing
from nacre.model.instants import DAY, day
from nacre.project_store import ProjectStore
from nacre.settings import Settings, SpaceChoice

# Searches, lists and history, which look into both spaces.
BOTH = {
    "as_actor", "close", "count", "decide", "diff", "entities", "get_many", "iterate_journal", "journal",
    "list_recent", "memories_about", "note_conflicts", "recall", "review", "subgraph", "tally", "touch", "undo",
    "vectors",
}  # fmt: skip
# What names a memory or an operation, which is found in either space.
BY_ID = {
    "archive", "bump", "edit", "edit_result", "expecting", "find_conflicts", "forget", "get", "history", "link",
    "merge", "move", "neighbors", "operation", "path", "pin", "purge", "redact", "remember_result", "resolve_id",
    "resolve_operation", "restore", "supersede", "tag", "unarchive", "unlink", "unpin", "validate",
}  # fmt: skip
# What writes to its own space, or is about it alone.
OWN_SPACE = {
    "acting_as", "as_user", "catch_up", "changes", "compact", "copy_space", "delete_space", "draft", "edges",
    "editing", "entity_suggestions", "in_space", "iterate", "merge_entities", "operations",
    "prune_links", "reading", "reindex", "remember_many", "rename_space", "resolve_entity", "stats", "timeline",
    "unalias", "weak_links", "write",
}  # fmt: skip
# What all spaces share, and what calls another of these methods.
SHARED = {
    "backup", "check_records", "clean", "create_space", "health", "now", "register_relation", "register_type",
    "relations", "space_notes", "spaces", "types", "vocabulary",
}  # fmt: skip
CALLS_ANOTHER = {"recall_pack": "recall", "remember": "remember_result"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ProjectStore]:
    settings = Settings(store=str(tmp_path / "s.db"), embedder="hashing", rerank_ms=0.0, conflict_judge="rules")
    with ProjectStore.open(settings, lambda _: SpaceChoice("shop", "", "personal"), actor="cli") as opened:
        yield opened


def beside(store: ProjectStore) -> MemoryStore:
    assert store.beside is not None
    return store.beside


def test_of_every_method_it_is_decided_which_spaces_it_is_about() -> None:
    methods = {name for name, _ in inspect.getmembers(MemoryStore, inspect.isfunction) if not name.startswith("_")}
    sets = (BOTH, BY_ID, OWN_SPACE, SHARED, set(CALLS_ANOTHER))
    assert set().union(*sets) == methods and sum(map(len, sets)) == len(methods)
    own = {name for name in methods if name in vars(ProjectStore)}
    assert own >= BOTH | BY_ID and own - BOTH - BY_ID == {"iterate"}
    assert set(CALLS_ANOTHER.values()) <= BOTH | BY_ID


def test_what_is_named_by_its_id_has_its_vectors_and_its_journal_in_either_space(store: ProjectStore) -> None:
    mine, own = beside(store).remember("My bicycle is blue"), store.remember("The shop opens at nine")
    assert set(store.vectors([mine.id, own.id])) == {mine.id, own.id}
    assert [entry.memory_id for entry in store.iterate_journal(mine.id)] == [mine.id]
    assert [entry.memory_id for entry in store.iterate_journal()] == [mine.id, own.id]
    assert [memory.id for memory in store.iterate()] == [own.id]


def test_yesterday_is_that_of_now_where_the_day_of_today_is_asked_for(store: ProjectStore) -> None:
    now = store.now()
    right = store.remember("I watered the ferns", type="episodic", occurred_at=now - DAY)
    wrong = beside(store).remember("I watered the cactus", type="episodic", occurred_at=now)
    for as_of in (None, day(now)):
        hits = store.recall("What did I water yesterday?", as_of=as_of, min_relevance=0.0)
        assert [hit.memory.id for hit in hits] == [right.id, wrong.id]


def test_conflicts_are_noted_in_the_space_in_which_they_were_found(store: ProjectStore) -> None:
    matches = []
    for each in (beside(store), store):
        port, _ = (each.remember(f"The port is {number}", on_conflict="ignore") for number in (80, 90))
        matches += store.find_conflicts(port.id)
    assert {match.a.space for match in matches} == {"personal", "shop"}
    assert store.note_conflicts(matches, why="scan") == 2
    assert [len(each.review(kinds="conflict")) for each in (beside(store), store._alone())] == [1, 1]
    assert store.note_conflicts(matches) == 0 and store.note_conflicts([]) == 0


@pytest.mark.parametrize(
    "removed", [(), ("own3",), ("own0", "own1", "own2", "own3"), tuple(f"own{at}" for at in range(6))]
)
@pytest.mark.parametrize("stored", [0, 1, 9])
def test_a_walk_meets_each_memory_once_while_others_write_between_its_readings(
    store: ProjectStore, monkeypatch: pytest.MonkeyPatch, removed: tuple[str, ...], stored: int
) -> None:
    own, readings = store.in_space("shop"), 0
    for at in range(6):
        own.remember(f"own {at}", id=f"own{at}", created_at=1000.0 + 10 * at, on_conflict="ignore")
        beside(store).remember(f"mine {at}", id=f"mine{at}", created_at=1005.0 + 10 * at, on_conflict="ignore")
    read = MemoryStore.list_recent

    def reading(self: MemoryStore, *arguments: Any, **options: Any) -> Listing:
        nonlocal readings
        listing = read(self, *arguments, **options)
        readings += 1
        if readings == 2:
            own.forget(*removed)
            own.remember_many([{"text": f"new {at}", "id": f"new{at}"} for at in range(stored)])
        return listing

    monkeypatch.setattr(MemoryStore, "list_recent", reading)
    met, cursor = list[str](), ""
    while cursor or not met:
        listing = store.list_recent(4, cursor=cursor)
        met, cursor = [*met, *(memory.id for memory in listing)], listing.cursor
    lasting = {f"{name}{at}" for name in ("own", "mine") for at in range(6)} - {*removed}
    assert len(met) == len(set(met)) and lasting <= set(met)


def test_an_operation_is_found_in_either_space(store: ProjectStore) -> None:
    beside(store).remember("My bicycle is blue")
    (entry,) = store.journal()
    assert store.operation(entry.operation.batch[:8]).operation.batch == entry.operation.batch


def test_a_version_is_expected_of_a_memory_of_either_space(store: ProjectStore) -> None:
    mine, own = beside(store).remember("My bicycle is blue"), store.remember("The shop opens at nine")
    view = store.expecting({mine.id: mine.version, own.id: own.version})
    assert view.beside is not None
    beside(store).edit(mine.id, title="Bicycle")
    for write in (lambda: view.edit(mine.id, title="Bike"), lambda: store.expecting({mine.id: mine.version})):
        with pytest.raises(VersionMismatch):
            write()
    assert view.edit(own.id, title="Hours").title == "Hours"
    with pytest.raises(MemoryNotFound):
        store.expecting({"nobody": 1})


def test_the_last_operations_are_undone_only_in_one_space(store: ProjectStore) -> None:
    beside(store).remember("My bicycle is blue")
    store.remember("The shop opens at nine")
    with pytest.raises(InvalidInput, match="two spaces"):
        store.undo(last=2)


def test_where_the_last_operation_cannot_be_undone_no_older_one_of_the_other_space_is_undone_instead(
    store: ProjectStore,
) -> None:
    mine = beside(store).remember("My bicycle is blue")
    gone = store.remember("The shop opens at nine")
    store.purge(gone.id)
    with pytest.raises(UndoRefused, match=r"The last operation \(purge"):
        store.undo()
    assert [memory.id for memory in store.list_recent()] == [mine.id]


def test_the_last_operation_is_undone_where_an_older_one_of_the_other_space_could_not_be(store: ProjectStore) -> None:
    gone = store.remember("The shop opens at nine")
    store.purge(gone.id)
    mine = beside(store).remember("My bicycle is blue")
    assert [entry.memory_id for entry in store.undo()] == [mine.id]
