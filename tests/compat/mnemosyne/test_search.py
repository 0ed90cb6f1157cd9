"""Searching: by meaning, by meaning and words, with quality and with mood."""

from __future__ import annotations

import inspect
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from nacre.compat.mnemosyne.config.settings import RetrievalSettings
from nacre.compat.mnemosyne.core.models import EmotionalContext, Memory, MemoryStatus, MemoryType
from nacre.compat.mnemosyne.storage.chroma_store import ChromaMemoryStore
from nacre.errors import EmbeddingError

TEXTS = {
    "bread": "Grandmother baked rye bread in the stone oven",
    "boat": "The blue boat leaks below the waterline",
    "kite": "A red kite circled above the harvested field",
}


def fill(store: ChromaMemoryStore, **values: object) -> None:
    for id, text in TEXTS.items():
        store.add_memory(Memory(id=id, content=text, **values))  # type: ignore[arg-type]


def ids(memories: list[Memory]) -> list[str]:
    return [memory.id for memory in memories]


@pytest.mark.accepts("M4.2", "M4.4", "M6.2")
def test_the_nearest_comes_first_with_its_distance(store: ChromaMemoryStore) -> None:
    fill(store, importance_score=0.2)
    store.add_memory(Memory(id="grand", content="Taxes are due in the spring", importance_score=1.0))
    matches = store.search_memories("grandmother baked rye bread", n_results=3)
    assert ids(matches)[0] == "bread" and len(matches) == 3
    distances = [memory.metadata["relevance_distance"] for memory in matches]
    assert distances == sorted(distances) and 0 <= distances[0] < 1
    assert "relevance_distance" not in store.get_memory("bread").metadata  # type: ignore[union-attr]


@pytest.mark.accepts("M4.1", "M5.10")
@pytest.mark.parametrize("method", ["search_memories", "search_memories_hybrid"])
def test_a_status_filter_holds_for_meaning_and_for_words(store: ChromaMemoryStore, method: str) -> None:
    for status in MemoryStatus:
        store.add_memory(Memory(id=status.value, content=f"The lantern in the {status.value} room", status=status))
    search = getattr(store, method)
    assert set(ids(search("lantern room"))) == {status.value for status in MemoryStatus}
    assert set(ids(search("lantern", status_filter=MemoryStatus.SHORT_TERM))) == {"short_term", "consolidating"}
    assert set(ids(search("lantern", status_filter=MemoryStatus.LONG_TERM))) == {"long_term", "archived"}
    assert ids(search("lantern", status_filter=MemoryStatus.ARCHIVED)) == ["archived"]


@pytest.mark.accepts("M2.4")
def test_what_is_archived_comes_last(store: ChromaMemoryStore) -> None:
    store.add_memory(Memory(id="old", content="The lantern room key", status=MemoryStatus.ARCHIVED))
    fill(store)
    assert ids(store.search_memories("lantern room key"))[-1] == "old"


@pytest.mark.accepts("M4.1")
def test_two_memories_of_one_text_are_both_found(store: ChromaMemoryStore) -> None:
    for id in ("one", "two"):
        store.add_memory(Memory(id=id, content="The same old story"))
    assert set(ids(store.search_memories("old story"))) == {"one", "two"}


@pytest.mark.accepts("M4.1")
def test_an_empty_store_finds_nothing(store: ChromaMemoryStore) -> None:
    assert store.search_memories("anything") == store.search_memories_hybrid("anything") == []


@pytest.mark.accepts("M3.4")
def test_a_search_counts_as_a_use_of_what_it_returns(store: ChromaMemoryStore) -> None:
    fill(store)
    store.search_memories_hybrid("rye bread", n_results=1)
    used = {id: memory.access_count for id in TEXTS if (memory := store.get_memory(id))}
    assert used == {"bread": 1, "boat": 0, "kite": 0}


@pytest.mark.accepts("M5.4", "M5.9")
def test_without_reranking_the_score_is_that_of_rank_fusion(store: ChromaMemoryStore) -> None:
    fill(store)
    matches = store.search_memories_hybrid(
        "rye bread oven", use_quality_scoring=False, vector_weight=0.6, bm25_weight=0.4
    )
    assert matches[0].id == "bread"
    assert matches[0].metadata["relevance_score"] == pytest.approx(0.6 / 61 + 0.4 / 61)
    assert matches[1].metadata["relevance_score"] == pytest.approx(0.6 / 62)


@pytest.mark.accepts("M5.5")
def test_without_words_the_score_is_of_the_distance_alone(store: ChromaMemoryStore) -> None:
    fill(store)
    near = store.search_memories("rye bread")[0].metadata["relevance_distance"]
    for weight, available in ((0.0, True), (0.5, False)):
        store._bm25_available = available
        matches = store.search_memories_hybrid("rye bread", bm25_weight=weight, use_quality_scoring=False)
        assert matches[0].metadata["relevance_score"] == pytest.approx(1 / (1 + near))


