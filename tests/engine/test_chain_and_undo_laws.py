"""Laws of chains, undo and the past that hold however the engine keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive
from tests.embedders import Moody
from tests.engine.conftest import Ticking
from tests.samples import existing


def chain_of_three(store: MemoryStore, head_from: float | None) -> None:
    """a was replaced by b, and b by c."""
    for id in ("a", "b"):
        store.remember(f"text of {id}", id=id, on_conflict="ignore")
    store.remember("text of c", id="c", on_conflict="ignore", valid_from=head_from)
    store.supersede("a", "b")
    store.supersede("b", "c")


@pytest.mark.parametrize("given", [300.0, None])
def test_after_a_purge_from_the_middle_restoring_the_first_leaves_the_head_its_own_beginning(
    store: MemoryStore, given: float | None
) -> None:
    chain_of_three(store, given)
    store.purge("b")
    assert existing(store, "a").superseded_by == "c"
    assert store.restore("a")
    head, first = existing(store, "c"), existing(store, "a")
    assert (head.valid_from, head.links) == (given, ())
    assert (first.superseded_by, first.superseded_at, first.valid_until) == ("", None, None)


def test_after_a_purge_from_the_middle_the_first_still_ends_when_the_purged_one_began(store: MemoryStore) -> None:
    chain_of_three(store, 300.0)
    ended = existing(store, "a").valid_until
    store.purge("b")
    assert ended is not None
    assert (existing(store, "a").valid_until, existing(store, "c").valid_from) == (ended, 300.0)


def test_a_purge_from_the_middle_keeps_the_end_that_the_caller_gave(store: MemoryStore) -> None:
    store.remember("text of a", id="a", valid_until=200.0)
    store.remember("text of b", id="b", on_conflict="ignore")
    store.remember("text of c", id="c", on_conflict="ignore")
    store.supersede("a", "b")
    store.supersede("b", "c")
    store.purge("b")
    assert existing(store, "a").valid_until == 200.0


def test_of_two_memories_with_equal_times_the_successor_begins_now(store: MemoryStore) -> None:
    """Otherwise the predecessor would end when it began, and would never have been true."""
    store.remember("text of old", id="old", occurred_at=500.0)
    store.remember("text of new", id="new", occurred_at=500.0, on_conflict="ignore")
    store.supersede("old", "new")
    old, new = existing(store, "old"), existing(store, "new")
    assert old.valid_until == new.valid_from == old.superseded_at
    assert old.valid_until is not None
    assert [version.id for version in store.history("new", valid_at=500.0).versions] == ["old"]


def test_a_successor_that_is_dated_in_the_future_begins_now(store: MemoryStore, clock: Ticking) -> None:
    store.remember("text of old", id="old")
    store.remember("text of new", id="new", occurred_at=clock.at + 10_000, on_conflict="ignore")
    store.supersede("old", "new")
    assert existing(store, "new").valid_from == existing(store, "old").superseded_at


def test_two_changes_of_one_term_are_undone_together_and_come_back_together(store: MemoryStore) -> None:
    before = store.relations()
    store.register_relation("foretells", "first")
    store.register_relation("foretells", "second")
    store.undo(last=2)
    assert store.relations() == before
    store.undo(store.journal()[0].operation.batch)
    assert store.relations()["foretells"] == "second"
    store.undo(store.journal()[0].operation.batch)
    assert store.relations() == before


def test_several_changes_of_one_memory_are_undone_together_and_come_back_together(store: MemoryStore) -> None:
    store.remember("The port is 80", id="a", tags=["web"])
    before = existing(store, "a")
    store.edit("a", text="The port is 81")
    store.edit("a", text="The port is 82", tags=["web", "new"])
    last = existing(store, "a")
    store.undo(last=2)
    assert existing(store, "a") == before
    store.undo(store.journal()[0].operation.batch)
    assert existing(store, "a") == last


def test_a_change_of_a_term_and_its_removal_are_one_undo(store: MemoryStore) -> None:
    store.register_relation("foretells", "first")
    store.undo()
    undone = store.journal()[0].operation.batch
    store.register_relation("foretells", "again")
    store.undo()
    assert "foretells" not in store.relations()
    store.undo(undone)
    assert store.relations()["foretells"] == "first"


@pytest.mark.parametrize("way", ["remember", "write", "import", "import and edit"])
def test_before_a_redacted_memory_existed_there_was_nothing_of_it(
    store: MemoryStore, clock: Ticking, tmp_path: Path, way: str
) -> None:
    store.remember("The kitchen is blue", id="other")
    before = clock.at
    if way == "remember":
        store.remember("The door code is 1234", id="code")
    elif way == "write":
        store.write("learn", new=[store.draft("The door code is 1234", id="code")])
    else:
        with MemoryStore(":memory:", embedder=Moody(), clock=Ticking(500.0)) as source:
            source.remember("The door code is 1234", id="code")
            export_archive(source, tmp_path / "a.nacre")
        import_archive(store, tmp_path / "a.nacre")
    if way == "import and edit":
        store.edit("code", text="The door code is 4321")
    after = clock.at
    store.redact("code")
    assert known(store, before) == {"other"}
    assert known(store, after) == known(store, clock.at) == {"other", "code"}
    assert [memory.id for memory in store.diff(before, after).added] == ["code"]


def test_a_memory_that_was_there_before_an_import_overwrote_it_is_still_there_after_a_redaction(
    store: MemoryStore, clock: Ticking, tmp_path: Path
) -> None:
    with MemoryStore(":memory:", embedder=Moody(), clock=Ticking()) as source:
        source.remember("The door code is 4321", id="code")
        export_archive(source, tmp_path / "a.nacre")
    store.remember("The door code is 1234", id="code")
    before = clock.at
    import_archive(store, tmp_path / "a.nacre", on_conflict="overwrite")
    store.redact("code")
    assert known(store, before) == {"code"}


def test_between_a_purge_and_a_second_memory_of_that_id_there_was_nothing_of_it(
    store: MemoryStore, clock: Ticking
) -> None:
    store.remember("The door code is 1234", id="code")
    store.purge("code")
    between = clock.at
    store.remember("The door code is 4321", id="code")
    store.redact("code")
    assert known(store, between) == set()


def known(store: MemoryStore, at: float) -> set[str]:
    return {memory.id for memory in store.list_recent(as_of=at, include_trashed=True)}
