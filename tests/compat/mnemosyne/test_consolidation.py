"""Consolidation: who may go to the long term, together with whom, and what becomes of the others."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nacre.compat.mnemosyne.core.consolidator import MemoryConsolidator, cosine_similarity
from nacre.compat.mnemosyne.core.models import (
    ConsolidationConfig,
    ConsolidationReport,
    Memory,
    MemoryCluster,
    MemoryStatus,
    MemoryType,
)
from nacre.compat.mnemosyne.storage.chroma_store import ChromaMemoryStore

TWO_HOURS = timedelta(hours=2)


class StandIn:
    """What a caller's own double of the store has: the methods, and nothing of ours underneath."""

    def __init__(self, memories: Sequence[Memory], vectors: dict[str, Any], *, promotes: bool = True) -> None:
        self.memories, self.vectors, self.promotes = list(memories), vectors, promotes
        self.promoted: list[str] = []
        self.deleted: list[str] = []

    def get_short_term_count(self) -> int:
        return len(self.memories)

    def get_all_short_term(self, limit: int = 1000) -> list[Memory]:
        return self.memories[:limit]

    def get_embeddings_batch(self, memory_ids: Sequence[str]) -> dict[str, Any]:
        return {id: self.vectors[id] for id in memory_ids if id in self.vectors}

    def promote_memory(self, memory_id: str) -> bool:
        self.promoted += [memory_id] if self.promotes else []
        return self.promotes

    def delete_memory(self, memory_id: str) -> bool:
        self.deleted.append(memory_id)
        return True


def old(id: str, content: str = "A note", uses: int = 0, **values: Any) -> Memory:
    return Memory(id=id, content=content, access_count=uses, created_at=datetime.now() - TWO_HOURS, **values)


def same(ids: str) -> dict[str, list[float]]:
    return {id: [1.0, 0.0] for id in ids}


def over(store: object, **config: Any) -> MemoryConsolidator:
    return MemoryConsolidator(store, ConsolidationConfig(**config))  # type: ignore[arg-type]


@pytest.mark.accepts("M7.4")
def test_cosine_similarity_is_zero_where_a_vector_has_no_length() -> None:
    assert cosine_similarity(np.array([1.0, 2.0]), np.array([-2.0, -4.0])) == pytest.approx(-1)
    assert cosine_similarity(np.array([1.0, 0.0]), np.array([0.0, 3.0])) == 0
    assert cosine_similarity(np.zeros(2), np.array([1.0, 2.0])) == cosine_similarity(np.zeros(2), np.zeros(2)) == 0.0


@pytest.mark.accepts("M7.8", "M7.11")
def test_the_published_defaults() -> None:
    result = ConsolidationConfig()
    assert vars(result) == {
        "importance_threshold": 0.6, "min_age_hours": 1, "max_batch_size": 50, "buffer_threshold": 100,
        "similarity_threshold": 0.85, "min_cluster_size": 2,
    }  # fmt: skip
    assert MemoryCluster() == MemoryCluster([], [], 0.0, MemoryType.EPISODIC)
    assert list(ConsolidationReport(clusters_formed=3).to_dict().items()) == [
        ("clusters_formed", 3), ("memories_promoted", 0), ("memories_archived", 0), ("memories_skipped", 0),
        ("total_processed", 0), ("duration_seconds", 0.0), ("cluster_summaries", []),
    ]  # fmt: skip


@pytest.mark.accepts("M7.7", "M7.9")
def test_it_is_time_once_the_buffer_reaches_the_threshold(store: ChromaMemoryStore) -> None:
    store.add_memory(Memory(content="One"))
    waiting = over(store, buffer_threshold=2)
    assert waiting.should_consolidate() == (False, "Buffer size (1) below threshold (2)")
    store.add_memory(Memory(content="Two"))
    assert waiting.should_consolidate() == (True, "Buffer size (2) exceeds threshold (2)")


@pytest.mark.accepts("M7.2", "M7.10")
def test_candidates_are_old_enough_the_worthiest_first_and_no_more_than_a_batch(store: ChromaMemoryStore) -> None:
    for uses in range(5):
        store.add_memory(old(f"used {uses}", f"Entry {uses}", uses=uses, importance_score=0.1))
    store.add_memory(Memory(content="Just now", access_count=10))
    result = over(store, max_batch_size=2).get_consolidation_candidates()
    assert [memory.id for memory in result] == ["used 4", "used 3"]
    assert [memory.importance_score for memory in result] == pytest.approx([0.62, 0.59])