@pytest.mark.accepts("M5.5")
def test_while_the_model_is_away_words_alone_answer(tmp_path: Path) -> None:
    def away(texts: list[str]) -> list[list[float]]:
        raise EmbeddingError(f"{len(texts)} texts cannot be embedded; wait for the model.")

    store = ChromaMemoryStore(str(tmp_path), away)  # type: ignore[arg-type]
    fill(store)
    for result in (store.search_memories("rye bread"), store.search_memories_hybrid("rye bread", bm25_weight=0.0)):
        assert ids(result) == ["bread"]
    assert store.search_memories("rye bread")[0].metadata["relevance_distance"] >= 0
    store.client.close()


@pytest.mark.accepts("M5.1")
def test_the_parameters_stand_in_the_published_order() -> None:
    names = list(inspect.signature(ChromaMemoryStore.search_memories_hybrid).parameters)
    assert names == [
        "self", "query", "n_results", "status_filter", "vector_weight", "bm25_weight", "use_quality_scoring",
        "emotional_context", "emotion_weight",
    ]  # fmt: skip


@pytest.mark.accepts("M5.2")
def test_words_are_found_at_once_after_every_change(store: ChromaMemoryStore) -> None:
    assert store._bm25_dirty is True
    fill(store)
    assert store.search_memories_hybrid("kite")[0].id == "kite" and store._bm25_dirty is False
    store.promote_memory("kite")
    assert store._bm25_dirty is True
    assert store.search_memories_hybrid("kite")[0].status is MemoryStatus.LONG_TERM
    store.delete_memory("kite")
    assert store._bm25_search("kite") == []
    assert [id for id, _ in store._bm25_search("boat")] == ["boat"]


@pytest.mark.accepts("M5.3")
def test_common_words_and_single_letters_are_no_tokens(store: ChromaMemoryStore) -> None:
    assert store._tokenize("The Boat: is it a wreck?") == ["boat", "wreck"]
    assert store._tokenize("Is it a wreck?", remove_stop_words=False) == ["is", "it", "wreck"]
    assert store._tokenize("") == []


@pytest.mark.accepts("M5.4")
def test_rank_fusion_adds_weight_over_sixty_and_rank(store: ChromaMemoryStore) -> None:
    fused = store._reciprocal_rank_fusion([("a", 0.1), ("b", 0.2)], [("b", 9.0)])
    assert [id for id, _ in fused] == ["b", "a"]
    assert dict(fused) == pytest.approx({"a": 0.5 / 61, "b": 0.5 / 62 + 0.5 / 61})
    assert store._reciprocal_rank_fusion([], []) == []


@pytest.mark.accepts("M5.7")
def test_quality_is_the_published_formula_for_an_unused_memory(store: ChromaMemoryStore) -> None:
    yesterday = datetime.now() - timedelta(hours=24)
    memory = Memory(content="x" * 250, created_at=yesterday, importance_score=0.4)
    plain = 0.5 * 0.6 + 0.3 * 0.995**24 + 0.2 * 0.4
    assert store._compute_quality_score(memory, 0.6) == pytest.approx(plain * 0.5, abs=1e-4)
    memory.memory_type, memory.tags = MemoryType.SEMANTIC, ["assistant"]
    assert store._compute_quality_score(memory, 0.6) == pytest.approx(plain * 0.5 * 1.2 * 1.1, abs=1e-4)
    memory.tags = ["user"]
    assert store._compute_quality_score(memory, 0.6) == pytest.approx(plain * 0.5 * 1.2 * 0.9, abs=1e-4)
    memory.content, memory.tags = "x" * 9000, ["assistant"]
    assert store._compute_quality_score(memory, 1.0) <= 1.0


@pytest.mark.accepts("M5.6")
def test_use_and_a_late_use_raise_the_quality(store: ChromaMemoryStore) -> None:
    old = datetime.now() - timedelta(days=20)
    unused = Memory(content="x" * 300, created_at=old)
    used_then = Memory(content="x" * 300, created_at=old, last_accessed=old, access_count=3)
    used_now = Memory(content="x" * 300, created_at=old, access_count=3)
    scores = [store._compute_quality_score(memory, 0.5) for memory in (unused, used_then, used_now)]
    assert scores[0] < scores[1] < scores[2]


