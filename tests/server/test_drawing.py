"""The drawing of a space: its live memories that are linked, and their links as places in columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nacre import Link, Memory, MemoryStore
from nacre.access.capabilities import AgentCapabilities, ScopeLevel
from nacre.server.drawing import LONGEST_TEXT, Drawing, drawing_of
from nacre.settings import Settings

ALL = 100


@pytest.fixture
def store(tmp_path: Path) -> MemoryStore:
    store = MemoryStore(tmp_path / "memory.db", space="team", embedder="hashing", actor="maker")
    for name in "abcdef":
        store.remember(f"{name} is written on the wall " * 40, id=name, title=name.upper(), on_conflict="ignore")
    store.link("a", "b", "related")
    store.link("a", "c", "refines")
    store.link("d", "a", "related")
    return store


def links(drawing: Drawing) -> set[tuple[str, str, str]]:
    return {
        (drawing.ids[source], drawing.ids[target], drawing.relations[rel])
        for source, target, rel in zip(drawing.sources, drawing.targets, drawing.rels, strict=True)
    }


@pytest.mark.slow
def test_only_linked_memories_are_drawn_with_title_type_and_the_beginning_of_their_text(store: MemoryStore) -> None:
    with store:
        drawing = drawing_of(store, ALL)
        assert links(drawing) == {("a", "b", "related"), ("a", "c", "refines"), ("d", "a", "related")}
        for at, id in enumerate(drawing.ids):
            memory = store.get(id)
            assert isinstance(memory, Memory) and len(memory.text) > LONGEST_TEXT
            assert (drawing.titles[at], drawing.types[at]) == (memory.title, memory.type)
            assert drawing.texts[at] == memory.text[:LONGEST_TEXT]
        assert not drawing.cut


@pytest.mark.slow
def test_memories_with_most_links_stay_where_there_are_too_many(store: MemoryStore) -> None:
    with store:
        store.link("a", "b", "cites")
        drawing = drawing_of(store, 2)
        assert list(drawing.ids) == ["a", "b"] and drawing.cut
        assert links(drawing) == {("a", "b", "related"), ("a", "b", "cites")}
        assert not drawing_of(store, 4).cut


@pytest.mark.slow
def test_what_is_forgotten_or_replaced_is_not_drawn_nor_its_links(store: MemoryStore) -> None:
    with store:
        store.forget("b")
        store.supersede("c", "e")
        assert links(drawing_of(store, ALL)) == {("d", "a", "related")}
        store.forget("a")
        drawing = drawing_of(store, ALL)
        assert links(drawing) == set() and "a" not in drawing.ids


@pytest.mark.slow
@pytest.mark.parametrize("others", [0, 40])
def test_few_linked_memories_among_many_are_drawn_alike(store: MemoryStore, others: int) -> None:
    with store:
        store.remember_many([f"Shelf {at} is empty" for at in range(others)], on_conflict="ignore")
        assert sorted(drawing_of(store, ALL).ids) == ["a", "b", "c", "d"]


def test_a_secret_at_the_end_of_what_is_drawn_is_not_cut_in_half(tmp_path: Path) -> None:
    secret = "gh" + "p_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"
    text = "word " * ((LONGEST_TEXT - 10) // 5) + secret
    without_guard = replace(Settings(), secrets="allow")
    with MemoryStore(tmp_path / "s.db", space="team", embedder="hashing", settings=without_guard) as store:
        store.remember(text, id="a", title=secret)
        store.remember("Another", id="b", links=[Link("a")])
    with MemoryStore(tmp_path / "s.db", space="team", embedder="hashing") as store:
        drawing = drawing_of(store, ALL)
    assert set(drawing.ids) == {"a", "b"}
    assert secret[:8] not in str(drawing)


def test_an_empty_space_gives_an_empty_drawing(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "memory.db", space="team", embedder="hashing") as store:
        assert drawing_of(store, ALL) == Drawing([], [], [], [], [], [], [], [], cut=False)


@pytest.mark.slow
def test_a_restricted_agent_sees_only_its_own_memories_and_their_links(store: MemoryStore, tmp_path: Path) -> None:
    own = AgentCapabilities(ScopeLevel.SESSION_ONLY)
    with (
        store,
        MemoryStore(
            tmp_path / "memory.db", space="team", embedder="hashing", agent="eve", session="s", capabilities=own
        ) as eve,
    ):
        first, second = (eve.remember(f"Eve was {where}", on_conflict="ignore").id for where in ("here", "there"))
        eve.link(first, second, "related")
        drawing = drawing_of(eve, ALL)
        assert links(drawing) == {(first, second, "related")} and set(drawing.ids) == {first, second}
        assert len(drawing_of(store, ALL).ids) == 6
