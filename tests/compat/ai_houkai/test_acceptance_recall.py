"""H5 to H10, line by line: recalling, packing, tying, and what takes another's place."""

from __future__ import annotations

import inspect
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from nacre import MemoryStore as NativeStore
from nacre.compat.ai_houkai.memory_system import DecayEngine, ExpandSpec, HybridWeights, Memory, MemoryStore
from nacre.recall.pack import HEADER

DAY = 86_400.0
RECENCY = HybridWeights(0.0, 0.0, 1.0, 0.0)
RECALL: dict[str, object] = {
    "k": 5, "type": None, "tag": None, "min_importance": None, "mode": "semantic", "weights": None, "overfetch": 4,
    "expand": None, "include_superseded": False,
}  # fmt: skip
PACK: dict[str, object] = {
    "token_budget": 800, "type": None, "tag": None, "min_importance": None, "mode": "hybrid", "weights": None,
    "expand": None, "include_superseded": False, "max_items": 50, "token_counter": None, "header": HEADER,
}  # fmt: skip


def defaults(function: object) -> dict[str, object]:
    assert callable(function)
    values = inspect.signature(function).parameters.values()
    return {each.name: each.default for each in values if each.default is not inspect.Parameter.empty}


def used(store: MemoryStore, id: str, *, days_ago: float, made_days_ago: float = 0.0) -> None:
    """As if it had last been recalled so long ago."""
    now = time.time()
    when = {"last_accessed": now - days_ago * DAY, "created_at": now - made_days_ago * DAY}
    store.collection.update(ids=[id], metadatas=[when])


def counted(store: MemoryStore) -> set[str]:
    return {each.text for each in store.list_recent(99) if each.access_count}


@pytest.mark.accepts("H5.1")
def test_recall_takes_the_published_arguments(store: MemoryStore) -> None:
    assert {**defaults(MemoryStore.recall), **RECALL} == defaults(MemoryStore.recall)
    store.remember("the boat leaks", type="episodic", tags=["boat"], importance=0.6)
    [(memory, score)] = store.recall("boat", 1, "episodic", "boat", 0.5)
    assert isinstance(memory, Memory) and type(score) is float


@pytest.mark.accepts("H5.2", "H5.3")
def test_only_what_is_given_back_is_touched_and_the_touch_outlives_the_call(store: MemoryStore) -> None:
    wanted = store.remember("oars are in the loft", tags=["boat"])
    store.remember("oars are in the attic", tags=["house"])
    used(store, wanted.id, days_ago=9.0)
    before = time.time()
    assert [memory.id for memory, _ in store.recall("oars", tag="boat")] == [wanted.id]
    store.recall("oars", tag="boat")
    stands = store._get_by_id(wanted.id)
    assert stands is not None and stands.access_count == 2 and stands.last_accessed >= before
    assert counted(store) == {wanted.text}


@pytest.mark.accepts("H5.6")
def test_without_a_mode_meaning_alone_decides(store: MemoryStore) -> None:
    near, far = store.remember("a red kite over the hill", importance=0.0), store.remember("red", importance=1.0)
    used(store, near.id, days_ago=300.0, made_days_ago=300.0)
    question = "a red kite over the hill today"
    plain = store.recall(question, touch=False)
    assert [memory.id for memory, _ in plain] == [near.id, far.id]
    assert [score for _, score in plain] == [score for _, score in store.recall(question, mode="semantic")]


@pytest.mark.accepts("H6.3", "H6.4")
@pytest.mark.parametrize(("days_ago", "age"), [(7.0, 7.0), (0.0, 0.0), (-30.0, 0.0)])
def test_recency_falls_from_the_last_use_at_the_rate_of_decay(store: MemoryStore, days_ago: float, age: float) -> None:
    memory = store.remember("the clock was wound")
    used(store, memory.id, days_ago=days_ago, made_days_ago=100.0)
    rate = DecayEngine(store).decay_rate
    assert rate == HybridWeights().decay_rate == 0.1
    [(_, score)] = store.recall("clock", mode="hybrid", weights=RECENCY, touch=False)
    assert score == pytest.approx(math.exp(-rate * age), abs=0.001)


@pytest.mark.accepts("H6.5")
def test_equal_hybrid_scores_go_to_the_important_then_to_the_newer(store: MemoryStore) -> None:
    less, older, newer = (store.remember("equal words", importance=each) for each in (0.2, 0.8, 0.8))
    used(store, older.id, days_ago=0.0, made_days_ago=2.0)
    words = HybridWeights(0.0, 1.0, 0.0, 0.0)
    hits = store.recall("equal words", k=3, mode="hybrid", weights=words)
    assert [memory.id for memory, _ in hits] == [newer.id, older.id, less.id]


