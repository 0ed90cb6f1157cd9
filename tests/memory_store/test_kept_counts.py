"""Counts by tag and the kinds of links are kept beside the records; after every operation they say what these say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nacre import Link, MemoryStore
from nacre.settings import Settings
from nacre.transfer.export import export_archive
from nacre.transfer.import_archive import import_archive
from tests.narrowing import capabilities
from tests.prepared_stores import empty_store
from tests.samples import Clock

TAGS = ("quay", "crane", "nowhere")
SCOPES: tuple[dict[str, Any], ...] = (
    {},
    {"include_trashed": True},
    {"include_archived": True},
    {"include_superseded": True},
    {"include_archived": True, "include_superseded": True, "include_trashed": True},
)
NOTED = {"kind": "update", "reason": "newer"}


@pytest.fixture(params=["sqlite", "in_memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[MemoryStore]:
    place = empty_store(tmp_path / "s.db") if request.param == "sqlite" else ":memory:"
    with MemoryStore(place, clock=clock, settings=Settings(embedder="hashing", on_conflict="ignore")) as opened:
        opened.remember("The crane at the quay lifts forty tons", id="a", tags=["quay", "crane"])
        opened.remember("The quay is closed in winter", id="b", tags=["quay"], links=[Link("a", data=NOTED)])
        opened.remember("A crane needs a licence", id="c", tags=["crane"], expires_at=clock.now + 100)
        opened.remember("Gulls nest on the roof", id="d", links=[Link("b", data={"kind": 5})])
        yield opened


@pytest.fixture
def clock() -> Clock:
    return Clock()


def counts(store: MemoryStore) -> list[int]:
    """By each tag in each scope; equal to what a look at every memory gives."""
    kept = [store.count(tag=tag, **scope) for scope in SCOPES for tag in TAGS]
    for scope, start in zip(SCOPES, range(0, len(kept), len(TAGS)), strict=True):
        listed = Counter(tag for memory in store.iterate(**scope) for tag in memory.tags)
        assert kept[start : start + len(TAGS)] == [listed[tag] for tag in TAGS], scope
    return kept


def kinds(store: MemoryStore) -> list[tuple[str, str, str]]:
    """Of every tie; equal to what the records say."""
    kept = [(edge.source, edge.target, edge.kind) for edge in store.edges()]
    everything = store.iterate(include_archived=True, include_superseded=True, include_trashed=True)
    said = [(memory.id, link.to, link.kind) for memory in everything for link in memory.links]
    assert sorted(kept) == sorted(said)
    return kept


def test_a_memory_is_counted_by_its_tags_until_it_expires(store: MemoryStore, clock: Clock) -> None:
    assert counts(store)[:3] == [2, 2, 0]
    clock.now += 200
    assert counts(store)[:3] == [2, 1, 0]


def test_a_kind_that_is_no_text_is_none(store: MemoryStore) -> None:
    assert kinds(store) == [("b", "a", "update"), ("d", "b", "")]


def test_what_is_archived_superseded_or_trashed_is_counted_where_it_is_asked_for(store: MemoryStore) -> None:
    store.archive("a")
    store.supersede("b", "c")
    assert counts(store) == [0, 1, 0, 0, 1, 0, 1, 2, 0, 1, 1, 0, 2, 2, 0]
    store.forget("a", "c")
    assert counts(store) == [0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0, 0, 2, 2, 0]
    kinds(store)


def test_undo_brings_back_counts_and_kinds(store: MemoryStore) -> None:
    before = counts(store), kinds(store)
    for act in (
        lambda: store.tag("d", add=["quay"]),
        lambda: store.edit("b", tags=[], links=[Link("a", data={"kind": "duplicate"})]),
        lambda: store.forget("a"),
        lambda: store.remember_many([{"text": f"Ship {n} at the quay", "tags": ["quay"]} for n in range(3)]),
    ):
        act()
        assert (counts(store), kinds(store)) != before
        store.undo()
        assert (counts(store), kinds(store)) == before


def test_a_purge_and_a_redaction_leave_neither_a_count_nor_a_kind(store: MemoryStore) -> None:
    store.purge("a")
    assert counts(store)[:3] == [1, 1, 0]
    store.redact("b")
    assert counts(store)[:3] == [0, 1, 0]
    assert "update" not in {kind for *_, kind in kinds(store)}


def test_an_import_counts_and_ties_as_what_was_exported(store: MemoryStore, tmp_path: Path, clock: Clock) -> None:
    store.archive("a")
    export_archive(store, tmp_path / "all.nacre")
    with MemoryStore(tmp_path / "other.db", clock=clock, settings=Settings(embedder="hashing")) as other:
        import_archive(other, tmp_path / "all.nacre")
        assert (counts(other), kinds(other)) == (counts(store), kinds(store))
        other.undo()
        assert (sum(counts(other)), kinds(other)) == (0, [])


def test_a_copied_a_renamed_and_a_deleted_space_are_counted_by_themselves(store: MemoryStore) -> None:
    before = counts(store), kinds(store)
    store.copy_space("copy")
    copy = store.in_space("copy")
    copy.forget("a")
    assert (counts(store), kinds(store)) == before
    assert counts(copy)[:3] == [1, 1, 0]
    store.rename_space("moved")
    assert (counts(store), kinds(store)) == before
    assert sum(counts(store.in_space("default"))) == 0
    store.tag("d", add=["quay"])
    assert counts(store)[0] == 3
    copy.delete_space(purge=True)
    assert (sum(counts(copy)), kinds(copy)) == (0, [])
    assert counts(store)[0] == 3


def test_a_restricted_agent_counts_only_what_it_sees(store: MemoryStore) -> None:
    store.remember("Ada's own crane", id="own", tags=["crane"], agent="ada", session="one")
    store.remember("Ada's other crane", id="tied", agent="ada", session="one", links=[Link("own", data=NOTED)])
    options = replace(store._parts.options, agent="ada", session="one", capabilities=capabilities())
    seen = store._view(replace(store._parts, options=options).rebuilt())
    assert counts(seen)[:3] == [0, 1, 0]
    assert kinds(seen) == [("tied", "own", "update")]