@pytest.mark.accepts("M7.3", "M7.10", "M7.13")
def test_those_alike_form_a_cluster_around_their_mean_and_others_stand_alone(store: ChromaMemoryStore) -> None:
    for id, text in (("a", "The well in the yard ran dry"), ("b", "The well in the yard ran dry"), ("c", "Jazz")):
        store.add_memory(old(id, text))
    result = over(store, similarity_threshold=0.9).cluster_memories(store.get_all_short_term())
    assert [[memory.id for memory in each.memories] for each in result] == [["a", "b"], ["c"]]
    assert all(len(each.centroid_embedding) == 384 for each in result)


@pytest.mark.accepts("M7.3")
def test_the_running_mean_decides_who_joins() -> None:
    turned = {str(degrees): [np.cos(np.radians(degrees)), np.sin(np.radians(degrees))] for degrees in (0, 30, 40)}
    memories = [old("0"), old("30"), old("40")]
    # 40 degrees are too far from the first (cosine .77) and near enough to the mean of the first two (.91).
    result = over(StandIn(memories, turned)).cluster_memories(memories)
    assert [memory.id for memory in result[0].memories] == ["0", "30", "40"]


@pytest.mark.accepts("M7.10")
def test_a_cluster_has_its_mean_importance_and_its_most_common_type() -> None:
    kinds = (MemoryType.SEMANTIC, MemoryType.EPISODIC, MemoryType.EPISODIC)
    memories = [old(str(place), memory_type=kind, importance_score=0.2 * place) for place, kind in enumerate(kinds)]
    (result,) = over(StandIn(memories, same("012"))).cluster_memories(memories)
    assert result.avg_importance == pytest.approx(0.2) and result.dominant_type is MemoryType.EPISODIC


@pytest.mark.accepts("M7.10", "M7.13")
def test_without_embeddings_each_is_its_own_cluster_and_numpy_rows_are_embeddings() -> None:
    memories = [old("a"), old("b")]
    assert [len(each.memories) for each in over(StandIn(memories, {})).cluster_memories(memories)] == [1, 1]
    rows = {"a": np.array([1.0, 0.0]), "b": np.array([1.0, 0.1])}
    assert [len(each.memories) for each in over(StandIn(memories, rows)).cluster_memories(memories)] == [2]
    assert over(StandIn([], {})).cluster_memories([]) == []


@pytest.mark.accepts("M3.4", "M7.5", "M7.6", "M7.11")
def test_the_most_important_memory_represents_its_cluster_and_links_to_its_sources(store: ChromaMemoryStore) -> None:
    for id, uses in (("rarely", 4), ("often", 9), ("never", 3)):
        store.add_memory(old(id, "The bridge closes at night", uses=uses))
    store.add_memory(old("alone", "Olives", uses=0))
    before = store.get_embeddings_batch(["often"])
    report = over(store).consolidate()
    assert (report.clusters_formed, report.total_processed) == (2, 4)
    assert (report.memories_promoted, report.memories_archived, report.memories_skipped) == (1, 2, 1)
    (summary,) = report.cluster_summaries
    assert summary["promoted_id"] == "often" and summary["cluster_size"] == 3
    assert set(summary["source_ids"]) == {"rarely", "never"}  # type: ignore[arg-type]
    assert summary["avg_importance"] == pytest.approx(0.5 + 0.3 * 16 / 30)
    successor = store.get_memory("often")
    assert successor is not None and successor.status is MemoryStatus.LONG_TERM
    assert set(successor.source_memory_ids) == {"rarely", "never"} and store.get_memory("rarely") is None
    assert store.get_embeddings_batch(["often"]) == before and report.duration_seconds > 0


def test_a_consolidation_can_be_undone_as_one_act(store: ChromaMemoryStore) -> None:
    for id in ("a", "b"):
        store.add_memory(old(id, "The mill wheel turns", uses=10))
    over(store).consolidate()
    assert store.count_memories() == 1
    store.memories.undo()
    assert store.count_memories(MemoryStatus.SHORT_TERM) == 2


