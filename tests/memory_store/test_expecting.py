"""A store that expects versions changes nothing that has another one by the time of the commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from nacre import Memory, MemoryStore
from nacre.errors import MemoryNotFound, VersionMismatch


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", embedder="hashing") as opened:
        for id in ("a", "b"):
            opened.remember(f"The {id} valve is open", id=id, on_conflict="ignore")
        yield opened


WRITES: dict[str, Callable[[MemoryStore], Any]] = {
    "edit": lambda s: s.edit("a", text="The valve is shut"),
    "forget": lambda s: s.forget("a"),
    "purge": lambda s: s.purge("a"),
    "redact": lambda s: s.redact("a"),
    "link": lambda s: s.link("a", "b"),
    "pin": lambda s: s.pin("a"),
    "supersede": lambda s: s.supersede("a", "b"),
    "merge": lambda s: s.merge("a", "b"),
}


@pytest.mark.parametrize("name", WRITES)
def test_what_was_changed_since_it_was_read_is_not_changed(store: MemoryStore, name: str) -> None:
    expecting = store.expecting({"a": 1})
    store.edit("a", title="Changed by others")
    before, entries = store.get("a"), len(store.journal(limit=None))
    with pytest.raises(VersionMismatch) as mismatch:
        WRITES[name](expecting)
    assert (mismatch.value.expected, mismatch.value.actual) == (1, 2)
    assert store.get("a") == before and len(store.journal(limit=None)) == entries


@pytest.mark.parametrize("name", WRITES)
def test_what_still_has_its_version_is_changed(store: MemoryStore, name: str) -> None:
    WRITES[name](store.expecting({"a": 1}))
    assert len(store.journal(limit=None)) > 2


def test_a_change_between_the_plan_and_the_commit_is_noticed(store: MemoryStore) -> None:
    overtaken: list[Memory] = []

    def edit(memory: Memory) -> Memory:
        if not overtaken:
            overtaken.append(store.edit("a", title="Faster"))
        return store.editing(title="Slower")(memory)

    with pytest.raises(VersionMismatch):
        store.expecting({"a": 1}).write("test", edits={"a": edit})
    memory = store.get("a")
    assert memory is not None and (memory.title, memory.version) == ("Faster", 2)


def test_a_wrong_version_and_a_missing_memory_are_refused_at_once(store: MemoryStore) -> None:
    with pytest.raises(VersionMismatch):
        store.expecting({"a": 7})
    with pytest.raises(MemoryNotFound):
        store.expecting({"nobody": 1})