@pytest.mark.accepts("H6.6")
def test_hybrid_recall_touches_the_survivors_alone(store: MemoryStore) -> None:
    for number in range(6):
        store.remember(f"lamp {number}", tags=["noise"])
    store.remember("a lamp that stands far behind the others", tags=["wanted"])
    assert len(store.recall("lamp", k=1, tag="wanted", mode="hybrid")) == 1
    assert counted(store) == {"a lamp that stands far behind the others"}


@pytest.mark.accepts("H6.9")
@pytest.mark.parametrize(("question", "at"), [("PR #441", 0), ("MemoryStore.recall", 2)])
def test_an_identifier_wins_with_the_published_weights(store: MemoryStore, question: str, at: int) -> None:
    texts = ["PR #441 was merged", "PR #442 was merged", "MemoryStore.recall gives pairs", "MemoryStore.link ties two"]
    ids = [store.remember(text).id for text in texts]
    assert store.recall(question, k=1, mode="hybrid")[0][0].id == ids[at]


@pytest.mark.accepts("H6.11", "H6.13")
@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_either_mode_takes_a_pool_and_gives_pairs(store: MemoryStore, mode: str) -> None:
    for number in range(4):
        store.remember(f"shelf {number}")
    hits = store.recall("shelf", 2, mode=mode, overfetch=6)
    assert [(type(memory), type(score)) for memory, score in hits] == [(Memory, float)] * 2
    assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)


class Contrary:
    """Likes best what has the fewest words."""

    identity = "contrary"

    def score(self, query: str, texts: Sequence[str]) -> list[float]:  # noqa: ARG002
        return [1.0 / len(text.split()) for text in texts]


@pytest.mark.accepts("H6.14")
def test_a_second_reader_may_be_given_and_the_index_of_words_is_kept(tmp_path: Path) -> None:
    texts = ["plum jam from the cellar", "plum"]
    with NativeStore(tmp_path / "store.db", embedder="hashing") as first:
        first.remember_many(texts)
        plain = [hit.memory.text for hit in first.recall("plum jam from the cellar", strategy="keyword")]
    with NativeStore(tmp_path / "store.db", embedder="hashing", reranker=Contrary()) as again:
        matches = again.recall("jam", strategy="keyword")
        assert [hit.memory.text for hit in matches] == texts[:1], "from words that were indexed before it was closed"
        turned = [hit.memory.text for hit in again.recall("plum jam from the cellar", strategy="keyword")]
    assert (plain, turned) == (texts, texts[::-1])


@pytest.mark.accepts("H7.1")
def test_a_walk_follows_its_relations_and_adds_no_memory_twice(store: MemoryStore) -> None:
    root, near, other = (store.remember(text) for text in ("prune the vine", "an example", "unrelated"))
    store.link(root.id, near.id, "example_of")
    store.link(root.id, near.id, "refines")
    store.link(root.id, other.id, "contradicts")
    hits = store.recall("prune the vine", k=1, expand=ExpandSpec(score=0.4))
    assert [(memory.id, score) for memory, score in hits[1:]] == [(near.id, 0.4)]


@pytest.mark.accepts("H8.1")
def test_packing_takes_the_published_arguments() -> None:
    assert defaults(MemoryStore.recall_pack) == PACK
    assert HEADER == "## Relevant memory"


@pytest.mark.accepts("H8.2")
def test_a_pack_holds_what_a_recall_of_so_many_would_find(store: MemoryStore) -> None:
    root = store.remember("stack the logs dry", type="procedural", tags=["wood"], importance=0.9)
    store.remember("stack the logs", type="semantic", tags=["wood"], importance=0.9)
    store.remember("stack the logs", type="procedural", tags=["stone"], importance=0.9)
    store.remember("stack the logs", type="procedural", tags=["wood"], importance=0.1)
    old = store.remember("stack the logs wet", type="procedural", tags=["wood"], importance=0.9)
    store.supersede(old.id, root.id)
    filters = {"type": "procedural", "tag": "wood", "min_importance": 0.5}
    assert store.recall_pack("logs", **filters).ids() == [root.id]  # type: ignore[arg-type]
    assert counted(store) == {root.text}
    assert set(store.recall_pack("logs", include_superseded=True, **filters).ids()) == {root.id, old.id}  # type: ignore[arg-type]
    near = store.remember("birch burns longest", type="procedural", tags=["wood"], importance=0.9)
    store.link(root.id, near.id, "refines")
    walked = store.recall_pack("stack the logs dry", max_items=1, expand=ExpandSpec())
    assert walked.ids() == [root.id, near.id]