@pytest.mark.accepts("M3.4", "M7.5")
def test_a_neutral_memory_is_promoted_alone_once_it_has_earned_it_by_use(store: ChromaMemoryStore) -> None:
    store.add_memory(old("one", "The spare key hangs behind the door"))
    assert over(store).consolidate().memories_skipped == 1
    for _ in range(4):
        store.search_memories("spare key")
    assert over(store).consolidate().memories_promoted == 1


@pytest.mark.accepts("M7.8")
def test_the_threshold_is_reached_at_equality(store: ChromaMemoryStore) -> None:
    store.add_memory(old("one"))
    assert over(store, importance_threshold=0.5).consolidate().memories_promoted == 1


@pytest.mark.accepts("M7.12")
def test_a_cluster_whose_promotion_fails_is_left_alone() -> None:
    memories = [old("a", uses=10), old("b", uses=10)]
    refusing = StandIn(memories, same("ab"), promotes=False)
    report = over(refusing).consolidate()
    assert (report.memories_promoted, report.memories_archived, report.memories_skipped) == (0, 0, 2)
    assert refusing.deleted == [] and report.cluster_summaries == []


@pytest.mark.accepts("M7.12")
def test_a_member_that_went_meanwhile_leaves_its_cluster_alone(
    store: ChromaMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for id in ("a", "b"):
        store.add_memory(old(id, "The clock tower is slow", uses=10))
    consolidator = over(store)
    result = consolidator.cluster_memories(consolidator.get_consolidation_candidates())
    store.delete_memory("b")
    monkeypatch.setattr(consolidator, "cluster_memories", lambda _: result)
    assert consolidator.consolidate().memories_promoted == 0
    kept = store.get_memory("a")
    assert kept is not None and kept.status is MemoryStatus.SHORT_TERM


@pytest.mark.accepts("M7.1", "M7.5")
def test_a_substitute_store_gets_the_calls_to_promote_and_delete() -> None:
    memories = [old("a", uses=5), old("b", uses=9), old("c", uses=4)]
    stand_in = StandIn(memories, same("abc"))
    report = over(stand_in).consolidate()
    assert (stand_in.promoted, sorted(stand_in.deleted)) == (["b"], ["a", "c"])
    assert (report.memories_promoted, report.memories_archived) == (1, 2)


@pytest.mark.accepts("M7.11")
def test_nothing_to_do_is_an_empty_report(store: ChromaMemoryStore) -> None:
    report = over(store).consolidate()
    assert report.to_dict() | {"duration_seconds": 0.0} == ConsolidationReport().to_dict()


@pytest.mark.accepts("M2.1")
def test_what_is_new_waits_in_the_short_term_and_may_be_forgotten_unless_it_is_used(store: ChromaMemoryStore) -> None:
    for id, uses in (("used", 10), ("unused", 0)):
        store.add_memory(old(id, "The ferry leaves from the north pier", uses=uses))
    assert (store.short_term.name, store.short_term.count()) == ("short_term_memory", 2)
    over(store).consolidate()
    assert store.get_memory("unused") is None and store.get_memory("used") is not None


@pytest.mark.accepts("M2.2")
def test_the_long_term_holds_what_is_worth_more_and_is_found_first(store: ChromaMemoryStore) -> None:
    store.add_memory(old("waiting", "Lanterns hang over the quay"))
    store.add_memory(old("earned", "Lanterns hang over the mole", uses=10))
    over(store, similarity_threshold=1.0).consolidate()
    assert (store.long_term.name, store.long_term.count(), store.short_term.count()) == ("long_term_memory", 1, 1)
    first, second = store.search_memories_hybrid("lanterns hang over the")
    assert (first.id, first.status, second.id) == ("earned", MemoryStatus.LONG_TERM, "waiting")
    assert first.compute_importance() >= ConsolidationConfig().importance_threshold > second.compute_importance()


@pytest.mark.accepts("M3.3", "M7.3")
def test_a_consolidation_embeds_nothing_again(tmp_path: Path) -> None:
    embedded: list[str] = []

    def rows(texts: list[str]) -> list[list[float]]:
        embedded.extend(texts)
        return [[1.0, 0.0] for _ in texts]

    store = ChromaMemoryStore(str(tmp_path), rows)  # type: ignore[arg-type]
    for id in ("a", "b"):
        store.add_memory(old(id, f"Rope {id} is spliced", uses=10))
    before = len(embedded)
    assert over(store).consolidate().memories_promoted == 1
    assert len(embedded) == before >= 2
    store.client.close()
