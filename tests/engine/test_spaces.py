"""Spaces as a whole: described, copied, renamed, deleted; each an operation of its space."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest

from nacre import Link, MemoryStore
from nacre.engine.spaces import SpaceNote
from nacre.errors import InvalidInput, UndoBlocked, UndoRefused
from nacre.model.instants import WEEK
from nacre.settings import Settings
from tests.embedders import WordBag
from tests.prepared_stores import empty_store


@pytest.fixture
def embedder() -> WordBag:
    return WordBag()


@pytest.fixture(params=["file", pytest.param("memory", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, embedder: WordBag, tmp_path: Path) -> MemoryStore:
    path = empty_store(tmp_path / "s.db") if request.param == "file" else ":memory:"
    return MemoryStore(path, space="old", embedder=embedder, on_conflict="ignore")


def within(store: MemoryStore, space: str) -> MemoryStore:
    """The same store, seen from another space."""
    other = copy(store)
    other.space = space
    return other


def test_statistics_ask_as_few_questions_for_half_a_year_as_for_a_week(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for weeks in (0, 3, 20, 30):
        store.remember(f"{weeks} weeks ago", created_at=store.now() - weeks * WEEK)
    store.forget(store.remember("a mistake").id)
    asked: list[str] = []
    backend = type(store.backend)
    for name in ("count", "tally", "page", "values"):
        monkeypatch.setattr(backend, name, counted(getattr(backend, name), name, asked))
    growth = store.stats().growth
    assert (sorted(asked), sum(growth.values()), len(growth)) == (["count"] * 6 + ["tally"] * 3, 3, 21)


def counted(method: Callable[..., object], name: str, asked: list[str]) -> Callable[..., object]:
    def call(*args: object, **options: object) -> object:
        asked.append(name)
        return method(*args, **options)

    return call


def filled(store: MemoryStore) -> list[str]:
    first = store.remember("the quay is wet", tags=["quay"], importance=0.9, metadata={"page": 3})
    second = store.remember("the boat is dry", links=[Link(first.id, "refines", 0.5)])
    gone = store.remember("a gull")
    store.forget(gone.id)
    store.recall("quay")
    return [first.id, second.id]


def test_an_empty_space_is_listed_once_it_is_created(store: MemoryStore) -> None:
    assert store.create_space("harbour", "ships and tides")
    assert not store.create_space("harbour")
    store.remember("x")
    assert store.space_notes() == [SpaceNote("harbour", 0, "ships and tides"), SpaceNote("old", 1)]
    assert store.create_space("harbour", "ships alone")
    within(store, "harbour").undo()
    assert store.space_notes()[0].description == "ships and tides"


def test_a_copy_has_every_field_link_and_vector_and_embeds_nothing(store: MemoryStore, embedder: WordBag) -> None:
    ids = filled(store)
    there, before = within(store, "new"), store.get_many(ids)
    embedder.asked.clear()
    assert len(store.copy_space("new", dry_run=True)) == 2 and store.spaces() == {"old": 3}
    store.copy_space("new")
    assert embedder.asked == []
    assert [replace(memory, space="old") for memory in there.get_many(ids)] == before
    assert {id: rows.tolist() for id, rows in there.vectors(ids).items()} == {
        id: rows.tolist() for id, rows in store.vectors(ids).items()
    }
    assert [near.memory.id for near in there.neighbors(ids[0])] == [ids[1]]
    assert [hit.memory.id for hit in there.recall("quay", k=1)] == [ids[0]]
    assert there.health().problems == ()


def test_a_copy_is_one_act_there_and_leaves_alone_what_is_there(store: MemoryStore) -> None:
    ids = filled(store)
    there = within(store, "new")
    there.remember("mine", id=ids[0])
    assert [memory.id for memory in store.copy_space("new")] == [ids[1]]
    assert there.get(ids[0]).text == "mine"  # type: ignore[union-attr]
    there.undo()
    assert store.spaces() == {"new": 1, "old": 3}
    with pytest.raises(InvalidInput):
        store.copy_space("old")


def test_a_renamed_space_keeps_its_memories_its_journal_and_its_past(store: MemoryStore) -> None:
    ids = filled(store)
    store.create_space("old", "boats")
    store.merge_entities("Quay", "Pier")
    told = [(entry.operation.name, entry.memory_id.replace("old", "new")) for entry in store.journal(limit=None)]
    moment = store.now()
    store.rename_space("new")
    assert store.space == "new"
    assert store.spaces() == {"new": 3}
    assert store.space_notes() == [SpaceNote("new", 3, "boats")]
    assert [(entry.operation.name, entry.memory_id) for entry in store.journal(limit=None)][1:] == told
    assert [hit.memory.id for hit in store.recall("quay", k=1)] == [ids[0]]
    assert [memory.space for memory in store.iterate(as_of=moment)] == ["new", "new"]
    assert store.resolve_entity("Pier") == "Quay"
    store.edit(ids[0], text="the quay is icy")
    assert store.health(thorough=True).problems == ()


def test_a_new_name_can_be_taken_back_even_after_later_acts(store: MemoryStore) -> None:
    filled(store)
    store.rename_space("new")
    later = store.remember("written under the new name")
    store.undo(store.journal(operation="rename_space")[0])
    back = within(store, "old")
    assert back.spaces() == {"old": 4}
    assert back.get(later.id) is not None
    assert back.undo()[0].memory_id == later.id


def test_what_was_removed_before_a_renaming_comes_back_under_the_new_name(store: MemoryStore) -> None:
    memory = store.remember("x")
    store.undo()
    store.rename_space("new") if store.spaces() else store.create_space("old")
    store.rename_space("newer")
    undone = store.journal(operation="undo")[0]
    store.undo(undone)
    assert store.get(memory.id) is not None and store.spaces() == {"newer": 1}


def test_a_name_that_is_taken_or_unknown_is_refused(store: MemoryStore) -> None:
    store.remember("x")
    within(store, "new").remember("y")
    with pytest.raises(InvalidInput, match="already"):
        store.rename_space("new")
    with pytest.raises(InvalidInput, match="no space"):
        within(store, "nowhere").rename_space("other")
    store.rename_space("third")
    within(store, "old").remember("z")
    with pytest.raises(UndoRefused):
        store.undo()
    assert store.spaces() == {"new": 1, "old": 1, "third": 1}


def test_a_deleted_space_lies_in_its_trash_until_undo(store: MemoryStore) -> None:
    filled(store)
    assert store.delete_space() == 2
    assert store.count() == 0 and store.count(status="trashed") == 3
    store.undo()
    assert store.count() == 2


def test_a_purged_space_is_gone_for_good(store: MemoryStore) -> None:
    filled(store)
    store.create_space("old", "boats")
    assert store.delete_space(purge=True) == 3
    assert store.spaces() == {} and store.space_notes() == []
    assert "quay" not in str(store.journal(limit=None))


def test_a_purge_reaches_what_the_mirror_tells_under_the_old_name(tmp_path: Path) -> None:
    mirror = tmp_path / "journal.jsonl"
    known = Settings(embedder="hashing", journal_mirror=str(mirror))
    with MemoryStore(tmp_path / "s.db", space="old", settings=known) as store:
        memory = store.remember("heliotrope")
        store.rename_space("new")
        assert "heliotrope" in mirror.read_text("utf-8")
        store.purge(memory.id)
    assert "heliotrope" not in mirror.read_text("utf-8")


def test_a_purged_space_leaves_nothing_in_the_mirror_or_for_a_new_space_of_its_name(tmp_path: Path) -> None:
    mirror = tmp_path / "journal.jsonl"
    known = Settings(embedder="hashing", journal_mirror=str(mirror))
    with MemoryStore(tmp_path / "s.db", space="old", settings=known) as store:
        store.remember("heliotrope", entities=["Ann", "Annie"])
        store.create_space("old", "about heliotropes")
        store.merge_entities("Ann", "Annie")
        store.rename_space("new")
        store.in_space("other").remember("another heliotrope")
        assert mirror.read_text("utf-8").count("heliotrope") == 3
        assert store.delete_space(purge=True) == 1
        store.remember("marigold", entities=["Annie"])
        assert store.resolve_entity("Annie") == "Annie"
        assert [(note.name, note.description) for note in store.space_notes()] == [("new", ""), ("other", "")]
    left = "".join(path.read_text("utf-8") if path.suffix != ".gz" else gzip.decompress(path.read_bytes()).decode()
                   for path in tmp_path.glob("journal*"))  # fmt: skip
    assert left.count("heliotrope") == 1
    assert left.count("Annie") == 1


def test_another_process_reads_its_vectors_under_the_new_name(tmp_path: Path) -> None:
    with (
        MemoryStore(tmp_path / "s.db", space="old", embedder="hashing") as store,
        MemoryStore(tmp_path / "s.db", space="new", embedder="hashing") as other,
    ):
        memory = store.remember("heliotrope")
        assert [*other.recall("heliotrope", strategy="semantic")] == []
        store.rename_space("new")
        assert [hit.memory.id for hit in other.recall("heliotrope", strategy="semantic")] == [memory.id]


LEFT: dict[str, tuple[str, Callable[[MemoryStore], object]]] = {
    "a description": ("was created", lambda other: other.create_space("new", "of the other team")),
    "terms of its own": ("has a journal", lambda other: other.merge_entities("Robert", "Bob")),
    "a journal": ("has a journal", lambda other: (other.remember("x"), other.undo())),
    "a purged memory": ("has a journal", lambda other: other.purge(other.remember("x").id)),
}


@pytest.mark.parametrize("left", LEFT)
def test_the_name_of_a_space_that_has_more_than_memories_is_not_taken_before_it_is_purged(
    store: MemoryStore, left: str
) -> None:
    reason, leave = LEFT[left]
    store.remember("y")
    other = store.in_space("new")
    leave(other)
    before = (store.space_notes(), other.journal(), other.resolve_entity("Bob"))
    with pytest.raises(InvalidInput, match=reason):
        store.rename_space("new")
    assert (store.space_notes(), other.journal(), other.resolve_entity("Bob")) == before
    store.rename_space("third")
    leave(store.in_space("old")) if left != "a description" else store.create_space("old", "of the other team")
    with pytest.raises(UndoRefused, match=reason):
        store.undo(store.journal()[0])
    for name in ("new", "old"):
        store.in_space(name).delete_space(purge=True)
    store.undo()
    store.rename_space("new")
    assert store.spaces() == {"new": 1} and store.resolve_entity("Bob") == "Bob"
    assert store.health(thorough=True).problems == ()


def test_the_name_of_a_space_whose_memories_were_purged_with_it_is_free(store: MemoryStore) -> None:
    store.remember("y")
    other = store.in_space("new")
    other.remember("x")
    other.delete_space(purge=True)
    store.rename_space("new")
    assert store.spaces() == {"new": 1}
    assert [entry.operation.name for entry in store.journal()] == ["rename_space", "remember"]


def test_the_creation_of_a_renamed_space_is_undone_in_that_space_alone(store: MemoryStore) -> None:
    store.create_space("old", "boats")
    created = store.journal()[0]
    store.create_space("old", "all boats")
    store.remember("y")
    store.rename_space("new")
    store.create_space("old", "boats")
    with pytest.raises(UndoBlocked, match="create_space"):
        store.undo(created)
    store.undo(store.journal(operation="create_space")[0])
    assert [note.description for note in store.space_notes()] == ["boats", "boats"]
    undone = store.undo(created)[0]
    assert store.space_notes() == [SpaceNote("new", 1), SpaceNote("old", 0, "boats")]
    store.undo(undone)
    assert store.space_notes() == [SpaceNote("new", 1, "boats"), SpaceNote("old", 0, "boats")]


def test_undo_leaves_a_space_listed_that_was_listed_without_a_description(store: MemoryStore) -> None:
    store.create_space("old")
    store.create_space("old", "boats")
    store.undo()
    assert store.space_notes() == [SpaceNote("old", 0)]
    store.undo()
    assert store.space_notes() == []


def test_an_undo_after_another_space_was_made_takes_nothing_older_back(store: MemoryStore) -> None:
    store.remember("kept", id="m1")
    for made, name in ((store.copy_space, "harbour"), (store.create_space, "attic")):
        made(name)
        with pytest.raises(UndoRefused, match=rf"_space .* `nacre --space {name} undo` takes it back"):
            store.undo()
        assert store.get("m1") is not None
        store.in_space(name).undo()
    assert store.undo() and store.get("m1") is None


def test_what_was_done_here_since_another_space_was_made_is_undone(store: MemoryStore) -> None:
    store.create_space("attic", "boxes")
    store.remember("kept", id="m1")
    assert [entry.memory_id for entry in store.undo()] == ["m1"]


def test_a_purged_space_leaves_no_terms_and_no_journal_text(store: MemoryStore) -> None:
    store.create_space("old", "the people of the harbour")
    store.remember("Ann Smith runs the crane", entities=["Ann Smith"])
    store.remember("A. Smith rests", entities=["A. Smith"])
    store.merge_entities("Ann Smith", "A. Smith")
    assert store.delete_space(purge=True) == 2
    left = f"{store.vocabulary('entity')} {store.space_notes()} {store.journal(limit=None)}"
    assert "Smith" not in left and "harbour" not in left
    assert [entry.operation.name for entry in store.journal(limit=None)] == ["purge", "purge"]


def test_a_store_follows_its_space_when_a_rename_is_undone(store: MemoryStore) -> None:
    store.remember("The crane is green")
    store.rename_space("new")
    assert (store.space, store.count()) == ("new", 1)
    store.undo()
    assert (store.space, store.count()) == ("old", 1)


def test_what_was_redacted_is_counted_apart_from_the_trash(store: MemoryStore) -> None:
    gone, trashed = store.remember("the mill grinds rye"), store.remember("the oven is cold")
    store.redact(gone.id)
    store.forget(trashed.id)
    counted = store.stats()
    assert (counted.total, counted.active, counted.trashed, counted.redacted) == (2, 0, 1, 1)