@pytest.mark.accepts("H8.5")
@pytest.mark.parametrize("header", ["", "## A header that is much longer than everything that follows it"])
def test_tokens_are_a_quarter_of_the_lines_and_the_header_is_free(store: MemoryStore, header: str) -> None:
    memory = store.remember("seven geese")
    cost = round(len("- (semantic) seven geese") / 4)
    packed = store.recall_pack("geese", token_budget=cost, header=header)
    assert (packed.ids(), packed.used_tokens) == ([memory.id], cost)
    assert store.recall_pack("geese", token_budget=cost - 1, header=header).ids() == []
    assert store.recall_pack("geese", token_counter=len).used_tokens == len("- (semantic) seven geese")


@pytest.mark.accepts("H8.7")
def test_a_pack_keeps_the_order_of_the_ranking(store: MemoryStore) -> None:
    for number in range(5):
        store.remember(f"{'apple ' * (number + 1)} and pear {number}", importance=number / 5)
    ranked = [memory.id for memory, _ in store.recall("apple", k=50, mode="hybrid", touch=False)]
    packed = store.recall_pack("apple")
    assert packed.ids() == ranked and len(ranked) == 5
    assert packed.used_tokens == sum(item.tokens for item in packed.items) > 0


@pytest.mark.accepts("H9.1", "H9.2")
def test_a_link_without_a_name_has_the_relation_related(store: MemoryStore) -> None:
    a, b = store.remember("a gate"), store.remember("a fence")
    store.link(a.id, b.id)
    store.link(a.id, b.id, "refines")
    assert [rel for _, rel in store.neighbors(a.id, rel="related")] == ["related"]
    assert store.unlink(a.id, b.id) == 2


@pytest.mark.accepts("H9.5", "H9.7")
@pytest.mark.parametrize("direction", ["out", "in", "both"])
def test_a_walk_round_a_ring_ends_with_each_once(store: MemoryStore, direction: Literal["out", "in", "both"]) -> None:
    ring = [store.remember(f"post {number}").id for number in range(4)]
    for at, id in enumerate(ring):
        store.link(id, ring[(at + 1) % 4], "related")
    result = [memory.id for memory, _ in store.neighbors(ring[0], direction=direction, depth=99)]
    assert sorted(result) == sorted(ring[1:])
    assert len(store.neighbors(ring[0], direction=direction)) == (2 if direction == "both" else 1)


@pytest.mark.accepts("H9.6")
def test_a_subgraph_reaches_as_far_as_its_depth(store: MemoryStore) -> None:
    a, b, c = (store.remember(text).id for text in ("spring", "brook", "river"))
    store.link(a, b, "related")
    store.link(b, c, "related")
    assert set(store.subgraph([a], depth=1).nodes) == {a, b}
    full = store.subgraph([a], depth=2)
    assert (set(full.nodes), set(full.edges)) == ({a, b, c}, {(a, b, "related"), (b, c, "related")})


@pytest.mark.accepts("H9.8")
def test_nine_links_take_less_than_a_kilobyte_and_no_filter_reads_them(store: MemoryStore) -> None:
    hub = store.remember("the hub", tags=["wheel"], importance=0.9)
    for number in range(9):
        store.link(hub.id, store.remember(f"spoke {number}").id, "derived_from")
    stands = store._get_by_id(hub.id)
    assert stands is not None
    written = str(stands.to_metadata()["links"])
    assert len(json.loads(written)) == 9 and len(written.encode()) < 1024
    question = {"type": "semantic", "tag": "wheel", "min_importance": 0.5}
    assert [memory.id for memory, _ in store.recall("the hub", **question)] == [hub.id]  # type: ignore[arg-type]


@pytest.mark.accepts("H10.4")
def test_restoring_brings_back_the_replaced_memory_and_leaves_other_links(store: MemoryStore) -> None:
    old, new = store.remember("the ferry sails at nine"), store.remember("the ferry sails at ten")
    store.link(new.id, old.id, "refines")
    store.supersede(old.id, new.id)
    assert [memory.id for memory, _ in store.recall("ferry")] == [new.id]
    assert store.restore(old.id) is True
    assert {memory.id for memory, _ in store.recall("ferry")} == {old.id, new.id}
    stands, again = store._get_by_id(new.id), store._get_by_id(old.id)
    assert stands is not None and [link.rel for link in stands.links] == ["refines"]
    assert again is not None and again.superseded_at == 0.0


@pytest.mark.accepts("H10.5")
def test_what_was_replaced_is_kept_until_it_is_forgotten(store: MemoryStore) -> None:
    old, new = store.remember("the key is under the mat"), store.remember("the key is with Ida")
    store.supersede(old.id, new.id)
    kept = store._get_by_id(old.id)
    assert kept is not None and (kept.text, store.count()) == (old.text, 2)
    assert store.forget(old.id) is True
    assert (store._get_by_id(old.id), store.count()) == (None, 1)
    assert [memory.id for memory, _ in store.recall("key", include_superseded=True)] == [new.id]
