"""The model may be away, or be another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre import MemoryStore
from nacre.errors import EmbeddingError, EmbeddingMismatch
from tests.embedders import Moody, WordBag


def test_what_is_kept_without_the_model_is_found_by_words_and_embedded_later(
    store: MemoryStore, embedder: Moody
) -> None:
    embedder.well = False
    result = store.remember_result("kept in the dark")
    assert "its vector follows" in result.notes[0]
    assert "out today" in result.notes[0]
    found = store.recall("dark")
    assert [hit.memory.id for hit in found] == [result.memory.id]
    assert "words alone" in found.notes[0]
    assert [hit.memory.id for hit in store.recall("dark", strategy="semantic")] == [result.memory.id]
    assert store.stats().waiting_for_model == 1
    with pytest.raises(EmbeddingError):
        store.catch_up()
    embedder.well = True
    assert store.catch_up() == 1
    assert store.catch_up() == 0
    assert store.stats().waiting_for_model == 0
    found = store.recall("dark", strategy="semantic")
    assert ([hit.memory.id for hit in found], found.notes) == ([result.memory.id], ())
    assert len(store.journal()) == 1


def test_an_edit_while_the_model_is_away_is_found_by_its_new_words(store: MemoryStore, embedder: Moody) -> None:
    kept = store.remember("old words")
    embedder.well = False
    store.edit(kept.id, text="fresh words")
    assert [hit.memory.id for hit in store.recall("fresh", strategy="keyword")] == [kept.id]
    embedder.well = True
    assert store.catch_up() == 1
    assert store.recall("fresh words", strategy="semantic")[0].score == pytest.approx(1.0, abs=2e-3)


@pytest.mark.slow
def test_catching_up_tells_its_progress(store: MemoryStore, embedder: Moody) -> None:
    embedder.well = False
    store.remember_many([f"memory {i}" for i in range(300)])
    embedder.well = True
    told: list[tuple[int, int]] = []
    assert store.catch_up(progress=lambda done, total, _: told.append((done, total))) == 300
    assert told == [(256, 300), (300, 300)]


def test_another_model_is_refused_until_the_store_is_reindexed(tmp_path: Path) -> None:
    with (
        MemoryStore(tmp_path / "s.db", embedder=WordBag(64)) as store,
        MemoryStore(tmp_path / "s.db", space="two", embedder=WordBag(64)) as two,
    ):
        kept, elsewhere = store.remember("some words", title="t"), two.remember("other words")
    changed = WordBag(32)
    with MemoryStore(tmp_path / "s.db", embedder=changed) as store:
        for act in (
            lambda: store.remember("more"),
            lambda: store.recall("words"),
            lambda: store.edit(kept.id, text="x"),
        ):
            with pytest.raises(EmbeddingMismatch, match="nacre store reindex"):
                act()
        assert store.count() == 1
        assert changed.asked == []
        told: list[int] = []
        assert store.reindex(progress=lambda done, _total, _what: told.append(done)) == 2
        assert told == [2]
        assert store.recall("some words", strategy="semantic")[0].memory.id == kept.id
        assert store.health().embedder == "wordbag-32"
        assert store.health(thorough=True).problems == ()
    with MemoryStore(tmp_path / "s.db", space="two", embedder=changed) as two:
        assert two.recall("other words", strategy="semantic")[0].memory.id == elsewhere.id


def test_a_process_that_holds_the_old_vectors_notices_the_reindexing(tmp_path: Path) -> None:
    with (
        MemoryStore(tmp_path / "s.db", embedder=WordBag(64)) as old,
        MemoryStore(tmp_path / "s.db", embedder=WordBag(32)) as new,
    ):
        kept = old.remember("some words")
        assert old.recall("some words")
        new.reindex()
        assert new.recall("some words", strategy="semantic")[0].memory.id == kept.id
        with pytest.raises(EmbeddingMismatch):
            old.recall("some words")


def test_a_model_that_cannot_answer_does_not_cost_the_old_vectors(store: MemoryStore, embedder: Moody) -> None:
    store.remember("some words")
    embedder.well = False
    with pytest.raises(EmbeddingError):
        store.reindex()
    assert store.health().vectors == 1


def test_reindexing_mends_a_damaged_word_index(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "s.db", embedder=WordBag()) as store:
        kept = store.remember("findable words")
        with store.backend._connected() as connection:  # type: ignore[attr-defined]
            connection.execute("INSERT INTO word(word) VALUES ('delete-all')")
        assert "nacre store reindex" in store.health().problems[0]
        store.reindex()
        assert store.health().problems == ()
        assert [hit.memory.id for hit in store.recall("findable", strategy="keyword")] == [kept.id]
