"""Whatever an agent comes to know, its graph goes out and comes back the same, and never half."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.errors import InvalidInput
from nacre.memory_store import MemoryStore
from nacre.minds.knowledge import HierarchicalMemory

SOME = settings().max_examples // 2  # each example fills whole stores
WRITABLE = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
PHRASES = st.text(WRITABLE, min_size=1, max_size=30).filter(str.strip)
PLAIN = st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(WRITABLE, max_size=8)
KEYS = st.text("abcxyz_", min_size=1, max_size=5)
NAMES = st.sampled_from(["Marta Ruiz", "Tove Lind", ""])


@st.composite
def facts(draw: st.DrawFn) -> dict[str, Any]:
    name, boats = draw(NAMES), draw(st.integers(1, 9))
    return {
        "content": draw(PHRASES | st.just(f"{name or 'The pier'} has {boats} boats")),
        "concept": draw(st.just(f"{name} boats".strip()) | PHRASES),
        "confidence": draw(st.floats(0, 1)),
        "category": draw(st.sampled_from([None, "procedural", "working", "semantic"])),
        "tags": draw(st.lists(PHRASES, max_size=2)),
        "source_id": draw(st.sampled_from(["", "episode", "a leaflet"])),
        "temporal_metadata": draw(
            st.none()
            | st.builds(
                lambda index, more: {"temporal_index": index, **more},
                st.integers(0, 5),
                st.dictionaries(KEYS, PLAIN, max_size=2),
            )
        ),
    }


LINKS = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from(["related", "Causes", "similar_to", "refines"]))


@contextmanager
def mind(agent: str) -> Iterator[HierarchicalMemory]:
    with MemoryStore(":memory:", space=agent, embedder="hashing") as store:
        yield HierarchicalMemory(agent, store=store)


def fill(mind: HierarchicalMemory, known: list[dict[str, Any]], links: list[tuple[int, int, str]]) -> None:
    episode = mind.store_episode("the whole log", "log")
    ids = [
        mind.store_knowledge(**{**fact, "source_id": episode if fact["source_id"] == "episode" else fact["source_id"]})
        for fact in known
    ]
    for a, b, rel in links:
        if ids and a % len(ids) != b % len(ids):
            mind.store.link(ids[a % len(ids)], ids[b % len(ids)], rel, weight=0.5, data={"why": "drawn"})


def essence(mind: HierarchicalMemory) -> Any:
    whole = json.loads(json.dumps(mind.export_graph()))
    for part in ("semantic_nodes", "episodic_nodes"):
        for node in whole[part]:
            del node["agent_id"]
    del whole["exported_at"], whole["agent_name"]
    return whole


@pytest.mark.slow
@pytest.mark.usefixtures("stored_in")
@settings(max_examples=SOME)
@given(st.lists(facts(), max_size=6), st.lists(LINKS, max_size=4))
def test_a_graph_comes_back_the_same(known: list[dict[str, Any]], links: list[tuple[int, int, str]]) -> None:
    with mind("here") as here, mind("there") as there:
        fill(here, known, links)
        there.store_knowledge("what was there before")
        there.import_graph(json.loads(json.dumps(here.export_graph())))
        assert essence(there) == essence(here)
        assert ties_of(there) == ties_of(here)
        again = there.import_graph(here.export_graph(), merge=True)
        assert again["skipped"] == len(known) + 1
        assert essence(there) == essence(here)


def ties_of(mind: HierarchicalMemory) -> set[tuple[str, str, str]]:
    return {edge[:3] for edge in mind.store.edges()}


def parts(whole: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value."""
    if at:
        yield at
    for key, inner in whole.items() if isinstance(whole, dict) else enumerate(whole) if isinstance(whole, list) else ():
        yield from parts(inner, (*at, key))


@pytest.mark.usefixtures("stored_in")
@settings(max_examples=SOME)
@given(st.data(), st.booleans())
def test_spoilt_data_is_imported_whole_or_not_at_all(data: st.DataObject, merge: bool) -> None:
    with mind("here") as here, mind("there") as there:
        fill(here, [fact(1), fact(2)], [(0, 1, "related")])
        whole = json.loads(json.dumps(here.export_graph()))
        *way, last = data.draw(st.sampled_from(list(parts(whole))))
        holder = whole
        for key in way:
            holder = holder[key]
        if data.draw(st.booleans()):
            del holder[last]
        else:
            holder[last] = data.draw(PLAIN | st.just([]) | st.just({}) | st.just(-1.5))
        there.store_knowledge("what was there before")
        before = essence(there)
        try:
            there.import_graph(whole, merge=merge)
        except InvalidInput:
            assert essence(there) == before


def fact(index: int) -> dict[str, Any]:
    return {
        "content": f"Marta Ruiz has {index + 3} boats",
        "concept": "Marta Ruiz boats",
        "source_id": "episode",
        "temporal_metadata": {"temporal_index": index},
    }
