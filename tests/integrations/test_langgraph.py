"""LangGraph's `BaseStore` with the real package: every operation, and a compiled graph that uses it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from nacre import MemoryStore

pytest.importorskip("langgraph", reason="langgraph is not installed; `make test-integrations` installs it")

from langgraph.config import get_store
from langgraph.graph import START, StateGraph
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from typing_extensions import TypedDict

from nacre.errors import InvalidInput
from nacre.integrations.langgraph import NacreStore
from tests.samples import Clock

ANN, BOB = ("users", "ann"), ("users", "bob")


@pytest.fixture
def clock() -> Clock:
    return Clock(1_800_000_000.0)


@pytest.fixture
def memories(clock: Clock) -> MemoryStore:
    return MemoryStore(":memory:", embedder="hashing", clock=clock)


@pytest.fixture
def store(memories: MemoryStore) -> NacreStore:
    return NacreStore(memories)


def keys(items: list[Any]) -> list[str]:
    return [item.key for item in items]


def test_an_item_is_stored_read_overwritten_and_deleted(store: NacreStore, clock: Clock) -> None:
    value = {"food": "pizza", "likes": ["tea", {"deep": None}], "n": 1.5}
    store.put(ANN, "diet", value)
    clock.now += 10
    item = store.get(ANN, "diet")
    assert item is not None and (item.value, item.key, item.namespace) == (value, "diet", ANN)
    store.put(ANN, "diet", {"food": "salad"})
    changed = store.get(ANN, "diet")
    assert changed is not None and changed.value == {"food": "salad"}
    assert changed.created_at == item.created_at and changed.updated_at > item.updated_at
    assert store.get(BOB, "diet") is None
    store.delete(ANN, "diet")
    store.delete(ANN, "never there")
    assert store.get(ANN, "diet") is None and store.search(ANN) == []
    store.put(ANN, "diet", {"food": "soup"})
    assert keys(store.search(ANN, query="soup")) == ["diet"]


def test_a_search_ranks_by_the_question_and_stays_below_its_prefix(store: NacreStore) -> None:
    store.put(ANN, "a", {"text": "Ann feeds the goats at dawn"})
    store.put(ANN, "b", {"text": "Ann paints the boat in spring"})
    store.put(BOB, "c", {"text": "Bob sells the goats in autumn"})
    store.put(("other",), "d", {"text": "Goats everywhere"})
    ranked = store.search(("users",), query="Who feeds goats at dawn?")
    assert keys(ranked)[0] == "a" and set(keys(ranked)) == {"a", "b", "c"}
    scores = [item.score for item in ranked]
    assert scores == sorted(scores, reverse=True) and ranked[0].namespace == ANN
    assert keys(store.search(("users",), query="Who feeds goats at dawn?", limit=1, offset=1)) == keys(ranked)[1:2]
    assert {item.key for item in store.search(())} == {"a", "b", "c", "d"}
    assert store.search(("use",)) == []


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"kind": "tool"}, {"a", "b"}),
        ({"kind": "tool", "n": {"$gt": 1}}, {"b"}),
        ({"n": {"$gte": 1, "$lte": 2}}, {"a", "b"}),
        ({"n": {"$lt": 3}}, {"a", "b"}),
        ({"kind": {"$ne": "tool"}}, {"c"}),
        ({"in": {"city": "Ghent"}}, {"c"}),
        ({"in": {"$eq": {"city": "Ghent"}}}, {"c"}),
        ({"missing": None}, {"a", "b", "c"}),
    ],
)
def test_filters_compare_values(store: NacreStore, wanted: dict[str, Any], expected: set[str]) -> None:
    store.put(ANN, "a", {"kind": "tool", "n": 1})
    store.put(ANN, "b", {"kind": "tool", "n": 2})
    store.put(ANN, "c", {"kind": "town", "n": "many", "in": {"city": "Ghent"}})
    assert set(keys(store.search(ANN, filter=wanted))) == expected
    assert set(keys(store.search(ANN, filter=wanted, query="tool"))) == expected


def test_an_unknown_operator_is_refused(store: NacreStore) -> None:
    store.put(ANN, "a", {"n": 1})
    with pytest.raises(ValueError, match="operator '\\$near'"):
        store.search(ANN, filter={"n": {"$near": 1}})


def test_only_the_fields_of_the_index_are_searched(memories: MemoryStore) -> None:
    store = NacreStore(memories, index={"fields": ["story", "notes[*].text"]})
    store.put(ANN, "a", {"story": "the red kettle", "secret": "zebra", "notes": [{"text": "whistles"}]})
    store.put(ANN, "b", {"story": "zebra"}, index=["title"])
    store.put(ANN, "c", {"story": "zebra crossing"}, index=False)
    (a, b, c) = (memories.in_space("users.ann").get(key) for key in "abc")
    assert a and b and c and (a.text, b.text, c.text) == ("the red kettle\nwhistles", "b", "c")
    ranked = store.search(ANN, query="zebra")
    assert {item.key: item.score is None for item in ranked} == {"a": False, "b": True, "c": True}


def test_a_value_of_one_field_is_a_plain_sentence_for_other_clients(store: NacreStore, memories: MemoryStore) -> None:
    store.put(ANN, "a", {"memory": "Ann drinks green tea."})
    view = memories.in_space("users.ann")
    assert view.recall("What does Ann drink?")[0].memory.text == "Ann drinks green tea."
    kept = view.remember("Ann lives in Ghent.")
    item = store.get(ANN, kept.id)
    assert item is not None and item.value == {"text": "Ann lives in Ghent."}
    memories.in_space("users.ann").undo()
    assert store.get(ANN, kept.id) is None


def test_a_time_to_live_is_renewed_by_reading(memories: MemoryStore, clock: Clock) -> None:
    store = NacreStore(memories, ttl={"default_ttl": 10, "refresh_on_read": True})
    store.put(ANN, "a", {"text": "soon gone"})
    store.put(ANN, "b", {"text": "stays"}, ttl=None)
    clock.now += 9 * 60
    assert store.get(ANN, "a") is not None
    clock.now += 9 * 60
    assert keys(store.search(ANN, query="soon gone", limit=1)) == ["a"]
    clock.now += 9 * 60
    assert store.get(ANN, "a", refresh_ttl=False) is not None
    clock.now += 2 * 60
    assert store.get(ANN, "a") is None and keys(store.search(ANN)) == ["b"]
    assert store.sweep_ttl() == 1 and memories.in_space("users.ann").get("a") is None


def test_namespaces_are_listed_by_prefix_suffix_and_depth(store: NacreStore) -> None:
    for namespace in (("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("z", "c")):
        store.put(namespace, "k", {"v": 1})
    assert store.list_namespaces() == [("a", "b", "c"), ("a", "b", "d"), ("a", "x"), ("z", "c")]
    assert store.list_namespaces(prefix=("a", "b")) == [("a", "b", "c"), ("a", "b", "d")]
    assert store.list_namespaces(prefix=("a", "*", "c")) == [("a", "b", "c")]
    assert store.list_namespaces(suffix=("c",)) == [("a", "b", "c"), ("z", "c")]
    assert store.list_namespaces(max_depth=2, offset=1, limit=2) == [("a", "x"), ("z", "c")]
    store.delete(("z", "c"), "k")
    assert ("z", "c") not in store.list_namespaces()


def test_a_batch_mixes_operations_and_works_asynchronously(store: NacreStore) -> None:
    store.put(ANN, "a", {"v": 1})
    ops = [
        GetOp(ANN, "a"), PutOp(ANN, "a", {"v": 2}), PutOp(ANN, "b", {"v": 3}), SearchOp(("users",)),
        ListNamespacesOp((MatchCondition("prefix", ("users",)),)), PutOp(ANN, "b", None),
    ]  # fmt: skip
    got, *_, spaces, _none = asyncio.run(store.abatch(ops))
    assert got.value == {"v": 1} and spaces == [ANN]
    assert [item.value for item in store.search(ANN)] == [{"v": 2}]

    async def story() -> list[str]:
        await store.aput(BOB, "x", {"text": "Bob keeps bees"})
        await store.adelete(ANN, "a")
        assert (await store.aget(ANN, "a")) is None
        assert await store.alist_namespaces() == [BOB]
        return keys(await store.asearch((), query="bees"))

    assert asyncio.run(story()) == ["x"]


def test_the_embeddings_of_the_index_are_used(tmp_path: Path) -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, 0.0] if "cat" in text else [0.0, 1.0] for text in texts]

    store = NacreStore.open(tmp_path / "s.db", index={"dims": 2, "embed": embed, "fields": ["text"]})
    store.put(ANN, "a", {"text": "cat"})
    assert store.store.embedder.dimensions == 2
    store.store.close()


def test_a_graph_remembers_between_its_runs(tmp_path: Path) -> None:
    class State(TypedDict):
        said: str
        recalled: list[str]

    def node(state: State) -> dict[str, list[str]]:
        store = get_store()
        recalled = [item.value["text"] for item in store.search(ANN, query=state["said"])]
        store.put(ANN, str(len(recalled)), {"text": state["said"]})
        return {"recalled": recalled}

    graph = StateGraph(State).add_node("node", node).add_edge(START, "node")
    for said, recalled in (("I drink tea", []), ("What do I drink?", ["I drink tea"])):
        store = NacreStore.open(tmp_path / "s.db")
        assert graph.compile(store=store).invoke({"said": said, "recalled": []})["recalled"] == recalled
        store.store.close()


def test_blanks_around_a_label_or_a_key_are_refused_and_mix_nothing(store: NacreStore) -> None:
    store.put(ANN, "diet", {"food": "pizza"})
    for namespace, key in ((("users", "ann "), "diet"), (("users ", "ann"), "diet"), (ANN, "diet ")):
        with pytest.raises(InvalidInput, match="blanks around it"):
            store.put(namespace, key, {"food": "salad"})
        with pytest.raises(InvalidInput, match="blanks around it"):
            store.get(namespace, key)
    item = store.get(ANN, "diet")
    assert item is not None and item.value == {"food": "pizza"}