@pytest.mark.accepts("M5.1", "M10.4")
def test_the_retrieval_settings_decide_where_the_caller_does_not(tmp_path: Path) -> None:
    result = RetrievalSettings(vector_weight=0.0, bm25_weight=1.0, semantic_type_factor=2.0)
    store = ChromaMemoryStore(str(tmp_path), "hashing", retrieval_settings=result)
    fill(store)
    matches = store.search_memories_hybrid("boat", n_results=1, use_quality_scoring=False)
    assert matches[0].metadata["relevance_score"] == pytest.approx(1 / 61)
    fact, event = (Memory(content="x" * 100, memory_type=kind) for kind in (MemoryType.SEMANTIC, MemoryType.EPISODIC))
    assert store._compute_quality_score(fact, 0.5) == pytest.approx(2 * store._compute_quality_score(event, 0.5))
    store.client.close()


@pytest.mark.accepts("M5.8")
def test_a_memory_of_the_same_mood_comes_first(store: ChromaMemoryStore) -> None:
    glad, low = EmotionalContext(0.8, 0.7, "excited"), EmotionalContext(-0.8, -0.5, "depleted")
    store.add_memory(Memory(id="glad", content="The evening at the lake", emotional_context=glad))
    store.add_memory(Memory(id="low", content="The morning at the lake", emotional_context=low))
    for mood, first in ((glad, "glad"), (low, "low")):
        matches = store.search_memories_hybrid("at the lake", emotional_context=mood, emotion_weight=0.5)
        assert matches[0].id == first
    plain = store.search_memories_hybrid("at the lake")
    moody = store.search_memories_hybrid("at the lake", emotional_context=glad, emotion_weight=0.0)
    assert ids(plain) == ids(moody)


@pytest.mark.accepts("M5.8")
def test_moods_are_compared_by_distance_or_by_direction(store: ChromaMemoryStore, tmp_path: Path) -> None:
    strong, mild = EmotionalContext(0.8, 0.8, "excited"), EmotionalContext(0.2, 0.2, "excited")
    low = EmotionalContext(-1, -1, "depleted")
    assert store._emotional_similarity(strong, strong) == pytest.approx(1.0)
    assert store._emotional_similarity(EmotionalContext(1, 1, "excited"), low) == pytest.approx(0.0, abs=0.01)
    assert store._emotional_similarity(strong, mild) == pytest.approx(1 - 0.72**0.5 / 2.83, abs=1e-3)
    assert store._emotional_similarity(strong, None) == store._emotional_similarity(None, strong) == 0.5
    turned = ChromaMemoryStore(
        str(tmp_path / "angle"), "hashing", retrieval_settings=RetrievalSettings(use_angular_similarity=True)
    )
    assert turned._emotional_similarity(strong, mild) == pytest.approx(1.0)
    assert turned._emotional_similarity(strong, low) == pytest.approx(0.0)
    assert turned._emotional_similarity(strong, EmotionalContext(0, 0, "neutral")) == 0.5
    turned.client.close()


@pytest.mark.accepts("M4.3")
def test_the_direction_of_an_embedding_counts_and_not_its_length(tmp_path: Path) -> None:
    rows = {"far along": [100.0, 0.0], "close by": [1.0, 1.0], "ahead": [1.0, 0.0]}
    store = ChromaMemoryStore(str(tmp_path), lambda texts: [rows.get(text, [0.6, 0.8]) for text in texts])
    for text in ("close by", "far along"):
        store.add_memory(Memory(id=text, content=text))
    near, far = store.search_memories("ahead")
    assert (near.id, far.id) == ("far along", "close by")
    assert near.metadata["relevance_distance"] == pytest.approx(0.0, abs=1e-3)
    assert far.metadata["relevance_distance"] == pytest.approx(1 - 0.5**0.5, abs=1e-2)
    store.client.close()


@pytest.mark.accepts("M5.9")
@pytest.mark.parametrize(("multiplier", "first"), [(1, "near"), (2, "moody")])
def test_a_reranking_looks_at_twice_as_many_as_are_wanted(tmp_path: Path, multiplier: int, first: str) -> None:
    assert RetrievalSettings().candidate_multiplier == 2
    result = RetrievalSettings(candidate_multiplier=multiplier)
    store = ChromaMemoryStore(str(tmp_path), "hashing", retrieval_settings=result)
    glad, low = EmotionalContext(0.9, 0.9, "excited"), EmotionalContext(-0.9, -0.9, "depleted")
    store.add_memory(Memory(id="near", content="The cellar key turns twice", emotional_context=low))
    store.add_memory(Memory(id="moody", content="The cellar is damp", emotional_context=glad))
    (matches,) = store.search_memories_hybrid(
        "the cellar key turns twice", n_results=1, emotional_context=glad, emotion_weight=0.9
    )
    assert matches.id == first and 0 < matches.metadata["relevance_score"] <= 1
    store.client.close()
